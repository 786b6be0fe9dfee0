"""Where a study may live, SQLite or PostgreSQL, behind one face: a URL, copies of a prepared state, and what a kill looks at."""

from __future__ import annotations

import mmap
import shutil
import sqlite3
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.postgres import Postgres

DAY = 86_400_000_000
"""Microseconds."""


@dataclass(frozen=True)
class Place:
    """One database."""

    kind: str
    name: str
    url: str
    copy: Callable[[str], Place]
    """The same content under another name; nobody may be connected."""
    drop: Callable[[], None]
    files: str = ""
    """The beginning of the paths of its files, for the kill."""
    port: int = 0


def sqlite_place(folder: Path, name: str = "studies") -> Place:
    """A file of SQLite's."""
    path = folder / f"{name}.db"

    def copy(other: str) -> Place:
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        shutil.copyfile(path, folder / f"{other}.db")
        return sqlite_place(folder, other)

    def drop() -> None:
        for end in ("", "-wal", "-shm", "-journal"):
            Path(f"{path}{end}").unlink(missing_ok=True)

    return Place("SQLite", name, f"sqlite:///{path}", copy, drop, files=str(path))


def postgres_place(server: Postgres, name: str = "studies") -> Place:
    """A new database of a server."""
    return _in_server(server, server.made(name))


def _in_server(server: Postgres, database: Postgres) -> Place:
    return Place(
        "PostgreSQL",
        database.database,
        database.url(),
        copy=lambda other: _in_server(server, server.made(other, like=database.database)),
        drop=lambda: server.dropped(database.database),
        port=server.port,
    )


class SharedClock:
    """A time that all processes see and one of them sets: 8 bytes of a file, microseconds since 1970."""

    def __init__(self, path: Path, start: int | None = None) -> None:
        if start is not None:
            path.write_bytes(struct.pack("<q", start))
        self.path = path
        with path.open("r+b") as file:
            self._bytes = mmap.mmap(file.fileno(), 8)

    def __call__(self) -> int:
        return int(struct.unpack("<q", self._bytes[:8])[0])

    def set(self, now: int) -> None:
        """For everybody."""
        self._bytes[:8] = struct.pack("<q", now)

    def advance(self, microseconds: int) -> None:
        """Forward, or back."""
        self.set(self() + microseconds)
