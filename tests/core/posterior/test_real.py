"""Beliefs about real outcomes, against multivariate normal conditioning, χ² quantiles and plain weighted means."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from fairarm.core.posterior import real
from fairarm.core.posterior.directions import Directions, arm_columns
from fairarm.core.posterior.prior import STRENGTHS
from fairarm.core.posterior.real import CONSTANT, FREEDOMS, UNIFORM_VARIANCE, CellRows, RealPosterior

Z_LIMIT = 5.0
"""Draws of a moment: with fixed seeds a correct program is beyond this in fewer than 1 of 10^6 comparisons."""


def real_rows(seed: int, sizes: tuple[int, ...], spread: float = 0.1) -> list[np.ndarray]:
    rng = np.random.default_rng([seed, 7])
    means = rng.uniform(0.3, 0.7, size=len(sizes))
    return [np.clip(rng.normal(m, spread, size=n), 0, 1) for m, n in zip(means, sizes, strict=True)]


def summed(cells: list[np.ndarray]) -> CellRows:
    rows = np.array([[len(y) for y in cells]], dtype=np.int64)
    return CellRows.of(rows, np.array([[y.sum() for y in cells]]), within(cells))


def within(cells: list[np.ndarray]) -> np.ndarray:
    return np.array([[((y - y.mean()) ** 2).sum() if len(y) else 0.0 for y in cells]])


def shared_freedom(cells: list[np.ndarray], common: float) -> float:
    """ν: the geometric mean of the grid by the density of s_c²/v under F(n_c − 1, ν), at most the rows behind the common variance."""
    several = [y for y in cells if len(y) > 1]
    density = [sum(stats.f.logpdf(y.var(ddof=1) / common, len(y) - 1, nu) for y in several) for nu in FREEDOMS]
    weights = np.exp(np.array(density) - max(density))
    found = float(np.exp(weights @ np.log(FREEDOMS) / weights.sum()))
    return min(found, sum(len(y) - 1 for y in several) + 1.0)


def shrunk_variances(cells: list[np.ndarray]) -> tuple[np.ndarray, float, float, float, float]:
    """v_c, the variance common to all cells (one more row with the variance of all rows), ν, and mean and sd of all rows."""
    together = np.concatenate(cells)
    total = together.var(ddof=1) if len(together) > 1 else UNIFORM_VARIANCE
    squares, freedom = within(cells)[0], np.array([max(len(y) - 1, 0) for y in cells])
    common = float((squares.sum() + total) / (freedom.sum() + 1))
    nu = shared_freedom(cells, common)
    return (nu * common + squares) / (nu + freedom), common, nu, float(together.mean()), math.sqrt(total)


def directions_of(cells: int, count: int = 2) -> Directions:
    basis = np.random.default_rng([cells, count]).normal(size=(1, cells, 1 + count))
    basis[:, :, 0] = 1.0
    return Directions(basis)


Conditioned = tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def conditioned(cells: list[np.ndarray], basis: np.ndarray, s: float, omega: float) -> Conditioned:
    """θ jointly normal with the seen averages: log density of those, mean and covariance of θ, and of the prior's mean."""
    variance, common, _, centre_of_all, spread = shrunk_variances(cells)
    C = len(cells)
    of_b = np.diag([(CONSTANT * spread) ** 2, *[omega**2 * common] * (basis.shape[1] - 1)])
    centre = basis @ of_b @ basis.T
    joint = np.block([[centre + common / s * np.eye(C), centre], [centre, centre]])
    seen = [c for c in range(C) if len(cells[c])]
    averages = np.array([cells[c].mean() for c in seen])
    data = joint[np.ix_(seen, seen)] + np.diag([variance[c] / len(cells[c]) for c in seen])
    gain = joint[:, seen] @ np.linalg.inv(data)
    density = stats.multivariate_normal.logpdf(averages, np.full(len(seen), centre_of_all), data)
    mean, covariance = centre_of_all + gain @ (averages - centre_of_all), joint - gain @ joint[seen]
    return float(density), mean[:C], covariance[:C, :C], mean[C:], covariance[C:, C:]


def points(cells: list[np.ndarray], basis: np.ndarray) -> tuple[np.ndarray, list[tuple[float, float, Conditioned]]]:
    """Weights of the grid, and what is known at each point."""
    parts = [(s, omega, conditioned(cells, basis, s, omega)) for omega in (1.0, 4.0) for s in STRENGTHS]
    log_weights = np.array([part[2][0] for part in parts])
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum(), parts


REAL_SIZES = [(3, 5, 2, 1), (40, 1, 0, 7), (200, 300, 0, 100), (0, 0, 0, 1), (2, 2, 2, 2)]


@pytest.mark.parametrize("sizes", REAL_SIZES)
@pytest.mark.parametrize("spread", [0.02, 0.15])
def test_against_normal_conditioning(sizes: tuple[int, ...], spread: float) -> None:
    cells = real_rows(len(sizes) + sum(sizes), sizes, spread)
    directions, rows = directions_of(4), summed(cells)
    found = RealPosterior.of(rows, directions)
    weights, parts = points(cells, directions.basis[0])
    mean = sum(w * part[2][1] for w, part in zip(weights, parts, strict=True))
    second = sum(w * (np.diag(part[2][2]) + part[2][1] ** 2) for w, part in zip(weights, parts, strict=True))
    np.testing.assert_allclose(found.cells.variance[0], shrunk_variances(cells)[0], rtol=1e-9)
    np.testing.assert_allclose(found.weights[0], weights, atol=2e-4)
    np.testing.assert_allclose(found.mean[0], mean, rtol=1e-3)
    assert np.array_equal(found.noise, found.cells.variance)
    expected = np.maximum(found.noise[0] / (second - mean**2) - rows.rows[0], STRENGTHS[0])
    np.testing.assert_allclose(found.strength[0], expected, rtol=0.01, atol=0.01)


def test_an_arm_that_made_the_rows_is_as_its_plain_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    """q = n_c / N and ω = 10⁴: the posterior mean of Σ p θ is Σ p ȳ, whatever the strength, and its variance Σ p² v_c / n_c."""
    rng = np.random.default_rng(3)
    rows = rng.integers(1, 40, (1, 12))
    noise = rng.choice([0.02, 0.1, 0.3], 12)
    draws = [rng.normal(m, sd, n) for m, sd, n in zip(rng.uniform(0.2, 0.8, 12), noise, rows[0], strict=True)]
    cells = CellRows.of(rows, np.array([[y.sum() for y in draws]]), within(draws))
    law = rng.dirichlet(np.ones(12), (1, 3))
    columns = arm_columns(law, rows / rows.sum(), cells.variance)
    directions = Directions.of(columns, np.zeros((0, 12)), np.zeros((1, 0, 12)))
    monkeypatch.setattr(real, "SCALES", {(1e4, 1e4): 1.0})
    found = RealPosterior.of(cells, directions)
    plain = law[0] @ np.array([y.mean() for y in draws])
    np.testing.assert_allclose(law[0] @ found.mean[0], plain, atol=1e-6)
    sd = np.sqrt(law[0] ** 2 @ (cells.variance[0] / rows[0]))
    drawn = found.draw(np.random.default_rng(0), 20_000)[0] @ law[0].T
    # draws let v_c vary by its χ² law, so that they are a little wider
    assert np.all(np.abs(drawn.mean(axis=0) - plain) < 0.15 * sd)
    low, high = np.quantile(drawn, stats.norm.cdf([-1, 1]), axis=0)
    np.testing.assert_allclose((high - low) / 2, sd, rtol=0.2)


def test_many_arms_that_made_the_rows_are_near_their_plain_means(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same of 100 arms, more than there are directions: each that these leave out has one of its own. Without, the prior has
    the last word on some."""
    rng, C, K = np.random.default_rng(4), 150, 100
    rows = rng.integers(1, 40, (1, C))
    draws = [rng.normal(m, 0.1, n) for m, n in zip(rng.uniform(0.2, 0.8, C), rows[0], strict=True)]
    cells = CellRows.of(rows, np.array([[y.sum() for y in draws]]), within(draws))
    law, q = rng.dirichlet(np.full(C, 0.05), (1, K)), rows / rows.sum()
    directions = Directions.of(arm_columns(law, q, cells.variance), np.zeros((0, C)), np.zeros((1, 0, C)), q)
    monkeypatch.setattr(real, "SCALES", {(1e4, 1e4): 1.0})
    found = RealPosterior.of(cells, directions)
    sd = np.sqrt(law[0] ** 2 @ (cells.variance[0] / rows[0]))
    apart = (law[0] @ found.mean[0] - law[0] @ np.array([y.mean() for y in draws])) / sd
    assert np.abs(apart).max() < 0.15, np.abs(apart).max()


@pytest.mark.parametrize("sizes", [(3, 5, 2, 1), (40, 1, 0, 7), (9, 9, 9, 9)])
def test_draws_let_the_variance_vary(sizes: tuple[int, ...]) -> None:
    """v_c = own · f / χ²_f with f = ν + rows − 1, integrated over 4 000 quantiles; the prior's mean as at the plugged-in v."""
    cells = real_rows(1, sizes)
    directions = directions_of(4)
    found = RealPosterior.of(summed(cells), directions)
    variance, common, nu, *_ = shrunk_variances(cells)
    weights, parts = points(cells, directions.basis[0])
    u = (np.arange(4000) + 0.5) / 4000
    first, second = np.zeros(len(cells)), np.zeros(len(cells))
    for weight, (s, _, (_, _, _, centre, spread)) in zip(weights, parts, strict=True):
        for c, y in enumerate(cells):
            f = nu + max(len(y) - 1, 0)
            v = variance[c] * f / stats.chi2.ppf(u, f)
            own, shared = len(y) / v, s / common
            mean = (own * (y.mean() if len(y) else 0.0) + shared * centre[c]) / (own + shared)
            sd = np.sqrt(1 / (own + shared) + (shared / (own + shared)) ** 2 * spread[c, c])
            first[c] += weight * mean.mean()
            second[c] += weight * (mean**2 + sd**2).mean()
    draws = found.draw(np.random.default_rng(2), 40_000)[0]
    for power, expected in ((1, first), (2, second)):
        error = np.abs((draws**power).mean(axis=0) - expected)
        assert np.all(error <= Z_LIMIT * (draws**power).std(axis=0) / 200 + 3e-4)


def test_replicates_are_believed_as_if_alone() -> None:
    parts = [summed(real_rows(seed, sizes)) for seed, sizes in enumerate(REAL_SIZES[:3])]
    names = ("rows", "averages", "variance", "common", "freedom", "centre", "spread")
    all_rows = CellRows(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
    directions = directions_of(4)
    together = RealPosterior.of(all_rows, Directions(np.concatenate([directions.basis] * 3)))
    for i, part in enumerate(parts):
        alone = RealPosterior.of(part, directions)
        for name in ("weights", "mean", "noise", "strength"):
            np.testing.assert_allclose(getattr(together, name)[i], getattr(alone, name)[0], rtol=1e-9, atol=1e-12)
    assert together.draw(np.random.default_rng(0), 5).shape == (3, 5, 4)


def test_no_rows() -> None:
    nothing = np.zeros((1, 3))
    found = RealPosterior.of(CellRows.of(nothing.astype(np.int64), nothing, nothing), directions_of(3))
    np.testing.assert_allclose(found.weights, 1 / (2 * len(STRENGTHS)))
    np.testing.assert_allclose(found.mean, 0.5)
    np.testing.assert_allclose(found.noise, UNIFORM_VARIANCE)


def test_a_billion_rows() -> None:
    """Sums of 10^9 rows; the second cell never varies, and the common variance keeps its own above 0."""
    n = 10**9
    rows = CellRows.of(np.array([[n, n, 0]]), np.array([[0.3 * n, 0.8 * n, 0.0]]), np.array([[0.01 * n, 0.0, 0.0]]))
    found = RealPosterior.of(rows, directions_of(3))
    np.testing.assert_allclose(found.mean[0, :2], [0.3, 0.8], atol=1e-8)
    np.testing.assert_allclose(found.noise[0, 0], 0.01, rtol=1e-6)
    assert 0 < found.noise[0, 1] < 1e-6
    draws = found.draw(np.random.default_rng(0), 4000)[0]
    np.testing.assert_allclose(draws[:, 0].std(), math.sqrt(0.01 / n), rtol=0.08)


def test_an_outcome_that_never_varies() -> None:
    """Every row is 0.4: so is every cell, and nothing is nan."""
    rows = np.array([[5, 80, 1]])
    found = RealPosterior.of(CellRows.of(rows, 0.4 * rows, 0.0 * rows), directions_of(3))
    np.testing.assert_allclose(found.mean, 0.4, atol=0.01)
    assert np.isfinite(found.draw(np.random.default_rng(0), 500)).all()


def test_outcomes_on_another_scale() -> None:
    """Shifted and scaled rows give the same beliefs, shifted and scaled: the range that was declared plays no part."""
    cells, directions = real_rows(5, (30, 12, 1, 0)), directions_of(4)
    found = RealPosterior.of(summed(cells), directions)
    moved = RealPosterior.of(summed([1e-6 * y + 0.5 for y in cells]), directions)
    np.testing.assert_allclose(moved.mean, 1e-6 * found.mean + 0.5, rtol=0, atol=1e-13)
    draws = [each.draw(np.random.default_rng(0), 50) for each in (found, moved)]
    np.testing.assert_allclose((draws[1] - 0.5) * 1e6, draws[0], rtol=1e-6)


def test_strength_is_learned_from_the_cells() -> None:
    rng = np.random.default_rng(0)
    equal = [rng.normal(0.5, 0.1, size=50) for _ in range(10)] + [np.array([0.9])]
    apart = [rng.normal(m, 0.01, size=50) for m in np.linspace(0.1, 0.9, 10)] + [np.array([0.9])]
    alike, varied = (RealPosterior.of(summed(cells), Directions.constant(1, 11)) for cells in (equal, apart))
    assert alike.weights[0] @ (alike.grid.strength > 5) > 0.9
    assert varied.weights[0] @ (varied.grid.strength < 0.5) > 0.9
    assert alike.mean[0, 10] < 0.6 < 0.85 < varied.mean[0, 10]
