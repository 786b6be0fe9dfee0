"""Mechanisms that were fitted before the log is evaluated are no more certified than those fitted from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fairarm import Arm, Evaluation, LogMap, Outcome, Problem, Table, Variable, evaluate, table
from fairarm.beliefs.certified import Bound

ROWS = 3_000
KNOWN = table("V", ["X"], [[0.5, 0.5], [0.4, 0.6]])
CHILD = table("X", ["S"], [[0.7, 0.3], [0.4, 0.6]])


def fitted(known: Table) -> Table:
    """The same table, as it would be fitted from some rows."""
    return Table.fitted(known.node, known.parents, np.round(200 * known.probabilities).astype(np.int64))


def evaluated(logging: Table, child: Table, propensity: bool = False) -> Evaluation:
    rng = np.random.default_rng(5)
    s = rng.integers(0, 2, ROWS)
    x = (rng.random(ROWS) < CHILD.probabilities[s, 1]).astype(int)
    v = (rng.random(ROWS) < KNOWN.probabilities[x, 1]).astype(int)
    y = (rng.random(ROWS) < 0.3 + 0.4 * v).astype(int)
    columns = {"S": s, "X": x, "V": v, "Y": y, "p": KNOWN.probabilities[x, v]}
    problem = Problem(
        name="fitted before",
        variables=[Variable(name, ("0", "1")) for name in "SXVY"],
        graph=[("S", "X"), ("X", "V"), ("V", "Y"), ("X", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.2,
        arms=[Arm("logging", logging), Arm("other", table("V", [], [0.3, 0.7]))],
        mechanisms=[child],
        deployed="logging",
        shares={"0": 0.5, "1": 0.5},
    )
    return evaluate(problem, columns, columns=LogMap(propensity="p") if propensity else None)


def certified(found: Evaluation) -> list[bool]:
    return [arm.gap.certified_low is not None for arm in found.arms]


def test_everything_is_certified_where_everything_is_declared() -> None:
    found = evaluated(KNOWN, CHILD)
    assert (
        certified(found) == [True, True]
        and Bound.REGION in (found.certified_by or ())
        and Bound.BETS in (found.certified_by or ())
    )


def test_a_fitted_arm_is_not_certified_and_its_rows_are_not_weighted() -> None:
    found = evaluated(fitted(KNOWN), CHILD)
    assert certified(found) == [False, True] and [arm.fitted for arm in found.arms] == [True, False]
    assert Bound.BETS not in (found.certified_by or ())


def test_a_fitted_child_makes_no_region() -> None:
    found = evaluated(KNOWN, fitted(CHILD))
    assert certified(found) == [True, True] and Bound.REGION not in (found.certified_by or ())


def test_both_fitted_leave_nothing() -> None:
    found = evaluated(fitted(KNOWN), fitted(CHILD))
    assert certified(found) == [False, False] and found.not_certified[0].facts == {"arm": "logging"}


@pytest.mark.parametrize("child", [CHILD, fitted(CHILD)], ids=["declared", "fitted"])
def test_row_by_row_a_fitted_candidate_is_not_certified(child: Table) -> None:
    found = evaluated(fitted(KNOWN), child, propensity=True)
    assert certified(found) == [False, True]


def test_a_fitted_table_moves_the_usual_numbers_little() -> None:
    known, guessed = (evaluated(arm, CHILD).arms[1].outcome.value for arm in (KNOWN, fitted(KNOWN)))
    assert guessed == pytest.approx(known, abs=0.02)
    assert replace(fitted(KNOWN), counts=None) == fitted(KNOWN)
