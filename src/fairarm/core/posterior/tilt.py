"""The prior's shape of an outcome with states: π_o(η) ∝ base_o exp(η u_o), and whose base a cell has.

One base for all cells says that every cell may have every state. Where a decision, or another column, says which states are
possible (a refusal earns 0, a small loan 4 or −2, a large one 10 or −8), cells would then seem to have nothing in common: few rows in
a cell would be taken for all that it can do, and intervals would be too narrow. So cells have the base of their states of those
columns that the rows tell apart. Axes: N replicates, C cells, O states of the outcome, P pairs of a replicate and a point of the grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairarm.core.grouping import sum_by_group
from fairarm.core.posterior.prior import STRENGTHS
from fairarm.core.special import log_gamma
from fairarm.core.types import BoolArray, FloatArray, IntArray

FARTHEST = 30.0
"""η lies within ± this, so that no share is 0."""

SMOOTHING = 1.0
"""Rows of the base of all cells in that of some."""

LEAST = 1e-300
"""Least share of a state in a tilted base: one of 0 has no logarithm."""

HALVES = 26
"""How often the place of a tilt is halved: it is then known to 1e-6."""


@dataclass(frozen=True)
class Tilt:
    """π_o(η) ∝ base_o exp(η u_o): log base, (O, N, C) or (O, N, 1) where all cells have the same, and u (O, N, 1)."""

    log_base: FloatArray
    u: FloatArray

    @classmethod
    def of(cls, counts: IntArray, values: FloatArray, columns: Sequence[IntArray] = ()) -> Tilt:
        """For counts (N, C, O) of states with these values (O,); ``columns``: the codes (C,) of what a base may differ by."""
        N, states = len(counts), counts.shape[2]
        if states == 2:
            return cls(np.full((2, N, 1), np.log(0.5)), np.broadcast_to(np.array([0.0, 1.0])[:, None, None], (2, N, 1)))
        base = _pooled(counts)
        mean = base @ values
        sd = np.sqrt(np.maximum(base @ values**2 - mean**2, 0.0))
        u = (values - mean[:, None]) / np.where(sd > 0, 2.0 * sd, 1.0)[:, None]
        of_cells = np.log(_bases_told_apart(counts, base, u, columns))
        return cls(of_cells.transpose(2, 0, 1), u.T[:, :, None])

    def at(self, replicate: IntArray) -> Tilt:
        """Of these replicates, (P,)."""
        return Tilt(self.log_base[:, replicate], self.u[:, replicate])

    def of_cells(self, chosen: BoolArray) -> Tilt:
        """Of these cells, (C,)."""
        return self if self.log_base.shape[2] == 1 else Tilt(self.log_base[:, :, chosen], self.u)

    def shares(self, eta: FloatArray) -> FloatArray:
        """π (O, P, C) at η (P, C)."""
        share = self.log_base + np.clip(eta, -FARTHEST, FARTHEST) * self.u
        share -= share.max(axis=0)
        np.exp(share, out=share)
        share /= share.sum(axis=0)
        return share

    def moments(self, share: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean and variance of u under π, and u less its mean, (P, C), (P, C) and (O, P, C)."""
        mean = (share * self.u).sum(axis=0)
        apart = self.u - mean
        return mean, (share * apart**2).sum(axis=0), apart


def _pooled(counts: IntArray) -> FloatArray:
    """The mean over seen cells of their proportions, smoothed by one row spread evenly, (N, O)."""
    # proportions of cells, not of rows: one cell that was pulled often must not speak for how cells are spread
    rows = counts.sum(axis=2, keepdims=True)
    own = np.divide(counts, rows, out=np.zeros(counts.shape), where=rows > 0).sum(axis=1)
    return np.asarray((own + 1.0 / counts.shape[2]) / (1.0 + (rows[..., 0] > 0).sum(axis=1))[:, None])


def _bases(counts: IntArray, base: FloatArray, classes: IntArray) -> FloatArray:
    """The same of every class of cells, classes (C,), for counts (N, C, O) and the bases of all (N, O), at the cells, (N, C, O)."""
    size, rows = int(classes.max(initial=0)) + 1, counts.sum(axis=2)
    own = np.divide(counts, rows[..., None], out=np.zeros(counts.shape), where=rows[..., None] > 0)
    made, seen = (sum_by_group(part, classes, size)[..., None] for part in (rows.astype(np.float64), 1.0 * (rows > 0)))
    mean = sum_by_group(own.swapaxes(1, 2), classes, size).swapaxes(1, 2) / np.maximum(seen, 1.0)
    # by rows, not by cells: a state that none of many rows has hardly belongs to the class
    weight = made / (made + SMOOTHING)
    return np.asarray((weight * mean + (1.0 - weight) * base[:, None])[:, classes])  # (B4)


# ---- which columns tell bases apart ----


def _bases_told_apart(counts: IntArray, base: FloatArray, u: FloatArray, columns: Sequence[IntArray]) -> FloatArray:
    """The base of each cell, (N, C, O), of its states of the columns that tell bases apart; (N, 1, O) where no column does.

    The column that the rows speak for most comes first, then the next, given it, while the score grows. Every replicate chooses for
    itself. u (N, O): along it the prior mean moves by itself.
    """
    seen = counts.any(axis=(0, 2))
    varied = [column for column in columns if len(np.unique(column[seen])) > 1]
    found, none = np.repeat(base[:, None], counts.shape[1], axis=1), np.zeros(counts.shape[1], dtype=np.int64)
    told_apart = False
    going = [(np.arange(len(counts)), none, varied)]
    while going:
        replicates, classes, left = going.pop()
        tried = [classes, *(_finer(classes, column) for column in left)]
        rows, bases = counts[replicates][:, seen], base[replicates]
        now = _score(rows, bases, classes[seen])
        finer = (_better(rows, bases, u[replicates], classes[seen], each[seen], now) for each in tried[1:])
        best = np.argmax([now, *finer], axis=0)
        for i in np.unique(best):  # 0, the first of equal ones: no column helps any more
            chosen = replicates[best == i]
            if i > 0:
                going.append((chosen, tried[i], [*left[: i - 1], *left[i:]]))
            elif classes.any():
                found[chosen], told_apart = _bases(counts[chosen], base[chosen], classes), True
    return found if told_apart else base[:, None]


def _finer(classes: IntArray, column: IntArray) -> IntArray:
    """Classes (C,) divided by the states of a column (C,), numbered from 0."""
    return np.asarray(np.unique(classes * (int(column.max()) + 1) + column, return_inverse=True)[1])


def _score(counts: IntArray, base: FloatArray, classes: IntArray) -> FloatArray:
    """The log-probability of rows (N, C, O) whose cells follow the bases of their classes, less half the logarithm of all rows for each
    number that a base has, (N,)."""
    rows = counts.sum(axis=2)
    cost = _price(rows) * (counts.shape[2] - 1) * _met(rows, classes)
    return np.asarray(_log_probability(counts, _bases(counts, base, classes)) - cost)


def _better(
    counts: IntArray, base: FloatArray, u: FloatArray, before: IntArray, classes: IntArray, now: FloatArray
) -> FloatArray:
    """The score of finer classes where it is more than ``now``, that of the classes ``before``, (N,); else −∞.

    So it is where the bases before need but be tilted, at one number per class: that is for the directions. And where classes have
    fewer than two cells on average, which have nothing to tell each other.
    """
    rows, met = counts.sum(axis=2), _met(counts.sum(axis=2), classes)
    score = _score(counts, base, classes)
    better = (score > now) & (2 * met <= (rows > 0).sum(axis=1))
    if better.any():
        mean = np.einsum("nco,no->nc", _bases(counts, base, classes), u)
        tilted = _log_probability(counts, _tilted(_bases(counts, base, before), u, mean))
        better &= score > tilted - _price(rows) * ((counts.shape[2] - 1) * _met(rows, before) + met)
    return np.where(better, score, -np.inf)


def _price(rows: IntArray) -> FloatArray:
    """Of a number that is learned from rows (N, C), (N,): Schwarz's."""
    return np.asarray(0.5 * np.log(np.maximum(rows.sum(axis=1), 1.0)))


def _met(rows: IntArray, classes: IntArray) -> IntArray:
    """How many classes have rows (N, C), (N,)."""
    return np.asarray((sum_by_group(rows, classes, int(classes.max(initial=0)) + 1) > 0).sum(axis=1))


def _log_probability(counts: IntArray, of_cells: FloatArray) -> FloatArray:
    """Of rows (N, C, O) whose cells have these bases, at η = 0 and the best strength of the grid, (N,)."""
    best, rows = np.full(len(counts), -np.inf), counts.sum(axis=2).astype(np.float64)
    for s in STRENGTHS[:, None]:
        alpha = s * of_cells
        each = (log_gamma(alpha + counts) - log_gamma(alpha)).sum(axis=2) + log_gamma(s) - log_gamma(rows + s)
        best = np.maximum(best, each.sum(axis=1))  # (P2)
    return best


def _tilted(of_cells: FloatArray, u: FloatArray, mean: FloatArray) -> FloatArray:
    """Bases (N, C, O) tilted along u (N, O) until its mean is ``mean`` (N, C), as far as `FARTHEST`: by bisection."""
    low, high, log_base = np.full(mean.shape, -FARTHEST), np.full(mean.shape, FARTHEST), np.log(of_cells)
    for _ in range(HALVES):
        share = log_base + (middle := (low + high) / 2)[..., None] * u[:, None]
        share = np.exp(share - share.max(axis=2, keepdims=True))
        share /= share.sum(axis=2, keepdims=True)
        under = np.einsum("nco,no->nc", share, u) < mean
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return np.asarray(np.maximum(share, LEAST))
