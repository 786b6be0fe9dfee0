"""Doubly robust estimates of every arm's mean in every group, with the mixture of all pulls as the denominator.

    w_{k,t} = L[k, t] / Σ_{j,u} (n_{j,u}/N) L[j, u]                                            (the balance heuristic)
    μ̂_{k,t} = Σ_x p̂_{k,t}(x) m̂(x)  +  (1/N) Σ_i min(w_{k,t}(i), τ) (Y_i − m̂(i))

A *point* x is a context z with the columns summed or integrated out given z; p̂_{k,t}(x) ∝ ĥ(z) L[k, t](x) vol(x). The
first term uses the known law of the arms, the second puts right what the regression m̂ got wrong. A weight above
τ = N/10 belongs to a region that so few rows reach that the second term would be nothing but noise: there m̂ is kept,
and the mass so *lost* is what the arm's mean may be wrong by.

Axes: K arms, G groups, Z contexts, P points a context, I lines. Where S is part of what is unknown (S → Y, or a child's
mechanism is not declared) only rows of group t speak for group t, and the denominator runs over them alone
(``by_group``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from fairarm.core.types import FloatArray, IntArray

CLIP_SHARE, LEAST_CLIP = 0.1, 4.0
"""τ = N/10: a region with all of an arm's mass has fewer than 10 rows where weights are above it."""

PRIOR_SD = 1.0 / math.sqrt(12.0)
"""Of a mean about which nothing is known: that of a uniform number."""
PRIOR_ROWS = 4.0
"""Rows of a uniform outcome with which the outcomes' variance is pooled."""
LEVEL_SD, REGION_SD = 0.87, 0.87
"""Of what is unknown, relative to that: a level common to all, and the deviation of each region (or arm)."""

EXACT_WIDTH = 512
"""Up to so many numbers (K · G) their covariance is kept; above, sums of its rows with random signs."""
SKETCH = 2048
"""Such sums: variances are then right to √(2/2048) = 3 %, sds to 1.6 %."""


def prior_sd(outcome: FloatArray, count: IntArray, real: bool) -> float:
    """The sd of a mean about which nothing is known: no more than the outcomes (n,) themselves vary, and of a ``real`` one just that."""
    rows = max(int(count.sum()), 1)
    mean = float(count @ outcome) / rows
    square = float(count @ (outcome - mean) ** 2)
    if real and outcome.size and np.ptp(outcome) > 0:
        return math.sqrt(square / (rows - 1))
    return min(PRIOR_SD, math.sqrt((square + PRIOR_ROWS * PRIOR_SD**2) / (rows + PRIOR_ROWS)))


def clip_levels(rows: IntArray, by_group: bool) -> FloatArray:
    """τ of each group's weights, (G,), for ``rows`` n_t, (G,).

    Weights within one group are N/n_t on average, not 1, and are measured against the rows of that group.
    """
    total = float(rows.sum())
    if not by_group:
        return np.full(len(rows), max(CLIP_SHARE * total, LEAST_CLIP))
    # N/n_t times the level of a sample of n_t rows: weights of a group that is rare are larger by that factor
    seen = np.maximum(rows, 1)
    return np.asarray(np.maximum(CLIP_SHARE * seen, LEAST_CLIP) * max(total, 1.0) / seen)


def mixture(density: FloatArray, made: IntArray, by_group: bool) -> FloatArray:
    """Σ_{j,u} (n_{j,u}/N) L[j, u], or with ``by_group`` Σ_j (n_{j,t}/N) L[j, t] for each t: (1 or G, …).

    ``density`` (K, G, …), ``made`` n_{j,t} (K, G).
    """
    shares = made / max(int(made.sum()), 1)
    if by_group:
        return np.asarray(np.einsum("kt,kt...->t...", shares, density))
    return np.asarray(np.tensordot(shares, density, axes=2))[None]


def clipped_weights(density: FloatArray, mixed: FloatArray, levels: FloatArray) -> tuple[FloatArray, FloatArray]:
    """w = L / mixture, and min(w, τ), both (K, G, …); 0/0 is 0, a positive L over 0 is +inf before clipping."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        weights = np.where(density > 0, density / mixed, 0.0)  # (P8)
    top = levels.reshape((-1,) + (1,) * (density.ndim - 2))
    return weights, np.minimum(weights, top)


def kept_share(weights: FloatArray, clipped: FloatArray) -> FloatArray:
    """min(w, τ)/w: the part of a point's mass that the rows speak for; 1 where there is no mass."""
    return np.divide(clipped, weights, out=np.ones_like(weights), where=weights > 0)


@dataclass
class Spread:
    """The covariance Σ a aᵀ of vectors a (width,), built block by block, and a root of it to draw with.

    Exact up to 512 numbers. Wider ones are kept as they come up to 2 048 of them, then summed with random signs into as
    many buckets: unbiased, and no matrix of width² is made.
    """

    width: int
    seed: int = 0
    _total: FloatArray = field(init=False)
    _added: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        rows = self.width if self.width <= EXACT_WIDTH else SKETCH
        self._total = np.zeros((rows, self.width))
        self._rng = np.random.default_rng([0x5EED, self.seed])

    def add(self, vectors: FloatArray) -> None:
        """Vectors (n, width)."""
        from scipy.sparse import csr_array

        if self.width <= EXACT_WIDTH:
            self._total += vectors.T @ vectors
            return
        # the first rows have a bucket each: with few of them the sketch is exact
        whole = min(max(SKETCH - self._added, 0), len(vectors))
        self._total[self._added : self._added + whole] = vectors[:whole]
        rest = vectors[whole:]
        if len(rest):
            bucket = self._rng.integers(SKETCH, size=len(rest))
            # signs make the cross products of rows in one bucket cancel on average, so that Σ a aᵀ is unbiased
            sign = self._rng.choice([-1.0, 1.0], size=len(rest))
            self._total += csr_array((sign, (bucket, np.arange(len(rest)))), shape=(SKETCH, len(rest))) @ rest
        self._added += whole

    def root(self) -> FloatArray:
        """Rows whose products sum to the covariance, (m, width): ξ·root has it for standard normal ξ."""
        if self.width > EXACT_WIDTH:
            return self._total[: self._added]
        values, directions = np.linalg.eigh(self._total)
        # directions without variance would cost a draw each, and rounding makes some of them negative
        kept = values > max(float(values[-1]), 0.0) * 1e-14
        return np.asarray((directions[:, kept] * np.sqrt(values[kept])).T)


@dataclass(frozen=True)
class ContextTerm:
    """The first term: self-normalised means over contexts, μ1 = Σ_z h(z) a(z) / Σ_z h(z) e(z).

    ``integral`` a = Σ L m̂ vol and ``mass`` e = Σ L vol over the points of each context, (K, G, Z). ``law`` h, (1 or
    G, Z): of each group for itself where a child's mechanism is not declared.
    """

    integral: FloatArray
    mass: FloatArray
    law: FloatArray

    @property
    def total(self) -> FloatArray:
        """Σ_x h L before normalising, (K, G): p̂ = h L / total."""
        total = (self.mass * self.law).sum(axis=2)
        return np.where(total > 0, total, 1.0)

    @property
    def mean(self) -> FloatArray:
        """μ1, (K, G)."""
        return np.asarray((self.integral * self.law).sum(axis=2) / self.total)  # the first term of (P9)

    def influence(self, exposure: FloatArray, rows: IntArray, g: int) -> FloatArray:
        """What a row of group g in each context moves N·μ1 by, (Z, K·G), where h(z) = (n_z/N) / exposure is estimated.

        ``rows`` (G, Z). Given its group a row's context is one draw, so values are centred over the rows of the group.
        With a law by group only that group's rows move its mean, unless it has none and borrows all.
        """
        # the derivative of a ratio: (a − μ1 e) / total, by how much one more row in z raises h(z)
        raw = (self.integral - self.mean[:, :, None] * self.mass) / np.where(exposure > 0, exposure, 1.0)
        raw = raw / self.total[:, :, None]
        if len(self.law) > 1 and rows.sum(axis=1).all():
            raw = raw * (np.arange(raw.shape[1]) == g)[:, None]
        n = int(rows[g].sum())
        if n > 1:
            raw = (raw - (raw * rows[g]).sum(axis=2, keepdims=True) / n) * np.sqrt(n / (n - 1))
        return np.asarray(raw.reshape(-1, raw.shape[2]).T)


def unknown_apart(lost: FloatArray, differ: FloatArray, scale: float) -> FloatArray:
    """Normal deviations of ``lost`` mass (K, G) whose place is not known: a part common to all, one of each arm, and one
    of each arm and group as far as its groups ``differ`` (K,)."""
    K, G = lost.shape
    arm, each = np.zeros((K, K, G)), np.zeros((K, G, K, G))
    arm[np.arange(K), np.arange(K)] = lost
    k, t = np.indices((K, G))
    each[k, t, k, t] = lost * differ[:, None]
    # the variance of a region's own deviation, half of it common to the arm's groups, so that gaps are less uncertain than means
    half = REGION_SD / math.sqrt(2.0)
    parts = [LEVEL_SD * lost.reshape(1, -1), half * arm.reshape(K, -1), half * each.reshape(K * G, -1)]
    return np.concatenate(parts) * PRIOR_SD * scale


def unknown_by_region(lost: FloatArray, own_cells: bool, scale: float) -> FloatArray:
    """The same of mass whose region of V is known, (K, G, regions): a common level and a deviation of each region,
    shared by every arm and group that goes there; with S → Y each group has its own."""
    K, G, _ = lost.shape
    level, region = lost.sum(axis=2), np.moveaxis(lost, 2, 0)
    both = np.concatenate([LEVEL_SD * level[None], REGION_SD * region])
    if own_cells:
        both = np.concatenate([both * (np.arange(G) == t) for t in range(G)])
    return np.asarray(both.reshape(-1, K * G) * PRIOR_SD * scale)
