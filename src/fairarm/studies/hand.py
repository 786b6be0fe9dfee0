"""What people do to a study by hand: each with a reason, in one transaction, written down."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from fairarm.core.answer import Code
from fairarm.studies import schema
from fairarm.studies.answers import StudyState
from fairarm.studies.calls import Tell, coded, id_text
from fairarm.studies.cohorts import CUT, DROPPED, close_outcomes, latest, seal, unsettled
from fairarm.studies.database import lock_outcomes
from fairarm.studies.errors import Conflict, NotFound
from fairarm.studies.events import CORRECTED, ERASED, append, append_noted, locked, state_of
from fairarm.studies.moving import CONFIRMED, HELD, move_on
from fairarm.studies.progress import last_settled, read_progress
from fairarm.studies.running import Running
from fairarm.studies.schema import AnyRow
from fairarm.studies.ticking import erase_people


def pause(connection: Connection, study: Running, now: int, reason: str, actor: str, cut: bool) -> None:
    """After the open cohort, or now."""
    status = locked(connection, study.id)
    if status not in (StudyState.RUNNING, StudyState.PAUSED):
        raise _over(study, status, "paused")
    if status == StudyState.PAUSED and not cut:
        raise Conflict(f"Study '{study.name}' is paused already. Resume it, or close it.")
    append(connection, study.id, now, actor, "paused", {"reason": reason, "now": cut}, StudyState.PAUSED)
    if cut:
        cut_open(connection, study, now, reason, actor)


def resume(connection: Connection, study: Running, now: int, reason: str, actor: str) -> None:
    """From the next cohort on."""
    status = locked(connection, study.id)
    if status != StudyState.PAUSED:
        raise Conflict(f"Study '{study.name}' is {status}, not paused: there is nothing to resume.")
    append(connection, study.id, now, actor, "resumed", {"reason": reason}, StudyState.RUNNING)


def close(connection: Connection, study: Running, now: int, reason: str, actor: str, cut: bool) -> None:
    """For good: no cohort opens any more."""
    status = locked(connection, study.id)
    if status not in (StudyState.RUNNING, StudyState.PAUSED):
        raise _over(study, status, "closed")
    append(connection, study.id, now, actor, "closing", {"reason": reason, "now": cut}, StudyState.DRAINING)
    if cut:
        cut_open(connection, study, now, reason, actor)
    move_on(connection, study.id, now, answered(connection, study))


def answered(connection: Connection, study: Running) -> bool:
    """Whether settled cohorts have given an answer."""
    number = last_settled(connection, study.id)
    return int(read_progress(connection, study.id, number, study.rule).settled.state.answer[0]) != Code.PENDING


def cut_open(connection: Connection, study: Running, now: int, reason: str, actor: str) -> None:
    """Stop the cohort that is being dealt. One that has dealt nothing yet is only closed: there was nothing to look at."""
    cohort = latest(connection, study.id)
    if cohort is None or not cohort.starts <= now < cohort.closes or not seal(connection, study.id, cohort.number):
        return
    people = schema.assignment
    dealt = connection.execute(
        select(func.count()).where(people.c.study == study.id, people.c.number == cohort.number)
    ).scalar_one()
    if dealt:
        _cut(connection, study, now, cohort, reason, actor)


def _cut(connection: Connection, study: Running, now: int, cohort: AnyRow, reason: str, actor: str) -> None:
    seal(connection, study.id, cohort.number)
    body = {"cohort": int(cohort.number), "reason": reason}
    append(connection, study.id, now, actor, CUT, body, state_of(connection, study.id))


def drop(connection: Connection, study: Running, now: int, number: object, reason: str, actor: str) -> None:
    """Leave a cohort out that is not settled."""
    lock_outcomes(connection, study.id)
    status = locked(connection, study.id)
    out = {cohort.number for cohort in unsettled(connection, study.id)}
    if number not in out or isinstance(number, bool):
        there = "is settled, and what is settled stays" if _exists(connection, study, number) else "was never opened"
        raise (Conflict if "settled" in there else NotFound)(
            f"Cohort {number!r:.20} of study '{study.name}' {there}. Cohorts that can be left out: "
            f"{', '.join(map(str, sorted(out))) or 'none'}."
        )
    seal(connection, study.id, int(str(number)))
    close_outcomes(connection, study.id, int(str(number)))
    append(connection, study.id, now, actor, DROPPED, {"cohort": number, "reason": reason}, status)


def restored(connection: Connection, study: Running, now: int, reason: str, actor: str) -> list[int]:
    """After a backup was put back: every cohort that is not settled is cut, since what it dealt and was told since is gone."""
    status = locked(connection, study.id)
    append(connection, study.id, now, actor, "restored", {"reason": reason}, status)
    out = unsettled(connection, study.id)
    for cohort in out:
        _cut(connection, study, now, cohort, f"restored: {reason}", actor)
    return [int(cohort.number) for cohort in out]


def correct(
    connection: Connection, study: Running, now: int, id: int, row: Mapping[str, Any], reason: str, actor: str
) -> bool:
    """Another row than was told; whether it counts."""
    status = locked(connection, study.id)
    person = connection.execute(select(schema.assignment).where(schema.assignment.c.id == id)).one_or_none()
    made = coded(Tell(study, id, row), person, now)
    told = connection.execute(select(schema.outcome.c.told).where(schema.outcome.c.assignment == id)).scalar()
    if told is None or person is None:
        raise Conflict(f"No outcome of assignment {id_text(id)} has been told: there is nothing to correct. Tell it.")
    cards = schema.counter
    cohort = select(cards.c.closed).where(cards.c.study == study.id, cards.c.number == person.number)
    counts = not connection.execute(cohort).scalar_one() and now <= person.issued + study.options.window >= told
    line = {"assignment": id, "label": made["label"], "row": made["row"], "counts": int(counts)}
    said = {"reason": reason, "actor": actor}
    seq = append_noted(connection, study, now, CORRECTED, {"counts": counts}, status, said, line)
    connection.execute(insert(schema.correction).values(**line, seq=seq))
    return counts


def forget(connection: Connection, study: Running, now: int, unit: str, actor: str) -> bool:
    """Erase a person; whether there was one."""
    lock_outcomes(connection, study.id)
    status, people = locked(connection, study.id), schema.assignment
    here = (people.c.study == study.id) & (people.c.unit == unit)
    person = connection.execute(select(people).where(here)).one_or_none()
    if person is None:
        return False
    settled = last_settled(connection, study.id)
    if person.label is not None and (settled is None or person.number > settled):
        tally = {
            "id": secrets.randbits(63),
            "study": study.id,
            "number": person.number,
            "arm": person.arm,
            "label": person.label,
        }
        connection.execute(insert(schema.erased).values(**tally))
    erase_people(connection, here, now)
    append_noted(connection, study, now, ERASED, {"cohort": person.number}, status, {"actor": actor})
    return True


def confirm_clock(connection: Connection, study: Running, now: int, reason: str, actor: str) -> bool:
    """A study that was held goes on; whether it was."""
    status = locked(connection, study.id)
    if not _switched(connection, study, 0):
        return False
    connection.execute(update(schema.pulse).values(ticked=now, confirmed=schema.pulse.c.confirmed + 1))
    append(connection, study.id, now, actor, CONFIRMED, {"reason": reason}, status)
    return True


def hold(connection: Connection, study: Running, now: int, apart: float) -> bool:
    """Nobody enters, nothing opens or settles until somebody has looked at the clock; whether that is new."""
    status = locked(connection, study.id)
    if changed := _switched(connection, study, 1):
        append(connection, study.id, now, "tick", HELD, {"seconds": round(apart, 3)}, status)
    return changed


def _switched(connection: Connection, study: Running, held: int) -> bool:
    """Whether a study becomes held, or is not any more."""
    row = schema.study
    found = connection.execute(update(row).where(row.c.id == study.id, row.c.held != held).values(held=held))
    return found.rowcount > 0


def _exists(connection: Connection, study: Running, number: object) -> bool:
    if isinstance(number, bool) or not isinstance(number, int):
        return False
    asked = select(schema.cohort.c.number).where(schema.cohort.c.study == study.id, schema.cohort.c.number == number)
    return connection.execute(asked).scalar() is not None


def _over(study: Running, status: StudyState, what: str) -> Conflict:
    return Conflict(f"Study '{study.name}' is {status}: it cannot be {what} any more.")
