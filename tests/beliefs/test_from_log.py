"""Runs that start from a log: against runs told the log by hand, wealth bet row by row, and counted errors."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fairarm import algorithm
from fairarm.algorithms import DESCRIPTIONS, Algorithm, Status, make_procedure, resume
from fairarm.algorithms.certificates import Certified
from fairarm.algorithms.pool import FIRST_LOOK, PHASES, Pool, PoolOptions
from fairarm.algorithms.records import plain
from fairarm.beliefs import planning
from fairarm.beliefs.evidence import CellEvidence, RowEvidence
from fairarm.beliefs.from_log import GROWTH, earlier_evidence, growing_parts
from fairarm.core.answer import Code
from fairarm.core.design.events import plan_pulls
from fairarm.core.proof.bets import Brought, open_ledger, settle
from fairarm.core.types import IntArray
from fairarm.errors import DataError, OptionError
from fairarm.experiments.simulate import replicate
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch, Request
from fairarm.sealed import opened
from fairarm.testing.checks import take, units
from fairarm.testing.problems import make_world
from fairarm.testing.saving import changed, paths
from fairarm.worlds import World
from four_arms import ARMS, EASY, chain, truth, world

V1 = [name for name in DESCRIPTIONS if name.endswith("v1")]
NAMES = [name for name in DESCRIPTIONS if name not in V1]
SURE = [{"confidence": 0.9, "stop": "bayes-stop"}, {"confidence": 0.9}]


def pulled(source: World, counts: Any, seed: int = 0) -> Batch:
    """Rows of ``counts`` (R, K) pulls, one line each."""
    problem = source.problem
    plan = Request(problem.arm_names, problem.regimes, np.asarray(counts, dtype=np.int64))
    return units(source.pull(plan, np.random.default_rng([seed, 99])))


def natural(source: World, rows: int, arm: int = 0, seed: int = 0) -> Batch:
    """A log of one arm that was deployed."""
    counts = np.zeros((3, len(source.problem.arms)), dtype=np.int64)
    counts[0, arm] = rows
    return pulled(source, counts, seed)


def joined(first: Batch, second: Batch) -> Batch:
    columns = {name: np.append(values, second.columns[name]) for name, values in first.columns.items()}
    both = (
        np.append(a, b)
        for a, b in ((first.arm, second.arm), (first.regime, second.regime), (first.count, second.count))
    )
    arm, regime, count = both
    return Batch(arm, regime, columns, count)


def play(run: Algorithm, source: World, seed: int = 0) -> Algorithm:
    for part in itertools.count():
        if run.finished:
            return run
        run.tell(source.pull(run.ask(), np.random.default_rng([seed, part])), id=str(part))
    raise AssertionError


# ---- the log as a phase told by hand ----


@pytest.mark.parametrize("kind", ["chain", "real"])
@pytest.mark.parametrize("seed", range(3))
def test_pool_goes_on_as_if_the_log_had_been_told_as_its_first_phase(kind: str, seed: int) -> None:
    """A run of T pulls without costs plans f in its first phase; told the log instead, it has T − f pulls left to plan."""
    source: World = make_world("real") if kind == "real" else world(chain())
    problem, log = source.problem, natural(source, 150, seed=seed)
    by_hand = algorithm("pool", problem, pulls=120, seed=seed)
    first = by_hand.ask().total
    by_hand.tell(log, id="log")
    by_hand.close_phase()
    warm = algorithm("pool", problem, pulls=120 - first, seed=seed, log=log)
    assert warm.log_rows == 150
    rtol = 0 if problem.compiled.finite else 1e-9
    for part in range(PHASES):
        assert not warm.finished
        np.testing.assert_array_equal(warm.ask().counts, by_hand.ask().counts)
        assert warm.phase == by_hand.phase - 1 == part + 1
        rows = source.pull(warm.ask(), np.random.default_rng([seed, part]))
        for run in (warm, by_hand):
            run.tell(rows, id=str(part))
        np.testing.assert_allclose(warm.info.outcomes, by_hand.info.outcomes, rtol=rtol)
        np.testing.assert_allclose(warm.info.gaps, by_hand.info.gaps, rtol=rtol, atol=rtol)
    assert warm.finished
    assert warm.pulls_made().sum() == 120 - first
    np.testing.assert_array_equal(by_hand.pulls_made() - warm.pulls_made(), [[150, *[0] * (len(problem.arms) - 1)], *[[0] * len(problem.arms)] * 2])  # fmt: skip
    ours, theirs = warm.verdict(), by_hand.verdict()
    assert (ours.arm, ours.probability, ours.phases) == (theirs.arm, theirs.probability, theirs.phases - 1)


@pytest.mark.parametrize("kind", ["chain", "context", "real"])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "pool"])
def test_others_estimate_as_if_the_log_had_come_with_the_first_phase(name: str, kind: str) -> None:
    """Same plans, same estimates, in all phases; two-stage counts the log in both stages: there it is told twice."""
    source = make_world(kind)
    problem = source.problem
    log = pulled(source, np.full((3, len(problem.arms)), 7))
    warm, by_hand = algorithm(name, problem, pulls=90, seed=4, log=log), algorithm(name, problem, pulls=90, seed=4)
    stage = -1
    for part in itertools.count():
        if warm.finished:
            break
        np.testing.assert_array_equal(warm.ask().counts, by_hand.ask().counts)
        rows = source.pull(warm.ask(), np.random.default_rng([5, part]))
        told = joined(log, rows) if by_hand.state.stage != stage else rows
        stage = by_hand.state.stage
        warm.tell(rows, id=str(part))
        by_hand.tell(told, id=str(part))
        rtol = 0 if problem.compiled.finite else 1e-12
        np.testing.assert_allclose(warm.info.outcomes, by_hand.info.outcomes, rtol=rtol)
        np.testing.assert_allclose(warm.info.gaps, by_hand.info.gaps, rtol=rtol, atol=rtol)
    assert by_hand.finished
    assert warm.verdict().arm == by_hand.verdict().arm
    assert warm.log_rows == 21 * len(problem.arms)
    np.testing.assert_array_equal(
        by_hand.pulls_made() - warm.pulls_made(), np.full_like(warm.pulls_made(), 7 * (1 + stage))
    )


def test_uniform_with_a_log_is_the_means_of_all_rows_by_hand() -> None:
    source = world(chain())
    log = pulled(source, [[40] * 4, [0] * 4, [0] * 4])
    run = algorithm("uniform", source.problem, pulls=80, log=log)
    rows = units(source.pull(run.ask(), np.random.default_rng(0)))
    run.tell(rows, id="all")
    both = joined(log, rows)
    for k, report in enumerate(run.verdict().arms):
        mine = both.arm == k
        y, s = both.columns["Y"][mine], both.columns["S"][mine]
        assert report.outcome == pytest.approx(y.mean())
        assert report.gaps["a|b"] == pytest.approx(y[s == 0].mean() - y[s == 1].mean())


class Recorded:
    """A world whose draws are kept, so that another run can be told them."""

    def __init__(self, source: Any) -> None:
        self.source = source
        self.drawn: list[IntArray] = []

    def draw(self, counts: IntArray, rng: np.random.Generator) -> IntArray:
        self.drawn.append(self.source.draw(counts, rng))
        return self.drawn[-1]


def as_batch(problem: Problem, counts: IntArray) -> Batch:
    """Counts (R, K, G, O) of a problem whose cell is V alone, as lines."""
    regime, arm, group, row = np.nonzero(counts)
    states = problem.variables["Y"].size
    columns = {"S": np.array(problem.compiled.group_codes)[group], "V": row // states, "Y": row % states}
    return Batch(arm, regime, columns, counts[regime, arm, group, row])


@pytest.mark.parametrize(
    ("name", "options"), [*((name, {}) for name in NAMES), *(("pool", o) for o in ({"law": "estimated"}, *SURE))]
)
def test_together_and_one_by_one_are_the_same(name: str, options: dict[str, Any]) -> None:
    """`replicate`, and a run told the same rows: the same state bit for bit, the log counted in every stage of both."""
    source: Any = make_world("chain")
    problem, log = source.problem, pulled(source, np.full((3, 3), 9))
    run = algorithm(name, problem, pulls=70, seed=6, log=log, **options)
    evidence, recorded = earlier_evidence(problem, log), Recorded(source)
    assert isinstance(evidence, CellEvidence)
    procedure = make_procedure(name, problem, 70, **options)
    state, info, costs, made = replicate(procedure, recorded, 1, np.random.default_rng(2), 6, evidence)
    for part, counts in enumerate(recorded.drawn):
        if counts.any():
            run.tell(as_batch(problem, counts[0]), id=str(part))
    assert run.finished
    assert json.dumps(run.state.to_json()) == json.dumps(state.to_json())
    assert plain(run.state.memory) == plain(state.memory) and run.info.to_json() == info.to_json()
    assert made.tolist() == [run.pulls_made().sum()]
    assert costs[0] == pytest.approx((run.pulls_made() * problem.compiled.cost_array).sum())


# ---- what is pulled ----


def test_the_first_pulls_are_those_that_the_log_lacks() -> None:
    """The log's arm never shows V = 1; only "mid" does, and the two are to be told apart."""
    arms = {"blind": [[0.5, 0.0, 0.5], [0.5, 0.0, 0.5]], "mid": [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]}
    problem = chain(arms, tolerance=0.5, costs=[[0, 0, 0], [1, 1, 1]])
    source = world(problem, (0.1, 0.6, 0.9))
    cold = algorithm("pool", problem, pulls=40).ask().counts
    assert cold[:, 1].sum() == 0
    warm = algorithm("pool", problem, pulls=40, log=natural(source, 2000)).ask().counts
    assert warm.sum() == 10
    assert warm[:, 1].sum() == 10


@pytest.mark.parametrize("options", [{}, *SURE])
@pytest.mark.parametrize("budget", [None, 0.5, 1.2, "1/sqrt(pulls)"])
@pytest.mark.parametrize("pulls", [1, 2, 3, 31, 90])
def test_budgets_count_new_pulls_only(pulls: int, budget: Any, options: dict[str, Any]) -> None:
    """The log's rows are of the dearest arm: they use up nothing."""
    problem = chain(costs=[[0.0, 1, 2], [1, 1, 1], [2, 2, 2], [9, 9, 9]], budget=budget, tolerance=0.05)
    source = world(problem)
    run = algorithm("pool", problem, pulls=pulls, log=natural(source, 60, arm=3), **options)
    average = problem.average_cost_budget(pulls)
    while not run.finished:
        run.tell(source.pull(run.ask(), np.random.default_rng(0)), id=str(run.phase))
        made, cost = run.pulls_made().sum(), (run.pulls_made() * problem.compiled.cost_array).sum()
        assert average is None or cost <= average * made * (1 + 1e-9) + 1e-6
    assert run.pulls_made().sum() <= pulls
    if not options:
        assert run.pulls_made().sum() == pulls
        assert run.verdict().phases == PHASES


@pytest.mark.parametrize("options", SURE)
@pytest.mark.parametrize("rows", [5, 300, 5000])
def test_looks_are_counted_in_new_pulls(rows: int, options: dict[str, Any]) -> None:
    """A gap at the tolerance is never sure: the first look after FIRST_LOOK pulls, the next after a fifth more, or 12 %."""
    problem = chain({"good": ARMS["good"], "favours b": ARMS["favours b"]}, tolerance=0.04)
    source = world(problem)
    run = algorithm("pool", problem, pulls=1000, log=natural(source, rows), **{**options, "confidence": 0.999})
    sizes = []
    while len(sizes) < 4 and not run.finished:
        sizes.append(run.ask().total)
        run.tell(source.pull(run.ask(), np.random.default_rng(len(sizes))), id=str(len(sizes)))
    assert sizes[0] == FIRST_LOOK
    growth = 1.2 if "stop" in options else 1.12
    assert all(b == math.ceil(growth * sum(sizes[: i + 1])) - sum(sizes[: i + 1]) for i, b in enumerate(sizes[1:]))


@pytest.mark.parametrize(("options", "pulls", "ahead"), [({}, 70, 70), *((o, 70, FIRST_LOOK) for o in SURE), *((o, 9, 9) for o in SURE)])  # fmt: skip
def test_how_far_ahead_the_first_plan_looks(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], pulls: int, ahead: int
) -> None:
    """All pulls where their number is fixed, else those up to the first look; a certified plan is made for its accounts."""
    seen: list[Any] = []
    monkeypatch.setattr(planning, "plan_pulls", lambda *args: seen.append(args) or plan_pulls(*args))
    source = world(chain(tolerance=0.05))
    run = algorithm("pool", source.problem, pulls=pulls, log=natural(source, 300), **options)
    assert run.ask().total == (18 if not options else ahead)
    if options == SURE[1]:
        assert not seen
        return
    ((counts, _, _, _, planned, _, _),) = seen
    assert planned.tolist() == [ahead]
    assert counts.max() > 100


# ---- enough, and not enough ----


@pytest.mark.parametrize("options", SURE)
@pytest.mark.parametrize("shares", [{"a": 0.4, "b": 0.6}, None])
def test_a_log_that_says_it_all_needs_no_pull(options: dict[str, Any], shares: Any) -> None:
    source = world(chain(shares=shares), EASY)
    run = algorithm("pool", source.problem, pulls=100, log=natural(source, 4000), **options)
    assert run.finished
    assert run.pulls_made().sum() == 0
    assert run.ask().total == 0
    assert run.phase == run.verdict().phases == 0
    said = run.verdict()
    assert (said.status, said.arm) == (Status.FOUND, "good")
    assert said.probability > 0.99
    if said.guarantee == "certified":
        assert {report.certified for report in said.arms} <= {"fair", "unfair", "worse", "unfair or worse"}
    with pytest.raises(DataError, match="finished"):
        run.tell(natural(source, 1), id="more")
    assert resume(source.problem, run.to_json()).verdict() == said


def test_a_log_without_a_fair_arm_says_so_at_once() -> None:
    source = world(chain({name: ARMS[name] for name in ("favours a", "favours b")}), EASY)
    for options in SURE:
        run = algorithm("pool", source.problem, pulls=100, log=natural(source, 3000), **options)
        assert run.verdict().status == Status.NO_FAIR_ARM
        assert run.pulls_made().sum() == 0


class Logs:
    """One log for each of n replicates, of natural rows of an arm."""

    def __init__(self, source: Any, n: int, rows: int, arm: int = 0) -> None:
        counts = np.zeros((n, 3, len(source.problem.arms)), dtype=np.int64)
        counts[:, 0, arm] = rows
        self.evidence = CellEvidence(source.problem, source.draw(counts, np.random.default_rng(17)))


def errors(source: Any, pulls: int, n: int, log: CellEvidence | None, **options: Any) -> tuple[IntArray, IntArray]:
    """Wrong answers and pulls of n runs."""
    procedure = make_procedure("pool", source.problem, pulls, **options)
    state, _, _, made = replicate(procedure, source, n, np.random.default_rng(8), 3, log)
    return state.answer != source.truth().best_fair_arm, made


def test_a_useful_log_saves_pulls_and_is_worth_as_much_as_rows_of_the_runs_own() -> None:
    """300 runs a rate: 30 pulls err in 0.34; with a log of 150 natural rows in 0.05, and 180 pulls of a run's own in 0.07.

    A rate of 0.06 has a standard error of 0.014: a correct program fails less than 1 time in 10^4.
    """
    source, n = world(chain(tolerance=0.06, shares=None)), 300
    without, _ = errors(source, 30, n, None)
    log, made = errors(source, 30, n, Logs(source, n, 150).evidence)
    own, _ = errors(source, 180, n, None)
    assert np.all(made == 30)
    assert without.mean() > 0.25
    assert log.mean() < without.mean() / 2
    assert abs(log.mean() - own.mean()) < 4 * math.sqrt(2) * 0.014


BLIND = {
    "blind": [[0.5, 0.0, 0.5], [0.5, 0.0, 0.5]],
    "mid": [[0.1, 0.8, 0.1], [0.1, 0.8, 0.1]],
    "split": [[0.2, 0.8, 0.0], [0.0, 0.8, 0.2]],
}


@pytest.mark.parametrize("rows", [300, 30_000])
def test_a_long_log_that_lacks_one_cell_costs_no_more_pulls_than_a_short_one(rows: int) -> None:
    """About 40 pulls with bayes-stop and 210 certified, of 290 without a log; all that is missing is V = 1.

    Were looks counted in all rows, the long log would cost 6 000; were its rows counted as certified evidence, the proof
    would never come.
    """
    source = world(chain(BLIND, tolerance=0.3), (0.1, 0.6, 0.7))
    log = Logs(source, 20, rows).evidence
    for options, most in ((SURE[0], 80), (SURE[1], 290)):
        wrong, made = errors(source, 20_000, 20, log, **options)
        assert made.mean() < most
        assert wrong.mean() <= 0.1


def test_certified_answers_keep_their_error_bound_with_a_log() -> None:
    """One arm whose gap is the tolerance, so that "fair" is wrong; δ = ½, 400 runs, each with a log of its own.

    The rate is at most 0.5, and 0.575 is 3 standard errors above. It is near 0.17; where the bets have seen the rows that
    they are settled with it is 0.65.
    """
    problem = chain({"good": ARMS["good"]}, tolerance=abs(truth("good")[1]))
    source, n = world(problem), 400
    procedure = make_procedure("pool", problem, 100, confidence=0.5)
    state, _, _, made = replicate(procedure, source, n, np.random.default_rng(4), 1, Logs(source, n, 3000).evidence)
    assert np.mean((made == 0) & (state.answer == 0)) > 0.02
    assert np.mean(state.answer == 0) < 0.575


# ---- bets on a log ----


def test_parts_of_a_log_grow_and_are_drawn_without_looking() -> None:
    """4 000 rows: 32, then a fifth more in all with each part; every row in one part; outcomes do not decide which.

    The chi-square test of outcome against part fails a correct program 1 time in 1 000 (the seed is fixed).
    """
    source = world(chain())
    evidence = earlier_evidence(source.problem, natural(source, 4000))
    assert isinstance(evidence, CellEvidence)
    parts = list(growing_parts(evidence))
    counts = np.array([part.counts for part, _ in parts])  # type: ignore[attr-defined]
    assert counts.min() >= 0
    np.testing.assert_array_equal(counts.sum(axis=0), evidence.counts)
    for i, (_, seen) in enumerate(parts):
        np.testing.assert_array_equal(seen.counts, counts[: i + 1].sum(axis=0))  # type: ignore[attr-defined]
    reached = counts.sum(axis=(1, 2, 3, 4, 5)).cumsum()
    expected = np.minimum(32 * GROWTH ** np.arange(len(parts)), 4000)
    assert len(parts) == 28
    assert np.all(np.abs(reached - expected) <= 5 * np.sqrt(expected * (1 - expected / 4000)) + 1e-9)
    by_outcome = counts.reshape(len(parts), -1, 2).sum(axis=1)
    assert stats.chi2_contingency(by_outcome[3:]).pvalue > 1e-3


@pytest.mark.parametrize("rows", [1, 31, 32, 33])
def test_a_short_log_is_one_part_or_two(rows: int) -> None:
    source = world(chain())
    evidence = earlier_evidence(source.problem, natural(source, rows))
    assert isinstance(evidence, CellEvidence)
    parts = list(growing_parts(evidence))
    assert len(parts) == (1 if rows <= 32 else 2)
    np.testing.assert_array_equal(parts[-1][1].counts, evidence.counts)  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["chain", "real"])
def test_wealth_is_that_of_the_parts_and_then_of_the_phases(kind: str) -> None:
    """A ledger kept beside the run, its counts summed line by line: the log is bet on once, part by part, and never again."""
    source: World = make_world("real") if kind == "real" else world(chain(tolerance=0.05, shares=None))
    problem, log = source.problem, natural(source, 120)
    run = algorithm("pool", problem, pulls=60, log=log, confidence=1 - 1e-15)
    certified = Certified.of(problem, 1.0 - (1 - 1e-15), estimated=False)
    ledger = open_ledger(certified.rule)
    evidence = earlier_evidence(problem, log)
    assert evidence is not None
    for part, _ in growing_parts(evidence):
        ledger = settle(certified.rule, ledger, Brought(*_sums(problem, certified, lines(part))))
    np.testing.assert_allclose(run.state.memory.labels, ledger.labels, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(run.state.memory.beats, ledger.accounts.beats, rtol=1e-7, atol=1e-9)
    assert np.any(ledger.labels != 0)
    for part in itertools.count():
        if run.finished:
            break
        rows = units(source.pull(run.ask(), np.random.default_rng(part)))
        ledger = settle(certified.rule, ledger, Brought(*_sums(problem, certified, list(_as_lines(problem, rows)))))
        run.tell(rows, id=str(part))
    assert part > 1
    np.testing.assert_allclose(run.state.memory.labels, ledger.labels, rtol=1e-7, atol=1e-9)


Line = tuple[int, int, int, int, float, int]
"""Arm, regime, group, V, Y', count."""


def _as_lines(problem: Problem, batch: Batch) -> Any:
    low, width = problem.outcome.low or 0.0, problem.outcome.width
    values = problem.outcome.values
    for i in range(batch.size):
        y = batch.columns["Y"][i]
        y = (values[y] if values else y) - low
        group = problem.compiled.group_codes.index(int(batch.columns["S"][i]))
        yield batch.arm[i], batch.regime[i], group, int(batch.columns["V"][i]), y / width, batch.count[i]


def lines(evidence: Any) -> list[Line]:
    """Of a part of a log, from counts or rows."""
    if isinstance(evidence, RowEvidence):
        return list(_as_lines(evidence.problem, evidence.batch))
    found = []
    for _, regime, arm, group, row in np.argwhere(evidence.counts):
        found.append((arm, regime, group, row // 2, float(row % 2), evidence.counts[0, regime, arm, group, row]))
    return found


def _sums(problem: Problem, certified: Certified, rows: list[Line]) -> tuple[Any, ...]:
    K, _, C = certified.rule.law.shape
    made, n, y, nat = np.zeros((1, K, 2)), np.zeros((1, C)), np.zeros((1, C)), np.zeros((1, 2))
    for arm, regime, group, v, outcome, count in rows:
        made[0, arm, group] += count
        n[0, v] += count
        y[0, v] += count * outcome
        nat[0, group] += count * (regime == 0)
    return made, n, y, nat


# ---- the form of the log ----


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        *((kind, options) for kind in ("chain", "context", "real") for options in ({}, *SURE)),
        *(("beta-mixtures", options) for options in ({}, *SURE) if not options or "stop" in options),
    ],  # certified answers need finite columns
)
def test_the_order_and_grouping_of_lines_change_nothing(kind: str, options: dict[str, Any]) -> None:
    """Bit for bit, in the whole document: permuted, and with a line of count 3 for three equal ones."""
    if kind == "beta-mixtures":
        from fairarm import load_problem

        source: Any = load_problem("beta-mixtures").world
    else:
        source = make_world(kind)
    problem, rng = source.problem, np.random.default_rng(3)
    rows = pulled(source, np.full((3, len(problem.arms)), 3))
    rows = take(rows, np.repeat(np.arange(rows.size), 3))  # every row three times
    whole = algorithm("pool", problem, pulls=20, log=rows, **options)
    once = take(rows, np.arange(0, rows.size, 3))
    for other in (take(rows, rng.permutation(rows.size)), replace(once, count=once.count * 3)):
        again = algorithm("pool", problem, pulls=20, log=other, **options)
        assert again.to_json() == whole.to_json()
        assert play(again, source).to_json() == play(algorithm("pool", problem, pulls=20, log=rows, **options), source).to_json()  # fmt: skip


def test_the_callers_arrays_are_not_kept() -> None:
    for kind in ("chain", "real"):
        source = make_world(kind)
        log = natural(source, 30)
        run = algorithm("pool", source.problem, pulls=20, log=log)
        before = run.to_json()
        log.count[:] = 7
        for values in log.columns.values():
            values[:] = 0
        assert run.to_json() == before


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_log_is_no_log(name: str) -> None:
    source = make_world("chain")
    none = algorithm(name, source.problem, pulls=30, seed=1)
    empty = algorithm(name, source.problem, pulls=30, seed=1, log=take(natural(source, 3), slice(0, 0)))
    assert empty.to_json() == none.to_json()
    assert json.loads(none.to_json())["log"] is None


def test_logs_that_do_not_fit() -> None:
    source = make_world("chain")
    log = natural(source, 5, arm=2)  # "never-low"
    with pytest.raises(OptionError, match="is not a log"):
        algorithm("pool", source.problem, pulls=10, log=5)
    low = replace(log, columns={**log.columns, "V": np.zeros(5, dtype=np.int64)})
    with pytest.raises(DataError, match="probability 0"):
        algorithm("pool", source.problem, pulls=10, log=low)
    with pytest.raises(DataError, match="arm"):
        algorithm("pool", source.problem, pulls=10, log=replace(log, arm=log.arm + 5))


@pytest.mark.parametrize("name", V1)
def test_estimates_by_phase_take_no_log(name: str) -> None:
    source = make_world("chain")
    with pytest.raises(OptionError, match=rf"'{name}' cannot start from a log.*pool"):
        algorithm(name, source.problem, pulls=30, log=natural(source, 5))


# ---- saving ----


@pytest.mark.parametrize("kind", ["chain", "context", "real"])
@pytest.mark.parametrize(("name", "options"), [*((name, {}) for name in NAMES), *(("pool", o) for o in SURE)])
def test_resume_is_continue_bit_for_bit(name: str, options: dict[str, Any], kind: str) -> None:
    source = make_world(kind)
    problem = source.problem
    log = pulled(source, np.full((3, len(problem.arms)), 2))
    straight, saved = (algorithm(name, problem, pulls=50, seed=2, log=log, **options) for _ in range(2))
    for part in itertools.count():
        document = saved.to_json()
        saved = resume(problem, document)
        assert saved.to_json() == document == straight.to_json()
        assert saved.log_rows == log.total
        assert saved.verdict() == straight.verdict()
        np.testing.assert_array_equal(saved.pulls_made(), straight.pulls_made())
        np.testing.assert_array_equal(saved.state.log_rows, straight.state.log_rows)
        if straight.finished:
            break
        rows = units(source.pull(straight.ask(), np.random.default_rng(part)))
        cut = rows.size // 2
        for j, at in enumerate((slice(0, cut), slice(cut, None))):
            for run in (straight, saved):
                if not run.finished:
                    run.tell(take(rows, at), id=f"{part}.{j}")
    assert straight.pulls_made().sum() <= 50


@pytest.mark.parametrize("kind", ["chain", "real"])
def test_every_key_of_a_saved_run_with_a_log_is_needed(kind: str) -> None:
    source = make_world(kind)
    run = algorithm("pool", source.problem, pulls=40, log=natural(source, 20))
    run.tell(source.pull(run.ask(), np.random.default_rng(0)), id="x")
    document = run.to_json()
    keys = [path for path in paths(opened(document, "run")) if isinstance(path[-1], str)]
    needed = [path for path in keys if path[0] not in ("told", "options")]
    assert ("log",) in needed and len(needed) > 20
    for path in needed:
        with pytest.raises(DataError):
            resume(source.problem, changed(document, path, drop=True)[0])


def test_a_log_that_is_not_part_of_the_rows_is_damage() -> None:
    source = make_world("chain")
    document = algorithm("pool", source.problem, pulls=40, log=natural(source, 20)).to_json()
    counts = json.loads(document)["log"]["counts"]
    with pytest.raises(DataError, match="log"):
        resume(source.problem, changed(document, ("log", "counts"), [c + 1 for c in counts])[0])


def test_a_run_shows_its_log() -> None:
    source = make_world("chain")
    assert "log of 20 rows" in repr(algorithm("pool", source.problem, pulls=40, log=natural(source, 20)))
    assert "log" not in repr(algorithm("pool", source.problem, pulls=40))


# ---- no pulls at all ----


def test_pool_without_a_pull_answers_from_the_log() -> None:
    """Used to plan: the mode of the posterior, named only if fair enough; with a confidence, undecided if not sure."""
    source = world(chain())
    evidence = Logs(source, 3, 400).evidence
    state, _, costs, made = replicate(Pool(source.problem, 0), source, 3, np.random.default_rng(0), 0, evidence)
    assert state.answer.tolist() == [1, 1, 1]
    assert made.sum() == 0 and costs.sum() == 0
    assert state.closed.tolist() == [0, 0, 0]
    unsure = Pool(source.problem, 0, PoolOptions(confidence=0.9999999, stop="certified"))
    state, _, _, _ = replicate(unsure, source, 3, np.random.default_rng(0), 0, Logs(source, 3, 5).evidence)
    assert state.answer.tolist() == [Code.UNDECIDED] * 3
