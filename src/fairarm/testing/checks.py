"""What a check is, and what the checks of the contract share: a subject to run, parts of batches, comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from fairarm.algorithms import Algorithm
from fairarm.errors import DataError
from fairarm.experiments.start_from_log import algorithm
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch
from fairarm.sealed import opened
from fairarm.testing.problems import PROBLEMS, make_world
from fairarm.worlds import World

T = 60
"""Pulls of a run, unless a check says otherwise."""


@dataclass(frozen=True)
class Subject:
    """The algorithm that is checked, with the options it is to run with."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    uses_every_pull: bool = False

    def start(self, world: World, pulls: int = T, **given: Any) -> Algorithm:
        """A new run on the world's problem."""
        return self.on(world.problem, pulls, **given)

    def on(self, problem: Problem, pulls: int = T, **given: Any) -> Algorithm:
        """A new run on a problem."""
        return algorithm(self.name, problem, pulls=pulls, seed=3, **given, **self.options)


@dataclass(frozen=True)
class Check:
    """One promise on one problem: call it; an `AssertionError` says what does not hold."""

    subject: Subject
    promise: Callable[..., None]
    problem: str
    given: tuple[tuple[str, Any], ...]

    def __str__(self) -> str:
        return "-".join(
            [self.subject.name, self.promise.__name__, self.problem, *(str(value) for _, value in self.given)]
        )

    def __call__(self) -> None:
        """Holds, or an error."""
        self.promise(self.subject, make_world(self.problem), **dict(self.given))


Promise = Callable[..., None]
_PROMISES: list[tuple[Promise, tuple[str, ...], dict[str, Sequence[Any]]]] = []


def promised(*problems: str, **given: Sequence[Any]) -> Callable[[Promise], Promise]:
    """Marks a function of a subject and a world as a check: on these problems, or on all, with each of the values given."""

    def keep(promise: Promise) -> Promise:
        _PROMISES.append((promise, problems or PROBLEMS, given))
        return promise

    return keep


def checks_of(subject: Subject, problems: Sequence[str]) -> list[Check]:
    """Every check of the subject on these problems."""
    return [
        Check(subject, promise, problem, tuple(zip(given, values, strict=True)))
        for promise, on, given in _PROMISES
        for problem in on
        if problem in problems
        for values in product(*given.values())
    ]


# ---- saying what does not hold: not by `assert`, which python -O leaves out ----


def holds(condition: Any, what: str) -> None:
    """An error that says what does not hold."""
    if not condition:
        raise AssertionError(what)


def same(found: Any, expected: Any, what: str) -> None:
    """Equal, or an error with both; of arrays, where they differ."""
    if isinstance(found, np.ndarray):
        np.testing.assert_array_equal(found, expected, err_msg=what)
    elif found != expected:
        raise AssertionError(f"{what}: {found!r:.300} is not {expected!r:.300}")


@contextmanager
def refused(what: str, says: str = "") -> Iterator[None]:
    """The block must end in a `DataError` that says something."""
    try:
        yield
    except DataError as error:
        holds(says in str(error), f"{what} is refused, but not because of '{says}': {error}")
        holds("\n" not in str(error), f"the message about {what} has more than one line")
    else:
        raise AssertionError(f"{what} is not refused")


# ---- runs and parts ----


def answers(run: Algorithm, world: World, seed: int = 0) -> Iterator[tuple[str, Batch]]:
    """One batch per phase, with ids; drawn afresh for each plan, the same for the same seed and plan."""
    i = 0
    while not run.finished:
        yield f"part {i}", world.pull(run.ask(), np.random.default_rng([seed, i]))
        i += 1


def finish(run: Algorithm, world: World, seed: int = 0) -> Algorithm:
    """The run, told to its end."""
    for id, part in answers(run, world, seed):
        run.tell(part, id=id)
    return run


def units(part: Batch) -> Batch:
    """One line per row: every count 1."""
    at = np.repeat(np.arange(part.size), part.count)
    return take(part, at, np.ones(len(at), dtype=np.int64))


def take(part: Batch, at: Any, count: Any = None) -> Batch:
    """Some lines, with their counts or others."""
    columns = {name: values[at] for name, values in part.columns.items()}
    return Batch(part.arm[at], part.regime[at], columns, part.count[at] if count is None else count)


def close(run: Algorithm) -> None:
    """End the phase with what arrived; a certified run is told that what is missing was lost at random."""
    run.close_phase(**({"lost": "at random"} if run.procedure.guarantee == "certified" else {}))


def told_by_unit(part: Batch, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Rows by regime and arm."""
    told = np.zeros(shape, dtype=np.int64)
    np.add.at(told, (part.regime, part.arm), part.count)
    return told


def comparable(run: Algorithm) -> dict[str, Any]:
    """All of a saved run but the ids, which a split changes."""
    document = opened(run.to_json(), "run")
    del document["told"]
    return document


def same_but_for_order(first: Algorithm, second: Algorithm) -> None:
    """Equal verdicts and pulls; estimates equal bit for bit for counts, to 1e-12 for rows (the order of a sum)."""
    for name in ("status", "arm", "phases"):
        same(getattr(first.verdict(), name), getattr(second.verdict(), name), f"the verdict's {name}")
    same(first.pulls_made(), second.pulls_made(), "the pulls")
    same(first.state.answer, second.state.answer, "the answer")
    for name in ("fair", "rejected", "reason"):
        same(getattr(first.info, name), getattr(second.info, name), name)
    rtol = 0 if first.problem.compiled.finite else 1e-12
    np.testing.assert_allclose(first.info.outcomes, second.info.outcomes, rtol=rtol)
    np.testing.assert_allclose(first.info.gaps, second.info.gaps, rtol=rtol, atol=rtol)
