"""The contract of rows that cannot be: refused as a whole, and nothing changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch
from fairarm.testing.checks import Subject, promised, refused, same
from fairarm.worlds import World


def one_row(problem: Problem, **changes: Any) -> Batch:
    """A valid line of the chain problem (arm never-low, natural, S = a, V = mid, Y = fine) with some columns changed."""
    values = {"arm": 2, "regime": 0, "S": 0, "V": 1, "Y": 1, "count": 1, **changes}
    made = {key: value if isinstance(value, np.ndarray) else np.array([value]) for key, value in values.items()}
    return Batch(made["arm"], made["regime"], {n: made[n] for n in problem.observed if n in made}, made["count"])


MALFORMED: dict[str, dict[str, Any]] = {
    "no such state": {"V": 3},
    "negative state": {"Y": -1},
    "no such arm": {"arm": 3},
    "no such regime": {"regime": 3},
    "forced to a but S is b": {"regime": 1, "S": 1},
    "forced to b but S is a": {"regime": 2, "S": 0},
    "negative count": {"count": -1},
    "fractional count": {"count": 0.5},
    "count not a number": {"count": float("nan")},
    "fractional state": {"V": 1.5},
    "text for a state": {"V": "mid"},
    "impossible under the arm's mechanism": {"V": 0},
    "impossible and forced": {"V": 0, "regime": 2, "S": 1},
    "columns of two lengths": {"V": np.array([1, 1])},
    "counts of another length": {"count": np.array([1, 1])},
    "counts in two dimensions": {"count": np.array([[1]])},
}


@promised("chain", what=list(MALFORMED))
def malformed_batches_are_refused_and_change_nothing(subject: Subject, world: World, what: str) -> None:
    """And the id stays free."""
    run, good = subject.start(world), one_row(world.problem)
    run.tell(good, id="good")
    before = run.to_json()
    with refused(f"a row with {what}"):
        run.tell(one_row(world.problem, **MALFORMED[what]), id="bad")
    same(run.to_json(), before, "the run after a part was refused")
    run.tell(good, id="bad")
    same(int(run.pulls_made().sum()), 2, "the pulls")


@promised("chain")
def a_missing_column_is_refused(subject: Subject, world: World) -> None:
    """By its name."""
    run, row = subject.start(world), one_row(world.problem)
    before = run.to_json()
    with refused("a part without V", "V"):
        run.tell(Batch(row.arm, row.regime, {n: row.columns[n] for n in ("S", "Y")}, row.count), id="bad")
    same(run.to_json(), before, "the run after a part was refused")


@promised("chain")
def one_bad_line_refuses_the_whole_batch(subject: Subject, world: World) -> None:
    """Good lines beside it do not count."""
    run = subject.start(world)
    good, bad = one_row(world.problem), one_row(world.problem, V=0)
    both = Batch(
        np.append(good.arm, bad.arm),
        np.append(good.regime, bad.regime),
        {n: np.append(good.columns[n], bad.columns[n]) for n in good.columns},
        np.append(good.count, bad.count),
    )
    before = run.to_json()
    with refused("a part with one bad line", "never-low"):
        run.tell(both, id="both")
    same(run.to_json(), before, "the run after a part was refused")


@promised("real", value=(-0.1, 3.1, float("nan"), float("inf")))
def real_outcomes_outside_their_range_are_refused(subject: Subject, world: World, value: float) -> None:
    """The range is that of the problem."""
    run = subject.start(world)
    before = run.to_json()
    row = {"S": np.array([0]), "V": np.array([1]), "Y": np.array([value])}
    with refused(f"an outcome of {value}", "Y"):
        run.tell(Batch(np.array([0]), np.array([0]), row, np.array([1])), id="bad")
    same(run.to_json(), before, "the run after a part was refused")
