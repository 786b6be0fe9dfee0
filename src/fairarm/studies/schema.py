"""The tables, and how a database gets them: numbered, additive steps under a lock.

Rows are inserted and never changed, but for one counter per cohort, the pulse of ticks, and what is erased on purpose. Four UNIQUE
constraints (unit, slot, outcome, settled) carry all safety; clocks only keep things moving. Times are whole microseconds in UTC.
"""

from __future__ import annotations

from collections.abc import Callable
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
    CheckConstraint("issued <= size"),
)

assignment = _table(
    "assignment",
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("study", Integer, nullable=False),
    Column("unit", Text),
    Column("number", Integer, nullable=False),
    Column("slot", Integer, nullable=False),
    Column("arm", Integer, nullable=False),
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
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("label", Integer),
    Column("row", BigInteger),
    Column("reason", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("counts", Integer, nullable=False),  # in the window, and before its cohort was settled
)

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
    Column("counted", LargeBinary, nullable=False),  # a bit a card
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
    "pulse",  # safety does not rest on it
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("ticked", BigInteger),
    Column("written", BigInteger),
)


def _first(connection: Connection) -> None:
    metadata.create_all(connection)
    connection.execute(insert(pulse).values(id=1, ticked=None, written=None))


STEPS: tuple[Callable[[Connection], None], ...] = (_first,)
"""From each version to the next. Additive: an older process goes on beside a newer database of the same version only."""


def upgrade(connection: Connection, now: int) -> None:
    """Bring a database to this version; the caller holds the lock. One that is newer is refused."""
    there = 0
    if inspect(connection).has_table(schema.name):
        there = max(connection.execute(select(schema.c.version)).scalars().all(), default=0)
    if there > len(STEPS):
        raise Conflict(
            f"The database has version {there} of the tables of studies; this fairarm knows up to {len(STEPS)}. Use the version of "
            f"fairarm that wrote it, or a later one."
        )
    for version, step in enumerate(STEPS[there:], start=there + 1):
        step(connection)
        connection.execute(insert(schema).values(version=version, at=now))
