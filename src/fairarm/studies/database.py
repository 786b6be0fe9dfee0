"""One database, SQLite or PostgreSQL: connections, transactions, its clock, its locks. What differs between the two is here."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Column,
    Connection,
    Engine,
    Table,
    any_,
    bindparam,
    create_engine,
    event,
    func,
    literal_column,
    select,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.sql import ColumnElement

from fairarm.errors import one_line
from fairarm.studies.errors import Busy, Invalid, StudyError
from fairarm.studies.schema import lay_out

TIMEOUT = 10
"""Seconds that a statement waits for another process."""

NETWORK_DISKS = ("nfs", "cifs", "smb", "9p", "afs", "fuse.sshfs", "fuse.glusterfs", "ceph", "lustre", "ncpfs", "gfs")
"""File systems, by the first letters of their names, on which locks and syncs are not what SQLite needs."""

SCHEMA_LOCK, TICK_LOCK, OUTCOME_LOCK = 0x6661_6972, 0x6661_6974, 0x6661_6975
"""Advisory locks of PostgreSQL."""

_SERVER_NOW = "(extract(epoch from clock_timestamp()) * 1000000)::bigint"


class Database:
    """Transactions of one database; a passed ``clock`` is the time in every one of them."""

    def __init__(self, url: str, clock: Callable[[], int] | None = None) -> None:
        self.url = _checked(url)
        self.clock = clock
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self._unscrubbed = self.sqlite
        self.engine, self._writes = self._engines()
        try:
            self._lay_out()
        except BaseException:
            self.close()
            raise

    def _engines(self) -> tuple[Engine, Engine]:
        """To read by, and to write by."""
        if not self.sqlite:
            waits = f"-c statement_timeout={TIMEOUT * 1000} -c lock_timeout={TIMEOUT * 1000}"
            how: dict[str, Any] = {"hide_parameters": True, "connect_args": {"options": waits}}
            reads = create_engine(self.url, pool_pre_ping=True, pool_size=8, max_overflow=8, **how)
            return reads, create_engine(self.url, pool_size=1, isolation_level="AUTOCOMMIT", **how)  # see `_begun`
        _require_local(Path(self.url.database or "").absolute())
        how = {"hide_parameters": True, "connect_args": {"timeout": TIMEOUT, "check_same_thread": False}}
        made = create_engine(self.url, **how), create_engine(self.url, pool_size=1, **how)
        for engine, kind in zip(made, ("DEFERRED", "IMMEDIATE"), strict=True):
            event.listen(engine, "connect", _configured)
            event.listen(engine, "begin", partial(_begin, kind))
        return made

    def _lay_out(self) -> None:
        with self.failing(), self.engine.connect() as connection:
            if self.sqlite:
                connection = connection.execution_options(begins="EXCLUSIVE")
            with connection.begin():
                if not self.sqlite:
                    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": SCHEMA_LOCK})
                lay_out(connection, self.now(connection))

    # ---- transactions ----

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One snapshot to read from."""
        with self.failing(), self.engine.connect() as connection:
            if not self.sqlite:
                connection = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self, tells: Iterable[int] = ()) -> Iterator[tuple[Connection, int]]:
        """A transaction that writes, and the time at which it began; committed at the end. ``tells``: studies whose outcomes it tells, see
        `lock_outcomes`."""
        with self.failing():
            connection, now = self._begun(tells)
            with connection:  # what is not committed is rolled back
                yield connection, now
                connection.commit()

    def _begun(self, tells: Iterable[int]) -> tuple[Connection, int]:
        """The first question also tells whether the connection still is one: a new one is made where it is not, and nothing was lost.

        PostgreSQL begins, says what time it is and locks outcomes in one message: each costs as much as a statement.
        """
        locks = (f"; SELECT pg_advisory_xact_lock_shared({OUTCOME_LOCK}, {study})" for study in sorted(tells))
        begin = "".join(("BEGIN", *locks))
        for first in (True, False):
            connection = self._writes.connect()
            try:
                if self.sqlite:
                    connection.begin()
                    return connection, self.now(connection)
                if self.clock is not None:
                    connection.exec_driver_sql(begin)
                    return connection, self.now(connection)
                return connection, int(connection.exec_driver_sql(f"SELECT {_SERVER_NOW}; {begin}").scalar_one())
            except DBAPIError as error:
                connection.close()
                if not (first and error.connection_invalidated):
                    raise
        raise Busy("The database does not answer. Try again.")

    @contextmanager
    def failing(self) -> Iterator[None]:
        """What the database says becomes `Busy`: the call can be repeated."""
        try:
            yield
        except DBAPIError as error:
            raise _failure(error.orig, self.shown) from error
        except SQLAlchemyError as error:
            raise _failure(error, self.shown) from error

    @contextmanager
    def try_lock(self, study: int) -> Iterator[bool]:
        """Whether this process may tick a study now; it saves work, and truth does not rest on it."""
        if self.sqlite:
            yield True
            return
        keys = {"tick": TICK_LOCK, "study": study}
        with self.failing(), self.engine.connect() as connection:
            held = bool(connection.execute(text("SELECT pg_try_advisory_lock(:tick, :study)"), keys).scalar())
            connection.commit()
            try:
                yield held
            finally:
                if held:
                    connection.execute(text("SELECT pg_advisory_unlock(:tick, :study)"), keys)
                    connection.commit()

    # ---- what differs ----

    def now(self, connection: Connection) -> int:
        """The time by the passed clock, else by the database."""
        if self.clock is not None:
            return int(self.clock())
        if self.sqlite:
            return time.time_ns() // 1000
        return int(connection.execute(text(f"SELECT {_SERVER_NOW}")).scalar_one())

    @property
    def asks_server(self) -> bool:
        """Whether the time is the server's."""
        return self.clock is None and not self.sqlite

    def now_in_statement(self, name: str) -> ColumnElement[Any]:
        """The time when a statement runs, after it has waited for others; a parameter of this name where it is not the server's."""
        return literal_column(_SERVER_NOW, BigInteger) if self.asks_server else bindparam(name, type_=BigInteger)

    def among(self, column: Column[Any], name: str) -> ColumnElement[bool]:
        """Whether a column has one of the values that `listed` hands over under this name: one text, however many there are."""
        if self.sqlite:
            return column.in_(select(func.json_each(bindparam(name)).table_valued("value").c.value))
        return column == any_(bindparam(name, type_=ARRAY(column.type)))

    def listed(self, values: Sequence[Any]) -> Any:
        """Values for `among`."""
        return json.dumps(list(values)) if self.sqlite else list(values)

    def insert(self, table: Table) -> Any:
        """INSERT … ON CONFLICT DO NOTHING."""
        made = sqlite.insert(table) if self.sqlite else postgresql.insert(table)
        return made.on_conflict_do_nothing()

    def scrub(self, erased: bool = False) -> None:
        """After people were ``erased``: empty SQLite's write-ahead log, where older pages still hold them. That fails while somebody
        reads; the next tick tries again."""
        self._unscrubbed |= erased and self.sqlite
        if self._unscrubbed:
            with suppress(sqlite3.Error), closing(sqlite3.connect(str(self.url.database), timeout=1)) as connection:
                self._unscrubbed = bool(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])

    def backup(self, path: Path) -> None:
        """A whole copy while it is in use (SQLite)."""
        with self.failing(), self.engine.connect() as connection, sqlite3.connect(path) as copy:
            source = connection.connection.dbapi_connection
            source.backup(copy)  # type: ignore[union-attr]
        copy.close()

    @property
    def shown(self) -> str:
        """The URL without its password."""
        return self.url.render_as_string(hide_password=True)

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()
        self._writes.dispose()

    def forked(self) -> None:
        """In a child process: the parent's connections are not its own."""
        self.engine.dispose(close=False)
        self._writes.dispose(close=False)


def lock_outcomes(connection: Connection, study: int) -> None:
    """The outcomes of a study are this transaction's alone until its commit: before it settles a cohort, leaves one out or erases people.

    So an outcome acknowledged as new is counted. Transactions that tell share the lock from their beginning to their commit, and look
    whether the cohort is settled; whoever settles takes the lock alone, then counts the outcomes once more. If the outcome came first, it is
    among those counted; if the settling came first, the caller hears of it. The lock is taken before all others: nobody waits in a
    circle. Transactions that write to SQLite run one after the other anyhow.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({OUTCOME_LOCK}, {study})")


def _checked(url: str) -> URL:
    """A URL of one of the two kinds; errors do not show it, since it may hold a password."""
    wanted = "It is sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE."
    if not isinstance(url, str):
        raise Invalid(f"The database is named by a URL; got {type(url).__name__}. {wanted}")
    try:
        made = make_url(url)
        kind = made.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError):
        raise Invalid(f"The database's URL cannot be read. {wanted}") from None
    if kind in ("postgresql", "postgres"):
        return made.set(drivername="postgresql+psycopg")
    if kind != "sqlite":
        raise Invalid(f"Studies are kept in SQLite or PostgreSQL; got a URL of '{kind:.20}'. {wanted}")
    if made.database in (None, "", ":memory:") or str(made.database).startswith("file:"):
        raise Invalid("A study lasts, and a database in memory does not. Name a file: sqlite:///studies.db")
    if not Path(str(made.database)).absolute().parent.is_dir():
        raise Invalid(f"The folder of the database {made.database} does not exist. Make it first.")
    return made.set(drivername="sqlite")


def _require_local(path: Path, mounts: str | None = None) -> None:
    """An error where the file lies on a network disk."""
    kind = file_system_of(path, mounts if mounts is not None else _mounts())
    if kind is not None and kind.startswith(NETWORK_DISKS):
        raise Invalid(
            f"The database {path.name} lies on a network disk ({kind}), where SQLite can lose what it has acknowledged. Use a local disk, "
            f"or PostgreSQL."
        )


def _mounts() -> str:
    try:
        return Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def file_system_of(path: Path, mounts: str) -> str | None:
    """The kind of file system by the longest mount point above a path; None where it is not known."""
    best, found = -1, None
    for line in mounts.splitlines():
        parts = line.split(" ")
        if len(parts) < 3:
            continue
        point = parts[1].replace("\\040", " ")
        above = point == "/" or str(path) == point or str(path).startswith(point.rstrip("/") + "/")
        if above and len(point) >= best:
            best, found = len(point), parts[2]
    return found


def _configured(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions are begun by `_begin`
    for setting in ("synchronous=FULL", "secure_delete=ON"):
        connection.execute(f"PRAGMA {setting}")
    for left in reversed(range(10 * TIMEOUT)):
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError:  # two processes open an empty file: SQLite refuses one of them without waiting
            if not left:
                raise
            time.sleep(0.1)


def _begin(kind: str, connection: Connection) -> None:
    connection.exec_driver_sql(f"BEGIN {connection.get_execution_options().get('begins', kind)}")


def _failure(error: object, shown: str) -> StudyError:
    """What the database said, and what to do about it."""
    first = str(error).strip().splitlines()[:1]
    said = first[0] if first else type(error).__name__
    for words, kind, way in _KNOWN:
        if any(each in said for each in words):
            return kind(one_line(f"The database {shown} cannot be used: {said}. {way}"))
    return Busy(
        one_line(
            f"The database does not do it: {said}. Nothing was changed, or it was committed: repeat the call, which changes nothing twice."
        )
    )


_KNOWN: tuple[tuple[tuple[str, ...], type[StudyError], str], ...] = (
    (("file is not a database",), Invalid, "It is another kind of file: name one that fairarm made, or a new one."),
    (("malformed",), Invalid, "The file is damaged: put a backup back, and say so (study restored)."),
    (
        ("readonly database", "unable to open database file"),
        Invalid,
        "Make file and folder writable for this user, or name another file.",
    ),
    (("disk is full", "disk I/O error"), Busy, "Nothing was changed. Make room on its disk, then repeat the call."),
)
