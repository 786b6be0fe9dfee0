"""Beliefs about outcomes with states, against another optimiser, integration over b, and scipy's own laws."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize
from scipy.special import logsumexp

from fairarm.core.posterior import states
from fairarm.core.posterior.directions import Directions
from fairarm.core.posterior.prior import NOISE_FLOOR, SMOOTH, STRENGTHS, Grid
from fairarm.core.posterior.states import SCALES, StatesPosterior

BINARY = np.array([0.0, 1.0])
Z_LIMIT = 5.0
"""Draws of a moment: with fixed seeds a correct program is beyond this in fewer than 1 of 10^6 comparisons."""


def binary_counts(ones: list[int], rows: list[int]) -> np.ndarray:
    return np.array([[[n - y, y] for y, n in zip(ones, rows, strict=True)]], dtype=np.int64)


def random_counts(rng: np.random.Generator, cells: int, outcomes: int, most: int = 12) -> np.ndarray:
    """Some cells without rows, some nearly pure, some mixed."""
    out = np.zeros((cells, outcomes), dtype=np.int64)
    for c in range(cells):
        n = int(rng.choice([0, 1, 3, most]))
        out[c] = rng.multinomial(n, rng.dirichlet(np.full(outcomes, rng.choice([0.1, 3.0]))))
    return out[None]


def random_directions(rng: np.random.Generator, cells: int, count: int, smooth: int = 0) -> Directions:
    basis = np.concatenate([np.ones((cells, 1)), rng.normal(size=(cells, count))], axis=1)
    return Directions(basis[None], smooth=smooth)


def own_tilt(counts: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Base and u of the tilted shares, by plain loops."""
    outcomes = counts.shape[1]
    if outcomes == 2:
        return np.array([0.5, 0.5]), np.array([0.0, 1.0])
    seen = [row / row.sum() for row in counts if row.sum() > 0]
    base = (np.sum(seen, axis=0) + np.full(outcomes, 1 / outcomes)) / (len(seen) + 1)
    mean = float(base @ values)
    return base, (values - mean) / (2 * math.sqrt(float(base @ (values - mean) ** 2)))


def own_grid(directions: Directions) -> list[tuple[float, np.ndarray]]:
    """Strength and the directions' prior sds of every point, by plain loops."""
    others, smooth = directions.basis.shape[2] - 1 - directions.smooth, directions.smooth
    return [
        (s, np.array([3.0] + [omega] * others + [along] * smooth))
        for omega in ((0.3, 1.5) if others else (0.3,))  # with the constant alone they are one point
        for along in (SMOOTH if smooth else [0.0])
        for s in STRENGTHS
    ]


def shares_at(eta: np.ndarray, base: np.ndarray, u: np.ndarray) -> np.ndarray:
    weight = base * np.exp(np.multiply.outer(eta, u))
    return weight / weight.sum(axis=-1, keepdims=True)


# ---- the mode, by another optimiser ----


@pytest.mark.parametrize("outcomes", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_the_mode_is_that_of_the_written_density(outcomes: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Σ e_c (ū_c η_c − log Σ base exp(η_c u)) − |b|²/2 with e = n (1 + s)/(n + s), maximised by BFGS."""
    rng = np.random.default_rng([outcomes, seed])
    counts, values = random_counts(rng, 8, outcomes), np.sort(rng.random(outcomes))
    directions = random_directions(rng, 8, 3)
    monkeypatch.setattr(states, "CLOSE", 1e-9)
    monkeypatch.setattr(states, "STEPS", 30)
    monkeypatch.setattr(states, "WIDEST", 0.0)  # the second order is another test's
    found = StatesPosterior.of(counts, values, directions)
    base, u = own_tilt(counts[0], values)
    rows = counts[0].sum(axis=1)
    ubar = counts[0] @ u / np.maximum(rows, 1)
    for point, mode in zip(found.kept.point, found.kept.mode, strict=True):
        s, scale = own_grid(directions)[point]
        X, e = directions.basis[0] * scale, rows * (1 + s) / (rows + s)

        def negative(b: np.ndarray, X: np.ndarray = X, e: np.ndarray = e) -> float:
            eta = X @ b
            norm = logsumexp(np.log(base) + np.multiply.outer(eta, u), axis=1)
            return float(-(e * (ubar * eta - norm)).sum() + b @ b / 2)

        best = minimize(negative, np.zeros(4), method="BFGS", options={"gtol": 1e-9})
        assert negative(mode) <= best.fun + 1e-9
        np.testing.assert_allclose(mode, best.x, atol=2e-4)


def test_six_steps_are_enough() -> None:
    """Rare outcomes, all-or-nothing cells and a mixed world: with 30 steps no prior mean moves by more than 1 %."""
    rng = np.random.default_rng(4)
    for rates in (np.full(40, 0.004), rng.choice([0.01, 0.99], 40), rng.random(40)):
        rows = rng.integers(0, 60, 40)
        ones = rng.binomial(rows, rates)
        counts = np.stack([rows - ones, ones], axis=1)[None]
        directions = random_directions(rng, 40, 6)
        few = StatesPosterior.of(counts, BINARY, directions)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(states, "STEPS", 30)
            patch.setattr(states, "CLOSE", 1e-9)
            many = StatesPosterior.of(counts, BINARY, directions)
        np.testing.assert_allclose(few.weights, many.weights, atol=0.01)
        np.testing.assert_allclose(few.mean, many.mean, rtol=0.01, atol=1e-4)


# ---- the evidence and the moments, by integration over b ----


def integrated(
    counts: np.ndarray, values: np.ndarray, basis: np.ndarray, strength: float, scale: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """Log-evidence, mean and variance of θ at a point of the grid with one or two directions: b on a fine grid."""
    base, u = own_tilt(counts, values)
    axis = np.linspace(-6, 6, 161)
    b = np.stack(np.meshgrid(*[axis] * basis.shape[1], indexing="ij"), axis=-1).reshape(-1, basis.shape[1])
    log_prior = stats.norm.logpdf(b).sum(axis=1)
    alpha = strength * np.maximum(shares_at((b * scale) @ basis.T, base, u), 1e-300)  # (points, C, O)
    rows = counts.sum(axis=1)
    log_rows = np.zeros(len(b))
    for c in np.flatnonzero(rows):
        if len(values) == 2:
            law = stats.betabinom.logpmf(counts[c, 1], rows[c], alpha[:, c, 1], alpha[:, c, 0])
        else:
            law = np.array([stats.dirichlet_multinomial.logpmf(counts[c], a, rows[c]) for a in alpha[:, c]])
        log_rows += law
    joint = log_prior + log_rows
    evidence = logsumexp(joint) + basis.shape[1] * math.log(axis[1] - axis[0])
    weight = np.exp(joint - logsumexp(joint))
    shape = alpha + counts
    mean = shape @ values / shape.sum(axis=2)
    within = shape @ values**2 / shape.sum(axis=2) - mean**2
    first = weight @ mean
    second = weight @ (within / (shape.sum(axis=2) + 1) + mean**2)
    return float(evidence), first, second - first**2


def orders(counts: np.ndarray) -> float:
    """log of the number of orders of each cell's rows: scipy's laws are of counts, ours of sequences."""
    return sum(math.lgamma(row.sum() + 1) - sum(math.lgamma(x + 1) for x in row) for row in counts)


@pytest.mark.parametrize(
    ("ones", "rows"),
    [([20, 35, 8, 30], [60, 60, 60, 60]), ([1, 0, 2, 1], [200, 150, 300, 250]), ([9, 0, 10, 1], [10, 10, 10, 10])],
    ids=["mixed", "rare", "nearly pure"],
)
@pytest.mark.parametrize("directions", [1, 2])
def test_evidence_and_moments_against_integration(ones: list[int], rows: list[int], directions: int) -> None:
    """Laplace's approximation: weights to a factor of 1.35 at the points that count (1.8 with 4 ones in 900 rows), means to a
    tenth of their sd, sds to 20 %."""
    counts = binary_counts(ones, rows)
    along = Directions(np.array([[[1.0, -1.0], [1.0, 0.5], [1.0, 1.0], [1.0, -0.5]]])[:, :, :directions])
    found = StatesPosterior.of(counts, BINARY, along)
    parts = [integrated(counts[0], BINARY, along.basis[0], s, scale) for s, scale in own_grid(along)]
    exact = np.array([evidence for evidence, _, _ in parts]) + np.log(
        np.repeat([5.0, 1.0], len(STRENGTHS))[: len(parts)]
    )
    weights = np.exp(exact - logsumexp(exact))
    shown = np.log(np.maximum(found.weights[0], 1e-12)) - np.log(np.maximum(weights, 1e-12))
    counted = weights > 0.02
    assert np.all(np.abs(shown[counted]) < (0.6 if sum(ones) < 5 else 0.3)), shown[counted]
    mean = sum(w * m for w, (_, m, _) in zip(weights, parts, strict=True))
    second = sum(w * (v + m**2) for w, (_, m, v) in zip(weights, parts, strict=True))
    sd = np.sqrt(second - mean**2)
    draws = found.draw(np.random.default_rng(1), 40_000)[0]
    assert np.all(np.abs(draws.mean(axis=0) - mean) < 0.1 * sd + 5 * sd / 200), (draws.mean(axis=0), mean, sd)
    np.testing.assert_allclose(draws.std(axis=0), sd, rtol=0.2)
    claimed = np.sqrt(found.noise[0] / (counts[0].sum(axis=1) + found.strength[0]))
    free = found.strength[0] > STRENGTHS[0]
    np.testing.assert_allclose(claimed[free], sd[free], rtol=0.2)
    np.testing.assert_allclose(found.mean[0], mean, atol=0.15 * sd.max())


def test_three_states_against_integration() -> None:
    counts = np.array([[[30, 10, 2], [25, 20, 1], [40, 5, 0], [20, 15, 4]]])
    values = np.array([0.0, 0.01, 1.0])
    along = Directions(np.ones((1, 4, 1)))
    found = StatesPosterior.of(counts, values, along)
    parts = [integrated(counts[0], values, along.basis[0], s, scale) for s, scale in own_grid(along)]
    exact = np.array([evidence for evidence, _, _ in parts]) + np.log(
        np.repeat([5.0, 1.0], len(STRENGTHS))[: len(parts)]
    )
    weights = np.exp(exact - logsumexp(exact))
    np.testing.assert_allclose(found.weights[0], weights, atol=0.05)
    mean = sum(w * m for w, (_, m, _) in zip(weights, parts, strict=True))
    sd = np.sqrt(sum(w * (v + m**2) for w, (_, m, v) in zip(weights, parts, strict=True)) - mean**2)
    draws = found.draw(np.random.default_rng(1), 40_000)[0]
    assert np.all(np.abs(draws.mean(axis=0) - mean) < 0.15 * sd)
    np.testing.assert_allclose(draws.std(axis=0), sd, rtol=0.15)


def test_without_the_second_order_rare_rates_come_out_too_high() -> None:
    """Cells with a rate of 0.5 %: the mean of draws is within 4 % of the rows' own rate, without the correction above it."""
    rng = np.random.default_rng(7)
    rows = np.full(200, 40)
    counts = np.stack([rows, np.zeros(200, dtype=np.int64)], axis=1)[None]
    hit = rng.choice(200, 40, replace=False)
    counts[0, hit] += [-1, 1]
    directions = random_directions(rng, 200, 12)
    rate = counts[0, :, 1].sum() / rows.sum()
    drawn = StatesPosterior.of(counts, BINARY, directions).draw(np.random.default_rng(0), 4000)[0].mean()
    assert abs(drawn / rate - 1) < 0.04, drawn / rate
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(states, "WIDEST", 0.0)
        plain = StatesPosterior.of(counts, BINARY, directions).draw(np.random.default_rng(0), 4000)[0].mean()
    assert plain > drawn * 1.02


# ---- draws given b ----


@pytest.mark.parametrize("outcomes", [2, 4])
def test_given_b_cells_are_drawn_from_their_dirichlet_law(outcomes: int) -> None:
    """With b known (its spread taken away) θ has the exact moments of the mixture over the grid, cell by cell."""
    rng = np.random.default_rng([outcomes, 5])
    counts, values = random_counts(rng, 5, outcomes, most=6), np.sort(rng.random(outcomes))
    directions = random_directions(rng, 5, 2)
    found = StatesPosterior.of(counts, values, directions)
    found = replace(found, kept=replace(found.kept, root=np.zeros_like(found.kept.root)))
    base, u = own_tilt(counts[0], values)
    first, second = np.zeros(5), np.zeros((5, 5))
    for weight, point, mode in zip(found.kept.weight, found.kept.point, found.kept.mode, strict=True):
        s, scale = own_grid(directions)[point]
        alpha = s * shares_at(directions.basis[0] @ (scale * mode), base, u) + counts[0]
        size = alpha.sum(axis=1)
        mean = alpha @ values / size
        variance = (alpha @ values**2 / size - mean**2) / (size + 1)
        first += weight * mean
        second += weight * (np.outer(mean, mean) + np.diag(variance))
    draws = found.draw(np.random.default_rng(3), 40_000)[0]
    for sample, expected in ((draws, first), (draws[:, :, None] * draws[:, None, :], second)):
        error = np.abs(sample.mean(axis=0) - expected)
        assert np.all(error <= Z_LIMIT * sample.std(axis=0) / 200 + 1e-9)
    laws = found.draw_laws(np.random.default_rng(4), 20_000)[0]
    np.testing.assert_allclose(laws.sum(axis=2), 1.0)
    theta = laws @ values
    assert np.all(np.abs(theta.mean(axis=0) - first) <= Z_LIMIT * theta.std(axis=0) / math.sqrt(20_000) + 1e-9)


def test_b_is_drawn_with_the_inverse_of_its_curvature() -> None:
    """η over 40 000 draws of b at one point: mean and covariance of N(mode, H⁻¹), H by differences of the density."""
    rng = np.random.default_rng(3)
    counts, directions = random_counts(rng, 6, 2), random_directions(rng, 6, 2)
    found = StatesPosterior.of(counts, BINARY, directions)
    at = int(np.argmax(found.kept.weight))
    point = int(found.kept.point[at])
    s, scale = own_grid(directions)[point]
    rows, ones = counts[0].sum(axis=1), counts[0][:, 1]
    X, e = directions.basis[0] * scale, rows * (1 + s) / (rows + s)
    m = 1 / (1 + np.exp(-X @ found.kept.mode[at]))
    del ones
    b = found.kept.drawn(np.full((1, 40_000), point), rng)[0]
    covariance = np.cov(b.T)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(states, "WIDEST", 0.0)
        mode = StatesPosterior.of(counts, BINARY, directions).kept.mode[at]
    m = 1 / (1 + np.exp(-X @ mode))
    H = X.T @ np.diag(e * m * (1 - m)) @ X + np.eye(3)
    np.testing.assert_allclose(covariance, np.linalg.inv(H), atol=0.03 * np.linalg.inv(H).max())
    np.testing.assert_allclose(b.mean(axis=0), found.kept.mode[at], atol=5 * math.sqrt(1 / 40_000))


# ---- replicates, symmetry, edges ----


@pytest.mark.parametrize("outcomes", [2, 3])
def test_replicates_are_believed_as_if_alone(outcomes: int) -> None:
    rng = np.random.default_rng(8)
    counts = np.concatenate([random_counts(rng, 6, outcomes) for _ in range(4)])
    values = np.linspace(0, 1, outcomes)
    basis = np.concatenate([random_directions(rng, 6, 3).basis for _ in range(4)])
    basis[1, :, 2:] = 0.0  # a replicate with fewer directions than the others
    together = StatesPosterior.of(counts, values, Directions(basis))
    for i in range(4):
        kept = [0, 1] if i == 1 else [0, 1, 2, 3]
        alone = StatesPosterior.of(counts[i : i + 1], values, Directions(basis[i : i + 1][:, :, kept]))
        for name in ("weights", "mean", "noise", "strength"):
            np.testing.assert_allclose(getattr(together, name)[i], getattr(alone, name)[0], rtol=1e-8, atol=1e-10)
    draws = together.draw(np.random.default_rng(5), 20_000)
    assert np.all(np.abs(draws.mean(axis=1) - together.mean) <= 0.25 * draws.std(axis=1) + 0.01)


def test_cells_in_another_order_and_states_turned_round() -> None:
    rng = np.random.default_rng(6)
    counts, directions = random_counts(rng, 7, 2), random_directions(rng, 7, 2)
    found = StatesPosterior.of(counts, BINARY, directions)
    order = rng.permutation(7)
    mixed = StatesPosterior.of(counts[:, order], BINARY, Directions(directions.basis[:, order]))
    np.testing.assert_allclose(mixed.mean[0], found.mean[0, order], rtol=1e-9)
    np.testing.assert_allclose(mixed.weights, found.weights, rtol=1e-8)
    turned = StatesPosterior.of(counts[:, :, ::-1], BINARY, directions)
    np.testing.assert_allclose(turned.mean, 1 - found.mean, rtol=1e-8)
    np.testing.assert_allclose(turned.strength, found.strength, rtol=1e-6)


def test_no_rows_at_all() -> None:
    """Every point of the grid is as likely as before; two states are as likely as each other, and draws are wide."""
    directions = Directions(np.concatenate([random_directions(np.random.default_rng(0), 3, 2).basis] * 2))
    found = StatesPosterior.of(np.zeros((2, 3, 2), dtype=np.int64), BINARY, directions)
    before = np.repeat([5 / 6, 1 / 6], len(STRENGTHS)) / len(STRENGTHS)
    np.testing.assert_allclose(found.weights, np.tile(before, (2, 1)))
    np.testing.assert_allclose(found.mean, 0.5)
    assert found.draw(np.random.default_rng(0), 4000).std(axis=1).min() > 0.35
    three = StatesPosterior.of(
        np.zeros((1, 2, 3), dtype=np.int64), np.array([0.0, 0.4, 1.0]), Directions.constant(1, 2)
    )
    np.testing.assert_allclose(three.mean, 1.4 / 3, atol=0.01)
    assert np.isfinite(three.draw(np.random.default_rng(0), 1000)).all()


@pytest.mark.parametrize("outcomes", [2, 3])
def test_a_billion_rows(outcomes: int) -> None:
    n = 10**9
    law = np.array([[0.25, 0.75], [1.0, 0.0]]) if outcomes == 2 else np.array([[0.25, 0.25, 0.5], [0.0, 1.0, 0.0]])
    values = np.linspace(0, 1, outcomes)
    counts = np.round(n * law).astype(np.int64)[None]
    found = StatesPosterior.of(counts, values, random_directions(np.random.default_rng(1), 2, 1))
    theta, variance = law @ values, law @ values**2 - (law @ values) ** 2
    np.testing.assert_allclose(found.mean[0], theta, atol=1e-6)
    np.testing.assert_allclose(found.noise[0], np.maximum(variance, NOISE_FLOOR), rtol=1e-5)
    assert np.all((found.strength >= STRENGTHS[0]) & np.isfinite(found.strength))
    draws = found.draw(np.random.default_rng(1), 4000)[0]
    np.testing.assert_allclose(draws[:, 0].std(), math.sqrt(variance[0] / n), rtol=0.08)
    assert draws[:, 1].std() < 1e-6


@pytest.mark.parametrize("ones", [0, 50], ids=["never", "always"])
def test_an_outcome_that_never_varies(ones: int) -> None:
    """50 rows in each of four cells, all alike; one cell without rows follows them, less surely."""
    counts = binary_counts([ones] * 4 + [0], [50] * 4 + [0])
    found = StatesPosterior.of(counts, BINARY, random_directions(np.random.default_rng(2), 5, 2))
    rate = np.abs(found.mean[0] - ones / 50)
    assert np.all(rate[:4] < 0.01)
    assert rate[:4].max() < rate[4] < 0.2
    draws = found.draw(np.random.default_rng(0), 2000)
    assert np.isfinite(draws).all()


def test_one_cell() -> None:
    """A problem with one cell: the rows' own rate."""
    found = StatesPosterior.of(np.array([[[70, 30]]]), BINARY, Directions.constant(1, 1))
    draws = found.draw(np.random.default_rng(0), 20_000)[0, :, 0]
    assert abs(draws.mean() - 0.3) < 0.01
    assert draws.std() == pytest.approx(math.sqrt(0.3 * 0.7 / 100), rel=0.1)


def test_strength_is_learned_from_the_cells() -> None:
    """All-or-nothing cells: one row settles a new cell. Equal cells: one row says next to nothing."""
    pure = binary_counts([6 * (c % 2) for c in range(20)] + [1, 0], [6] * 20 + [1, 0])
    constant = Directions.constant(1, 22)
    found = StatesPosterior.of(pure, BINARY, constant)
    strength = Grid.of(constant, 3.0, SCALES).strength
    assert found.weights[0, strength < 0.5].sum() > 0.95
    assert found.mean[0, 20] > 0.95
    assert 0.3 < found.mean[0, 21] < 0.7
    equal = binary_counts([15] * 20 + [1, 0], [30] * 20 + [1, 0])
    alike = StatesPosterior.of(equal, BINARY, constant)
    assert alike.weights[0, strength > 5].sum() > 0.999
    assert abs(alike.mean[0, 20] - 0.5) < 0.05
    assert alike.strength[0, 21] > 10 > 1 > found.strength[0, 21]


def test_smoothness_is_learned_from_the_cells() -> None:
    """40 ordered cells with 30 rows each: rates along a curve make smooth priors likely, rates at random do not."""
    rng = np.random.default_rng(3)
    x = np.linspace(-1, 1, 40)
    basis = np.stack([np.ones(40), rng.normal(size=40), x, x**2], axis=1)[None]
    curved = rng.binomial(30, 1 / (1 + np.exp(-2 * x)))
    rough = rng.binomial(30, rng.random(40))
    found = [
        StatesPosterior.of(np.stack([30 - y, y], axis=1)[None], BINARY, Directions(basis, smooth=2))
        for y in (curved, rough)
    ]
    assert found[0].smooth is not None and found[1].smooth is not None
    assert found[0].smooth[0] > 0.99
    assert found[1].smooth[0] < 0.5
    assert StatesPosterior.of(np.zeros((1, 40, 2), dtype=np.int64), BINARY, Directions(basis)).smooth is None
