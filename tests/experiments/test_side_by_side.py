"""Ordinary estimators beside ours: right on average, near ours where all holds, and apart where it does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairarm import Arm, LogMap, evaluate, table
from fairarm.beliefs.counted_bets import predictions
from fairarm.errors import OptionError
from fairarm.problem.pulls import Request
from four_arms import ARMS, chain, truth, world

PROBLEM = chain(deployed="even")


def log_of(rows: int, seed: int) -> Any:
    counts = np.zeros((3, len(PROBLEM.arms)), dtype=int)
    counts[0, PROBLEM.arm_index("even")] = rows
    return world(PROBLEM).pull(Request(PROBLEM.arm_names, PROBLEM.regimes, counts), np.random.default_rng(seed))


def test_the_plug_in_has_plain_means() -> None:
    """Of rare outcomes in many cells: prior rows of ½ would lift every mean. A cell without rows has the mean of its decision."""
    rows, sums = np.array([[4.0, 0.0, 5.0], [6.0, 0.0, 0.0]]), np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
    problem = chain(deployed="even", tolerance=0.2)
    assert problem.cell_columns == ("V",) and problem.variables["V"].size == 3
    _, m = predictions(problem, rows, sums, prior=0.0)
    np.testing.assert_allclose(m, np.tile([1 / 10, 3 / 15, 2 / 5], (2, 1)))
    _, with_prior = predictions(problem, rows, sums)
    np.testing.assert_allclose(with_prior, np.tile([1.5 / 11, 0.5, 2.5 / 6], (2, 1)))


def test_every_arm_by_every_estimator() -> None:
    found = evaluate(PROBLEM, log_of(4000, 1), compare=True)
    names = ["importance", "self-normalised", "plug-in", "doubly robust", "switch", "ours"]
    assert [(line.arm, line.estimator) for line in found.side_by_side] == [
        (arm, name) for arm in ARMS for name in names
    ]
    for line in found.side_by_side:
        outcome, gap = truth(line.arm)
        assert abs(line.outcome.value - outcome) < 0.12 and abs(line.fairness[0].value - gap) < 0.2
        assert line.outcome.low <= line.outcome.value <= line.outcome.high
    ours = [line for line in found.side_by_side if line.estimator == "ours"]
    assert [line.outcome.value for line in ours] == [arm.outcome.value for arm in found.arms]
    assert [line.fairness[0].low for line in ours] == [arm.gap.low for arm in found.arms]
    assert evaluate(PROBLEM, log_of(100, 1)).side_by_side == ()


def test_intervals_hold_and_no_difference_is_beyond_chance() -> None:
    """40 logs of 1 000 rows, 8 numbers each: every estimator holds in at least .85 of them (at .92 fewer with chance 1e-3), and
    nothing is found; of 1 600 differences none is beyond 4."""
    held: dict[str, list[bool]] = {}
    for seed in range(40):
        found = evaluate(PROBLEM, log_of(1000, 10 + seed), compare=True)
        assert not found.findings
        for line in found.side_by_side:
            for number, true in zip((line.outcome, line.fairness[0]), truth(line.arm), strict=True):
                held.setdefault(line.estimator, []).append(number.low <= true <= number.high)
    assert all(np.mean(each) > 0.85 for each in held.values()), {name: np.mean(each) for name, each in held.items()}


def test_a_logging_arm_that_is_not_the_declared_one_parts_them() -> None:
    """Rows of another rule are said to be of 'even': weights are wrong, and cell means are not."""
    other = chain({**ARMS, "even": [[0.2, 0.2, 0.6], [0.3, 0.3, 0.4]]}, deployed="even")
    counts = np.zeros((3, len(ARMS)), dtype=int)
    counts[0, 0] = 20_000
    rows = world(other).pull(Request(other.arm_names, other.regimes, counts), np.random.default_rng(3))
    found = evaluate(PROBLEM, rows, compare=True)
    (finding,) = [each for each in found.findings if each.name == "estimators-disagree"]
    assert not finding.blocks_certification and any("by importance" in each for each in finding.examples)


def test_refused_where_rows_are_not_counted() -> None:
    columns = log_of(200, 1)
    labels = columns.labels(PROBLEM)
    chance = [ARMS["even"][0][int(v)] for v in labels["V"]]
    rows = {name: np.repeat(labels[name], columns.count) for name in ("S", "V", "Y")}
    with pytest.raises(OptionError, match="counted by cell"):
        evaluate(PROBLEM, {**rows, "p": np.repeat(chance, columns.count)}, columns=LogMap(propensity="p"), compare=True)


def test_real_outcomes_need_sums_alone() -> None:
    from fairarm import Outcome, Problem, Variable

    real = Problem(
        name="real", variables=[Variable("S", ("a", "b")), Variable("V", ("0", "1", "2"))],
        graph=[("S", "V"), ("V", "Y")], sensitive="S", decision="V", outcome=Outcome("Y", low=0.0, high=10.0),
        tolerance=1.0, deployed="even", arms=[Arm(name, table("V", ["S"], rows)) for name, rows in ARMS.items()],
    )  # fmt: skip
    rng = np.random.default_rng(5)
    v = rng.choice(3, 3000, p=ARMS["even"][0])
    y = np.array([1.0, 5.0, 9.0])[v] + rng.normal(0, 0.2, 3000)
    rows = {"S": np.array(["a", "b"])[rng.integers(0, 2, 3000)], "V": v, "Y": y}
    found = evaluate(real, rows, compare=True)
    lines = {line.estimator: line for line in found.side_by_side if line.arm == "good"}
    assert all(abs(line.outcome.value - 7.0) < 0.6 for line in lines.values())
