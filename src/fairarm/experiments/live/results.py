"""What many live studies came to: days, people, errors, exposure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from fairarm.algorithms.exposure import Exposure
from fairarm.algorithms.timing import Timing
from fairarm.core.answer import Code
from fairarm.core.entry import under_way_at_once
from fairarm.core.fairness import best_fair
from fairarm.core.statistics import wilson_interval
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.experiments.live.studies import Ended, LiveStudies
from fairarm.experiments.live.world import LiveWorld
from fairarm.frames import Column, columns_of
from fairarm.problem.problem import Problem
from fairarm.shown import Fact, Shown

QUANTILES = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class LivePoint:
    """Studies with so many people to enter a cohort. ``days`` and ``served`` are medians with their 10 and 90 % quantiles."""

    people: int
    cohort: float
    window: float
    studies: int
    errors: int
    """Studies that ended with a wrong answer."""
    error: float
    error_low: float
    error_high: float
    """Wilson's 95 % limits."""
    undecided: int
    """Studies that ended without an answer: their pulls ran out, or a monitor voided them."""
    void: int
    days: float
    days_low: float
    days_high: float
    served: float
    served_low: float
    served_high: float
    """People dealt a card until the answer."""
    under_way: int
    """People whose outcomes are out at once."""
    lost: float
    """Outcomes that never came in time, on average."""
    unfair: float
    """People served by arms that are unfair, on average."""
    doubted: float
    """The same by arms that were probably unfair as known when they were dealt."""
    doubted_now: float
    """The same as known at the end."""
    given_up: float
    """Outcome given up per person against the best fair arm, in the outcome's units."""
    waiting: float | None
    """Days of the same proof in phases that wait for their last outcome, median; None where not asked for."""
    seconds: float


@dataclass(frozen=True, repr=False)
class LiveSimulation(Shown):
    """One point for each number of people, in the order asked for."""

    problem: Problem
    seed: int
    arrivals: float
    pulls: int
    confidence: float
    best_fair_arm: str | None
    """None where none is, or where every study has a truth of its own."""
    results: tuple[LivePoint, ...]

    def _facts(self) -> list[Fact]:
        return [
            ("problem", self.problem.name), ("best_fair_arm", self.best_fair_arm), ("arrivals", self.arrivals),
            ("points", len(self.results)), ("seed", self.seed),
        ]  # fmt: skip

    def _table(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        heads = ("people", "cohort", "window", "days", "served", "error", "undecided", "studies")
        return heads, [
            (p.people, p.cohort, p.window, p.days, p.served, p.error, p.undecided, p.studies) for p in self.results
        ]

    def _columns(self) -> dict[str, Column]:
        whole = ("people", "studies", "errors", "undecided", "void", "under_way")
        kinds = {field.name: int if field.name in whole else float for field in fields(LivePoint)}
        return columns_of(self.results, **kinds)


@dataclass(frozen=True, eq=False)
class Truths:
    """Of n studies: the answer (n,), which arms are unfair (n, K), their scaled means by group (n, K, G), and the arm that people would have
    had instead (n,): the answer, or the deployed one, or the first."""

    answer: IntArray
    unfair: BoolArray
    means: FloatArray
    reference: IntArray

    @classmethod
    def of(cls, world: LiveWorld, studies: int) -> Truths:
        """Over the week; the same for all studies unless each has a law of its own."""
        problem = world.problem
        means = np.broadcast_to(world.group_means(), (studies, len(problem.arms), len(problem.groups)))
        outcome, rows = means @ world.mean_shares(), problem.compiled.rows
        fair = rows.fair(rows.values(means, outcome))
        answer = best_fair(outcome, fair)
        deployed = 0 if problem.deployed is None else problem.arm_index(problem.deployed)
        return cls(answer, ~fair, means, np.where(answer >= 0, answer, deployed))


@dataclass(frozen=True, eq=False)
class Finished:
    """Studies that were computed together: the number of the first, how they ended, whom they served, and computing time."""

    people: int
    first: int
    ended: Ended
    exposed: tuple[Exposure, ...]
    seconds: float

    @classmethod
    def of(cls, studies: LiveStudies, first: int, seconds: float) -> Finished:
        """After `LiveStudies.run`."""
        truth = Truths.of(studies.world, studies.n)
        exposed = tuple(studies.exposures(truth.means, truth.reference))
        return cls(studies.timing.people, first, studies.ended, exposed, seconds)


def point_of(world: LiveWorld, timing: Timing, done: Sequence[Finished], waiting: float | None) -> LivePoint:
    """All studies of one number of people."""
    ordered = sorted(done, key=lambda part: part.first)
    joined: dict[str, Any] = {
        field.name: np.concatenate([getattr(part.ended, field.name) for part in ordered]) for field in fields(Ended)
    }
    exposed = [each for part in ordered for each in part.exposed]
    answer, people = joined["answer"], joined["people"]
    studies, truth = len(answer), Truths.of(world, len(answer))
    decided = (answer >= 0) | (answer == Code.NONE)
    errors = int(np.sum(decided & (answer != truth.answer)))
    low, high = wilson_interval(errors, studies)
    days, served = np.quantile(joined["days"], QUANTILES), np.quantile(people, QUANTILES)
    given_up = np.mean([each.given_up / max(each.total, 1) for each in exposed]) * world.problem.outcome.width
    return LivePoint(
        people=timing.people, cohort=timing.cohort, window=timing.window, studies=studies,
        errors=errors, error=errors / studies, error_low=low, error_high=high,
        undecided=int(np.sum(~decided)), void=int(joined["void"].sum()),
        days=float(days[1]), days_low=float(days[0]), days_high=float(days[2]),
        served=float(served[1]), served_low=float(served[0]), served_high=float(served[2]),
        under_way=under_way_at_once(timing.people, timing.window, timing.cohort),
        lost=float(joined["lost"].mean()), unfair=float((truth.unfair * joined["by_arm"]).sum(axis=1).mean()),
        doubted=float(np.mean([each.doubted_then for each in exposed])),
        doubted_now=float(np.mean([each.doubted_now for each in exposed])), given_up=float(given_up),
        waiting=waiting, seconds=sum(part.seconds for part in done),
    )  # fmt: skip
