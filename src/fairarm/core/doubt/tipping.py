"""Where a claim tips: the least strength of a doubt at which it no longer holds, by halving, of many draws at once.

A claim has a *margin* that falls as the doubt grows and is above 0 while the claim holds whatever the doubt does.

Axes: D draws, K arms, J rows of fairness.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairarm.core.fairness import Rows
from fairarm.core.types import FloatArray

HALVINGS = 30


def tipping(
    margin: Callable[[FloatArray], FloatArray], least: float, most: float, shape: tuple[int, ...]
) -> FloatArray:
    """The strength at which each margin reaches 0, ``shape``: ``least`` where it is not above 0 there, inf where it still is at
    ``most``. ``margin`` takes strengths and returns margins, both of this shape."""
    low, high = np.full(shape, least), np.full(shape, most)
    stands, never = margin(low) > 0, margin(high) > 0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        holds = margin(middle) > 0
        low, high = np.where(holds, middle, low), np.where(holds, high, middle)
    return np.where(never, np.inf, np.where(stands, low, least))


def fair_margin(low: FloatArray, high: FloatArray, asked: Rows) -> FloatArray:
    """How far inside their ends all rows stay, wherever in [low, high] (..., J) each of them is, (...,)."""
    return np.asarray(np.minimum(low - asked.low, asked.high - high).min(axis=-1))


def unfair_margin(low: FloatArray, high: FloatArray, asked: Rows) -> FloatArray:
    """How far outside of its ends some row stays, wherever in [low, high] (..., J) each of them is, (...,)."""
    return np.asarray(np.maximum(low - asked.high, asked.low - high).max(axis=-1))


def sure_until(tips: FloatArray, confidence: float) -> float:
    """The largest strength that a share ``confidence`` of the draws' tips (D,) reaches."""
    return float(np.sort(tips)[int(np.floor((1.0 - confidence) * len(tips)))])
