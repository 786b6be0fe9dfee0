"""Rows without an outcome, counted: who they are is known, and what they would have had is anything that an outcome can be."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairarm.beliefs.cells import CellBeliefs
from fairarm.beliefs.evidence import CellEvidence, CountedEvidence, Summary
from fairarm.beliefs.logged_rows import LoggedBeliefs
from fairarm.beliefs.worlds import WorldBeliefs
from fairarm.core.grouping import sum_by_group
from fairarm.core.proof.log_bets import joined_bets
from fairarm.core.proof.log_intervals import GroupCells
from fairarm.core.types import BoolArray, IntArray
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch, groups_of
from fairarm.problem.shared_cells import SharedCells
from fairarm.problem.space import CellSpace
from fairarm.problem.world_laws import Places


@dataclass(frozen=True, eq=False)
class MissingRows:
    """By regime, arm, group and cell, (R, K, G, X); ``pilot`` those that are chosen by their ids, where every row has one."""

    counts: IntArray
    pilot: IntArray | None = None

    @classmethod
    def of(cls, problem: Problem, batch: Batch, pilot: BoolArray | None = None) -> MissingRows:
        """From lines; what their outcome's column holds does not matter."""
        chosen = None if pilot is None else cls.of(problem, batch.take(np.flatnonzero(pilot))).counts
        space = CellSpace.of(problem.cell_columns, problem.variables)
        shape = (len(problem.regimes), len(problem.arms), len(problem.groups), space.count)
        counts = np.zeros(shape, dtype=np.int64)
        at = (batch.regime, batch.arm, groups_of(problem, batch), space.number(batch.columns))
        np.add.at(counts, at, batch.count)
        return cls(counts, chosen)

    @property
    def total(self) -> int:
        """Rows."""
        return int(self.counts.sum())

    @property
    def made(self) -> IntArray:
        """By arm and group, (K, G)."""
        return np.asarray(self.counts.sum(axis=(0, 3)))

    @property
    def natural(self) -> IntArray:
        """Natural rows by group, (G,)."""
        return np.asarray(self.counts[0].sum(axis=(0, 2)))

    @property
    def by_place(self) -> IntArray:
        """By arm, group and cell, in any regime, (K, G, X)."""
        return np.asarray(self.counts.sum(axis=0))

    def by_cell(self, cells: SharedCells | Places) -> IntArray:
        """In the cells that arms and groups share, (C,)."""
        return sum_by_group(self.counts.sum(axis=(0, 1)).ravel(), cells.cell_of.ravel(), cells.cells)

    def of_arms(self, which: BoolArray) -> MissingRows:
        """Those of these arms (K,) alone."""
        kept = which[:, None, None]
        return MissingRows(self.counts * kept, None if self.pilot is None else self.pilot * kept)

    def counted_in(self, beliefs: CellBeliefs) -> CellBeliefs:
        """The beliefs with these rows: they count for who they are, so that contexts, groups and arms are those of all rows."""
        seen = self.whole(beliefs.seen, beliefs.cells)
        if isinstance(beliefs, WorldBeliefs):
            return beliefs.with_rows(self.counts, seen)
        return replace(beliefs, seen=seen)

    def whole(self, seen: Summary, cells: SharedCells | Places) -> Summary:
        """A summary in which these rows count for who they are, and not for an outcome: contexts, groups and arms are those of
        all rows, so that which outcomes are missing does not change who the log is about."""
        contexts = sum_by_group(self.counts.sum(axis=(0, 1)).ravel(), cells.context_of.ravel(), cells.contexts)
        return replace(
            seen,
            by_arm=seen.by_arm + self.made,
            contexts=seen.contexts + contexts,
            natural=seen.natural + self.natural,
        )

    def completed(self, seen: GroupCells, outcome: float, chosen: bool = False) -> GroupCells:
        """Sums by group and cell in which every missing outcome is this, on the scale of Y'; ``chosen``: those of the pilot."""
        counts = self.counts if not chosen or self.pilot is None else self.pilot
        more = counts.sum(axis=(0, 1)).astype(np.float64)
        return GroupCells(
            seen.rows + more,
            seen.sums + outcome * more,
            seen.squares + outcome**2 * more,
            seen.made + counts.sum(axis=(0, 3)),
        )

    def filled(self, evidence: CellEvidence, highest: bool) -> CellEvidence:
        """Counts in which every missing outcome is the state of the lowest, or of the highest, value."""
        values = evidence.problem.outcome.scaled_values
        state = int(np.argmax(values) if highest else np.argmin(values))
        R, K, G, X = self.counts.shape
        counts = evidence.counts.copy().reshape(1, R, K, G, X, len(values))
        counts[0, ..., state] += self.counts
        return CellEvidence(evidence.problem, counts.reshape(evidence.counts.shape))


@dataclass(frozen=True, eq=False)
class Completions:
    """Beliefs from rows read one by one, with every missing outcome at its lowest, and at its highest."""

    low: LoggedBeliefs
    high: LoggedBeliefs
    total: int
    """Missing outcomes."""

    def together(self) -> LoggedBeliefs:
        """What is certified of both: the scores X of the one, X¹ of the other. Each holds whatever the missing outcomes were."""
        cut = replace(self.low.cut, highest=self.high.cut.sums)
        first, second = self.low.bets, self.high.bets
        if first is None or second is None:
            return replace(self.low, cut=cut, bets=None)
        return replace(self.low, cut=cut, bets=joined_bets(first, second))


def all_made(evidence: CountedEvidence, missing: MissingRows | None) -> IntArray:
    """Rows by arm and group, (K, G), with those that lack their outcome."""
    made = evidence.by_group().made
    return made if missing is None else np.asarray(made + missing.made)
