"""Many live studies, for any window, cohort and number of people: days, people, exposure and errors.

Studies are computed together in chunks of a fixed size, each with a generator keyed by (seed, people, chunk): the result does not
depend on the number of workers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairarm.algorithms.cohort import Loss
from fairarm.algorithms.pool import Pool, PoolOptions
from fairarm.algorithms.procedure import Guarantee
from fairarm.algorithms.timing import MOST_PULLS, Timing, timings_of
from fairarm.core.answer import Code
from fairarm.durations import days_of
from fairarm.errors import OptionError, ProblemError
from fairarm.experiments.live.results import Finished, LiveSimulation, Truths, point_of
from fairarm.experiments.live.studies import Hand, LiveStudies
from fairarm.experiments.live.world import LiveWorld
from fairarm.experiments.simulate import chunk_size, replicate
from fairarm.experiments.workers import watched_workers
from fairarm.problem.problem import Problem
from fairarm.worlds.base import World
from fairarm.worlds.network import as_network


@dataclass(frozen=True)
class _Task:
    timing: Timing
    chunk: int
    first: int
    studies: int
    seed: int


@dataclass(frozen=True)
class _Asked:
    """What all studies have in common."""

    problem: Problem
    options: PoolOptions
    pulls: int
    lost: str
    group_at_arrival: bool
    cell_known: bool
    hand: Hand | None
    outages: frozenset[int]
    watched: bool


def simulate_live(
    problem: Problem,
    world: World | LiveWorld,
    *,
    people: int | Sequence[int],
    arrivals: float,
    window: str | float,
    cohort: str | float = "1d",
    cycle: str | float = "1d",
    delay: str | float | None = None,
    loss_rate: float = 0.0,
    lost: str = "worst",
    group: str = "at arrival",
    cell_known: bool = False,
    pulls: int = 20_000,
    confidence: float = 0.95,
    studies: int = 100,
    hand: Hand | None = None,
    outages: Sequence[int] = (),
    watched: bool = True,
    waiting: bool = False,
    seed: int = 0,
    jobs: int = 1,
    on_done: Callable[[int], None] | None = None,
    **options: Any,
) -> LiveSimulation:
    """Certified live studies of `pool`, from the first arrival to the answer.

    ``people`` enter a cohort, of ``arrivals`` a day; an outcome counts if it is told within the ``window``. Of a `World` outcomes come
    after ``delay`` on average (a third of the window if not given), and a part ``loss_rate`` never; a `LiveWorld` says itself who comes
    when and what is told when. ``lost``: "worst", "at random", or the state that not told means. ``group``: "at arrival" or "with
    outcome"; ``cell_known``: so are the arm's inputs and decision, though the outcome be lost. ``outages``: cohorts, from 0, of which nothing is told. ``waiting``: beside it phases that wait. ``on_done`` is called with
    the number of studies just finished.
    """
    timings = timings_of(people, arrivals, window, cohort, cycle)
    live = live_world(world, timings[0], delay, loss_rate)
    require_studies(studies, jobs)
    if not 1 <= pulls <= MOST_PULLS:
        raise OptionError(f"The most people of a study are {pulls}. They are a whole number from 1 to {MOST_PULLS}.")
    if group not in ("at arrival", "with outcome"):
        raise OptionError(f"The group is known 'at arrival' or 'with outcome'; got {group!r:.40}.")
    asked = _Asked(
        problem, PoolOptions(confidence=confidence, **options), pulls, lost, group == "at arrival", cell_known, hand, frozenset(outages), watched
    )  # fmt: skip
    _check(asked)
    size = min(chunk_size(problem), studies)
    tasks = [
        _Task(timing, chunk, chunk * size, min(size, studies - chunk * size), seed)
        for timing in timings
        for chunk in range(-(-studies // size))
    ]
    done: dict[int, list[Finished]] = {}
    for part in _run_all(asked, live, tasks, jobs):
        done.setdefault(part.people, []).append(part)
        if on_done is not None:
            on_done(len(part.exposed))
    days = _waiting_days(asked, world, timings[0], seed, studies) if waiting else None
    points = tuple(point_of(live, timing, done[timing.people], days) for timing in timings)
    answer = int(Truths.of(live, 1).answer[0]) if live.laws.ndim == 4 else int(Code.NONE)
    named = None if answer < 0 else problem.arm_names[answer]
    return LiveSimulation(problem, seed, timings[0].arrivals, pulls, confidence, named, points)


def require_studies(studies: int, jobs: int) -> None:
    """An error where there would be none."""
    if studies < 1 or jobs < 1:
        raise OptionError(f"Studies and jobs must be 1 or more; got {studies} studies and {jobs} jobs.")


def live_world(world: World | LiveWorld, timing: Timing, delay: str | float | None, loss_rate: float) -> LiveWorld:
    """A live world as it is, or one in which nothing depends on the hour."""
    if isinstance(world, LiveWorld):
        if delay is not None or loss_rate:
            raise OptionError("A LiveWorld says itself when outcomes are told. Leave out delay and loss_rate.")
        return world
    if (network := as_network(world)) is None:
        raise ProblemError("A live study is simulated in the network of a problem. Give one in the problem's world.")
    if not 0 <= loss_rate < 1:
        raise OptionError(f"The loss_rate is {loss_rate}. It is a number from 0 to below 1, e.g. 0.02.")
    mean = timing.window / 3 if delay is None else days_of(delay, "delay")
    return LiveWorld.of(network, timing.arrivals).with_delays(mean, timing.window, loss_rate)


def _pool(asked: _Asked) -> Pool:
    return Pool(asked.problem, asked.pulls, asked.options, live=True, watched=False)


def _check(asked: _Asked) -> None:
    """Every mistake shows before the first study; tables are filled once, for all workers."""
    if not asked.problem.plain:
        raise OptionError(
            f"A live study is simulated where groups of one attribute without causes are compared, with nothing kept; problem "
            f"'{asked.problem.name}' asks for more. Run it (fairarm study), or simulate it in phases (fairarm simulate)."
        )
    pool = _pool(asked)
    if pool.guarantee != Guarantee.CERTIFIED:
        raise OptionError("A live study is certified. Leave out stop, or use `simulate` for other rules.")
    if asked.cell_known and not asked.group_at_arrival:
        raise OptionError("A cell is known at assignment only where the group is: ask for the group at arrival.")
    if not asked.group_at_arrival and asked.problem.shares is None:
        raise OptionError(
            "Where the group comes with the outcome, a lost row has no known group: declare the shares of the groups, or ask for the "
            "group at arrival."
        )
    Loss.of(asked.problem, asked.lost)
    pool.start_live(1)


def _run_all(asked: _Asked, world: LiveWorld, tasks: list[_Task], jobs: int) -> Iterator[Finished]:
    if jobs == 1 or len(tasks) == 1:
        for task in tasks:
            yield _run(asked, world, task)
        return
    from joblib import Parallel, delayed

    with watched_workers(jobs):
        yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(
            delayed(_run)(asked, world, task) for task in tasks
        )


def _run(asked: _Asked, world: LiveWorld, task: _Task) -> Finished:
    started = time.perf_counter()
    key = [task.seed, task.timing.people, task.chunk]
    inner = int(np.random.default_rng(key).integers(1 << 62))
    at = world if world.laws.ndim == 4 else world.of_studies(slice(task.first, task.first + task.studies))
    studies = LiveStudies(
        _pool(asked), at, task.timing, task.studies, inner, loss=Loss.of(asked.problem, asked.lost),
        group_at_arrival=asked.group_at_arrival, cell_known=asked.cell_known, hand=asked.hand, outages=asked.outages, watched=asked.watched,
    )  # fmt: skip
    studies.run()
    return Finished.of(studies, task.first, time.perf_counter() - started)


def _waiting_days(asked: _Asked, world: World | LiveWorld, timing: Timing, seed: int, studies: int) -> float:
    """Median days of phases that wait: each takes the time in which its people arrive, and the window."""
    network = None if isinstance(world, LiveWorld) else as_network(world)
    if network is None:
        raise OptionError("Phases that wait are simulated in the network of a problem; a LiveWorld has none.")
    rng = np.random.default_rng([seed, 11])
    size = chunk_size(asked.problem)
    found = []
    for first in range(0, studies, size):
        pool = Pool(asked.problem, asked.pulls, asked.options, watched=False)
        ran = replicate(pool, network, min(size, studies - first), rng, int(rng.integers(1 << 62)))
        found.append(ran.state.closed * timing.window + ran.pulls / timing.arrivals)
    return float(np.median(np.concatenate(found)))
