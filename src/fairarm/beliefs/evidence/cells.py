"""Rows counted by regime, arm, group and cell, of a finite problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairarm.beliefs.evidence.base import (
    CountedEvidence,
    Observations,
    RunEvidence,
    Summary,
    require_possible,
    whole_numbers,
)
from fairarm.beliefs.lines import Columns, Lines
from fairarm.core.grouping import sum_by_group
from fairarm.core.proof.log_intervals import GroupCells
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.problem.likelihood import Likelihood
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import MOST_ROWS, Batch, groups_of
from fairarm.problem.shared_cells import SharedCells
from fairarm.problem.world_laws import Places


@dataclass(frozen=True)
class CellEvidence(RunEvidence, CountedEvidence):
    """Counts of (regime, arm, group, cell and outcome state), (n, R, K, G, O), of a finite problem."""

    problem: Problem
    counts: IntArray
    unplaced: IntArray | None = None
    """Natural rows whose cell is not known, by arm, group (last: not known either) and outcome state, (n, K, G + 1, O): beliefs integrate
    over their cells. ``counts`` does not have them."""

    @classmethod
    def empty(cls, problem: Problem, n: int = 1) -> CellEvidence:
        """Before any pull, of ``n`` replicates."""
        shape = (n, len(problem.regimes), len(problem.arms), len(problem.groups), problem.compiled.row_space.count)
        return cls(problem, np.zeros(shape, dtype=np.int64))

    def add(self, batch: Batch) -> CellEvidence:
        """The evidence with a checked batch added to its only replicate."""
        group, cell = groups_of(self.problem, batch), self.problem.compiled.row_space.number(batch.columns)
        require_possible(self.problem, batch, self.likelihood.own(batch.arm, group, self._at(cell)))
        counts = self.counts.copy()
        np.add.at(counts[0], (batch.regime, batch.arm, group, cell), batch.count)
        return CellEvidence(self.problem, counts)

    @property
    def replicates(self) -> int:
        """n, the leading axis of the counts."""
        return len(self.counts)

    def plus(self, later: CellEvidence) -> CellEvidence:
        """Both together: counts add up."""
        found = [each.unplaced for each in (self, later) if each.unplaced is not None]
        return CellEvidence(self.problem, self.counts + later.counts, sum(found[1:], found[0]) if found else None)

    def since(self, earlier: CellEvidence) -> CellEvidence:
        """What came after ``earlier``, which is part of this."""
        return CellEvidence(self.problem, self.counts - earlier.counts)

    @property
    def multiplicities(self) -> IntArray:
        """The counts themselves: each cell stands for so many rows."""
        return self.counts

    def recounted(self, multiplicities: IntArray) -> CellEvidence:
        """The same cells with other counts."""
        return CellEvidence(self.problem, multiplicities)

    def to_json(self) -> Any:
        """Positions and counts that are not zero."""
        at = np.flatnonzero(self.counts[0])
        made = {"cells": at.tolist(), "counts": self.counts[0].ravel()[at].tolist()}
        return made if self.unplaced is None else {**made, "unplaced": self.unplaced[0].ravel().tolist()}

    @classmethod
    def from_json(cls, problem: Problem, document: Any) -> CellEvidence:
        """As `to_json` wrote it; a ValueError where it does not fit the problem."""
        made = cls.empty(problem)
        cells, counts = (whole_numbers(document[part]) for part in ("cells", "counts"))
        if len(cells) != len(counts) or np.any(cells >= made.counts[0].size) or np.any(np.diff(cells) <= 0):
            raise ValueError("cells and counts do not fit the problem")
        if sum(document["counts"]) > MOST_ROWS:
            raise ValueError(f"it has more than {MOST_ROWS} rows")
        made.counts[0].reshape(-1)[cells] = counts
        if "unplaced" not in document:
            return made
        shape = (1, len(problem.arms), len(problem.groups) + 1, len(problem.outcome.scaled_values))
        return cls(problem, made.counts, whole_numbers(document["unplaced"]).reshape(shape))

    @property
    def likelihood(self) -> Likelihood:
        """Of the problem's cells, computed once for all runs."""
        return self.problem.compiled.tables.likelihood

    def pulls(self) -> IntArray:
        """Rows of every unit, (n, R, K): each pull brought one."""
        return np.asarray(self.counts.sum(axis=(3, 4)))

    def observations(self, regimes: tuple[int, ...]) -> Observations:
        """Only what was seen with an outcome above its lowest: the rest adds nothing to any estimate."""
        chosen = self._counts_in(regimes)
        arm, group, row = np.nonzero(chosen[0] if len(chosen) == 1 else chosen.any(axis=0))
        outcome = self.problem.compiled.row_outcomes[row]
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
        kept = self.problem.compiled.tables.outcome_weights
        return super()._outcome_weight(seen) if kept is None else kept[:, seen.arm, seen.group, seen.at]

    def _gap_weight(self, seen: Observations, pair: int) -> FloatArray:
        kept = self.problem.compiled.tables.gap_weights
        return super()._gap_weight(seen, pair) if kept is None else kept[pair][:, seen.arm, seen.at]

    def of_replicates(self, which: BoolArray) -> CellEvidence:
        """Some of the replicates; all of them without a copy."""
        if which.all():
            return self
        return CellEvidence(self.problem, self.counts[which], None if self.unplaced is None else self.unplaced[which])

    def of_arms(self, which: BoolArray) -> CellEvidence:
        """The counts of the other arms are 0."""
        return CellEvidence(self.problem, self.counts * which[:, None, None])

    def summary(self, cells: SharedCells | Places) -> Summary:
        """By shared cell, with the states' counts: regime and arm play no part in what a cell says of θ."""
        N, values = len(self.counts), self.problem.outcome.scaled_values
        seen = self.counts.sum(axis=(1, 2)).reshape(N, -1, len(values))  # by group and cell, then the outcome's state
        states = np.stack(
            [sum_by_group(seen[:, :, y], cells.cell_of.ravel(), cells.cells) for y in range(len(values))], axis=2
        )
        contexts = sum_by_group(seen.sum(axis=2), cells.context_of.ravel(), cells.contexts)
        rows, sums = states.sum(axis=2), states @ values
        return Summary(
            rows=rows,
            sums=sums,
            within=states @ values**2 - sums**2 / np.maximum(rows, 1),
            states=states,
            by_arm=self.counts.sum(axis=(1, 4)),
            contexts=contexts,
            natural=self.counts[:, 0].sum(axis=(1, 3)),
        )

    def rows_by_cell(self, regimes: tuple[int, ...] | None = None) -> IntArray:
        """Sums over regimes and over the outcome's states."""
        by_row = self.counts.sum(axis=1) if regimes is None else self._counts_in(regimes)
        return np.asarray(by_row.reshape(*by_row.shape[:3], -1, len(self.problem.outcome.scaled_values)).sum(axis=4))

    def by_group(self) -> GroupCells:
        """Of one replicate, by group and cell."""
        values = self.problem.outcome.scaled_values
        seen = self.counts[0].sum(axis=(0, 1))
        states = seen.reshape(len(seen), -1, len(values)).astype(np.float64)
        made = self.counts[0].sum(axis=(0, 3))
        return GroupCells(states.sum(axis=2), states @ values, states @ values**2, made)

    def by_state(self) -> IntArray:
        """Of one replicate, over the regimes."""
        seen = self.counts[0].sum(axis=0)
        return np.asarray(seen.reshape(*seen.shape[:2], -1, len(self.problem.outcome.scaled_values)))

    def natural_squares(self) -> FloatArray:
        """Σ Y'² of the natural rows by group, (G,)."""
        return np.asarray(self.counts[0, 0].sum(axis=0) @ self.problem.compiled.row_outcomes**2)

    def lines(self, replicate: int = 0) -> Lines:
        """One line per state of S, cell and outcome that has a row."""
        problem, counts = self.problem, self.counts[replicate]
        by_code = np.zeros(counts.shape[2:], dtype=np.int64)  # (states of S, O): the order of the groups plays no part
        by_code[list(problem.compiled.group_codes)] = counts.sum(axis=(0, 1))
        code, row = np.nonzero(by_code)
        group = np.argsort(np.array(problem.compiled.group_codes))[code]
        codes, found = problem.compiled.row_space.codes(row), self.likelihood.of(self._at(row))
        columns: Columns = {problem.sensitive: code, **{name: codes[name] for name in problem.cell_columns}}
        made, natural = counts.sum(axis=(0, 3)), counts[0].sum(axis=(0, 2))
        outcome = problem.compiled.row_outcomes[row]
        return Lines(group, columns, outcome, by_code[code, row], found.arms, found.known_children, made, natural)

    def group_sums(self, regimes: tuple[int, ...]) -> tuple[IntArray, FloatArray]:
        """Sums over cells; the outcome's value is part of the cell."""
        chosen = self._counts_in(regimes)
        return chosen.sum(axis=-1), chosen @ self.problem.compiled.row_outcomes

    def _counts_in(self, regimes: tuple[int, ...]) -> IntArray:
        return self.counts[:, regimes[0]] if len(regimes) == 1 else self.counts[:, regimes].sum(axis=1)
