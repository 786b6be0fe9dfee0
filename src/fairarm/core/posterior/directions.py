"""Directions along which the prior mean of the cells moves, so that the arms' own means can overrule it.

One mean common to all cells would be a claim about every arm: an arm's mean is an average over many cells, and the prior
would know it far better than it knows any cell. So the prior mean may move along the weights that make up each arm's
outcome and gap (after Ray and van der Vaart), along the columns of the cell one by one, and, where a column is ordered,
smoothly along it. Arrays
have a leading axis of N replicates; C cells, J columns, R directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairarm.core.grouping import sum_by_group
from fairarm.core.types import FloatArray, IntArray

PULLED = 0.9
"""Share of the pulls made in the law that columns are divided by; the rest is the mean over arms and groups."""

EFFECT = 0.7
"""Size of what a column of the cell, or a smooth function along it, may add, beside the arms' own columns."""

MOST = 64
"""Directions kept besides the constant and the smooth ones: with more columns and cells than that, the largest. As many again may
be added for single arms that these leave out."""

MOST_STATES = 256
"""Effects of one column of the cell."""

LEFT_OUT = 0.05
"""A column of an arm has a direction of its own for what the largest leave out, if that is more than this share of its size."""

LEAST = 1e-6
"""A direction ends the list where no cell has this share left of the largest prior variance."""

SAME = 1e-9
"""Coefficients whose size is below this share of the largest are those of an arm that treats the groups alike."""

MOST_FUNCTIONS = 8
LEAST_LEVELS = 5
"""An ordered column has at most so many smooth functions, and none with fewer levels."""


@dataclass(frozen=True)
class Directions:
    """Φ, (N, C, R): the constant, then what the arms span, then ``effects`` of the cell's columns, and last ``smooth``
    functions along those that are ordered."""

    basis: FloatArray
    effects: int = 0
    smooth: int = 0

    @classmethod
    def constant(cls, replicates: int, cells: int) -> Directions:
        """The constant alone: cells vary around one common mean."""
        return cls(np.ones((replicates, cells, 1)))

    @classmethod
    def of(cls, arms: FloatArray, effects: FloatArray, smooth: FloatArray, q: FloatArray | None = None) -> Directions:
        """From the arms' columns (N, J, C), the effects of the cell's columns (M, C) and smooth functions (N, F, C).

        ``q``: where rows fall, (N, C), by which the size of a column is measured; cells alike where it is None.
        """
        N, _, C = arms.shape
        along = np.repeat(_spanned(effects[None]), N, axis=0)
        spanned = _spanned(arms)
        added = _left_out(arms, spanned, np.ones((N, C)) if q is None else q)
        parts = [np.ones((N, C, 1)), spanned, added, along, smooth.transpose(0, 2, 1)]
        return cls(np.concatenate(parts, axis=2), along.shape[2], smooth.shape[1])


def law_of_rows(law: FloatArray, made: IntArray) -> FloatArray:
    """q(c), (N, C): where rows fall under laws p_{k,t}(c), (N or 1, K, G, C), and n_{k,t} rows, (N, K, G)."""
    even = law.mean(axis=(1, 2))
    total = made.sum(axis=(1, 2))[:, None]
    share = made.reshape(len(made), -1) / np.maximum(total, 1)
    pulled = (share[:, None] @ law.reshape(len(law), -1, law.shape[-1]))[:, 0]
    weight = np.where(total > 0, PULLED, 0.0)
    return np.asarray(weight * pulled + (1.0 - weight) * even)  # (B1)


def arm_columns(coefficients: FloatArray, q: FloatArray, noise: FloatArray | None = None) -> FloatArray:
    """A column for every linear function of θ that is asked about, (N, J, C), from its coefficients (N or 1, J, C).

    Moving θ along coefficient / q (times Var(Y | c), (N, C), where that differs between cells) is what moves the function
    most for what the rows can tell against it. All have the same size; coefficients that are 0 have a column of 0.
    """
    inverse = np.divide(1.0 if noise is None else noise, q, out=np.zeros_like(q), where=q > 0)
    column = coefficients * inverse[:, None]
    size = np.sqrt(((q[:, None] * column) * column).sum(axis=2))
    told = size > SAME * size.max(axis=1, keepdims=True)
    scale = np.divide(1.0, size * np.sqrt(size.shape[1]), out=np.zeros_like(size), where=told)
    return np.asarray(column * scale[:, :, None])  # (B2)


def main_effects(codes: Sequence[IntArray], rows: IntArray) -> FloatArray:
    """A 0/1 column for each state of each column of the cell, (M, C), from the columns' codes (C,) each and the cells' rows (C,).

    None for a single column, whose states are the cells themselves, and none for a column that is the same everywhere. States beyond
    the `MOST_STATES` with most rows share one effect.
    """
    varied = [column for column in codes if np.ptp(column) > 0]
    if len(varied) < 2:
        return np.zeros((0, len(rows)))
    coded = [_effect_of(column, rows) for column in varied]
    states = [(code == state).astype(np.float64) for code in coded for state in range(code.max() + 1)]
    return np.asarray(EFFECT / np.sqrt(len(varied)) * np.stack(states))


def _effect_of(column: IntArray, rows: IntArray) -> IntArray:
    """Which effect of a column each cell has, (C,)."""
    states, code = np.unique(column, return_inverse=True)
    if len(states) <= MOST_STATES:
        return code
    order = np.argsort(-np.bincount(code, rows), kind="stable")
    return np.minimum(np.argsort(order, kind="stable")[code], MOST_STATES)


def _spanned(columns: FloatArray) -> FloatArray:
    """L (N, C, R) with L L' = A A' for columns A' (N, J, C), up to what `MOST` and `LEAST` leave out.

    Cholesky's factor with pivots, the cell with the largest variance left first. Singular vectors would do as well, but
    where singular values are equal they are anybody's choice, and draws would differ between machines.
    """
    columns = _largest(columns)
    N, J, C = columns.shape
    most, at = min(J, C), np.arange(N)
    found = np.zeros((N, most, C))
    left = (columns**2).sum(axis=1)
    least = LEAST * left.max(axis=1)
    for r in range(most):
        # the first of those that are equal but for rounding
        pivot = np.argmax(left >= (1.0 - 1e-6) * left.max(axis=1, keepdims=True), axis=1)
        variance = left[at, pivot]
        going = variance > least
        if not going.any():
            return found[:, :r].transpose(0, 2, 1)
        row = (columns[at, :, pivot][:, None] @ columns)[:, 0]
        row -= (found[at, :r, pivot][:, None] @ found[:, :r])[:, 0]
        row *= np.divide(1.0, np.sqrt(variance), out=np.zeros(N), where=going)[:, None]
        found[:, r] = row
        left = np.maximum(left - row**2, 0.0)
        left[at, pivot] = 0.0
    return found.transpose(0, 2, 1)


def _largest(columns: FloatArray) -> FloatArray:
    """At most `MOST` columns that span nearly the same: the leading singular directions of (N, J, C)."""
    _, J, C = columns.shape
    if min(J, C) <= MOST:
        return columns
    if J <= C:
        _, vectors = np.linalg.eigh(columns @ columns.transpose(0, 2, 1))
        return np.asarray(vectors[:, :, -MOST:].transpose(0, 2, 1) @ columns)
    values, vectors = np.linalg.eigh(columns.transpose(0, 2, 1) @ columns)
    top = np.sqrt(np.maximum(values[:, -MOST:], 0.0))[:, :, None]
    return np.asarray(top * vectors[:, :, -MOST:].transpose(0, 2, 1))


def _left_out(columns: FloatArray, kept: FloatArray, q: FloatArray) -> FloatArray:
    """What single columns (N, J, C) have outside of the directions kept, (N, C, M): of those with more than `LEFT_OUT` of their
    size there, the one with the most first, at most `MOST`. None where no column was left out."""
    N, J, C = columns.shape
    if min(J, C) <= MOST:
        return np.zeros((N, C, 0))
    root, at = np.sqrt(q), np.arange(N)
    rest = columns * root[:, None]
    size = np.maximum((rest**2).sum(axis=2), np.finfo(float).tiny)
    vectors, values, _ = np.linalg.svd(kept * root[:, :, None], full_matrices=False)
    vectors *= (
        values[:, None] > LEAST * values[:, :1, None]
    )  # directions that another replicate has, and this one has not
    rest = rest - (rest @ vectors) @ vectors.transpose(0, 2, 1)
    found = []
    for _ in range(MOST):
        left = np.sqrt((rest**2).sum(axis=2) / size)
        first = np.argmax(left >= (1.0 - 1e-6) * left.max(axis=1, keepdims=True), axis=1)
        going = left[at, first] > LEFT_OUT
        if not going.any():
            break
        row = np.where(going[:, None], rest[at, first], 0.0)
        found.append(np.divide(row, root, out=np.zeros((N, C)), where=root > 0))
        unit = row / np.sqrt(np.maximum((row**2).sum(axis=1, keepdims=True), np.finfo(float).tiny))
        rest = rest - (rest @ unit[:, :, None]) * unit[:, None]
    return np.stack(found, axis=2) if found else np.zeros((N, C, 0))


def smooth_functions(level: IntArray, q: FloatArray) -> FloatArray:
    """Natural cubic functions along an ordered column, (N, F, C), from the level of each cell (C,) and q (N, C).

    Straight beyond the outer knots, which lie at quantiles of the levels under q; without the constant, and of the same
    size. They are much alike, so that what they make together is mostly a slope, less a bend, and hardly ever wiggles. None
    with fewer than `LEAST_LEVELS` levels.
    """
    levels = int(level.max(initial=-1)) + 1
    if levels < LEAST_LEVELS:
        return np.zeros((len(q), 0, len(level)))
    mass = sum_by_group(q, level, levels)
    mass = mass / mass.sum(axis=1, keepdims=True)
    return np.stack([_functions(weights)[:, level] for weights in mass])


def _functions(mass: FloatArray) -> FloatArray:
    """The functions at the levels, (F, levels), for the levels' mass."""
    levels = len(mass)
    count = min(MOST_FUNCTIONS, levels - 2)
    x = np.arange(levels) / (levels - 1)
    knots = _knots(mass, count + 1) / (levels - 1)
    # Hastie, Tibshirani and Friedman: (B3)
    cubes = np.maximum(x[:, None] - knots, 0.0) ** 3
    steps = (cubes[:, :-1] - cubes[:, -1:]) / (knots[-1] - knots[:-1])
    functions = np.vstack([x, (steps[:, :-1] - steps[:, -1:]).T])
    # every level counts a little, so that functions keep their size where q has no mass
    weight = 0.9 * mass + 0.1 / levels
    functions -= (functions @ weight)[:, None]
    size = np.sqrt(functions**2 @ weight)
    return np.asarray(EFFECT * functions / size[:, None])


def _knots(mass: FloatArray, count: int) -> FloatArray:
    """``count`` different levels: the first, the last, and between them quantiles of the mass."""
    levels = len(mass)
    ladder = np.cumsum(mass)
    knots = np.searchsorted(ladder, np.linspace(0, 1, count) * ladder[-1]).astype(np.float64)
    knots[0], knots[-1] = 0, levels - 1
    first = np.arange(count)
    # each at least one level above the one before, and low enough to leave a level to each that follows
    knots = np.maximum.accumulate(knots - first) + first
    return np.asarray(np.minimum(knots, levels - count + first))
