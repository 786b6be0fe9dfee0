"""What a run is told of one phase, or of one cohort of a live study: the rows that came, those that did not, and rows beyond the
plan."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairarm.beliefs.evidence import Evidence
from fairarm.core.types import BoolArray, IntArray
from fairarm.errors import OptionError
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch

WORST, AT_RANDOM = "worst", "at random"


@dataclass(frozen=True)
class Loss:
    """What a row that was asked for and never came is taken to be."""

    what: str
    """"worst", "at random", or the state of the outcome that "not told" means."""
    outcome: float | None
    """Y' of that state; None for the other two."""

    @classmethod
    def of(cls, problem: Problem, what: str | None) -> Loss:
        """As given to `close_phase`; an error that names the choices where it is none of them."""
        states = problem.variables[problem.outcome.node].states if problem.outcome.values is not None else None
        if what in (WORST, AT_RANDOM):
            return cls(what, None)
        if states is not None and what in states:
            return cls(what, float(problem.outcome.scaled_values[states.index(what)]))
        named = (
            f", or a state of '{problem.outcome.node}' ({', '.join(states)}) if not told means that state"
            if states
            else ""
        )
        raise OptionError(
            f"A certified run has to know what lost rows were: close_phase(lost=...); got {what!r:.40}. Say lost='worst' (each "
            f"counts as it would hurt most: holds however they got lost), lost='at random' (they count for nothing: holds only if "
            f"what was lost did not depend on the outcome){named}."
        )


@dataclass(frozen=True)
class Cohort:
    """The people of one phase, or of one cohort of a live study; of n replicates, a leading axis of every array."""

    rows: Evidence
    """That were asked for and came."""
    missing: IntArray | None = None
    """Rows that were asked for and did not come, (n, R, K); None where all came."""
    loss: Loss | None = None
    beyond: Evidence | None = None
    """Rows beyond the plan, or of an earlier phase: they only make estimates better."""
    in_cells: IntArray | None = None
    """Those of the missing rows whose cell is known, by arm, group and cell, (n, K, G, X)."""
    by_group: IntArray | None = None
    """All natural rows by arm and group, missing ones too, (n, K, G), where the group is known at arrival."""
    by_shares: bool = False
    """The group comes with the outcome: bets count natural rows by the declared P(S), whether or not some are missing."""
    cut: BoolArray | None = None
    """(n,): stopped by hand while it was dealt. It is not bet on, costs the reserve, and its rows only teach."""

    from_log: bool = False
    """Rows of a log with holes: later rows have none, so that outcomes which differ from these are no drift."""

    weekday: int | None = None
    """On which it began, 0 for Monday; None where days are not known."""

    @property
    def charged(self) -> bool:
        """Whether missing rows are to be paid for."""
        return self.missing is not None and self.loss is not None and self.loss.what != AT_RANDOM

    @property
    def dealt(self) -> IntArray:
        """All rows that were asked for, (n, R, K)."""
        came = self.rows.pulls()
        return came if self.missing is None else came + self.missing

    def of_replicates(self, which: BoolArray) -> Cohort:
        """Only these replicates."""
        if which.all():
            return self
        arrays = {name: getattr(self, name) for name in ("missing", "in_cells", "by_group", "cut")}
        kept = {name: value[which] for name, value in arrays.items() if value is not None}
        beyond = None if self.beyond is None else self.beyond.of_replicates(which)
        return replace(self, rows=self.rows.of_replicates(which), beyond=beyond, **kept)


def logged_cohort(rows: Evidence, lacking: IntArray, problem: Problem) -> Cohort:
    """Rows of a log, some of which lack their outcome, (n, R, K, G, X): who these are is known, and each counts as the worst."""
    by_group = rows.group_sums((0,))[0] + lacking[:, 0].sum(axis=3)
    return Cohort(
        rows,
        missing=lacking.sum(axis=(3, 4)),
        loss=Loss.of(problem, WORST),
        in_cells=lacking.sum(axis=1),
        by_group=by_group,
        from_log=True,
    )


def divided(batch: Batch, room: IntArray) -> tuple[Batch, Batch]:
    """The rows within a plan that still lacks ``room`` (R, K), in the order in which they are told, and those beyond it."""
    unit = batch.regime * room.shape[1] + batch.arm
    order = np.argsort(unit, kind="stable")
    sorted_unit, count = unit[order], batch.count[order]
    before = np.cumsum(count) - count
    first = np.searchsorted(sorted_unit, sorted_unit, side="left")
    before = before - before[first] if len(before) else before
    within = np.zeros_like(batch.count)
    within[order] = np.clip(room.ravel()[sorted_unit] - before, 0, count)
    return _counted(batch, within), _counted(batch, batch.count - within)


def _counted(batch: Batch, count: IntArray) -> Batch:
    lines = np.flatnonzero(count)
    kept = batch.take(lines)
    return Batch(kept.arm, kept.regime, kept.columns, count[lines])
