"""What people do to a study by hand: each with a reason, in one transaction, written down."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, func, insert, select

from fairarm.core.answer import Code
from fairarm.studies import schema
from fairarm.studies.answers import StudyStatus
from fairarm.studies.calls import Tell, coded, id_text
from fairarm.studies.cohorts import CUT, DROPPED, latest, seal, unsettled
from fairarm.studies.errors import Conflict, NotFound
from fairarm.studies.events import append, status_of
from fairarm.studies.moving import CONFIRMED, HELD, is_held, move_on
from fairarm.studies.progress import last_settled, read_progress
from fairarm.studies.running import Running
from fairarm.studies.schema import AnyRow
from fairarm.studies.ticking import erase_people


def pause(connection: Connection, study: Running, now: int, reason: str, actor: str, cut: bool) -> None:
    """After the open cohort, or now."""
    status = _locked(connection, study)
    if status not in (StudyStatus.RUNNING, StudyStatus.PAUSED):
        raise _over(study, status, "paused")
    if status == StudyStatus.PAUSED and not cut:
        raise Conflict(f"Study '{study.name}' is paused already. Resume it, or close it.")
    append(connection, study.id, now, actor, "paused", {"reason": reason, "now": cut}, StudyStatus.PAUSED)
    if cut:
        cut_open(connection, study, now, reason, actor)


def resume(connection: Connection, study: Running, now: int, reason: str, actor: str) -> None:
    """From the next cohort on."""
    status = _locked(connection, study)
    if status != StudyStatus.PAUSED:
        raise Conflict(f"Study '{study.name}' is {status}, not paused: there is nothing to resume.")
    append(connection, study.id, now, actor, "resumed", {"reason": reason}, StudyStatus.RUNNING)


def close(connection: Connection, study: Running, now: int, reason: str, actor: str, cut: bool) -> None:
    """For good: no cohort opens any more."""
    status = _locked(connection, study)
    if status not in (StudyStatus.RUNNING, StudyStatus.PAUSED):
        raise _over(study, status, "closed")
    append(connection, study.id, now, actor, "closing", {"reason": reason, "now": cut}, StudyStatus.DRAINING)
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
    append(connection, study.id, now, actor, CUT, body, status_of(connection, study.id))


def drop(connection: Connection, study: Running, now: int, number: object, reason: str, actor: str) -> None:
    """Leave a cohort out that is not settled."""
    status = _locked(connection, study)
    out = {cohort.number for cohort in unsettled(connection, study.id)}
    if number not in out or isinstance(number, bool):
        there = "is settled, and what is settled stays" if _exists(connection, study, number) else "was never opened"
        raise (Conflict if "settled" in there else NotFound)(
            f"Cohort {number!r:.20} of study '{study.name}' {there}. Cohorts that can be left out: "
            f"{', '.join(map(str, sorted(out))) or 'none'}."
        )
    seal(connection, study.id, int(str(number)))
    append(connection, study.id, now, actor, DROPPED, {"cohort": number, "reason": reason}, status)


def restored(connection: Connection, study: Running, now: int, reason: str, actor: str) -> list[int]:
    """After a backup was put back: every cohort that is not settled is cut, since what it dealt and was told since is gone."""
    status = _locked(connection, study)
    append(connection, study.id, now, actor, "restored", {"reason": reason}, status)
    out = unsettled(connection, study.id)
    for cohort in out:
        _cut(connection, study, now, cohort, f"restored: {reason}", actor)
    return [int(cohort.number) for cohort in out]


def correct(
    connection: Connection, study: Running, now: int, id: int, row: Mapping[str, Any], reason: str, actor: str
) -> bool:
    """Another row than was told; whether it counts."""
    status = _locked(connection, study)
    person = connection.execute(select(schema.assignment).where(schema.assignment.c.id == id)).one_or_none()
    made = coded(Tell(study, id, row), person, now)
    told = connection.execute(select(schema.outcome.c.told).where(schema.outcome.c.assignment == id)).scalar()
    if told is None or person is None:
        raise Conflict(f"No outcome of assignment {id_text(id)} has been told: there is nothing to correct. Tell it.")
    done = schema.correction
    seq = connection.execute(select(func.coalesce(func.max(done.c.seq), 0)).where(done.c.assignment == id)).scalar_one()
    settled = last_settled(connection, study.id)
    in_time = now <= person.issued + study.options.window >= told
    counts = bool(in_time and (settled is None or person.number > settled))
    line = {"assignment": id, "seq": seq + 1, "label": made["label"], "row": made["row"]}
    connection.execute(insert(done).values(**line, reason=reason, actor=actor, at=now, counts=int(counts)))
    body = {"assignment": id_text(id), "reason": reason, "counts": counts}
    append(connection, study.id, now, actor, "corrected", body, status)
    return counts


def forget(connection: Connection, study: Running, now: int, unit: str, actor: str) -> bool:
    """Erase a person; whether there was one."""
    status, people = _locked(connection, study), schema.assignment
    here = (people.c.study == study.id) & (people.c.unit == unit)
    person = connection.execute(select(people).where(here)).one_or_none()
    if person is None:
        return False
    settled = last_settled(connection, study.id)
    if (settled is None or person.number > settled) and person.label is not None:
        tally = {
            "id": secrets.randbits(63),
            "study": study.id,
            "number": person.number,
            "arm": person.arm,
            "label": person.label,
        }
        connection.execute(insert(schema.erased).values(**tally))
    erase_people(connection, here, now)
    append(connection, study.id, now, actor, "erased", {"cohort": person.number}, status)
    return True


def confirm_clock(connection: Connection, study: Running, now: int, reason: str, actor: str) -> bool:
    """A study that was held goes on; whether it was."""
    status = _locked(connection, study)
    if not is_held(connection, study.id):
        return False
    append(connection, study.id, now, actor, CONFIRMED, {"reason": reason}, status)
    return True


def hold(connection: Connection, study: Running, now: int, apart: float) -> None:
    """Nothing opens or settles until somebody has looked at the clock."""
    status = _locked(connection, study)
    if not is_held(connection, study.id):
        append(connection, study.id, now, "tick", HELD, {"seconds": round(apart, 3)}, status)


def _locked(connection: Connection, study: Running) -> StudyStatus:
    connection.execute(select(schema.study.c.id).where(schema.study.c.id == study.id).with_for_update())
    return status_of(connection, study.id)


def _exists(connection: Connection, study: Running, number: object) -> bool:
    if isinstance(number, bool) or not isinstance(number, int):
        return False
    asked = select(schema.cohort.c.number).where(schema.cohort.c.study == study.id, schema.cohort.c.number == number)
    return connection.execute(asked).scalar() is not None


def _over(study: Running, status: StudyStatus, what: str) -> Conflict:
    return Conflict(f"Study '{study.name}' is {status}: it cannot be {what} any more.")
