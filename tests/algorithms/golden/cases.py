"""The runs whose saved documents are kept: which algorithm, on which problem, saved when. See `make.py`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from typing import Any

import numpy as np

from fairarm import algorithm
from fairarm.algorithms import DESCRIPTIONS, Algorithm, Verdict
from fairarm.catalog import load_problem
from fairarm.problem.constraint import Constraint
from fairarm.problem.pulls import Batch, Request
from fairarm.testing.problems import make_world
from fairarm.worlds import World
from many_groups import many_groups

PULLS, SEED, LOG_ROWS = 60, 3, 25

CERTIFIED = {"confidence": 0.6}
BAYES_STOP = {"confidence": 0.75, "stop": "bayes-stop", "law": "estimated"}
READINGS = {"phases": "product", "clip_base": "e", "programme": "reciprocal", "outcome_pulls": "all", "final_arm": "random"}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A run of ``algorithm``, from a log or not, saved in the middle of a phase or at its end."""

    problem: str
    algorithm: str
    options: dict[str, Any] = field(default_factory=dict)
    log: bool = False
    finished: bool = False


def cases() -> Iterator[Case]:
    for name in DESCRIPTIONS:
        for problem in ("chain", "context", "real"):
            yield Case(problem, name)
        yield Case("chain", name, finished=True)
        if not name.endswith("-v1"):  # those take no log
            yield Case("chain", name, log=True)
            yield Case("real", name, log=True)
    for options in (CERTIFIED, BAYES_STOP):
        for problem in ("chain", "context"):
            for log in (False, True):
                yield Case(problem, "pool", options, log)
        yield Case("chain", "pool", options, finished=True)
    yield Case("real", "pool", BAYES_STOP)
    yield Case("chain", "csr-v2", READINGS)
    for name in ("pool", "csr-v2", "uniform"):
        yield Case("ad-marketplace", name)
        yield Case("beta-mixtures:K=3", name)
    yield Case("beta-mixtures:K=3", "pool", finished=True)
    for name in ("pool", "top-two", "tf-lucb", "uniform"):
        yield Case("groups", name)
    yield Case("groups", "pool", BAYES_STOP, log=True)
    yield Case("groups", "pool", finished=True)


@cache
def world_of(problem: str) -> World:
    """Of a bundled problem, or of one of the contract suite's."""
    if problem in ("chain", "context", "real"):
        return make_world(problem)
    if problem == "groups":
        return many_groups(1, constraints=(Constraint(tolerance=0.2), Constraint(compare="floor", at_least=0.3)))
    world = load_problem(problem).world
    if world is None:
        raise ValueError(problem)
    return world


def started(case: Case) -> Algorithm:
    world = world_of(case.problem)
    log = world.pull(_natural(world), np.random.default_rng(7)) if case.log else None
    return algorithm(case.algorithm, world.problem, pulls=PULLS, seed=SEED, log=log, **case.options)


def _natural(world: World) -> Request:
    """Natural pulls of every arm, the log."""
    problem = world.problem
    counts = np.zeros((len(problem.regimes), len(problem.arms)), dtype=np.int64)
    counts[0] = LOG_ROWS
    return Request(problem.arm_names, problem.regimes, counts)


def units(part: Batch) -> Batch:
    """One line for each row."""
    at = np.repeat(np.arange(part.size), part.count)
    columns = {name: values[at] for name, values in part.columns.items()}
    return Batch(part.arm[at], part.regime[at], columns, np.ones(len(at), dtype=np.int64))


def said(verdict: Verdict) -> dict[str, Any]:
    """What a verdict says but for the reasons, which may be put better, and the problem, which is not inside."""
    plain = {f.name: getattr(verdict, f.name) for f in fields(verdict) if f.name not in ("problem", "decision")}
    arms = [{k: v for k, v in asdict(arm).items() if k != "reason"} for arm in verdict.arms]
    notes = [asdict(note) for note in verdict.notes]
    return plain | {"decision": asdict(verdict.decision), "arms": arms, "notes": notes}
