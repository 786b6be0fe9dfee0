"""Empirical Bernstein bounds: the formula by hand, and coverage where it is hardest."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest

from fairarm.core.proof.log_intervals import (
    CutSums,
    bound_delta,
    cut_level,
    lower_mean,
    mean_intervals,
    weighted_intervals,
)


def by_hand(x: list[float], largest: float, delta: float) -> float:
    n, log = len(x), math.log(2 / delta)
    spread = math.sqrt(2 * statistics.variance(x) * log / n)
    return max(statistics.fmean(x) - spread - 7 * largest * log / (3 * (n - 1)), 0.0)


@pytest.mark.parametrize("seed", range(5))
def test_lower_mean_is_the_printed_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = (4 * rng.random(int(rng.integers(200, 900)))).tolist()
    found = lower_mean(np.array(float(len(x))), np.array(sum(x)), np.array(sum(v * v for v in x)), np.array(4.0), 0.01)
    assert found == pytest.approx(by_hand(x, 4.0, 0.01), rel=1e-12)


def test_with_fewer_than_two_rows_nothing_is_known() -> None:
    for rows in (0.0, 1.0):
        assert lower_mean(np.array(rows), np.array(rows), np.array(rows), np.array(1.0), 0.1) == 0.0
        seen = CutSums(np.full(2, rows), np.zeros((5, 1, 2)), np.ones((1, 2)))
        assert np.array_equal(mean_intervals(seen, 0.1), [[[0.0, 1.0], [0.0, 1.0]]])


def sums_of(weight: np.ndarray, y: np.ndarray, level: float) -> np.ndarray:
    """The five sums of one arm and group, by plain loops."""
    out = [0.0] * 5
    for w, value in zip(weight.tolist(), y.tolist(), strict=True):
        c = min(w, level)
        for i, term in enumerate((c, c * value, c * c, c * c * value, c * c * value * value)):
            out[i] += term
    return np.array(out)


@pytest.mark.parametrize(("rare", "boost", "rows"), [(0.5, 2.0, 200), (0.01, 100.0, 300), (0.002, 400.0, 2000)])
def test_intervals_hold_whatever_the_weights(rare: float, boost: float, rows: int) -> None:
    """Weights of 400 on rows seen once in 500: usual intervals fail there. 1 000 logs; P(more than 8 % wrong | 5 %) < 1e-4."""
    rng = np.random.default_rng(int(boost))
    delta, wrong = 0.05, 0
    level = float(cut_level(np.array(float(rows)), delta / 2))
    weights = np.array([(1 - rare * boost) / (1 - rare), boost])
    chance = np.array([0.2, 0.9])  # P(Y = 1) on common and on rare rows
    truth = (weights * np.array([1 - rare, rare]) * chance).sum()
    for _ in range(1000):
        kind = (rng.random(rows) < rare).astype(int)
        y = (rng.random(rows) < chance[kind]).astype(float)
        part = sums_of(weights[kind], y, level)
        seen = CutSums(np.full(2, float(rows)), np.stack([part, part], axis=1)[:, None], np.full((1, 2), level))
        low, high = mean_intervals(seen, delta / 2)[0, 0]
        wrong += not low <= truth <= high
    assert wrong <= 80


def test_an_interval_narrows_with_rows_and_uses_the_cut() -> None:
    rng = np.random.default_rng(1)
    widths = []
    for rows in (10**3, 10**5):
        y = (rng.random(rows) < 0.3).astype(float)
        part = sums_of(np.ones(rows), y, 1.0)
        seen = CutSums(np.full(2, float(rows)), np.stack([part, part], axis=1)[:, None], np.ones((1, 2)))
        found = weighted_intervals(seen, 0.05, np.array([0.5, 0.5]), np.zeros(2))
        low, high = found.outcomes[0, 0]
        assert low <= 0.3 <= high
        widths.append(high - low)
    assert widths[1] < widths[0] / 8


def test_an_unknown_share_widens_the_outcome_and_not_the_gap() -> None:
    rows = np.array([400.0, 100.0])
    sums = np.zeros((5, 1, 2))
    sums[:, 0, 0] = [400, 400, 400, 400, 400]  # the first group always has outcome 1
    sums[:, 0, 1] = [100, 0, 100, 0, 0]
    seen = CutSums(rows, sums, np.ones((1, 2)))
    known = weighted_intervals(seen, 0.05, np.array([0.8, 0.2]), rows)
    unknown = weighted_intervals(seen, 0.05, None, rows)
    assert np.ptp(unknown.outcomes[0, 0]) > np.ptp(known.outcomes[0, 0])
    assert bound_delta(0.05, 3, True) == pytest.approx(0.05 / 12)
    assert bound_delta(0.05, 3, False) == pytest.approx(0.9 * 0.05 / 12)


def test_turning_the_outcome_around_turns_the_interval_around() -> None:
    rng = np.random.default_rng(5)
    weight, y = rng.exponential(size=400), rng.beta(2, 5, 400)

    def ends(values: np.ndarray) -> np.ndarray:
        part = sums_of(weight, values, 3.0)
        seen = CutSums(np.full(2, 400.0), np.stack([part, part], axis=1)[:, None], np.full((1, 2), 3.0))
        return mean_intervals(seen, 0.01)[0, 0]

    assert ends(1.0 - y) == pytest.approx(1.0 - ends(y)[::-1], abs=1e-12)
