"""SIGKILL at random moments of a process that assigns, tells and ticks; another goes on where it was."""

from __future__ import annotations

import os
import random
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.studies.fork_server import KILLED, ForkServer, Journal
from benchmarks.studies.places import DAY, Place, SharedClock
from benchmarks.studies.stored import Stored
from benchmarks.studies.transactions import START, open_studies, other_row, row_of
from fairarm.catalog import load_problem
from fairarm.studies import Conflict

NAME = "kills"
JOB = "benchmarks.studies.random_kills:work"
OPTIONS: dict[str, Any] = {
    "pulls": 2_000_000, "people": 20_000, "arrivals": 20_000.0, "window": "1d", "cohort": "1d", "seed": 8, "on_alarm": "tell", "actor": "test",
    "confidence": 0.9999999,
}  # fmt: skip


def work(journal: Journal, url: str, clock: str, seed: int, first: int, left: list[tuple[int, str]]) -> None:
    """Until killed: what the one before ``left`` untold, then new people, their outcomes, repeats of both, ticks."""
    rng = random.Random(seed)
    studies = open_studies(url, clock)
    study = studies.open(NAME)
    journal.ack(begun=seed)
    studies.tick()
    told: list[tuple[int, str]] = []
    for number, made_before in left:
        status = study.tell(made_before, row_of(number)).status
        journal.ack(told=made_before, unit=number, status=status)
    for number in range(first, first + 100_000):
        made = study.assign(f"u-{number}", group="ab"[number % 2], known={})
        journal.ack(unit=number, id=made.id, arm=made.arm, cohort=made.cohort)
        if made.id is not None and rng.random() < 0.98:
            status = study.tell(made.id, row_of(number)).status
            journal.ack(told=made.id, unit=number, status=status)
            told.append((number, made.id))
        if told and rng.random() < 0.1:
            number_again, again = rng.choice(told)
            assert study.tell(again, row_of(number_again)).status in ("repeated", "late")
        if rng.random() < 0.05:
            studies.tick()
            journal.ack(ticked=True)


@dataclass
class RandomKills:
    """One study, many deaths."""

    server: ForkServer
    place: Place
    folder: Path
    seed: int = 1
    kills: int = 0
    acknowledged: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By id."""
    told: set[str] = field(default_factory=set)
    units: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.clock = SharedClock(self.folder / f"clock-random-{self.place.kind}", START)
        with open_studies(self.place.url, self.clock) as studies:
            studies.create(NAME, load_problem("coin").problem, **OPTIONS)

    def kill(self, most: int = 100) -> None:
        """Let a process answer at most so many calls and work for a moment more, kill it, and take note of what it had acknowledged."""
        journal = Journal(str(self.folder / f"journal-random-{self.place.kind}-{self.kills}"))
        pid = self.server.start(
            JOB,
            journal,
            url=self.place.url,
            clock=str(self.clock.path),
            seed=self.kills,
            first=1_000_000 * (1 + self.kills),
            left=self._untold(),
        )
        journal.wait_for(1 + self.rng.randrange(most))
        time.sleep(self.rng.random() * 0.01)  # anywhere in the calls that follow
        self._time_goes_on()
        os.kill(pid, signal.SIGKILL)
        ended = self.server.wait(pid)
        assert ended.code == KILLED, ended.error
        for line in journal.lines():
            if "told" in line:
                self.told.add(line["told"])
            elif line.get("id"):
                assert line["id"] not in self.acknowledged, "one assignment for two people"
                self.acknowledged[line["id"]] = line
                self.units[line["unit"]] = line["id"]
        Path(journal.path).unlink()
        self.kills += 1

    def _untold(self) -> list[tuple[int, str]]:
        """Of the newest, those that nobody is known to have told of."""
        newest = list(self.units.items())[-20:]
        return [(unit, made) for unit, made in newest if made not in self.told]

    def _time_goes_on(self) -> None:
        """A little with every process, so that people enter all day, as they must; to the start of the next cohort at most, since
        one that nobody opens in time is left out."""
        now = self.clock()
        next_start = now + DAY - (now - START) % DAY
        self.clock.set(min(now + self.rng.randrange(DAY // 20), next_start))

    def check(self) -> dict[str, int]:
        """Everything acknowledged is stored once; nothing is stored that nobody asked for."""
        stored = Stored(self.place)
        assignments, outcomes = stored.assignments(NAME), stored.told(NAME)
        with open_studies(self.place.url, self.clock) as studies:
            study = studies.open(NAME)
            arms = study.problem.arm_names
            for made, line in self.acknowledged.items():
                arm, number = assignments[made]
                assert (arms[arm], number) == (line["arm"], line["cohort"]), f"{line} is stored as {arm}, {number}"
            assert self.told <= outcomes, f"{len(self.told - outcomes)} acknowledged outcomes are lost"
            lost = [made for made in self.acknowledged if made not in assignments]
            assert not lost, f"{len(lost)} acknowledged assignments are lost"
            extra = len(assignments) - len(self.acknowledged)
            assert 0 <= extra <= self.kills, f"{extra} assignments that nobody was told about, after {self.kills} kills"
            assert 0 <= len(outcomes - self.told) <= self.kills
            for unit in random.Random(self.kills).sample(sorted(self.units), min(20, len(self.units))):
                again = study.assign(f"u-{unit}", group="ab"[unit % 2], known={})
                assert again.outside or (again.id == self.units[unit] and again.repeated)
            found = study.verify()
            assert found.ok, found.problems
            self._refuses_another(studies)
        return {"kills": self.kills, "assigned": len(assignments), "told": len(outcomes), "settled": found.settled}

    def _refuses_another(self, studies: Any) -> None:
        study = studies.open(NAME)
        for made in sorted(self.told)[:5]:
            try:
                status = study.tell(made, other_row(self.acknowledged[made]["unit"])).status
            except Conflict:
                continue
            raise AssertionError(f"another outcome was taken as {status}")
