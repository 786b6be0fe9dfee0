"""Simulated people in stored studies: a clock that tests move, arrivals, outcomes that come later or never."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairarm.problem.problem import Problem
from fairarm.studies import Assignment, Outcome, Studies, Study, StudyError, Told
from fairarm.worlds import NetworkWorld
from four_arms import EASY, chain, world

START = 1_767_571_200_000_000
"""A Monday, 0:00 UTC."""
DAY, HOUR, SECOND = 86_400_000_000, 3_600_000_000, 1_000_000

SMALL: dict[str, Any] = {"pulls": 2_000, "people": 60, "arrivals": 120, "window": "2d", "seed": 11}
"""Options of a study that is settled in a tenth of a second."""


class Clock:
    """Time as the tests say."""

    def __init__(self, now: int = START) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


@dataclass
class Crowd:
    """People who arrive at one study and what becomes of them."""

    studies: Studies
    study: Study
    clock: Clock
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(5))
    theta: tuple[float, ...] = EASY
    known: bool = False
    """Inputs are given at assignment: the decision is drawn there."""
    lost: Callable[[dict[str, str]], float] = lambda row: 0.0
    """With which probability an outcome is never told."""
    delay: int = 2 * DAY
    """Outcomes come within this; what comes is told at the end of the day, so that more than a day makes some of them late."""
    count: int = 0
    out: list[tuple[int, str, dict[str, str]]] = field(default_factory=list)
    """What is to be told: when, of which assignment, and what."""
    made: dict[str, tuple[Assignment, str, dict[str, str]]] = field(default_factory=dict)
    """All who were dealt a card: assignment, group, whole row."""

    @property
    def network(self) -> NetworkWorld:
        return world(self.study.problem, self.theta)

    def arrive(self, at: int, people: int = 1) -> list[Assignment]:
        """Some more people, at the same time."""
        self.clock.now = at
        problem, at_arrival = self.study.problem, self.study.options["group"] == "at arrival"
        asked = []
        for _ in range(people):
            self.count += 1
            group = problem.groups[int(self.rng.random() >= 0.4)]
            unit = f"u{self.count}"
            asked.append((group, self.study.assigning(unit, group if at_arrival else None, {} if self.known else None)))
        for group, answer in asked:
            self._meets(answer.result(), group, at, at_arrival)
        return [answer.result() for _, answer in asked]

    def _meets(self, a: Assignment, group: str, at: int, at_arrival: bool) -> None:
        if a.outside:
            return
        row = self.row(self.study.problem, a, group)
        self.made[str(a.id)] = a, group, row
        if self.rng.random() >= self.lost(row):
            told = {name: row[name] for name in row if name != "S" or not at_arrival}
            self.out.append((at + int(self.rng.integers(0, self.delay)), str(a.id), told))

    def row(self, problem: Problem, a: Assignment, group: str) -> dict[str, str]:
        law = self.network.law[problem.arm_index(str(a.arm)), problem.groups.index(group)]
        codes = problem.compiled.row_space.codes(np.array([self.rng.choice(len(law), p=law / law.sum())]))
        row = {name: str((problem.variables[name].states or ())[int(code[0])]) for name, code in codes.items()}
        if a.decision is not None:
            row["V"] = a.decision
            row["Y"] = str(int(self.rng.random() < self.theta[int(a.decision)]))
        return {"S": group, **row}

    def day(self, number: int, arrivals: int = 120, until: float = 1.0) -> None:
        """People over one day, or a part of it; then what is due by its end is told."""
        for hour, people in enumerate(
            self.rng.multinomial(int(arrivals * until), np.full(int(24 * until), 1 / int(24 * until)))
        ):
            self.arrive(START + number * DAY + hour * HOUR + int(self.rng.integers(2 * SECOND, HOUR)), int(people))
        self.clock.now = START + number * DAY + int(DAY * until) - 1
        self.tell()

    def tell(self) -> list[Told | StudyError]:
        """What is due by now."""
        due = [Outcome(id, row) for at, id, row in self.out if at <= self.clock.now]
        self.out = [each for each in self.out if each[0] > self.clock.now]
        return self.study.tell_many(due)

    def tick(self, at: int | None = None) -> tuple[str, ...]:
        self.clock.now = self.clock.now if at is None else at
        return self.studies.tick()

    def days(self, first: int, last: int) -> None:
        """Whole days, each begun by a tick."""
        for number in range(first, last):
            self.tick(START + number * DAY + SECOND)
            self.day(number)


def small_study(studies: Studies, name: str = "small", problem: Problem | None = None, **changes: Any) -> Study:
    """Of four arms on S → V → Y."""
    return studies.create(name, chain() if problem is None else problem, **{**SMALL, **changes})
