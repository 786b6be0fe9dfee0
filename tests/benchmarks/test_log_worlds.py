"""The worlds that intervals from logs are judged on: their exact truths, against the logs and against integration."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from benchmarks.logs.row_worlds import ROW_KINDS
from benchmarks.logs.rows import RowWorld, coded, of_chance, of_each
from benchmarks.logs.tables import COUNT, Logged, Money, States, TableWorld, effects, skewed_noise
from benchmarks.logs.worlds import KINDS
from scipy import integrate, stats

COUNTED = [kind for kind in KINDS if not kind.startswith("row by row") and "290 000" not in kind]
LOGS = 6


def values_of(log: Logged) -> np.ndarray:
    """The outcome of each line, as a number."""
    problem, y = log.problem, log.columns["Y"]
    if problem.outcome.values is None:
        return np.asarray(y)
    return np.array(problem.outcome.values)[[problem.variables["Y"].states.index(state) for state in y]]


def weighted(log: Logged) -> tuple[np.ndarray, np.ndarray]:
    """Errors of importance weighting, first of outcomes, then of gaps, (2 K,), and their variances: no model, no shared code."""
    problem, columns, y = log.problem, log.columns, values_of(log)
    names = [name for name in problem.arms[1].mechanism.parents if name != "S"]
    code = [[problem.variables[name].states.index(value) for value in columns[name]] for name in (*names, "V")]
    s = np.array([problem.variables["S"].states.index(value) for value in columns["S"]])
    laws = [np.asarray(arm.mechanism.probabilities)[(s, *code)] for arm in problem.arms]
    n = np.asarray(columns[COUNT], dtype=float)
    found = []
    for k, law in enumerate(laws):
        z = law / laws[0] * y
        of_group = [np.sum((n * z)[s == t]) / n[s == t].sum() for t in (0, 1)]
        noise = [np.sum((n * (z - of_group[t]) ** 2)[s == t]) / n[s == t].sum() ** 2 for t in (0, 1)]
        mean = np.sum(n * z) / n.sum()
        found.append((mean - log.outcomes[k], np.sum(n * (z - mean) ** 2) / n.sum() ** 2))
        found.append((of_group[0] - of_group[1] - log.gaps[k], sum(noise)))
    errors, variances = np.array(found).T
    return errors, variances


@pytest.mark.parametrize("kind", [kind for kind in COUNTED if kind != "fitted mechanisms"])
def test_the_truths_are_those_that_weighting_finds(kind: str) -> None:
    """Errors summed over logs, in units of their standard deviation. Beyond 5 by chance: 1 in 10^6 where sums are normal."""
    total, variance = np.zeros(1), np.zeros(1)
    for i in range(LOGS):
        errors, variances = weighted(KINDS[kind](np.random.default_rng([7, i])))
        total, variance = total + errors, variance + variances
    assert (np.abs(total) <= 5 * np.sqrt(variance) + 1e-12).all()


def by_hand() -> TableWorld:
    """Two groups, one column that follows the group, two decisions."""
    contexts = (np.array([[0.2, 0.8], [0.6, 0.4]]),)
    arms = {"first": np.full((2, 2, 2), 0.5), "second": np.zeros((2, 2, 2)) + np.array([0.0, 1.0])}
    means = np.array([[[0.1, 0.3], [0.5, 0.7]], [[0.2, 0.4], [0.6, 0.8]]])
    return TableWorld(np.array([0.25, 0.75]), contexts, arms, means, States(), 0.1)


def test_truths_by_hand() -> None:
    outcomes, gaps = by_hand().truth()
    first = (0.2 * 0.2 + 0.8 * 0.6, 0.6 * 0.3 + 0.4 * 0.7)
    second = (0.2 * 0.3 + 0.8 * 0.7, 0.6 * 0.4 + 0.4 * 0.8)
    assert np.allclose(gaps, [first[0] - first[1], second[0] - second[1]])
    assert np.allclose(outcomes, [0.25 * a + 0.75 * b for a, b in (first, second)])


def test_two_context_columns_multiply() -> None:
    rng = np.random.default_rng(3)
    contexts = tuple(rng.dirichlet(np.ones(m), 2) for m in (3, 4))
    means = rng.uniform(size=(2, 3, 4, 2))
    arm = rng.dirichlet(np.ones(2), (2, 3, 4))
    world = TableWorld(np.array([0.5, 0.5]), contexts, {"arm": arm}, means, States(), 0.1)
    groups = [
        sum(
            contexts[0][s, i] * contexts[1][s, j] * arm[s, i, j, v] * means[s, i, j, v]
            for i in range(3)
            for j in range(4)
            for v in range(2)
        )
        for s in (0, 1)
    ]
    assert np.allclose(world.truth()[1], groups[0] - groups[1])


def test_plain_rows_by_hand() -> None:
    """With every mean 0 or 1 the rows' values are sure, and Σ p ȳ is the truth but for the groups' shares."""
    world = by_hand()
    sure = np.broadcast_to(np.array([0.0, 1.0]), (2, 2, 2)).copy()
    sure[0, 0] = [1.0, 1.0]
    known = TableWorld(world.shares, world.contexts, world.arms, sure, States(), 0.1)
    log = known.log(4000, np.random.default_rng(1))
    rows = np.asarray(log.columns[COUNT])
    first = rows[log.columns["S"] == "a"].sum() / 4000
    plain = log.plain
    assert plain is not None
    groups = (0.2 * 1 + 0.8 * 0.5, 0.5)
    assert math.isclose(plain.gap, groups[0] - groups[1], abs_tol=1e-12)
    assert math.isclose(plain.mean, first * groups[0] + (1 - first) * groups[1], abs_tol=1e-12)
    ones = rows[log.columns["Y"] == "y1"].sum() / 4000
    assert math.isclose(plain.rows_mean, ones)
    assert math.isclose(plain.error, math.sqrt(ones * (1 - ones) / 3999))


def test_fitted_laws_make_the_rows_own_means_the_plain_ones() -> None:
    log = by_hand().log(500, np.random.default_rng(2), fitted=True)
    assert log.plain is not None and math.isclose(log.plain.mean, log.plain.rows_mean)


def test_nothing_plain_where_rows_are_shared_or_too_few() -> None:
    shared = TableWorld(*(getattr(by_hand(), name) for name in ("shares", "contexts", "arms", "means", "law", "tolerance")), False)  # fmt: skip
    assert shared.log(100, np.random.default_rng(1)).plain is None
    few = by_hand().log(3, np.random.default_rng(1)).plain
    assert few is not None and math.isnan(few.mean)


def test_states_have_the_mean_that_is_asked_for() -> None:
    law = States((0.0, 1.0, 100.0), (0.8, 0.2))
    chances = law.chances(np.array([0.5, 2.0]))
    assert np.allclose(chances.sum(axis=1), 1) and (chances >= 0).all()
    assert np.allclose(chances @ np.array(law.values), [0.5, 2.0])


def test_the_skewed_noise_has_mean_0_and_sd_1() -> None:
    """Four standard errors, of the fourth moment too: a failure in 1 of 8 000 sound generators."""
    drawn = skewed_noise(np.random.default_rng(5), 400_000)
    assert abs(drawn.mean()) < 4 / math.sqrt(len(drawn))
    assert abs(drawn.var() - 1) < 4 * (drawn**2).std() / math.sqrt(len(drawn))
    assert stats.skew(drawn) > 2


def test_money_stays_in_its_range() -> None:
    for skewed in (False, True):
        law = Money(-1000.0, 5000.0, (0.0, 48.0, 160.0), skewed)
        means = np.array([0.0, 20.0, 60.0])
        drawn = law.draw(means, np.arange(3), np.full(3, 50_000), np.random.default_rng(1))
        assert law.low < drawn.value.min() and drawn.value.max() < law.high
        assert set(drawn.value[drawn.cell == 0]) == {0.0}


def test_main_effects_and_own_effects_add_up() -> None:
    """Variances 0.3², 0.4² and 0.5² in sum, and 0.3² shared along the first axis; the bounds are five standard errors."""
    rng = np.random.default_rng(1)
    drawn = np.stack([effects(rng, (2, 3), (0.3, 0.4), 0.5) for _ in range(4000)])
    assert abs(drawn[:, 0, 0].var() / 0.5 - 1) < 0.12
    same_row = np.mean(drawn[:, 0, 0] * drawn[:, 0, 1])
    assert abs(same_row - 0.09) < 0.045


def row_world(share: float | None = None) -> RowWorld:
    def rule(s: Any, x: Any) -> Any:
        return 1 / (1 + np.exp(-x - s))

    rules = {"rule": of_chance(rule), "coin": of_chance(lambda s, x: 0.5 + 0.0 * x)}
    mean = of_each(lambda s, x, v: 0.2 + 0.1 * s + 0.3 * v * np.tanh(x) ** 2)
    return RowWorld(rules["coin"], coded(rules), mean, States(), 0.1, share)


@pytest.mark.parametrize("share", [None, 0.2])
def test_truths_with_a_real_input_are_integrals(share: float | None) -> None:
    """scipy's quadrature of the uncut normal: the tails beyond ± 4 hold less than 4 in 10 000."""
    world = row_world(share)
    for k, (_, rule) in enumerate(world.arms.values()):
        groups = []
        for s in (0, 1):

            def inner(x: float, s: int = s, rule: Any = rule) -> float:
                at = np.array([s]), np.array([x])
                return float(stats.norm.pdf(x, 0.4 * s) * (rule(*at) * world.mean(*at)).sum())

            groups.append(integrate.quad(inner, -12, 12)[0])
        assert abs(world.truth()[1][k] - (groups[0] - groups[1])) < 4e-4
        assert abs(world.truth()[0][k] - np.average(groups, weights=(1 - (share or 0.5), share or 0.5))) < 4e-4


def test_decisions_follow_their_law() -> None:
    """Three decisions, 20 000 rows of which a fifth are of the second group: within five standard errors, and the propensity is theirs."""
    law = np.array([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]])
    rules = {"fixed": lambda s, x: law[s]}
    world = RowWorld(rules["fixed"], coded(rules), lambda s, x: np.zeros((len(x), 3)) + 0.5, States(), 0.1, 0.2)
    log = world.log(20_000, np.random.default_rng(1))
    s = (log.columns["S"] == "b").astype(int)
    assert log.problem.shares == pytest.approx((0.8, 0.2)) and abs(s.mean() - 0.2) < 5 * math.sqrt(0.16 / 20_000)
    assert np.array_equal(log.columns["p"], law[s, log.columns["V"]])
    for t in (0, 1):
        seen = np.bincount(log.columns["V"][s == t], minlength=3)
        assert (np.abs(seen / seen.sum() - law[t]) < 5 * np.sqrt(law[t] * (1 - law[t]) / seen.sum())).all()


@pytest.mark.parametrize("kind", ROW_KINDS)
def test_the_truths_of_kinds_that_are_read_row_by_row(kind: str) -> None:
    """Weighted rows, as above."""
    _weighting_finds(ROW_KINDS[kind], 9)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith("row by row") and "items" not in kind])
def test_the_truths_of_logs_with_propensities_are_those_that_weighting_finds(kind: str) -> None:
    """Weights are the arm's probability of the logged decision over its propensity; as above, 1 in 10^6."""
    _weighting_finds(KINDS[kind], 8)


def _weighting_finds(drawn: Callable[[np.random.Generator], Logged], seed: int) -> None:
    total, variance = np.zeros(1), np.zeros(1)
    for i in range(LOGS):
        log = drawn(np.random.default_rng([seed, i]))
        columns = {"S": (log.columns["S"] == "b").astype(int), "X": log.columns["X"], "V": log.columns["V"]}
        y = values_of(log)
        found = []
        for k, arm in enumerate(log.problem.arms):
            z = np.exp(np.asarray(arm.mechanism.log_prob(columns))) / log.columns["p"] * y
            found.append((z.mean() - log.outcomes[k], z.var() / len(z)))
        errors, variances = np.array(found).T
        total, variance = total + errors, variance + variances
    assert (np.abs(total) <= 5 * np.sqrt(variance)).all()
