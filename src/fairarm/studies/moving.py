"""From one status of a study to the next: running ⇄ paused → draining → finished | closed."""

from __future__ import annotations

from sqlalchemy import Connection, select

from fairarm.studies import schema
from fairarm.studies.answers import StudyState
from fairarm.studies.cohorts import seal, unsettled
from fairarm.studies.events import append, state_of

TICK = "tick"
"""Who did what happens by itself."""

HELD, CONFIRMED = "clock-held", "clock-confirmed"
SKIPPED = "skipped"
"""A cohort that was not opened: too late for people to enter evenly over the cycle."""


def move_on(connection: Connection, study: int, now: int, answered: bool, why: str = "answered") -> StudyState:
    """What follows by itself: an answer drains a study, and one that has drained is over."""
    status = state_of(connection, study)
    out = unsettled(connection, study)
    if answered and status in (StudyState.RUNNING, StudyState.PAUSED):
        status = StudyState.DRAINING
        for cohort in out:  # the answer stands: nobody need be dealt a card for it any more
            seal(connection, study, cohort.number)
        append(connection, study, now, TICK, "draining", {"why": why}, status)
    if status == StudyState.DRAINING and not out:
        status = StudyState.FINISHED if answered else StudyState.CLOSED
        append(connection, study, now, TICK, str(status), {}, status)
    return status


def is_held(connection: Connection, study: int) -> bool:
    """Whether nothing opens or settles until the clock is confirmed."""
    return bool(connection.execute(select(schema.study.c.held).where(schema.study.c.id == study)).scalar())
