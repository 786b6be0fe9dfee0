"""Wrong tables: where an answer tips, by hand and against other tables; what the rows would have shown."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fairarm import Arm, Problem, Unknown, evaluate, identify, table
from fairarm.beliefs.table_moves import LawFactors
from fairarm.experiments.wrong_tables import WrongTables, shown_errors, wrong_tables
from fairarm.problem.pulls import Request
from four_arms import ARMS, SHARE, chain, world


def log_of(problem: Problem, rows: int, seed: int = 0) -> Any:
    counts = np.zeros((3, len(problem.arms)), dtype=int)
    counts[0, problem.arm_index("even")] = rows
    return world(problem).pull(Request(problem.arm_names, problem.regimes, counts), np.random.default_rng(seed))


PROBLEM = chain(deployed="even")
FOUND = evaluate(PROBLEM, log_of(PROBLEM, 20_000))


def tables() -> WrongTables:
    assert FOUND.wrong_tables is not None
    return FOUND.wrong_tables


def test_by_hand() -> None:
    """'good' is fair and leads 'even' by about 0.36. Its rows are worth 0.1, 0.5, 0.9 by state: moved by ε toward the worst state the
    outcome falls by 0.8 ε, as long as the best has ε; and its gap of 0.04 grows by 1.6 ε to the tolerance 0.15."""
    theta = FOUND.evidence.beliefs.posterior.mean[0]
    reach = theta[2] - theta[0]
    good = PROBLEM.arm_index("good")
    value = LawFactors(FOUND.evidence.beliefs).values()[good]
    expected = (0.15 - abs(value[1])) / (2 * reach)
    assert FOUND.arm == "good"
    (own,) = [each for each in tables().tables if each.name == "good"]
    assert own.answer == pytest.approx(expected, abs=1e-6) and own.fairness == pytest.approx(expected, abs=1e-6)
    assert tables().together <= own.answer
    assert tables().weakest in tables().tables


def test_an_unfair_arm_that_is_better_is_a_danger_once_it_may_be_fair() -> None:
    """'favours a' is far from fair: its own table tips the answer only if it may be fair and better at once."""
    (rival,) = [each for each in tables().tables if each.name == "favours a"]
    assert rival.fairness is not None and rival.answer >= rival.fairness


@pytest.mark.parametrize("name", ARMS)
def test_below_its_tip_no_table_changes_the_answer(name: str) -> None:
    """200 random tables of one arm, each row off by a little less than the tip: exact values, the same answer."""
    rng = np.random.default_rng(3)
    (own,) = [each for each in tables().tables if each.name == name]
    error = 0.999 * min(own.answer, 0.9)
    theta = FOUND.evidence.beliefs.posterior.mean[0]
    for _ in range(200):
        rows = {key: np.array(value) for key, value in ARMS.items()}
        # from a few states to one: the corners of what is allowed, and points inside
        to = rng.dirichlet(np.full(3, 0.2), size=2)
        size = np.abs(to - rows[name]).sum(axis=1, keepdims=True) / 2
        rows[name] = rows[name] + np.minimum(1.0, error / size) * (to - rows[name])
        means = np.stack([each @ theta for each in rows.values()])
        fair = np.abs(means[:, 0] - means[:, 1]) < 0.15
        outcomes = np.where(fair, means @ [SHARE, 1 - SHARE], -1.0)
        assert list(rows)[int(outcomes.argmax())] == "good"


def test_above_its_tip_a_table_changes_the_answer() -> None:
    (own,) = [each for each in tables().tables if each.name == "good"]
    theta = FOUND.evidence.beliefs.posterior.mean[0]
    rows = np.array(ARMS["good"])
    gap = (rows @ theta)[0] - (rows @ theta)[1]
    error, sign = own.answer * 1.001, 1 if gap > 0 else -1
    up, down = (0, 1) if sign > 0 else (1, 0)
    rows[up] += [-error, 0, error]
    rows[down] += [error, 0, -error]
    if rows.min() >= 0:
        assert abs((rows @ theta)[0] - (rows @ theta)[1]) > 0.15


def test_a_certificate_has_less_room_than_the_estimates() -> None:
    assert FOUND.certified_arm == "good" and tables().certified is not None
    assert 0 < tables().certified < tables().together


def test_the_rows_show_errors_of_the_arm_that_made_them_alone() -> None:
    shown = {each.name: each.shown for each in tables().tables}
    assert shown["even"] is not None and shown["even"] < 0.05 and shown["good"] is None
    few = evaluate(PROBLEM, log_of(PROBLEM, 2000)).wrong_tables
    assert few is not None and few.tables[0].shown > shown["even"]
    assert np.isnan(shown_errors(PROBLEM, None, False)).all()


def test_fitted_tables_are_not_declared() -> None:
    known = [Arm(name, table("V", ["S"], rows)) for name, rows in ARMS.items() if name != "even"]
    unknown = replace(PROBLEM, arms=[Arm("even", Unknown("V", ("S",))), *known])
    found = evaluate(unknown, log_of(PROBLEM, 5000)).wrong_tables
    assert found is not None and [each.name for each in found.tables] == ["good", "favours a", "favours b"]


def test_no_fair_arm_tips_as_well() -> None:
    found = wrong_tables(FOUND.evidence.beliefs, -1, np.full(4, np.nan), None)
    assert found is not None and found.together == 0.0  # 'good' is fair: that none is was never so
    only = chain(deployed="favours b", arms={name: ARMS[name] for name in ("favours a", "favours b")})
    counts = np.zeros((3, 2), dtype=int)
    counts[0, 1] = 5000
    rows = world(only).pull(Request(only.arm_names, only.regimes, counts), np.random.default_rng(1))
    none = evaluate(only, rows)
    assert none.status == "NO_FAIR_ARM" and none.wrong_tables is not None and 0.2 < none.wrong_tables.together < 0.5


def test_runs_have_it_where_they_have_an_answer() -> None:
    found = identify(PROBLEM, world(PROBLEM), pulls=2000, confidence=0.9)
    assert found.wrong_tables is not None and 0 < found.wrong_tables.together < 0.1
    assert identify(PROBLEM, world(PROBLEM), algorithm="csr-v2", pulls=200).wrong_tables is None


def test_no_answer_has_no_tip() -> None:
    assert wrong_tables(FOUND.evidence.beliefs, -2, np.full(4, np.nan), None) is None
    assert wrong_tables(None, 0, np.full(4, np.nan), None) is None
    assert math.isfinite(tables().together)
