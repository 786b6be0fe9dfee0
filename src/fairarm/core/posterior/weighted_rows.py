"""The mean of weighted rows and its error: where weights are cut, sums over rows, and a law that is as skewed as they are.

A row gives ψ = d + c (Y − m̂) to the mean of an arm, with its weight w cut to c = min(w, τ), d the mean of m̂ over what
the arm would decide. All that is kept of the rows are sums, so that parts of a log may be summed apart and added.

Axes: K arms; one group at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.core.types import FloatArray, IntArray

UNSEEN_ROWS = 0.5
"""Rows of typical large size that are counted besides those that came: where an outcome is rare, most of its variance is in
rows that have not come."""
MOST_SKEW = 2.0 * np.sqrt(2.0)
"""Of the law that is drawn from: that of half an event."""
FEW_ROWS = 8.0
"""Sampling variances are taken (1 + 8/rows) times as large: the error of m̂ is in no formula."""

HALVINGS = 12
"""Of the search for the weights that may lie above the cut."""


def least_error_cut(weights: FloatArray, count: IntArray, rows: float) -> FloatArray:
    """τ of each arm, (K,), from weights (K, n) of a sample of its ``rows``: the one with the least expected squared error.

    What is cut off is left to m̂, which may be wrong by as much as an outcome varies, σ. The squared error is σ² Σ min(w, τ)² / n²
    by chance and σ² (Σ (w − τ)₊ / n)² by that. It is least at τ = Σ (w − τ)₊, so that only the largest few are cut; a weight of 1
    never is, so that an arm that made the rows has their mean. No outcome enters: a cut that avoids rows because of their
    outcome would be biased.
    """
    factor = rows / max(float(count.sum()), 1.0)
    held = np.asarray(factor * count, dtype=np.float64)
    return np.array([_least_error_cut(w, held) for w in weights])


def _least_error_cut(w: FloatArray, count: FloatArray) -> float:
    """Of one arm; ``count``: the rows of the log that each row of the sample stands for."""
    low, high = 1.0, float(w.max(initial=1.0))
    for _ in range(HALVINGS):  # weights below a number that τ is not below play no part, and need not be sorted
        middle = 0.5 * (low + high)
        if float(count @ np.maximum(w - middle, 0.0)) < middle:
            high = middle
            continue
        low, above = middle, np.flatnonzero(w > middle)
        w, count = w[above], count[above]
    order = np.argsort(-w, kind="stable")
    held = count[order]
    # (R3): with the j largest above τ it is τ = Σ w − jτ; τ is the largest of these solutions, as (w − τ)₊ is never below w − τ
    return float((np.cumsum(held * w[order]) / (1.0 + np.cumsum(held))).max(initial=1.0))


@dataclass
class RowSums:
    """Sums over the rows of one group, as `RowTotals` adds them up."""

    rows: float
    first: FloatArray
    second: FloatArray
    third: FloatArray
    """Σ ψ, (K,), Σ ψψᵀ, (K, K), and Σ ψ³, (K,), of ψ less a number that is the same for all rows."""
    cut: FloatArray
    """Σ (w − c), Σ c², Σ c³, (3, K)."""
    plain: FloatArray
    """Σ w, Σ w², Σ wY, Σ w²Y, Σ w²Y², (5, K): weights as they are."""
    largest: FloatArray
    """The largest weight, (K,)."""

    @property
    def mean(self) -> FloatArray:
        """Of ψ, less the same number, (K,)."""
        return np.asarray(self.first / self.rows)

    def missed(self, jump: Jump) -> FloatArray:
        """The sd of what is cut off and left to m̂, (K,)."""
        square = self.cut[1]
        own = np.diag(self.second) - self.rows * self.mean**2 + UNSEEN_ROWS * self._typical**2 * jump.size**2
        noise = np.divide(np.maximum(own, 0.0), square, out=np.zeros_like(square), where=square > 0)
        return np.asarray(np.sqrt(noise) * self.cut[0] / self.rows)  # (R4)

    @property
    def _typical(self) -> FloatArray:
        """The weight of a row as far as it moves the mean: Σc³/Σc², between the average and the largest, (K,)."""
        _, square, cube = self.cut
        return np.asarray(np.divide(cube, square, out=np.zeros_like(cube), where=square > 0))

    def error(self, jump: Jump) -> MeanError:
        """The error of the mean; ``jump``: how large the outcomes' own deviations are."""
        n, mean = self.rows, self.mean
        covariance = self.second - n * np.outer(mean, mean)
        third = self.third - 3.0 * mean * np.diag(self.second) + 2.0 * n * mean**3
        typical = self._typical
        unseen = UNSEEN_ROWS * (typical * jump.size) ** 2
        own = np.maximum(np.diag(covariance), 0.0) + unseen
        third = third + unseen * typical * jump.skew
        # (R5)
        widened = (1.0 + FEW_ROWS / n) / (n * max(n - 1.0, 1.0))
        spread = np.sqrt(own)
        skew = np.divide(third, spread**3, out=np.zeros_like(third), where=own > 0)
        return MeanError(np.sqrt(own * widened), skew, _root(covariance + np.diag(unseen)))


@dataclass(frozen=True)
class Jump:
    """How far an outcome lies from its prediction where it is far: E|r|³/E r² of the residuals r, E r³/E r², and E r²."""

    size: float
    skew: float
    variance: float

    @classmethod
    def of(cls, residual: FloatArray, count: IntArray) -> Jump:
        """Of residuals with counts, (n,)."""
        square = float(residual**2 @ count)
        if not square:
            return cls(0.0, 0.0, 0.0)
        third = np.stack([np.abs(residual), residual]) ** 3 @ count / square
        return cls(float(third[0]), float(third[1]), square / float(count.sum()))


@dataclass(frozen=True)
class MeanError:
    """The standard errors of K means, their skewness, and a root of their correlation (K, K)."""

    sd: FloatArray
    skew: FloatArray
    root: FloatArray

    def draw(self, rng: np.random.Generator, draws: int, freedom: float) -> FloatArray:
        """What the true means may differ by from their estimates, (draws, K); wider by √(ν/χ²_ν), ν the ``freedom``."""
        wider = np.sqrt(freedom / rng.chisquare(freedom, (draws, 1)))
        z = rng.standard_normal((draws, len(self.root))) @ self.root.T
        # (R6), Hall 1992: the law whose quantiles are the ends of second-order correct intervals has twice the estimate's own
        # skewness, and lies half of it to that side
        return np.asarray(self.sd * wider * (skewed(z, 2.0 * self.skew) + 0.5 * self.skew))


def skewed(z: FloatArray, skewness: FloatArray) -> FloatArray:
    """Standard normal numbers turned to mean 0, variance 1 and this skewness: those of a gamma law (Wilson and Hilferty 1931)."""
    g = np.clip(skewness, -MOST_SKEW, MOST_SKEW)
    small = np.abs(g) < 1e-4
    h = np.where(small, 1.0, g)
    base = np.maximum(1.0 + h * z / 6.0 - h**2 / 36.0, 0.0)
    return np.where(small, z, 2.0 / h * (base**3 - 1.0))


def _root(covariance: FloatArray) -> FloatArray:
    """A root of the correlation; a mean without variance stands apart."""
    sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale = np.where(sd > 0, sd, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
