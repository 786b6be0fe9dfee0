"""Certified means from weighted rows, by empirical Bernstein bounds (Maurer and Pontil 2009, theorem 11).

Rows are independent, Y' lies in [0, 1], and a weight w has mean 1 for the law asked about. Weights are cut at a level
that does not look at the rows, which can only lower the mean of w·Y'. So a lower bound for E[min(w, τ) Y'] is one for
the mean, and one minus a lower bound for E[min(w, τ) (1 − Y')] is an upper one: no bound on the weights is needed.

Shapes: K arms, G groups.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fairarm.core.fairness import Rows
from fairarm.core.proof.region import SHARE_OF_DELTA, Intervals, require_shares, rows_about, share_mixes
from fairarm.core.types import FloatArray, IntArray

CLIP = 3.0
"""Weights are cut at √(n / log(2/δ)) / CLIP: the bound's range term is then 7/9 of √(log(2/δ)/n)."""


@dataclass(frozen=True)
class CutSums:
    """Sums over the rows of each group, of c = min(w, τ): Σc, ΣcY, Σc², Σc²Y, Σc²Y², (5, K, G); rows (G,)."""

    rows: FloatArray
    sums: FloatArray
    largest: FloatArray
    """The largest value that c can take, (K, G): τ, or the largest weight where that is known and smaller."""
    highest: FloatArray | None = None
    """Where outcomes are missing, which count as 0 in ``sums``: the same with each of them 1."""


@dataclass(frozen=True)
class GroupCells:
    """Counted rows, Σ Y' and Σ Y'² by group and cell, (G, X) each; ``made`` rows by arm and group, (K, G)."""

    rows: FloatArray
    sums: FloatArray
    squares: FloatArray
    made: IntArray


def bound_delta(delta: float, arms: int, shares_known: bool, of_an_arm: int = 2) -> float:
    """The error of each bound: two sides of so many means of every arm, and a part for P(S) where it is unknown.

    ``of_an_arm``: G where each group's mean is bounded, 1 + J where the outcome and every row are; both are 2 for one gap.
    """
    return (1.0 if shares_known else 1.0 - SHARE_OF_DELTA) * delta / (2 * of_an_arm * arms)


def cut_level(rows: FloatArray, delta: float) -> FloatArray:
    """τ, by the number of rows and the error of one bound."""
    # (W12); a level that looked at the weights of the rows would not be independent of them, and the bound would fail
    return np.asarray(np.maximum(np.sqrt(rows / math.log(2 / delta)) / CLIP, 1.0))


def cut_sums(law: FloatArray, seen: GroupCells, delta: float) -> CutSums:
    """Sums of cut weights over counted rows, of laws P_k(x | t) (K, G, X); δ is the error of each bound.

    w_{k,t}(x) = P_k(x | t) / Σ_j (n_{j,t} / n_t) P_j(x | t): the balance heuristic's weights, so of mean 1.
    """
    rows = seen.made.sum(axis=0).astype(np.float64)
    q = np.einsum("jt,jtx->tx", seen.made / np.maximum(rows, 1.0), law)
    w = np.where(q > 0, law / np.where(q > 0, q, 1.0), 0.0)
    level = cut_level(rows, delta)
    c = np.minimum(w, level[None, :, None])  # (W1)
    parts = [(c, seen.rows), (c, seen.sums), (c**2, seen.rows), (c**2, seen.sums), (c**2, seen.squares)]
    sums = np.stack([np.einsum("ktx,tx->kt", weight, of) for weight, of in parts])
    return CutSums(rows, sums, np.minimum(w.max(axis=2), level))


def lower_mean(
    rows: FloatArray, total: FloatArray, square: FloatArray, largest: FloatArray, delta: float
) -> FloatArray:
    """A bound that the mean of independent X in [0, largest] is below with probability at most δ.

    Σx/n − √(2 V log(2/δ) / n) − 7 b log(2/δ) / (3 (n − 1)),    V the sample variance, b the largest X
    """
    n = np.maximum(rows, 2.0)
    log_term = math.log(2 / delta)
    variance = np.maximum(square - total**2 / n, 0.0) / (n - 1)
    # (W11)
    bound = total / n - np.sqrt(2 * variance * log_term / n) - 7 * largest * log_term / (3 * (n - 1))
    return np.where(rows >= 2, np.maximum(bound, 0.0), 0.0)


def mean_intervals(seen: CutSums, delta: float) -> FloatArray:
    """Intervals for every μ_{k,t}, (K, G, 2), each end wrong with probability at most δ."""
    _, cy, _, _, ccyy = seen.sums
    low = lower_mean(seen.rows, cy, ccyy, seen.largest, delta)
    c, cy, cc, ccy, ccyy = seen.sums if seen.highest is None else seen.highest
    # c (1 − Y): its sums follow from those of c and cY, so rows are read once
    high = 1.0 - lower_mean(seen.rows, c - cy, cc - 2 * ccy + ccyy, seen.largest, delta)
    return np.stack([np.minimum(low, 1.0), np.maximum(high, 0.0)], axis=-1)


def weighted_intervals(
    seen: CutSums, delta: float, shares: FloatArray | None, natural: FloatArray, asked: Rows | None = None
) -> Intervals:
    """Intervals for every μ_k, (1, K, 2), and every row, (1, K, J, 2), all at once with probability ≥ 1 − δ.

    ``shares`` P(S) (G,), or None and ``natural`` (G,) the natural rows by group; ``asked`` the rows, by default the gap between
    two groups. Ends may cross, which those of a true interval do with probability at most δ.
    """
    rows = rows_about(asked, len(seen.rows))
    if shares is None:
        require_shares(rows)
    ends = mean_intervals(seen, bound_delta(delta, seen.sums.shape[1], shares is not None, rows.groups))
    mixes = share_mixes(shares, natural[None], delta)[0]
    mixed = (mixes[:, None, :, None] * ends).sum(axis=2)
    outcomes = np.stack([mixed[..., 0].min(axis=0), mixed[..., 1].max(axis=0)], axis=-1)
    # a row is lowest where groups that it counts are at their lower end, and those that it takes away at the upper one
    f, (low, high) = rows.among(mixes[0]), np.moveaxis(ends, -1, 0)
    plus, minus = np.maximum(f, 0.0), np.maximum(-f, 0.0)
    value = np.stack([low @ plus.T - high @ minus.T, high @ plus.T - low @ minus.T], axis=-1)
    return Intervals(outcomes[None], value[None])
