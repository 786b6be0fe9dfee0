"""Summaries of repeated runs, and of rows as they are."""

from __future__ import annotations

import math
from statistics import NormalDist

from fairarm.core import special
from fairarm.core.fairness import two_groups
from fairarm.core.types import FloatArray

RESOLVED = 2.0**-36
"""The smallest variance of an outcome in [0, 1] that its sums give. Σ y and Σ y² of a log are in steps of 2^-40, so that a
variance is off by up to 3 · 2^-41: of this one 9 %, which is 5 % of an interval's length."""


def wilson_interval(successes: float, trials: float, z: float = 1.959963984540054) -> tuple[float, float]:
    """Wilson's score interval for a proportion (95 % by default); (0, 1) without trials."""
    if trials == 0:
        return 0.0, 1.0
    p = successes / trials
    centre = p + z * z / (2 * trials)
    half = z * math.sqrt(p * (1 - p) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    # at 0 or all successes one limit is exactly 0 or 1; rounding must not move it past the observed share
    return min(max(0.0, (centre - half) / scale), p), max(min(1.0, (centre + half) / scale), p)


def difference_interval(
    rows: FloatArray, sums: FloatArray, squares: FloatArray, values: tuple[float, float] | None, confidence: float
) -> tuple[float, float] | None:
    """An ordinary interval for the difference of two groups' means, from their rows, Σ y and Σ y² (2,), y in [0, 1].

    Where y has two values only, the lower one first: Newcombe's. Else Welch's, with Student's t. None where a group has
    fewer than two rows, or where the outcome varies by less than its sums resolve (`RESOLVED`), if at all.
    """
    n = [float(count) for count in two_groups(rows)]
    if min(n) < 2:
        return None
    if values is not None:
        low, high = values
        upper = [(float(y) - c * low) / (high - low) for y, c in zip(sums, n, strict=True)]
        ends = _newcombe_interval(n, [min(max(count, 0.0), c) for count, c in zip(upper, n, strict=True)], confidence)
        return (high - low) * ends[0], (high - low) * ends[1]
    mean = [float(total) / count for total, count in zip(sums, n, strict=True)]
    spread = [max(float(q) - c * m * m, 0.0) / (c - 1) / c for q, c, m in zip(squares, n, mean, strict=True)]
    if sum(spread) < RESOLVED * sum(1 / c for c in n):
        return None
    gap, error = mean[0] - mean[1], math.sqrt(sum(spread))
    freedom = sum(spread) ** 2 / sum(part**2 / (c - 1) for part, c in zip(spread, n, strict=True))
    half = float(special.stdtrit(freedom, (1 + confidence) / 2)) * error
    return gap - half, gap + half


def _newcombe_interval(rows: list[float], counts: list[float], confidence: float) -> tuple[float, float]:
    """For the difference of two shares, from their score intervals, which holds at 0 and at 1 too (Statistics in Medicine
    17, 1998, method 10)."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    (low, high), (other_low, other_high) = (wilson_interval(k, n, z) for k, n in zip(counts, rows, strict=True))
    first, second = (k / n for k, n in zip(counts, rows, strict=True))
    below, above = math.hypot(first - low, other_high - second), math.hypot(high - first, second - other_low)
    return first - second - below, first - second + above
