"""Which pulls would settle the question: a convex design by Frank–Wolfe.

Over non-negative pulls x of the units u = (regime, arm), within the pulls and the cost left,

    minimise  log Σ_e exp( −Γ_e(n + Σ_u x_u p_u) )

where e runs over the events that would overturn the answer (`Alternatives`), Γ_e is the evidence against e that
counts n in the cells would give on average, concave in n, and p_u is the law of the cells under the unit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairarm.core.affordable import affordable_mix
from fairarm.core.answer import Code
from fairarm.core.design.projection import project
from fairarm.core.fairness import Rows, as_rows, best_fair_arm, gap_of
from fairarm.core.types import BoolArray, FloatArray, IntArray

STEPS = 20
"""Of Frank–Wolfe: more make the plan better by less than the noise of what it is planned for."""

BLOCK = 1 << 22
"""Numbers by arm and row, for draws or cells, that are held at once where there are several rows: 32 MiB."""


@dataclass(frozen=True)
class Alternatives:
    """For each replicate and draw of the truth, the answer b, and what each arm k would need in its outcome and in each row of
    fairness to overturn it.

    ``outcome`` g1 (N, D, K) and ``gap`` g2 (N, D, K, J): k overturns b by δ with (w_k − w_b)·δ ≥ g1 and sign · α_kj·δ ≥ g2 for
    every row j, and b falls by itself where sign · α_bj·δ ≥ g2 for one of them. A need below 0 is room that the move may use up:
    a fair k must still be fair, a better one still better. −inf is no condition, where k is b or no arm is fair. A row with two
    ends counts by the one that is nearer to its value.
    """

    best: IntArray
    """(N, D); Code.NONE where no arm is fair."""
    outcome: FloatArray
    gap: FloatArray
    sign: FloatArray
    """(N, D, K, J): the direction in which α_kj·θ must move."""

    @property
    def own(self) -> BoolArray:
        """Which arm is the answer, (N, D, K)."""
        return np.asarray(np.arange(self.outcome.shape[2]) == self.best[..., None])

    def of(self, replicates: slice) -> Alternatives:
        """Only these replicates."""
        here = replicates
        return Alternatives(self.best[here], self.outcome[here], self.gap[here], self.sign[here])


def alternatives(outcomes: FloatArray, values: FloatArray, asked: Rows | float) -> Alternatives:
    """The answer in each draw, and what would overturn it: outcomes (N, D, K) and values of rows (N, D, K, J), or gaps (N, D, K)
    and a tolerance."""
    values, rows = as_rows(values, asked)
    best = best_fair_arm(outcomes, values, rows)
    top = np.take_along_axis(outcomes, np.maximum(best, 0)[..., None], axis=-1)
    none = (best == Code.NONE)[..., None]
    own = np.arange(outcomes.shape[-1]) == best[..., None]
    # where none is fair an arm only has to become fair; the answer itself only has to become unfair: no row on outcomes
    lower = np.where(none | own, -np.inf, top - outcomes)
    # an arm must come in by the nearer end, a fair answer leaves by it
    above = rows.is_above(values)
    outside = np.where(above, values - rows.high, rows.low - values)
    toward = np.where(above, -1.0, 1.0)
    mine = own[..., None]
    return Alternatives(best, lower, np.where(mine, -outside, outside), np.where(mine, -toward, toward))


GAP = Rows.gap(np.inf)
"""What is asked about where laws come alone: the gap of two groups."""


@dataclass(frozen=True)
class Laws:
    """The cells' laws, natural w_k and forced p_{k,t}, stacked as ``units`` (N or 1, R, K, C), and the rows asked about."""

    units: FloatArray
    asked: Rows = GAP
    worlds: FloatArray | None = None
    """The laws of the worlds that rows are about, (N or 1, K, W, C); None where these are the forced units."""

    @property
    def natural(self) -> FloatArray:
        """w_k: the law of a natural pull's cell, (N or 1, K, C)."""
        return self.units[:, 0]

    @property
    def difference(self) -> FloatArray:
        """d_k = p_{k,s} − p_{k,s'} of two groups, (N or 1, K, C)."""
        return gap_of(self.units[:, 1:], axis=1)

    def coefficients(self) -> FloatArray:
        """α_kj with α_kj·θ the value of row j, (N or 1, K, J, C)."""
        worlds = self.units[:, 1:].transpose(0, 2, 1, 3) if self.worlds is None else self.worlds
        return self.asked.coefficients(worlds, self.natural)

    def of(self, replicates: slice) -> Laws:
        """Only these replicates; all have the same where there is but one law."""
        if len(self.units) == 1:
            return self
        worlds = None if self.worlds is None else self.worlds[replicates]
        return replace(self, units=self.units[replicates], worlds=worlds)


@dataclass(frozen=True)
class _Products:
    """What the evidence against all events has in common, whatever the counts: products of w, α and the answers' w_b."""

    events: Alternatives
    rows: FloatArray
    """w_k, then α_kj: (N or 1, K + KJ, C)."""
    squares: FloatArray
    """w_k², w_k α_kj, α_kj²: (N or 1, K + 2KJ, C)."""
    answers: FloatArray
    """w_b of each draw's answer, (N, D, C); 0 where no arm is fair."""

    @classmethod
    def of(cls, laws: Laws, events: Alternatives) -> _Products:
        w, alpha = laws.natural, laws.coefficients()
        where = np.arange(len(events.best))[:, None] if len(w) > 1 else 0
        answers = np.where((events.best == Code.NONE)[..., None], 0.0, w[where, np.maximum(events.best, 0)])
        flat = (len(alpha), -1, alpha.shape[-1])
        across, square = ((part * alpha).reshape(flat) for part in (w[:, :, None], alpha))
        rows = np.concatenate([w, alpha.reshape(flat)], axis=1)
        return cls(events, rows, np.concatenate([w * w, across, square], axis=1), answers)

    def gradient(self, counts: FloatArray, noise: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Γ_e(counts), (N, D, K − 1 + J), and the gradient of −log Σ_e exp(−Γ_e) with respect to the counts, (N, C).

        Γ_e = min ½ Σ_c n_c δ_c²/v_c over the δ of the event; its derivative is ½ δ_c²/v_c at the minimum. An arm that has to meet
        several rows counts by its outcome and the one of them with which that is largest: at most the least of all at once.
        """
        events, wb, (K, J) = self.events, self.answers, self.events.gap.shape[2:]
        spread = noise / counts  # v_c / n_c: the variance of θ_c, the metric in which moves are measured
        # G_ij = Σ_c a_i a_j v/n with a_1 = w_k − w_b and a_2 = ± α_kj, multiplied out: no array of (draws, arms, cells) is made
        ww, wd, dd = np.split(_times(self.squares, spread), (K, K + K * J), axis=1)
        scaled = wb * spread[:, None]
        across = scaled @ self.rows.transpose(0, 2, 1)  # w_b against every w_k, then every α_kj
        own = (scaled * wb).sum(axis=2)[:, :, None]
        G11 = np.maximum(ww[:, None] - 2.0 * across[..., :K] + own, 0.0)  # nearly equal numbers may end just below 0
        by_row = (*across.shape[:2], K, J)
        G12 = events.sign * (wd[:, None] - across[..., K:]).reshape(by_row)
        G22 = dd.reshape(len(dd), 1, K, J)
        each, lam1, lam2 = project(G11[..., None], G12, G22, events.outcome[..., None], events.gap)
        value, weight = _of_events(each, events)
        possible = np.isfinite(each)  # an event that no truth allows needs no pulls
        lam1, lam2 = np.where(possible, lam1, 0.0), np.where(possible, lam2 * events.sign, 0.0)
        # d/dn of (P5): the events' own gradients ½ δ²/v, weighted by how much each still matters
        first, both = (weight * lam1**2).sum(axis=3), (weight * lam1 * lam2).reshape(*by_row[:2], -1)
        # Σ_e weight (lam1 (w_k − w_b) + lam2 α_kj)², multiplied out
        last = (weight * lam2**2).reshape(*by_row[:2], -1).sum(axis=1)
        along = np.concatenate([first.sum(axis=1), 2.0 * both.sum(axis=1), last], axis=1)
        total = _combined(along, self.squares)
        against = np.concatenate([first, both], axis=2) @ self.rows
        total += (wb * (wb * first.sum(axis=2)[..., None] - 2.0 * against)).sum(axis=1)
        # δ_c = (v_c/n_c)(…)_c, so ½ δ_c²/v_c = ½ (…)² (v/n)² / v; rounding may leave a sum of squares below 0
        return value, 0.5 * np.maximum(total, 0.0) * spread**2 / noise


def _of_events(each: FloatArray, events: Alternatives) -> tuple[FloatArray, FloatArray]:
    """Γ of the events, (N, D, K − 1 + J), from that of every arm and row (N, D, K, J), and how much each of these matters.

    An arm has to meet all rows, and the one that takes most stands for them. The answer falls by any of its rows: the first
    has the answer's own place among the arms, the others come last.
    """
    J, own = each.shape[3], events.own
    hardest = np.where(own, 0, np.argmax(each, axis=3))[..., None]
    value = np.take_along_axis(each, hardest, axis=3)[..., 0]
    if J == 1:
        return value, _softmin(value)[..., None]
    K, answered = value.shape[2], (events.best != Code.NONE)[..., None]
    at = np.maximum(events.best, 0)[..., None, None]
    falls = np.where(answered, np.take_along_axis(each, at, axis=2)[:, :, 0, 1:], np.inf)
    value = np.concatenate([value, falls], axis=2)
    weight, spread = _softmin(value), np.zeros(each.shape)
    np.put_along_axis(spread, hardest, weight[..., :K, None], axis=3)
    spread[..., 1:] += np.where(own[..., None], weight[:, :, None, K:], 0.0)
    return value, spread


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
    N, D, K, J = events.gap.shape
    size = max(1, BLOCK // (K * J * max(D, counts.shape[1])))
    if J > 1 and size < N:  # replicates do not depend on each other
        parts = [slice(start, start + size) for start in range(0, N, size)]
        made = [
            plan_pulls(counts[p], noise[p], laws.of(p), events.of(p), pulls[p], costs, average[p], steps) for p in parts
        ]
        return np.concatenate(made)
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
