"""The joint confidence region for the cell means θ, from counts alone (docs/certified.md, part 2).

One mixture likelihood ratio for all cells together, so that no error probability is split over cells or arms:

    Θ = { θ : log N(n, y) − ℓ(θ) < log(1/δ) },    ℓ(θ) = Σ_c y_c log θ_c + (n_c − y_c) log(1 − θ_c)

Θ contains the truth at all times at once with probability ≥ 1 − δ, whatever rule chose the pulls. Its projections
are the certified intervals. Counts have a leading axis of N replicates and C cells last.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairarm.core import special
from fairarm.core.fairness import PRIOR_ROWS, Rows, two_groups
from fairarm.core.types import FloatArray
from fairarm.errors import ProblemError

NEAR = (0.005, 0.02, 0.08, 0.25, 0.5)
STRENGTH = (1.0, 5.0, 25.0, 125.0)
"""The fixed grid of priors, all of one weight: each θ_c is Beta(εs, (1−ε)s) or its mirror image, by a fair coin."""

HALVINGS = 60
BLOCK = 1 << 20
"""Numbers (replicates × arms × cells) worked on at once: 8 MiB an array."""


@dataclass(frozen=True)
class Mixed:
    """``log_evidence`` log N(n, y), (N,), and ``mean`` E[θ | n, y] under the same mixture, (N, C)."""

    log_evidence: FloatArray
    mean: FloatArray


def mixture(n: FloatArray, y: FloatArray) -> Mixed:
    """N(n, y) = (1/|grid|) Σ_{ε,s} Π_c ½ [ BB(y_c, n_c; εs, (1−ε)s) + BB(y_c, n_c; (1−ε)s, εs) ],

    BB(y, n; α, β) = B(y+α, n−y+β) / B(α, β). ``n``, ``y`` (N, C): rows, and sums of outcomes in [0, 1], which need
    not be whole numbers.
    """
    log_weight, mean = [], []
    for near in NEAR:
        for strength in STRENGTH:
            alpha, beta = near * strength, (1 - near) * strength
            # (C14): a cell near 0 or near 1, by a coin; logs, since the product over cells is far below the least number
            low, high = special.betaln(y + alpha, n - y + beta), special.betaln(y + beta, n - y + alpha)
            either = np.logaddexp(low, high)
            log_weight.append((either - special.betaln(alpha, beta) - math.log(2)).sum(axis=-1))
            # the mean of the two Beta posteriors, by how well each explains the cell's rows
            mean.append((y + beta + np.exp(low - either) * (alpha - beta)) / (n + strength))
    total = np.asarray(special.logsumexp(log_weight, axis=0))
    weight = np.exp(np.asarray(log_weight) - total)
    return Mixed(total - math.log(len(log_weight)), np.einsum("gn,gnc->nc", weight, np.asarray(mean)))


def tilted(up: FloatArray, down: FloatArray, slope: FloatArray) -> tuple[FloatArray, FloatArray]:
    """θ and 1 − θ where u log θ + v log(1 − θ) + s θ is largest over [0, 1]: the root of s θ² + (u+v−s) θ − u = 0.

    R² = (u+v−s)² + 4su is written as (s+u−v)² + 4uv, which cannot cancel. Of the two forms of the root,
    2u / (u+v−s+R) and (s−u−v+R) / 2s, the one without cancellation is used, for 1 − θ likewise. Zeros are legal.
    """
    n = up + down
    root = np.hypot(slope + up - down, 2 * np.sqrt(up * down))

    def one_side(u: FloatArray, s: FloatArray) -> FloatArray:
        below = s <= n
        top, bottom = np.where(below, 2 * u, s - n + root), np.where(below, n - s + root, 2 * s)
        return np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1.0), 0.0)

    return one_side(up, slope), one_side(down, -slope)


def tilted_maximum(up: FloatArray, down: FloatArray, slope: FloatArray) -> FloatArray:
    """max over θ in [0, 1]^C of Σ_c u log θ + v log(1 − θ) + s θ, (..., C) -> (...,)."""
    theta, rest = tilted(up, down, slope)
    return np.asarray((special.xlogy(up, theta) + special.xlogy(down, rest) + slope * theta).sum(axis=-1))


def highest_in_region(n: FloatArray, y: FloatArray, weight: FloatArray, delta: float) -> FloatArray:
    """The largest Σ_c f_c θ_c over the region Θ, by its Lagrange dual: never too small.

        sup_Θ f·θ ≤ (1/λ) [ max_θ { ℓ(θ) + λ f·θ } − log N + log(1/δ) ]    for every λ > 0

    ``weight`` f (N or 1, F, C); returns (N, F). The best λ puts the maximiser on the region's border: found by
    halving on a log scale. A λ that is not the best gives a wider interval, not a wrong one.
    """
    # (C15): ℓ(θ) above this level
    level = (mixture(n, y).log_evidence - math.log(1 / delta))[:, None]
    up, down = y[:, None, :], (n - y)[:, None, :]
    size = np.abs(weight).max(axis=-1)
    size = np.where(size > 1e-200, size, 1.0)  # of weight 0 is the gap of an arm that treats the groups alike
    # λ spans twelve orders and more, in units of the weights: on a log scale every halving halves the ratio
    low, high = np.log(1e-6 / size) + 0 * level, np.log(1e6 * (1 + n.sum(axis=-1))[:, None] / size)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        theta, rest = tilted(up, down, np.exp(middle)[..., None] * weight)
        inside = (special.xlogy(up, theta) + special.xlogy(down, rest)).sum(axis=-1) >= level
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    # (C16) at the λ found; θ ≤ 1 bounds it too, and better where there are hardly any rows
    scale = np.exp(low)
    bound = (tilted_maximum(up, down, scale[..., None] * weight) - level) / scale
    return np.asarray(np.minimum(bound, np.maximum(weight, 0).sum(axis=-1)))


def share_interval(first: FloatArray, second: FloatArray, delta: float) -> FloatArray:
    """Time-uniform interval for the share of the first group, from group counts of natural rows (N,) each -> (N, 2).

    { π : log B(a+½, b+½)/B(½, ½) − a log π − b log(1−π) < log(1/δ) } for counts a, b; ends are rounded outwards.
    """
    # (C11)
    level = (
        special.betaln(first + PRIOR_ROWS, second + PRIOR_ROWS)
        - special.betaln(PRIOR_ROWS, PRIOR_ROWS)
        - math.log(1 / delta)
    )
    centre = np.where(first + second > 0, first / np.maximum(first + second, 1.0), 0.5)
    # the outer one of the two is reported: rounding makes the interval wider, never narrower
    outer, inner = np.stack([np.zeros_like(centre), np.ones_like(centre)]), np.stack([centre, centre])
    for _ in range(HALVINGS):
        middle = (outer + inner) / 2
        inside = special.xlogy(first, middle) + special.xlogy(second, 1 - middle) > level
        inner, outer = np.where(inside, middle, inner), np.where(inside, outer, middle)
    return np.stack([outer[0], outer[1]], axis=-1)


SHARE_OF_DELTA = 0.1
"""The part of δ that the interval for P(S) takes where P(S) is unknown."""


def rows_about(asked: Rows | float | None, groups: int) -> Rows:
    """What is asked about so many groups; a tolerance, or None, is that of the gap between two, and refused where there are others."""
    if isinstance(asked, Rows):
        if asked.groups != groups:
            raise ProblemError(f"The rows of fairness are about {asked.groups} groups, and the law has {groups}.")
        return asked
    two_groups(np.zeros(groups))
    return Rows.gap(math.inf if asked is None else asked)


def needs_shares(rows: Rows) -> bool:
    """Whether nothing can be certified while P(S) is unknown: more than two groups, or one compared with everybody's mean."""
    return rows.groups > 2 or bool(rows.everyone.any())


def require_shares(rows: Rows) -> None:
    """An error where P(S), which is unknown, has to be known."""
    if needs_shares(rows):
        what = (
            "a row compares a group with the mean of everybody"
            if rows.groups == 2
            else f"there are {rows.groups} groups"
        )
        raise ProblemError(
            f"Nothing can be certified while P(S) is not known, as {what}: declare the shares, or use bayes-stop."
        )


def known_mix(shares: FloatArray) -> FloatArray:
    """P(S) (G,) as it is used: the last share is 1 less the others, so that they sum to 1."""
    return np.append(shares[:-1], 1.0 - shares[:-1].sum())


def share_mixes(shares: FloatArray | None, natural: FloatArray, delta: float) -> FloatArray:
    """P(S) as it may be, (N, P, G): as declared, P = 1, or of two groups the ends of the interval after natural rows (N, G).

    μ_k is linear in P(S), so over the interval its extremes are at the ends. δ is the error of the whole; the interval takes
    a tenth of it.
    """
    if shares is not None:
        return np.broadcast_to(known_mix(shares), (len(natural), 1, len(shares)))
    first = share_interval(*two_groups(natural), SHARE_OF_DELTA * delta)
    return np.stack([first, 1.0 - first], axis=-1)


@dataclass(frozen=True, eq=False)
class Intervals:
    """Certified intervals, all at once with probability ≥ 1 − δ: ``outcomes`` μ_k (N, K, 2), and ``rows`` (N, K, J, 2), the
    value of every row of fairness; where it is one row, its axis may be left out."""

    outcomes: FloatArray
    rows: FloatArray

    def __post_init__(self) -> None:
        if self.rows.ndim == self.outcomes.ndim:
            object.__setattr__(self, "rows", self.rows[..., None, :])

    @property
    def gaps(self) -> FloatArray:
        """Of the one row that there is, (N, K, 2)."""
        if self.rows.shape[-2] != 1:
            raise ProblemError(f"An arm has {self.rows.shape[-2]} rows of fairness, not one gap: take all of them.")
        return self.rows[..., 0, :]

    @property
    def empty(self) -> bool:
        """No truth lies within all of them: ends are in the wrong order, which true ones are with probability at most δ."""
        return any(bool(np.any(part[..., 0] > part[..., 1])) for part in (self.outcomes, self.rows))


def narrowed(found: Sequence[Intervals]) -> Intervals:
    """What lies in all of them; where nothing does, the ends come out in the wrong order."""

    def both(parts: list[FloatArray]) -> FloatArray:
        return np.stack(
            [np.max([p[..., 0] for p in parts], axis=0), np.min([p[..., 1] for p in parts], axis=0)], axis=-1
        )

    return Intervals(both([i.outcomes for i in found]), both([i.rows for i in found]))


def intervals(
    n: FloatArray,
    y: FloatArray,
    law: FloatArray,
    delta: float,
    shares: FloatArray | None = None,
    natural: FloatArray | None = None,
    asked: Rows | None = None,
    worlds: FloatArray | None = None,
) -> Intervals:
    """Projections of the joint region on every μ_k and every row; the law of the cells is known.

    ``law`` p_{k,t}(c) (K, G, C); ``shares`` P(S) (G,), or None and ``natural`` (N, G) the group counts of natural
    rows; ``asked`` the rows, by default the gap between two groups. ``worlds`` (K, W, C): the laws that the rows are about where
    these are not the groups'; P(S) is then known.
    """
    about = law if worlds is None else worlds
    rows = rows_about(asked, about.shape[1])
    part = delta
    if shares is None:
        require_shares(rows)
        part = (1 - SHARE_OF_DELTA) * delta
    mixes = share_mixes(shares, np.zeros((len(n), rows.groups)) if natural is None else natural, delta)
    mixes = mixes if shares is None else mixes[:1]
    weights = [(mix[:, None, :, None] * law).sum(axis=2) for mix in np.moveaxis(mixes, 1, 0)]
    pair = np.stack([_both_ends(n, y, weight, part) for weight in weights])
    widest = np.stack([pair[..., 0].min(axis=0), pair[..., 1].max(axis=0)], axis=-1)
    # a row with a part of the outcome itself has P(S) in it, which is then known
    value = np.ascontiguousarray(rows.coefficients(about, weights[0][0]))
    of_rows = _both_ends(n, y, value.reshape(1, -1, law.shape[2]), part)
    return Intervals(widest, of_rows.reshape(len(n), *value.shape[:2], 2))


def _both_ends(n: FloatArray, y: FloatArray, weight: FloatArray, delta: float) -> FloatArray:
    """Of every arm, some of them at a time."""
    size = max(1, BLOCK // (len(n) * n.shape[1]))
    parts = [weight[:, start : start + size] for start in range(0, weight.shape[1], size)]
    ends = [
        np.stack([-highest_in_region(n, y, -part, delta), highest_in_region(n, y, part, delta)], axis=-1)
        for part in parts
    ]
    return np.concatenate(ends, axis=1)
