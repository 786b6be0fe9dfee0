"""The tables of studies. A database has one version of them.

Rows are inserted and never changed, but for one counter per cohort, the pulse of ticks, whether a study is held, and what is erased on
purpose. Four UNIQUE constraints (unit, slot, outcome, settled) carry all safety; clocks only keep things moving. Times are whole
microseconds in UTC.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Connection,
    Double,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    insert,
    inspect,
    select,
)

from fairarm.studies.errors import Conflict

AnyRow = Any
"""A row that was selected: its columns are attributes."""

metadata = MetaData()


def _table(name: str, *parts: Column[object] | UniqueConstraint | CheckConstraint) -> Table:
    return Table(f"fairarm_{name}", metadata, *parts)


schema = _table("schema", Column("version", Integer, primary_key=True, autoincrement=False), Column("at", BigInteger))

study = _table(
    "study",
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("options", Text, nullable=False),
    Column("problem", Text, nullable=False),  # TOML
    Column("fingerprint", Text, nullable=False),
    Column("key", LargeBinary, nullable=False),  # 32 random bytes: decks, hashes
    Column("seed", BigInteger, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("held", Integer, nullable=False, default=0),  # 1: the clock may be wrong, until somebody confirms it
)

event = _table(
    "event",
    Column("study", Integer, primary_key=True, autoincrement=False),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("body", Text, nullable=False),  # JSON
    Column("status", Text, nullable=False),  # of the study from here on
    Column("prev", Text, nullable=False),
    Column("hash", Text, nullable=False),
)

note = _table(
    "note",  # free text of an event about a person: the event has its digest; NULL but for its key once it is erased
    Column("study", Integer, primary_key=True, autoincrement=False),
    Column("seq", Integer, primary_key=True, autoincrement=False),  # the event's
    Column("assignment", BigInteger),
    Column("salt", Text),  # random: without it no guess of the text can be tested
    Column("text", Text),  # JSON
)

cohort = _table(
    "cohort",
    Column("study", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("plan", Text, nullable=False),  # cards by arm, JSON
    Column("share", Double, nullable=False),
    Column("starts", BigInteger, nullable=False),
    Column("opened", BigInteger, nullable=False),
    Column("closes", BigInteger, nullable=False),
    Column("why", Text, nullable=False),  # JSON
)

deck = _table(
    "deck",  # not beside the counter: it would be written anew with every pull
    Column("study", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("arms", LargeBinary, nullable=False),  # two bytes a card
)

counter = _table(
    "counter",
    Column("study", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("size", Integer, nullable=False),
    Column("issued", Integer, nullable=False),
    Column(
        "closed", Integer, nullable=False, default=0
    ),  # 1: settled or dropped, so that outcomes do not count any more
    CheckConstraint("issued <= size"),
)

assignment = _table(
    "assignment",  # the first answer to each person: a card of a cohort, or outside the study
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("study", Integer, nullable=False),
    Column("unit", Text),
    Column("number", Integer),  # of the cohort; NULL: outside
    Column("slot", Integer),
    Column("arm", Integer),
    Column("outside", Integer),  # the newest cohort when the person was answered "outside"
    Column("label", Integer),  # the group's, or profile's, position
    Column("known", Text),  # codes by column, JSON
    Column("decision", Integer),
    Column("issued", BigInteger, nullable=False),
    Column("erased", BigInteger),
    UniqueConstraint("study", "unit"),
    UniqueConstraint("study", "number", "slot"),
)

outcome = _table(
    "outcome",
    Column("assignment", BigInteger, primary_key=True, autoincrement=False),
    Column("digest", Text, nullable=False),
    Column("label", Integer),
    Column("row", BigInteger),  # of the problem's row space; NULL: never served, or erased
    Column("told", BigInteger, nullable=False),
)

correction = _table(
    "correction",
    Column("assignment", BigInteger, primary_key=True, autoincrement=False),
    Column("seq", Integer, primary_key=True, autoincrement=False),  # the event's
    Column("label", Integer),
    Column("row", BigInteger),
    Column("counts", Integer, nullable=False),  # in the window, and before its cohort was settled
)

incident = _table(
    "incident",  # what went wrong with an assignment, by kind: CONFLICT, AFTER
    Column("study", Integer, primary_key=True, autoincrement=False),
    Column("kind", Text, primary_key=True),
    Column("about", BigInteger, primary_key=True, autoincrement=False),
)

CONFLICT = "conflict"
"""The person was assigned again with another group or input."""
AFTER = "told-after-settlement"
"""The outcome came after its cohort was settled or left out."""

erased = _table(
    "erased",  # of people erased before their cohort was settled: how many of which arm and group, tied to nobody
    Column("id", BigInteger, primary_key=True, autoincrement=False),  # random
    Column("study", Integer, nullable=False),
    Column("number", Integer, nullable=False),
    Column("arm", Integer, nullable=False),
    Column("label", Integer, nullable=False),
)

settled = _table(
    "settled",
    Column("study", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("cells", Text, nullable=False),  # what was settled, JSON
    Column("counted", LargeBinary, nullable=False),  # a `CardCode` a card
    Column("lost", Integer, nullable=False),
    Column("cut", Integer, nullable=False),
    Column("shown", Text, nullable=False),  # what was known then, JSON
    Column("state", LargeBinary, nullable=False),
    Column("digest", Text, nullable=False),
)

token = _table(
    "token",
    Column("digest", Text, primary_key=True),
    Column("role", Text, nullable=False),
    Column("study", Integer),
    Column("label", Text, nullable=False),
    Column("made", BigInteger, nullable=False),
    Column("revoked", BigInteger),
)

pulse = _table(
    "pulse",
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("ticked", BigInteger),
    Column("written", BigInteger),
    Column("confirmed", Integer, nullable=False),  # how often somebody has confirmed the clock
)

VERSION = 2


def lay_out(connection: Connection, now: int) -> None:
    """Make the tables where there are none; the caller holds the lock. A database of another version is refused."""
    if not inspect(connection).has_table(schema.name):
        metadata.create_all(connection)
        connection.execute(insert(pulse).values(id=1, confirmed=0))
        connection.execute(insert(schema).values(version=VERSION, at=now))
    there = max(connection.execute(select(schema.c.version)).scalars(), default=0)
    if there != VERSION:
        raise Conflict(
            f"The database has version {there} of the tables of studies; this fairarm reads version {VERSION} only. Use the version of "
            f"fairarm that wrote it, or begin with a new database."
        )
