"""Real outcomes: the cell's mean is normal around θ_c, θ_c normal around Φ_c b, v/s its variance.

Location and scale are those of the rows: the declared range plays no part, unless outcomes do not vary. The variance within a cell is
its own shrunk toward the one common to all, the more the less the cells' variances differ; draws let it vary by its χ² law.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.core.posterior.directions import Directions
from fairarm.core.posterior.prior import (
    Grid,
    Kept,
    blocks,
    choose,
    kept,
    log_determinant,
    prior_rows,
)
from fairarm.core.special import log_gamma
from fairarm.core.types import FloatArray, IntArray

CONSTANT = 3.0
"""Prior sd of the constant around the mean outcome of all rows, in units of the outcomes' sd."""

SCALES = {(1.0, 1.0): 1.0, (4.0, 4.0): 1.0}
"""ω, in units of √v, of the arms' directions and of the effects of columns, with their odds."""

FREEDOMS = 10.0 ** np.arange(0.0, 4.5, 0.5)
"""ν, how many rows the variance common to all cells may count in a cell's own."""

UNIFORM_MEAN, UNIFORM_VARIANCE, LEAST_VARIANCE = 0.5, 1.0 / 12.0, 1e-28
"""Location and scale where rows do not tell them: those of a uniform outcome on the declared range. Less than the last is rounding."""


@dataclass(frozen=True)
class CellRows:
    """Rows of each cell as a normal model takes them, (N, C) or (N,)."""

    rows: IntArray
    averages: FloatArray
    """ȳ_c; anything where the cell has no row."""
    variance: FloatArray
    """v_c, shrunk Var(Y | c)."""
    common: FloatArray
    """v, that of all cells together, (N,)."""
    freedom: FloatArray
    """Rows that v_c rests on less 1, the common variance's included, (N, C)."""
    centre: FloatArray
    """The mean of all rows, (N,)."""
    spread: FloatArray
    """The sd of all rows, (N,)."""

    @classmethod
    def of(cls, rows: IntArray, sums: FloatArray, within: FloatArray) -> CellRows:
        """From rows, Σ Y' and Σ (Y' − Ȳ'_c)² of each cell, (N, C) each."""
        n = rows.sum(axis=1)
        centre = np.where(n > 0, sums.sum(axis=1) / np.maximum(n, 1), UNIFORM_MEAN)
        averages = np.divide(sums, rows, out=np.repeat(centre[:, None], rows.shape[1], axis=1), where=rows > 0)
        total = (within + rows * (averages - centre[:, None]) ** 2).sum(axis=1) / np.maximum(n - 1, 1)
        total = np.where(total > LEAST_VARIANCE, total, UNIFORM_VARIANCE)
        own = np.maximum(rows - 1, 0)
        # one row with the variance of all rows, so that cells with one row each do not look free of noise
        common = (within.sum(axis=1) + total) / (own.sum(axis=1) + 1.0)
        shared = _shared_freedom(within, own, common)[:, None]
        variance = (shared * common[:, None] + within) / (shared + own)
        return cls(rows, averages, variance, common, shared + own, centre, np.sqrt(total))

    @property
    def precision(self) -> FloatArray:
        """n_c / v_c, (N, C)."""
        return np.asarray(self.rows / self.variance)


@dataclass(frozen=True)
class RealPosterior:
    """Of the mean outcome of every cell, as a mixture over the grid (see the module's docstring)."""

    cells: CellRows
    basis: FloatArray
    """Φ, the constant times the outcomes' sd and the others times √v: (N, C, R)."""
    grid: Grid
    weights: FloatArray
    """Of the grid's points, (N, H)."""
    kept: Kept
    mean: FloatArray
    noise: FloatArray
    strength: FloatArray
    smooth: FloatArray | None

    @classmethod
    def of(cls, cells: CellRows, directions: Directions) -> RealPosterior:
        """From the rows of each cell, and directions whose arms' columns have the factor v_c."""
        basis, grid = directions.basis.copy(), Grid.of(directions, CONSTANT, SCALES)
        basis[:, :, 0] *= cells.spread[:, None]
        basis[:, :, 1:] *= np.sqrt(cells.common)[:, None, None]
        weights, points = _fitted(cells, basis, grid)
        mean, variance = _moments(cells, basis, grid, points)
        strength = prior_rows(cells.variance, variance, cells.rows)
        smooth = grid.smooth(directions, weights)
        return cls(cells, basis, grid, weights, points, mean, cells.variance, strength, smooth)

    def draw(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """θ from the posterior, (N, draws, C), with the prior's mean and the cells' variances drawn too."""
        cells, at = self.cells, choose(self.weights, rng, draws)
        b = self.kept.drawn(at, rng) * self.grid.scale[at]
        centre = cells.centre[:, None, None] + b @ self.basis.transpose(0, 2, 1)
        prior = (self.grid.strength[at] / cells.common[:, None])[:, :, None]
        # a variance from few rows is itself uncertain: draws with it fixed would be too narrow
        variance = (cells.variance * cells.freedom)[:, None] / rng.chisquare(cells.freedom[:, None], centre.shape)
        precision = cells.rows[:, None] / variance
        posterior = 1.0 / (precision + prior)
        mean = posterior * (precision * cells.averages[:, None] + prior * centre)
        return np.asarray(mean + np.sqrt(posterior) * rng.standard_normal(variance.shape))


def _shared_freedom(within: FloatArray, own: IntArray, common: FloatArray) -> FloatArray:
    """ν of every replicate, (N,), by the likelihood of the cells' variances, s_c² / v ~ F(d_c, ν) with d_c = n_c − 1; no more than the
    common variance rests on itself."""
    nu, d = FREEDOMS[:, None, None], own.astype(np.float64)
    each = log_gamma((d + nu) / 2) - log_gamma(nu / 2) - d / 2 * np.log(nu)
    each -= (d + nu) / 2 * np.log1p(within / (nu * common[:, None]))
    likelihood = each.sum(axis=2)
    weights = np.exp(likelihood - likelihood.max(axis=0))
    found = np.exp(np.log(FREEDOMS) @ weights / weights.sum(axis=0))
    return np.asarray(np.minimum(found, own.sum(axis=1) + 1.0))


def _fitted(cells: CellRows, basis: FloatArray, grid: Grid) -> tuple[FloatArray, Kept]:
    """Weights of the grid, (N, H), and b at the points that count: all in closed form."""
    N, H, R = len(basis), len(grid.strength), basis.shape[2]
    replicate, point = np.repeat(np.arange(N), H), np.tile(np.arange(H), N)
    modes, factors, evidence = np.empty((N * H, R)), np.empty((N * H, R, R)), np.empty(N * H)
    for part in blocks(N * H, basis[0].size):
        n, h = replicate[part], point[part]
        X = basis[n] * grid.scale[h][:, None]
        precision = cells.precision[n]
        # 1 / (v_c/n_c + v/s), written so that n_c = 0 gives 0: a cell without rows says nothing
        marginal = precision / (1.0 + precision * (cells.common[n] / grid.strength[h])[:, None])
        weighted = marginal[:, :, None] * X
        curvature = X.transpose(0, 2, 1) @ weighted + np.eye(R)  # (B9)
        target = cells.averages[n] - cells.centre[n][:, None]
        gain = (target[:, None] @ weighted)[:, 0]
        modes[part] = np.linalg.solve(curvature, gain[:, :, None])[..., 0]
        factors[part] = np.linalg.cholesky(curvature)
        misfit = (marginal * target**2).sum(axis=1) - (gain * modes[part]).sum(axis=1)
        log_marginal = np.log(np.where(cells.rows[n] > 0, marginal, 1.0)).sum(axis=1)
        evidence[part] = 0.5 * (log_marginal - log_determinant(factors[part]) - misfit)  # (P3)
    weights = grid.weights(evidence.reshape(N, H))
    return weights, kept(weights, modes.reshape(N, H, R), factors.reshape(N, H, R, R))


def _moments(cells: CellRows, basis: FloatArray, grid: Grid, points: Kept) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of every θ_c, (N, C) each."""
    n, h = points.replicate, points.point
    prior = (grid.strength[h] / cells.common[n])[:, None]
    posterior = 1.0 / (cells.precision[n] + prior)
    centre, spread = np.empty_like(posterior), np.empty_like(posterior)
    for part in blocks(len(n), basis[0].size):
        X = basis[n[part]] * grid.scale[h[part]][:, None]
        centre[part] = cells.centre[n[part]][:, None] + (X @ points.mode[part][:, :, None])[..., 0]
        spread[part] = ((X @ points.root[part].transpose(0, 2, 1)) ** 2).sum(axis=2)
    means = posterior * (cells.precision[n] * cells.averages[n] + prior * centre)
    # θ_c given the prior's mean, and what not knowing that mean adds
    return points.moments(means, posterior + (posterior * prior) ** 2 * spread)
