"""Certified answers where the problem is not plain: causes, several attributes, kept nodes; from the first pull to a resumed run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from benchmarks.calibration.world_strata import attribute_above, joint_groups, kept_node, with_causes

import worked_examples
from fairarm import table
from fairarm.algorithms import algorithm, resume
from fairarm.algorithms.certificates import Certified
from fairarm.algorithms.cohort import Cohort, Loss
from fairarm.algorithms.pool import Pool, PoolOptions
from fairarm.beliefs.certified import Bound, certify_counts
from fairarm.beliefs.declared_law import NOT_THE_LAW
from fairarm.beliefs.evidence import CellEvidence
from fairarm.beliefs.standing import Proof
from fairarm.core.answer import Code
from fairarm.core.proof.bets import certificate
from fairarm.core.proof.law_test import About, Margin
from fairarm.errors import OptionError
from fairarm.experiments.simulate import replicate
from fairarm.problem.context import ContextLaw
from fairarm.problem.network import Network
from fairarm.problem.problem import Problem
from fairarm.worlds.network import NetworkWorld
from quick import quick
from worlds_fairarm import as_fairarm

MAKERS = {
    "joint": joint_groups,
    "recruited": lambda: with_causes("recruited", "recruited"),
    "set": lambda: with_causes("set", "set"),
    "kept": kept_node,
    "above": attribute_above,
}
"""In all of them arm 0 is the best, and on an end."""


def within(world: NetworkWorld, factor: float) -> NetworkWorld:
    """The same with another tolerance, so many times as large."""
    return replace(world, problem=world.problem.with_tolerance(factor * (world.problem.rows[0].below or 0.0)))


@pytest.mark.parametrize("kind", quick(MAKERS, 3))
@pytest.mark.parametrize(("factor", "right"), [(2.5, 0), (0.4, 1)])
def test_the_right_answer_is_proved(kind, factor, right):
    """Fair by far, and unfair by far: nearly all of 30 runs end, none of them wrong (allowed is one in 20), none void."""
    world = within(MAKERS[kind](), factor)
    pool = Pool(world.problem, 4000, PoolOptions(confidence=0.95))
    ran = replicate(pool, world, 30, np.random.default_rng(3), 4)
    assert np.isin(ran.state.answer, [right, Code.UNDECIDED]).all() and np.mean(ran.state.answer == right) > 0.8
    assert (ran.state.memory.voided == -1).all()
    assert world.truth().answer == right


def test_toward_whom_an_arm_is_unfair_is_not_said():
    """One row between two worlds looks like a gap of two groups, and its sides are not."""
    world = within(with_causes("set", "set"), 0.3)
    proof = Certified.of(world.problem, 0.05, False)
    books = proof.start(1)
    labels = np.full_like(books.labels, 50.0)
    found = certificate(proof.rule, replace(books, labels=labels).ledger)
    assert found.unfair.all() and not found.high.any() and not found.low.any()
    assert Proof.UNFAIR in proof.proved(replace(books, labels=labels * np.array([1, 1, 1, 0, 1])[:, None]))[1]


# ---- what is declared is tested ----


def with_table(world: NetworkWorld, node: str, law: Any) -> NetworkWorld:
    """A world that differs in one node, declared as it is there."""
    old = world.network.tables[node]
    tables = {**world.network.tables, node: table(node, list(old.parents), law)}
    problem = replace(world.problem, mechanisms={**world.problem.mechanisms, node: tables[node]})
    return NetworkWorld(problem, Network.of(world.network.variables.values(), tables.values()))


@pytest.mark.parametrize("kind", ["recruited", "set"])
def test_a_law_of_an_attribute_that_is_wrong_voids_a_run(kind):
    """P(S | Z) is (.4, .5) and declared as (.125, .75): contexts of the groups differ from what follows."""
    declared = MAKERS[kind]()
    truth = with_table(declared, "S", [[0.6, 0.4], [0.5, 0.5]])
    proof = Certified.of(declared.problem, 0.05, False)
    pulls = np.full((1, 3, 3), 150)
    batch = CellEvidence(declared.problem, truth.draw(pulls, np.random.default_rng(0)))
    books = proof.after(Cohort(batch), proof.start(1), 0, np.arange(1))
    assert books.void.all()
    (finding,) = proof.law_report(books, 0).findings
    assert finding.name == NOT_THE_LAW and "P(S | Z)" in finding.message
    right = CellEvidence(declared.problem, declared.draw(pulls, np.random.default_rng(0)))
    assert not proof.after(Cohort(right), proof.start(1), 0, np.arange(1)).void.any()


def test_shares_of_labels_are_tested_where_contexts_are_unknown():
    world = joint_groups()
    proof = Certified.of(world.problem, 0.05, False)
    assert proof.rule.context is not None and About(Margin.SHARES) in proof.declared.tests.about
    pulls = np.zeros((1, len(world.problem.regimes), 3), dtype=np.int64)
    pulls[0, 0] = 200
    rows = world.draw(pulls, np.random.default_rng(0))[:, :, :, ::-1]  # every label is taken for another
    books = proof.after(Cohort(CellEvidence(world.problem, rows)), proof.start(1), 0, np.arange(1))
    assert books.void.all() and "shares" in proof.law_report(books, 0).findings[0].message


# ---- lost rows, saved runs ----


def test_lost_rows_of_a_regime_with_several_labels_count_by_their_shares():
    """Of 40 pulls of arm 1 forced to A = 1, 30 came: the plan is 40 (.375, .625), P(B | A = 1), whoever came; 10 are charged, to
    the tests of both labels and to no other."""
    world = attribute_above()
    proof, regime = Certified.of(world.problem, 0.05, False), world.problem.regimes.index("A=1")
    pulls, missing = np.zeros((1, 5, 3), dtype=np.int64), np.zeros((1, 3, 5, 3), dtype=np.int64)
    pulls[0, regime, 1], missing[0, 0, regime, 1] = 30, 10
    rows = CellEvidence(world.problem, world.draw(pulls, np.random.default_rng(0)))
    cohort = Cohort(rows, missing, Loss.of(world.problem, "worst"))
    assert proof._brought(cohort).rows[0, 1] == pytest.approx([0, 0, 15, 25])
    books = proof.after(cohort, proof.start(1), 0, np.arange(1))
    tests = proof.declared.tests.about
    charged = {about.group for about, c in zip(tests, books.charged[0], strict=True) if c < 0 and about.arm == 1}
    assert charged == {2, 3} and books.lost.tolist() == [[10, 0]]
    assert not any(c < 0 for about, c in zip(tests, books.charged[0], strict=True) if about.margin == Margin.SHARES)


def test_rows_in_which_an_attribute_was_set_are_counted_apart():
    world = with_causes("set", "set")
    proof = Certified.of(world.problem, 0.05, False)
    pulls, missing = np.zeros((1, 3, 3), dtype=np.int64), np.zeros((1, 3, 3, 3), dtype=np.int64)
    pulls[0, :, 2], missing[0, 0, 2, 2] = (20, 7, 5), 2
    rows = CellEvidence(world.problem, world.draw(pulls, np.random.default_rng(0)))
    brought = proof._brought(Cohort(rows, missing, Loss.of(world.problem, "worst")))
    assert brought.rows[0, 2, :2].tolist() == [7, 7] and brought.rows[0, 2, 2:].sum() == 20
    assert brought.natural[0, :2].tolist() == [0, 0] and brought.natural.sum() == 20
    books = proof.after(Cohort(rows), proof.start(1), 0, np.arange(1))
    assert books.tested.shape[2] == 4 and books.tested.sum(axis=(0, 1, 3))[:2].tolist() == [7, 5]


@pytest.mark.parametrize("kind", MAKERS)
def test_a_resumed_run_goes_on_as_if_it_had_not_stopped(kind):
    world = within(MAKERS[kind](), 1.5)
    run = algorithm("pool", world.problem, pulls=300, seed=1, confidence=0.95)
    rng = np.random.default_rng(2)
    for part in range(4):
        run.tell(world.pull(run.ask(), rng), id=str(part))
    again = resume(world.problem, run.to_json())
    assert np.array_equal(again.ask().counts, run.ask().counts)
    rows = world.pull(run.ask(), rng)
    run.tell(rows, id="next")
    again.tell(rows, id="next")
    assert again.to_json() == run.to_json() and again.verdict() == run.verdict()


# ---- refused ----


def w2(**options: Any) -> Problem:
    return as_fairarm(worked_examples.w2(), **{"context": ContextLaw(("Z",), (0.5, 0.5)), **options})[0]


@pytest.mark.parametrize(
    ("problem", "law", "said"),
    [
        (w2(mechanisms=[]), "declared", "A certified answer needs P(S | Z), which is not declared: declare it as a mechanism, or use bayes-stop."),
        (w2(context=None), "declared", "A certified answer needs the law of contexts, which is not declared: declare problem.context, or use bayes-stop."),
        (w2(), "estimated", "A certified answer needs the laws of the attributes, which are not used (law=estimated): use the declared ones, or use bayes-stop."),
        (replace(joint_groups().problem, shares=None, joint_shares=()), "declared", "A certified answer needs P(A), which is not declared: declare the shares, or use bayes-stop."),
    ],
)  # fmt: skip
def test_what_is_not_covered_is_refused_before_the_first_pull(problem, law, said):
    with pytest.raises(OptionError) as caught:
        Pool(problem, 100, PoolOptions(confidence=0.95, law=law))
    assert str(caught.value) == said
    assert Pool(problem, 100, PoolOptions(confidence=0.95, law=law, stop="bayes-stop")).start(1).running.all()


# ---- intervals from counts ----


@pytest.mark.parametrize("kind", ["recruited", "set", "above"])
def test_intervals_of_a_log_hold(kind):
    """20 logs of the first arm: every row's value and every outcome lie in their intervals, which are narrow."""
    world = MAKERS[kind]()
    truth, pulls = world.truth(), np.zeros((20, len(world.problem.regimes), 3), dtype=np.int64)
    pulls[:, 0, 0] = 20_000
    drawn = world.draw(pulls, np.random.default_rng(1))
    for rows in drawn:
        found = certify_counts(CellEvidence(world.problem, rows[None]), 0.05, estimated=False)
        assert found.by == (Bound.REGION,) and found.intervals is not None
        for value, ends in ((truth.rows, found.intervals.rows[0]), (truth.outcomes, found.intervals.outcomes[0])):
            assert np.all((ends[..., 0] <= value) & (value <= ends[..., 1]))
        assert np.all(np.diff(found.intervals.rows[0, 0], axis=-1) < 0.15)


@pytest.mark.parametrize(("problem", "estimated"), [(joint_groups().problem, False), (kept_node().problem, False), (w2(mechanisms=[]), False), (w2(), True)])  # fmt: skip
def test_nothing_is_certified_from_a_log_whose_laws_are_not_known(problem, estimated):
    found = certify_counts(CellEvidence.empty(problem), 0.05, estimated)
    assert found.lacks and found.by == () and found.intervals is None
