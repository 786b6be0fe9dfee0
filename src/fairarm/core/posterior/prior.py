"""What the posteriors of θ_c = E[Y | cell] share: the grid of priors, its weights, and the form of the answer.

The prior's parameters are not plugged in: a grid of them is weighted by marginal likelihood, so that few pulls leave
the prior itself uncertain. A point of the grid is how strongly cells follow the prior mean, and how far that mean may move
along its directions (`fairarm.core.posterior.directions`). Arrays have a leading axis of N replicates; C cells, H points
of the grid, R directions. Work goes over the *pairs* of a replicate and a point, P of them at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fairarm.core.posterior.directions import Directions
from fairarm.core.types import FloatArray, IntArray

STRENGTHS = np.array([0.03, 0.15, 0.7, 3.0, 15.0, 100.0, 1000.0])
"""s, prior rows a cell: below 1 cells are nearly all-or-nothing, above 10 they nearly follow the prior mean."""

Scales = Mapping[tuple[float, float], float]
"""Pairs of ω, of the arms' directions and of the effects of the cell's columns, with their odds before any row."""

SMOOTH = np.array([0.0, 1.5])
"""ω of the smooth functions along ordered columns: they play no part, or they do."""

NEGLIGIBLE = 1e-4
"""Points of the grid with a smaller share of the weight are left out."""

NOISE_FLOOR = 1e-4
"""Least Var(Y | c) used to plan pulls: nothing is ever taken as known without noise."""

BLOCK = 1 << 18
"""Numbers (pairs × cells × directions) worked on at once: 2 MiB, so that they stay near the processor."""


class Posterior(Protocol):
    """Beliefs about θ."""

    @property
    def mean(self) -> FloatArray:
        """E[θ_c | rows], (N, C)."""
        ...

    @property
    def noise(self) -> FloatArray:
        """v_c = E[Var(Y | c) | rows], (N, C), at least the floor."""
        ...

    @property
    def strength(self) -> FloatArray:
        """Prior rows, (N, C), at least the grid's least: v_c / (n_c + strength) is the posterior variance of θ_c above that."""
        ...

    @property
    def smooth(self) -> FloatArray | None:
        """The weight of priors that are smooth along the ordered columns, (N,); None where there is no such column."""
        ...

    def draw(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """θ from the posterior, (N, draws, C)."""
        ...


@dataclass(frozen=True)
class Grid:
    """The points: strengths s (H,), sds of the directions' coefficients (H, R), and how likely before the first row (H,)."""

    strength: FloatArray
    scale: FloatArray
    before: FloatArray

    @classmethod
    def of(cls, directions: Directions, constant: float, scales: Scales) -> Grid:
        """Every strength with every pair of scales, and with every ω of the smooth functions where there are any; strengths
        last. All is equally likely but for the odds of the scales."""
        effects, smooth = directions.effects, directions.smooth
        arms = directions.basis.shape[2] - 1 - effects - smooth
        odds: dict[tuple[float, ...], float] = {}
        for (of_arms, of_effects), weight in scales.items():
            for along in SMOOTH if smooth else SMOOTH[:1]:
                # where the cell has one column, pairs that differ in its effects alone are one point
                scale = (constant, *[of_arms] * arms, *[of_effects] * effects, *[along] * smooth)
                odds[scale] = odds.get(scale, 0.0) + weight
        S = len(STRENGTHS)
        before = np.repeat(list(odds.values()), S)
        return cls(np.tile(STRENGTHS, len(odds)), np.repeat(np.array([*odds]), S, axis=0), before / before.sum())

    def weights(self, log_evidence: FloatArray) -> FloatArray:
        """Posterior weights of the points, (N, H)."""
        weights = self.before * np.exp(log_evidence - log_evidence.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        weights[weights < NEGLIGIBLE] = 0.0
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def smooth(self, directions: Directions, weights: FloatArray) -> FloatArray | None:
        """The weight, of (N, H), at which smooth functions play a part, (N,)."""
        return weights @ (self.scale[:, -1] > 0) if directions.smooth else None


def blocks(pairs: int, size: int) -> Iterator[slice]:
    """Parts of the pairs, each of which takes ``size`` numbers."""
    step = max(1, BLOCK // max(size, 1))
    return (slice(start, start + step) for start in range(0, pairs, step))


def choose(weights: FloatArray, rng: np.random.Generator, draws: int) -> IntArray:
    """``draws`` points of the grid for each replicate, (N, draws), by inversion."""
    ladder = np.cumsum(weights, axis=1)
    u = rng.random((len(weights), draws)) * ladder[:, -1:]
    return np.stack([np.searchsorted(own[:-1], each, side="right") for own, each in zip(ladder, u, strict=True)])


@dataclass(frozen=True)
class Kept:
    """The pairs whose weight counts, by replicate: b ~ N(mode, H⁻¹) at each, with b measured in units of its prior's sd."""

    replicate: IntArray
    point: IntArray
    weight: FloatArray
    """(P,), summing to 1 in each replicate."""
    mode: FloatArray
    """(P, R)."""
    root: FloatArray
    """L⁻¹ for H = L L', (P, R, R): L⁻ᵀ times standard normal numbers has the variance H⁻¹."""

    def mixed(self, values: FloatArray) -> FloatArray:
        """Σ over the points of a replicate of weight × values (P, ...), (N, ...)."""
        first = np.flatnonzero(np.diff(self.replicate, prepend=-1))
        weight = self.weight.reshape(-1, *[1] * (values.ndim - 1))
        return np.asarray(np.add.reduceat(weight * values, first, axis=0))

    def moments(self, means: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the mixture of (P, C) means and variances, (N, C) each."""
        mean = self.mixed(means)
        return mean, self.mixed(variances + (means - mean[self.replicate]) ** 2)

    def drawn(self, at: IntArray, rng: np.random.Generator) -> FloatArray:
        """b at the chosen points (N, D), in units of its prior's sd, (N, D, R)."""
        b = rng.standard_normal((*at.shape, self.mode.shape[1]))
        # draws by their point, in order, those of each kept point from its start to its end
        order, (N, _) = np.argsort(at, axis=1, kind="stable"), at.shape
        H = 1 + max(int(at.max(initial=0)), int(self.point.max(initial=0)))
        last = np.cumsum(np.bincount((H * np.arange(N)[:, None] + at).ravel(), minlength=N * H).reshape(N, H), axis=1)
        ends = last[self.replicate, self.point]
        starts = np.where(self.point > 0, last[self.replicate, self.point - 1], 0)
        for i in np.flatnonzero(ends > starts):
            n = self.replicate[i]
            chosen = order[n, starts[i] : ends[i]]
            b[n, chosen] = self.mode[i] + b[n, chosen] @ self.root[i]
        return b


def kept(weights: FloatArray, modes: FloatArray, factors: FloatArray) -> Kept:
    """From all pairs: weights (N, H), modes (N, H, R) and Cholesky factors of H (N, H, R, R)."""
    replicate, point = np.nonzero(weights)
    factor = factors[replicate, point]
    root = np.asarray(np.linalg.inv(factor), dtype=np.float64)
    return Kept(replicate, point, weights[replicate, point], modes[replicate, point], root)


def log_determinant(factor: FloatArray) -> FloatArray:
    """log |H| of Cholesky factors (..., R, R)."""
    return np.asarray(2.0 * np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(axis=-1))


def prior_rows(noise: FloatArray, variance: FloatArray, rows: IntArray) -> FloatArray:
    """Rows n with v / (n_c + n) the variance at hand: what the design takes for rows already there."""
    return np.asarray(np.maximum(noise / np.maximum(variance, np.finfo(float).tiny) - rows, STRENGTHS[0]))
