"""`mis`: its estimates against a loop over rows and against laws, and what it pulls and answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dirichlet_worlds import drawn, law_of_row, random_world
from fairarm.algorithms import Status, algorithm, make_procedure
from fairarm.algorithms.mis import BalanceHeuristic, balanced_means, group_shares
from fairarm.algorithms.verdict import verdict
from fairarm.beliefs.evidence import CellEvidence, RowEvidence
from fairarm.core.answer import Code
from fairarm.experiments.simulate import replicate
from fairarm.problem.context import ContextSample
from fairarm.problem.likelihood import Likelihood
from fairarm.problem.mechanism import Arm, table
from fairarm.problem.network import Network
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.variables import Variable
from fairarm.worlds import NetworkWorld

# ---- the estimates ----


@pytest.mark.parametrize("S_to_Y", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_balanced_means_are_a_plain_loop_over_rows(seed: int, S_to_Y: bool) -> None:
    world = random_world(seed, S_to_Y=S_to_Y)
    counts = drawn(world, [[20, 5, 0], [3, 0, 7], [0, 4, 6]], seed).counts
    rows = [(j, t, o) for _, r, j, t, o in np.argwhere(counts) for _ in range(int(counts[0, r, j, t, o]))]
    N, K = len(rows), 3
    expected = np.zeros((K, 2))
    for _, _, o in rows:
        mixture = sum(law_of_row(world, j, u, o) for j, u, _ in rows) / N
        for k in range(K):
            for t in range(2):
                expected[k, t] += law_of_row(world, k, t, o) / mixture * world.problem.compiled.row_outcomes[o] / N
    np.testing.assert_allclose(balanced_means(CellEvidence(world.problem, counts))[0], expected, rtol=1e-12)


@pytest.mark.parametrize("S_to_Y", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_expected_counts_give_the_truth(seed: int, S_to_Y: bool) -> None:
    """Counts in exact proportion to each unit's law: unbiased given how many rows each arm has in each group."""
    world, rng = random_world(seed, S_to_Y=S_to_Y), np.random.default_rng(seed)
    sizes = rng.random((1, 3, 3, 2)) * 100
    sizes[:, 1, :, 1] = sizes[:, 2, :, 0] = 0
    counts = sizes[..., None] * world.law  # whatever the groups of natural rows turned out to be
    truth = world.truth()
    evidence = CellEvidence(world.problem, counts)
    means = balanced_means(evidence)[0]
    outcome = world.problem.outcome
    np.testing.assert_allclose(outcome.unscale(means), truth.group_outcomes, rtol=0, atol=1e-12)
    procedure = make_procedure("mis", world.problem, 100)
    _, shown = procedure.step(procedure.start(1), evidence, evidence, 0)
    np.testing.assert_allclose(outcome.unscale(shown.outcomes[0]), truth.outcomes, rtol=0, atol=1e-12)
    np.testing.assert_allclose(outcome.width * shown.gaps[0], [truth.gaps, -truth.gaps], rtol=0, atol=1e-12)


def test_rows_one_by_one_and_counted_are_the_same() -> None:
    world = random_world(1)
    plan = np.array([[9, 2, 1], [2, 3, 4], [1, 5, 2]])
    run = algorithm("mis", world.problem, pulls=10)
    part = world.pull(replace(run.ask(), counts=plan), np.random.default_rng(0))
    counted = CellEvidence.empty(world.problem).add(part)
    kept = RowEvidence.empty(world.problem).add(part)
    for regimes in ((0,), (2,), counted.every_regime):
        np.testing.assert_array_equal(counted.group_sums(regimes)[0], kept.group_sums(regimes)[0])
    np.testing.assert_allclose(balanced_means(counted), balanced_means(kept), rtol=1e-12)
    tiny = replace(kept, rows=Likelihood(kept.rows.arms - np.linspace(900, 2_000, part.size), kept.rows.children))
    np.testing.assert_allclose(balanced_means(tiny), balanced_means(kept), rtol=1e-9)  # only ratios count


def test_what_no_row_can_speak_for_is_undefined() -> None:
    """Arm 'left' never gives V = 1, arm 'right' nothing else: rows of one say nothing of the other."""
    sides = {"left": [[1.0, 0.0], [1.0, 0.0]], "right": [[0.0, 1.0], [0.0, 1.0]]}
    network = Network.of(
        [Variable(n, ("0", "1")) for n in "SVY"],
        [table("S", [], [0.5, 0.5]), table("V", ["S"], sides["left"]), table("Y", ["V"], [[0.3, 0.7], [0.8, 0.2]])],
    )
    problem = Problem(
        name="apart",
        variables=network.variables,
        graph=network.edges(),
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.1,
        arms=[Arm(name, table("V", ["S"], rows)) for name, rows in sides.items()],
        shares=(0.5, 0.5),
    )
    means = balanced_means(drawn(NetworkWorld(problem, network), [[40, 0], [0, 0], [0, 0]]))[0]
    assert not np.isnan(means[0]).any() and np.isnan(means[1]).all()
    assert np.isnan(balanced_means(CellEvidence.empty(problem))).all()


def test_shares_declared_counted_or_from_a_sample() -> None:
    world = random_world(0)
    evidence = drawn(world, [[6, 4, 0], [30, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(group_shares(evidence)[0], world.problem.shares)
    natural = evidence.counts[0, 0].sum(axis=(0, 2))
    unknown = random_world(0, shares=None).problem
    np.testing.assert_allclose(group_shares(CellEvidence(unknown, evidence.counts))[0], (natural + 0.5) / 11)
    columns = {"S": np.array([0, 1, 1]), "X": np.zeros(3, int), "V": np.zeros(3, int)}
    logged = random_world(0, shares=None, context=ContextSample("arm0", columns)).problem
    np.testing.assert_allclose(
        group_shares(CellEvidence(logged, evidence.counts))[0], (natural + np.array([1.5, 2.5])) / 14
    )


# ---- the procedure ----


def test_mis_pulls_as_csr_does_over_all_arms_and_rejects_nobody() -> None:
    world = random_world(2, costs=[[0, 0, 0], [1, 1, 1], [1, 2, 1]], budget=0.3)
    mis, csr = make_procedure("mis", world.problem, 500), make_procedure("csr-v2", world.problem, 500)
    state, rival = mis.start(3), csr.start(3)
    empty = CellEvidence.empty(world.problem, 3)
    while not rival.finished:  # csr without rows rejects nobody either
        np.testing.assert_array_equal(state.plan, rival.plan)
        evidence = drawn(world, [[200, 200, 200]] * 3, n=3)
        (state, shown), (rival, _) = mis.step(state, evidence, evidence, 0), csr.step(rival, empty, empty, 0)
        assert state.memory.alive.all() and not shown.rejected.any()
    assert state.finished


def test_mis_answers_the_best_estimate_below_the_tolerance() -> None:
    world = random_world(3)
    procedure = BalanceHeuristic.of(world.problem, 200)
    state, info, _, _ = replicate(procedure, world, 40, np.random.default_rng(0), 0)
    E = world.problem.compiled.scaled_tolerance
    for i in range(40):
        fair = [k for k in range(3) if abs(info.gaps[i, 0, k]) < E]
        assert state.answer[i] == (max(fair, key=lambda k: info.outcomes[i, k]) if fair else Code.NONE)
    assert len(set(state.answer.tolist())) > 1
    np.testing.assert_array_equal(info.gaps[:, 0], -info.gaps[:, 1])


def test_mis_finds_no_fair_arm_and_the_only_arm() -> None:
    for tolerance, status in ((1e-6, Status.NO_FAIR_ARM), (4.0, Status.FOUND)):
        world = random_world(4, K=1, tolerance=tolerance)
        procedure = make_procedure("mis", world.problem, 300)
        state, info, _, _ = replicate(procedure, world, 1, np.random.default_rng(0), 0)
        assert verdict(procedure, state, info).recommended_status is status
