"""The monitors of a certified run besides its law, of drift and of loss: what they are told of a cohort, and what they say."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from fairarm.algorithms.cohort import Cohort, Missing
from fairarm.beliefs.findings import Finding, Level
from fairarm.core.proof.bets import Brought
from fairarm.core.proof.monitors import Drift, LossRows
from fairarm.core.types import IntArray


class Alarm(IntEnum):
    """Which monitor has voided a run."""

    NONE = -1
    DRIFT = 0
    LOSS = 1


def monitored(
    drift: Drift, losses: LossRows, alarm: IntArray, cohort: Cohort, brought: Brought
) -> tuple[Drift, LossRows, IntArray]:
    """After a settled cohort. One that was cut is not looked at: which one it was may depend on what it showed."""
    if not cohort.from_log:
        drift = drift.after(brought.n, brought.y, cohort.weekday, cohort.cut)
    at_random = cohort.loss is not None and cohort.loss.at_random
    losses = losses.after(*dealt_and_gone(cohort, Missing.AT_RANDOM if at_random else Missing.UNKNOWN), cohort.cut)
    for reason, found in ((Alarm.DRIFT, drift.alarm()), (Alarm.LOSS, losses.alarm() & at_random)):
        alarm = np.where(found & (alarm == Alarm.NONE), int(reason), alarm)
    return drift, losses, alarm


def dealt_and_gone(cohort: Cohort, kind: Missing) -> tuple[IntArray, IntArray]:
    """Rows by arm, and natural ones by group, then forced ones by regime, (n, K, G + R − 1), and those without an outcome of one kind.
    Where the group of a natural row comes with the outcome, all natural rows count in the first: the lost differ by arm alone."""
    natural = cohort.rows.group_sums((0,))[0]
    forced = np.moveaxis(cohort.dealt[:, 1:], 1, 2)
    if cohort.missing is None:
        dealt = np.concatenate([natural, forced], axis=2)
        return dealt, np.zeros_like(dealt)
    gone = np.zeros_like(natural)
    if cohort.by_group is not None:
        natural, gone = natural + cohort.by_group.sum(axis=1), cohort.by_group[:, kind]
    else:
        gone[..., 0] = cohort.missing[:, kind, 0]
        first = np.zeros_like(natural)
        first[..., 0] = cohort.dealt[:, 0]
        natural = first
    missing = np.concatenate([gone, np.moveaxis(cohort.missing[:, kind, 1:], 1, 2)], axis=2)
    return np.concatenate([natural, forced], axis=2), missing


def monitor_findings(drift: Drift, losses: LossRows, alarm: IntArray, replicate: int) -> tuple[Finding, ...]:
    """What is to be said of one run."""
    found = []
    if alarm[replicate] == Alarm.DRIFT:
        found.append(Finding("outcomes-drift", DRIFTS, int(drift.steady_n[replicate].sum()), level=Level.BLOCKS_ANSWER))
    if losses.alarm()[replicate] or alarm[replicate] == Alarm.LOSS:
        void = bool(alarm[replicate] == Alarm.LOSS)
        level, text = (Level.BLOCKS_CERTIFICATION, VOIDS_AT_RANDOM) if void else (Level.WARNING, CHARGED)
        found.append(Finding("loss-differs", UNEVEN_LOSS + text, int(losses.gone[replicate].sum()), level=level))
    return tuple(found)


DRIFTS = (
    "Outcomes in the same cell are not what they were: they follow the weekday, or have moved. A certificate is about one law, so nothing "
    "is certified in this run. Use longer cohorts or phases (7d where weekdays differ), or declare what moves them as a column."
)
UNEVEN_LOSS = "Outcomes of some arms or groups are lost more often than those of others."
VOIDS_AT_RANDOM = " They were stated to be lost at random, so nothing is certified in this run. Say lost='worst', or find out why they are lost."
CHARGED = " Lost rows are charged, so the certificate holds; find out why they are lost: it costs people."
