"""What is believed about θ_c = E[Y | cell] after the pulls: a prior learned from all cells, then each cell's own rows.

The prior's parameters are not plugged in: a grid of them is weighted by marginal likelihood, so that few pulls leave
the prior itself uncertain. Arrays have a leading axis of N replicates; C cells, H points of the grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import betaln, gammaln

from fairarm.core.types import FloatArray, IntArray

BETA_MEANS = np.array([0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97])
STRENGTHS = np.array([0.03, 0.1, 0.3, 1.0, 2.0, 4.0, 10.0, 40.0])
"""Prior counts a cell: below 1 cells are nearly all-or-nothing, above 10 they are nearly alike."""

NOISE_FLOOR = 1e-4
"""Least Var(Y | c) used to plan pulls: nothing is ever taken as known without noise."""


class Posterior(Protocol):
    """Beliefs about θ, (N, C)."""

    mean: FloatArray
    """E[θ_c | rows], (N, C)."""
    noise: FloatArray
    """v_c = E[Var(Y | c) | rows] with a floor, (N, C)."""
    strength: FloatArray
    """Prior counts, (N, C): v_c / (n_c + strength) is about the posterior variance of θ_c."""

    def draw(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """θ from the posterior, (N, draws, C)."""
        ...


def _grid_weights(log_evidence: FloatArray) -> FloatArray:
    """Posterior weights of the grid's points, (N, H)."""
    weights = np.exp(log_evidence - log_evidence.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _choose(weights: FloatArray, rng: np.random.Generator, draws: int) -> IntArray:
    """``draws`` points of the grid for each replicate, (N, draws), by inversion."""
    ladder = np.cumsum(weights, axis=1)
    u = rng.random((len(weights), draws)) * ladder[:, -1:]
    return np.asarray((u[:, :, None] > ladder[:, None, :-1]).sum(axis=2))


@dataclass(frozen=True)
class BetaPosterior:
    """Binary outcomes: θ_c ~ Beta(m s, (1 − m) s) with (m, s) on a grid, y_c | θ_c ~ Binomial(n_c, θ_c)."""

    rows: IntArray
    """n_c, (N, C)."""
    ones: FloatArray
    """y_c, (N, C)."""
    weights: FloatArray
    """(N, H)."""
    mean: FloatArray
    noise: FloatArray
    strength: FloatArray

    @classmethod
    def of(cls, rows: IntArray, ones: FloatArray) -> BetaPosterior:
        a, b = _beta_grid()
        success, failure = ones[:, None, :] + a[:, None], (rows - ones)[:, None, :] + b[:, None]
        weights = _grid_weights((betaln(success, failure) - betaln(a, b)[:, None]).sum(axis=2))
        total = success + failure
        share = success / total
        mean = np.einsum("nh,nhc->nc", weights, share)
        noise = np.einsum("nh,nhc->nc", weights, share * (failure / total) * (total / (total + 1.0)))
        variance = np.einsum("nh,nhc->nc", weights, share * (failure / total) / (total + 1.0) + share**2) - mean**2
        noise = np.maximum(noise, NOISE_FLOOR)
        strength = np.maximum(noise / np.maximum(variance, 1e-300) - rows, STRENGTHS[0])
        return cls(rows, ones, weights, mean, noise, strength)

    def draw(self, rng: np.random.Generator, draws: int) -> FloatArray:
        a, b = _beta_grid()
        at = _choose(self.weights, rng, draws)
        success, failure = self.ones[:, None, :] + a[at][:, :, None], (self.rows - self.ones)[:, None, :] + b[at][:, :, None]
        return rng.beta(success, failure)


def _beta_grid() -> tuple[FloatArray, FloatArray]:
    m, s = (axis.ravel() for axis in np.meshgrid(BETA_MEANS, STRENGTHS, indexing="ij"))
    return m * s, (1.0 - m) * s
