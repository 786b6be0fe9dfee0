"""Whole pulls from fractional shares, so that neither the pulls nor the cost budget is ever exceeded."""

from __future__ import annotations

import math

import numpy as np

from fairarm.core.types import FloatArray, IntArray

_SLACK, _ROUNDING = 1e-9, 1e-12
MANY = 5.0
"""Where more pulls a unit than this have to be moved, most are moved at once."""

HALVINGS = 64
"""Enough to find a whole number below 10^18."""


def round_pulls(
    target: FloatArray, given: IntArray, costs: FloatArray, budget: float | None, length: float
) -> IntArray:
    """The cumulative whole pulls of every unit, (R, K), at least ``given`` and summing to ⌊length⌋.

    ``target`` (R, K) is C_u, the running sum of ν_u τ, with Σ_u C_u = ``length``; ``given`` are the pulls of the
    phases before; a unit of cost +inf is never pulled. Each unit gets ⌊C_u⌋ in all; what is left goes one at a time to the largest C_u − given that the
    cost allows, else to the cheapest unit; ties go to natural, s, s', then to the lower arm.

    The cost rule is  Σ_u pulls_u (c_u − c_min) ≤ (B − c_min) · length.  It implies cost ≤ B · length, and a
    later phase can always be completed with cheapest pulls; the plain rule cost ≤ B · length can paint itself
    into a corner when c_min > 0 (tests/core/design/test_rounding.py has the counterexample).
    """
    usable = np.isfinite(costs)
    cheapest = float(costs[usable].min())
    extra = np.where(usable, costs - cheapest, 0.0)
    room = np.inf if budget is None else (budget - cheapest) * length * (1 + _ROUNDING) + _SLACK
    whole = math.floor(length + _SLACK)
    # pulls made cannot be unmade: a unit that an earlier phase rounded up stays above its own floor, and others pay for it
    pulls = np.maximum(given, np.floor(target + _SLACK).astype(np.int64))
    _take_back(pulls, given, target, extra, room, whole)
    default = int(np.argmin(np.where(usable, extra, np.inf)))
    spare, left = np.where(usable, target - pulls, -np.inf), room - float(np.sum(pulls * extra))
    _hand_out(pulls, spare, extra, default, left, whole - int(pulls.sum()))
    return pulls


def _take_back(
    pulls: IntArray, given: IntArray, target: FloatArray, extra: FloatArray, room: float, whole: int
) -> None:
    """Undo floors that earlier hand-outs left no room for (mostly one a unit), in place: smallest remainder first."""
    while (crowded := pulls.sum() > whole) or np.sum(pulls * extra) > room:
        # too many pulls: take any back; only too dear: taking back a cheapest pull would not help
        removable = (pulls > given) if crowded else (pulls > given) & (extra > 0)
        weight = removable.astype(np.float64) if crowded else np.where(removable, extra, 0.0)
        excess = float(pulls.sum() - whole if crowded else np.sum(pulls * extra) - room)
        if excess > MANY * weight.sum() > 0:
            many = _first(target - pulls, np.where(removable, pulls - given, 0), weight, excess)
            pulls -= many
            if many.any():
                continue
        remainder = np.where(removable, target - pulls, np.inf)  # ties: the last unit, as hand-outs go to the first
        last = remainder.size - 1 - int(np.argmin(remainder.ravel()[::-1]))
        pulls.flat[last] -= 1


def _hand_out(pulls: IntArray, spare: FloatArray, extra: FloatArray, default: int, left: float, rest: int) -> None:
    """Give out the ``rest``, in place: the largest ``spare`` that the cost ``left`` allows first, then the default unit."""
    while rest:
        allowed = spare if left >= extra.max() else np.where(extra <= left, spare, -np.inf)
        unit = int(np.argmax(allowed))
        if spare.flat[unit] <= 0:
            pulls.flat[default] += rest
            return
        many = np.zeros_like(pulls)
        if spare.flat[unit] > MANY:  # only where much was taken back
            waiting = np.ceil(np.maximum(allowed, 0.0)).astype(np.int64)
            within = left - float(extra[waiting > 0].max())  # all stay allowed up to here
            many = _first(-allowed, waiting, np.ones_like(extra), float(rest))
            many = np.minimum(many, _first(-allowed, waiting, extra, within))
        if not many.any():
            many.flat[unit] = 1
        pulls += many
        spare -= many
        left -= float(np.sum(many * extra))
        rest -= int(many.sum())


def _first(key: FloatArray, available: IntArray, weight: FloatArray, amount: float) -> IntArray:
    """How many of each unit's items are surely among the first ones that weigh at most ``amount`` together.

    A unit has items with the keys ``key``, ``key`` + 1, …, as many as are ``available``; the least keys come first. All
    with a key below L − 1 are among them where Σ weight · clip(L − key, 0, available) ≤ amount. Two a unit less are
    taken, so that no rounding error matters.
    """
    key = np.where(available > 0, key, 0.0)
    low, high = float(key.min()), float((key + available).max()) + MANY
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        fits = float(np.sum(weight * np.clip(middle - key, 0, available))) <= amount
        low, high = (middle, high) if fits else (low, middle)
    return np.asarray(np.clip(np.floor(low - key) - 2, 0, available), dtype=np.int64)
