"""A whole study with simulated people, late and lost outcomes, several processes that serve it, and kills at random: does it end with the
right answer, and does its export say the same?"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet

from benchmarks.studies.fork_server import KILLED, ForkServer, Journal
from benchmarks.studies.people import People
from benchmarks.studies.places import DAY, Place, SharedClock
from benchmarks.studies.transactions import START, open_studies
from fairarm.catalog import load_problem
from fairarm.experiments.evaluate import evaluate
from fairarm.readers.problem_file import read_problem

NAME = "long"
MODULE = "benchmarks.studies.long_study"
PROBLEM = "ad-marketplace"


def people_of(lost: float, late: float, window: float, seed: int) -> People:
    """The same in all processes."""
    return People.of(load_problem(PROBLEM), lost=lost, late=late, window=window, seed=seed)


def serve(
    journal: Journal, url: str, clock: str, how: dict[str, Any], arrive: list[int], tell: list[list[Any]], slow: float
) -> None:
    """Those who arrive now, and outcomes that come in now; a process that is killed is followed by one that does all of it again."""
    people = people_of(**how)
    studies = open_studies(url, clock)
    study = studies.open(NAME)
    asked = []
    for number in arrive:
        person = people.person(number)
        asked.append((person, study.assigning(person.unit, people.group(person), people.known(person))))
    for person, future in asked:
        made = future.result()
        journal.ack(person=person.number, id=made.id, arm=made.arm, decision=made.decision)
        time.sleep(slow)
    told = []
    for number, made, arm, decision in tell:
        person = people.person(number)
        told.append((number, study.telling(made, people.row(person, arm, decision, people.known(person)))))
    for number, said in told:
        journal.ack(told=number, status=said.result().status)
    studies.tick()


@dataclass(frozen=True)
class LongResult:
    """What came of it."""

    place: str
    arrived: int
    entered: int
    days: float
    kills: int
    answer: str | None
    arm: str | None
    best: str
    settled: int
    counted: int
    lost: int
    late: int
    exported: int
    evaluated: int
    """Rows that `evaluate` used of the export."""
    agree: bool
    """Rows in the export, used by `evaluate`, and counted by the study."""
    seconds: float


@dataclass
class LongStudy:
    """One simulation."""

    server: ForkServer
    place: Place
    folder: Path
    arrivals: int = 668
    people: int = 500
    days: int = 30
    window: float = 7.0
    processes: int = 4
    lost: float = 0.01
    late: float = 0.01
    kill_rate: float = 0.25
    """Of the steps of one process."""
    steps: int = 4
    """A day."""
    seed: int = 1

    def run(self) -> LongResult:
        """From the first person to the last settled cohort."""
        begun, rng = time.perf_counter(), random.Random(self.seed)
        how: dict[str, Any] = {"lost": self.lost, "late": self.late, "window": self.window, "seed": self.seed}
        people, scenario = people_of(**how), load_problem(PROBLEM)
        clock = SharedClock(self.folder / f"clock-long-{self.place.kind}", START)
        with open_studies(self.place.url, clock) as studies:
            studies.create(
                NAME, scenario.problem, pulls=self.arrivals * self.days, people=self.people, arrivals=float(self.arrivals),
                window=f"{self.window:g}d", seed=self.seed, actor="test",
            )  # fmt: skip
        due: dict[int, list[list[Any]]] = defaultdict(list)
        given: dict[int, str] = {}
        statuses: Counter[str] = Counter()
        kills = number = 0
        length = DAY // self.steps
        last = self.days * self.steps
        for step in range(last + int((2.2 * self.window + 2) * self.steps)):
            if step % self.steps == 0:  # a service ticks every few seconds; a cohort opens at its start
                clock.set(START + step * length + 2_000_000)
                with open_studies(self.place.url, clock) as studies:
                    studies.tick()
            clock.set(START + step * length + length // 2)
            come = list(range(number, number + self.arrivals // self.steps)) if step < last else []
            number += len(come)
            told = due.pop(step, [])
            for lines, killed in self._step(how, str(clock.path), come, told, rng):
                kills += killed
                for line in lines:
                    if "told" in line:
                        statuses[line["status"]] += 1
                    elif line["id"] is not None and given.setdefault(line["person"], line["id"]) != line["id"]:
                        raise AssertionError(f"two assignments of person {line['person']}")
                    elif line["id"] is not None:
                        after = people.told_after(people.person(line["person"]))
                        item = [line["person"], line["id"], line["arm"], line["decision"]]
                        at = None if after is None else step + 1 + int(after * self.steps)
                        if at is not None and item not in due[at]:
                            due[at].append(item)
            if not come and not any(due.values()):
                break
        clock.advance(int((self.window + 1) * DAY))
        return self._result(clock, scenario, number, len(given), kills, time.perf_counter() - begun)

    def _step(
        self, how: dict[str, Any], clock: str, come: list[int], told: list[list[Any]], rng: random.Random
    ) -> list[tuple[list[dict[str, Any]], int]]:
        """Every process has its part; one that is killed is started again with the whole of it."""
        parts = [(come[p :: self.processes], told[p :: self.processes]) for p in range(self.processes)]
        running, found = [], []
        for p, (mine, outcomes) in enumerate(parts):
            journal = Journal(str(self.folder / f"long-{self.place.kind}-{p}"))
            Path(journal.path).unlink(missing_ok=True)
            doomed = rng.random() < self.kill_rate
            slow = 0.002 if doomed else 0.0
            arguments: dict[str, Any] = {
                "url": self.place.url,
                "clock": clock,
                "how": how,
                "arrive": mine,
                "tell": outcomes,
            }
            running.append(
                (journal, doomed, arguments, self.server.start(f"{MODULE}:serve", journal, slow=slow, **arguments))
            )
        for journal, doomed, arguments, pid in running:
            if doomed:
                journal.wait_for(rng.randrange(1 + len(arguments["arrive"]) + len(arguments["tell"])))
                os.kill(pid, signal.SIGKILL)
            ended = self.server.wait(pid)
            assert ended.code in ((0, KILLED) if doomed else (0,)), ended.error
            if ended.code == KILLED:
                again = self.server.run(f"{MODULE}:serve", journal, slow=0.0, **arguments)
                assert again.code == 0, again.error
            found.append((journal.lines(), int(ended.code == KILLED)))
        return found

    def _result(
        self, clock: SharedClock, scenario: Any, arrived: int, entered: int, kills: int, seconds: float
    ) -> LongResult:
        with open_studies(self.place.url, clock) as studies:
            studies.tick()
            studies.confirm_clock("nobody ticked for longer than a cohort", "test")
            while studies.tick():
                pass
            study = studies.open(NAME)
            found, verdict = study.verify(), study.verdict()
            assert found.ok, found.problems
            assert found.assignments == entered
            path = self.folder / f"long-{self.place.kind}.parquet"
            exported = study.export(path)
            late = sum(each.late for each in study.cohorts())
        said = evaluate(read_problem(Path(f"{path}.toml")), str(path))
        agree = pyarrow.parquet.read_metadata(path).num_rows == exported == verdict.counted == said.used
        return LongResult(
            self.place.kind, arrived, entered, float(verdict.settled), kills, verdict.status, verdict.arm,
            str(scenario.problem.arm_names[scenario.world.truth().best_fair_arm]), verdict.settled, verdict.counted, verdict.lost, late,
            exported, said.used, agree, seconds,
        )  # fmt: skip
