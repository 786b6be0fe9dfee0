"""An arm that is exactly at the tolerance, in worlds that would make it look fair: late, lost, by the hour, by the week, by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.live.mutants import AsArrived, CutLeftOut, DailyCohorts, DealtByNoon, LostIgnored
from fairarm.algorithms.cohort import Loss
from fairarm.algorithms.pool import Pool, PoolOptions
from fairarm.algorithms.timing import Timing
from fairarm.core.types import BoolArray, IntArray
from fairarm.experiments.live.studies import LiveStudies
from fairarm.experiments.live.world import HOURS, LiveWorld
from fairarm.problem.mechanism import Arm, table
from fairarm.problem.network import Network
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.variables import Variable
from fairarm.worlds import NetworkWorld

DELTA = 0.05
RESERVE = 0.95
ARMS = {"even": [[0.7, 0.3], [0.7, 0.3]], "edge": [[0.1, 0.9], [0.9, 0.1]]}
"""P(V | S). "edge" earns more, and its gap is 0.8 (θ₁ − θ₀): it is unfair, just."""
LOW, HIGH = 0.3, 0.55
"""P(Y = 1 | V): the gap of "edge" is 0.2, the tolerance."""
ARRIVALS, PEOPLE, WINDOW, MOST = 2000.0, 500, 7.0, 8000


def problem() -> Problem:
    """S → V → Y with the two arms."""
    return Problem(
        name="at the tolerance",
        variables=[Variable("S", ("a", "b")), Variable("V", ("0", "1")), Variable("Y", ("0", "1"))],
        graph=[("S", "V"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.8 * (HIGH - LOW),
        arms=[Arm(name, table("V", ["S"], rows)) for name, rows in ARMS.items()],
        shares={"a": 0.5, "b": 0.5},
    )


def network(high: float = HIGH, low: float = LOW) -> NetworkWorld:
    """The world with these P(Y = 1 | V)."""
    asked = problem()
    tables = [
        table("S", [], [0.5, 0.5]),
        table("V", ["S"], ARMS["even"]),
        table("Y", ["V"], [[1 - low, low], [1 - high, high]]),
    ]
    return NetworkWorld(asked, Network.of(asked.variables.values(), tables))


def steady() -> LiveWorld:
    """Everything told within two days."""
    return LiveWorld.of(network(), ARRIVALS).with_telling(np.tile([0.5, 0.3, 0.2], (4, 1)))


GOOD = np.array([0.0, 0.0, 0.0, 1.0])
"""Rows with V = 1 and Y = 1, among (V, Y) in order: without them the gap looks smaller."""


def late() -> LiveWorld:
    """Three in ten of those come on the seventh day, and as many rows with V = 0 and Y = 0, so that V is seen as often as it should be; the
    others at once."""
    late = np.array([0.3 * HIGH / (1 - LOW), 0.0, 0.0, 0.3])
    return steady().with_telling(np.outer(1 - late, np.eye(8)[0]) + np.outer(late, np.eye(8)[7]))


def lost(share: float = 0.25) -> LiveWorld:
    """A quarter of those never comes: 7 % of all."""
    return steady().with_delays(1.0, 6.0, share * GOOD)


def by_hour() -> LiveWorld:
    """The gap of "edge" is small before noon and large after; on average over the day it is at the tolerance."""
    small, large = (network(LOW + d).law for d in (0.05, 2 * (HIGH - LOW) - 0.05))
    return steady().with_patterns(np.stack([small, large]), (np.arange(HOURS) % 24 >= 12).astype(np.int64))


def by_week() -> LiveWorld:
    """Small from Monday to Friday, large at weekends; at the tolerance on average over the week."""
    weekday = 0.15
    weekend = (7 * (HIGH - LOW) - 5 * weekday) / 2
    small, large = (network(LOW + d).law for d in (weekday, weekend))
    return steady().with_patterns(np.stack([small, large]), (np.arange(HOURS) // 24 >= 5).astype(np.int64))


@dataclass(frozen=True)
class StopsWhenBad:
    """Somebody who wants "edge" to be fair: half a cohort whose gap looks large is stopped."""

    above: float = 0.17

    def stops(self, seen: IntArray) -> BoolArray:
        """By the gap of the second arm in what was dealt so far."""
        rows = seen[:, 1]
        mean = rows[..., [1, 3]].sum(axis=-1) / np.maximum(rows.sum(axis=-1), 1)
        return np.asarray(mean[:, 0] - mean[:, 1] > self.above)


@dataclass(frozen=True)
class Case:
    """A world, how it is studied, and what a careless study would do in it."""

    name: str
    world: Callable[[], LiveWorld]
    mutant: tuple[str, type[LiveStudies]] | None = None
    cohort: float = 1.0
    people: int = PEOPLE
    most: int = MOST
    hand: StopsWhenBad | None = None
    how: tuple[tuple[str, Any], ...] = ()

    def timing(self) -> Timing:
        """As a team would choose it."""
        return Timing(self.people, ARRIVALS, WINDOW, self.cohort)

    def studies(self, n: int, seed: int, kind: type[LiveStudies] = LiveStudies, most: int | None = None) -> LiveStudies:
        """n of them; ``kind`` may be a mutant."""
        asked = problem()
        pool = Pool(asked, most or self.most, PoolOptions(confidence=1 - DELTA), live=True, watched=False)
        loss = Loss.of(asked, "worst")
        return kind(
            pool, self.world(), self.timing(), n, seed, loss=loss, hand=self.hand, watched=False, **dict(self.how)
        )


CASES = (
    Case("overlap", steady),
    Case("late by outcome", late, ("as arrived", AsArrived)),
    Case("lost by outcome", lost, ("lost ignored", LostIgnored)),
    Case("group with outcome", lost, how=(("group_at_arrival", False),)),
    Case("by the hour", by_hour, ("dealt by noon", DealtByNoon)),
    Case(
        "by the week, cohorts of 7 d", by_week, ("cohorts of a day", DailyCohorts), cohort=7.0, people=3500, most=21_000
    ),
    Case("stopped by hand", steady, ("cut left out", CutLeftOut), hand=StopsWhenBad()),
)


def false_fair(studies: LiveStudies) -> BoolArray:
    """(n,): whether "edge" was certified as the answer or as fair. The answer and the labels each err with δ at most."""
    labels = studies.state.memory.labels[:, :-1, 1]
    label = (labels >= studies.pool._certified.rule.label_threshold).all(axis=1)
    return np.asarray(label | (studies.ended.answer == 1))


def false_answer(studies: LiveStudies) -> BoolArray:
    """(n,): whether "edge" was the answer."""
    return np.asarray(studies.ended.answer == 1)
