"""What happened to a study, in a chain: each line's hash is over the line and the hash of the one before."""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import Any

from sqlalchemy import Connection, insert, select

from fairarm.studies import schema
from fairarm.studies.answers import Event, StudyState
from fairarm.studies.calls import id_text
from fairarm.studies.options import moment
from fairarm.studies.running import Running
from fairarm.studies.schema import AnyRow

FIRST = "0" * 64
"""What stands before the first line."""

CORRECTED, ERASED = "corrected", "erased"
"""Kinds of events with a note. The second is also shown in place of a note that is gone."""


def append(
    connection: Connection, study: int, now: int, actor: str, kind: str, body: dict[str, Any], status: StudyState
) -> int:
    """One line more; its number. The study's row is locked until the commit, so that lines have one order."""
    locked(connection, study)
    last = last_event(connection, study)
    seq, prev = (1, FIRST) if last is None else (last.seq + 1, last.hash)
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
    line = {"study": study, "seq": seq, "at": now, "actor": actor, "kind": kind, "body": text, "status": str(status)}
    connection.execute(insert(schema.event).values(**line, prev=prev, hash=line_hash(line, prev)))
    return seq


def append_noted(
    connection: Connection,
    study: Running,
    now: int,
    kind: str,
    body: dict[str, Any],
    status: StudyState,
    said: dict[str, str],
    line: dict[str, int] | None = None,
) -> int:
    """A line about a person; its number. ``said`` is free text: it goes into a note that can be erased, and the chain has only a digest.

    ``line``: of the table of corrections, which the digest covers too.
    """
    of = (line or {}).get
    note = {"salt": secrets.token_hex(16), "text": json.dumps(said), "assignment": of("assignment")}
    digest = note_digest(study.key, *note.values(), of("label"), of("row"), of("counts"))
    seq = append(connection, study.id, now, "", kind, {**body, "note": digest}, status)
    connection.execute(insert(schema.note).values(study=study.id, seq=seq, **note))
    return seq


def note_digest(key: bytes, *parts: object) -> str:
    """Keyed BLAKE2b of a note: salt, text, assignment, and label, row and counts of the correction it comes with."""
    return hashlib.blake2b(
        json.dumps(parts, default=str).encode("ascii"), key=key, digest_size=32, person=b"note"
    ).hexdigest()


def locked(connection: Connection, study: int) -> StudyState:
    """The status of a study, which nobody else changes until the commit."""
    connection.execute(select(schema.study.c.id).where(schema.study.c.id == study).with_for_update())
    return state_of(connection, study)


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


def state_of(connection: Connection, study: int) -> StudyState:
    """As the newest line has it."""
    last = last_event(connection, study)
    return StudyState.CLOSED if last is None else StudyState(last.status)


def events_of(connection: Connection, study: int, after: int = 0, kinds: tuple[str, ...] = ()) -> tuple[Event, ...]:
    """Lines in order, with their notes."""
    lines, notes = schema.event, schema.note
    joined = lines.outerjoin(notes, (notes.c.study == lines.c.study) & (notes.c.seq == lines.c.seq))
    asked = select(lines, notes.c.assignment, notes.c.text).select_from(joined)
    asked = asked.where(lines.c.study == study, lines.c.seq > after).order_by(lines.c.seq)
    if kinds:
        asked = asked.where(lines.c.kind.in_(kinds))
    return tuple(_event(line) for line in connection.execute(asked))


def _event(line: AnyRow) -> Event:
    body, actor = json.loads(line.body), line.actor
    if body.pop("note", None) is not None:
        body |= {"reason": ERASED, "actor": ERASED} if line.text is None else json.loads(line.text)
        body |= {} if line.assignment is None else {"assignment": id_text(line.assignment)}
        actor = body.pop("actor")
    return Event(line.seq, moment(line.at), actor, line.kind, body, StudyState(line.status), line.prev, line.hash)


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
