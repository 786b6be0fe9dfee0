"""A study with simulated people: they arrive one by one, get an arm, and most of them tell later what came of it.

Time is a number of seconds since the start, given from outside: a demo follows the clock on the wall, a test does not wait.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from tempfile import TemporaryDirectory

import numpy as np

from fairarm.catalog.bundled import Scenario, load_problem
from fairarm.core.types import FloatArray
from fairarm.studies import Assignment, Busy, Outcome, Studies, Study
from fairarm.worlds.network import NetworkWorld, as_network

NAME, PROBLEM = "demo", "ad-marketplace"
RATE = 25.0
"""People who arrive in a second."""
COHORT, WINDOW = 10, 20
"""Seconds."""
PEOPLE = 240
"""Of a cohort: nearly all who arrive."""
LOST = 0.01
"""Of outcomes: never told."""
SOONEST, LATEST = 1.0, 18.0
"""Seconds until an outcome is told, by an even law."""
PULLS = 20_000
CONFIDENCE = 0.95
DAY = 86_400


def create(studies: Studies, scenario: Scenario, seed: int) -> Study:
    """The study that simulated people use."""
    return studies.create(
        NAME, scenario.problem, pulls=PULLS, people=PEOPLE, arrivals=RATE * DAY, window=f"{WINDOW}s", cohort=f"{COHORT}s",
        cycle=f"{COHORT}s", confidence=CONFIDENCE, seed=seed, actor="fairarm serve --demo",
    )  # fmt: skip


@dataclass(frozen=True)
class Person:
    """Who arrives: a name, a group, and what is known of them before anything is decided."""

    unit: str
    group: int
    cell: int
    """One of the world's rows with these inputs."""


class Crowd:
    """Simulated people of a world, all from one seed."""

    def __init__(self, study: Study, world: NetworkWorld, seed: int) -> None:
        self.study, self.world = study, world
        self.rng = np.random.default_rng(seed)
        self.arrived = 0
        self.next_at = 0.0
        self.seconds = 0.0
        """Up to which all has happened."""
        self._waiting: list[tuple[float, int, Outcome]] = []
        """What will be told: when, its number, what."""

    @cached_property
    def _codes(self) -> dict[str, np.ndarray]:
        return dict(self.world.problem.compiled.row_space.codes())

    @cached_property
    def _before(self) -> tuple[str, ...]:
        """Columns that are known before the decision."""
        problem = self.world.problem
        return tuple(name for name in self._codes if name not in (problem.decision, problem.outcome.node))

    def until(self, now: float) -> None:
        """All that happens up to this time: people who arrive, outcomes that are told."""
        self.seconds = now
        newcomers = []
        while self.next_at <= now:
            newcomers.append((self.next_at, self._person()))
            self.next_at += float(self.rng.exponential(1 / RATE))
        asked = [(at, person, self._assigning(person)) for at, person in newcomers]
        for at, person, answer in asked:
            self._served(at, person, answer.result())
        due = []
        while self._waiting and self._waiting[0][0] <= now:
            due.append(heapq.heappop(self._waiting)[2])
        if due:
            self.study.tell_many(due)

    def _person(self) -> Person:
        self.arrived += 1
        group = int(self.rng.choice(len(self.world.shares), p=self.world.shares))
        cell = int(self.rng.choice(self.world.law.shape[2], p=self.world.law[0, group]))
        return Person(f"visitor-{self.arrived}", group, cell)

    def _assigning(self, person: Person) -> Future[Assignment]:
        known = {name: self._state(name, person.cell) for name in self._before}
        return self.study.assigning(person.unit, group=self.world.problem.groups[person.group], known=known)

    def _served(self, at: float, person: Person, answer: Assignment) -> None:
        """What comes of an arm, and when it will be told: one in a hundred never is."""
        if answer.outside or answer.id is None or answer.arm is None:
            return
        law = self._law_of(person, answer)
        cell = int(self.rng.choice(len(law), p=law))
        delay, lost = float(self.rng.uniform(SOONEST, LATEST)), self.rng.random() < LOST
        problem = self.world.problem
        told = (problem.outcome.node,) if answer.decision is not None else (problem.decision, problem.outcome.node)
        row = {name: self._state(name, cell) for name in told}
        if not lost:
            heapq.heappush(self._waiting, (at + delay, self.arrived, Outcome(answer.id, row)))

    def _law_of(self, person: Person, answer: Assignment) -> FloatArray:
        """P(row | arm, group), among the rows that agree with what is known and with the decision, where the study drew it."""
        problem = self.world.problem
        law = self.world.law[problem.arm_index(answer.arm or ""), person.group]
        fits = np.ones(len(law), dtype=np.bool_)
        for name in self._before:
            fits &= self._codes[name] == self._codes[name][person.cell]
        if answer.decision is not None:
            states = problem.variables[problem.decision].states or ()
            fits &= self._codes[problem.decision] == states.index(answer.decision)
        given = np.where(fits, law, 0.0)
        return np.asarray(given / given.sum())

    def _state(self, name: str, cell: int) -> str:
        return (self.world.problem.variables[name].states or ())[int(self._codes[name][cell])]


class Arrivals:
    """A thread in which simulated people come as time goes by; ``clock`` gives seconds."""

    def __init__(self, crowd: Crowd, clock: Callable[[], float], every: float = 0.2) -> None:
        self._crowd, self._clock, self._every = crowd, clock, every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fairarm-demo", daemon=True)

    def __enter__(self) -> Arrivals:
        self._start = self._clock()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(timeout=30)

    def _run(self) -> None:
        while not self._stop.wait(self._every) and not self._crowd.study.state.over:
            with suppress(Busy):  # those who came now are gone; others will come
                self._crowd.until(self._clock() - self._start)


@contextmanager
def running_demo(seed: int) -> Iterator[tuple[Studies, str]]:
    """A temporary database with the study, people who arrive by the clock on the wall, and an admin's token."""
    scenario = load_problem(PROBLEM)
    with TemporaryDirectory(prefix="fairarm-demo-") as folder, Studies(f"sqlite:///{folder}/studies.db") as studies:
        study = create(studies, scenario, seed)
        token = studies.tokens.make("admin", label="demo")
        with Arrivals(crowd_of(study, scenario, seed), time.monotonic):
            yield studies, token


def crowd_of(study: Study, scenario: Scenario, seed: int) -> Crowd:
    """The people of a bundled problem's world."""
    world = as_network(scenario.world)
    if world is None:
        raise TypeError("The demo needs a world that is a network.")
    return Crowd(study, world, seed)
