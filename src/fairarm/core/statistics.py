"""Summaries of repeated runs, and of rows as they are."""

from __future__ import annotations

import math
from statistics import NormalDist

from scipy.special import stdtrit

from fairarm.core.types import FloatArray


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
    rows: FloatArray, sums: FloatArray, squares: FloatArray, two_valued: bool, confidence: float
) -> tuple[float, float] | None:
    """An ordinary interval for the difference of two groups' means, from their rows, Σ y and Σ y² (2,), y in [0, 1].

    Of 0 and 1: Newcombe's, from the two score intervals (Statistics in Medicine 17, 1998, method 10), which holds at 0 and
    at 1 too. Else Welch's, with Student's t. None where a group has fewer than two rows, or where nothing varies.
    """
    n = [float(count) for count in rows]
    if min(n) < 2:
        return None
    mean = [float(total) / count for total, count in zip(sums, n, strict=True)]
    gap = mean[0] - mean[1]
    if two_valued:
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        (low, high), (other_low, other_high) = (wilson_interval(float(y), c, z) for y, c in zip(sums, n, strict=True))
        below = math.hypot(mean[0] - low, other_high - mean[1])
        return gap - below, gap + math.hypot(high - mean[0], mean[1] - other_low)
    spread = [max(float(q) - c * m * m, 0.0) / (c - 1) / c for q, c, m in zip(squares, n, mean, strict=True)]
    error = math.sqrt(sum(spread))
    if error <= 1e-12:
        return None
    freedom = sum(spread) ** 2 / sum(part**2 / (c - 1) for part, c in zip(spread, n, strict=True))
    half = float(stdtrit(freedom, (1 + confidence) / 2)) * error
    return gap - half, gap + half
