"""What follows from each state of a declared table where a problem is not plain: arms, children, and the attributes' own tables.

    μ_k(ω) = N/D,      N = Σ_r Σ_v P(v | r) n(r, v),   D = Σ_r Σ_v P(v | r) d(r, v)

n and d sum the other factors of the world's terms, with θ and without. For an arm's table and a child's, D is P(people) whatever the
table is, so that μ is linear in it; for P(a | causes) of the people's own attribute it is a fraction.

Shapes: K arms, W worlds with everybody as they are last, J rows of fairness, Q terms, X points, B rows of a table, V its states.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairarm.beliefs.table_moves import OfPeople, TableMoves
from fairarm.beliefs.worlds import WorldBeliefs
from fairarm.core.doubt.wrong_table import Fraction
from fairarm.core.grouping import sum_by_group
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.likelihood import at_label
from fairarm.problem.mechanism import Mechanism
from fairarm.problem.problem import Problem
from fairarm.problem.space import CellSpace
from fairarm.problem.world_laws import Factors, WorldSums
from fairarm.problem.world_terms import WorldTerms

MOST_ENTRIES = 1 << 24
"""Arms × terms × points that are held at once: 128 MiB; with more, tables are not looked at."""

SAME = 1e-9
"""Sums that differ by no more are the same."""


@dataclass(frozen=True, eq=False)
class WorldFactors:
    """Everything that worlds are made of at the estimates of a log or a run: one replicate."""

    beliefs: WorldBeliefs

    @property
    def problem(self) -> Problem:
        """What was asked."""
        return self.beliefs.problem

    @property
    def too_large(self) -> bool:
        """Whether terms are too many to be held."""
        cells = self.beliefs.cells
        return bool(len(cells.arms) * len(cells.worlds.slot) * cells.arms.shape[2] > MOST_ENTRIES)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Declared tables that are not looked at: where a child's mechanism is not declared, the attributes' own enter as ratios."""
        cells = self.beliefs.cells
        return tuple(", ".join(own.names) for own in cells.own if own.declared is not None) if cells.apart else ()

    @cached_property
    def _sums(self) -> WorldSums:
        return self.beliefs.cells.worlds

    @cached_property
    def _factors(self) -> Factors:
        """Of one replicate."""
        found = self.beliefs.expected_factors
        return replace(found, own=tuple(part[0] if part.ndim == 3 else part for part in found.own))

    @cached_property
    def _mixes(self) -> FloatArray:
        """Of the outcome and of every row, (1 + J, W)."""
        asked = self.problem.compiled.rows
        rows = np.concatenate([asked.by_group, asked.everyone[:, None]], axis=1)
        return np.concatenate([np.eye(rows.shape[1])[-1:], rows])

    def values(self) -> FloatArray:
        """Every arm's outcome and rows, (K, 1 + J)."""
        return np.asarray(self._means @ self._mixes.T)

    @cached_property
    def _means(self) -> FloatArray:
        natural, theta = self.beliefs.everybody[0], self.beliefs.posterior.mean[0]
        return np.concatenate([self.beliefs.worlds[0] @ theta, (natural @ theta)[:, None]], axis=1)

    # ---- tables ----

    @cached_property
    def _at_points(self) -> list[dict[str, IntArray]]:
        """The points with each label's attributes."""
        space = CellSpace.of(self.problem.cell_columns, self.problem.variables)
        codes = space.codes()
        return [at_label(self.problem, label, codes, space.count) for label in range(len(self.problem.groups))]

    def tables(self) -> Iterator[TableMoves]:
        """Of every declared mechanism of an arm, of every child, and of the attributes; fitted ones are in the intervals already."""
        problem, sums, cells = self.problem, self._sums, self.beliefs.cells
        h = self.beliefs.context_weights[0][cells.context_of[sums.context]]
        slots = sums.weights(self._factors) * h
        for k, arm in enumerate(problem.arms):
            if arm.name not in problem.fitted:
                table, entry = self._entries(arm.mechanism)
                yield self._moves(arm.name, k, table, entry[sums.decision], slots[None], np.arange(len(slots)))
        if cells.apart:
            return
        rest = self._factors.arms[:, sums.decision[sums.slot]] * h[sums.slot]
        for j, name in enumerate(WorldTerms(problem).children):
            if name not in problem.fitted:
                table, entry = self._entries(problem.mechanisms[name])
                at = entry[sums.children[:, j]]
                yield self._moves(name, None, table, at, rest * self._product(child=j), sums.slot)
        for j, own in enumerate(cells.own):
            if own.declared is not None:
                at = (own.causes * own.states + own.state[:, None])[sums.own[:, j]]
                yield self._moves(", ".join(own.names), None, own.declared, at, rest * self._product(own=j), sums.slot)

    def _product(self, child: int | None = None, own: int | None = None) -> FloatArray:
        """The children's and the own factors of each term but one, (Q, X)."""
        sums, factors, cells = self._sums, self._factors, self.beliefs.cells
        found = np.ones((len(sums.slot), cells.cell_of.shape[1]))
        for j, factor in enumerate(factors.children):
            found = found if j == child else found * factor[sums.children[:, j]]
        for j, factor in enumerate(factors.own):
            found = found if j == own else found * factor[sums.own[:, j]]
        return found

    def _entries(self, mechanism: Mechanism) -> tuple[FloatArray, IntArray]:
        """A mechanism's table, (B, V), and which entry each label and point has, (P, X)."""
        variables, states = self.problem.variables, self.problem.variables[mechanism.node].size
        inputs = CellSpace.of(mechanism.parents, variables)
        table = mechanism.distribution(inputs.codes(), states, inputs.count)
        space = CellSpace.of((*mechanism.parents, mechanism.node), variables)
        return np.asarray(table), np.stack([space.number(columns) for columns in self._at_points])

    def _moves(
        self, name: str, arm: int | None, table: FloatArray, entry: IntArray, part: FloatArray, slot: IntArray
    ) -> TableMoves:
        """From the entry that each line and point has, (Q, X), and what the other factors make there, (K or 1, Q, X); lines are
        terms or slots of terms, ``slot`` (Q,) the slot of each."""
        worlds, size = self._sums.worlds, table.size
        at = (self._sums.slot_world[slot][:, None] * size + entry).ravel()
        theta = self.beliefs.posterior.mean[0][self.beliefs.cells.cell_of[self._sums.outcome[slot]]]

        def summed(values: FloatArray) -> FloatArray:
            found = sum_by_group(values.reshape(len(values), -1), at, worlds * size)
            return np.asarray(found.reshape(len(values), worlds, *table.shape))

        part = np.broadcast_to(part, (len(part), *entry.shape))
        above, below = summed(part * theta), summed(part)
        total = (below * table).sum(axis=(2, 3))
        total = np.where(total > 0, total, 1.0)[..., None, None]
        above, below = above / total, below / total
        bent = np.ptp(below, axis=3).max(axis=(0, 2)) > SAME  # worlds whose people the table makes
        follows = np.einsum("fw,kwbv->kfbv", self._mixes * ~bent, above)
        return TableMoves(name, arm, table, follows, tuple(self._fractions(table, above, below, bent)))

    def _fractions(
        self, table: FloatArray, above: FloatArray, below: FloatArray, bent: FloatArray
    ) -> Iterator[OfPeople]:
        """Worlds of the same people have the same D: what a row has of them is one fraction."""
        left = np.flatnonzero(bent)
        while len(left):
            alike = np.abs(below[:, left] - below[:, left[:1]]).max(axis=(0, 2, 3)) <= SAME
            worlds, left = left[alike], left[~alike]
            mixes = self._mixes[:, worlds]
            to = np.flatnonzero(mixes.any(axis=1))
            n = np.einsum("fw,kwbv->kfbv", mixes[to], above[:, worlds])
            d = np.repeat(below[:, worlds[:1]], len(to), axis=1)
            most, least = (part(mixes[to], 0.0).sum(axis=1) for part in (np.maximum, np.minimum))
            if len(to):
                yield OfPeople(Fraction(table, n, d), most, least, to, len(self._mixes))
