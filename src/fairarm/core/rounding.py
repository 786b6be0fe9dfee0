"""Whole pulls from fractional shares, so that neither the pulls nor the cost budget is ever exceeded."""

from __future__ import annotations

import math

import numpy as np

from fairarm.core.types import FloatArray, IntArray

_SLACK, _ROUNDING = 1e-9, 1e-12


def round_pulls(
    target: FloatArray, given: IntArray, costs: FloatArray, budget: float | None, length: float
) -> IntArray:
    """The cumulative whole pulls of every unit, (R, K), at least ``given`` and summing to ⌊length⌋.

    ``target`` (R, K) is C_u, the running sum of ν_u τ, with Σ_u C_u = ``length``; ``given`` are the pulls of the
    phases before; a unit of cost +inf is never pulled. Each unit gets ⌊C_u⌋ in all; what is left goes one at a time to the largest C_u − given that the
    cost allows, else to the cheapest unit; ties go to natural, s, s', then to the lower arm.

    The cost rule is  Σ_u pulls_u (c_u − c_min) ≤ (B − c_min) · length.  It implies cost ≤ B · length, and a
    later phase can always be completed with cheapest pulls; the plain rule cost ≤ B · length can paint itself
    into a corner when c_min > 0 (tests/core/test_rounding.py has the counterexample).
    """
    usable = np.isfinite(costs)
    cheapest = float(costs[usable].min())
    extra = np.where(usable, costs - cheapest, 0.0)
    room = np.inf if budget is None else (budget - cheapest) * length * (1 + _ROUNDING) + _SLACK
    whole = math.floor(length + _SLACK)
    pulls = np.maximum(given, np.floor(target + _SLACK).astype(np.int64))
    _take_back(pulls, given, target, extra, room, whole)
    rest = whole - int(pulls.sum())
    if rest == 0:
        return pulls
    spare = np.where(usable, target - pulls, -np.inf)
    left = room - float(np.sum(pulls * extra))
    default = int(np.argmin(np.where(usable, extra, np.inf)))
    for _ in range(rest):
        unit = int(np.argmax(spare if left >= extra.max() else np.where(extra <= left, spare, -np.inf)))
        if spare.flat[unit] <= 0:
            unit = default
        pulls.flat[unit] += 1
        spare.flat[unit] -= 1
        left -= extra.flat[unit]
    return pulls


def _take_back(
    pulls: IntArray, given: IntArray, target: FloatArray, extra: FloatArray, room: float, whole: int
) -> None:
    """Undo floors that earlier hand-outs left no room for (at most one a unit), in place: smallest remainder first."""
    while (crowded := pulls.sum() > whole) or np.sum(pulls * extra) > room:
        removable = (pulls > given) if crowded else (pulls > given) & (extra > 0)
        remainder = np.where(removable, target - pulls, np.inf)
        last = remainder.size - 1 - int(np.argmin(remainder.ravel()[::-1]))
        pulls.flat[last] -= 1
