"""identify, simulate and plan from a log: what is counted as pulls, what truths are drawn, and when no pull is needed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fairarm import (
    FunctionWorld,
    Problem,
    algorithm,
    identify,
    load_problem,
    plan,
    simulate,
)
from fairarm.beliefs.evidence import CellEvidence
from fairarm.beliefs.from_log import earlier_evidence
from fairarm.errors import OptionError, ProblemError, ReadError
from fairarm.experiments.plan import PlanNote, _countable
from fairarm.experiments.truths_from_log import LogTruths, evidence_for_truths
from fairarm.problem.pulls import Batch, Request
from fairarm.testing.problems import real_problem, simulate_real
from fairarm.worlds import Truth, World
from fairarm.worlds.cells import CellWorlds

ENOUGH, SOME = 4000, 200


def logged(source: World, rows: int, arm: int = 0, regime: int = 0, seed: int = 0) -> Batch:
    problem = source.problem
    counts = np.zeros((3, len(problem.arms)), dtype=np.int64)
    counts[regime, arm] = rows
    return source.pull(Request(problem.arm_names, problem.regimes, counts), np.random.default_rng([seed, 5]))


def shuffled(log: Batch) -> Batch:
    order = np.random.default_rng(0).permutation(log.size)
    columns = {name: values[order] for name, values in log.columns.items()}
    return Batch(log.arm[order], log.regime[order], columns, log.count[order])


def real_world() -> FunctionWorld:
    """S → V → Y, Y real from 0 to 3 and uniform over a unit above 0 or 2; "new" is best and fair."""
    means = np.array([[0.3, 0.5], [0.6, 0.7]]) * 2 + 0.5
    return FunctionWorld(real_problem(), simulate_real, Truth(means.mean(axis=1), means, 1.0))


# ---- identify ----


@pytest.mark.parametrize("stop", ["bayes-stop", "certified"])
def test_identify_with_a_log_that_says_it_all(stop: str) -> None:
    scenario = load_problem("ad-marketplace")
    log = logged(scenario.world, ENOUGH)
    heard: list[Any] = []
    found = identify(
        scenario.problem, scenario.world, pulls=500, log=log, confidence=0.9, stop=stop, on_phase=heard.append
    )
    assert found.correct
    assert (found.pulls, found.cost, found.story, found.log_rows) == (0, 0.0, (), ENOUGH)
    assert heard == []
    assert found.mixture is not None


def test_identify_counts_its_own_pulls_and_their_cost() -> None:
    scenario = load_problem("ad-marketplace")
    problem = scenario.problem
    dear = int(problem.compiled.cost_array.sum(axis=0).argmax())
    found = identify(problem, scenario.world, pulls=64, log=logged(scenario.world, 50, arm=dear), seed=3)
    assert found.log_rows == 50
    assert found.pulls == sum(phase.pulls for phase in found.story) == 64
    assert found.cost == pytest.approx(sum(phase.cost for phase in found.story))
    assert [phase.phase for phase in found.story] == [1, 2, 3, 4]
    without = identify(problem, scenario.world, pulls=64, seed=3)
    assert without.log_rows == 0
    assert len(without.story) == 5


def test_identify_with_rows_of_a_real_outcome() -> None:
    source = real_world()
    found = identify(source.problem, source, pulls=300, log=logged(source, 3000), confidence=0.95, stop="bayes-stop")
    assert found.correct
    assert (found.pulls, found.log_rows) == (0, 3000)
    assert identify(source.problem, source, pulls=30, log=logged(source, 40)).pulls == 30


# ---- simulate ----


def test_every_run_starts_from_the_log() -> None:
    """Error at 8 pulls: with a log that says it all, none of 100 runs is wrong; without, 0.1 or more of them are."""
    scenario = load_problem("ad-marketplace")
    asked: dict[str, Any] = {"algorithms": ["pool"], "pulls": [8], "runs": 100, "seed": 2}
    without = simulate(scenario.problem, scenario.world, **asked)
    found = simulate(scenario.problem, scenario.world, **asked, log=logged(scenario.world, ENOUGH))
    assert (without.log_rows, found.log_rows) == (0, ENOUGH)
    assert without.results[0].error > 0.1
    assert found.results[0].error == 0
    assert found.results[0].mean_pulls == 8
    assert found.results[0].mean_cost <= 8 * scenario.problem.compiled.cost_array.max()
    sure = simulate(
        scenario.problem, scenario.world, **asked, log=logged(scenario.world, ENOUGH), confidence=0.9, stop="bayes-stop"
    )
    assert (sure.results[0].mean_pulls, sure.results[0].mean_cost, sure.results[0].error) == (0, 0, 0)


def test_runs_are_the_same_for_any_number_of_jobs_and_any_order_of_lines() -> None:
    scenario = load_problem("ad-marketplace")
    log = logged(scenario.world, 60)
    asked: dict[str, Any] = {"algorithms": ["pool", "csr-v2", "two-stage-v2"], "pulls": [20, 40], "runs": 60}
    one, two, other = (
        [
            (p.errors, p.mean_cost, p.none_rate)
            for p in simulate(scenario.problem, scenario.world, **asked, **more).results
        ]
        for more in ({"log": log}, {"log": log, "jobs": 2}, {"log": shuffled(log)})
    )
    assert one == two == other


def test_runs_told_rows_start_from_the_log_too() -> None:
    """The same world as a function, and as a real outcome: one run after the other."""
    source = real_world()
    found = simulate(
        source.problem, source, algorithms=["pool", "uniform"], pulls=[6], runs=12, log=logged(source, 900)
    )
    assert found.log_rows == 900
    assert found.results[0].error == 0
    assert [p.mean_pulls for p in found.results] == [6, 6]
    sure = simulate(
        source.problem,
        source,
        algorithms=["pool"],
        pulls=[90],
        runs=3,
        log=logged(source, 900),
        confidence=0.9,
        stop="bayes-stop",
    )
    assert sure.results[0].mean_pulls == 0


def test_what_a_simulation_cannot_do_with_a_log_is_said_before_the_first_run() -> None:
    scenario = load_problem("ad-marketplace")
    log = logged(scenario.world, 10)
    done: list[int] = []
    asked: dict[str, Any] = {"pulls": [20], "runs": 5, "log": log, "on_done": done.append}
    with pytest.raises(OptionError, match="'csr-v1' cannot start from a log"):
        simulate(scenario.problem, scenario.world, algorithms=["pool", "csr-v1"], **asked)
    with pytest.raises(OptionError, match="limit"):
        simulate(scenario.problem, scenario.world, algorithms=["pool"], limit=True, **asked)
    with pytest.raises(ReadError, match="no such file"):
        simulate(scenario.problem, scenario.world, algorithms=["pool"], **{**asked, "log": "nowhere.csv"})
    assert done == []


# ---- the truths of a plan ----


def cells_of(problem: Problem, log: Batch) -> dict[tuple[int, ...], tuple[int, int]]:
    """Rows, and rows with the highest outcome, of each cell, counted line by line; S is not part of it."""
    found: dict[tuple[int, ...], tuple[int, int]] = {}
    for i in range(log.size):
        cell = tuple(int(log.columns[name][i]) for name in problem.cell_columns)
        n, y = found.get(cell, (0, 0))
        top = (problem.outcome.values or ())[log.columns[problem.outcome.node][i]] == problem.outcome.high
        found[cell] = (n + int(log.count[i]), y + int(log.count[i]) * top)
    return found


def test_outcomes_are_drawn_around_the_logs_means_as_wide_as_its_rows_leave_them() -> None:
    """hepar2 has a yes-or-no outcome: θ_c has mean y/n and variance p(1 − p)/n where n is in the hundreds.

    2 000 draws a cell: 5 standard errors of the mean, and 20 % of the sd, beside what a prior of 40 rows at most does.
    """
    scenario = load_problem("hepar2")
    problem = scenario.problem
    log = logged(scenario.world, 20_000)
    drawn = LogTruths(problem, _counts(problem, log)).draw(2000, np.random.default_rng(0))
    theta = drawn.outcome_law @ problem.outcome.scaled_values
    sizes = [problem.variables[name].size for name in problem.cell_columns]
    looked = 0
    for cell, (n, y) in cells_of(problem, log).items():
        p = y / n
        if n < 800 or not 0.1 < p < 0.9:
            continue
        at = int(np.ravel_multi_index(cell, sizes))
        sd = math.sqrt(p * (1 - p) / n)
        for t in (0, 1):
            assert abs(theta[:, t, at].mean() - p) < 5 * sd / math.sqrt(2000) + 40 / n
            assert theta[:, t, at].std() == pytest.approx(sd, rel=0.2)
        looked += 1
    assert looked >= 2
    world: Any = scenario.world
    np.testing.assert_allclose(drawn.law, world.law.reshape(*drawn.law.shape, 2).sum(axis=3), atol=1e-9)  # declared
    np.testing.assert_array_equal(drawn.shares, problem.shares)


def _counts(problem: Problem, log: Batch) -> CellEvidence:
    found = earlier_evidence(problem, log)
    assert isinstance(found, CellEvidence)
    return found


def test_shares_and_contexts_are_drawn_where_they_are_not_declared() -> None:
    """P(S) ~ Beta(n_s + ½, n_s' + ½) of natural rows only; contexts as a Dirichlet law of all rows (moments, 4 000 draws)."""
    scenario = load_problem("hepar2")
    bare = replace(scenario.problem, shares=None, context=None)
    natural = logged(scenario.world, 300)
    forced = logged(scenario.world, 200, regime=1, seed=1)
    both = Batch(
        np.append(natural.arm, forced.arm),
        np.append(natural.regime, forced.regime),
        {name: np.append(values, forced.columns[name]) for name, values in natural.columns.items()},
        np.append(natural.count, forced.count),
    )
    drawn = LogTruths(bare, _counts(bare, both)).draw(4000, np.random.default_rng(2))
    codes = natural.columns[bare.sensitive]
    a = int(natural.count[codes == bare.compiled.group_codes[0]].sum()) + 0.5
    b = int(natural.count.sum()) - a + 1.0
    assert drawn.shares.shape == (4000, 2)
    mean, sd = a / (a + b), math.sqrt(a * b / (a + b) ** 2 / (a + b + 1))
    assert abs(drawn.shares[:, 0].mean() - mean) < 5 * sd / math.sqrt(4000)
    assert drawn.shares[:, 0].std() == pytest.approx(sd, rel=0.1)
    np.testing.assert_allclose(drawn.shares.sum(axis=1), 1)
    # the context is what is left of the cell without V and the children of S: its law is that of arm 0 in either group
    assert drawn.law.shape[:3] == (4000, len(bare.arms), 2)
    np.testing.assert_allclose(drawn.law.sum(axis=3), 1)
    free = [n for n in bare.cell_columns if n != bare.decision and n not in bare.relevant_children]
    sizes = [bare.variables[name].size for name in bare.cell_columns]
    z_size = [bare.variables[name].size for name in free]
    x = np.array(np.unravel_index(np.arange(math.prod(sizes)), sizes))
    z_of = np.ravel_multi_index([x[bare.cell_columns.index(name)] for name in free], z_size)
    by_context = np.zeros((4000, math.prod(z_size)))
    np.add.at(by_context.T, z_of, drawn.law[:, 0, 0].T)
    n_z = np.bincount(
        np.ravel_multi_index([both.columns[name] for name in free], z_size),
        weights=both.count,
        minlength=math.prod(z_size),
    )
    expected = (n_z + 1 / len(n_z)) / (n_z.sum() + 1)
    spread = np.sqrt(expected * (1 - expected) / (n_z.sum() + 2))
    assert np.all(np.abs(by_context.mean(axis=0) - expected) < 5 * spread / math.sqrt(4000))
    np.testing.assert_allclose(by_context.std(axis=0), spread, rtol=0.1)


def test_worlds_that_differ_in_all_are_pulled_each_by_its_own_law() -> None:
    """Two worlds with other laws and shares in one draw: counts of a million pulls against each world's own product."""
    problem = load_problem("coin").problem
    rng = np.random.default_rng(0)
    law, outcome, shares = rng.dirichlet([1, 1], (2, 2, 2)), rng.dirichlet([1, 1], (2, 2, 2)), rng.dirichlet([1, 1], 2)
    both = CellWorlds(problem, law, outcome, shares)
    counts = np.zeros((2, 3, 2), dtype=np.int64)
    counts[:, 0, 0], counts[:, 2, 1] = 10**6, 10**6
    drawn = both.draw(counts, rng)
    outcomes, gaps = both.outcomes()
    for i in range(2):
        joint = shares[i][:, None, None] * law[i, 0][:, :, None] * outcome[i]
        seen = drawn[i, 0, 0].reshape(2, 2, 2) / 1e6
        assert np.abs(seen - joint).max() < 5 * 0.0005
        forced = drawn[i, 2, 1].reshape(2, 2, 2) / 1e6
        assert np.abs(forced[1] - law[i, 1, 1][:, None] * outcome[i, 1]).max() < 5 * 0.0005
        for k in range(2):
            means = [sum(law[i, k, t, v] * outcome[i, t, v, 1] for v in range(2)) for t in range(2)]
            assert outcomes[i, k] == pytest.approx(shares[i] @ means)
            assert gaps[i, k] == pytest.approx(means[0] - means[1])
        alone = CellWorlds(problem, law[i], outcome[i : i + 1], shares[i]).outcomes()
        np.testing.assert_allclose(alone[0][0], outcomes[i])


def test_a_real_outcome_of_a_log_becomes_two_values_with_the_same_sums() -> None:
    source = real_world()
    log = logged(source, 500)
    simple, _ = _countable(source.problem, log, 1.5)
    low, high = simple.outcome.values or (0.0, 0.0)
    assert high - low == 3
    counted = evidence_for_truths(source.problem, simple, log)
    assert counted is not None
    assert counted.counts.sum() == 500
    for v in (0, 1):
        mine = log.columns["V"] == v
        tops = counted.counts[0, :, :, :, 2 * v + 1].sum()
        assert abs(tops - ((log.columns["Y"][mine] - low) / 3).sum()) <= 1
        for s in (0, 1):
            both = counted.counts[0, 0, 0, s, 2 * v : 2 * v + 2].sum()
            assert both == np.sum(mine & (log.columns["S"] == s))


def test_what_rounding_leaves_is_taken_over_by_the_next_line_of_the_cell() -> None:
    """Eight lines of one cell that differ in arm, regime and group, each one row halfway between both values: 4 are the higher one."""
    source = real_world()
    arm, regime, group = (np.array(x) for x in zip(*[(k, r, t) for k in (0, 1) for r, t in ((0, 0), (0, 1), (1, 0), (2, 1))], strict=True))  # fmt: skip
    log = Batch(
        arm, regime, {"S": group, "V": np.zeros(8, dtype=np.int64), "Y": np.full(8, 1.2)}, np.ones(8, dtype=np.int64)
    )
    simple, _ = _countable(source.problem, log, 1.5)
    counted = evidence_for_truths(source.problem, simple, log)
    assert counted is not None
    assert counted.counts[..., 1].sum() == counted.counts[..., 0].sum() == 4


# ---- plans ----


def test_a_log_that_answers_needs_no_pull_and_the_plan_says_so() -> None:
    scenario = load_problem("ad-marketplace")
    found = plan(scenario.problem, log=logged(scenario.world, ENOUGH), truths=60)
    assert found.log_rows == ENOUGH
    assert (found.prior_mean, found.prior_strength) == (None, None)
    assert [option.pulls for option in found.options] == [0] * len(found.options)
    assert found.cheapest is found.quickest is found.options[0]
    assert (found.cheapest.cost, found.cheapest.units) == (0.0, ())
    assert [point.pulls for point in found.cheapest.curve] == [0]
    assert found.notes[0].code == PlanNote.ANSWERED


def test_a_log_saves_pulls_and_a_curve_starts_at_none() -> None:
    scenario = load_problem("ad-marketplace")
    margins = {"outcome_margin": 0.2, "gap_margin": 0.06}  # the same for both: by themselves they follow the truths
    asked: dict[str, Any] = {"truths": 20, "target_error": 0.15, "seed": 1, **margins}
    log = logged(scenario.world, 20)
    without, found = plan(scenario.problem, **asked), plan(scenario.problem, log=log, **asked)
    assert without.log_rows == 0 and (without.prior_mean, without.prior_strength) == (0.5, 2.0)
    needed, fewer = without.quickest, found.quickest
    assert needed is not None and fewer is not None and needed.pulls is not None and fewer.pulls is not None
    assert 0 < fewer.pulls < needed.pulls
    assert fewer.curve[0].pulls == 0
    assert fewer.curve[0].error > 0.15
    assert fewer.curve[0].mean_cost == 0
    assert sum(unit.pulls for unit in fewer.units) == pytest.approx(fewer.pulls, rel=0.1)
    again = plan(scenario.problem, log=shuffled(log), jobs=2, **asked)
    assert again == found


def test_the_error_without_a_pull_is_what_the_posterior_says() -> None:
    """With no margins an answer is right if it is the best fair arm: in 1 − p of truths it is not; 1 000 truths, 4 sds."""
    scenario = load_problem("coin")
    log = logged(scenario.world, 60)
    found = plan(scenario.problem, log=log, truths=1000, outcome_margin=0.0, gap_margin=0.0, most_pulls=32)
    run = algorithm("pool", scenario.problem, pulls=1, log=log, seed=4)
    said = run.verdict()
    votes = {report.name: report.best_probability for report in said.arms} | {"none": said.none_probability}
    p = max(value for value in votes.values() if value is not None)
    assert 0.55 < p < 0.99
    assert found.options[0].curve[0].error == pytest.approx(
        1 - p, abs=4 * math.sqrt(p * (1 - p) * (1 / 1000 + 1 / 100))
    )


def test_a_log_stands_in_for_what_is_not_declared() -> None:
    scenario = load_problem("hepar2")
    bare = replace(scenario.problem, shares=None, context=None)
    with pytest.raises(ProblemError, match="give a log"):
        plan(bare, truths=2)
    found = plan(bare, log=logged(scenario.world, SOME), truths=10, target_error=0.3, most_pulls=500)
    assert found.log_rows == SOME
    assert found.quickest is not None


def test_a_real_outcome_can_be_planned_from_a_log() -> None:
    source = real_world()
    log = logged(source, 3000)
    found = plan(source.problem, log=log, truths=30)
    assert found.notes[0].code == PlanNote.REAL_OUTCOME
    y, cell = log.columns["Y"], 2 * log.columns["V"] + log.columns["S"]
    left = sum(((y[cell == c] - y[cell == c].mean()) ** 2).sum() for c in range(4)) / (3000 - 4)
    assert found.notes[0].facts["sd"] == pytest.approx(math.sqrt(left))
    assert found.options[0].pulls == 0
    assert found.log_rows == 3000


def test_a_prior_beside_a_log_is_an_error() -> None:
    scenario = load_problem("coin")
    log = logged(scenario.world, 20)
    for prior in ({"prior_mean": 0.5}, {"prior_strength": 2.0}):
        with pytest.raises(OptionError, match="log"):
            plan(scenario.problem, log=log, truths=2, **prior)
    assert plan(scenario.problem, truths=5, target_error=0.5).options == plan(
        scenario.problem, truths=5, target_error=0.5, prior_mean=0.5, prior_strength=2.0
    ).options  # fmt: skip


def test_sparse_cells_are_said() -> None:
    scenario = load_problem("synthetic-loose:m=150,K=3")
    assert scenario.problem.compiled.shared_cells.cells == 150
    for rows, said in ((20, True), (20_000, False)):
        found = plan(scenario.problem, log=logged(scenario.world, rows), truths=2, most_pulls=32)
        assert any(note.code == PlanNote.SPARSE for note in found.notes) == said
