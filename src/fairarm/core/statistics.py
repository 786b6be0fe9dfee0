"""Summaries of repeated runs."""

from __future__ import annotations

import math


def wilson_interval(successes: int, trials: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """Wilson's score interval for a proportion (95 % by default); (0, 1) without trials."""
    if trials == 0:
        return 0.0, 1.0
    p = successes / trials
    centre = p + z * z / (2 * trials)
    half = z * math.sqrt(p * (1 - p) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    # at 0 or all successes one limit is exactly 0 or 1; rounding must not move it past the observed share
    return min(max(0.0, (centre - half) / scale), p), max(min(1.0, (centre + half) / scale), p)
