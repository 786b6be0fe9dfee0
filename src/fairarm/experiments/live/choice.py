"""How many people should enter a cohort? Days against people, before anything is known: over truths drawn from a prior."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairarm.algorithms.timing import timings_of
from fairarm.experiments.live.results import LivePoint, LiveSimulation
from fairarm.experiments.live.simulate import require_studies, simulate_live
from fairarm.experiments.live.world import LiveWorld
from fairarm.experiments.truths_from_prior import PriorTruths, require_prior
from fairarm.frames import Column
from fairarm.problem.problem import Problem
from fairarm.shown import Fact, Shown

SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
"""Of those who arrive in a cohort, where no numbers of people are asked for."""

FEWEST = 16


@dataclass(frozen=True, repr=False)
class LivePlan(Shown):
    """Studies of one window and cohort with several numbers of people, in the same truths."""

    problem: Problem
    truths: int
    prior_mean: float
    prior_strength: float
    simulation: LiveSimulation

    @property
    def points(self) -> tuple[LivePoint, ...]:
        """One for each number of people."""
        return self.simulation.results

    def _facts(self) -> list[Fact]:
        return [("problem", self.problem.name), ("truths", self.truths), *self.simulation._facts()[2:]]

    def _table(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        return self.simulation._table()

    def _columns(self) -> dict[str, Column]:
        return self.simulation._columns()


def plan_live(
    problem: Problem,
    *,
    arrivals: float,
    window: str | float,
    cohort: str | float = "1d",
    cycle: str | float = "1d",
    people: Sequence[int] | None = None,
    loss_rate: float = 0.0,
    delay: str | float | None = None,
    truths: int = 50,
    prior_mean: float | None = None,
    prior_strength: float | None = None,
    seed: int = 0,
    on_done: Callable[[int], None] | None = None,
    **how: Any,
) -> LivePlan:
    """Days until a certified answer against people in a cohort, each study in a truth of its own; ``how`` as in `simulate_live`.

    Where two arms are nearly tied no study decides within its pulls: these count as undecided, and their days are those in which the
    pulls were used up.
    """
    first = timings_of(1, arrivals, window, cohort, cycle)[0]
    counts = list(people) if people else grid(first.arrivals * first.cohort)
    mean, strength = 0.5 if prior_mean is None else prior_mean, 2.0 if prior_strength is None else prior_strength
    require_prior(mean, strength)
    require_studies(truths, 1)
    drawn = PriorTruths.of(problem, mean, strength).draw(truths, np.random.default_rng([seed, 0]))
    world = LiveWorld.of_truths(drawn, first.arrivals)
    told = first.window / 3 if delay is None else timings_of(1, arrivals, delay, cohort, cycle)[0].window
    found = simulate_live(
        problem, world.with_delays(told, first.window, loss_rate), people=counts, arrivals=arrivals, window=window, cohort=cohort,
        cycle=cycle, studies=truths, seed=seed, on_done=on_done, **how,
    )  # fmt: skip
    return LivePlan(problem, truths, mean, strength, found)


def grid(arrivals: float) -> list[int]:
    """Numbers of people to try, where so many arrive in a cohort."""
    found = [max(FEWEST, round(share * arrivals)) for share in SHARES]
    return [each for each in dict.fromkeys(found) if each <= arrivals] or [max(1, int(arrivals))]
