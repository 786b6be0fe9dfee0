"""What a run is told of one phase, or of one cohort of a live study: the rows that came, the rows without an outcome, and surplus rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from fairarm.beliefs.evidence import Evidence
from fairarm.core.types import BoolArray, IntArray
from fairarm.errors import OptionError
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch

WORST, AT_RANDOM = "worst", "at random"


class Missing(IntEnum):
    """Why a row has no outcome, and so how it counts: the first axis of `Cohort.missing` after the replicates."""

    UNKNOWN = 0
    """It may have any outcome: a certificate counts the worst one."""
    STATED = 1
    """Not reported means a state of the outcome, but the cell is not known."""
    AT_RANDOM = 2
    """Stated not to depend on the outcome: it is left out."""


@dataclass(frozen=True)
class Loss:
    """How rows without an outcome count. Whoever was not served, or was erased, has no outcome that "not reported" could mean."""

    what: str
    """Of rows that were not reported: "worst", "at random", or the state of the outcome that "not reported" means."""
    states: int = 0
    """How many the outcome has."""
    state: int | None = None
    """The position of that state; None for the other two."""
    outcome: float | None = None
    """Y' of that state."""
    unserved: str = WORST
    """Of people who were never served: "worst" or "at random"."""

    @classmethod
    def of(cls, problem: Problem, what: str | None, unserved: str = WORST) -> Loss:
        """As given to `close_phase`; an error that names the choices where it is none of them."""
        states = problem.variables[problem.outcome.node].states if problem.outcome.values is not None else None
        if what in (WORST, AT_RANDOM):
            return cls(what, len(states or ()), unserved=unserved)
        if states is not None and what in states:
            state = states.index(what)
            return cls(what, len(states), state, float(problem.outcome.scaled_values[state]), unserved)
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

    @property
    def kind(self) -> Missing:
        """Of a row that was not reported."""
        return (
            Missing.STATED
            if self.outcome is not None
            else Missing.AT_RANDOM
            if self.what == AT_RANDOM
            else Missing.UNKNOWN
        )

    @property
    def unserved_kind(self) -> Missing:
        """Of somebody who was never served."""
        return Missing.AT_RANDOM if self.unserved == AT_RANDOM else Missing.UNKNOWN

    @property
    def at_random(self) -> bool:
        """Whether some rows are stated to be missing at random."""
        return AT_RANDOM in (self.what, self.unserved)


@dataclass(frozen=True)
class Cohort:
    """The people of one phase, or of one cohort of a live study; of n replicates, a leading axis of every array."""

    rows: Evidence
    """That were asked for and came."""
    missing: IntArray | None = None
    """Rows without an outcome by `Missing`, (n, 3, R, K); None where all came."""
    loss: Loss | None = None
    beyond: Evidence | None = None
    """Rows beyond the plan, or of an earlier phase: they only make estimates better."""
    in_cells: IntArray | None = None
    """Those of the rows that may have any outcome whose cell is known, by arm, group and cell, (n, K, G, X)."""
    by_group: IntArray | None = None
    """Natural rows without an outcome by `Missing`, arm and group, (n, 3, K, G), where the group is known at arrival."""
    by_shares: bool = False
    """The group comes with the outcome: bets count natural rows by the declared P(S), whether or not some are missing."""
    cut: BoolArray | None = None
    """(n,): stopped by hand while it was dealt. It is not bet on, costs the reserve, and its rows only teach."""

    from_log: bool = False
    """Rows of a log with holes: later rows have none, so that outcomes which differ from these are no drift."""

    weekday: int | None = None
    """On which it began, 0 for Monday; None where days are not known."""

    @property
    def charged(self) -> IntArray | None:
        """Rows without an outcome that a certificate pays for, (n, R, K); None where there are none."""
        if self.missing is None or not (found := self.missing[:, : Missing.AT_RANDOM].sum(axis=1)).any():
            return None
        return np.asarray(found)

    @property
    def counted(self) -> IntArray:
        """All rows but those left out as missing at random, (n, R, K)."""
        came = self.rows.pulls()
        return came if self.charged is None else came + self.charged

    @property
    def dealt(self) -> IntArray:
        """All rows that were asked for, (n, R, K)."""
        came = self.rows.pulls()
        return came if self.missing is None else came + self.missing.sum(axis=1)

    def of_replicates(self, which: BoolArray) -> Cohort:
        """Only these replicates."""
        if which.all():
            return self
        arrays = {name: getattr(self, name) for name in ("missing", "in_cells", "by_group", "cut")}
        kept = {name: value[which] for name, value in arrays.items() if value is not None}
        beyond = None if self.beyond is None else self.beyond.of_replicates(which)
        return replace(self, rows=self.rows.of_replicates(which), beyond=beyond, **kept)


def of_kind(counts: IntArray, kind: Missing) -> IntArray:
    """Rows without an outcome (n, …) that all count in one way, as (n, 3, …)."""
    made = np.zeros((len(counts), len(Missing), *counts.shape[1:]), dtype=np.int64)
    made[:, kind] = counts
    return made


def logged_cohort(rows: Evidence, lacking: IntArray, problem: Problem) -> Cohort:
    """Rows of a log, some of which lack their outcome, (n, R, K, G, X): who these are is known, and each counts as the worst."""
    return Cohort(
        rows,
        missing=of_kind(lacking.sum(axis=(3, 4)), Missing.UNKNOWN),
        loss=Loss.of(problem, WORST),
        in_cells=lacking.sum(axis=1),
        by_group=of_kind(lacking[:, 0].sum(axis=3), Missing.UNKNOWN),
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
