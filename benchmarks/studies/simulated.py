"""Whole studies with simulated people, about questions whose answer is known: who is not served, erased, or never tells an outcome."""

from __future__ import annotations

import inspect
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.studies.people import People, Person
from benchmarks.studies.places import DAY
from benchmarks.studies.transactions import START
from fairarm import Arm, Problem, Variable, table
from fairarm import Outcome as OutcomeNode
from fairarm.problem.mechanism import Table
from fairarm.problem.network import Network
from fairarm.studies import Assignment, Outcome, Studies, StudyError

STEPS = 12
"""A day: people arrive and outcomes are told at the middle of each step."""
MEMORY = Path("/dev/shm")
"""Where a database waits for no disk, if there is such a place."""


# ---- two questions with known answers ----


@dataclass(frozen=True)
class Question:
    """A problem, the network that people are drawn from, and the truth, worked out by hand."""

    problem: Problem
    network: Network
    truth: dict[str, tuple[float, float]]
    """Outcome and gap of each arm."""
    best: str
    options: dict[str, Any]
    """Of `Studies.create`."""

    def is_fair(self, arm: str) -> bool:
        """Whether the arm is."""
        return abs(self.truth[arm][1]) < float(self.problem.constraints[0].tolerance or 0)


def discounts() -> Question:
    """A discount by basket: the arm with the highest outcome is unfair, and looks fair where people without an outcome count as "no"."""
    return _discounts([])


def declared_discounts() -> Question:
    """The same, and P(basket | sex) is declared: certificates need fewer people."""
    return _discounts([BASKET])


BASKET = table("basket", ["sex"], [[0.73, 0.27], [0.27, 0.73]])


def _discounts(mechanisms: list[Table]) -> Question:
    arms = {"flat": (0.5, 0.5), "large-gets": (0.1, 0.9), "small-gets": (0.9, 0.1)}
    names = {
        "sex": ("woman", "man"),
        "basket": ("small", "large"),
        "discount": ("none", "given"),
        "buys": ("no", "yes"),
    }
    problem = Problem(
        name="discounts", variables=[Variable(name, states) for name, states in names.items()],
        graph=[("sex", "basket"), ("basket", "discount"), ("basket", "buys"), ("discount", "buys")],
        sensitive="sex", decision="discount", outcome=OutcomeNode("buys", values=(0, 1)), tolerance=0.2, shares=(0.5, 0.5), mechanisms=mechanisms,
        arms=[Arm(name, table("discount", ["basket"], [_coin(p) for p in given])) for name, given in arms.items()],
    )  # fmt: skip
    tables = [
        table("sex", [], _coin(0.5)),
        BASKET,
        table("discount", ["basket"], [_coin(0.5), _coin(0.5)]),
        table("buys", ["basket", "discount"], [[_coin(0.20), _coin(0.45)], [_coin(0.35), _coin(0.80)]]),
    ]
    truth = {"flat": (0.45, -0.115), "large-gets": (0.49, -0.2438), "small-gets": (0.41, 0.0138)}
    options = {"pulls": 20_000, "people": 600, "arrivals": 800, "window": "2d", "lost": "no"}
    return Question(problem, Network.of(problem.variables.values(), tables), truth, "flat", options)


def variants() -> Question:
    """An A/B/C test: one arm for each variant, so that arms share no cells. B converts best and is unfair."""
    problem = Problem(
        name="variants",
        variables=[Variable("group", ("a", "b")), Variable("variant", ("A", "B", "C")), Variable("converts", ("no", "yes"))],
        graph=[("group", "converts"), ("variant", "converts")],
        sensitive="group", decision="variant", outcome=OutcomeNode("converts", values=(0, 1)), tolerance=0.05, shares=(0.5, 0.5),
        arms=[Arm(name, table("variant", [], np.eye(3)[k])) for k, name in enumerate("ABC")],
    )  # fmt: skip
    rates = [[0.10, 0.18, 0.13], [0.09, 0.08, 0.12]]
    tables = [
        table("group", [], _coin(0.5)),
        table("variant", [], np.full(3, 1 / 3)),
        table("converts", ["group", "variant"], [[_coin(p) for p in row] for row in rates]),
    ]
    truth = {"A": (0.095, 0.01), "B": (0.13, 0.10), "C": (0.125, 0.01)}
    options = {"pulls": 40_000, "people": 1000, "arrivals": 1300, "window": "2d"}
    return Question(problem, Network.of(problem.variables.values(), tables), truth, "C", options)


def _coin(p: float) -> list[float]:
    return [1 - p, p]


# ---- one study ----


@dataclass(frozen=True)
class Case:
    """A question, and what becomes of the people."""

    name: str
    question: Callable[[], Question]
    share: float = 0.0
    """Of people who are unserved or erased: of everybody, or of those ``among`` these groups and outcomes."""
    among: tuple[tuple[str, str], ...] = ()
    erased: bool = False
    """A day after they came, when their outcome has been told; else they are reported as unserved at once."""
    known: bool = True
    """Inputs are given at assignment; else they are told with the outcome."""
    only: str | None = None
    """The only outcome that is ever told."""
    lost: float = 0.0
    late: float = 0.0
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def runs_here(self) -> bool:
        """Whether this version of the package has all options."""
        return set(self.options) <= set(inspect.signature(Studies.create).parameters)


@dataclass(frozen=True)
class Entered:
    """Somebody with a card."""

    arm: str
    row: dict[str, str]
    """The whole of it, told or not."""
    fate: str
    """The outcome is "told" in time, "late" or "never"; or the person is "unserved" or "erased"."""


@dataclass
class Simulated:
    """A study and its people. Outcomes are told evenly over the window."""

    case: Case
    seed: int
    studies: Studies
    clock: list[int]
    entered: list[Entered] = field(default_factory=list)
    due: dict[int, list[Outcome]] = field(default_factory=lambda: defaultdict(list))
    erasing: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self.question = self.case.question()
        self.window = float(str(self.question.options["window"]).removesuffix("d"))
        self.people = People(
            self.question.problem, self.question.network, self.seed, self.case.lost, self.case.late, self.window
        )
        self.rng = np.random.default_rng([self.seed, 1])
        options = {**self.question.options, **self.case.options}
        self.study = self.studies.create("study", self.question.problem, seed=self.seed, **options)

    def run(self) -> None:
        """Until it is over, or everybody could have come twice, and a week more."""
        options, number = {**self.question.options, **self.case.options}, 0
        days = 7 + 2 * options["pulls"] // options["people"]
        for step in range(days * STEPS):
            if step % STEPS == 0:
                self.clock[0] = START + step * DAY // STEPS + 1_000_000
                self.studies.tick()
                if self.study.state.over:
                    break
            self.clock[0] = START + step * DAY // STEPS + DAY // STEPS // 2
            self._told(self.due.pop(step, []))
            for unit in self.erasing.pop(step, []):
                self.study.forget(unit, "test")
            come = options["arrivals"] // STEPS
            self._arrive(range(number, number + come), step)
            number += come

    def _told(self, outcomes: list[Outcome]) -> None:
        for answer in self.study.tell_many(outcomes) if outcomes else ():
            if isinstance(answer, StudyError):
                raise answer

    def _arrive(self, numbers: Iterable[int], step: int) -> None:
        asked = []
        for person in map(self.people.person, numbers):
            known = self.people.known(person) if self.case.known else None
            asked.append((person, known, self.study.assigning(person.unit, self.people.group(person), known)))
        for person, known, answer in asked:
            if not (made := answer.result()).outside:
                self._enters(person, known, made, step)
        self._told(self.due.pop(step, []))

    def _enters(self, person: Person, known: dict[str, str] | None, made: Assignment, step: int) -> None:
        problem, id = self.question.problem, str(made.id)
        row = self.people.row(person, str(made.arm), made.decision, known or {})
        fate, after = self._fate(person, row[problem.outcome.node]), self.people.told_after(person)
        if fate == "unserved":
            self.due[step].append(Outcome(id, unserved=True))
        elif fate == "erased":
            self.due[step + STEPS].append(Outcome(id, row))
            self.erasing[step + STEPS].append(person.unit)
        elif fate != "never" and after is not None:
            self.due[step + 1 + int(after * STEPS)].append(Outcome(id, row))
        decided = {} if made.decision is None else {problem.decision: made.decision}
        self.entered.append(Entered(str(made.arm), {**person.states, **decided, **row}, fate))

    def _fate(self, person: Person, outcome: str) -> str:
        drawn, after, among = self.rng.random(), self.people.told_after(person), self.case.among
        if drawn < self.case.share and (not among or (self.people.group(person), outcome) in among):
            return "erased" if self.case.erased else "unserved"
        if after is None or self.case.only not in (None, outcome):
            return "never"
        return "told" if after <= self.window else "late"


@contextmanager
def simulated(case: Case, seed: int) -> Iterator[Simulated]:
    """A study that is over, in a database of its own."""
    clock = [START]
    with (
        tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder,
        Studies(f"sqlite:///{folder}/studies.db", clock=lambda: clock[0]) as studies,
    ):
        made = Simulated(case, seed, studies, clock)
        made.run()
        yield made
