"""Evidence of a long log with a real outcome and finite columns: sums by cell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from fairarm.beliefs.evidence.base import CountedEvidence, Observations, Summary
from fairarm.beliefs.lines import Lines
from fairarm.core.grouping import moments_by_group, sum_by_group
from fairarm.core.proof.log_intervals import GroupCells
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.problem.likelihood import Likelihood, likelihood
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch, groups_of
from fairarm.problem.shared_cells import SharedCells
from fairarm.problem.space import CellSpace
from fairarm.problem.world_laws import Places


@dataclass(frozen=True)
class SumEvidence(CountedEvidence):
    """Rows, sums, and Σ (Y' − Ȳ')² and Σ (Y' − Ȳ')³ of a real outcome by (regime, arm, group, cell), (R, K, G, X) each: what a log
    with finite columns comes to, however long it is; one replicate."""

    problem: Problem
    counts: IntArray
    sums: FloatArray
    within: FloatArray
    third: FloatArray
    pilot: SumEvidence | None = None
    """Of the rows that are chosen by their ids, where every row has one."""
    summed: ClassVar[bool] = True

    @classmethod
    def of(cls, problem: Problem, batch: Batch, moments: FloatArray, pilot: BoolArray | None = None) -> SumEvidence:
        """From lines without an outcome and their Σ Y', Σ (Y' − Ȳ')² and Σ (Y' − Ȳ')³, (I, 3); ``pilot`` (I,): those chosen by their
        ids."""
        space = CellSpace.of(problem.cell_columns, problem.variables)
        shape = (len(problem.regimes), len(problem.arms), len(problem.groups), space.count)
        place = (batch.regime, batch.arm, groups_of(problem, batch), space.number(batch.columns))
        at = np.ravel_multi_index(place, shape)
        chosen = None if pilot is None else cls.of(problem, batch.take(np.flatnonzero(pilot)), moments[pilot])
        by_place = moments_by_group(np.stack([batch.count, *moments.T]), at, math.prod(shape))
        rows, sums, within, third = by_place.reshape(4, *shape)
        return cls(problem, rows.astype(np.int64), sums, within, third, chosen)

    @property
    def _squares(self) -> FloatArray:
        """Σ Y'²."""
        return np.asarray(self.within + self.sums**2 / np.maximum(self.counts, 1))

    @cached_property
    def likelihood(self) -> Likelihood:
        """Of the cells without the outcome, which is real."""
        space = CellSpace.of(self.problem.cell_columns, self.problem.variables)
        return likelihood(self.problem, space.codes(), space.count)

    def pulls(self) -> IntArray:
        """Rows of every unit, (1, R, K)."""
        return np.asarray(self.counts.sum(axis=(2, 3)))[None]

    def observations(self, regimes: tuple[int, ...]) -> Observations:
        """One per arm, group and cell that has a row, with its sum of outcomes."""
        arm, group, cell = np.nonzero(self.counts[list(regimes)].any(axis=0))
        sums = self.sums[list(regimes)].sum(axis=0)[arm, group, cell]
        return Observations(arm, group, cell, sums[None])

    def of_replicates(self, which: BoolArray) -> SumEvidence:
        """Itself: a log is one replicate."""
        return self

    def of_arms(self, which: BoolArray) -> SumEvidence:
        """The rows and sums of the other arms are 0."""
        kept = which[:, None, None]
        pilot = None if self.pilot is None else self.pilot.of_arms(which)
        sums, within, third = (part * kept for part in (self.sums, self.within, self.third))
        return SumEvidence(self.problem, self.counts * kept, sums, within, third, pilot)

    def summary(self, cells: SharedCells | Places) -> Summary:
        """By shared cell, without states."""
        at = np.flatnonzero(self.counts)
        seen = [part.ravel()[at] for part in (self.counts, self.sums, self.within, self.third)]
        cell = cells.cell_of.ravel()[at % cells.cell_of.size]
        rows, sums, within, third = moments_by_group(np.stack(seen).astype(np.float64)[:, None], cell, cells.cells)
        contexts = sum_by_group(self.counts.sum(axis=(0, 1)).reshape(1, -1), cells.context_of.ravel(), cells.contexts)
        return Summary(
            rows.astype(np.int64),
            sums,
            within,
            None,
            self.counts.sum(axis=(0, 3))[None],
            contexts,
            self.counts[0].sum(axis=(0, 2))[None],
            third,
        )

    def rows_by_cell(self, regimes: tuple[int, ...] | None = None) -> IntArray:
        """Sums over regimes."""
        chosen = self.counts if regimes is None else self.counts[list(regimes)]
        return np.asarray(chosen.sum(axis=0))[None]

    def group_sums(self, regimes: tuple[int, ...]) -> tuple[IntArray, FloatArray]:
        """Sums over cells."""
        rows, sums = (part[list(regimes)].sum(axis=(0, 3))[None] for part in (self.counts, self.sums))
        return rows, sums

    def by_group(self) -> GroupCells:
        """Over regimes and arms."""
        rows, sums, squares = (part.sum(axis=(0, 1)) for part in (self.counts, self.sums, self._squares))
        return GroupCells(rows.astype(np.float64), sums, squares, self.counts.sum(axis=(0, 3)))

    def by_state(self) -> None:
        """Outcomes were summed: there is no count of their values."""

    def pilot_by_group(self) -> GroupCells | None:
        """Of the rows that are chosen by their ids."""
        return None if self.pilot is None else self.pilot.by_group()

    def natural_squares(self) -> FloatArray:
        """Σ Y'² of the natural rows by group, (G,)."""
        return np.asarray(self._squares[0].sum(axis=(0, 2)))

    def lines(self, replicate: int = 0) -> Lines:
        """Not available: what a regression would need was summed away."""
        raise TypeError("Sums by cell hold no rows.")
