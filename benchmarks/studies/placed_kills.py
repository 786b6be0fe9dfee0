"""SIGKILL at the n-th write, sync or message of each transaction, before it, in the middle of it and after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.studies.fork_server import AFTER, BEFORE, HALF, KILLED, ForkServer, Journal
from benchmarks.studies.places import Place, SharedClock
from benchmarks.studies.transactions import (
    ACTS,
    BEFORE_CLOSE,
    NEW,
    START,
    Said,
    check,
    open_studies,
    prepare,
    prepare_second,
    state_of,
)

FIRST, LAST = 40, 20
"""Writes, syncs and messages of a transaction at which it is killed: all it has, or so many from its start and before its end, where the
commit is."""
JOB = "benchmarks.studies.transactions:transaction"


@dataclass(frozen=True)
class PlacedKill:
    """One kill and what was left."""

    transaction: str
    n: int
    how: int
    acknowledged: bool


class PlacedKills:
    """All states that transactions start from, in one database system; each kill has a copy of its own."""

    def __init__(self, server: ForkServer, empty: Place, folder: Path) -> None:
        self.server, self.folder, self._copies = server, folder, 0
        self.clock = SharedClock(folder / f"clock-{empty.kind}", START)
        self.empty = empty
        self.first = empty.copy("first") if empty.kind == "PostgreSQL" else self._fresh(empty, "first")
        prepare(self.first.url, self.clock)
        self.second = self.first.copy("second")
        prepare_second(self.second.url, self.clock)
        self._references: dict[str, Said] = {}

    def _fresh(self, empty: Place, name: str) -> Place:
        """SQLite has no file to copy before there is a schema."""
        from benchmarks.studies.places import sqlite_place

        return sqlite_place(self.folder, name)

    def writes(self, transaction: str) -> int:
        """How many it has when nothing happens."""
        with_all = self._run(transaction, 0, BEFORE)
        assert with_all is not None
        assert with_all["syncs"] > 0 or not self.empty.files, f"{transaction} is acknowledged before it is on the disk"
        return int(with_all["seen"])

    def kills(self, transaction: str, at: Sequence[int] | None = None, how: Sequence[int] = ()) -> Iterator[PlacedKill]:
        """Kill it at each of these; at the `FIRST` and `LAST` if not given; before, in the middle and after by turns. An error where something acknowledged is lost or doubled."""
        for n in at or self._places(transaction):
            for each in how or ((BEFORE, HALF, AFTER)[n % 3],):
                said = self._run(transaction, n, each)
                yield PlacedKill(transaction, n, each, said is not None)

    def _places(self, transaction: str) -> list[int]:
        writes = self.writes(transaction)
        return [n for n in range(1, writes + 1) if n <= FIRST or n > writes - LAST]

    def _run(self, transaction: str, n: int, how: int) -> Said | None:
        place = self._copy(transaction)
        journal = Journal(str(self.folder / f"journal-{place.kind}-{self._copies}"))
        self.clock.set(BEFORE_CLOSE if transaction in NEW else ACTS[transaction][1])
        reference = self._reference(transaction)
        try:
            ended = self.server.run(
                JOB, journal, place.files, place.port,
                url=place.url, clock=str(self.clock.path), name=transaction, n=n, how=how,
            )  # fmt: skip
            assert ended.code in (0, KILLED), f"{transaction} at {n}: {ended.error}"
            said = journal.lines()
            assert (ended.code == 0) == bool(said), (
                f"{transaction} at {n}: acknowledged {said}, ended with {ended.code}"
            )
            try:
                with open_studies(place.url, self.clock) as studies:
                    check(studies, transaction, said[0] if said else None, reference)
            except Exception as error:
                raise AssertionError(
                    f"{place.kind}: {transaction} killed at {n} ({how}), acknowledged: {said}"
                ) from error
            return said[0] if said else None
        finally:
            place.drop()
            with suppress(FileNotFoundError):
                Path(journal.path).unlink()

    def _copy(self, transaction: str) -> Place:
        self._copies += 1
        name = f"copy{self._copies}"
        if transaction in NEW:
            return self._fresh(self.empty, name) if self.empty.kind == "SQLite" else self.empty.copy(name)
        return (self.second if transaction == "settle" else self.first).copy(name)

    def _reference(self, transaction: str) -> Said:
        """What a tick leaves behind when nobody kills it."""
        if transaction not in ("open", "settle"):
            return {}
        if transaction not in self._references:
            place = (self.second if transaction == "settle" else self.first).copy(f"reference_{transaction}")
            with open_studies(place.url, self.clock) as studies:
                studies.tick()
                self._references[transaction] = state_of(studies.open("coins"))
            place.drop()
        return self._references[transaction]
