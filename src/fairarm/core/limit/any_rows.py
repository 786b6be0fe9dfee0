"""What would change the answer where any rows are asked: low_j < α_kj·θ < high_j for all j, outcomes taken as normal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.core.fairness import Rows
from fairarm.core.limit.alternatives import NO_ROW, TIE, Alternatives, Kind, difference, without_rounding
from fairarm.core.limit.row_moves import Conditions, RowMoves
from fairarm.core.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class _Ends:
    """The E ends that there are: ``row`` (E,), and ``sign`` (E,), 1 for a low end and −1 for a high one.

    ``slack`` (K, E): how far every arm is inside, below 0 outside and 0 on the end.
    """

    row: IntArray
    sign: FloatArray
    slack: FloatArray

    @classmethod
    def of(cls, rows: Rows, values: FloatArray, rounding: float) -> _Ends:
        end = np.concatenate([rows.low, rows.high])
        sign = np.repeat([1.0, -1.0], len(rows))
        there = np.flatnonzero(np.isfinite(end))
        end, sign, row = end[there], sign[there], there % len(rows)
        slack = sign * (values[:, row] - end)
        # what rounding alone put off the end is put back on it: T* = inf there, and a T* of 1e20 would say the same less clearly
        slack[np.abs(slack) <= np.maximum(rounding, TIE * np.abs(end))] = 0.0
        return cls(row, sign, slack)

    def nearer(self, arm: int) -> IntArray:
        """Of each row the end that an arm is nearer to: moves are as easy up as down, so that the other one is never harder."""
        order = np.argsort(self.slack[arm], kind="stable")
        return np.asarray(order[np.unique(self.row[order], return_index=True)[1]])


def row_alternatives(
    law: FloatArray, w: FloatArray, theta: FloatArray, variance: FloatArray, rows: Rows, seen: BoolArray
) -> Alternatives:
    """``law`` (K, G, C), ``w`` (K, C) the law of natural pulls; ``seen`` (C,): cells that some usable pull can reach."""
    alpha, mu = _coefficients(rows, law, w), w @ theta
    rounding = TIE * max(float(np.abs(theta).max()), 1e-300)
    ends = _Ends.of(rows, alpha @ theta, rounding)
    fair = np.all(ends.slack > 0, axis=1)
    if not fair.any():
        joint = RowMoves(Conditions(alpha, ends.row, ends.sign, -ends.slack), variance, seen)
        become: list[Kind] = ["becomes fair"] * len(mu)
        return Alternatives(None, np.arange(len(mu)), tuple(become), seen, joint, lambda q: _turned(joint, q, ends.row))
    best = int(np.argmax(np.where(fair, mu, -np.inf)))
    near, others = ends.nearer(best), np.delete(np.arange(len(mu)), best)
    lead = mu[best] - mu[others]
    lead[np.abs(lead) <= rounding] = 0.0  # a tie up to rounding is a tie
    moves = _Both(
        RowMoves(_broken(ends, alpha[best], best, near), variance, seen),
        RowMoves(_overtaken(ends, alpha[others], difference(w[others], w[best]), others, lead), variance, seen),
    )
    kinds: list[Kind] = ["best arm unfair"] * len(near)
    for k, behind in zip(others, lead, strict=True):
        kinds.append("overtakes" if fair[k] else "overtakes and becomes fair" if behind > 0 else "becomes fair")

    def turned(q: FloatArray) -> IntArray:
        met = np.where(fair[others], NO_ROW, _turned(moves.second, q, np.append(NO_ROW, ends.row)))
        return np.append(ends.row[near], met)

    return Alternatives(best, np.append(np.full(len(near), best), others), tuple(kinds), seen, moves, turned)


def _broken(ends: _Ends, alpha: FloatArray, best: int, near: IntArray) -> Conditions:
    """Each of these ends of the best arm, whose rows are ``alpha`` (J, C), reached or passed: one alternative for each."""
    a = -ends.sign[near, None] * alpha[ends.row[near]]
    return Conditions(a[:, None], np.zeros(1, dtype=np.intp), np.ones(1), ends.slack[best, near, None])


def _overtaken(ends: _Ends, alpha: FloatArray, ahead: FloatArray, others: IntArray, lead: FloatArray) -> Conditions:
    """Each of the ``others`` overtakes (``ahead`` (n, C), by ``lead``) and meets all its rows ``alpha`` (n, J, C), at once."""
    a = np.concatenate([ahead[:, None], alpha], axis=1)
    g = np.column_stack([lead, -ends.slack[others]])
    return Conditions(a, np.append(0, 1 + ends.row), np.append(1.0, ends.sign), g)


def _turned(moves: RowMoves, q: FloatArray, row: IntArray) -> IntArray:
    """The row of the condition that adds most to each value, of those about a row that do not hold yet: (A,)."""
    unmet = (moves.conditions.g >= 0) & (row != NO_ROW)
    part = np.where(unmet, moves.parts(q), -np.inf)
    # where the truth is on the edge no condition adds anything: the one that lacks most
    lacks = np.where(unmet, moves.conditions.g, -np.inf)
    chosen = np.where(part.max(axis=1) > 0, np.argmax(part, axis=1), np.argmax(lacks, axis=1))
    return np.asarray(row[chosen])


@dataclass(frozen=True)
class _Both:
    """The alternatives of both, one after the other."""

    first: RowMoves
    second: RowMoves

    def evaluate(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        (values, rates), (more, further) = self.first.evaluate(q), self.second.evaluate(q)
        return np.append(values, more), np.concatenate([rates, further])


def _coefficients(rows: Rows, law: FloatArray, w: FloatArray) -> FloatArray:
    """α_kj(c), (K, J, C); what is rounding is 0, as for an arm that ignores S and whose groups are compared."""
    sizes = Rows(np.abs(rows.by_group), np.abs(rows.everyone), rows.low, rows.high)
    return without_rounding(rows.coefficients(law, w), sizes.coefficients(law, w))
