"""Beliefs about the cells' means, against integration over θ, scipy's own laws and multivariate normal conditioning."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from fairarm.core.posterior.prior import (
    BINARY_MEANS,
    NOISE_FLOOR,
    STRENGTHS,
    UNIFORM_VARIANCE,
    VARIANCE_ROWS,
    RealPosterior,
    StatesPosterior,
)

BINARY = np.array([0.0, 1.0])
Z_LIMIT = 5.0
"""Draws of a moment: with fixed seeds a correct program is beyond this in fewer than 1 of 10^6 comparisons."""


def binary_counts(ones: list[int], rows: list[int]) -> np.ndarray:
    return np.array([[[n - y, y] for y, n in zip(ones, rows, strict=True)]], dtype=np.int64)


def random_counts(rng: np.random.Generator, cells: int, states: int, most: int = 12) -> np.ndarray:
    """Some cells without rows, some nearly pure, some mixed."""
    out = np.zeros((cells, states), dtype=np.int64)
    for c in range(cells):
        n = int(rng.choice([0, 1, 3, most]))
        out[c] = rng.multinomial(n, rng.dirichlet(np.full(states, rng.choice([0.1, 3.0]))))
    return out[None]


# ---- two states: integrals over θ ----


def integral(a: float, b: float, power: int) -> float:
    """∫ θ^(a−1) (1−θ)^(b−1) θ^power dθ; the end points may be singular."""
    if a < 1 and b < 1:
        left = _quadrature(lambda x: (1 - x) ** (b - 1) * x**power, 0.0, 0.5, (a - 1, 0.0))
        return left + _quadrature(lambda x: x ** (a - 1 + power), 0.5, 1.0, (0.0, b - 1))
    return _quadrature(lambda x: x**power, 0.0, 1.0, (a - 1, b - 1))


def _quadrature(f: Callable[[float], float], low: float, high: float, powers: tuple[float, float]) -> float:
    """∫ f(x) (x − low)^p (high − x)^q dx."""
    return float(quad(f, low, high, weight="alg", wvar=powers, epsabs=0.0, epsrel=1e-10)[0])


def integrated(counts: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and variance of θ_c and the mean of Var(Y | c), by quadrature of the prior times the likelihood."""
    cells = len(counts)
    evidence, first, second = 0.0, np.zeros(cells), np.zeros(cells)
    for m, s in itertools.product(BINARY_MEANS, STRENGTHS):
        a, b = m * s, (1 - m) * s
        prior = integral(a, b, 0)
        moments = np.array([[integral(a + y, b + n, p) / prior for p in (0, 1, 2)] for n, y in counts])
        joint = float(np.prod(moments[:, 0]))
        evidence += joint
        first += joint * moments[:, 1] / moments[:, 0]
        second += joint * moments[:, 2] / moments[:, 0]
    p, p2 = first / evidence, second / evidence
    width = values[1] - values[0]
    return values[0] + width * p, width**2 * (p2 - p**2), width**2 * (p - p2)


@pytest.mark.parametrize(
    ("ones", "rows", "values"),
    [
        ([2], [3], (0.0, 1.0)),
        ([0], [1], (0.0, 1.0)),
        ([0, 4, 1], [4, 4, 2], (0.0, 1.0)),
        ([3, 0, 0], [7, 0, 2], (0.25, 0.75)),
        ([5, 6], [9, 11], (0.9, 0.1)),
        ([0, 2], [12, 2], (0.0, 1.0)),
    ],
)
def test_two_states_against_integration_over_theta(ones: list[int], rows: list[int], values) -> None:
    counts, values = binary_counts(ones, rows), np.array(values)
    found = StatesPosterior.of(counts, values)
    mean, variance, noise = integrated(counts[0], values)
    np.testing.assert_allclose(found.mean[0], mean, rtol=1e-7)
    np.testing.assert_allclose(found.noise[0], np.maximum(noise, NOISE_FLOOR), rtol=1e-6)
    claimed = found.noise[0] / (counts[0].sum(axis=1) + found.strength[0])
    free = found.strength[0] > STRENGTHS[0]
    np.testing.assert_allclose(claimed[free], variance[free], rtol=1e-6)
    assert np.all(claimed[~free] <= variance[~free])


def test_strength_may_not_fall_below_the_weakest_prior() -> None:
    """A prior torn between grid points makes θ less certain than its own rows would: the rows still count."""
    counts = binary_counts([3, 5, 0, 1], [5, 5, 1, 1])
    found = StatesPosterior.of(counts, BINARY)
    _, variance, _ = integrated(counts[0], BINARY)
    assert found.noise[0, 1] / variance[1] < 5
    assert found.strength[0, 1] == STRENGTHS[0]


# ---- any number of states: the probability of the next rows ----


def own_grid(counts: np.ndarray) -> list[np.ndarray]:
    """The vectors α by plain loops."""
    states = counts.shape[1]
    if states == 2:
        return [np.array([(1 - m) * s, m * s]) for m in BINARY_MEANS for s in STRENGTHS]
    seen = [row / row.sum() for row in counts if row.sum() > 0]
    base = (np.sum(seen, axis=0) + np.full(states, 1 / states)) / (len(seen) + 1)
    return [s * base for s in STRENGTHS]


def log_sequence(counts: np.ndarray, alpha: np.ndarray) -> float:
    """The log-probability of a sequence of rows with these counts: scipy's law of the counts over their orders."""
    n = int(counts.sum())
    if n == 0:
        return 0.0
    if len(counts) == 2:
        law = stats.betabinom.logpmf(counts[1], n, alpha[1], alpha[0])
    else:
        law = stats.dirichlet_multinomial.logpmf(counts, alpha, n)
    return float(law) - (math.lgamma(n + 1) - sum(math.lgamma(x + 1) for x in counts))


def predicted(counts: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Weights of the grid, mean, variance and noise from the probability of the next one and two rows of each cell."""
    grid = own_grid(counts)
    log_evidence = np.array([sum(log_sequence(row, alpha) for row in counts) for alpha in grid])
    weights = np.exp(log_evidence - log_evidence.max())
    weights /= weights.sum()
    unit = np.eye(len(values), dtype=np.int64)
    mean, square, raw = np.zeros(len(counts)), np.zeros(len(counts)), np.zeros(len(counts))
    for weight, alpha in zip(weights, grid, strict=True):
        for c, row in enumerate(counts):
            before = log_sequence(row, alpha)
            for o, v in enumerate(values):
                one = weight * math.exp(log_sequence(row + unit[o], alpha) - before)
                mean[c] += one * v
                raw[c] += one * v**2
                for other, u in enumerate(values):
                    both = math.exp(log_sequence(row + unit[o] + unit[other], alpha) - before)
                    square[c] += weight * both * v * u
    return weights, mean, square - mean**2, raw - square


@pytest.mark.parametrize("states", [2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_against_the_probability_of_the_next_rows(states: int, seed: int) -> None:
    rng = np.random.default_rng([states, seed])
    counts = random_counts(rng, 5, states)
    values = np.sort(rng.random(states)) if seed else np.linspace(0.0, 1.0, states)
    found = StatesPosterior.of(counts, values)
    weights, mean, variance, noise = predicted(counts[0], values)
    grid = np.array(own_grid(counts[0]))
    np.testing.assert_allclose(found.alpha[0], grid, rtol=1e-12)
    np.testing.assert_allclose(found.weights[0], weights, atol=1e-9)
    np.testing.assert_allclose(found.mean[0], mean, rtol=1e-9)
    np.testing.assert_allclose(found.noise[0], np.maximum(noise, NOISE_FLOOR), rtol=1e-7)
    expected = np.maximum(found.noise[0] / variance - counts[0].sum(axis=1), STRENGTHS[0])
    np.testing.assert_allclose(found.strength[0], expected, rtol=1e-6)


def test_two_equal_states_of_three_are_two_states_with_that_prior() -> None:
    """Merging states of the same value must not change what is believed at a given α: Dirichlet's own property."""
    three = np.array([[[4, 1, 2], [0, 0, 3], [1, 1, 0]]])
    found = StatesPosterior.of(three, np.array([0.0, 0.0, 1.0]))
    rows, ones = three[0].sum(axis=1), three[0][:, 2]
    mean = np.zeros(3)
    for weight, alpha in zip(found.weights[0], found.alpha[0], strict=True):
        mean += weight * (ones + alpha[2]) / (rows + alpha.sum())
    np.testing.assert_allclose(found.mean[0], mean, rtol=1e-12)


# ---- draws ----


def check_draws(draws: np.ndarray, mean: np.ndarray, second: np.ndarray) -> None:
    """First and second moments of (D, C) draws, and of the products of two cells."""
    D = len(draws)
    for sample, expected in ((draws, mean), (draws[:, :, None] * draws[:, None, :], second)):
        error = np.abs(sample.mean(axis=0) - expected)
        assert np.all(error <= Z_LIMIT * sample.std(axis=0) / math.sqrt(D) + 1e-9)


@pytest.mark.parametrize(("states", "seed"), [(2, 0), (2, 1), (3, 0), (4, 1)])
def test_draws_have_the_exact_moments_and_share_their_prior(states: int, seed: int) -> None:
    """E[θ_c θ_c'] is that of a mixture over the grid: a prior drawn for each cell alone would make them independent."""
    rng = np.random.default_rng([states, seed, 1])
    counts = random_counts(rng, 4, states, most=4)
    values = np.sort(rng.random(states))
    found = StatesPosterior.of(counts, values)
    weights, mean, variance, _ = predicted(counts[0], values)
    grid = own_grid(counts[0])
    means = np.array([[(row + a) @ values / (row + a).sum() for row in counts[0]] for a in grid])
    second = np.einsum("h,hc,hd->cd", weights, means, means)
    np.fill_diagonal(second, variance + mean**2)
    draws = found.draw(np.random.default_rng(3), 40_000)
    assert draws.shape == (1, 40_000, 4)
    assert draws.min() >= values.min() - 1e-12
    assert draws.max() <= values.max() + 1e-12
    check_draws(draws[0], mean, second)


def test_draws_follow_the_mixture_of_betas() -> None:
    counts = binary_counts([1, 6, 0], [4, 8, 0])
    found = StatesPosterior.of(counts, np.array([0.2, 0.6]))
    draws = (found.draw(np.random.default_rng(4), 20_000)[0] - 0.2) / 0.4
    for x in (0.05, 0.3, 0.7, 0.95):
        for c, (zeros, ones) in enumerate(counts[0]):
            law = [stats.beta.cdf(x, ones + a[1], zeros + a[0]) for a in own_grid(counts[0])]
            p = float(found.weights[0] @ law)
            assert abs(np.mean(draws[:, c] <= x) - p) <= Z_LIMIT * math.sqrt(p * (1 - p) / 20_000)


# ---- replicates, edges ----


@pytest.mark.parametrize("states", [2, 3])
def test_replicates_are_believed_as_if_alone(states: int) -> None:
    rng = np.random.default_rng(8)
    counts = np.concatenate([random_counts(rng, 6, states) for _ in range(4)])
    values = np.linspace(0, 1, states)
    together = StatesPosterior.of(counts, values)
    alone = [StatesPosterior.of(counts[i : i + 1], values) for i in range(4)]
    for name in ("weights", "mean", "noise", "strength"):
        expected = np.concatenate([getattr(one, name) for one in alone])
        np.testing.assert_allclose(getattr(together, name), expected, rtol=1e-9, atol=1e-12)
    draws = together.draw(np.random.default_rng(5), 20_000)
    sd = draws.std(axis=1)
    assert np.all(np.abs(draws.mean(axis=1) - together.mean) <= Z_LIMIT * sd / math.sqrt(20_000))


def test_no_rows_at_all() -> None:
    """Every point of the grid is as likely as before; θ has the grid's mean in every cell."""
    found = StatesPosterior.of(np.zeros((2, 3, 2), dtype=np.int64), BINARY)
    np.testing.assert_allclose(found.weights, 1 / (len(BINARY_MEANS) * len(STRENGTHS)))
    np.testing.assert_allclose(found.mean, BINARY_MEANS.mean(), rtol=1e-12)
    three = StatesPosterior.of(np.zeros((1, 2, 3), dtype=np.int64), np.array([0.0, 0.4, 1.0]))
    np.testing.assert_allclose(three.weights, 1 / len(STRENGTHS))
    np.testing.assert_allclose(three.mean, 1.4 / 3)
    assert np.isfinite(three.draw(np.random.default_rng(0), 1000)).all()


@pytest.mark.parametrize("states", [2, 3])
def test_a_billion_rows(states: int) -> None:
    n = 10**9
    law = np.array([[0.25, 0.75], [1.0, 0.0]]) if states == 2 else np.array([[0.25, 0.25, 0.5], [0.0, 1.0, 0.0]])
    values = np.linspace(0, 1, states)
    counts = np.round(n * law).astype(np.int64)[None]
    found = StatesPosterior.of(counts, values)
    theta, variance = law @ values, law @ values**2 - (law @ values) ** 2
    np.testing.assert_allclose(found.mean[0], theta, atol=1e-7)
    np.testing.assert_allclose(found.noise[0], np.maximum(variance, NOISE_FLOOR), rtol=1e-6)
    assert np.all((found.strength >= STRENGTHS[0]) & np.isfinite(found.strength))
    draws = found.draw(np.random.default_rng(1), 4000)[0]
    np.testing.assert_allclose(draws[:, 0].std(), math.sqrt(variance[0] / n), rtol=0.08)
    assert draws[:, 1].std() < 1e-7


def test_strength_is_learned_from_the_cells() -> None:
    """All-or-nothing cells: one row settles a new cell. Equal cells: one row says next to nothing."""
    pure = binary_counts([6 * (c % 2) for c in range(20)] + [1, 0], [6] * 20 + [1, 0])
    found = StatesPosterior.of(pure, BINARY)
    strength = np.array([alpha.sum() for alpha in own_grid(pure[0])])
    assert found.weights[0, strength < 0.5].sum() > 0.95
    assert found.mean[0, 20] > 0.95
    assert 0.3 < found.mean[0, 21] < 0.7
    equal = binary_counts([15] * 20 + [1, 0], [30] * 20 + [1, 0])
    found = StatesPosterior.of(equal, BINARY)
    assert found.weights[0, strength > 5].sum() > 0.999
    assert abs(found.mean[0, 20] - 0.5) < 0.05
    assert found.strength[0, 21] > 10 > 1 > StatesPosterior.of(pure, BINARY).strength[0, 21]


# ---- real outcomes ----


def real_rows(seed: int, sizes: tuple[int, ...], spread: float = 0.1) -> list[np.ndarray]:
    rng = np.random.default_rng([seed, 7])
    means = rng.uniform(0.3, 0.7, size=len(sizes))
    return [np.clip(rng.normal(m, spread, size=n), 0, 1) for m, n in zip(means, sizes, strict=True)]


def summed(cells: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = np.array([[len(y) for y in cells]], dtype=np.int64)
    return rows, np.array([[y.sum() for y in cells]]), np.array([[(y**2).sum() for y in cells]])


def shrunk_variances(cells: list[np.ndarray]) -> tuple[np.ndarray, float]:
    """v_c, and the variance common to all cells, row by row: one more row of a uniform outcome, four of the common one."""
    squares = [float(((y - y.mean()) ** 2).sum()) if len(y) else 0.0 for y in cells]
    freedom = [max(len(y) - 1, 0) for y in cells]
    common = (sum(squares) + UNIFORM_VARIANCE) / (sum(freedom) + 1)
    own = [(VARIANCE_ROWS * common + q) / (VARIANCE_ROWS + f) for q, f in zip(squares, freedom, strict=True)]
    return np.maximum(own, NOISE_FLOOR), max(common, NOISE_FLOOR)


def conditioned(cells: list[np.ndarray], variance: np.ndarray, prior: float) -> tuple[float, np.ndarray, np.ndarray]:
    """Of (common mean, θ_1 … θ_C) jointly normal with the seen averages: log density of those, conditional mean and covariance."""
    C = len(cells)
    joint = np.ones((C + 1, C + 1))  # Var(common) = 1, and every θ adds its own
    joint[1:, 1:] += prior * np.eye(C)
    seen = [c for c in range(C) if len(cells[c])]
    if not seen:
        return 0.0, np.full(C + 1, 0.5), joint
    averages = np.array([cells[c].mean() for c in seen])
    at = [c + 1 for c in seen]
    data = joint[np.ix_(at, at)] + np.diag([variance[c] / len(cells[c]) for c in seen])
    gain = joint[:, at] @ np.linalg.inv(data)
    density = stats.multivariate_normal.logpdf(averages, np.full(len(seen), 0.5), data)
    return float(density), 0.5 + gain @ (averages - 0.5), joint - gain @ joint[at]


def exact_real(cells: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights of the strengths, mean and variance of θ."""
    variance, common = shrunk_variances(cells)
    parts = [conditioned(cells, variance, common / s) for s in STRENGTHS]
    log_weights = np.array([density for density, _, _ in parts])
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    means = np.array([mean[1:] for _, mean, _ in parts])
    second = sum(w * (np.diag(cov)[1:] + mean[1:] ** 2) for w, (_, mean, cov) in zip(weights, parts, strict=True))
    mean = weights @ means
    return weights, mean, second - mean**2


REAL_SIZES = [(3, 5, 2, 1), (40, 1, 0, 7), (200, 300, 0, 100), (0, 0, 0, 1), (2, 2, 2, 2)]


@pytest.mark.parametrize("sizes", REAL_SIZES)
@pytest.mark.parametrize("spread", [0.02, 0.15])
def test_real_outcomes_against_normal_conditioning(sizes: tuple[int, ...], spread: float) -> None:
    cells = real_rows(len(sizes) + sum(sizes), sizes, spread)
    rows, sums, squares = summed(cells)
    found = RealPosterior.of(rows, sums, squares)
    weights, mean, variance = exact_real(cells)
    np.testing.assert_allclose(found.variance[0], shrunk_variances(cells)[0], rtol=1e-9)
    np.testing.assert_allclose(found.weights[0], weights, atol=1e-8)
    np.testing.assert_allclose(found.mean[0], np.clip(mean, 0, 1), rtol=1e-8)
    assert np.array_equal(found.noise, found.variance)
    expected = np.maximum(found.noise[0] / variance - rows[0], STRENGTHS[0])
    np.testing.assert_allclose(found.strength[0], expected, rtol=1e-6)


def clipped_moments(mean: np.ndarray, sd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First two moments of a normal variable cut to [0, 1]."""
    a, b = (0 - mean) / sd, (1 - mean) / sd
    Phi, phi = stats.norm.cdf, stats.norm.pdf
    inside, above = Phi(b) - Phi(a), 1 - Phi(b)
    first = mean * inside + sd * (phi(a) - phi(b))
    second = (mean**2 + sd**2) * inside + 2 * mean * sd * (phi(a) - phi(b)) + sd**2 * (a * phi(a) - b * phi(b))
    return first + above, second + above


@pytest.mark.parametrize("sizes", [(3, 5, 2, 1), (40, 1, 0, 7), (9, 9, 9, 9)])
def test_real_draws_let_the_variance_vary_and_stay_in_range(sizes: tuple[int, ...]) -> None:
    """v_c = own · f / χ²_f with f = 4 + rows − 1, integrated over 4 000 quantiles; the common mean as at the plugged-in v."""
    cells = real_rows(1, sizes)
    found = RealPosterior.of(*summed(cells))
    variance, common = shrunk_variances(cells)
    weights, _, _ = exact_real(cells)
    u = (np.arange(4000) + 0.5) / 4000
    first, second = np.zeros(len(cells)), np.zeros(len(cells))
    for weight, s in zip(weights, STRENGTHS, strict=True):
        _, centre, cov = conditioned(cells, variance, common / s)
        for c, y in enumerate(cells):
            f = VARIANCE_ROWS + max(len(y) - 1, 0)
            v = variance[c] * f / stats.chi2.ppf(u, f)
            own, shared = len(y) / v, s / common
            mean = (own * (y.mean() if len(y) else 0.0) + shared * centre[0]) / (own + shared)
            sd = np.sqrt(1 / (own + shared) + (shared / (own + shared)) ** 2 * cov[0, 0])
            m1, m2 = clipped_moments(mean, sd)
            first[c] += weight * m1.mean()
            second[c] += weight * m2.mean()
    draws = found.draw(np.random.default_rng(2), 40_000)[0]
    assert draws.min() >= 0
    assert draws.max() <= 1
    for power, expected in ((1, first), (2, second)):
        error = np.abs((draws**power).mean(axis=0) - expected)
        assert np.all(error <= Z_LIMIT * (draws**power).std(axis=0) / 200 + 1e-4)


def test_real_replicates_are_believed_as_if_alone() -> None:
    parts = [summed(real_rows(seed, sizes)) for seed, sizes in enumerate(REAL_SIZES[:3])]
    together = RealPosterior.of(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    alone = [RealPosterior.of(*part) for part in parts]
    for name in ("weights", "mean", "noise", "strength", "common", "prior_variance"):
        np.testing.assert_allclose(
            getattr(together, name), np.concatenate([getattr(one, name) for one in alone]), rtol=1e-12
        )
    assert together.draw(np.random.default_rng(0), 5).shape == (3, 5, 4)


def test_no_real_rows() -> None:
    nothing = np.zeros((1, 3))
    found = RealPosterior.of(nothing.astype(np.int64), nothing, nothing)
    np.testing.assert_allclose(found.weights, 1 / len(STRENGTHS))
    np.testing.assert_allclose(found.mean, 0.5)
    np.testing.assert_allclose(found.noise, UNIFORM_VARIANCE)


def test_a_billion_real_rows() -> None:
    """Sums of 10^9 rows; the second cell never varies, and the floor keeps its variance above 0."""
    n = 10**9
    rows = np.array([[n, n, 0]])
    found = RealPosterior.of(rows, np.array([[0.3 * n, 0.8 * n, 0.0]]), np.array([[0.1 * n, 0.64 * n, 0.0]]))
    np.testing.assert_allclose(found.mean[0, :2], [0.3, 0.8], atol=1e-8)
    np.testing.assert_allclose(found.noise[0, 0], 0.01, rtol=1e-6)
    assert found.noise[0, 1] == NOISE_FLOOR
    draws = found.draw(np.random.default_rng(0), 4000)[0]
    np.testing.assert_allclose(draws[:, 0].std(), math.sqrt(0.01 / n), rtol=0.08)


def test_real_strength_is_learned_from_the_cells() -> None:
    rng = np.random.default_rng(0)
    equal = [rng.normal(0.5, 0.1, size=50) for _ in range(10)] + [np.array([0.9])]
    apart = [rng.normal(m, 0.01, size=50) for m in np.linspace(0.1, 0.9, 10)] + [np.array([0.9])]
    alike, varied = (RealPosterior.of(*summed(cells)) for cells in (equal, apart))
    assert alike.weights[0] @ (STRENGTHS > 5) > 0.9
    assert varied.weights[0] @ (STRENGTHS < 0.5) > 0.9
    assert alike.mean[0, 10] < 0.6 < 0.85 < varied.mean[0, 10]


def test_drawn_laws_have_the_dirichlet_moments_and_a_mean_that_is_a_draw_of_theta() -> None:
    """One cell with 500, 300 and 200 rows, one with none: P(Y | c) near the proportions with variance p(1 − p)/(n + 1),
    the prior's rows aside (at most 40); 4 000 draws, 5 standard errors."""
    values = np.array([0.0, 0.4, 1.0])
    posterior = StatesPosterior.of(np.array([[[500, 300, 200], [0, 0, 0]]]), values)
    laws = posterior.draw_laws(np.random.default_rng(1), 4000)
    assert laws.shape == (1, 4000, 2, 3)
    np.testing.assert_allclose(laws.sum(axis=3), 1)
    p = np.array([0.5, 0.3, 0.2])
    sd = np.sqrt(p * (1 - p) / 1001)
    assert np.all(np.abs(laws[0, :, 0].mean(axis=0) - p) < 5 * sd / np.sqrt(4000) + 40 / 1040 * np.abs(p - 1 / 3))
    np.testing.assert_allclose(laws[0, :, 0].std(axis=0), sd, rtol=0.1)
    theta = posterior.draw(np.random.default_rng(2), 4000)
    for c in (0, 1):
        mine = laws[0, :, c] @ values
        assert abs(mine.mean() - theta[0, :, c].mean()) < 5 * mine.std() * np.sqrt(2 / 4000)
        assert mine.std() == pytest.approx(theta[0, :, c].std(), rel=0.1)
