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
    assert difference_interval(rows, sums, sums, (0.0, 1.0), 0.95) == pytest.approx((low, high), abs=6e-5)


def test_newcombe_of_two_values_inside_a_wider_range() -> None:
    """56 of 70 and 48 of 80 are 51, the others 49, of a range of 0 to 100: the printed limits times 2 of 100."""
    rows, upper = np.array([70.0, 80.0]), np.array([56.0, 48.0])
    sums, squares = (0.51**p * upper + 0.49**p * (rows - upper) for p in (1, 2))
    found = difference_interval(rows, sums, squares, (0.49, 0.51), 0.95)
    assert found == pytest.approx((0.02 * 0.0524, 0.02 * 0.3339), abs=0.02 * 6e-5)


def test_welch_is_the_one_of_scipy() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.beta(2, 5, 40), rng.beta(5, 2, 11)
    rows, sums, squares = (np.array([f(a), f(b)]) for f in (len, np.sum, lambda x: np.sum(x**2)))
    expected = ttest_ind(a, b, equal_var=False).confidence_interval(0.9)
    assert difference_interval(rows, sums, squares, None, 0.9) == pytest.approx((expected.low, expected.high), abs=1e-9)


@pytest.mark.parametrize("sd", [2.0**-30, 2.0**-25, 2.0**-20, 2.0**-17, 2.0**-14])
def test_a_spread_that_sums_do_not_resolve_gives_no_interval_and_never_a_wrong_one(sd: float) -> None:
    """Sums in steps of 2^-40, as logs have them, against scipy on the rows themselves."""
    rng = np.random.default_rng(3)
    a, b = 0.3 + sd * rng.standard_normal(2000), 0.3 + sd * rng.standard_normal(1500)
    step = 2.0**-40
    rows, sums, squares = (np.array([f(a), f(b)]) for f in (len, lambda x: sum(np.round(x / step)) * step, lambda x: sum(np.round(x**2 / step)) * step))  # fmt: skip
    found = difference_interval(rows, sums, squares, None, 0.95)
    expected = ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    assert (found is None) == (sd < 2.0**-18)
    assert found is None or found[1] - found[0] == pytest.approx(expected.high - expected.low, rel=0.05)


@pytest.mark.parametrize("rows", [[1.0, 50.0], [0.0, 0.0], [20.0, 30.0]])
def test_where_rows_give_no_interval_there_is_none(rows: list[float]) -> None:
    """Too few rows, or an outcome that is the same in all of them: not an interval of width 0."""
    n = np.array(rows)
    assert difference_interval(n, 0.5 * n, 0.25 * n, None, 0.95) is None
