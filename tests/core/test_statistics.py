"""Intervals of a proportion and of a difference of means, against scipy and against print."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, norm, ttest_ind

from fairarm.core.statistics import difference_interval, wilson_interval


@pytest.mark.parametrize("trials", [1, 2, 3, 10, 97, 300, 10**6])
def test_against_scipy(trials: int) -> None:
    for successes in sorted({0, 1, trials // 3, trials // 2, trials - 1, trials}):
        expected = binomtest(successes, trials).proportion_ci(0.95, method="wilson")
        low, high = wilson_interval(successes, trials)
        assert low == pytest.approx(expected.low, abs=1e-12)
        assert high == pytest.approx(expected.high, abs=1e-12)
        assert 0 <= low <= successes / trials <= high <= 1


@pytest.mark.parametrize("level", [0.5, 0.9, 0.999])
def test_other_levels(level: float) -> None:
    expected = binomtest(7, 40).proportion_ci(level, method="wilson")
    assert wilson_interval(7, 40, z=norm.ppf(0.5 + level / 2)) == pytest.approx(
        (expected.low, expected.high), abs=1e-12
    )


def test_by_hand() -> None:
    """1 of 1 with z = 1: centre 1 + 1/2, half √(1/4), scale 2: (0.5, 1)."""
    assert wilson_interval(1, 1, z=1.0) == (0.5, 1.0)
    assert wilson_interval(0, 1, z=1.0) == (0.0, 0.5)


def test_all_or_nothing_reaches_the_end_exactly() -> None:
    for trials in range(1, 400):
        assert wilson_interval(0, trials)[0] == 0.0
        assert wilson_interval(trials, trials)[1] == 1.0


def test_without_trials_nothing_is_known() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)


# ---- the difference of two means ----


@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [((56, 70), (48, 80), 0.0524, 0.3339), ((9, 10), (3, 10), 0.1705, 0.8090), ((10, 10), (0, 10), 0.6075, 1.0)],
)
def test_newcombe_as_printed(first: tuple[int, int], second: tuple[int, int], low: float, high: float) -> None:
    """Newcombe 1998, table II, method 10."""
    sums, rows = (np.array(pair, dtype=float) for pair in zip(first, second, strict=True))
    assert difference_interval(rows, sums, sums, True, 0.95) == pytest.approx((low, high), abs=6e-5)


def test_welch_is_the_one_of_scipy() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.beta(2, 5, 40), rng.beta(5, 2, 11)
    rows, sums, squares = (np.array([f(a), f(b)]) for f in (len, np.sum, lambda x: np.sum(x**2)))
    expected = ttest_ind(a, b, equal_var=False).confidence_interval(0.9)
    assert difference_interval(rows, sums, squares, False, 0.9) == pytest.approx(
        (expected.low, expected.high), abs=1e-9
    )


@pytest.mark.parametrize("rows", [[1.0, 50.0], [0.0, 0.0], [20.0, 30.0]])
def test_where_rows_give_no_interval_there_is_none(rows: list[float]) -> None:
    """Too few rows, or an outcome that is the same in all of them: not an interval of width 0."""
    n = np.array(rows)
    assert difference_interval(n, 0.5 * n, 0.25 * n, False, 0.95) is None
