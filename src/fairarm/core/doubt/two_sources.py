"""A mean that two kinds of rows tell: some as it is, others only within a box. How much to take from which.

E = λ E + (1 − λ) E holds for every λ, so the interval from both is λ · (by the first) + (1 − λ) · (box of the second), whatever λ is: what
is chosen here makes it narrow, not right.

Axes: D draws, C cells.
"""

from __future__ import annotations

import numpy as np

from fairarm.core.types import FloatArray

NORMAL = 1.96
"""Standard deviations on each side of a 95 % interval."""

STEPS = 101
"""Of λ from 0 to 1."""


def share_of_known(known: tuple[FloatArray, FloatArray], others: tuple[FloatArray, FloatArray]) -> FloatArray:
    """λ of each cell, (C,), from draws of the lower and the upper end of each kind, (D, C): where the width

    λ w₁ + (1 − λ) w₂ + 2 · 1.96 √(λ² v₁ + (1 − λ)² v₂)

    is least, w the mean distance of the ends and v the variance of the lower one. Without a box (w₂ = 0) these are the weights by precision.
    """
    share = np.linspace(0.0, 1.0, STEPS)[:, None]
    widths = [np.maximum((high - low).mean(axis=0), 0.0) for low, high in (known, others)]
    first, second = (low.var(axis=0) for low, _ in (known, others))
    noise = np.sqrt(share**2 * first + (1.0 - share) ** 2 * second)
    total = share * widths[0] + (1.0 - share) * widths[1] + 2.0 * NORMAL * noise
    return np.asarray(share[total.argmin(axis=0), 0])
