"""What is watched while a live study runs, beside the declared law: drift, loss and each arm's gap as served."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property

import numpy as np

from fairarm.algorithms.cohort import AT_RANDOM, Cohort, Loss
from fairarm.beliefs.evidence import Evidence
from fairarm.beliefs.findings import Finding
from fairarm.core.proof.guard import Guarded
from fairarm.core.proof.monitors import Drift, LossRows
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.problem.problem import Problem

GUARD_STREAM = 3
"""Of the generators that pair rows, among those of a seed."""


class Alarm(IntEnum):
    """Why nothing is certified any more."""

    NONE = -1
    DRIFT = 0
    LOSS = 1
    GUARD = 2


@dataclass(frozen=True)
class Watched:
    """Of n studies: the monitors' wealth, arms whose guard has given alarm (n, K), and the Alarm that voided each (n,)."""

    drift: Drift
    loss: LossRows
    guard: FloatArray
    alarmed: BoolArray
    voided: IntArray

    @property
    def void(self) -> BoolArray:
        """(n,): nothing is certified."""
        return np.asarray(self.voided != Alarm.NONE)


@dataclass(frozen=True)
class Watch:
    """The monitors of one problem, where rows that are lost count as ``lost`` says (`Loss.what`)."""

    problem: Problem
    lost: str

    @cached_property
    def guarded(self) -> Guarded:
        """The ends whose gap as served means what is asked: none where a fair arm may have such a gap."""
        return Guarded.of(self.problem.compiled.rows)

    @cached_property
    def _state(self) -> int | None:
        """The state of the outcome that not told means."""
        outcome = Loss.of(self.problem, self.lost).outcome
        return None if outcome is None else int(np.argmin(np.abs(self.problem.outcome.scaled_values - outcome)))

    def start(self, n: int) -> Watched:
        """Before the first row."""
        arms, groups = len(self.problem.arms), len(self.problem.groups)
        cells = self.problem.compiled.shared_cells.apart().cells
        return Watched(
            drift=Drift.start(n, cells),
            loss=LossRows.start(n, arms, groups),
            guard=self.guarded.start(n, arms),
            alarmed=np.zeros((n, arms), dtype=np.bool_),
            voided=np.full(n, int(Alarm.NONE)),
        )

    def after(self, before: Watched, cohort: Cohort, weekday: int, seed: int, number: int, fair: BoolArray) -> Watched:
        """With a settled cohort that began on this weekday; ``fair`` (n, K): arms that are certified to be fair by now.

        A cohort that was cut is not looked at: which one it was may depend on what it showed.
        """
        seen = cohort.rows.summary(self.problem.compiled.shared_cells.apart())
        drift = before.drift.after(seen.rows.astype(np.float64), seen.sums, weekday, cohort.cut)
        dealt, lost = self._dealt_and_lost(cohort)
        served, loss = by_state(cohort.rows), before.loss
        if self._state is None:
            loss = loss.after(dealt, lost, cohort.cut)
        elif cohort.by_group is not None:  # not told means a state: nobody is lost
            served[..., self._state] += lost
        if cohort.cut is not None:
            served = np.where(cohort.cut[:, None, None, None], 0, served)
        rng = np.random.default_rng([seed, GUARD_STREAM, number])
        guard = self.guarded.after(before.guard, served, self.problem.outcome.scaled_values, rng)
        made = replace(before, drift=drift, loss=loss, guard=guard)
        return self._judged(made, before.alarmed | self.guarded.alarm(guard), fair)

    def _judged(self, watched: Watched, alarmed: BoolArray, fair: BoolArray) -> Watched:
        at_random = watched.loss.alarm() & (self.lost == AT_RANDOM)
        reasons = (
            (Alarm.DRIFT, watched.drift.alarm()),
            (Alarm.LOSS, at_random),
            (Alarm.GUARD, (alarmed & fair).any(axis=1)),
        )
        voided = watched.voided
        for reason, found in reasons:
            voided = np.where(found & (voided == Alarm.NONE), int(reason), voided)
        return replace(watched, alarmed=alarmed, voided=voided)

    def _dealt_and_lost(self, cohort: Cohort) -> tuple[IntArray, IntArray]:
        """By arm and group, (n, K, G); where the group comes with the outcome all lost rows count in the first."""
        came = cohort.rows.group_sums(cohort.rows.every_regime)[0]
        if cohort.missing is None:
            return came, np.zeros_like(came)
        if cohort.by_group is not None:
            lost = cohort.by_group - cohort.rows.group_sums((0,))[0]
            return came + lost, lost
        dealt, lost = np.zeros_like(came), np.zeros_like(came)
        lost[..., 0] = cohort.missing.sum(axis=1)
        dealt[..., 0] = came.sum(axis=2) + lost[..., 0]
        return dealt, lost

    def findings(self, watched: Watched, study: int) -> tuple[Finding, ...]:
        """What is to be said of one study."""
        found = []
        if watched.drift.alarm()[study] or watched.voided[study] == Alarm.DRIFT:
            found.append(Finding("outcomes-drift", DRIFTS, int(watched.drift.n[study].sum())))
        if watched.loss.alarm()[study] or watched.voided[study] == Alarm.LOSS:
            voids = self.lost == AT_RANDOM
            text = UNEVEN_LOSS + (VOIDS_AT_RANDOM if voids else CHARGED)
            found.append(Finding("loss-differs", text, int(watched.loss.lost[study].sum()), voids=voids))
        names = tuple(self.problem.arm_names[k] for k in np.flatnonzero(watched.alarmed[study]))
        if names:
            voids = bool(watched.voided[study] == Alarm.GUARD)
            found.append(Finding("unfair-as-served", AS_SERVED + (CERTIFIED_FAIR if voids else ""), 0, names, voids))
        return tuple(found)


def by_state(rows: Evidence) -> IntArray:
    """Natural rows by arm, group and state of the outcome, (n, K, G, O)."""
    counts: IntArray = rows.counts[:, 0]  # type: ignore[attr-defined]
    states = len(rows.problem.outcome.scaled_values)
    return np.asarray(counts.reshape(*counts.shape[:3], -1, states).sum(axis=3))


DRIFTS = (
    "Outcomes in the same cell are not what they were: they follow the weekday, or have moved. A certificate is about one law, so nothing "
    "is certified in this study. Use longer cohorts (7d where weekdays differ), or declare what moves them as a column."
)
UNEVEN_LOSS = "Outcomes of some arms or groups are lost more often than those of others."
VOIDS_AT_RANDOM = " They were stated to be lost at random, so nothing is certified in this study. Say lost='worst', or find out why they are lost."
CHARGED = " Lost rows are charged, so the certificate holds; find out why they are lost: it costs people."
AS_SERVED = (
    "The people whom these arms served show a gap beyond the tolerance, whatever the model of the cells says. Pause them, and check that "
    "the sensitive attribute does not follow the hour of the day."
)
CERTIFIED_FAIR = " One of them was certified to be fair: something that was declared is wrong, and nothing is certified in this study."
