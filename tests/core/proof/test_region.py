"""Certified intervals: closed forms, independent solvers, exact enumeration, then coverage."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import beta as beta_function
from scipy.special import xlogy

from fairarm.core.proof import region
from fairarm.core.proof.region import highest_in_region, intervals, mixture, share_interval, tilted
from quick import quick

HALF = np.array([0.5, 0.5])


def log_likelihood(n, y, theta):
    return (xlogy(y, theta) + xlogy(n - y, 1 - theta)).sum(axis=-1)


# ---- the mixture ----


NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


def half(power: float, other: float, alpha: float, beta: float) -> float:
    """∫_0^½ θ^(power+α−1) (1−θ)^(other+β−1) dθ by Gauss–Legendre in x = log θ; the far tail below e^−60/α in closed form."""
    start = -60 - 1 / alpha
    edges = np.linspace(start, math.log(0.5), 400)
    x = (edges[:-1, None] + np.diff(edges)[:, None] * (NODES + 1) / 2).ravel()
    w = np.repeat(np.diff(edges) / 2, 40) * np.tile(WEIGHTS, 399)
    tail = math.exp((power + alpha) * start) / (power + alpha)
    return float(w @ np.exp((power + alpha) * x + (other + beta - 1) * np.log1p(-np.exp(x)))) + tail


def integrated(n: float, y: float, near: float, strength: float) -> float:
    """∫ θ^y (1−θ)^(n−y) dprior, prior = ½ Beta(εs, (1−ε)s) + ½ its mirror image."""
    total = 0.0
    for alpha, beta in ((near * strength, (1 - near) * strength), ((1 - near) * strength, near * strength)):
        top = half(y, n - y, alpha, beta) + half(n - y, y, beta, alpha)
        total += 0.5 * top / (half(0, 0, alpha, beta) + half(0, 0, beta, alpha))
    return total


@pytest.mark.parametrize("y", [[0, 2, 0], [1.5, 0.25, 0]])
def test_the_mixture_is_the_integral_it_claims_to_be(y):
    n = np.array([3.0, 2.0, 0.0])
    grid = list(itertools.product(region.NEAR, region.STRENGTH))
    expected = np.mean([math.prod(integrated(a, b, *g) for a, b in zip(n, y, strict=True)) for g in grid])
    found = mixture(n[None], np.array([y], dtype=float))
    assert found.log_evidence[0] == pytest.approx(math.log(expected), abs=1e-6)


def test_the_mixtures_mean_is_its_prediction_of_the_next_outcome():
    n, y = np.array([[3.0, 5.0]]), np.array([[0.0, 4.0]])
    before = mixture(n, y)
    for c in (0, 1):
        one = np.eye(2)[c]
        after = mixture(n + one, y + one)
        assert math.exp(after.log_evidence[0] - before.log_evidence[0]) == pytest.approx(before.mean[0, c], rel=1e-10)


def test_no_rows_no_evidence():
    found = mixture(np.zeros((1, 4)), np.zeros((1, 4)))
    assert found.log_evidence[0] == pytest.approx(0, abs=1e-12)
    assert found.mean == pytest.approx(np.full((1, 4), 0.5))


@pytest.mark.parametrize(("values", "exact"), [((0.0, 1.0), True), ((0.0, 0.4, 1.0), False)])
def test_the_ratio_is_a_martingale_under_an_adaptive_choice_of_cells(values, exact):
    """E[N/L(θ)] over every outcome sequence of length 5: 1 for binary outcomes, below 1 for a three-point one."""
    theta = np.array([0.2, 0.7])
    middle = 0.0 if exact else 0.25
    law = [{0.0: 1 - t - 0.6 * middle, 0.4: middle, 1.0: t - 0.4 * middle} for t in theta]
    paths = [(1.0, np.zeros(2), np.zeros(2))]
    for _ in range(5):
        new = []
        for p, n, y in paths:
            c = int(y.sum() * 3 + n[0] > 1.5)  # what is pulled next depends on what was seen
            for value in values:
                step = np.eye(2)[c]
                new.append((p * law[c][value], n + step, y + value * step))
        paths = new
    p = np.array([x[0] for x in paths])
    n, y = np.array([x[1] for x in paths]), np.array([x[2] for x in paths])
    mean = float(p @ np.exp(mixture(n, y).log_evidence - log_likelihood(n, y, theta)))
    assert p.sum() == pytest.approx(1)
    if exact:
        assert mean == pytest.approx(1, abs=1e-10)
    else:
        assert mean < 1 - 1e-3


# ---- the region ----


@pytest.mark.parametrize("up", [0.0, 1e-9, 0.5, 3.0, 1e5])
@pytest.mark.parametrize("down", [0.0, 2e-7, 4.0])
@pytest.mark.parametrize("slope", [-1e6, -4.0, -0.3, 0.0, 1e-12, 2.0, 4.0, 1e6])
def test_the_tilted_maximum_against_a_grid(up, down, slope):
    theta, rest = (float(x) for x in tilted(np.array(up), np.array(down), np.array(slope)))
    assert 0 <= theta <= 1
    assert theta + rest == pytest.approx(1, abs=1e-9) or up + down + abs(slope) == 0
    tiny = np.geomspace(1e-13, 0.5, 4000)
    grid = np.concatenate([[0.0], tiny, 1 - tiny, [1.0]])
    found = float(region.tilted_maximum(np.array([up]), np.array([down]), np.array([slope])))
    others = xlogy(up, grid) + xlogy(down, 1 - grid) + slope * grid
    assert found >= np.max(others) - 1e-8 * max(1, up, abs(slope))


def test_one_cell_interval_in_closed_form():
    """With one cell the ends solve log N − ℓ(θ) = log(1/δ)."""
    n, y, delta = np.array([[40.0]]), np.array([[11.0]]), 0.1
    level = mixture(n, y).log_evidence[0] - math.log(1 / delta)

    def height(theta):
        return log_likelihood(n[0], y[0], np.array([theta])) - level

    low, high = brentq(height, 1e-9, 11 / 40), brentq(height, 11 / 40, 1 - 1e-9)
    found = intervals(n, y, np.ones((1, 2, 1)), delta, HALF)
    assert found.outcomes[0, 0] == pytest.approx([low, high], abs=1e-7)
    assert found.outcomes[0, 0, 0] <= low + 1e-12
    assert found.outcomes[0, 0, 1] >= high - 1e-12


def best_on_the_border(n, y, f, level):
    """sup f·θ over { ℓ(θ) ≥ level } by root finding alone: each cell's stationary point for λ, then λ for the border."""

    def point(log_lam):
        theta = []
        for u, v, s in zip(y, n - y, math.exp(log_lam) * f, strict=True):

            def slope(t, u=u, v=v, s=s):
                return u * (1 - t) - v * t + s * t * (1 - t)

            inner = np.linspace(0, 1, 2001)[1:-1]
            signs = np.sign([slope(t) for t in inner])
            change = np.nonzero((signs[:-1] > 0) & (signs[1:] <= 0))[0]
            if len(change):
                theta.append(brentq(slope, inner[change[0]], inner[change[0] + 1], xtol=1e-15))
            else:
                theta.append(1.0 if signs[0] > 0 else 0.0)
        return np.array(theta)

    log_lam = brentq(lambda x: log_likelihood(n, y, point(x)) - level, math.log(1e-3), math.log(1e4), xtol=1e-12)
    return f @ point(log_lam)


@pytest.mark.parametrize("seed", quick(range(8), 4))
def test_the_regions_ends_against_other_solvers(seed):
    """sup f·θ over the region: never below what a general solver finds, and within 1e-6 of the root finder's."""
    rng = np.random.default_rng(seed)
    C = int(rng.integers(2, 6))
    n = rng.poisson(20 * rng.random(C)).astype(float)
    y = np.round(n * rng.choice([0.0, 0.3, 1.0], size=C), 1)
    f, delta = rng.normal(size=C), 0.05
    level = mixture(n[None], y[None]).log_evidence[0] - math.log(1 / delta)
    found = highest_in_region(n[None], y[None], f[None, None], delta)[0, 0]
    result = minimize(
        lambda t: -f @ t,
        np.clip((y + 0.5) / (n + 1), 0.02, 0.98),
        jac=lambda t: -f,
        bounds=[(1e-12, 1 - 1e-12)] * C,
        constraints={
            "type": "ineq",
            "fun": lambda t: log_likelihood(n, y, t) - level,
            "jac": lambda t: y / t - (n - y) / (1 - t),
        },
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    if log_likelihood(n, y, result.x) >= level - 1e-9:
        assert -result.fun - 1e-9 <= found <= -result.fun + 1e-3
    assert found == pytest.approx(best_on_the_border(n, y, f, level), abs=1e-6)


def test_share_interval_in_closed_form():
    a, b, delta = 30.0, 12.0, 0.05
    level = math.log(beta_function(a + 0.5, b + 0.5) / beta_function(0.5, 0.5)) - math.log(1 / delta)

    def height(p):
        return a * math.log(p) + b * math.log(1 - p) - level

    expected = [brentq(height, 1e-9, a / (a + b)), brentq(height, a / (a + b), 1 - 1e-9)]
    assert share_interval(np.array([a]), np.array([b]), delta)[0] == pytest.approx(expected, abs=1e-9)
    assert share_interval(np.zeros(1), np.zeros(1), delta)[0] == pytest.approx([0, 1])
    assert share_interval(np.zeros(1), np.array([9.0]), delta)[0, 0] == 0


def test_unknown_shares_widen_only_the_outcomes():
    rng = np.random.default_rng(1)
    law = rng.dirichlet(np.ones(3), size=(2, 2))
    n = np.array([[30.0, 40.0, 50.0]])
    y = np.array([[3.0, 30.0, 25.0]])
    natural = np.array([[2000.0, 2000.0]])
    known, unknown = intervals(n, y, law, 0.045, HALF), intervals(n, y, law, 0.05, None, natural)
    assert np.array_equal(unknown.gaps, known.gaps)  # 0.9 of 0.05 is left
    assert np.all(unknown.outcomes[..., 0] < known.outcomes[..., 0])
    assert np.all(unknown.outcomes[..., 1] > known.outcomes[..., 1])
    assert np.abs(unknown.outcomes - known.outcomes).max() < 0.05
    assert np.all(intervals(n, y, law, 0.05).outcomes[..., 1] >= unknown.outcomes[..., 1])


def test_coverage_of_all_intervals_at_all_looks():
    """500 runs, 20 looks, δ = 0.2, pulls that chase the higher cell: fails at most 0.2 of runs (+ 4 standard errors)."""
    rng = np.random.default_rng(5)
    N, delta = 500, 0.2
    theta = np.array([0.05, 0.5, 0.9])
    law = np.array([[[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]], [[0.1, 0.8, 0.1], [0.3, 0.3, 0.4]]])
    mu, zeta = (law @ theta) @ HALF, law[:, 0] @ theta - law[:, 1] @ theta
    n, y = np.zeros((N, 3)), np.zeros((N, 3))
    missed = np.zeros(N, dtype=bool)
    for _ in range(20):
        arm = (y[:, 1] * 2 > n[:, 1]).astype(int)
        cells = rng.multinomial(6, law[arm, 0])
        n, y = n + cells, y + rng.binomial(cells, theta)
        found = intervals(n, y, law, delta, HALF)
        for truth, ends in ((mu, found.outcomes), (zeta, found.gaps)):
            missed |= ((ends[..., 0] > truth) | (ends[..., 1] < truth)).any(axis=1)
    assert missed.mean() <= delta + 4 * math.sqrt(delta * (1 - delta) / N)
    assert (found.gaps[..., 1] - found.gaps[..., 0]).mean() < 0.7
