"""Rows kept one by one, where a column is real-valued."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.beliefs.evidence.base import Observations, RunEvidence, Summary, require_possible, whole_numbers
from fairarm.beliefs.lines import Lines, distinct
from fairarm.core.grouping import moments_by_group, sum_by_group
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.problem.likelihood import Likelihood, likelihood
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch, check_batch, groups_of, scaled_outcomes
from fairarm.problem.shared_cells import SharedCells
from fairarm.problem.space import CellSpace
from fairarm.problem.world_laws import Places


@dataclass(frozen=True)
class RowEvidence(RunEvidence):
    """Rows kept one by one, for problems with a real-valued column; one replicate."""

    problem: Problem
    batch: Batch
    rows: Likelihood

    @classmethod
    def empty(cls, problem: Problem) -> RowEvidence:
        """Before any pull: columns of the right type without a row."""
        none = np.zeros(0, dtype=np.int64)
        columns = {name: _typed_column(problem, name, []) for name in problem.observed}
        return cls(problem, Batch(none, none, columns, none), likelihood(problem, columns, 0))

    def add(self, batch: Batch) -> RowEvidence:
        """The evidence with the rows of a checked batch at its end."""
        fresh = likelihood(self.problem, batch.columns, batch.size)
        group = groups_of(self.problem, batch)
        require_possible(self.problem, batch, fresh.own(batch.arm, group, np.arange(batch.size)))
        joined = Batch(
            np.append(self.batch.arm, batch.arm),
            np.append(self.batch.regime, batch.regime),
            {name: np.append(old, batch.columns[name]) for name, old in self.batch.columns.items()},
            np.append(self.batch.count, batch.count),
        )
        return RowEvidence(self.problem, joined, self.rows.joined(fresh))

    def plus(self, later: RowEvidence) -> RowEvidence:
        """These rows, then the later ones."""
        return self.add(later.batch)

    @property
    def multiplicities(self) -> IntArray:
        """How many rows each line stands for, (I,)."""
        return self.batch.count

    def recounted(self, multiplicities: IntArray) -> RowEvidence:
        """The same lines with other counts; their likelihoods are kept."""
        return RowEvidence(self.problem, replace(self.batch, count=multiplicities), self.rows)

    def since(self, earlier: RowEvidence) -> RowEvidence:
        """The lines that were added after ``earlier``."""
        return self._only(np.arange(earlier.batch.size, self.batch.size))

    def _only(self, rows: IntArray) -> RowEvidence:
        return RowEvidence(self.problem, self.batch.take(rows), self.rows.of(rows))

    def to_json(self) -> Any:
        """The rows, by column."""
        plain = {"arm": self.batch.arm, "regime": self.batch.regime, "count": self.batch.count}
        columns = {name: values.tolist() for name, values in self.batch.columns.items()}
        return {**{name: values.tolist() for name, values in plain.items()}, "columns": columns}

    @classmethod
    def from_json(cls, problem: Problem, document: Any) -> RowEvidence:
        """As `to_json` wrote it, checked as rows from outside are."""
        arm, regime, count = (whole_numbers(document[name]) for name in ("arm", "regime", "count"))
        columns = {name: _typed_column(problem, name, values) for name, values in document["columns"].items()}
        batch = Batch(arm, regime, columns, count)
        check_batch(problem, batch)
        return cls.empty(problem).add(batch)

    @property
    def likelihood(self) -> Likelihood:
        """Of each line, computed when it was added."""
        return self.rows

    def pulls(self) -> IntArray:
        """Lines counted by unit, (1, R, K)."""
        out = np.zeros((1, len(self.problem.regimes), len(self.problem.arms)), dtype=np.int64)
        np.add.at(out[0], (self.batch.regime, self.batch.arm), self.batch.count)
        return out

    def observations(self, regimes: tuple[int, ...]) -> Observations:
        """One per line, which points at its own likelihood."""
        rows = np.flatnonzero(np.isin(self.batch.regime, regimes))
        sums = (scaled_outcomes(self.problem, self.batch) * self.batch.count)[None, rows]
        return Observations(self.batch.arm[rows], groups_of(self.problem, self.batch)[rows], rows, sums)

    def of_replicates(self, which: BoolArray) -> RowEvidence:
        """Itself: there is one replicate."""
        return self

    def summary(self, cells: SharedCells | Places) -> Summary:
        """Lines by shared cell; without counts of states, as the outcome may be real."""
        problem, batch = self.problem, self.batch
        group, outcome = groups_of(problem, batch), scaled_outcomes(problem, batch)
        x = CellSpace.of(problem.cell_columns, problem.variables).number(batch.columns)
        cell = cells.cell_of[group, x]
        none = np.zeros(len(outcome))
        rows, sums, within, _ = moments_by_group(
            np.stack([batch.count, batch.count * outcome, none, none])[:, None], cell, cells.cells
        )
        by_arm = self._made(group)[None]
        natural = sum_by_group(np.where(batch.regime == 0, batch.count, 0)[None], group, len(problem.groups))
        contexts = sum_by_group(batch.count[None], cells.context_of[group, x], cells.contexts)
        return Summary(rows.astype(np.int64), sums, within, None, by_arm, contexts, natural)

    def rows_by_cell(self, regimes: tuple[int, ...] | None = None) -> IntArray:
        """Lines counted."""
        count = self.batch.count if regimes is None else self.batch.count * np.isin(self.batch.regime, regimes)
        space = CellSpace.of(self.problem.cell_columns, self.problem.variables)
        made = np.zeros((1, len(self.problem.arms), len(self.problem.groups), space.count), dtype=np.int64)
        at = (self.batch.arm, groups_of(self.problem, self.batch), space.number(self.batch.columns))
        np.add.at(made[0], at, count)
        return made

    def _made(self, group: IntArray) -> IntArray:
        """n_{j,t}, (K, G)."""
        made = np.zeros((len(self.problem.arms), len(self.problem.groups)), dtype=np.int64)
        np.add.at(made, (self.batch.arm, group), self.batch.count)
        return made

    def lines(self, replicate: int = 0) -> Lines:
        """Equal lines merged, in an order that depends on their content alone."""
        problem, batch = self.problem, self.batch
        group = groups_of(problem, batch)
        natural = np.zeros(len(problem.groups), dtype=np.int64)
        np.add.at(natural, group, np.where(batch.regime == 0, batch.count, 0))
        names = (problem.sensitive, *problem.cell_columns)
        used = np.flatnonzero(batch.count)
        first, at = distinct([np.asarray(batch.columns[name])[used] for name in (*names, problem.outcome.node)])
        first, count = used[first], np.zeros(len(first), dtype=np.int64)
        np.add.at(count, at, batch.count[used])
        outcome = scaled_outcomes(problem, batch.take(first))
        columns = {name: np.asarray(batch.columns[name])[first] for name in names}
        found = self.rows.of(first)
        made = self._made(group)
        return Lines(group[first], columns, outcome, count, found.arms, found.known_children, made, natural)

    def group_sums(self, regimes: tuple[int, ...]) -> tuple[IntArray, FloatArray]:
        """Lines counted and summed by the arm and group that made them."""
        seen = self.observations(regimes)
        shape = (1, len(self.problem.arms), len(self.problem.groups))
        rows, sums = np.zeros(shape, dtype=np.int64), np.zeros(shape)
        np.add.at(rows[0], (seen.arm, seen.group), self.batch.count[seen.at])
        np.add.at(sums[0], (seen.arm, seen.group), seen.outcome_sum[0])
        return rows, sums


def _typed_column(problem: Problem, name: str, values: Any) -> NDArray[Any]:
    """Codes as int64, real values as float64."""
    finite = name in problem.variables and problem.variables[name].finite
    if any(type(v) is not int and (finite or type(v) is not float) for v in values):
        raise TypeError(f"column '{name}' does not hold numbers")
    return np.array(values, dtype=np.int64 if finite else np.float64)
