"""How fast: pairs of assign and tell beside Optuna's ask and tell, many callers beside a commit for each, one assign beside a bare
INSERT, and many rows beside few. All are ratios of what ran by turns in one job."""

from __future__ import annotations

import os
import sqlite3
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna

from benchmarks.studies.once import options
from benchmarks.studies.places import Place
from benchmarks.studies.stored import Stored
from fairarm.catalog import load_problem
from fairarm.studies import Studies, Study, writer

NAME = "rate"


@dataclass(frozen=True)
class Ratio:
    """Two rates, or costs, that were measured by turns."""

    what: str
    place: str
    ours: float
    theirs: float
    unit: str
    bar: float
    at_least: bool
    """The ratio must be at least the bar, or at most."""

    @property
    def ratio(self) -> float:
        """Ours to theirs."""
        return self.ours / self.theirs

    @property
    def holds(self) -> bool:
        """Whether the bar is met."""
        return self.ratio >= self.bar if self.at_least else self.ratio <= self.bar


class Pairs:
    """People who come and whose outcome is told at once."""

    def __init__(self, study: Study) -> None:
        self.study, self._next, self._lock = study, 0, threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            self._next += 1
            number = self._next
        made = self.study.assign(f"u-{number}", group="ab"[number % 2], known={})
        assert made.id is not None
        self.study.tell(made.id, {"result": "win"})


def optuna_pairs(place: Place) -> Callable[[], None]:
    """Optuna's storage in a database of the same kind."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    url = place.url.replace("postgresql://", "postgresql+psycopg://")
    storage = optuna.storages.RDBStorage(url)
    study = optuna.create_study(storage=storage, sampler=optuna.samplers.RandomSampler(seed=1))

    def pair() -> None:
        trial = study.ask()
        study.tell(trial, 1.0)

    return pair


def rate(pair: Callable[[], None], callers: int, seconds: float) -> float:
    """Calls in a second, by threads that each wait for their answer."""
    counts, stop = [0] * callers, time.perf_counter() + seconds
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            while time.perf_counter() < stop:
                pair()
                counts[number] += 1
        except BaseException as error:
            errors.append(error)

    begun = time.perf_counter()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return sum(counts) / (time.perf_counter() - begun)


def by_turns(first: Callable[[], float], second: Callable[[], float], rounds: int) -> tuple[float, float]:
    """Medians of both, one after the other in every round."""
    found = [(first(), second()) for _ in range(rounds)]
    return statistics.median(a for a, _ in found), statistics.median(b for _, b in found)


@contextmanager
def studying(place: Place, people: int) -> Iterator[Study]:
    """A study that nobody is turned away from."""
    with Studies(place.url) as studies:
        yield studies.create(NAME, load_problem("coin").problem, **options(people))


@contextmanager
def ungrouped() -> Iterator[None]:
    """A commit for every call."""
    kept, writer.MOST_TOGETHER = writer.MOST_TOGETHER, 1
    try:
        yield
    finally:
        writer.MOST_TOGETHER = kept


def beside_optuna(place: Place, other: Place, callers: int, seconds: float, rounds: int) -> Ratio:
    """Pairs in a second."""
    with studying(place, 500_000) as study:
        pair, theirs = Pairs(study), optuna_pairs(other)
        found = by_turns(lambda: rate(pair, callers, seconds), lambda: rate(theirs, callers, seconds), rounds)
    called = f"{callers} caller{'s' if callers > 1 else ''}"
    return Ratio(f"pairs beside Optuna, {called}", place.kind, *found, "pairs/s", 10.0, at_least=True)


def grouped(place: Place, callers: int, seconds: float, rounds: int) -> Ratio:
    """Many callers, together and each for itself."""

    def alone() -> float:
        with ungrouped():
            return rate(pair, callers, seconds)

    with studying(place, 500_000) as study:
        pair = Pairs(study)
        found = by_turns(lambda: rate(pair, callers, seconds), alone, rounds)
    return Ratio(f"{callers} callers, beside a commit for each", place.kind, *found, "pairs/s", 3.0, at_least=True)


def beside_insert(place: Place, count: int, rounds: int) -> Ratio:
    """The time of one assign and of a bare INSERT that is committed."""
    with studying(place, 500_000) as study, bare_inserts(place) as insert:
        numbers = iter(range(10**9))

        def assign() -> None:
            number = next(numbers)
            study.assign(f"u-{number}", group="ab"[number % 2], known={})

        def each(call: Callable[[], None]) -> float:
            begun = time.perf_counter()
            for _ in range(count):
                call()
            return 1000 * (time.perf_counter() - begun) / count

        found = by_turns(lambda: each(assign), lambda: each(insert), rounds)
    return Ratio("one assign beside a bare committed INSERT", place.kind, *found, "ms", 4.0, at_least=False)


@contextmanager
def bare_inserts(place: Place) -> Iterator[Callable[[], None]]:
    """A row of one's own with the driver alone, as durable as ours."""
    connection: Any
    if place.kind == "SQLite":
        connection = sqlite3.connect(place.url.removeprefix("sqlite:///"), timeout=10)
        connection.execute("PRAGMA synchronous=FULL")
    else:
        import psycopg

        connection = psycopg.connect(place.url)
    connection.execute("CREATE TABLE bare (id BIGINT PRIMARY KEY, what TEXT)")
    connection.commit()
    numbers = iter(range(10**9))

    def insert() -> None:
        connection.execute(f"INSERT INTO bare VALUES ({next(numbers)}, 'x')")
        connection.commit()

    try:
        yield insert
    finally:
        connection.close()


def many_rows(few_place: Place, many_place: Place, few: int, many: int, count: int, rounds: int) -> Ratio:
    """CPU of a pair where a study has many rows, beside one that has few; of the server's processes too."""
    with studying(few_place, many + 100_000) as small, studying(many_place, many + 100_000) as large:
        filled(few_place, few)
        filled(many_place, many)
        pairs = {small: Pairs(small), large: Pairs(large)}

        def cpu(study: Study, place: Place) -> float:
            begun = used(place)
            for _ in range(count):
                pairs[study]()
            return 1000 * (used(place) - begun) / count

        cpu(small, few_place), cpu(large, many_place)
        found = by_turns(lambda: cpu(large, many_place), lambda: cpu(small, few_place), rounds)
    return Ratio(
        f"CPU of a pair at {many:,} rows beside {few:,}".replace(",", " "),
        few_place.kind,
        *found,
        "ms",
        2.0,
        at_least=False,
    )


def filled(place: Place, rows: int) -> None:
    """A study with that many people of its open cohort, all told, by statements of our own."""
    stored = Stored(place)
    series = (
        f"WITH RECURSIVE g(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM g WHERE i < {rows - 1})"
        if place.kind == "SQLite"
        else f"WITH g AS (SELECT generate_series(0, {rows - 1}) AS i)"
    )
    deck = bytes(stored.rows("SELECT arms FROM fairarm_deck")[0][0])
    arms = [int.from_bytes(deck[2 * i : 2 * i + 2], "little") for i in range(rows)]
    stored.run(
        f"{series} INSERT INTO fairarm_assignment (id, study, unit, number, slot, arm, label, issued) "
        f"SELECT 7919 * CAST(i AS BIGINT) + 1, (SELECT id FROM fairarm_study), 'filled-' || i, 0, i, 0, i % 2, (SELECT created FROM fairarm_study) FROM g"
    )
    ones = [i for i, arm in enumerate(arms) if arm]
    for begin in range(0, len(ones), 500):
        chosen = ",".join(map(str, ones[begin : begin + 500]))
        stored.run(f"UPDATE fairarm_assignment SET arm = 1 WHERE number = 0 AND slot IN ({chosen})")
    stored.run(
        "INSERT INTO fairarm_outcome (assignment, digest, label, row, told) SELECT id, 'filled', label, 0, issued FROM fairarm_assignment"
    )
    stored.run(f"UPDATE fairarm_counter SET issued = {rows}")
    stored.run("ANALYZE")


def used(place: Place) -> float:
    """CPU seconds of this process and of the server's that serve it."""
    mine = sum(os.times()[:2])
    if place.kind == "SQLite":
        return mine
    ticks = os.sysconf("SC_CLK_TCK")
    pids = [
        row[0]
        for row in Stored(place).rows(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    ]
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:
            continue
        mine += (int(fields[11]) + int(fields[12])) / ticks
    return mine
