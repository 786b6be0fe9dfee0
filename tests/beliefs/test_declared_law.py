"""The declared law of whole problems: tested row by row against tables written out by hand, then in certified runs.

Runs are of a world whose rows follow other tables than the problem declares. Seeds are fixed.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest

from fairarm import Arm, Problem, Request, algorithm, resume, table
from fairarm.algorithms.pool import Pool, PoolOptions
from fairarm.beliefs.declared_law import NOT_THE_LAW, DeclaredLaw
from fairarm.beliefs.evidence import CellEvidence
from fairarm.core.proof.law_test import About, Margin
from fairarm.experiments.simulate import replicate
from fairarm.problem.network import Network
from fairarm.testing.problems import chain_network, chain_parts, context_network, context_parts, make_world
from fairarm.worlds import NetworkWorld


def learned(values: list[str], p: dict[str, float]) -> float:
    """log e of values one by one: each at (times seen + ½) / (seen + half the number of values) over its probability."""
    total, seen = 0.0, Counter()
    for value in values:
        total += math.log((seen[value] + 0.5) / (seen.total() + len(p) / 2) / p[value])
        seen[value] += 1
    return total


def rows_of(world: NetworkWorld, each: int = 40) -> tuple[list[dict[str, str]], CellEvidence]:
    """Rows of every unit as labels, and as evidence."""
    problem = world.problem
    counts = np.full((3, len(problem.arms)), each)
    batch = world.pull(Request(problem.arm_names, problem.regimes, counts), np.random.default_rng(1))
    rows = []
    for i in np.repeat(np.arange(batch.size), batch.count):
        labels = {name: problem.variables[name].states[int(values[i])] for name, values in batch.columns.items()}
        rows.append({**labels, "arm": problem.arm_names[batch.arm[i]], "regime": problem.regimes[batch.regime[i]]})
    return rows, CellEvidence.empty(problem).add(batch)


def values_of(law: DeclaredLaw, evidence: CellEvidence) -> dict[About, float]:
    natural = evidence.counts[:, 0].sum(axis=(1, 3)).astype(float)
    values = law.tests.log_values(evidence.rows_by_cell().astype(float), natural)[0]
    return dict(zip(law.tests.about, values, strict=True))


def test_rows_of_a_context_and_a_child_against_tables_written_out():
    """P(z) = 0.3, 0.7; P(x | s); P(v | z) of two arms: all of it by hand."""
    world = make_world("context")
    rows, evidence = rows_of(world)
    found = values_of(DeclaredLaw(world.problem), evidence)
    h, x = {"0": 0.3, "1": 0.7}, {"a": {"0": 0.8, "1": 0.2}, "b": {"0": 0.4, "1": 0.6}}
    arms = {
        "arm0": {"0": {"0": 0.5, "1": 0.5}, "1": {"0": 0.5, "1": 0.5}},
        "arm1": {"0": {"0": 0.1, "1": 0.9}, "1": {"0": 0.2, "1": 0.8}},
    }
    cells = 0.0
    for k, t in np.ndindex(2, 2):
        arm, group = world.problem.arm_names[k], world.problem.groups[t]
        own = [row for row in rows if row["arm"] == arm and row["S"] == group]
        decision = {v: sum(h[z] * arms[arm][z][v] for z in h) for v in h}
        cell = {z + w + v: h[z] * x[group][w] * arms[arm][z][v] for z in h for w in h for v in h}
        assert found[About(Margin.DECISION, k, t)] == pytest.approx(learned([r["V"] for r in own], decision))
        assert found[About(Margin.CONTEXT, k, t)] == pytest.approx(learned([r["Z"] for r in own], h))
        by_cell = learned([r["Z"] + r["X"] + r["V"] for r in own], cell)
        assert found[About(Margin.CELL, k, t)] == pytest.approx(by_cell)
        cells += by_cell
    assert found[About(Margin.CELL)] == pytest.approx(cells)
    assert found[About(Margin.CONTEXT)] == pytest.approx(learned([r["Z"] for r in rows], h))
    natural = [r["S"] for r in rows if r["regime"] == "natural"]
    assert found[About(Margin.SHARES)] == pytest.approx(learned(natural, {"a": 0.5, "b": 0.5}))


def test_with_the_law_of_contexts_unknown_nodes_are_tested_given_their_parents():
    world = make_world("context")
    rows, evidence = rows_of(world)
    found = values_of(DeclaredLaw(world.problem, estimated=True), evidence)
    p = [{"0": {"0": 0.5, "1": 0.5}, "1": {"0": 0.5, "1": 0.5}}, {"0": {"0": 0.1, "1": 0.9}, "1": {"0": 0.2, "1": 0.8}}]
    x = {"a": {"0": 0.8, "1": 0.2}, "b": {"0": 0.4, "1": 0.6}}
    for k, t in np.ndindex(2, 2):
        arm, group = world.problem.arm_names[k], world.problem.groups[t]
        by_context = defaultdict(list)
        for row in rows:
            if row["arm"] == arm and row["S"] == group:
                by_context[row["Z"]].append(row["V"])
        expected = sum(learned(values, p[k][z]) for z, values in by_context.items())
        assert found[About(Margin.DECISION, k, t, 0)] == pytest.approx(expected)
        of_group = [r["X"] for r in rows if r["S"] == group]
        assert found[About(Margin.CHILD, None, t, 1)] == pytest.approx(learned(of_group, x[group]))
    assert About(Margin.SHARES) not in found  # estimated: P(S) is not used either


def test_what_is_found_is_named():
    world = make_world("context")
    rows = np.arange(2 * 2 * 8).reshape(2, 2, 8)
    known, given = DeclaredLaw(world.problem), DeclaredLaw(world.problem, estimated=True)

    def said(law: DeclaredLaw, about: About):
        found = law.finding(law.tests.about.index(about), rows)
        assert found.name == NOT_THE_LAW and found.blocks_certification
        return found.message, found.rows

    text, counted = said(known, About(Margin.DECISION, 1, 0))
    assert text.startswith("The decisions in the rows of arm 'arm1' in group 'b'") and counted == rows[1, 0].sum()
    text, counted = said(known, About(Margin.CONTEXT))
    assert "contexts in the rows of all arms" in text and counted == rows.sum()
    assert "shares of the natural rows" in said(known, About(Margin.SHARES))[0]
    text, counted = said(given, About(Margin.CHILD, None, 1, 1))
    assert "'X' in the rows of all arms in group 'a'" in text and counted == rows[:, 1].sum()


WRONGLY = {
    "child": (table("X", ["S"], [[0.8, 0.2], [0.55, 0.45]]), False, "combinations of "),
    "child, given its parents": (table("X", ["S"], [[0.8, 0.2], [0.55, 0.45]]), True, "The values of 'X' in "),
    "contexts": (table("Z", [], [0.45, 0.55]), False, "The contexts in the rows of all arms"),
    "contexts, where their law is not used": (table("Z", [], [0.45, 0.55]), True, None),
}


@pytest.mark.parametrize("case", WRONGLY)
def test_another_node_that_is_not_as_declared_is_found(case: str):
    """A thousand rows of every arm and group, of a world in which one table is off by 0.15."""
    wrong, estimated, said = WRONGLY[case]
    declared = make_world("context").problem
    network = context_network()
    tables = {**network.tables, wrong.node: wrong}
    bare = Problem(**context_parts(mechanisms=[tables["X"]]))
    world = NetworkWorld(bare, Network.of(network.variables.values(), tables.values()))
    rows = CellEvidence(declared, world.draw(np.full((1, 3, 2), 1000), np.random.default_rng(3)))
    law = DeclaredLaw(declared, estimated)
    after = law.after(law.start(1), rows, rows.counts[:, 0].sum(axis=(1, 3)).astype(float))
    if said is None:
        assert after.voided[0] == -1
    else:
        found = law.finding(int(after.voided[0]), after.tested[0])
        assert said in found.message
        assert "child" not in case or {example.split(", ")[1] for example in found.examples} == {
            "b"
        }  # whose table it is


def test_the_least_error_of_an_arm_is_that_of_its_decisions_in_the_group():
    """1 000 rows of one arm and group, none of any other; 0.1 or so with contexts known, more where they are not."""
    problem = make_world("context").problem
    rows = np.zeros((2, 2, 8), dtype=np.int64)
    rows[0, 1] = 125
    for estimated in (False, True):
        found = DeclaredLaw(problem, estimated).least_errors(rows)
        assert 0.08 < found[0, 1] < 0.16
        assert np.isnan(found[[0, 1, 1], [0, 0, 1]]).all()


def test_where_everything_is_certain_there_is_nothing_to_test():
    """Arms that take one decision each, P(S) unknown: another decision is refused, and shows in 95 % of runs from 3/n on."""
    arms = [Arm(f"all-{v}", table("V", [], np.eye(3)[v].tolist())) for v in range(2)]
    problem = Problem(**chain_parts(arms=arms, costs=(), budget=None, deployed=None, shares=None))
    law = DeclaredLaw(problem)
    assert law.tests.about == ()
    batch = CellEvidence.empty(problem)
    after = law.after(law.start(1), batch, np.zeros((1, 2)), lost=np.ones((1, 3, 2), dtype=np.int64))
    assert after.voided[0] == -1
    rows = np.zeros((2, 2, 3), dtype=np.int64)
    rows[0, :, 0] = 300
    found = law.least_errors(rows)
    assert found[0] == pytest.approx(3 / 300, rel=0.01) and np.isnan(found[1]).all()


# ---- in runs ----

TIED = [[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]]
"""Two arms with this law are tied, and no rule can end: only what is wrong with the law can."""


def world_of(first: list[list[float]] = TIED, shares: tuple[float, float] = (0.6, 0.4)) -> NetworkWorld:
    arms = [Arm("first", table("V", ["S"], first)), Arm("second", table("V", ["S"], TIED))]
    changes = {"arms": arms, "costs": (), "budget": None, "deployed": "first", "shares": shares}
    network = chain_network()
    tables = {**network.tables, "S": table("S", [], list(shares)), "V": arms[0].mechanism}
    return NetworkWorld(Problem(**chain_parts(**changes)), Network.of(network.variables.values(), tables.values()))


def finished(declared: Problem, world: NetworkWorld, pulls: int = 2500, **options):
    run = algorithm("pool", declared, pulls=pulls, seed=1, confidence=0.95, **options)
    rng, part = np.random.default_rng(5), 0
    while not run.finished:
        run.tell(world.pull(run.ask(), rng), id=str(part))
        part += 1
    return run


WRONG = [[0.25, 0.55, 0.2], [0.5, 0.3, 0.2]]
"""Off by 0.25 in one group."""


def test_a_run_whose_arm_decides_otherwise_than_declared_is_void_for_good():
    run = finished(world_of().problem, world_of(WRONG))
    verdict = run.verdict()
    assert verdict.status == "UNDECIDED" and [arm.certified for arm in verdict.arms] == [None, None]
    (finding,) = verdict.findings
    assert finding.name == NOT_THE_LAW and "arm 'first' in group 'a'" in finding.message
    assert finding.examples == ("first, a",)
    assert run.pulls_made().sum() < 2500  # nothing is to be had from more of them
    again = resume(world_of().problem, run.to_json())
    assert again.verdict().findings == verdict.findings


def test_a_void_run_stays_void_whatever_comes():
    """The state of a void run, told rows of the right law as if it were to go on."""
    declared = world_of()
    pool = Pool(declared.problem, 10_000, PoolOptions(confidence=0.95))
    state = finished(declared.problem, world_of(WRONG)).state
    going = state.but(running=np.ones(1, dtype=bool), answer=np.full(1, -3))
    rows = CellEvidence(declared.problem, declared.draw(np.full((1, 3, 2), 2000), np.random.default_rng(0)))
    after, info = pool.step(going, rows, rows, 1)
    assert (
        pool.law_report(after, 0).findings[0].message.partition(":")[0]
        == pool.law_report(state, 0).findings[0].message.partition(":")[0]
    )
    assert after.answer[0] == -2 and not after.running.any() and not info.standing.proof.any()


def test_wrong_shares_void_a_run_unless_they_are_not_used():
    declared, world = world_of(), world_of(shares=(0.3, 0.7))
    natural = {"costs": [[0.0, 50.0, 50.0]] * 2, "budget": 1.0}  # nearly all pulls are natural
    problem = replace(declared.problem, **natural)
    assert "shares of the natural rows" in finished(problem, world).verdict().findings[0].message
    assert finished(problem, world, pulls=400, law="estimated").verdict().findings == ()


def test_a_right_law_is_not_void_in_200_runs():
    """Allowed is 1 run in 10 000, so that even one here would be 1 in 50."""
    world = world_of()
    pool = Pool(world.problem, 600, PoolOptions(confidence=0.95))
    state = replicate(pool, world, 200, np.random.default_rng(2), 2)[0]
    assert (state.memory.voided == -1).all()
    assert state.memory.tested.sum() == 200 * 600


def test_runs_without_a_proof_are_not_tested():
    run = algorithm("pool", world_of().problem, pulls=300, seed=1)
    run.tell(world_of(WRONG).pull(run.ask(), np.random.default_rng(1)), id="x")
    assert run.verdict().findings == () and run.verdict().arms[0].law_error is None


@pytest.mark.parametrize(("lost", "charged"), [("worst", True), ("bad", True), ("at random", False)])
def test_rows_that_never_came_are_charged_and_not_counted(lost: str, charged: bool):
    """Of the first phase one row is missing: its arm's tests in both groups, as it is natural, and that of the shares."""
    world = world_of()
    run = algorithm("pool", world.problem, pulls=400, seed=1, confidence=0.95)
    rows = world.pull(run.ask(), np.random.default_rng(1))
    one = int(np.argmax(rows.count))
    run.tell(replace(rows, count=rows.count - (np.arange(rows.size) == one)), id="all but one")
    run.close_phase(lost=lost)
    memory, law = run.state.memory, DeclaredLaw(world.problem)
    assert memory.tested.sum() == rows.total - 1 and memory.voided[0] == -1
    arm = int(rows.arm[one])
    paid = {about for about, c in zip(law.tests.about, memory.charged[0], strict=True) if c < 0}
    if charged:
        assert {About(Margin.DECISION, arm, 0), About(Margin.DECISION, arm, 1), About(Margin.SHARES)} <= paid
        assert About(Margin.DECISION, 1 - arm, 0) not in paid
    else:
        assert not paid
    again = resume(world.problem, run.to_json())
    np.testing.assert_array_equal(again.state.memory.charged, memory.charged)


def test_rows_beyond_the_plan_do_not_test_the_law():
    world = world_of()
    run = algorithm("pool", world.problem, pulls=400, seed=1, confidence=0.95)
    asked = run.ask()
    rows = world.pull(Request(asked.arms, asked.regimes, 3 * asked.counts), np.random.default_rng(1))
    run.tell(rows, id="three times as many")
    assert run.state.memory.tested.sum() == asked.total


def test_every_answer_refuted_is_a_finding():
    """Books in which all accounts are beyond the threshold: no truth is left."""
    world = make_world("context")
    pool = Pool(Problem(**context_parts(context=world.problem.context)), 500, PoolOptions(confidence=0.95))
    state = pool.start(1)
    memory = replace(state.memory, refuted=np.ones_like(state.memory.refuted))
    assert [finding.name for finding in pool.law_report(state.but(memory=memory), 0).findings] == [
        "every-answer-refuted"
    ]
