"""Many processes at once: one outcome is accepted, nobody and no card is dealt twice, an empty database is opened by all."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.studies.fork_server import ForkServer, Journal
from benchmarks.studies.places import DAY, Place, SharedClock
from benchmarks.studies.stored import Stored
from benchmarks.studies.transactions import START, open_studies
from fairarm.catalog import load_problem
from fairarm.studies import Busy, Conflict, Outcome, Told

NAME = "once"
MODULE = "benchmarks.studies.once"
ROWS = [{"result": "lose"}, {"result": "win"}]
"""Of the coin: its side is drawn at assignment, since nothing but the group has to be known."""


def options(people: int, **others: Any) -> dict[str, Any]:
    """A study that everybody enters."""
    least = {
        "pulls": 2 * people,
        "people": people,
        "arrivals": float(people),
        "window": "1d",
        "seed": 3,
        "actor": "test",
    }
    return least | others


# ---- the processes ----


def tells(journal: Journal, url: str, clock: str, number: int, ids: list[str], begin: str) -> None:
    """Tell an outcome of one's own for each id."""
    study = open_studies(url, clock).open(NAME)
    rng = random.Random(number)
    shuffled = rng.sample(ids, len(ids))
    _wait(journal, begin)
    for made in shuffled:
        row = rng.choice(ROWS)
        status: str
        try:
            status = _until_answered(lambda made=made, row=row: study.tell(made, row)).status  # type: ignore[misc]
        except Conflict:
            status = "conflict"
        journal.ack(id=made, row=row, status=status)


def asks(
    journal: Journal, url: str, clock: str, number: int, count: int, units: int, together: int, begin: str
) -> None:
    """Ask for people, some of them twice, many of them also asked for by others."""
    study = open_studies(url, clock).open(NAME)
    rng = random.Random(number)
    _wait(journal, begin)
    asked: list[int] = []
    while len(asked) < count:
        batch = [rng.choice(asked) if asked and rng.random() < 0.2 else rng.randrange(units) for _ in range(together)]
        for unit, future in [(unit, study.assigning(f"u-{unit}", group="ab"[unit % 2], known={})) for unit in batch]:
            try:
                made = future.result()
            except Busy:
                journal.ack(busy=unit)
                made = _until_answered(lambda unit=unit: study.assign(f"u-{unit}", group="ab"[unit % 2], known={}))  # type: ignore[misc]
            journal.ack(unit=unit, id=made.id, arm=made.arm, repeated=made.repeated, outside=made.outside)
        asked += batch


def opens(journal: Journal, url: str, clock: str, begin: str) -> None:
    """Open what may be empty, and look."""
    _wait(journal, begin)
    with open_studies(url, clock) as studies:
        journal.ack(names=list(studies.names()))


def ticks(journal: Journal, url: str, clock: str, count: int, begin: str) -> None:
    """Tick, again and again."""
    studies = open_studies(url, clock)
    _wait(journal, begin)
    for _ in range(count):
        journal.ack(done=list(studies.tick()))


def _until_answered(call: Callable[[], Any]) -> Any:
    """As callers do: SQLite lets one process write at a time, and who waits for too long is told to repeat the call."""
    while True:
        try:
            return call()
        except Busy:
            time.sleep(random.random() / 10)


def _wait(journal: Journal, begin: str) -> None:
    """Until all processes are here: the file ``begin`` says so."""
    journal.ack(ready=True)
    while not Path(begin).exists():
        time.sleep(0.001)


# ---- what must come of it ----


@dataclass
class Once:
    """In one database system."""

    server: ForkServer
    place: Place
    folder: Path

    def __post_init__(self) -> None:
        self.clock = SharedClock(self.folder / f"clock-once-{self.place.kind}", START)

    def _all(self, job: str, processes: int, **each: Any) -> list[list[dict[str, Any]]]:
        """What each of the processes said, which begin together; none may fail."""
        said, begin = [], self.folder / "begin"
        begin.unlink(missing_ok=True)
        journals = [Journal(str(self.folder / f"{job}-{self.place.kind}-{number}")) for number in range(processes)]
        pids = []
        for number, journal in enumerate(journals):
            Path(journal.path).unlink(missing_ok=True)
            own: dict[str, Any] = {"number": number} if job in ("tells", "asks") else {}
            pids.append(
                self.server.start(
                    f"{MODULE}:{job}",
                    journal,
                    url=self.place.url,
                    clock=str(self.clock.path),
                    begin=str(begin),
                    **own,
                    **each,
                )
            )
        for journal in journals:
            journal.wait_for(1)
        begin.touch()
        for pid, journal in zip(pids, journals, strict=True):
            ended = self.server.wait(pid)
            assert ended.code == 0, ended.error
            said.append(journal.lines()[1:])  # the first says that it is ready
        return said

    def conflicting_tells(self, processes: int = 8, count: int = 500) -> dict[str, int]:
        """Of outcomes that contradict each other, one is accepted."""
        self.clock.set(START)
        with open_studies(self.place.url, self.clock) as studies:
            study = studies.create(NAME, load_problem("coin").problem, **options(count))
            made = [study.assigning(f"u-{number}", group="ab"[number % 2], known={}) for number in range(count)]
            ids = [str(found.result().id) for found in made]
        said = [line for lines in self._all("tells", processes, ids=ids) for line in lines]
        accepted = [line for line in said if line["status"] == "new"]
        assert Counter(line["id"] for line in accepted) == Counter(ids), "not one accepted for each"
        rows = {line["id"]: line["row"] for line in accepted}
        for line in said:
            if line["status"] == "repeated":
                assert line["row"] == rows[line["id"]], "a repeat of what was not accepted"
            elif line["status"] == "conflict":
                assert line["row"] != rows[line["id"]], "a conflict with itself"
        with open_studies(self.place.url, self.clock) as studies:
            study = studies.open(NAME)
            again = study.tell_many([Outcome(made, rows[made]) for made in ids])
            assert [each.status for each in again if isinstance(each, Told)] == ["repeated"] * count
            found = study.verify()
            assert found.ok, found.problems
        return dict(Counter(line["status"] for line in said))

    def people(self, processes: int = 16, count: int = 5000, together: int = 50) -> dict[str, int]:
        """Nobody is dealt two cards and no card goes to two."""
        self.clock.set(START)
        units = processes * count // 2
        with open_studies(self.place.url, self.clock) as studies:
            studies.create(NAME, load_problem("coin").problem, **options(units))
        asked = self._all("asks", processes, count=count, units=units, together=together)
        said = [line for lines in asked for line in lines if "busy" not in line]
        busy = sum("busy" in line for lines in asked for line in lines)
        assert not any(line["outside"] for line in said)
        by_unit: dict[int, set[str]] = {}
        for line in said:
            by_unit.setdefault(line["unit"], set()).add(line["id"])
        assert all(len(ids) == 1 for ids in by_unit.values()), "a person has two assignments"
        first = Counter(line["unit"] for line in said if not line["repeated"])
        assert max(first.values()) == 1, "a person was new twice"
        assert len({next(iter(ids)) for ids in by_unit.values()}) == len(by_unit), "an assignment has two people"
        stored = Stored(self.place).slots()
        assert len(stored) == len(set(stored)) == len(by_unit)
        with open_studies(self.place.url, self.clock) as studies:
            found = studies.open(NAME).verify()
            assert found.ok, found.problems
        repeated = sum(line["repeated"] for line in said)
        return {"asked": len(said), "people": len(by_unit), "repeated": repeated} | (
            {"busy, then asked again": busy} if busy else {}
        )

    def opening(self, processes: int = 32) -> None:
        """An empty database, by all at once."""
        said = self._all("opens", processes)
        assert [line for lines in said for line in lines] == [{"names": []}] * processes

    def ticking(self, processes: int = 4, count: int = 10, days: int = 4) -> dict[str, int]:
        """Every cohort is opened and settled once."""
        self.clock.set(START)
        with open_studies(self.place.url, self.clock) as studies:
            study = studies.create(NAME, load_problem("coin").problem, **options(40))
            done: Counter[str] = Counter()
            for day in range(days):
                for number in range(20):
                    made = study.assign(f"u-{day}-{number}", group="ab"[number % 2], known={})
                    if made.id is not None:
                        study.tell(made.id, ROWS[number // 2 % 2])
                self.clock.advance(DAY)
                for lines in self._all("ticks", processes, count=count):
                    done.update(what for line in lines for what in line["done"])
            assert max(done.values()) == 1, f"done twice: {done}"
            found = study.verify()
            assert found.ok, found.problems
            assert found.settled >= days - 2
        return dict(done)
