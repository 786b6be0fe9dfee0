"""What "fair" means, in one place: the gap of two groups' means, the test, the best fair arm, and P(S) from counts.

    ζ_k = μ_{k,s} − μ_{k,s'},        arm k is fair if |ζ_k| < E,        the answer is the fair arm with the highest μ_k

All of it means two groups, s and s', in this order. Whatever has another number of them is refused here: every function that
compares the groups takes them apart by `two_groups` or `gap_of`, so that none can answer for two of three groups.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.core.answer import Code
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.errors import DataError, ProblemError

WAY_OUT = "Only two are supported so far: merge states, or run one pair at a time."

PRIOR_ROWS = 0.5
"""Of each group, before any row: P(S) ~ Beta(½, ½), Jeffreys' prior."""


def two_groups(values: NDArray[Any], axis: int = -1) -> tuple[NDArray[Any], NDArray[Any]]:
    """What belongs to s, and what belongs to s': the two entries along the axis of the groups, as views."""
    if values.shape[axis] != 2:
        raise ProblemError(f"Two groups are to be compared; got {values.shape[axis]}. {WAY_OUT}")
    first, second = np.moveaxis(values, axis, 0)
    return first, second


def gap_of(means: FloatArray, axis: int = -1) -> FloatArray:
    """ζ = μ(s) − μ(s'), or the same difference of laws, over the axis of the two groups."""
    first, second = two_groups(means, axis)
    return np.asarray(first - second)  # (A1)


def both_directions(gap: FloatArray) -> FloatArray:
    """ζ^{s,s'} and ζ^{s',s} of one estimate of the gap: (N, K) -> (N, 2, K). CSR estimates the two apart."""
    return np.stack([gap, -gap], axis=1)


def is_fair(gaps: FloatArray, tolerance: float) -> BoolArray:
    """|ζ| < E, strictly: an arm on the tolerance is unfair, and so is one whose gap is not known (nan)."""
    return np.asarray(np.abs(gaps) < tolerance)  # (A2)


def interval_fairness(low: FloatArray, high: FloatArray, tolerance: float) -> tuple[BoolArray, BoolArray, BoolArray]:
    """Whether an interval of the gap is fair throughout, too high throughout (unfair toward s'), too low throughout.

    None of the three where it holds fair gaps and unfair ones.
    """
    return (low > -tolerance) & (high < tolerance), low >= tolerance, high <= -tolerance


def best_fair(outcomes: FloatArray, fair: BoolArray) -> IntArray:
    """The position of the highest outcome among the fair arms over the last axis, Code.NONE where none is fair."""
    best = np.argmax(np.where(fair, outcomes, -np.inf), axis=-1)
    return np.where(fair.any(axis=-1), best, Code.NONE)


def best_fair_arm(outcomes: FloatArray, gaps: FloatArray, tolerance: float) -> IntArray:
    """The same from drawn outcomes and gaps, (..., K) -> (...,).

    Every answer from draws passes here: one that is not finite would count as unfair, and is an error instead.
    """
    if not (np.all(np.isfinite(outcomes)) and np.all(np.isfinite(gaps))):
        raise DataError(
            "What is believed of an arm is not a finite number, so there is no answer: a weight, a probability or a count of "
            "the rows is far outside of what can be. Look at the propensities, counts and outcomes of the rows."
        )
    return best_fair(outcomes, is_fair(gaps, tolerance))


def expected_shares(natural: IntArray | FloatArray) -> FloatArray:
    """E[P(S) | rows] = (n_t + ½) / (n + 1) of natural rows by group, (..., 2)."""
    rows = natural + PRIOR_ROWS
    return np.asarray(rows / rows.sum(axis=-1, keepdims=True))


def draw_shares(natural: IntArray | FloatArray, draws: int, rng: np.random.Generator) -> FloatArray:
    """P(S) ~ Beta(n_s + ½, n_s' + ½) given natural rows by group, (..., 2) -> (..., draws, 2)."""
    first, second = two_groups(natural + PRIOR_ROWS)
    # (P6); the second share is 1 less the first, not a draw of its own, so that the two sum to 1 exactly
    share = rng.beta(first[..., None], second[..., None], (*first.shape, draws))
    return np.stack([share, 1.0 - share], axis=-1)
