"""What follows from each state of a declared table, for every arm's outcome and rows of fairness.

    Σ_t f_t μ_{k,t} = Σ_r Σ_v P(v | r) g(r, v),      g(r, v) = Σ_t f_t Σ_{i: row r, state v} (the other factors of L) h(i) θ(i)

Shapes: K arms, G groups, J rows of fairness, X observed cells, B rows of a table, V its states.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from fairarm.beliefs.cells import CellBeliefs
from fairarm.core.doubt.wrong_table import Fraction, Rises
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.mechanism import Mechanism
from fairarm.problem.problem import Problem
from fairarm.problem.shared_cells import missing_children
from fairarm.problem.space import CellSpace


@dataclass(frozen=True, eq=False)
class TableMoves:
    """A declared table P, (B, V), and what follows from its states, g, (K or 1, 1 + J, B, V): outcomes, then rows of fairness."""

    name: str
    """Of the arm, or of the child whose table it is."""
    arm: int | None
    """The arm; None for a child's, which all arms share."""
    table: FloatArray
    follows: FloatArray
    fractions: tuple[OfPeople, ...] = ()
    """Parts of rows that are not linear in it: of people whose attribute's own table it is."""

    def rise(self) -> Callable[[float], FloatArray]:
        """How far every value rises at most with an error of each row, (K or 1, 1 + J)."""
        linear = Rises.of(self.table, self.follows)
        return lambda error: linear.at(error) + sum((part.rise_at(error) for part in self.fractions), np.zeros(()))

    def fall(self) -> Callable[[float], FloatArray]:
        """The same downwards."""
        return replace(self, follows=-self.follows, fractions=tuple(part.turned() for part in self.fractions)).rise()

    def gain(self, code: int) -> Callable[[float], FloatArray]:
        """How far each arm's outcome gains at most on that of an arm, (K,): of a table that arms share both move at once."""
        return Rises.of(self.table, self.follows[:, 0] - self.follows[code, 0]).at


@dataclass(frozen=True, eq=False)
class OfPeople:
    """What worlds of the same people add to rows of fairness: fractions (K, F), at most ``most`` (F,), added to the rows ``to`` (F,)."""

    fraction: Fraction
    most: FloatArray
    least: FloatArray
    to: IntArray
    values: int
    """1 + J."""

    def rise_at(self, error: float) -> FloatArray:
        """(K, 1 + J)."""
        found = self.fraction.rise_at(error, np.broadcast_to(self.most, self.fraction.above.shape[:2]))
        made = np.zeros((len(found), self.values))
        made[:, self.to] = found
        return made

    def turned(self) -> OfPeople:
        """Of the same with the other sign."""
        turned = replace(self.fraction, above=-self.fraction.above)
        return replace(self, fraction=turned, most=-self.least, least=-self.most)


@dataclass(frozen=True, eq=False)
class LawFactors:
    """Everything that the arms' values are made of at the estimates of a log or a run: one replicate."""

    beliefs: CellBeliefs

    @property
    def problem(self) -> Problem:
        """What was asked."""
        return self.beliefs.problem

    @cached_property
    def _codes(self) -> dict[str, IntArray]:
        return CellSpace.of(self.problem.cell_columns, self.problem.variables).codes()

    @cached_property
    def _children(self) -> dict[str, FloatArray]:
        """P(x | pa(x), S := t) at every cell, (G, X), of the children whose mechanism counts."""
        problem = self.problem
        if missing_children(problem):
            return {}
        names = (x for x in problem.relevant_children if x in problem.mechanisms and x != problem.outcome.node)
        return {x: self._chance(problem.mechanisms[x]) for x in names}

    @cached_property
    def _arms(self) -> FloatArray:
        """P_k(v | pa(V), S := t) at every cell, (K, G, X)."""
        return np.stack([self._chance(arm.mechanism) for arm in self.problem.arms])

    def _chance(self, mechanism: Mechanism) -> FloatArray:
        return np.exp(np.stack([mechanism.log_prob(self._given(t)) for t in range(len(self.problem.groups))]))

    def _given(self, t: int) -> dict[str, IntArray]:
        length, code = len(self._codes[self.problem.decision]), self.problem.compiled.group_codes[t]
        return {**self._codes, self.problem.sensitive: np.full(length, code, dtype=np.int64)}

    @cached_property
    def _worth(self) -> FloatArray:
        """h(i) θ(i) over the mass that arm and group have, (K, G, X)."""
        cells = self.beliefs.cells
        h = self.beliefs.context_weights[0][cells.context_of]
        theta = self.beliefs.posterior.mean[0][cells.cell_of]
        total = (self._arms * self._product(None) * h).sum(axis=2, keepdims=True)
        return np.asarray(h * theta / np.where(total > 0, total, 1.0))

    def _product(self, left_out: str | None) -> FloatArray:
        """Of the children's factors but one, (G, X)."""
        found = [factor for name, factor in self._children.items() if name != left_out]
        return np.asarray(np.prod(found, axis=0)) if found else np.ones(self._arms.shape[1:])

    @cached_property
    def _mixes(self) -> FloatArray:
        """f of the outcome and of every row, (1 + J, G)."""
        shares = self.beliefs.shares[0]
        return np.concatenate([shares[None], self.problem.compiled.rows.weights(shares)])

    left_out: ClassVar[tuple[str, ...]] = ()
    """No declared table is."""

    def values(self) -> FloatArray:
        """Every arm's outcome and rows, (K, 1 + J)."""
        means = (self._arms * self._product(None) * self._worth).sum(axis=2)
        return np.asarray(means @ self._mixes.T)

    def tables(self) -> list[TableMoves]:
        """Of every declared mechanism of an arm, then of every child; those that were fitted are in the intervals already."""
        problem = self.problem
        every = self._product(None) * self._worth
        found = [
            self._moves(arm.name, k, arm.mechanism, every[k : k + 1])
            for k, arm in enumerate(problem.arms)
            if arm.name not in problem.fitted
        ]
        for name in self._children:
            if name not in problem.fitted:
                part = self._arms * self._product(name) * self._worth
                found.append(self._moves(name, None, problem.mechanisms[name], part))
        return found

    def _moves(self, name: str, arm: int | None, mechanism: Mechanism, part: FloatArray) -> TableMoves:
        """Sums of what the other factors make, (K or 1, G, X), by entry of the table."""
        variables, states = self.problem.variables, self.problem.variables[mechanism.node].size
        inputs = CellSpace.of(mechanism.parents, variables)
        table = mechanism.distribution(inputs.codes(), states, inputs.count)
        space = CellSpace.of((*mechanism.parents, mechanism.node), variables)
        follows = np.zeros((len(part), len(self._mixes), space.count))
        for t in range(part.shape[1]):
            sums = np.zeros((space.count, len(part)))
            np.add.at(sums, space.number(self._given(t)), part[:, t].T)
            follows += self._mixes[:, t, None] * sums.T[:, None]
        return TableMoves(name, arm, np.asarray(table), follows.reshape(len(part), len(self._mixes), -1, states))
