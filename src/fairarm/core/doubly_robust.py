"""Doubly robust estimates of every arm's mean in every group, with the mixture of all pulls as the denominator.

    w_{k,t} = L[k, t] / Σ_{j,u} (n_{j,u}/N) L[j, u]                                            (the balance heuristic)
    μ̂_{k,t} = Σ_x p̂_{k,t}(x) m̂(x)  +  (1/N) Σ_i min(w_{k,t}(i), τ) (Y_i − m̂(i))

A *point* x is a context z with the columns summed or integrated out given z; p̂_{k,t}(x) ∝ ĥ(z) L[k, t](x) vol(x). The first term
uses the known law of the arms, the second puts right what the regression m̂ got wrong. A weight above τ
belongs to a region where τ or fewer rows in N are expected for all of an arm's mass: there the second term would be nothing but noise,
m̂ is kept, and the mass so *lost* is what the arm's mean may be wrong by.

Axes: K arms, G groups, Z contexts, P points a context, I lines. Where S is part of what is unknown (S → Y, or a child's mechanism
is not declared) only rows of group t speak for group t, and the denominator runs over them alone (``by_group``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fairarm.core.types import FloatArray, IntArray

CLIP_SHARE, LEAST_CLIP = 0.1, 4.0
"""τ = N/10: a region with all of an arm's mass has fewer than 10 rows where weights are above it."""

EXACT_WIDTH = 512
"""Up to so many numbers (K · G) their covariance is kept; above, sums of its rows with random signs."""
SKETCH = 2048
"""Such sums: variances are then right to √(2/2048) = 3 %, sds to 1.6 %."""


def clip_levels(rows: IntArray, by_group: bool) -> FloatArray:
    """τ of each group's weights, (G,), for ``rows`` n_t, (G,).

    Weights within one group are N/n_t on average, not 1, and are measured against the rows of that group.
    """
    total = float(rows.sum())
    if not by_group:
        return np.full(len(rows), max(CLIP_SHARE * total, LEAST_CLIP))
    seen = np.maximum(rows, 1)
    return np.asarray(np.maximum(CLIP_SHARE * seen, LEAST_CLIP) * max(total, 1.0) / seen)


def mixture(density: FloatArray, made: IntArray, by_group: bool) -> FloatArray:
    """Σ_{j,u} (n_{j,u}/N) L[j, u], or with ``by_group`` Σ_j (n_{j,t}/N) L[j, t] for each t: (1 or G, …).

    ``density`` (K, G, …), ``made`` n_{j,t} (K, G).
    """
    shares = made / max(int(made.sum()), 1)
    if by_group:
        return np.einsum("kt,kt...->t...", shares, density)
    return np.asarray(np.tensordot(shares, density, axes=2)[None])


def clipped_weights(density: FloatArray, mixed: FloatArray, levels: FloatArray) -> tuple[FloatArray, FloatArray]:
    """w = L / mixture, and min(w, τ), both (K, G, …); 0/0 is 0, a positive L over 0 is +inf before clipping."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        weights = np.where(density > 0, density / mixed, 0.0)
    top = levels.reshape((-1,) + (1,) * (density.ndim - 2))
    return weights, np.minimum(weights, top)


def kept_share(weights: FloatArray, clipped: FloatArray) -> FloatArray:
    """min(w, τ)/w: the part of a point's mass that the rows speak for; 1 where there is no mass."""
    return np.divide(clipped, weights, out=np.ones_like(weights), where=weights > 0)


@dataclass
class Spread:
    """The covariance Σ a aᵀ of vectors a (width,), built block by block and drawn from without ever factoring it badly.

    Exact up to 512 numbers. Wider ones are kept as they come up to 2 048 of them, then summed with random signs into as many
    buckets: unbiased, and no matrix of width² is made.
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
        if self.width <= EXACT_WIDTH:
            self._total += vectors.T @ vectors
            return
        whole = min(max(SKETCH - self._added, 0), len(vectors))
        self._total[self._added : self._added + whole] = vectors[:whole]
        rest = vectors[whole:]
        if len(rest):
            bucket = self._rng.integers(SKETCH, size=len(rest))
            sign = self._rng.choice([-1.0, 1.0], size=len(rest))
            np.add.at(self._total, bucket, sign[:, None] * rest)
        self._added += whole

    def root(self) -> FloatArray:
        """Rows whose products sum to the covariance, (m, width): ξ·root has it for standard normal ξ."""
        if self.width > EXACT_WIDTH:
            return self._total[: self._added]
        values, directions = np.linalg.eigh(self._total)
        kept = values > max(float(values[-1]), 0.0) * 1e-14
        return np.asarray((directions[:, kept] * np.sqrt(values[kept])).T)


@dataclass(frozen=True)
class ContextTerm:
    """The first term, Σ_x p̂_{k,t}(x) m̂(x), from the integrals of each context; (K, G)."""

    mean: FloatArray
    total: FloatArray
    """Σ_x ĥ L before normalising: p̂ = ĥ L / total."""
    influence: FloatArray | None
    """What each (group, context) adds beyond the mean, (G, Z, K, G), for counts of rows; None where the law is known."""


def context_term(
    integral: FloatArray, mass: FloatArray, law: FloatArray, exposure: FloatArray, counts: IntArray | None
) -> ContextTerm:
    """Self-normalised mean over contexts, μ1 = Σ_z h(z) a(z) / Σ_z h(z) e(z), and its influence values.

    ``integral`` a = Σ L m̂ vol and ``mass`` e = Σ L vol over the points of each context, (K, G, Z); ``law`` h (1 or G, Z).
    ``exposure`` (1 or G, Z): h(z) = n_z/N over it. ``counts`` (G, Z) rows of each group in each context, None for a known law.
    Given its group, a row's context is one draw, so influence values are centred by group.
    """
    total = np.einsum("ktz,tz->kt", mass, np.broadcast_to(law, (mass.shape[1], law.shape[1])))
    safe = np.where(total > 0, total, 1.0)
    mean = np.einsum("ktz,tz->kt", integral, np.broadcast_to(law, (mass.shape[1], law.shape[1]))) / safe
    if counts is None:
        return ContextTerm(mean, total, None)
    own = len(law) > 1
    raw = (integral - mean[:, :, None] * mass) / np.where(exposure > 0, exposure, 1.0) / safe[:, :, None]
    rows = counts.sum(axis=1)
    influence = np.zeros((len(counts), counts.shape[1], *mean.shape))
    for g, n in enumerate(rows):
        if n == 0:
            continue
        one = raw * (np.arange(mass.shape[1]) == g)[:, None] if own and rows.all() else raw
        centre = (one * counts[g]).sum(axis=2, keepdims=True) / n
        one = (one - centre) * np.sqrt(n / (n - 1)) if n > 1 else one
        influence[g] = np.moveaxis(one, 2, 0)
    return ContextTerm(mean, total, influence)
