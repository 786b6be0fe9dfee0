"""What happened to a study, in a chain: each line's hash is over the line and the hash of the one before."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from sqlalchemy import Connection, insert, select

from fairarm.studies import schema
from fairarm.studies.answers import Event, StudyStatus
from fairarm.studies.options import moment
from fairarm.studies.schema import AnyRow

FIRST = "0" * 64
"""What stands before the first line."""


def append(
    connection: Connection, study: int, now: int, actor: str, kind: str, body: dict[str, Any], status: StudyStatus
) -> None:
    """One line more. The study's row is locked until the commit, so that lines have one order."""
    connection.execute(select(schema.study.c.id).where(schema.study.c.id == study).with_for_update())
    last = last_event(connection, study)
    seq, prev = (1, FIRST) if last is None else (last.seq + 1, last.hash)
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
    line = {"study": study, "seq": seq, "at": now, "actor": actor, "kind": kind, "body": text, "status": str(status)}
    connection.execute(insert(schema.event).values(**line, prev=prev, hash=line_hash(line, prev)))


def line_hash(line: dict[str, Any], prev: str) -> str:
    """SHA-256 of a line and the hash before it."""
    text = json.dumps([prev, *(line[name] for name in _HASHED)], separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


_HASHED = ("study", "seq", "at", "actor", "kind", "body", "status")


def last_event(connection: Connection, study: int) -> AnyRow | None:
    """The newest line."""
    lines = schema.event
    return connection.execute(
        select(lines).where(lines.c.study == study).order_by(lines.c.seq.desc()).limit(1)
    ).one_or_none()


def status_of(connection: Connection, study: int) -> StudyStatus:
    """As the newest line has it."""
    lines = schema.event
    found = connection.execute(
        select(lines.c.status).where(lines.c.study == study).order_by(lines.c.seq.desc()).limit(1)
    ).scalar()
    return StudyStatus(found or StudyStatus.CLOSED)


def events_of(connection: Connection, study: int, after: int = 0, kinds: tuple[str, ...] = ()) -> tuple[Event, ...]:
    """Lines in order."""
    lines = schema.event
    asked = select(lines).where(lines.c.study == study, lines.c.seq > after).order_by(lines.c.seq)
    if kinds:
        asked = asked.where(lines.c.kind.in_(kinds))
    return tuple(_event(line) for line in connection.execute(asked))


def _event(line: AnyRow) -> Event:
    body = json.loads(line.body)
    return Event(line.seq, moment(line.at), line.actor, line.kind, body, StudyStatus(line.status), line.prev, line.hash)


def broken_chain(connection: Connection, study: int) -> list[str]:
    """What is wrong with the chain: one line each."""
    lines, prev, found = schema.event, FIRST, []
    stored = connection.execute(select(lines).where(lines.c.study == study).order_by(lines.c.seq)).mappings().all()
    for seq, line in enumerate(stored, start=1):
        if line["seq"] != seq or line["prev"] != prev or line["hash"] != line_hash(dict(line), line["prev"]):
            found.append(
                f"event {line['seq']} ({line['kind']}) is not what its hash says: it was changed, or one before it is gone"
            )
        prev = line["hash"]
    return found
