"""The best mix of pulls within an average cost: one step of every design by Frank–Wolfe."""

from __future__ import annotations

import numpy as np

from fairarm.core.types import FloatArray


def affordable_mix(gain: FloatArray, costs: FloatArray, average: FloatArray) -> FloatArray:
    """Shares x ≥ 0, Σ x = 1, Σ cost·x ≤ average, with the highest Σ gain·x: (N, U) for gains (N, U), costs (U,).

    At most two units: the two ends of the upper hull of (cost, gain) above the average. A unit of cost +inf is never
    taken; where even the cheapest costs more than the average, it is taken alone.
    """
    rows = np.arange(len(gain))
    usable = np.where(np.isfinite(costs), gain, -np.inf)
    cost = np.where(np.isfinite(costs), costs, 0.0)
    average = np.maximum(average, costs.min())
    low = np.argmax(np.where(costs <= average[:, None], usable, -np.inf), axis=1)
    high = np.argmax(usable, axis=1)
    high = np.where(cost[high] <= average, low, high)
    # low is affordable and high is not: the line through them is raised to whatever lies above it, until it is the hull
    for _ in range(len(costs)):
        width = cost[high] - cost[low]
        slope = np.where(width > 0, (gain[rows, high] - gain[rows, low]) / np.where(width > 0, width, 1.0), 0.0)
        tilted = usable - slope[:, None] * cost
        top = np.argmax(tilted, axis=1)
        better = (width > 0) & (tilted[rows, top] > tilted[rows, low] + 1e-12 * np.abs(tilted[rows, low]))
        if not better.any():
            break
        cheap = cost[top] <= average
        low, high = np.where(better & cheap, top, low), np.where(better & ~cheap, top, high)
    width = cost[high] - cost[low]
    share = np.where(width > 0, (average - cost[low]) / np.where(width > 0, width, 1.0), 0.0)
    mix = np.zeros_like(gain)
    mix[rows, low] += 1.0 - share
    mix[rows, high] += share
    return mix
