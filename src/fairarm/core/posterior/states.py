"""Outcomes with states: P(Y | c) ~ Dirichlet(s π(η_c)), the cell's counts multinomial, η along the directions.

Two states: the log-odds of the prior mean are η. More: the states' shares in all cells are tilted by η toward the states
of higher value. b, the coefficients of the directions, is found by Newton's method and believed as normal around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairarm.core.posterior.directions import Directions
from fairarm.core.posterior.prior import (
    NOISE_FLOOR,
    STRENGTHS,
    Grid,
    Kept,
    Scales,
    blocks,
    choose,
    kept,
    log_determinant,
    prior_rows,
)
from fairarm.core.posterior.tilt import Tilt
from fairarm.core.special import log_gamma
from fairarm.core.types import FloatArray, IntArray

CONSTANT = 3.0
"""Prior sd of the constant, in logits."""

SCALES = {(0.3, 0.3): 2.5, (0.3, 1.5): 2.5, (1.5, 1.5): 1.0}
"""How far the arms' means may be from where the effects of columns put them, and how large those may be, with the odds.

Few rows do not tell which it is, and there nearer arms save pulls; with many rows the odds are overruled.
"""

LOG_SCALES = {(1.0, 1.0): 1.0, (1.0, 1.5): 1.0, (4.0, 1.5): 1.0}
"""The same for a log, which has no pulls to save: nearer arms would make intervals from few rows too narrow."""

START = 3
"""The strength, by its place in the grid, at which Newton's steps start; the others go on from there."""

STEPS, LONGEST, CLOSE = 6, 2.0, 0.01
"""At most so many of Newton's steps, none of which moves an η by more than the second; below the third they end."""

WIDEST = 0.25
"""Largest variance of η for which the second order is used."""


@dataclass(frozen=True)
class _Rows:
    """The rows as Newton's method takes them, of cells that have any."""

    counts: IntArray
    """(N, C, O)."""
    basis: FloatArray
    """Φ, (N, C, R)."""
    tilt: Tilt
    ubar: FloatArray
    """Mean of u over the rows of a cell, (N, C)."""

    @classmethod
    def of(cls, counts: IntArray, basis: FloatArray, tilt: Tilt) -> _Rows:
        seen = np.asarray(counts.any(axis=(0, 2)))
        counts, basis, tilt = counts[:, seen], basis[:, seen], tilt.of_cells(seen)
        ubar = (counts.transpose(2, 0, 1) * tilt.u).sum(axis=0) / np.maximum(counts.sum(axis=2), 1)
        return cls(counts, basis, tilt, ubar)

    def effective(self, replicate: IntArray, strength: FloatArray) -> FloatArray:
        """e_c = n_c (1 + s)/(n_c + s), (P, C): what rows of a cell are worth for its prior mean."""
        rows = self.counts.sum(axis=2)[replicate]
        s = strength[:, None]
        return np.asarray(rows * (1.0 + s) / (rows + s))  # (B5)

    def problem(self, grid: Grid, replicate: IntArray, point: IntArray) -> _Newton:
        """What is to be solved at these pairs, (P,) each."""
        X = self.basis[replicate] * grid.scale[point][:, None]
        effective = self.effective(replicate, grid.strength[point])
        return _Newton(X, effective, self.ubar[replicate], self.tilt.at(replicate))

    def started(self, grid: Grid, of_points: IntArray, start: FloatArray) -> FloatArray:
        """Modes (N, W, R) at some points (W,), from starts (N, W, R)."""
        N, W = start.shape[:2]
        modes = start.reshape(N * W, -1).copy()
        replicate, point = np.repeat(np.arange(N), W), np.tile(of_points, N)
        for part in blocks(N * W, self.basis[0].size):
            modes[part] = self.problem(grid, replicate[part], point[part]).solved(modes[part])
        return modes.reshape(start.shape)

    def fitted(self, grid: Grid, start: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Modes (N, H, R), Cholesky factors of H there, (N, H, R, R), and the log-evidence (N, H)."""
        N, H, R = start.shape
        modes, factors, evidence = start.reshape(N * H, R).copy(), np.empty((N * H, R, R)), np.empty(N * H)
        replicate, point = np.repeat(np.arange(N), H), np.tile(np.arange(H), N)
        for part in blocks(N * H, self.basis[0].size):
            problem = self.problem(grid, replicate[part], point[part])
            modes[part] = b = problem.solved(modes[part])
            factors[part] = np.linalg.cholesky(problem.curvature(b)[1])
            counts = self.counts[replicate[part]].transpose(2, 0, 1)
            evidence[part] = problem.log_evidence(b, counts, grid.strength[point[part]])
        evidence -= 0.5 * log_determinant(factors)  # (B7)
        return modes.reshape(N, H, R), factors.reshape(N, H, R, R), evidence.reshape(N, H)

    def corrected(self, grid: Grid, points: Kept) -> Kept:
        """The points with the mean of b in place of its mode, to second order."""
        modes = points.mode.copy()
        for part in blocks(len(modes), self.basis[0].size):
            problem = self.problem(grid, points.replicate[part], points.point[part])
            modes[part] -= problem.skewness(modes[part], points.root[part])
        return replace(points, mode=modes)


@dataclass(frozen=True)
class _Newton:
    """Σ_c e_c (ū_c η_c − log Σ_o base_o exp(η_c u_o)) − |b|²/2 with η = X b, of P pairs at once."""

    X: FloatArray
    """(P, C, R), each direction times its prior sd."""
    effective: FloatArray
    ubar: FloatArray
    tilt: Tilt

    def curvature(self, b: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradient (P, R), and H (P, R, R)."""
        eta = (self.X @ b[:, :, None])[..., 0]
        mean, variance, _ = self.tilt.moments(self.tilt.shares(eta))
        gradient = ((self.effective * (self.ubar - mean))[:, None] @ self.X)[:, 0] - b
        H = self.X.transpose(0, 2, 1) @ (self.X * (self.effective * variance)[:, :, None])
        H += np.eye(b.shape[1])
        return gradient, H

    def solved(self, b: FloatArray) -> FloatArray:
        """The mode from a start (P, R); each pair ends its steps by itself."""
        b, going, part = b.copy(), np.arange(len(b)), self
        for _ in range(STEPS):
            gradient, H = part.curvature(b[going])
            step = np.linalg.solve(H, gradient[:, :, None])[..., 0]  # (B6)
            moved = np.abs(part.X @ step[:, :, None]).max(axis=(1, 2), initial=0.0)
            b[going] += step * np.minimum(1.0, LONGEST / np.maximum(moved, LONGEST))[:, None]
            unsettled = moved > CLOSE
            if not unsettled.any():
                break
            if not unsettled.all():
                going = going[unsettled]
                part = _Newton(part.X[unsettled], part.effective[unsettled], part.ubar[unsettled], self.tilt.at(going))
        return b

    def skewness(self, b: FloatArray, root: FloatArray) -> FloatArray:
        """By how much the mean of b is below its mode, (P, R), with L⁻¹ at hand."""
        share = self.tilt.shares((self.X @ b[:, :, None])[..., 0])
        apart = self.tilt.moments(share)[2]
        third = (share * apart**3).sum(axis=0)
        spread = ((self.X @ root.transpose(0, 2, 1)) ** 2).sum(axis=2)  # variance of η_c
        pull = ((self.effective * third * np.minimum(spread, WIDEST))[:, None] @ self.X)[:, 0]
        return np.asarray(0.5 * (root.transpose(0, 2, 1) @ (root @ pull[:, :, None]))[..., 0])  # (B8)

    def log_evidence(self, b: FloatArray, counts: IntArray, strength: FloatArray) -> FloatArray:
        """Log-probability of the rows (O, P, C) under Dirichlet(s π) at b, and of b itself, (P,)."""
        s = strength[:, None]
        alpha = s * self.tilt.shares((self.X @ b[:, :, None])[..., 0])
        each = (
            (log_gamma(alpha + counts) - log_gamma(alpha)).sum(axis=0)
            + log_gamma(s)
            - log_gamma(counts.sum(axis=0) + s)
        )
        return np.asarray(each.sum(axis=1) - 0.5 * (b**2).sum(axis=1))  # (P2); a cell without rows adds 0


@dataclass(frozen=True)
class StatesPosterior:
    """Of the law of the outcome in every cell, as a mixture over the grid (see the module's docstring)."""

    counts: IntArray
    """(N, C, O)."""
    values: FloatArray
    """Y' of each state, (O,)."""
    basis: FloatArray
    """Φ, (N, C, R)."""
    tilt: Tilt
    grid: Grid
    weights: FloatArray
    """Of the grid's points, (N, H)."""
    kept: Kept
    mean: FloatArray
    noise: FloatArray
    strength: FloatArray
    smooth: FloatArray | None

    @classmethod
    def of(
        cls,
        counts: IntArray,
        values: FloatArray,
        directions: Directions,
        columns: Sequence[IntArray] = (),
        scales: Scales = SCALES,
    ) -> StatesPosterior:
        """From the counts of each state in each cell, (N, C, O), and the states' values, (O,); ``columns``: the codes of the cells'
        columns, (C,) each, which may tell which states there are."""
        basis, grid = directions.basis, Grid.of(directions, CONSTANT, scales)
        tilt = Tilt.of(counts, values, columns)
        rows = _Rows.of(counts, basis, tilt)
        W, S = len(grid.strength) // len(STRENGTHS), len(STRENGTHS)
        start = np.zeros((len(counts), W, basis.shape[2]))
        start[:, :, 0] = _overall(counts)[:, None] / CONSTANT
        start = rows.started(grid, START + S * np.arange(W), start)
        modes, factors, evidence = rows.fitted(grid, np.repeat(start, S, axis=1))
        weights = grid.weights(evidence)
        points = rows.corrected(grid, kept(weights, modes, factors))
        mean, noise, strength = _moments(counts, values, basis, tilt, grid, points)
        smooth = grid.smooth(directions, weights)
        return cls(counts, values, basis, tilt, grid, weights, points, mean, noise, strength, smooth)

    def draw(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """θ from the posterior, (N, draws, C): a point of the grid and b are drawn first, then every cell given them."""
        shape = self._drawn_shape(rng, draws)
        if len(self.values) == 2:
            first = rng.beta(shape[1], shape[0])
            return np.asarray(self.values[0] + (self.values[1] - self.values[0]) * first)
        # a Dirichlet draw is gammas over their sum; shapes of 0.01 underflow to 0 in all states at once, hence the least number
        gamma = np.maximum(rng.standard_gamma(shape), np.finfo(float).tiny)
        return np.asarray(np.tensordot(self.values, gamma, axes=1) / gamma.sum(axis=0))

    def draw_laws(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """P(Y | c) from the posterior, (N, draws, C, O): its mean is a draw of θ."""
        gamma = np.maximum(rng.standard_gamma(self._drawn_shape(rng, draws)), np.finfo(float).tiny)
        return np.asarray(np.moveaxis(gamma / gamma.sum(axis=0), 0, 3))

    def _drawn_shape(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """s π at a drawn point of the grid and b, plus the cell's counts, (O, N, draws, C)."""
        at = choose(self.weights, rng, draws)
        b = self.kept.drawn(at, rng) * self.grid.scale[at]
        eta = b @ self.basis.transpose(0, 2, 1)
        N, D, C = eta.shape
        share = self.tilt.at(np.repeat(np.arange(N), D)).shares(eta.reshape(N * D, C)).reshape(-1, N, D, C)
        share *= self.grid.strength[at][:, :, None]
        share += self.counts.transpose(2, 0, 1)[:, :, None]
        return share


def _overall(counts: IntArray) -> FloatArray:
    """Where the constant starts, (N,): the log-odds of all rows where there are two states, else 0."""
    if counts.shape[2] != 2:
        return np.zeros(len(counts))
    zeros, ones = counts.sum(axis=1).T
    return np.asarray(np.log((ones + 0.5) / (zeros + 0.5)))


def _moments(
    counts: IntArray, values: FloatArray, basis: FloatArray, tilt: Tilt, grid: Grid, points: Kept
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean, noise and prior rows of every cell, (N, C) each."""
    n, rows = points.replicate, counts.sum(axis=2)
    means, variances, noise = (np.empty((len(n), counts.shape[1])) for _ in range(3))
    for part in blocks(len(n), basis[0].size):
        at, h = n[part], points.point[part]
        s = grid.strength[h][:, None]
        X = basis[at] * grid.scale[h][:, None]
        share = tilt.at(at).shares((X @ points.mode[part][:, :, None])[..., 0])
        size = rows[at] + s
        law = (s * share + counts[at].transpose(2, 0, 1)) / size
        # moments of Y in a cell under the Dirichlet's mean; θ itself varies by within/(size + 1), the rest is noise of rows
        first = np.tensordot(values, law, axes=1)
        within = (law * (values[:, None, None] - first) ** 2).sum(axis=0)
        # what not knowing b adds: the prior's mean of Y moves by its covariance with u under π, and bends
        _, variance, apart = tilt.at(at).moments(share)
        spread = ((X @ points.root[part].transpose(0, 2, 1)) ** 2).sum(axis=2)
        slope = s / size * np.tensordot(values, share * apart, axes=1)
        bend = s / size * np.tensordot(values, share * (apart**2 - variance), axes=1)
        first = first + 0.5 * bend * np.minimum(spread, WIDEST)
        means[part], noise[part] = first, within * size / (size + 1.0)
        variances[part] = within / (size + 1.0) + slope**2 * spread
    mean, variance = points.moments(means, variances)
    noise = np.maximum(points.mixed(noise), NOISE_FLOOR)
    return mean, noise, prior_rows(noise, variance, rows)
