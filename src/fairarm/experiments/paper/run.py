"""Running the points: finished ones are kept on disk, so that an interrupted run goes on where it was."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fairarm.algorithms import make_procedure
from fairarm.algorithms.info import Reason
from fairarm.algorithms.procedure import unwatched
from fairarm.core.answer import Code
from fairarm.core.statistics import wilson_interval
from fairarm.errors import DataError, OptionError
from fairarm.experiments.paper.instances import instance_world
from fairarm.experiments.paper.plan import PaperPoint
from fairarm.experiments.simulate import replicate
from fairarm.experiments.workers import watched_workers
from fairarm.files import write_whole
from fairarm.optional import require
from fairarm.sealed import opened, sealed

Backend = Literal["loky", "dask"]

POINT_SCHEMA = 3
"""Part of a kept point's name: those of another format count as missing."""


@dataclass(frozen=True)
class FinishedPoint:
    """One finished point.

    ``dropped_best`` counts runs that rejected the best fair arm on the way, ``dropped_as_unfair`` those of them that
    took it for unfair (in the two-stage baselines: in the first stage).
    """

    point: PaperPoint
    runs: int
    errors: int
    none: int
    undecided: int
    dropped_best: int
    dropped_as_unfair: int
    mean_cost: float
    errors_by_instance: tuple[int, ...]

    @property
    def error(self) -> float:
        """The share of runs with a wrong answer."""
        return self.errors / self.runs

    @property
    def limits(self) -> tuple[float, float]:
        """Wilson's 95 % limits."""
        return wilson_interval(self.errors, self.runs)

    def row(self) -> dict[str, Any]:
        """One line of the results table."""
        point, (low, high) = self.point, self.limits
        return {
            "experiment": point.experiment,
            "setting": point.setting,
            "algorithm": point.algorithm,
            "reading": point.reading,
            "pulls": point.pulls,
            "instances": len(point.instances),
            "runs": self.runs,
            "errors": self.errors,
            "error": self.error,
            "error_low": low,
            "error_high": high,
            "none_rate": self.none / self.runs,
            "undecided_rate": self.undecided / self.runs,
            "dropped_best_rate": self.dropped_best / self.runs,
            "dropped_as_unfair_rate": self.dropped_as_unfair / self.runs,
            "mean_cost": self.mean_cost,
            "lowest_instance_error": min(self._shares()),
            "highest_instance_error": max(self._shares()),
        }

    def _shares(self) -> list[float]:
        each = self.runs / len(self.errors_by_instance)
        return [errors / each for errors in self.errors_by_instance]


def run_paper(
    points: list[PaperPoint],
    folder: Path,
    *,
    seed: int = 0,
    jobs: int = 1,
    backend: Backend = "loky",
    on_done: Callable[[], None] | None = None,
) -> list[FinishedPoint]:
    """The evidence of every point, in order; each is written to ``folder`` as soon as it is there."""
    if jobs < 1:
        raise OptionError(f"Jobs must be 1 or more; got {jobs}.")
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[PaperPoint, FinishedPoint] = {}
    for point in points:
        kept = _read(folder, seed, point)
        if kept is not None:
            found[point] = kept
            if on_done is not None:
                on_done()
    missing = [point for point in points if point not in found]
    for evidence in _compute(missing, seed, jobs, backend):
        _write(folder, seed, evidence)
        found[evidence.point] = evidence
        if on_done is not None:
            on_done()
    return [found[point] for point in points]


def _compute(points: list[PaperPoint], seed: int, jobs: int, backend: Backend) -> Iterator[FinishedPoint]:
    if jobs == 1 and backend == "loky":
        yield from (run_point(point, seed) for point in points)
        return
    from joblib import Parallel, delayed, parallel_config

    with watched_workers(jobs), _Cluster(backend, jobs), parallel_config(backend=backend, n_jobs=jobs):
        done: Iterable[FinishedPoint] = Parallel(return_as="generator_unordered")(
            delayed(run_point)(p, seed) for p in points
        )
        yield from done


class _Cluster:
    """Workers on the loopback address for the dask backend; nothing for loky."""

    def __init__(self, backend: Backend, jobs: int) -> None:
        self.backend, self.jobs = backend, jobs
        self.client: Any = None

    def __enter__(self) -> None:
        if self.backend != "dask":
            return
        distributed = require("distributed", "dask")
        cluster = distributed.LocalCluster(
            n_workers=self.jobs, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        )
        self.client = distributed.Client(cluster)

    def __exit__(self, *_: object) -> None:
        if self.client is not None:
            cluster = self.client.cluster
            self.client.close()
            cluster.close()


_world = lru_cache(maxsize=64)(instance_world)
"""An instance, made once in each worker."""


def run_point(point: PaperPoint, seed: int) -> FinishedPoint:
    """All runs of a point: a generator for each instance, keyed by what the instance and the point are."""
    if point.runs % len(point.instances):
        raise OptionError(f"{point.runs} runs cannot be spread evenly over {len(point.instances)} instances.")
    each = point.runs // len(point.instances)
    totals = np.zeros(5, dtype=np.int64)
    by_instance: list[int] = []
    cost = 0.0
    for name in point.instances:
        world = _world(name)
        best = world.truth().best_fair_arm
        key = zlib.crc32(f"{name}|{point.algorithm}|{point.reading}".encode())
        rng = np.random.default_rng([seed, key, point.pulls])
        procedure = unwatched(make_procedure(point.algorithm, world.problem, point.pulls, **point.options))
        state, info, costs, _ = replicate(procedure, world, each, rng, int(rng.integers(1 << 62)))
        wrong = state.answer != world.truth().answer
        reasons = info.reason[:, best] if best is not None else np.full(each, Reason.NOT_REJECTED)
        totals += [
            wrong.sum(),
            (state.answer == Code.NONE).sum(),
            (state.answer == Code.UNDECIDED).sum(),
            (reasons != Reason.NOT_REJECTED).sum(),
            (reasons == Reason.UNFAIR).sum(),
        ]
        by_instance.append(int(wrong.sum()))
        cost += float(costs.sum())
    errors, none, undecided, dropped_best, as_unfair = (int(x) for x in totals)
    return FinishedPoint(
        point, point.runs, errors, none, undecided, dropped_best, as_unfair, cost / point.runs, tuple(by_instance)
    )


# ---- keeping points ----


def _key(point: PaperPoint, seed: int) -> str:
    """Everything that the result depends on, this package's version included."""
    parts = json.dumps([POINT_SCHEMA, version("fairarm"), seed, asdict(point)], sort_keys=True)
    return hashlib.sha256(parts.encode()).hexdigest()


def _path(folder: Path, point: PaperPoint, seed: int) -> Path:
    return folder / f"{point.experiment}-{point.setting}-{point.algorithm}-{point.pulls}-{_key(point, seed)[:12]}.json"


def _write(folder: Path, seed: int, evidence: FinishedPoint) -> None:
    numbers = {key: value for key, value in asdict(evidence).items() if key != "point"}
    content = {"key": _key(evidence.point, seed), **numbers}
    write_whole(_path(folder, evidence.point, seed), sealed(content), "kept point")


def _read(folder: Path, seed: int, point: PaperPoint) -> FinishedPoint | None:
    """A kept point; a damaged file, or another point's, counts as missing and is computed again."""
    try:
        numbers = opened(_path(folder, point, seed).read_bytes(), "kept point")
        if numbers.pop("key") != _key(point, seed):
            return None
        return FinishedPoint(point=point, **{**numbers, "errors_by_instance": tuple(numbers["errors_by_instance"])})
    except (OSError, DataError, TypeError, KeyError):
        return None
