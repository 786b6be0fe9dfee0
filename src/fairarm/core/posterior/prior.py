"""What is believed about θ_c = E[Y | cell] after the pulls: a prior learned from all cells, then each cell's own rows.

The prior's parameters are not plugged in: a grid of them is weighted by marginal likelihood, so that few pulls leave
the prior itself uncertain. Arrays have a leading axis of N replicates; C cells, H points of the grid, O states of Y.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fairarm.core.special import log_gamma
from fairarm.core.types import FloatArray, IntArray

BINARY_MEANS = np.array([0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97])
STRENGTHS = np.array([0.03, 0.1, 0.3, 1.0, 2.0, 4.0, 10.0, 40.0])
"""Prior rows a cell: below 1 cells are nearly all-or-nothing, above 10 they are nearly alike."""

NOISE_FLOOR = 1e-4
"""Least Var(Y | c) used to plan pulls: nothing is ever taken as known without noise."""

VARIANCE_ROWS = 4.0
"""How many rows the variance common to all cells counts in a cell's own (real outcomes)."""

UNIFORM_VARIANCE = 1.0 / 12.0


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

    def draw(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """θ from the posterior, (N, draws, C)."""
        ...


def _grid_weights(log_evidence: FloatArray) -> FloatArray:
    """Posterior weights of the grid's points, (N, H), each as likely as any other before the first row."""
    weights = np.exp(log_evidence - log_evidence.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _choose(weights: FloatArray, rng: np.random.Generator, draws: int) -> IntArray:
    """``draws`` points of the grid for each replicate, (N, draws), by inversion."""
    ladder = np.cumsum(weights, axis=1)
    u = rng.random((len(weights), draws)) * ladder[:, -1:]
    return np.asarray((u[:, :, None] > ladder[:, None, :-1]).sum(axis=2))


def _mixed(weights: FloatArray, means: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of a mixture over the grid of (N, H, C) means and variances: (N, C) each."""
    mean = np.einsum("nh,nhc->nc", weights, means)
    spread = (means - mean[:, None]) ** 2
    return mean, np.einsum("nh,nhc->nc", weights, variances + spread)


def _prior_rows(noise: FloatArray, variance: FloatArray, rows: IntArray) -> FloatArray:
    # rows n with v / (n_c + n) the variance at hand: what the design takes for rows already there
    return np.asarray(np.maximum(noise / np.maximum(variance, np.finfo(float).tiny) - rows, STRENGTHS[0]))


@dataclass(frozen=True)
class StatesPosterior:
    """Outcomes with states: P(Y | c) ~ Dirichlet(α) for one of H vectors α, the cell's counts multinomial.

    Two states: α = (1 − m, m) · s for all m and s of the grid. More: α = s · (the mean of the cells' own proportions).
    """

    counts: IntArray
    """(N, C, O)."""
    values: FloatArray
    """Y' of each state, (O,)."""
    alpha: FloatArray
    """(N or 1, H, O)."""
    weights: FloatArray
    """Of the grid's points, (N, H)."""
    mean: FloatArray
    noise: FloatArray
    strength: FloatArray

    @classmethod
    def of(cls, counts: IntArray, values: FloatArray) -> StatesPosterior:
        """From the counts of each state in each cell, (N, C, O), and the states' values, (O,)."""
        alpha = _two_state_grid() if len(values) == 2 else _pooled_grid(counts)
        # (P2); a cell without rows adds 0
        rows, total = counts.sum(axis=2), alpha.sum(axis=2)
        shape = counts[:, None] + alpha[:, :, None]
        log_evidence = (log_gamma(shape) - log_gamma(alpha)[:, :, None]).sum(axis=(2, 3))
        log_evidence += (log_gamma(total)[:, :, None] - log_gamma(rows[:, None] + total[:, :, None])).sum(axis=2)
        weights = _grid_weights(log_evidence)
        size = shape.sum(axis=3)
        # moments of Y in a cell under the Dirichlet's mean; θ itself varies by within/(size + 1), the rest is noise of rows
        first, second = shape @ values / size, shape @ values**2 / size
        within = np.maximum(second - first**2, 0.0)
        mean, variance = _mixed(weights, first, within / (size + 1.0))
        noise = np.maximum(np.einsum("nh,nhc->nc", weights, within * size / (size + 1.0)), NOISE_FLOOR)
        return cls(counts, values, alpha, weights, mean, noise, _prior_rows(noise, variance, rows))

    def draw(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """θ from the posterior, (N, draws, C): a point of the grid is drawn first, then every cell given it."""
        shape = self._drawn_shape(rng, draws)
        if len(self.values) == 2:
            first = rng.beta(shape[..., 1], shape[..., 0])
            return np.asarray(self.values[0] + (self.values[1] - self.values[0]) * first)
        # a Dirichlet draw is gammas over their sum; shapes of 0.01 underflow to 0 in all states at once, hence the least number
        gamma = np.maximum(rng.standard_gamma(shape), np.finfo(float).tiny)
        return np.asarray(gamma @ self.values / gamma.sum(axis=3))

    def draw_laws(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """P(Y | c) from the posterior, (N, draws, C, O): its mean is a draw of θ."""
        gamma = np.maximum(rng.standard_gamma(self._drawn_shape(rng, draws)), np.finfo(float).tiny)
        return np.asarray(gamma / gamma.sum(axis=3, keepdims=True))

    def _drawn_shape(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """α of a drawn point of the grid plus the cell's counts, (N, draws, C, O)."""
        at = _choose(self.weights, rng, draws)
        alpha = np.broadcast_to(self.alpha, (len(at), *self.alpha.shape[1:]))[np.arange(len(at))[:, None], at]
        return np.asarray(self.counts[:, None] + alpha[:, :, None])


def _two_state_grid() -> FloatArray:
    m, s = (axis.ravel() for axis in np.meshgrid(BINARY_MEANS, STRENGTHS, indexing="ij"))
    return np.stack([(1.0 - m) * s, m * s], axis=1)[None]


def _pooled_grid(counts: IntArray) -> FloatArray:
    """s times the mean over seen cells of their proportions, smoothed by one row spread evenly, (N, H, O)."""
    # proportions of cells, not of rows: one cell that was pulled often must not speak for how cells are spread
    rows = counts.sum(axis=2, keepdims=True)
    own = np.divide(counts, rows, out=np.zeros(counts.shape), where=rows > 0).sum(axis=1)
    base = (own + 1.0 / counts.shape[2]) / (1.0 + (rows[..., 0] > 0).sum(axis=1))[:, None]
    return np.asarray(STRENGTHS[:, None] * base[:, None])


@dataclass(frozen=True)
class RealPosterior:
    """Real outcomes in [0, 1]: the cell's mean is normal around θ_c, θ_c normal around a common mean, v/s its variance.

    The variance within a cell is its own shrunk toward the one common to all; draws let it vary by its χ² law, and are
    cut to [0, 1].
    """

    rows: IntArray
    averages: FloatArray
    """ȳ_c, (N, C); anything where the cell has no row."""
    variance: FloatArray
    """Shrunk Var(Y | c), (N, C)."""
    common: FloatArray
    """Common mean at each strength, (N, H)."""
    common_variance: FloatArray
    prior_variance: FloatArray
    """v/s, (N, H)."""
    weights: FloatArray
    mean: FloatArray
    noise: FloatArray
    strength: FloatArray

    @classmethod
    def of(cls, rows: IntArray, sums: FloatArray, squares: FloatArray) -> RealPosterior:
        """From rows, Σ Y' and Σ Y'² of each cell, (N, C) each."""
        seen = rows > 0
        averages = np.divide(sums, rows, out=np.full(sums.shape, 0.5), where=seen)
        within = np.maximum(squares - averages * sums, 0.0)
        freedom = np.maximum(rows - 1, 0)
        # one row of a uniform outcome, so that cells with one row each do not look free of noise
        pooled = (within.sum(axis=1) + UNIFORM_VARIANCE) / (freedom.sum(axis=1) + 1.0)
        variance = (VARIANCE_ROWS * pooled[:, None] + within) / (VARIANCE_ROWS + freedom)
        variance = np.maximum(variance, NOISE_FLOOR)
        prior = np.maximum(pooled, NOISE_FLOOR)[:, None] / STRENGTHS
        # (P3): ȳ_c ~ N(common, v_c / n_c + prior); the common mean is integrated out (one row at ½ keeps it proper)
        precision = (rows / variance)[:, None]
        # 1 / (v_c/n_c + prior), written so that n_c = 0 gives 0: a cell without rows says nothing
        marginal = precision / (1.0 + precision * prior[:, :, None])
        total = marginal.sum(axis=2) + 1.0
        common = (np.einsum("nhc,nc->nh", marginal, averages) + 0.5) / total
        misfit = np.einsum("nhc,nhc->nh", marginal, (averages[:, None] - common[:, :, None]) ** 2) + (common - 0.5) ** 2
        log_marginal = np.log(np.where(seen[:, None], marginal, 1.0)).sum(axis=2)
        weights = _grid_weights(0.5 * (log_marginal - np.log(total) - misfit))
        posterior = 1.0 / (precision + 1.0 / prior[:, :, None])
        means = posterior * (precision * averages[:, None] + (common / prior)[:, :, None])
        # θ_c given the common mean, and what not knowing that mean adds
        spread = posterior + (posterior / prior[:, :, None]) ** 2 / total[:, :, None]
        mean, uncertainty = _mixed(weights, means, spread)
        strength = _prior_rows(variance, uncertainty, rows)
        return cls(
            rows, averages, variance, common, 1.0 / total, prior, weights, np.clip(mean, 0, 1), variance, strength
        )

    def draw(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """θ from the posterior, (N, draws, C), with the common mean and the cells' variances drawn too."""
        at = _choose(self.weights, rng, draws)
        pick = (np.arange(len(at))[:, None], at)
        common = self.common[pick] + np.sqrt(self.common_variance[pick]) * rng.standard_normal(at.shape)
        prior = self.prior_variance[pick][:, :, None]
        freedom = VARIANCE_ROWS + np.maximum(self.rows - 1, 0)
        # a variance from few rows is itself uncertain: draws with it fixed would be too narrow
        variance = (self.variance * freedom)[:, None] / rng.chisquare(freedom[:, None], (*at.shape, freedom.shape[1]))
        precision = self.rows[:, None] / variance
        posterior = 1.0 / (precision + 1.0 / prior)
        mean = posterior * (precision * self.averages[:, None] + common[:, :, None] / prior)
        return np.clip(mean + np.sqrt(posterior) * rng.standard_normal(variance.shape), 0.0, 1.0)
