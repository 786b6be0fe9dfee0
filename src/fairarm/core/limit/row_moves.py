"""The shortest moves of the cell means that meet any number of linear conditions at once, for normal outcomes.

    min ½ Σ_c q_c δ_c²/σ_c²   subject to  a_i·δ ≥ g_i  for all i                                   (F4), docs/limits.md
    =  max over λ ≥ 0 of  λ·g − ½ Σ_c (λ·a)_c² σ_c²/q_c,        the move itself is  δ_c = (σ_c²/q_c) (λ·a)_c

The second line, its dual, is a least-squares problem with λ ≥ 0. It is solved by the active set of Lawson and Hanson (1974), for all
alternatives together: start from the conditions that bound last time, add the one that lacks most, drop those whose λ would fall
below 0, until nothing lacks. Any λ ≥ 0 proves its value from below, so that nothing rests on the search but its precision.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairarm.core.types import BoolArray, FloatArray, IntArray

_PRECISE = 1e-10
"""Conditions are met to this part of what the move reaches, in units of the length of each."""
_RIDGE = 1e-14
"""Added to the products of a condition with itself, so that dependent ones (three gaps of three groups) can be solved for."""
_UNSEEN = 1e6
"""Cells that no usable pull meets move at no cost: so many times as easily as the easiest one that is seen. Too few would make the
value too low, never too high."""
_FAR = 1e10
"""Where a multiplier is this large, conditions exclude each other, or nearly: the search ends, and a linear programme decides."""


@dataclass(frozen=True)
class Conditions:
    """A alternatives with M conditions each, sign_i a_{of_i}·δ ≥ g_i: ``a`` (A, R, C), ``of`` and ``sign`` (M,), ``g`` (A, M).

    The two ends of a row are two conditions on the same a, of which one at most can bind.
    """

    a: FloatArray
    of: IntArray
    sign: FloatArray
    g: FloatArray


class RowMoves:
    """The hardest moves of normal outcomes to each alternative, at rates q_c of the cells that are ``seen``.

    ``variance`` σ² and ``seen`` (C,): cells of variance 0 take no part in any move, those that are not seen move at no cost.
    """

    def __init__(self, conditions: Conditions, variance: FloatArray, seen: BoolArray) -> None:
        # cells that no usable pull meets, and whose mean could be another, follow those that are seen
        hidden = ~seen & (variance > 0)
        order = np.append(np.flatnonzero(seen), np.flatnonzero(hidden))
        self.conditions = replace(conditions, a=conditions.a[:, :, order])
        self.variance, self.hidden = variance[seen], int(hidden.sum())
        self.free = np.all(conditions.g <= 0, axis=1)  # the truth itself meets them: it is on the edge, at a value of 0
        is_hidden = np.arange(len(order)) >= seen.sum()
        for i in np.flatnonzero(~self.free) if self.hidden else ():
            self.free[i] = _meeting(self.conditions, int(i), is_hidden) is not None
        self.multipliers = np.zeros(conditions.g.shape)
        self.possible, self.far = np.ones(len(self.free), dtype=bool), np.zeros((len(self.free), len(order)))
        tried = np.flatnonzero(~self.free)
        met = self._search(tried, variance[order])[2]
        for i in tried[~met]:  # so far that the search ends, or never: decided apart, whatever the rates are
            move = _meeting(self.conditions, int(i), variance[order] > 0)
            self.possible[i] = move is not None
            self.far[i] = 0.0 if move is None else move

    def evaluate(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """For each alternative its value (A,), inf where no move leads there, and ½ δ²/σ² of its move by seen cell (A, C)."""
        values, rates = np.where(self.possible, 0.0, np.inf), np.zeros((len(self.free), len(q)))
        tried = np.flatnonzero(self.possible & ~self.free)
        if not len(tried):
            return values, rates
        move, values[tried], met = self._search(tried, self._spread(q))
        rates[tried] = 0.5 * move[:, : len(q)] ** 2 / q
        for i in tried[~met]:  # some move that meets the conditions, not the shortest; the value is still proved
            rates[i] = _rates(self._far(int(i))[: len(q)], self.variance)
        return values, rates

    def _far(self, i: int) -> FloatArray:
        """A move (C,) that meets the conditions of an alternative that is possible, whatever it costs."""
        if not self.far[i].any():
            movable = np.append(self.variance > 0, np.ones(self.hidden, dtype=bool))
            move = _meeting(self.conditions, i, movable)
            if move is None:
                raise ArithmeticError(
                    "A move that was found to meet all conditions of an alternative was not found again."
                )
            self.far[i] = move
        return np.asarray(self.far[i])

    def parts(self, q: FloatArray) -> FloatArray:
        """What each condition adds to twice the value, λ_i g_i, (A, M)."""
        self.evaluate(q)
        return np.asarray(self.multipliers * self.conditions.g)

    def _spread(self, q: FloatArray) -> FloatArray:
        """How far each cell moves for each unit of slope, σ²/q."""
        spread = self.variance / q
        return np.append(spread, np.full(self.hidden, _UNSEEN * max(float(spread.max(initial=0.0)), 1.0)))

    def _search(self, tried: IntArray, spread: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Moves over √spread (n, C), values (n,) and whether they meet all conditions (n,), of these alternatives."""
        asked = self.conditions
        root = np.sqrt(spread)
        rows = asked.a[tried] * root
        length = np.sqrt(np.einsum("arc,arc->ar", rows, rows))[:, asked.of]
        g = asked.g[tried]
        never = np.any((length == 0) & (g > 0), axis=1)
        # in units of the length of each condition, and of what the hardest asks for alone
        h = np.divide(g, length, out=np.full(g.shape, -np.inf), where=length > 0)
        unit = np.where(never, 1.0, np.maximum(h.max(axis=1), 1e-300))[:, None]
        found = _ActiveSet(rows, asked.of, asked.sign, length, h / unit)
        start = self.multipliers[tried] * length / unit
        lam, met = found.solve(np.where(never[:, None], 0.0, start), np.flatnonzero(~never))
        move = found.move(lam, np.arange(len(tried)))
        size = np.einsum("ac,ac->a", move, move)
        gain = np.einsum("am,am->a", lam, np.where(lam > 0, h / unit, 0.0))
        # the dual at the best multiple of λ: a lower bound whatever λ is
        value = np.divide(gain**2, 2 * size, out=np.zeros(len(tried)), where=size > 0) * unit[:, 0] ** 2
        self.multipliers[tried] = np.divide(
            lam * unit, length, out=np.zeros(lam.shape), where=met[:, None] & (length > 0)
        )
        return move * unit, value, met


@dataclass(frozen=True)
class _ActiveSet:
    """max over λ ≥ 0 of λ·h − ½ |Σ_i λ_i b_i|², b_i of length 1: ``rows`` (A, R, C), ``of``, ``sign`` (M,), ``length``, ``h`` (A, M)."""

    rows: FloatArray
    of: IntArray
    sign: FloatArray
    length: FloatArray
    h: FloatArray

    def solve(self, lam: FloatArray, going: IntArray) -> tuple[FloatArray, BoolArray]:
        """λ (A, M) from a start, and whether it meets all conditions (A,), of the alternatives ``going``."""
        lam, met = lam.copy(), np.zeros(len(lam), dtype=bool)
        self._settle(lam, going, lam > 0)
        for _ in range(50 + 5 * lam.shape[1]):
            lacking = self._lacking(lam[going], going)
            worst = lacking.argmax(axis=1)
            size = lam[going].max(axis=1)
            near = size < _FAR
            more = lacking[np.arange(len(going)), worst] > np.maximum(_PRECISE, 10 * _RIDGE * size)
            met[going[near & ~more]] = True
            going, worst = going[near & more], worst[near & more]
            if not len(going):
                break
            active = lam > 0
            active[going, worst] = True
            self._settle(lam, going, active)
        return lam, met

    def move(self, lam: FloatArray, which: IntArray) -> FloatArray:
        """Σ_i λ_i b_i, (n, C)."""
        size = np.divide(lam * self.sign, self.length[which], out=np.zeros(lam.shape), where=self.length[which] > 0)
        by_row = size @ (self.of[:, None] == np.arange(self.rows.shape[1]))  # the two ends of a row add up
        return np.asarray((by_row[:, None] @ self._rows(which))[:, 0])

    def _rows(self, which: IntArray) -> FloatArray:
        """(n, R, C), without a copy where all are meant."""
        return self.rows if len(which) == len(self.rows) else self.rows[which]

    def _lacking(self, lam: FloatArray, which: IntArray) -> FloatArray:
        """h_i − b_i·move, (n, M): what is still missing; −inf where a condition cannot move."""
        reached = (self._rows(which) @ self.move(lam, which)[:, :, None])[:, self.of, 0] * self.sign
        length = self.length[which]
        reached = np.divide(reached, length, out=np.zeros(reached.shape), where=length > 0)
        return np.asarray(self.h[which] - reached)

    def _settle(self, lam: FloatArray, going: IntArray, active: BoolArray) -> None:
        """The best λ of the active conditions, in place; those whose λ would fall below 0 on the way leave."""
        going = going[active[going].any(axis=1)]
        while len(going):
            now, target = lam[going], self._solved(going, active[going])
            falls = active[going] & (target <= 0)
            with np.errstate(divide="ignore", invalid="ignore"):
                part = np.where(falls, now / (now - target), 1.0)
            part = np.where(np.isfinite(part), part, 0.0)  # one that is at 0 and would fall cannot: it leaves at once
            step = part.min(axis=1, keepdims=True)
            after = np.maximum(now + step * (target - now), 0.0)
            out = falls.any(axis=1)
            leaves = falls & (part <= step)  # at least one, so that this ends
            after[leaves] = 0.0
            lam[going] = np.where(active[going] & ~leaves, after, 0.0)
            active[going] &= ~leaves
            going = going[out & active[going].any(axis=1)]

    def _solved(self, going: IntArray, active: BoolArray) -> FloatArray:
        """G λ = h over the active conditions of each alternative, (n, M), 0 for the others."""
        most = int(active.sum(axis=1).max())
        at = np.argsort(~active, axis=1, kind="stable")[:, :most]
        there = np.take_along_axis(active, at, axis=1)
        length = np.take_along_axis(self.length[going], at, axis=1)
        b = (
            self.rows[going[:, None], self.of[at]]
            * np.where(there, self.sign[at] / np.where(there, length, 1.0), 0.0)[:, :, None]
        )
        G = b @ b.transpose(0, 2, 1)
        G[:, np.arange(most), np.arange(most)] += np.where(there, 0.0, 1.0)
        h = np.where(there, np.take_along_axis(self.h[going], at, axis=1), 0.0)[:, :, None]
        ridged = G + _RIDGE * np.eye(most)
        found = np.linalg.solve(ridged, h)
        found = (found + np.linalg.solve(ridged, h - G @ found))[:, :, 0]  # what the ridge took off, put back
        out = np.zeros(active.shape)
        np.put_along_axis(out, at, np.where(there, found, 0.0), axis=1)
        return out


def _rates(move: FloatArray, variance: FloatArray) -> FloatArray:
    """½ δ²/σ², 0 where nothing moves."""
    return np.divide(0.5 * move**2, variance, out=np.zeros(len(move)), where=variance > 0)


def _meeting(conditions: Conditions, i: int, movable: BoolArray) -> FloatArray | None:
    """A move (C,) of the movable cells that meets all conditions of an alternative; None where there is none."""
    from scipy.optimize import linprog

    a, g = conditions.a[i][conditions.of][:, movable] * conditions.sign[:, None], conditions.g[i]
    size = np.abs(a).max(axis=1, initial=0.0)
    used, move = size > 0, np.zeros(len(movable))
    if np.any(g[~used] > 0):
        return None
    if not np.any(g > 0):
        return move
    # the most that all can have to spare, in units of the largest coefficient of each and of what is lacking
    a, g = a[used] / size[used, None], g[used] / size[used]
    unit = float(np.abs(g).max())
    answer = linprog(
        np.append(np.zeros(a.shape[1]), -1.0), np.hstack([-a, np.ones((len(a), 1))]), -g / unit,
        bounds=[*[(None, None)] * a.shape[1], (None, 1.0)], method="highs-ds",
    )  # fmt: skip
    if answer.status != 0:
        raise ArithmeticError(f"Whether an alternative can happen was not decided: {answer.message}")
    move[movable] = unit * answer.x[:-1]
    return move if answer.x[-1] >= -1e-9 else None
