"""From one status of a study to the next: running ⇄ paused → draining → finished | closed."""

from __future__ import annotations

from sqlalchemy import Connection

from fairarm.studies.answers import StudyStatus
from fairarm.studies.cohorts import seal, unsettled
from fairarm.studies.events import append, events_of, status_of

TICK = "tick"
"""Who did what happens by itself."""

HELD, CONFIRMED = "clock-held", "clock-confirmed"
SKIPPED = "skipped"
"""A cohort that was not opened: too late for people to enter evenly over the cycle."""


def move_on(connection: Connection, study: int, now: int, answered: bool, why: str = "answered") -> StudyStatus:
    """What follows by itself: an answer drains a study, and one that has drained is over."""
    status = status_of(connection, study)
    out = unsettled(connection, study)
    if answered and status in (StudyStatus.RUNNING, StudyStatus.PAUSED):
        status = StudyStatus.DRAINING
        for cohort in out:  # the answer stands: nobody need be dealt a card for it any more
            seal(connection, study, cohort.number)
        append(connection, study, now, TICK, "draining", {"why": why}, status)
    if status == StudyStatus.DRAINING and not out:
        status = StudyStatus.FINISHED if answered else StudyStatus.CLOSED
        append(connection, study, now, TICK, str(status), {}, status)
    return status


def is_held(connection: Connection, study: int) -> bool:
    """Whether nothing opens or settles until the clock is confirmed."""
    found = events_of(connection, study, kinds=(HELD, CONFIRMED))
    return bool(found) and found[-1].kind == HELD
