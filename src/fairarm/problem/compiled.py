"""What is computed from a problem for algorithms: arrays and tables, each once and only if it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairarm.core.fairness import Rows
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.errors import ProblemError
from fairarm.problem.fairness import scaled_rows
from fairarm.problem.gap_ends import GapEnds, gap_ends, row_pairs
from fairarm.problem.regimes import values_of_regime
from fairarm.problem.shared_cells import SharedCells, shared_cells
from fairarm.problem.space import CellSpace
from fairarm.problem.tables import Tables, build_tables
from fairarm.problem.world_cells import WorldCells, world_cells
from fairarm.problem.worlds import Profile

if TYPE_CHECKING:
    from fairarm.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class Compiled:
    """A problem as arrays. There is one for each problem: ``problem.compiled``."""

    problem: Problem

    @cached_property
    def likelihood_columns(self) -> tuple[str, ...]:
        """What L depends on besides S: the cell, and Y too where S → Y is an edge."""
        problem, outcome = self.problem, self.problem.outcome.node
        return (*problem.cell_columns, outcome) if outcome in problem.relevant_children else problem.cell_columns

    @cached_property
    def tables(self) -> Tables:
        """Likelihoods over cells and divergences."""
        return build_tables(self.problem)

    @cached_property
    def shared_cells(self) -> SharedCells:
        """The cells in which every arm and group informs the same mean outcome; columns other than Y must be finite.

        Of a plain problem: elsewhere groups are not what is asked about, and taking them for it would be wrong without a word.
        """
        if not self.problem.plain:
            raise ProblemError(
                f"Problem '{self.problem.name}' asks about more than the groups of one attribute without causes, and this part works with "
                f"those alone. Use pool, evaluate or inspect."
            )
        return shared_cells(self.problem)

    @cached_property
    def world_cells(self) -> WorldCells:
        """The same of a problem that is not plain."""
        return world_cells(self.problem)

    @cached_property
    def finite(self) -> bool:
        """Every observed column has states: rows can be counted instead of kept."""
        variables = self.problem.variables
        return all(node in variables and variables[node].finite for node in self.problem.observed)

    @cached_property
    def row_space(self) -> CellSpace:
        """Cells with the outcome's state, last: what a row can be, besides S. All of it must be finite."""
        return CellSpace.of((*self.problem.cell_columns, self.problem.outcome.node), self.problem.variables)

    @cached_property
    def row_outcomes(self) -> FloatArray:
        """Y' of each cell of the row space, (O,)."""
        outcome = self.problem.outcome
        return np.asarray(outcome.scaled_values[self.row_space.codes()[outcome.node]])

    @cached_property
    def cost_array(self) -> FloatArray:
        """Costs as (R, K), +inf in regimes that are not offered: no plan within costs has such a pull."""
        return np.array(self.problem.costs, dtype=np.float64).T.copy()

    def cost_of(self, pulls: IntArray) -> FloatArray:
        """What pulls (..., R, K) cost in all, (...)."""
        costs = self.cost_array
        return np.asarray((pulls * np.where(np.isfinite(costs), costs, 0.0)).sum(axis=(-2, -1)))

    @cached_property
    def group_codes(self) -> tuple[int, ...]:
        """The code of each group among the states of the one attribute."""
        return tuple(self.problem.variables[self.problem.attribute].code(group) for group in self.problem.groups)

    @cached_property
    def profile_codes(self) -> IntArray:
        """The code of each attribute's state in each label, (P, m)."""
        sizes = self._attribute_sizes
        if len(sizes) == 1:
            return np.array(self.group_codes, dtype=np.int64)[:, None]
        return np.stack(np.unravel_index(np.arange(len(self.problem.groups)), sizes), axis=1).astype(np.int64)

    @cached_property
    def regime_fits(self) -> BoolArray:
        """Which labels the rows of each regime can have, (R, P)."""
        states = self.problem.attribute_states
        forced = [values_of_regime(regime, states) for regime in self.problem.regimes[1:]]
        return np.stack([self.fitting(tuple(values.items())) for values in ({}, *forced)])

    def fitting(self, profile: Profile) -> BoolArray:
        """Which labels have these states, (P,)."""
        problem, codes = self.problem, self.profile_codes
        fits = np.ones(len(codes), dtype=np.bool_)
        for attribute, state in profile:
            fits &= codes[:, problem.attributes.index(attribute)] == problem.variables[attribute].code(state)
        return fits

    def labels(self, columns: Mapping[str, NDArray[Any]]) -> IntArray:
        """The position among the labels of each row, from the codes of its attributes."""
        return np.asarray(self._label_of[tuple(columns[attribute] for attribute in self.problem.attributes)])

    @cached_property
    def _label_of(self) -> IntArray:
        """The position of the label with these codes, one axis per attribute."""
        found = np.empty(self._attribute_sizes, dtype=np.int64)
        found[tuple(self.profile_codes.T)] = np.arange(len(self.problem.groups))
        return found

    @property
    def _attribute_sizes(self) -> tuple[int, ...]:
        return tuple(self.problem.variables[attribute].size for attribute in self.problem.attributes)

    @cached_property
    def rows(self) -> Rows:
        """What is asked of every arm, on the scale of Y'."""
        return scaled_rows(self.problem)

    @cached_property
    def gap_ends(self) -> GapEnds:
        """The ends of every compared pair's gap, where differences of two groups are all that is asked about."""
        return gap_ends(self.problem)

    @cached_property
    def row_pairs(self) -> IntArray:
        """Which compared pair's gap each row is, (J,); −1 for a row that is no gap."""
        return row_pairs(self.problem)

    @property
    def scaled_tolerance(self) -> float:
        """E' = E / (hi − lo)."""
        return self.problem.gap_tolerance / self.problem.outcome.width
