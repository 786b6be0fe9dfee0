"""Ordinary estimators of every arm's mean from the same counted rows, side by side with their errors.

Each is a mean of terms that are linear in the outcome within a cell, ψ = a + b Y': so rows, Σ Y' and Σ Y'² by group and cell are
enough. w = P_k(v | x, t)/q is the weight of a row, m a prediction, d(x) = Σ_v P_k(v | x, t) m(x, v):

    importance      w Y'
    self-normalised w Y' over the mean of w
    plug-in         d(x), with the mean outcome of each cell
    doubly robust   d(x) + w (Y' − m), with the mean outcome of each decision, so that it differs from the plug-in
    switch          w Y' where w ≤ τ, d(x) of the other decisions (Wang, Agarwal and Dudík 2017)

Axes: K arms, G groups, X cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.core.grouping import sum_by_group
from fairarm.core.proof.log_intervals import GroupCells
from fairarm.core.types import FloatArray, IntArray

LEAST_APART = 0.5
"""The error of a difference is at least this share of the estimator's own: less is no harm."""


@dataclass(frozen=True, eq=False)
class Terms:
    """a and b of every row, (K, G, X) each."""

    a: FloatArray
    b: FloatArray

    def mean(self, seen: GroupCells) -> FloatArray:
        """Of all rows of a group, (K, G)."""
        return np.asarray(
            (self.a * seen.rows + self.b * seen.sums).sum(axis=2) / np.maximum(seen.rows.sum(axis=1), 1.0)
        )

    def variance(self, seen: GroupCells) -> FloatArray:
        """Of that mean, (K, G)."""
        n = np.maximum(seen.rows.sum(axis=1), 1.0)
        square = self.a**2 * seen.rows + 2 * self.a * self.b * seen.sums + self.b**2 * seen.squares
        return np.asarray(np.maximum(square.sum(axis=2) / n - self.mean(seen) ** 2, 0.0) / n)


@dataclass(frozen=True, eq=False)
class Estimated:
    """Of one estimator: means by group, (K, G), and terms whose spread is its error."""

    means: FloatArray
    terms: Terms


@dataclass(frozen=True, eq=False)
class Weighed:
    """What the estimators are made of."""

    seen: GroupCells
    law: FloatArray
    """P_k(v | x, t) at every cell, (K, G, X)."""
    context: IntArray
    """The number of what precedes the decision, (X,)."""
    decision: IntArray
    """(X,)."""
    cut: FloatArray
    """τ of the switch, (G,)."""

    def weight(self) -> FloatArray:
        """w, (K, G, X); 0 where no logging arm decides so."""
        share = self.seen.made / np.maximum(self.seen.made.sum(axis=0), 1)
        q = np.einsum("jt,jtx->tx", share, self.law)
        return np.where(q > 0, self.law / np.where(q > 0, q, 1.0), 0.0)

    def direct(self, m: FloatArray) -> FloatArray:
        """d(x) at every cell, (K, G, X), of predictions (K or 1, G, X)."""
        contexts = int(self.context.max()) + 1
        places = sum_by_group(self.law, self.context, contexts)[..., self.context]
        total = sum_by_group(np.ascontiguousarray(self.law * m), self.context, contexts)[..., self.context]
        # a decision stands at as many cells as there are values of what follows from it
        return np.divide(total, places, out=np.zeros_like(total), where=places > 0)

    def by_decision(self) -> FloatArray:
        """The mean outcome of each decision in a group, at every cell, (G, X)."""
        states = int(self.decision.max()) + 1
        rows, sums = (
            sum_by_group(part, self.decision, states)[:, self.decision] for part in (self.seen.rows, self.seen.sums)
        )
        return np.asarray((sums + 0.5) / (rows + 1.0))

    def model(self, m: FloatArray) -> Terms:
        """d(x) + w (Y' − m): what an estimate by means of cells (G, X) comes to, row by row."""
        w = self.weight()
        return Terms(self.direct(m[None]) - w * m, w)

    def estimates(self, m: FloatArray) -> dict[str, Estimated]:
        """By name, with the mean outcome of each cell m (G, X)."""
        seen, w = self.seen, self.weight()
        plain = Terms(np.zeros_like(w), w)
        mean_weight = Terms(w, np.zeros_like(w)).mean(seen)
        ratio = plain.mean(seen) / np.where(mean_weight > 0, mean_weight, 1.0)
        normal = w / np.where(mean_weight > 0, mean_weight, 1.0)[..., None]
        robust, within = self.model(self.by_decision()), w <= self.cut[:, None]
        switch = Terms(self.direct(np.where(within, 0.0, m)), np.where(within, w, 0.0))
        direct = Terms(self.direct(m[None]), np.zeros_like(w))
        return {
            "importance": Estimated(plain.mean(seen), plain),
            "self-normalised": Estimated(ratio, Terms(-normal * ratio[..., None], normal)),
            "plug-in": Estimated(direct.mean(seen), self.model(m)),
            "doubly robust": Estimated(robust.mean(seen), robust),
            "switch": Estimated(switch.mean(seen), switch),
        }


def errors(mixes: FloatArray, found: Estimated, seen: GroupCells) -> FloatArray:
    """Standard errors of Σ_t f_t μ_{k,t}, (K, F), of mixes f (F, G)."""
    return np.asarray(np.sqrt(found.terms.variance(seen) @ (mixes**2).T))


def paired_errors(
    mixes: FloatArray, found: Estimated, slope: FloatArray, theta: FloatArray, seen: GroupCells
) -> FloatArray:
    """Standard errors of the difference from an estimate by means of cells, (K, F).

    That one moves by slope · (Y' − θ)/N with every row: ``slope`` (K, F, G, X), of all N rows whatever their group, and θ (G, X).
    """
    n, N = seen.rows.sum(axis=1), seen.rows.sum()
    part = (mixes * N / np.maximum(n, 1.0))[None, :, :, None]
    a, b = part * found.terms.a[:, None] + slope * theta, part * found.terms.b[:, None] - slope
    total = (a * seen.rows + b * seen.sums).sum(axis=-1)
    square = (a**2 * seen.rows + 2 * a * b * seen.sums + b**2 * seen.squares).sum(axis=-1)
    spread = np.maximum(square - total**2 / np.maximum(n, 1.0), 0.0).sum(axis=-1)
    return np.asarray(np.maximum(np.sqrt(spread) / N, LEAST_APART * errors(mixes, found, seen)))
