"""Cohorts in the database: which are out, when they had cards, what was done to them by hand."""

from __future__ import annotations

import hashlib
import json

from sqlalchemy import Connection, func, select, update

from fairarm.studies import schema
from fairarm.studies.counting import Marks
from fairarm.studies.events import events_of
from fairarm.studies.progress import last_settled
from fairarm.studies.running import Running
from fairarm.studies.schema import AnyRow

CUT, DROPPED = "cut", "dropped"
"""Kinds of events that are about one cohort."""


def latest(connection: Connection, study: int) -> AnyRow | None:
    """The cohort that opened last."""
    cohorts = schema.cohort
    return connection.execute(
        select(cohorts).where(cohorts.c.study == study).order_by(cohorts.c.number.desc()).limit(1)
    ).one_or_none()


def unsettled(connection: Connection, study: int) -> list[AnyRow]:
    """Cohorts that are open or out, in order."""
    cohorts, done = schema.cohort, last_settled(connection, study)
    asked = select(cohorts).where(cohorts.c.study == study).order_by(cohorts.c.number)
    return list(connection.execute(asked if done is None else asked.where(cohorts.c.number > done)))


def by_hand(connection: Connection, study: int, kind: str) -> dict[int, tuple[int, str]]:
    """Cohorts that were cut or dropped: when, and why."""
    found: dict[int, tuple[int, str]] = {}
    for each in events_of(connection, study, kinds=(kind,)):
        at = int(each.at.timestamp()) * 1_000_000 + each.at.microsecond
        found.setdefault(int(each.body["cohort"]), (at, str(each.body.get("reason", ""))))
    return found


def marks_of(connection: Connection, study: Running, cohort: AnyRow) -> Marks:
    """When a cohort had cards."""
    people, cards = schema.assignment, schema.counter
    here = (people.c.study == study.id) & (people.c.number == cohort.number)
    size = sum(json.loads(cohort.plan).values())
    issued = connection.execute(
        select(cards.c.issued).where(cards.c.study == study.id, cards.c.number == cohort.number)
    ).scalar_one()
    dealt, last = connection.execute(select(func.count(), func.max(people.c.issued)).where(here)).one()
    cut = by_hand(connection, study.id, CUT).get(cohort.number)
    dropped = cohort.number in by_hand(connection, study.id, DROPPED)
    out = last if issued >= size else None
    return Marks(
        cohort.starts, cohort.opened, cohort.closes, size, int(dealt), out, None if cut is None else cut[0], dropped
    )


def cohort_digest(cohort: AnyRow, deck: bytes) -> str:
    """Of all that is fixed when a cohort opens, its deck too."""
    fixed = [cohort.plan, cohort.share, cohort.starts, cohort.opened, cohort.closes, cohort.why]
    return hashlib.sha256(json.dumps(fixed).encode("ascii") + b"\n" + deck).hexdigest()


def seal(connection: Connection, study: int, number: int) -> bool:
    """No card of a cohort is dealt any more, whatever any clock says; whether there were some left."""
    cards = schema.counter
    done = connection.execute(
        update(cards)
        .where(cards.c.study == study, cards.c.number == number, cards.c.issued < cards.c.size)
        .values(size=cards.c.issued)
    )
    return done.rowcount > 0


def close_outcomes(connection: Connection, study: int, number: int) -> None:
    """A cohort is settled or left out: outcomes that come now do not count. The caller holds the lock of outcomes."""
    cards = schema.counter
    connection.execute(update(cards).where(cards.c.study == study, cards.c.number == number).values(closed=1))


def all_resolved(connection: Connection, study: int, number: int) -> bool:
    """Whether nobody's outcome is waited for: told, never served, or erased."""
    people, told = schema.assignment, schema.outcome
    waited_for = (
        select(people.c.id)
        .select_from(people.outerjoin(told, told.c.assignment == people.c.id))
        .where(
            people.c.study == study, people.c.number == number, told.c.assignment.is_(None), people.c.erased.is_(None)
        )
        .limit(1)
    )
    return connection.execute(waited_for).scalar() is None
