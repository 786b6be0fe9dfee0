"""Weighted rows: the cut against every other one, sums against loops, the law of errors against known quantiles."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import gamma, norm, pearson3

from fairarm.core.posterior.row_totals import RowTotals, Units, Weighted
from fairarm.core.posterior.weighted_rows import Jump, MeanError, RowSums, least_error_cut, skewed


def sums_of(psi: np.ndarray, w: np.ndarray, y: np.ndarray) -> RowSums:
    """Of rows ψ and w, (K, n), whose weights are not cut."""
    totals = RowTotals(len(psi), Units(None))
    totals.add(Weighted(w, w, w, psi, None, y, np.ones(len(y))))
    return totals.sums_of()[0]


def squared_error(tau: float, w: list[float], counts: list[int], scale: float) -> float:
    """Of rows with noise 1 and a regression that misses by 1, by a loop; each row stands for ``scale`` of them."""
    chance = sum(scale * c * min(x, tau) ** 2 for x, c in zip(w, counts, strict=True))
    missed = sum(scale * c * max(x - tau, 0.0) for x, c in zip(w, counts, strict=True))
    return float(chance + missed**2)


@pytest.mark.parametrize("scale", [1.0, 7.0])
def test_the_cut_has_the_least_squared_error(scale: float) -> None:
    rng = np.random.default_rng(0)
    weights = rng.pareto(1.5, (5, 40)) * 3
    counts = rng.integers(0, 4, 40)
    found = least_error_cut(weights, counts, scale * counts.sum())
    for tau, w in zip(found, weights, strict=True):
        tried = [squared_error(t, w.tolist(), counts.tolist(), scale) for t in np.linspace(0, w.max(), 2001)]
        least = squared_error(float(tau), w.tolist(), counts.tolist(), scale)
        assert least <= min(tried) * (1 + 1e-12) and min(tried) < 1.001 * least
        for off in (0.99, 1.01):
            assert squared_error(float(off * tau), w.tolist(), counts.tolist(), scale) > least


def test_weights_of_one_are_never_cut_and_of_many_rows_hardly_any() -> None:
    assert least_error_cut(np.ones((1, 10)), np.ones(10, dtype=int), 10.0) == 1.0
    even = np.full((1, 1000), 9.0)
    assert 8.9 < least_error_cut(even, np.ones(1000, dtype=int), 1000.0)[0] < 9.0
    assert least_error_cut(np.zeros((2, 0)), np.zeros(0, dtype=int), 5.0).tolist() == [1.0, 1.0]


def test_the_error_is_that_of_a_mean_with_half_a_row_more() -> None:
    """Many rows: sd/√n and skewness/√n of the rows, to what half a row of 1 and 8/n of variance add."""
    rng = np.random.default_rng(2)
    n = 4000
    y = rng.gamma(0.5, 1.0, n)
    one = np.ones((1, n))
    jump = Jump.of(y - y.mean(), np.ones(n, dtype=int))
    found = sums_of(y[None], one, y).error(jump)
    away = y - y.mean()
    third, square, size = np.sum(away**3), np.sum(away**2), np.sum(np.abs(away) ** 3) / np.sum(away**2)
    assert jump.size == pytest.approx(size) and jump.variance == pytest.approx(y.var())
    own = square + 0.5 * size**2
    assert found.sd[0] == pytest.approx(np.sqrt(own * (1 + 8 / n) / n / (n - 1)))
    assert found.skew[0] == pytest.approx((third + 0.5 * size**2 * third / square) / own**1.5)


@pytest.mark.parametrize("skewness", [-2.8, -1.0, -0.1, 1e-6, 0.3, 1.0, 2.0, 2.8])
def test_skewed_numbers_are_those_of_a_gamma_law(skewness: float) -> None:
    """Wilson and Hilferty's turn against scipy's Pearson III at the quantiles that intervals use."""
    p = np.array([0.025, 0.1, 0.5, 0.9, 0.975])
    found = skewed(norm.ppf(p), np.array(skewness))
    np.testing.assert_allclose(found, pearson3.ppf(p, skewness), atol=0.07)


@pytest.mark.parametrize("events", [0, 1, 3, 10, 100])
def test_counts_of_rare_events_have_the_interval_of_a_rate(events: int) -> None:
    """Events among 100 000 rows of weight 1: limits of a Poisson mean by Gamma(events + ½), half an event either side."""
    n = 100_000
    y = np.zeros(n)
    y[:events] = 1.0
    one = np.ones((1, n))
    jump = Jump(1.0, 1.0, 1e-5)  # an outcome of 1 where nearly all are 0
    error = sums_of(y[None], one, y).error(jump)
    drawn = events + n * error.draw(np.random.default_rng(0), 200_000, 1e9)[:, 0]
    low, high = np.quantile(drawn, (0.025, 0.975))
    expected = gamma.ppf((0.025, 0.975), events + 0.5)
    assert low == pytest.approx(expected[0], abs=0.1 + 0.06 * np.sqrt(events))
    assert high == pytest.approx(expected[1], abs=0.1 + 0.06 * np.sqrt(events) + 0.02 * expected[1])


def test_draws_have_the_errors_and_the_correlation_asked_for() -> None:
    root = np.linalg.cholesky(np.array([[1.0, 0.6], [0.6, 1.0]]))
    drawn = MeanError(np.array([0.1, 3.0]), np.array([0.0, 0.0]), root).draw(np.random.default_rng(0), 200_000, 1e9)
    np.testing.assert_allclose(drawn.std(axis=0), [0.1, 3.0], rtol=0.01)
    assert np.corrcoef(drawn.T)[0, 1] == pytest.approx(0.6, abs=0.01)


def test_a_mean_that_never_varies_has_no_error() -> None:
    rows = np.full((2, 5), 0.5)
    rows[1] = [0, 1, 0, 1, 1]
    found = sums_of(rows, rows * 0, rows[1]).error(Jump(0.0, 0.0, 0.0))
    assert found.sd[0] == 0 and found.sd[1] > 0
    assert np.all(found.draw(np.random.default_rng(0), 10, 4.0)[:, 0] == 0)
