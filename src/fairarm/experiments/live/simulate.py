"""Many live studies, for any window, cohort and number of people: days, people, exposure and errors.

Studies are computed together in chunks of a fixed size, each with a generator keyed by (seed, people, chunk): the result does not
depend on the number of workers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from fairarm.algorithms.cohort import Loss
from fairarm.algorithms.pool import Pool, PoolOptions
from fairarm.algorithms.procedure import Guarantee
from fairarm.core.answer import Code
from fairarm.core.entry import under_way_at_once
from fairarm.core.fairness import best_fair
from fairarm.core.statistics import wilson_interval
from fairarm.core.types import FloatArray, IntArray
from fairarm.durations import days_of
from fairarm.errors import OptionError, ProblemError
from fairarm.experiments.live.studies import Ended, Hand, LiveStudies, Timing
from fairarm.experiments.live.world import LiveWorld
from fairarm.experiments.simulate import chunk_size, replicate
from fairarm.experiments.workers import watched_workers
from fairarm.frames import Column, columns_of
from fairarm.problem.problem import Problem
from fairarm.shown import Fact, Shown
from fairarm.worlds.base import World
from fairarm.worlds.network import as_network

RESERVE = 0.95
"""ρ of live studies: a cohort may be stopped by hand at any moment."""

QUANTILES = (0.1, 0.5, 0.9)

MOST_PEOPLE, MOST_OUT = 1_000_000, 1000
"""In a cohort, and cohorts that are out at once."""


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
    if studies < 1 or jobs < 1:
        raise OptionError(f"Studies and jobs must be 1 or more; got {studies} studies and {jobs} jobs.")
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
    done: dict[int, list[tuple[_Task, Ended, float]]] = {}
    for task, ended, seconds in _run_all(asked, live, tasks, jobs):
        done.setdefault(task.timing.people, []).append((task, ended, seconds))
        if on_done is not None:
            on_done(task.studies)
    days = _waiting_days(asked, world, timings[0], seed, studies) if waiting else None
    points = tuple(_point(asked, live, timing, done[timing.people], days) for timing in timings)
    answer = _truth(problem, live, 1)[0][0] if live.laws.ndim == 4 else int(Code.NONE)
    named = None if answer < 0 else problem.arm_names[answer]
    return LiveSimulation(problem, seed, timings[0].arrivals, pulls, confidence, named, points)


def timings_of(
    people: int | Sequence[int], arrivals: float, window: str | float, cohort: str | float, cycle: str | float
) -> list[Timing]:
    """What is chosen, checked: one for each number of people, in order."""
    counts = [people] if isinstance(people, int) else list(dict.fromkeys(people))
    length, round_ = days_of(cohort, "cohort"), days_of(cycle, "cycle")
    if not arrivals > 0 or not np.isfinite(arrivals):
        raise OptionError(f"Arrivals are {arrivals!r:.20} a day. They are a number above 0.")
    if abs(length / round_ - round(length / round_)) > 1e-6 or length < round_ - 1e-9:
        raise OptionError(
            f"A cohort of {length:g} days is no multiple of the cycle, {round_:g} days. People must enter evenly over whole cycles: "
            f"use a cohort of one or more of them."
        )
    if (days := days_of(window, "window")) > MOST_OUT * length:
        raise OptionError(
            f"With a window of {days:g} days and cohorts of {length:g}, {days / length:.0f} cohorts would be out at once; at most {MOST_OUT} "
            f"are simulated. Use longer cohorts."
        )
    if max([*counts, arrivals * length]) > MOST_PEOPLE:
        raise OptionError(
            f"More than {MOST_PEOPLE} people in a cohort are not simulated. Use fewer people and arrivals, or shorter cohorts."
        )
    for each in counts:
        if each < 1 or each > arrivals * length:
            raise OptionError(
                f"{each} people are to enter a cohort in which {arrivals * length:g} arrive. Ask for 1 or more, and for no more than "
                f"arrive, or make cohorts longer."
            )
    return [Timing(int(each), float(arrivals), days, length, round_) for each in counts]


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
    return Pool(asked.problem, asked.pulls, asked.options, reserve=RESERVE, watched=False)


def _check(asked: _Asked) -> None:
    """Every mistake shows before the first study; tables are filled once, for all workers."""
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


def _run_all(asked: _Asked, world: LiveWorld, tasks: list[_Task], jobs: int) -> Iterator[tuple[_Task, Ended, float]]:
    if jobs == 1 or len(tasks) == 1:
        for task in tasks:
            yield _run(asked, world, task)
        return
    from joblib import Parallel, delayed

    with watched_workers(jobs):
        yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(
            delayed(_run)(asked, world, task) for task in tasks
        )


def _run(asked: _Asked, world: LiveWorld, task: _Task) -> tuple[_Task, Ended, float]:
    started = time.perf_counter()
    key = [task.seed, task.timing.people, task.chunk]
    inner = int(np.random.default_rng(key).integers(1 << 62))
    at = world if world.laws.ndim == 4 else world.of_studies(slice(task.first, task.first + task.studies))
    studies = LiveStudies(
        _pool(asked), at, task.timing, task.studies, inner, loss=Loss.of(asked.problem, asked.lost),
        group_at_arrival=asked.group_at_arrival, cell_known=asked.cell_known, hand=asked.hand, outages=asked.outages, watched=asked.watched,
    )  # fmt: skip
    return task, studies.run(), time.perf_counter() - started


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


def _truth(problem: Problem, world: LiveWorld, studies: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """The answer (n,), whether each arm is unfair (n, K) as 0 and 1, and its scaled outcome (n, K)."""
    means = np.broadcast_to(world.group_means(), (studies, len(problem.arms), len(problem.groups)))
    outcome = means @ world.mean_shares()
    rows = problem.compiled.rows
    fair = rows.fair(rows.values(means, outcome))
    return best_fair(outcome, fair), (~fair).astype(np.float64), outcome


def _point(
    asked: _Asked, world: LiveWorld, timing: Timing, done: list[tuple[_Task, Ended, float]], waiting: float | None
) -> LivePoint:
    ordered = [ended for _, ended, _ in sorted(done, key=lambda each: each[0].chunk)]
    joined: dict[str, Any] = {
        field.name: np.concatenate([getattr(ended, field.name) for ended in ordered]) for field in fields(Ended)
    }
    answer, people = joined["answer"], joined["people"]
    studies = len(answer)
    right, unfair, outcome = _truth(asked.problem, world, studies)
    decided = (answer >= 0) | (answer == Code.NONE)
    errors = int(np.sum(decided & (answer != right)))
    low, high = wilson_interval(errors, studies)
    best = np.where(
        right >= 0, np.take_along_axis(outcome, np.maximum(right, 0)[:, None], 1)[:, 0], outcome.max(axis=1)
    )
    given_up = ((best[:, None] - outcome) * joined["by_arm"]).sum(axis=1) / np.maximum(people, 1)
    days = np.quantile(joined["days"], QUANTILES)
    served = np.quantile(people, QUANTILES)
    return LivePoint(
        people=timing.people, cohort=timing.cohort, window=timing.window, studies=studies,
        errors=errors, error=errors / studies, error_low=low, error_high=high,
        undecided=int(np.sum(~decided)), void=int(joined["void"].sum()),
        days=float(days[1]), days_low=float(days[0]), days_high=float(days[2]),
        served=float(served[1]), served_low=float(served[0]), served_high=float(served[2]),
        under_way=under_way_at_once(timing.people, timing.window, timing.cohort),
        lost=float(joined["lost"].mean()), unfair=float((unfair * joined["by_arm"]).sum(axis=1).mean()),
        doubted=float(joined["doubted"].mean()), given_up=float(given_up.mean()) * asked.problem.outcome.width,
        waiting=waiting, seconds=sum(seconds for _, _, seconds in done),
    )  # fmt: skip
