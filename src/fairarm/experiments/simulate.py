"""Many runs of several algorithms at several numbers of pulls: how often is each one wrong?

Runs are computed together in chunks of a fixed size, each with a generator keyed by (seed, algorithm, pulls, chunk):
the result does not depend on the number of workers.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from fairarm.algorithms import Algorithm, Registration, make_procedure, options_of
from fairarm.algorithms.info import Info
from fairarm.algorithms.pool import ANSWER_DRAWS
from fairarm.algorithms.procedure import Procedure, require_log_start, unwatched
from fairarm.algorithms.registered import at_run_time, keep
from fairarm.algorithms.state import State
from fairarm.beliefs.evidence import CellEvidence, RunEvidence
from fairarm.beliefs.from_log import rows_of
from fairarm.core.answer import Code
from fairarm.core.statistics import wilson_interval
from fairarm.core.types import FloatArray, IntArray
from fairarm.errors import OptionError, ProblemError
from fairarm.experiments.identify import require_world
from fairarm.experiments.limit import find_limit
from fairarm.experiments.start_from_log import LoggedPulls, refuse_holes, require_certifiable, started
from fairarm.experiments.workers import sendable, watched_workers
from fairarm.frames import Column, columns_of
from fairarm.problem.log_map import LogMap, WithColumns
from fairarm.problem.problem import Problem
from fairarm.shown import Fact, Shown
from fairarm.worlds.base import World
from fairarm.worlds.network import as_network

DEFAULT_CONFIDENCE = 0.95


class CountedWorld(Protocol):
    """A world that returns counts for many replicates at once."""

    def draw(self, counts: IntArray, rng: np.random.Generator) -> IntArray:
        """Counts of (S, cell, y), (n, R, K, G, O), for pulls (n, R, K)."""
        ...


CHUNK = 50
CHUNK_COUNTS = 1 << 23
"""Most counts (runs × units × cells) a chunk holds: 64 MiB."""


@dataclass(frozen=True)
class Point:
    """One algorithm at one number of pulls: of what is recommended, and with a confidence of the status. ``error`` with Wilson's 95 % limits;
    UNDECIDED counts as an error."""

    algorithm: str
    pulls: int
    runs: int
    errors: int
    error: float
    error_low: float
    error_high: float
    none_rate: float
    wrong_rate: float
    """Wrong, and not UNDECIDED."""
    undecided_rate: float
    mean_cost: float
    mean_pulls: float
    """Fewer than ``pulls`` where runs stop when sure."""
    pulls_per_limit: float | None
    """Mean pulls over the limit for an error of at most 1 − confidence, where asked for: 1 is the best possible."""
    seconds: float


@dataclass(frozen=True, repr=False)
class Simulation(Shown):
    """All points, in the order asked for."""

    problem: Problem
    seed: int
    best_fair_arm: str | None
    results: tuple[Point, ...]
    log_rows: int = 0
    """Rows of the log that every run started from; pulls and costs are without it."""
    started_from: LoggedPulls | None = field(default=None, compare=False)
    """That log as it was read, with what was noticed in it."""

    def _facts(self) -> list[Fact]:
        return [
            ("problem", self.problem.name), ("best_fair_arm", self.best_fair_arm), ("points", len(self.results)),
            ("log_rows", self.log_rows), ("seed", self.seed),
        ]  # fmt: skip

    def _table(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        heads = ("algorithm", "pulls", "error", "low", "high", "mean cost", "runs")
        return heads, [
            (p.algorithm, p.pulls, p.error, p.error_low, p.error_high, p.mean_cost, p.runs) for p in self.results
        ]

    def _columns(self) -> dict[str, Column]:
        return columns_of(
            self.results, algorithm=str, pulls=int, runs=int, errors=int, error=float, error_low=float, error_high=float,
            none_rate=float, wrong_rate=float, undecided_rate=float, mean_cost=float, mean_pulls=float, pulls_per_limit=float, seconds=float,
        )  # fmt: skip


@dataclass(frozen=True)
class _Task:
    algorithm: str
    pulls: int
    chunk: int
    runs: int
    seed: int
    options: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class _Outcome:
    task: _Task
    answers: IntArray
    costs: FloatArray
    pulls: IntArray
    seconds: float


def simulate(
    problem: Problem | WithColumns,
    world: World | None,
    *,
    algorithms: Sequence[str],
    pulls: Sequence[int],
    runs: int,
    seed: int = 0,
    jobs: int = 1,
    limit: bool = False,
    log: Any = None,
    columns: LogMap | None = None,
    engine: str | None = None,
    on_done: Callable[[int], None] | None = None,
    **options: Any,
) -> Simulation:
    """Error rates with their limits. ``on_done`` is called with the number of runs just finished.

    ``limit`` sets the pulls used beside the fewest that any rule with the same confidence needs (0.95 where none is
    asked for), at the costs of the problem. An option goes to the algorithms that have it. ``log`` holds rows that were
    made before (anything that `read_log` takes or returns; ``columns`` and ``engine`` as there): every run starts from them.
    """
    problem, read = started(problem, log, columns, engine)
    world = require_world(problem, world)
    truth = world.truth()
    if truth is None:
        raise ProblemError(f"The world of '{problem.name}' does not know its truth: errors cannot be counted.")
    if runs < 1 or jobs < 1:
        raise OptionError(f"Runs and jobs must be 1 or more; got {runs} runs and {jobs} jobs.")
    before = None if read is None else read.evidence()
    if limit and before is not None:
        raise OptionError("The limit is for runs that start from nothing. Ask for it without the log.")
    given = {name: _own_options(name, options) for name in algorithms}
    if unused := [key for key in options if not any(key in own for own in given.values())]:
        raise OptionError(f"None of {', '.join(algorithms)} has an option '{unused[0]}'.")
    for name in algorithms:  # every mistake shows before the first run; tables are filled once, for all workers
        for count in pulls:
            procedure = make_procedure(name, problem, count, **given[name])
            if before is not None:
                require_log_start(name, procedure)
                require_certifiable(read, [procedure])
                refuse_holes(read, [procedure])
    size = chunk_size(problem)
    tasks = [
        _Task(name, count, chunk, min(size, runs - chunk * size), seed, tuple(sorted(given[name].items())))
        for name in algorithms
        for count in pulls
        for chunk in range(-(-runs // size))
    ]
    done: dict[tuple[str, int], list[_Outcome]] = {}
    for outcome in _run_all(problem, world, tasks, jobs, before):
        done.setdefault((outcome.task.algorithm, outcome.task.pulls), []).append(outcome)
        if on_done is not None:
            on_done(outcome.task.runs)
    best = truth.best_fair_arm
    needed = {count: _needed(problem, world, count, options) if limit else None for count in pulls}
    points = tuple(
        _point(name, count, done[name, count], truth.answer, needed[count]) for name in algorithms for count in pulls
    )
    named = None if best is None else problem.arm_names[best]
    return Simulation(problem, seed, named, points, rows_of(before), read)


def _own_options(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Those of the options that this algorithm has."""
    return {key: value for key, value in options.items() if key in options_of(name)}


def chunk_size(problem: Problem) -> int:
    """Runs computed together: fixed by the problem alone."""
    if not problem.compiled.finite:
        return CHUNK
    counts = len(problem.regimes) * len(problem.arms) * len(problem.groups) * problem.compiled.row_space.count
    # what is drawn of every row, where there are several; of one there is less than of the counts
    values = 0 if problem.has_one_gap else ANSWER_DRAWS * len(problem.arms) * len(problem.rows)
    return max(1, min(CHUNK, CHUNK_COUNTS // max(counts, values)))


def _run_all(
    problem: Problem, world: World, tasks: list[_Task], jobs: int, earlier: RunEvidence | None
) -> Iterator[_Outcome]:
    if (network := as_network(world)) is not None:
        _ = network.law
    if jobs == 1 or len(tasks) == 1:
        for task in tasks:
            yield _run(problem, world, task, earlier)
        return
    from joblib import Parallel, delayed

    others = sendable(at_run_time({task.algorithm for task in tasks}), jobs)
    # longest first, so that no worker is left with a long task at the end; results are sorted afterwards
    ordered = sorted(tasks, key=lambda task: -task.pulls)
    with watched_workers(jobs):
        calls: Iterable[_Outcome] = Parallel(n_jobs=jobs, return_as="generator_unordered")(
            delayed(_run)(problem, world, task, earlier, others) for task in ordered
        )
        yield from calls


def _run(
    problem: Problem, world: World, task: _Task, earlier: RunEvidence | None, others: Sequence[Registration] = ()
) -> _Outcome:
    """``others``: algorithms that were registered where the simulation was asked for, which a worker does not know."""
    started = time.perf_counter()
    keep(others)
    key = [task.seed, zlib.crc32(task.algorithm.encode()), task.pulls, task.chunk]
    procedure = unwatched(make_procedure(task.algorithm, problem, task.pulls, **dict(task.options)))
    rng = np.random.default_rng(key)
    inner = int(rng.integers(1 << 62))
    network = as_network(world) if problem.compiled.finite else None
    if network is not None:
        ran = replicate(procedure, network, task.runs, rng, inner, earlier)
        answers, costs, made = ran.state.answer, ran.costs, ran.pulls
    else:
        answers, costs, made = _one_by_one(procedure, world, task, rng, inner, earlier)
    return _Outcome(task, answers, costs, made, time.perf_counter() - started)


class Replicates(NamedTuple):
    """How n runs ended: the state, what was shown last, and the costs and the pulls, (n,) each."""

    state: State[Any]
    info: Info
    costs: FloatArray
    pulls: IntArray


def replicate(
    procedure: Procedure,
    world: CountedWorld,
    runs: int,
    rng: np.random.Generator,
    seed: int,
    earlier: RunEvidence | None = None,
) -> Replicates:
    """Runs computed together, a leading axis of every array.

    ``earlier``: rows made before, the same for all runs, or a replicate for each.
    """
    problem = procedure.problem
    state, info = procedure.start(runs), Info.before(problem, runs)
    costs, pulls = np.zeros(runs), np.zeros(runs, dtype=np.int64)
    before = CellEvidence.empty(problem, runs)
    if earlier is not None:
        before = before.recounted(np.broadcast_to(earlier.multiplicities, before.counts.shape))
        state, info = procedure.begin(state.but(log_rows=before.pulls().sum(axis=(1, 2))), before, seed)
    in_stage = before
    while not state.finished:
        fresh = CellEvidence(problem, world.draw(state.plan, rng))
        costs += problem.compiled.cost_of(state.plan)
        pulls += state.plan.sum(axis=(1, 2))
        in_stage = in_stage.plus(fresh)
        stage, running = state.stage, state.running
        state, shown = procedure.step(state, fresh, in_stage, seed)
        info = info.updated(running, shown)
        if state.stage != stage:
            in_stage = before
    return Replicates(state, info, costs, pulls)


def _one_by_one(
    procedure: Procedure,
    world: World,
    task: _Task,
    rng: np.random.Generator,
    seed: int,
    earlier: RunEvidence | None,
) -> tuple[IntArray, FloatArray, IntArray]:
    """Runs told one after the other, for worlds that return rows."""
    answers, costs = np.empty(task.runs, dtype=np.int64), np.empty(task.runs)
    made = np.empty(task.runs, dtype=np.int64)
    for i in range(task.runs):
        run = Algorithm(task.algorithm, procedure, seed + i, earlier)
        parts = 0
        while not run.finished:
            run.tell(world.pull(run.ask(), rng), id=f"part-{parts}")
            parts += 1
        answers[i] = run.state.answer[0]
        costs[i] = procedure.problem.compiled.cost_of(run.pulls_made())
        made[i] = run.pulls_made().sum()
    return answers, costs, made


def _needed(problem: Problem, world: World, pulls: int, options: dict[str, Any]) -> float:
    """T* · kl(δ, 1 − δ)."""
    confidence = options.get("confidence")
    return find_limit(problem, world, pulls=pulls).pulls_needed(1.0 - float(confidence or DEFAULT_CONFIDENCE))


def _point(name: str, pulls: int, outcomes: list[_Outcome], right: int, needed: float | None) -> Point:
    ordered = sorted(outcomes, key=lambda outcome: outcome.task.chunk)
    answers = np.concatenate([outcome.answers for outcome in ordered])
    runs = len(answers)
    errors, undecided = int(np.sum(answers != right)), int(np.sum(answers == Code.UNDECIDED))
    made = float(np.concatenate([outcome.pulls for outcome in ordered]).mean())
    low, high = wilson_interval(errors, runs)
    return Point(
        algorithm=name,
        pulls=pulls,
        runs=runs,
        errors=errors,
        error=errors / runs,
        error_low=low,
        error_high=high,
        none_rate=float(np.mean(answers == Code.NONE)),
        wrong_rate=(errors - undecided) / runs,
        undecided_rate=undecided / runs,
        mean_cost=float(np.concatenate([outcome.costs for outcome in ordered]).mean()),
        mean_pulls=made,
        pulls_per_limit=None if not needed else made / needed,
        seconds=sum(outcome.seconds for outcome in ordered),
    )
