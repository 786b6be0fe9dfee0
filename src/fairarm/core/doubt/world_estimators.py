"""Ordinary estimators of the means of worlds from the same counted rows, where a problem is not plain.

All rows serve all worlds: a row in cell c counts w = p_{k,ω}(c)/q(c), q the law of the cells under all pulls made. What precedes the
decision has the law of the world too, so that a prediction m enters as Σ_c p_{k,ω}(c) m(c). The terms are those of `other_estimators`.

Axes: K arms, W worlds, C cells, F numbers that mix worlds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.core.doubt.other_estimators import LEAST_APART
from fairarm.core.grouping import sum_by_group
from fairarm.core.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class CellRows:
    """Rows, Σ Y' and Σ Y'² by cell, (C,) each."""

    rows: FloatArray
    sums: FloatArray
    squares: FloatArray

    def mean(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Of a + b Y' over all rows, (..., C) -> (...,)."""
        return np.asarray((a * self.rows + b * self.sums).sum(axis=-1) / max(self.rows.sum(), 1.0))

    def error(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """The standard error of that mean."""
        n = max(float(self.rows.sum()), 1.0)
        square = (a**2 * self.rows + 2 * a * b * self.sums + b**2 * self.squares).sum(axis=-1) / n
        return np.asarray(np.sqrt(np.maximum(square - self.mean(a, b) ** 2, 0.0) / n))


def plain_means(rows: FloatArray, sums: FloatArray, at: IntArray) -> FloatArray:
    """The mean of all rows with the same number ``at``, at every cell; that of all rows where there are none. All of one shape."""
    size = int(at.max()) + 1
    n, total = (sum_by_group(part.ravel(), at.ravel(), size) for part in (rows, sums))
    found = np.divide(total, n, out=np.full(size, sums.sum() / max(rows.sum(), 1.0)), where=n > 0)
    return np.asarray(found[at])


@dataclass(frozen=True, eq=False)
class OfWorlds:
    """One estimator: means (K, W), and a and b of its rows, (K, W, C) each; ``shared`` is the part of a that moves with the law of
    what precedes the decision, which all estimators have alike."""

    means: FloatArray
    a: FloatArray
    b: FloatArray
    shared: FloatArray | float = 0.0

    def mixed(self, mixes: FloatArray) -> FloatArray:
        """(K, F)."""
        return np.asarray(self.means @ mixes.T)

    def errors(self, mixes: FloatArray, seen: CellRows) -> FloatArray:
        """Standard errors of those, (K, F)."""
        return seen.error(mixes @ (self.a + self.shared), mixes @ self.b)

    def paired_errors(self, mixes: FloatArray, slope: FloatArray, theta: FloatArray, seen: CellRows) -> FloatArray:
        """Those of the difference from an estimate that moves by slope · (Y' − θ) with every row: ``slope`` (K, F, C), θ (C,)."""
        apart = seen.error(mixes @ self.a + slope * theta, mixes @ self.b - slope)
        return np.asarray(np.maximum(apart, LEAST_APART * self.errors(mixes, seen)))


@dataclass(frozen=True, eq=False)
class WeighedWorlds:
    """What the estimators are made of."""

    seen: CellRows
    law: FloatArray
    """p_{k,ω}(c), (K, W, C)."""
    made: FloatArray
    """q(c), (C,)."""
    context: IntArray
    """The number of what precedes the decision, (C,)."""
    decision: IntArray
    """(C,)."""
    cut: float
    """τ of the switch."""

    def _over(self, law: FloatArray, below: FloatArray) -> FloatArray:
        return np.divide(law, below, out=np.zeros(np.broadcast_shapes(law.shape, below.shape)), where=below > 0)

    def _direct(self, m: FloatArray) -> FloatArray:
        """Σ over the decisions of p m, over q of what precedes them, at every cell, (K, W, C)."""
        contexts = int(self.context.max()) + 1
        total = sum_by_group(np.ascontiguousarray(self.law * m), self.context, contexts)
        met = sum_by_group(self.made[None], self.context, contexts)[0]
        return self._over(total, met)[..., self.context]

    def _model(self, m: FloatArray, corrected: bool) -> OfWorlds:
        """By means of cells m (C,); ``corrected`` by the rows: doubly robust."""
        w = self._over(self.law, self.made)
        means = self.law @ m + (self.seen.mean(-w * m, w) if corrected else 0.0)
        shared = self._direct(m) - means[..., None] * self._direct(np.ones_like(m))
        return OfWorlds(means, -w * m, w, shared)

    def estimates(self) -> dict[str, OfWorlds]:
        """By name."""
        seen, w = self.seen, self._over(self.law, self.made)
        by_decision = plain_means(seen.rows, seen.sums, self.decision)
        by_cell = np.divide(seen.sums, seen.rows, out=by_decision.copy(), where=seen.rows > 0)
        whole = seen.mean(w, np.zeros_like(w))[..., None]
        normal = w / np.where(whole > 0, whole, 1.0)
        ratio = seen.mean(np.zeros_like(w), normal)
        within = np.where(w <= self.cut, w, 0.0)
        beyond = np.where(w <= self.cut, 0.0, self.law)
        return {
            "importance": OfWorlds(seen.mean(np.zeros_like(w), w), np.zeros_like(w), w),
            "self-normalised": OfWorlds(ratio, -normal * ratio[..., None], normal),
            "plug-in": self._model(by_cell, corrected=False),
            "doubly robust": self._model(by_decision, corrected=True),
            "switch": OfWorlds(seen.mean(np.zeros_like(w), within) + beyond @ by_cell, np.zeros_like(w), within),
        }
