"""What the pulls so far say, in the form the estimators take: counts of cells, or rows, weighted the same way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.core.grouping import sum_by_group
from fairarm.core.paper.estimators import Terms, gap_weights, outcome_weights
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.errors import DataError
from fairarm.problem.likelihood import Likelihood, likelihood
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import MOST_ROWS, Batch, check_batch, groups_of, scaled_outcomes
from fairarm.problem.shared_cells import SharedCells
from fairarm.problem.space import CellSpace

BLOCK = 1 << 22
"""Weights (K × observations) held at once: 32 MiB."""


@dataclass(frozen=True)
class Observations:
    """Rows, or cells with a multiplicity: the arm pulled, the position of S among the groups, the place in the
    likelihood, each (I,), and the sum of scaled outcomes, (n, I)."""

    arm: IntArray
    group: IntArray
    at: IntArray
    outcome_sum: FloatArray

    def blocks(self, arms: int) -> Iterator[Observations]:
        """Parts whose weights fit in memory."""
        size = max(1, BLOCK // arms)
        for start in range(0, len(self.arm), size):
            part = slice(start, start + size)
            yield Observations(self.arm[part], self.group[part], self.at[part], self.outcome_sum[:, part])


@dataclass(frozen=True)
class Summary:
    """Everything the pooled estimates need of the rows, pooled over arms and regimes; N replicates."""

    rows: IntArray
    """n_c, (N, C)."""
    sums: FloatArray
    """Σ Y' in the cell, (N, C)."""
    squares: FloatArray
    states: IntArray | None
    """Rows by cell and outcome state, (N, C, O); None for a real outcome."""
    by_arm: IntArray
    """n_{j,t}: rows of arm j with S = t in any regime, (N, K, G)."""
    contexts: IntArray
    """Rows in each context, (N, Z)."""
    natural: IntArray
    """Natural rows by group, (N, G)."""


class Evidence(ABC):
    """What was pulled and what came back, of one or more replicates (n)."""

    problem: Problem

    @property
    @abstractmethod
    def likelihood(self) -> Likelihood:
        """What ``Observations.at`` points into."""

    @abstractmethod
    def observations(self, regimes: tuple[int, ...]) -> Observations:
        """What the pulls in these regimes returned."""

    @abstractmethod
    def pulls(self) -> IntArray:
        """(n, R, K)."""

    @property
    def every_regime(self) -> tuple[int, ...]:
        """Natural, and forced to each of the groups: what ``regimes`` is where all pulls count."""
        return tuple(range(len(self.problem.regimes)))

    @abstractmethod
    def group_sums(self, regimes: tuple[int, ...]) -> tuple[IntArray, FloatArray]:
        """Rows and sums of scaled outcomes of the pulls in these regimes by arm and group, each (n, K, G).

        ``(0,)`` are natural pulls alone, where the groups come as they are; `every_regime` counts forced ones too.
        """

    @abstractmethod
    def of_replicates(self, which: BoolArray) -> Evidence:
        """Only these replicates."""

    @abstractmethod
    def summary(self, cells: SharedCells) -> Summary:
        """Counts by cell and context; every column but the outcome must be finite."""

    def outcome_terms(self, regimes: tuple[int, ...]) -> Iterator[Terms]:
        """Weights r_kj of the pulls in these regimes."""
        for seen in self.observations(regimes).blocks(len(self.problem.arms)):
            yield Terms(self._outcome_weight(seen), seen.arm, seen.outcome_sum)

    def gap_terms(self, direction: int) -> Iterator[Terms]:
        """Weights g_kj: direction 0 is ζ^{s,s'} from pulls forced to s', 1 is ζ^{s',s} from pulls forced to s."""
        for seen in self.observations((2 - direction,)).blocks(len(self.problem.arms)):
            yield Terms(self._gap_weight(seen, direction), seen.arm, seen.outcome_sum)

    def _outcome_weight(self, seen: Observations) -> FloatArray:
        arms = self.likelihood.arms
        return outcome_weights(arms[:, seen.group, seen.at], arms[seen.arm, seen.group, seen.at])

    def _gap_weight(self, seen: Observations, direction: int) -> FloatArray:
        log_L, to, given = self.likelihood.log_L, direction, 1 - direction
        return gap_weights(log_L[:, to, seen.at], log_L[:, given, seen.at], log_L[seen.arm, given, seen.at])


@dataclass(frozen=True)
class CellEvidence(Evidence):
    """Counts of (regime, arm, group, cell and outcome state), (n, R, K, G, O), of a finite problem."""

    problem: Problem
    counts: IntArray

    @classmethod
    def empty(cls, problem: Problem, n: int = 1) -> CellEvidence:
        shape = (n, len(problem.regimes), len(problem.arms), len(problem.groups), problem.row_space.count)
        return cls(problem, np.zeros(shape, dtype=np.int64))

    def add(self, batch: Batch) -> CellEvidence:
        """The evidence with a checked batch added to its only replicate."""
        group, cell = groups_of(self.problem, batch), self.problem.row_space.number(batch.columns)
        _require_possible(self.problem, batch, self.likelihood.own(batch.arm, group, self._at(cell)))
        counts = self.counts.copy()
        np.add.at(counts[0], (batch.regime, batch.arm, group, cell), batch.count)
        return CellEvidence(self.problem, counts)

    def since(self, earlier: CellEvidence) -> CellEvidence:
        return CellEvidence(self.problem, self.counts - earlier.counts)

    def to_json(self) -> Any:
        """Positions and counts that are not zero."""
        at = np.flatnonzero(self.counts[0])
        return {"cells": at.tolist(), "counts": self.counts[0].ravel()[at].tolist()}

    @classmethod
    def from_json(cls, problem: Problem, document: Any) -> CellEvidence:
        made = cls.empty(problem)
        cells, counts = (_whole_numbers(document[part]) for part in ("cells", "counts"))
        if len(cells) != len(counts) or np.any(cells >= made.counts[0].size) or np.any(np.diff(cells) <= 0):
            raise ValueError("cells and counts do not fit the problem")
        if sum(document["counts"]) > MOST_ROWS:
            raise ValueError(f"it has more than {MOST_ROWS} rows")
        made.counts[0].reshape(-1)[cells] = counts
        return made

    @property
    def likelihood(self) -> Likelihood:
        return self.problem.tables.likelihood

    def pulls(self) -> IntArray:
        return np.asarray(self.counts.sum(axis=(3, 4)))

    def observations(self, regimes: tuple[int, ...]) -> Observations:
        """Only what was seen with an outcome above its lowest: the rest adds nothing to any estimate."""
        chosen = self._counts_in(regimes)
        arm, group, row = np.nonzero(chosen[0] if len(chosen) == 1 else chosen.any(axis=0))
        outcome = self.problem.row_outcomes[row]
        if not outcome.all():
            above = np.flatnonzero(outcome)
            arm, group, row, outcome = arm[above], group[above], row[above], outcome[above]
        return Observations(arm, group, self._at(row), chosen[:, arm, group, row] * outcome)

    def _at(self, row: IntArray) -> IntArray:
        """The cell of L: without the outcome, unless S → Y is an edge."""
        if self.problem.outcome.node in self.problem.relevant_children:
            return row
        return row // len(self.problem.outcome.values or ())

    def _outcome_weight(self, seen: Observations) -> FloatArray:
        kept = self.problem.tables.outcome_weights
        return super()._outcome_weight(seen) if kept is None else kept[:, seen.arm, seen.group, seen.at]

    def _gap_weight(self, seen: Observations, direction: int) -> FloatArray:
        kept = self.problem.tables.gap_weights
        return super()._gap_weight(seen, direction) if kept is None else kept[direction][:, seen.arm, seen.at]

    def of_replicates(self, which: BoolArray) -> CellEvidence:
        return self if which.all() else CellEvidence(self.problem, self.counts[which])

    def summary(self, cells: SharedCells) -> Summary:
        N, values = len(self.counts), self.problem.outcome.scaled_values
        seen = self.counts.sum(axis=(1, 2)).reshape(N, -1, len(values))  # by group and cell, then the outcome's state
        states = np.stack(
            [sum_by_group(seen[:, :, y], cells.cell_of.ravel(), cells.cells) for y in range(len(values))], axis=2
        )
        contexts = sum_by_group(seen.sum(axis=2), cells.context_of.ravel(), cells.contexts)
        return Summary(
            rows=states.sum(axis=2),
            sums=states @ values,
            squares=states @ values**2,
            states=states,
            by_arm=self.counts.sum(axis=(1, 4)),
            contexts=contexts,
            natural=self.counts[:, 0].sum(axis=(1, 3)),
        )

    def group_sums(self, regimes: tuple[int, ...]) -> tuple[IntArray, FloatArray]:
        chosen = self._counts_in(regimes)
        return chosen.sum(axis=-1), chosen @ self.problem.row_outcomes

    def _counts_in(self, regimes: tuple[int, ...]) -> IntArray:
        return self.counts[:, regimes[0]] if len(regimes) == 1 else self.counts[:, regimes].sum(axis=1)


@dataclass(frozen=True)
class RowEvidence(Evidence):
    """Rows kept one by one, for problems with a real-valued column; one replicate."""

    problem: Problem
    batch: Batch
    rows: Likelihood

    @classmethod
    def empty(cls, problem: Problem) -> RowEvidence:
        none = np.zeros(0, dtype=np.int64)
        columns = {name: _typed_column(problem, name, []) for name in problem.observed}
        return cls(problem, Batch(none, none, columns, none), likelihood(problem, columns, 0))

    def add(self, batch: Batch) -> RowEvidence:
        """The evidence with the rows of a checked batch at its end."""
        fresh = likelihood(self.problem, batch.columns, batch.size)
        group = groups_of(self.problem, batch)
        _require_possible(self.problem, batch, fresh.own(batch.arm, group, np.arange(batch.size)))
        joined = Batch(
            np.append(self.batch.arm, batch.arm),
            np.append(self.batch.regime, batch.regime),
            {name: np.append(old, batch.columns[name]) for name, old in self.batch.columns.items()},
            np.append(self.batch.count, batch.count),
        )
        return RowEvidence(self.problem, joined, self.rows.joined(fresh))

    def since(self, earlier: RowEvidence) -> RowEvidence:
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
        arm, regime, count = (_whole_numbers(document[name]) for name in ("arm", "regime", "count"))
        columns = {name: _typed_column(problem, name, values) for name, values in document["columns"].items()}
        batch = Batch(arm, regime, columns, count)
        check_batch(problem, batch)
        return cls.empty(problem).add(batch)

    @property
    def likelihood(self) -> Likelihood:
        return self.rows

    def pulls(self) -> IntArray:
        out = np.zeros((1, len(self.problem.regimes), len(self.problem.arms)), dtype=np.int64)
        np.add.at(out[0], (self.batch.regime, self.batch.arm), self.batch.count)
        return out

    def observations(self, regimes: tuple[int, ...]) -> Observations:
        rows = np.flatnonzero(np.isin(self.batch.regime, regimes))
        sums = (scaled_outcomes(self.problem, self.batch) * self.batch.count)[None, rows]
        return Observations(self.batch.arm[rows], groups_of(self.problem, self.batch)[rows], rows, sums)

    def of_replicates(self, which: BoolArray) -> RowEvidence:
        return self

    def summary(self, cells: SharedCells) -> Summary:
        problem, batch = self.problem, self.batch
        group, outcome = groups_of(problem, batch), scaled_outcomes(problem, batch)
        x = CellSpace.of(problem.cell_columns, problem.variables).number(batch.columns)
        cell = cells.cell_of[group, x]
        rows, sums, squares = (
            sum_by_group((batch.count * power)[None], cell, cells.cells) for power in (outcome**0, outcome, outcome**2)
        )
        by_arm = np.zeros((1, len(problem.arms), len(problem.groups)), dtype=np.int64)
        np.add.at(by_arm[0], (batch.arm, group), batch.count)
        natural = sum_by_group(np.where(batch.regime == 0, batch.count, 0)[None], group, len(problem.groups))
        contexts = sum_by_group(batch.count[None], cells.context_of[group, x], cells.contexts)
        return Summary(rows.astype(np.int64), sums, squares, None, by_arm, contexts, natural)

    def group_sums(self, regimes: tuple[int, ...]) -> tuple[IntArray, FloatArray]:
        seen = self.observations(regimes)
        shape = (1, len(self.problem.arms), len(self.problem.groups))
        rows, sums = np.zeros(shape, dtype=np.int64), np.zeros(shape)
        np.add.at(rows[0], (seen.arm, seen.group), self.batch.count[seen.at])
        np.add.at(sums[0], (seen.arm, seen.group), seen.outcome_sum[0])
        return rows, sums


@dataclass(frozen=True)
class SumEvidence(Evidence):
    """Rows, sums and sums of squares of a real outcome by (regime, arm, group, cell), (R, K, G, X) each: what a log with
    finite columns comes to, however long it is; one replicate."""

    problem: Problem
    counts: IntArray
    sums: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, problem: Problem, batch: Batch, sums: FloatArray) -> SumEvidence:
        """From lines without an outcome and their Σ Y' and Σ Y'², (I, 2)."""
        space = CellSpace.of(problem.cell_columns, problem.variables)
        at = (batch.regime, batch.arm, groups_of(problem, batch), space.number(batch.columns))
        shape = (len(problem.regimes), len(problem.arms), len(problem.groups), space.count)
        made = cls(problem, np.zeros(shape, dtype=np.int64), np.zeros(shape), np.zeros(shape))
        np.add.at(made.counts, at, batch.count)
        np.add.at(made.sums, at, sums[:, 0])
        np.add.at(made.squares, at, sums[:, 1])
        return made

    @cached_property
    def likelihood(self) -> Likelihood:
        space = CellSpace.of(self.problem.cell_columns, self.problem.variables)
        return likelihood(self.problem, space.codes(), space.count)

    def pulls(self) -> IntArray:
        return np.asarray(self.counts.sum(axis=(2, 3)))[None]

    def observations(self, regimes: tuple[int, ...]) -> Observations:
        arm, group, cell = np.nonzero(self.counts[list(regimes)].any(axis=0))
        sums = self.sums[list(regimes)].sum(axis=0)[arm, group, cell]
        return Observations(arm, group, cell, sums[None])

    def of_replicates(self, which: BoolArray) -> SumEvidence:
        return self

    def summary(self, cells: SharedCells) -> Summary:
        at = cells.cell_of.ravel()
        rows, sums, squares = (
            sum_by_group(part.sum(axis=(0, 1)).reshape(1, -1), at, cells.cells)
            for part in (self.counts, self.sums, self.squares)
        )
        contexts = sum_by_group(self.counts.sum(axis=(0, 1)).reshape(1, -1), cells.context_of.ravel(), cells.contexts)
        return Summary(
            rows,
            sums,
            squares,
            None,
            self.counts.sum(axis=(0, 3))[None],
            contexts,
            self.counts[0].sum(axis=(0, 2))[None],
        )

    def group_sums(self, regimes: tuple[int, ...]) -> tuple[IntArray, FloatArray]:
        rows, sums = (part[list(regimes)].sum(axis=(0, 3))[None] for part in (self.counts, self.sums))
        return rows, sums


def empty_evidence(problem: Problem) -> CellEvidence | RowEvidence:
    return CellEvidence.empty(problem) if problem.finite else RowEvidence.empty(problem)


def _whole_numbers(values: Any) -> IntArray:
    """A saved list of whole numbers, 0 or more."""
    if not isinstance(values, list) or any(type(v) is not int or v < 0 for v in values):
        raise TypeError("a list of whole numbers is needed")
    return np.array(values, dtype=np.int64)


def _typed_column(problem: Problem, name: str, values: Any) -> NDArray[Any]:
    """Codes as int64, real values as float64."""
    finite = name in problem.variables and problem.variables[name].finite
    if any(type(v) is not int and (finite or type(v) is not float) for v in values):
        raise TypeError(f"column '{name}' does not hold numbers")
    return np.array(values, dtype=np.int64 if finite else np.float64)


def _require_possible(problem: Problem, batch: Batch, own: FloatArray) -> None:
    """An error if a row has probability 0 under its own arm and group; ``own`` is its log-likelihood."""
    impossible = np.isneginf(own) & (batch.count > 0)
    if np.any(impossible):
        row = int(np.argmax(impossible))
        names = (problem.decision, *problem.relevant_children)
        values = ", ".join(f"{name}='{_label(problem, name, batch.columns[name][row])}'" for name in names)
        raise DataError(
            f"A row of arm '{problem.arm_names[int(batch.arm[row])]}' has {values}, which the declared mechanisms give "
            f"probability 0. The row is from another arm, or a declared mechanism is not the one that ran."
        )


def _label(problem: Problem, name: str, value: Any) -> str:
    states = problem.variables[name].states if name in problem.variables else None
    return str(value) if states is None else states[int(value)]
