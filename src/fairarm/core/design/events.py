"""Which pulls would settle the question: a convex design by Frank–Wolfe.

Over non-negative pulls x of the units u = (regime, arm), within the pulls and the cost left,

    minimise  log Σ_e exp( −Γ_e(n + Σ_u x_u p_u) )

where e runs over the events that would overturn the answer (`Alternatives`), Γ_e is the evidence against e that
counts n in the cells would give on average, concave in n, and p_u is the law of the cells under the unit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.core.affordable import affordable_mix
from fairarm.core.answer import Code
from fairarm.core.design.projection import project
from fairarm.core.fairness import best_fair_arm, gap_of
from fairarm.core.types import FloatArray, IntArray

STEPS = 20
"""Of Frank–Wolfe: more make the plan better by less than the noise of what it is planned for."""


@dataclass(frozen=True)
class Alternatives:
    """For each replicate and draw of the truth, the answer b, and for each arm k what k would need to overturn it.

    ``outcome`` g1 and ``gap`` g2, (N, D, K): k overturns b by δ with (w_k − w_b)·δ ≥ g1 and sign · d_k·δ ≥ g2; the
    entry of b itself is its own becoming unfair. A need below 0 is room that the move may use up: a fair k must still
    be fair, a better one still better. −inf is no condition, where k is b or no arm is fair.
    """

    best: IntArray
    """(N, D); Code.NONE where no arm is fair."""
    outcome: FloatArray
    gap: FloatArray
    sign: FloatArray
    """(N, D, K): the direction in which d_k·θ must move."""


def alternatives(outcomes: FloatArray, gaps: FloatArray, tolerance: float) -> Alternatives:
    """The answer in each draw, (N, D, K) outcomes and gaps, and what would overturn it."""
    best = best_fair_arm(outcomes, gaps, tolerance)
    top = np.take_along_axis(outcomes, np.maximum(best, 0)[..., None], axis=-1)
    none = (best == Code.NONE)[..., None]
    own = np.arange(outcomes.shape[-1]) == best[..., None]
    size = np.abs(gaps)
    # where none is fair an arm only has to become fair; the answer itself only has to become unfair: no row on outcomes
    lower = np.where(none | own, -np.inf, top - outcomes)
    outside = np.where(own, tolerance - size, size - tolerance)
    # an unfair arm must come in from its side of the tolerance, a fair answer leaves by the nearer one, which is its own
    toward = np.where(gaps >= 0, -1.0, 1.0)
    return Alternatives(best, lower, outside, np.where(own, -toward, toward))


@dataclass(frozen=True)
class Laws:
    """The cells' laws, (N or 1, K, C) each: natural w_k, and p_{k,s}, p_{k,s'}, stacked as ``units`` (N, R, K, C)."""

    units: FloatArray

    @property
    def natural(self) -> FloatArray:
        """w_k: the law of a natural pull's cell, (N or 1, K, C)."""
        return self.units[:, 0]

    @property
    def difference(self) -> FloatArray:
        """d_k = p_{k,s} − p_{k,s'}."""
        return gap_of(self.units[:, 1:], axis=1)


@dataclass(frozen=True)
class _Products:
    """What the evidence against all events has in common, whatever the counts: products of w, d and the answers' w_b."""

    events: Alternatives
    rows: FloatArray
    """w_k, then d_k: (N or 1, 2K, C)."""
    squares: FloatArray
    """w_k², w_k d_k, d_k²: (N or 1, 3K, C)."""
    answers: FloatArray
    """w_b of each draw's answer, (N, D, C); 0 where no arm is fair."""

    @classmethod
    def of(cls, laws: Laws, events: Alternatives) -> _Products:
        w, d = laws.natural, laws.difference
        where = np.arange(len(events.best))[:, None] if len(w) > 1 else 0
        answers = np.where((events.best == Code.NONE)[..., None], 0.0, w[where, np.maximum(events.best, 0)])
        return cls(events, np.concatenate([w, d], axis=1), np.concatenate([w * w, w * d, d * d], axis=1), answers)

    def gradient(self, counts: FloatArray, noise: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See `evidence_gradient`."""
        events, wb, K = self.events, self.answers, self.events.gap.shape[2]
        spread = noise / counts  # v_c / n_c: the variance of θ_c, the metric in which moves are measured
        # G_ij = Σ_c a_i a_j v/n with a_1 = w_k − w_b and a_2 = ± d_k, multiplied out: no array of (draws, arms, cells) is made
        ww, wd, dd = np.split(_times(self.squares, spread), 3, axis=1)
        scaled = wb * spread[:, None]
        across = scaled @ self.rows.transpose(0, 2, 1)  # w_b against every w_k, then every d_k
        own = (scaled * wb).sum(axis=2)[:, :, None]
        G11 = np.maximum(ww[:, None] - 2.0 * across[..., :K] + own, 0.0)  # nearly equal numbers may end just below 0
        G12 = events.sign * (wd[:, None] - across[..., K:])
        value, lam1, lam2 = project(G11, G12, dd[:, None], events.outcome, events.gap)
        possible = np.isfinite(value)  # an event that no truth allows needs no pulls
        lam1, lam2 = np.where(possible, lam1, 0.0), np.where(possible, lam2 * events.sign, 0.0)
        # d/dn of (P5): the events' own gradients ½ δ²/v, weighted by how much each still matters
        weight = _softmin(value)
        first, both = weight * lam1**2, weight * lam1 * lam2
        # Σ_e weight (lam1 (w_k − w_b) + lam2 d_k)², multiplied out
        along = np.concatenate([first.sum(axis=1), 2.0 * both.sum(axis=1), (weight * lam2**2).sum(axis=1)], axis=1)
        total = _combined(along, self.squares)
        against = np.concatenate([first, both], axis=2) @ self.rows
        total += (wb * (wb * first.sum(axis=2)[..., None] - 2.0 * against)).sum(axis=1)
        # δ_c = (v_c/n_c)(…)_c, so ½ δ_c²/v_c = ½ (…)² (v/n)² / v; rounding may leave a sum of squares below 0
        return value, 0.5 * np.maximum(total, 0.0) * spread**2 / noise


def _times(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """(N or 1, M, C) times (N, C): (N, M)."""
    return np.asarray(vector @ matrix[0].T if len(matrix) == 1 else np.matmul(matrix, vector[:, :, None])[:, :, 0])


def _combined(weights: FloatArray, matrix: FloatArray) -> FloatArray:
    """Rows of (N or 1, M, C) summed with weights (N, M): (N, C)."""
    return np.asarray(weights @ matrix[0] if len(matrix) == 1 else np.matmul(weights[:, None], matrix)[:, 0])


def _softmin(value: FloatArray) -> FloatArray:
    """exp(−value) over its sum in each replicate; 0 where all are infinite."""
    flat = value.reshape(len(value), -1)
    nearest = flat.min(axis=1, keepdims=True)  # evidence runs into the thousands: exp of differences alone
    weight = np.exp(np.where(np.isfinite(nearest), nearest, 0.0) - flat)
    return np.asarray((weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-300)).reshape(value.shape))


def evidence_gradient(
    counts: FloatArray, noise: FloatArray, laws: Laws, events: Alternatives
) -> tuple[FloatArray, FloatArray]:
    """Γ_e(counts), (N, D, K), and the gradient of −log Σ_e exp(−Γ_e) with respect to the counts, (N, C).

    Γ_e = min ½ Σ_c n_c δ_c²/v_c over the δ of the event; its derivative is ½ δ_c²/v_c at the minimum.
    """
    return _Products.of(laws, events).gradient(counts, noise)


def plan_pulls(
    counts: FloatArray,
    noise: FloatArray,
    laws: Laws,
    events: Alternatives,
    pulls: FloatArray,
    costs: FloatArray,
    average: FloatArray,
    steps: int = STEPS,
) -> FloatArray:
    """The remaining ``pulls`` (N,) divided among the units, (N, R, K), at an average cost of at most ``average`` (N,).

    ``counts`` (N, C) are the rows so far plus the prior's; ``costs`` (R, K).
    """
    units = laws.units.reshape(laws.units.shape[0], -1, laws.units.shape[-1])
    products, flat = _Products.of(laws, events), costs.ravel()
    x = np.zeros((len(counts), len(flat)))
    expected = np.zeros_like(counts)
    # Frank–Wolfe for (P5): each step moves toward the mix of units that gains most by the gradient. Every iterate is a plan
    # within the cost, and the cells' expected rows move along with it, so that they need not be summed over units again
    for step in range(steps):
        _, gradient = products.gradient(counts + pulls[:, None] * expected, noise)
        vertex = affordable_mix(_times(units, gradient), flat, average)
        move = 2.0 / (step + 2.0)  # the first step is whole: the start, no pulls at all, is not a plan
        x = (1.0 - move) * x + move * vertex
        expected = (1.0 - move) * expected + move * _combined(vertex, units)
    return np.asarray((x * pulls[:, None]).reshape(len(counts), *costs.shape))
