"""A box: for every cell an interval of its mean outcome, and what an arm can be with all means inside.

Everything asked about is linear in the means θ: a value Σ_c a_c θ_c is lowest with each θ_c at the end that the sign of a_c calls
for. A rival that must be fair while it overtakes is a linear programme over the box; with one row that is a knapsack.

Axes: C cells, J rows of fairness; what stands before them is up to the caller and is broadcast.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.core.fairness import Rows
from fairarm.core.types import FloatArray


@dataclass(frozen=True, eq=False)
class Box:
    """The least and the largest mean of every cell, (..., C) each."""

    low: FloatArray
    high: FloatArray

    def least(self, coefficients: FloatArray) -> FloatArray:
        """min Σ_c a_c θ_c over the box, (D, M), of boxes (D, C) and coefficients (D or 1, M, C)."""
        return _at(coefficients, self.low, self.high)  # (D2)

    def most(self, coefficients: FloatArray) -> FloatArray:
        """max Σ_c a_c θ_c over the box, (D, M)."""
        return _at(coefficients, self.high, self.low)


def _at(coefficients: FloatArray, above: FloatArray, below: FloatArray) -> FloatArray:
    """Σ a θ with θ at one end where a > 0 and at the other where a < 0."""
    plus, minus = np.maximum(coefficients, 0.0), np.minimum(coefficients, 0.0)
    if len(coefficients) == 1:
        return np.asarray(above @ plus[0].T + below @ minus[0].T)
    return np.asarray((plus @ above[..., None] + minus @ below[..., None])[..., 0])


def most_within(gain: FloatArray, row: FloatArray, ends: tuple[float, float], box: Box) -> FloatArray:
    """max Σ g θ over the box with low ≤ Σ a θ ≤ high: exact, (...,); −inf where the row cannot be met.

    From the best point of the box the row is brought to its end by the cells that lose least for what they move it.
    """
    top = np.where((gain > 0) | ((gain == 0) & (row > 0)), box.high, box.low)
    value, moved = (gain * top).sum(axis=-1), (row * top).sum(axis=-1)
    low, high = ends
    over, under = moved - high, low - moved
    down = value - _price(gain, row, top, box, over)
    up = value - _price(gain, -row, top, box, under)
    return np.asarray(np.where(over > 0, down, np.where(under > 0, up, value)))  # (D3)


def _price(gain: FloatArray, row: FloatArray, top: FloatArray, box: Box, needed: FloatArray) -> FloatArray:
    """What it costs at least to lower Σ a θ by ``needed`` from ``top``, (...,); inf where the box does not reach so far."""
    gain, row, top, low, high = np.broadcast_arrays(gain, row, top, box.low, box.high)
    room = np.abs(row) * np.where(row > 0, top - low, high - top)
    loss = np.abs(gain) * np.where(row > 0, top - low, high - top)
    rate = np.divide(loss, room, out=np.full(room.shape, np.inf), where=room > 0)
    order = np.argsort(rate, axis=-1)
    room, loss = np.take_along_axis(room, order, -1), np.take_along_axis(loss, order, -1)
    before = np.cumsum(room, axis=-1) - room
    wanted = np.maximum(needed, 0.0)[..., None]
    part = np.divide(wanted - before, room, out=np.zeros(room.shape), where=room > 0)
    cost = (loss * np.clip(part, 0.0, 1.0)).sum(axis=-1)
    # a row that is out of reach by no more than rounding is met
    return np.where(room.sum(axis=-1) < needed - 1e-12, np.inf, cost)


def most_if_fair(gain: FloatArray, rows: FloatArray, asked: Rows, box: Box) -> FloatArray:
    """max Σ g θ over the box with all rows met, (...,), of rows (..., J, C): exact for one row, else no lower than exact.

    With several rows it is the least over the rows, each met alone: a rival is thought stronger than it is, never weaker
    (`exact_most_if_fair` solves it for one box).
    """
    found = [
        most_within(gain, rows[..., j, :], (float(asked.low[j]), float(asked.high[j])), box) for j in range(len(asked))
    ]
    return np.asarray(np.min(found, axis=0))


def exact_most_if_fair(gain: FloatArray, rows: FloatArray, asked: Rows, box: Box) -> float:
    """The same of one box exactly, by a linear programme: gain (C,), rows (J, C), the box (C,); −inf where no point meets all rows."""
    from scipy.optimize import linprog

    ends = np.concatenate([asked.high, -asked.low])
    kept = np.isfinite(ends)
    limits = np.concatenate([rows, -rows])[kept]
    found = linprog(-gain, limits, ends[kept], bounds=np.stack([box.low, box.high], axis=1))
    if found.status == 2:  # no point of the box meets the rows
        return -np.inf
    if found.status:  # a solver that fails says nothing: the rows each met alone say no less
        return float(most_if_fair(gain, rows, asked, box))
    return float(-found.fun)
