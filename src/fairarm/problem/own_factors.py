"""P(a_B | z_B): the law of a block of attributes given their causes, declared or learned from natural rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairarm.core.grouping import sum_by_group
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.attributes import Block
from fairarm.problem.space import CellSpace

if TYPE_CHECKING:
    from fairarm.problem.problem import Problem

PRIOR_ROWS = 0.5
"""Of each state of a block, for each value of its causes: Jeffreys' prior of a law that is learned from natural rows."""


@dataclass(frozen=True, eq=False)
class OwnFactor:
    """P(a_B | z_B) of a block: the state of each label, and the value of the causes at each label and point."""

    names: tuple[str, ...]
    """The attributes of the block, then ``| causes`` as they are said: for errors."""
    state: IntArray
    """(P,)."""
    causes: IntArray
    """(P, X)."""
    states: int
    configurations: int
    declared: FloatArray | None
    """(configurations, states); None where it is learned from natural rows."""

    def counted(self, natural: FloatArray) -> FloatArray:
        """Natural rows by label and point, (..., P, X), as rows by causes and state, (..., configurations, states)."""
        at = self.causes * self.states + self.state[:, None]
        flat = natural.reshape(*natural.shape[:-2], -1)
        found = sum_by_group(flat, at.ravel(), self.configurations * self.states)
        return found.reshape(*found.shape[:-1], self.configurations, self.states)

    def expected(self, natural: FloatArray) -> FloatArray:
        """The declared law, or its mean given natural rows (..., P, X), at labels and points: (..., P, X)."""
        return self.spread(_normalised(self.counted(natural) + PRIOR_ROWS)) if self.declared is None else self.known()

    def drawn(self, natural: FloatArray, draws: int, rng: np.random.Generator) -> FloatArray:
        """The declared law, (P, X), or draws of it given natural rows (P, X): Dirichlet(n + ½) for each value of the causes,
        (D, P, X), or (D, P, 1) where it is the same at all points of a label."""
        if self.declared is not None:
            return self.known()
        rows = self.counted(natural) + PRIOR_ROWS
        drawn = _normalised(rng.standard_gamma(rows, (draws, *rows.shape)))
        alike = bool((self.causes == self.causes[:, :1]).all())
        return np.asarray(drawn[..., self.causes[:, :1], self.state[:, None]]) if alike else self.spread(drawn)

    def known(self) -> FloatArray:
        """The declared law at labels and points, (P, X)."""
        return self.spread(np.zeros((self.configurations, self.states)) if self.declared is None else self.declared)

    def spread(self, table: FloatArray) -> FloatArray:
        """A law by causes and state, (..., configurations, states), at labels and points: (..., P, X)."""
        return np.asarray(table[..., self.causes, self.state[:, None]])


def own_factor(problem: Problem, block: Block, given: Sequence[Mapping[str, IntArray]], points: int) -> OwnFactor:
    """That of a block; ``given``: the points with each label's attributes."""
    states, causes = (CellSpace.of(names, problem.variables) for names in (block.members, block.causes))
    at = np.stack([causes.number(columns) if causes.columns else np.zeros(points, dtype=np.int64) for columns in given])
    state = np.array([states.number({name: columns[name][:1] for name in block.members})[0] for columns in given])
    declared = problem.own_factor(block)
    table = None
    if declared is not None:
        order = [
            *(declared.parents.index(name) for name in block.causes),
            *range(len(block.causes), declared.probabilities.ndim),
        ]
        table = declared.probabilities.transpose(order).reshape(causes.count, states.count)
    return OwnFactor(_said(block), state, at, states.count, causes.count, table)


def _said(block: Block) -> tuple[str, ...]:
    """ "race | region" of an attribute with a cause."""
    causes = f" | {', '.join(block.causes)}" if block.causes else ""
    return (*block.members[:-1], block.members[-1] + causes)


def label_shares(problem: Problem, points: int) -> OwnFactor:
    """P(label), where labels have laws of contexts of their own."""
    P = len(problem.groups)
    declared = None if problem.shares is None else np.array(problem.shares)[None]
    return OwnFactor(problem.attributes, np.arange(P), np.zeros((P, points), dtype=np.int64), P, 1, declared)


def _normalised(rows: FloatArray) -> FloatArray:
    """Each row of the last axis over its sum; a sum that is 0 by rounding leaves it 0."""
    return np.asarray(rows / np.maximum(rows.sum(axis=-1, keepdims=True), np.finfo(np.float64).tiny))
