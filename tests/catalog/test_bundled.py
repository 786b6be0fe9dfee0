"""Bundled problems by name; the lender's truth by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from fairarm import Constraint, NetworkWorld, bundled_problems, load_problem
from fairarm.problem.problem import Problem

FOLLOWED = {"refuse": (0.9, 0.06, 0.04), "small": (0.06, 0.88, 0.06), "full": (0.04, 0.06, 0.9)}
SMALL, FULL = (0.6, 0.72, 0.82, 0.9, 0.95), (0.25, 0.42, 0.6, 0.76, 0.88)
HISTORY = {"a": (0.2, 0.25, 0.55), "b": (0.25, 0.4, 0.35), "c": (0.4, 0.45, 0.15), "d": (0.3, 0.4, 0.3)}
HIGH_INCOME = {"a": 0.54, "b": 0.34, "c": 0.48, "d": 0.66}


def worth(points: int) -> tuple[float, float, float]:
    """Of a refusal, a small and a full loan, to somebody with so many points."""
    return 4.0, 6 * SMALL[points], 10 * FULL[points]


RULES = {
    "points": lambda h, i, r: ("refuse", "small", "full", "full", "full")[h + i + r],
    "rent": lambda h, i, r: ("small", "full")[r],
    "history": lambda h, i, r: ("refuse", "small", "full")[h],
    "income and rent": lambda h, i, r: ("refuse", "small", "full")[i + r],
    "small loans": lambda h, i, r: "small",
}


@pytest.mark.parametrize("rule", RULES)
def test_the_lender_of_four_races_is_what_its_file_says(rule: str) -> None:
    problem, world = load_problem("lender-race").problem, load_problem("lender-race").world
    assert isinstance(world, NetworkWorld)
    found = (world.law @ world.outcome_values)[problem.arm_index(rule)]
    for g, group in enumerate(problem.groups):
        mean = 0.0
        for h, i, r in product(range(3), range(2), range(2)):
            income = HIGH_INCOME[group] if i else 1 - HIGH_INCOME[group]
            chance = HISTORY[group][h] * income * (0.65 if r else 0.35)
            mean += chance * float(np.dot(FOLLOWED[RULES[rule](h, i, r)], worth(h + i + r)))
        assert found[g] == pytest.approx(mean, abs=1e-12)


def held(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes (K,), and which rows hold (K, J)."""
    world = load_problem("lender-race").world
    assert isinstance(world, NetworkWorld)
    means = problem.outcome.scale(world.law @ world.outcome_values)
    rows = problem.compiled.rows
    return means @ world.shares, rows.hold(rows.values(means, means @ world.shares))


def test_the_best_of_its_rules_is_unfair_to_one_pair_only() -> None:
    """Comparing a with b, as one would with two groups, "points" would be named; of four groups, "rent" is."""
    problem = load_problem("lender-race").problem
    outcome, hold = held(problem)
    names = [row.name for row in problem.rows]
    points = problem.arm_index("points")
    assert int(outcome.argmax()) == points
    assert [name for name, holds in zip(names, hold[points], strict=True) if not holds] == ["a - c"]
    assert problem.arm_names[int(np.where(hold.all(axis=1), outcome, -1).argmax())] == "rent"
    assert problem.arm_names[int(np.where(hold[:, names.index("a - b")], outcome, -1).argmax())] == "points"


def test_every_name_is_listed_with_a_line_and_loads() -> None:
    names = bundled_problems()
    assert {"lender", "lender-race", "synthetic-groups", "synthetic-groups-noisy"} <= {*names} and all(names.values())
    assert load_problem("lender-race").problem.costs[0] == (1, 2, 2, 2, 2)


ASKED = {
    "pairs, tolerance 0.8": {"tolerance": 0.8},
    "pairs of a and b, tolerance 0.8": {"tolerance": 0.8, "groups": ("a", "b")},
    "reference a, not below, tolerance 0.8": {"compare": "reference", "reference": "a", "tolerance": 0.8, "direction": "not_below"},
    "mean, tolerance 0.6": {"compare": "mean", "tolerance": 0.6},
    "pairs, ratio 0.8": {"ratio": 0.8},
    "floor 5.5": {"compare": "floor", "at_least": 5.5},
    "weights, tolerance 0.6": {"weights": {"a": 1, "b": -0.5, "c": -0.5}, "tolerance": 0.6},
}  # fmt: skip


def test_the_table_of_questions_in_the_docs() -> None:
    """docs/fairness.md: each question, and the best rule that is fair by it; the means of two of the rules."""
    page = (Path(__file__).parents[2] / "docs" / "fairness.md").read_text(encoding="utf-8")
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")
    ]
    said = {row[1]: row[2] for row in cells if len(row) == 3 and row[1] in ASKED}
    assert {*said} == {*ASKED}
    lender = load_problem("lender-race").problem
    for question, asked in ASKED.items():
        outcome, hold = held(replace(lender, constraints=[Constraint(**asked)]))  # type: ignore[arg-type]
        best = lender.arm_names[int(np.where(hold.all(axis=1), outcome, -1).argmax())]
        assert said[question] == f"`{best}`", question
    world = load_problem("lender-race").world
    assert isinstance(world, NetworkWorld)
    means = world.law @ world.outcome_values
    for rule in ("points", "rent"):
        (row,) = (row for row in cells if len(row) == 6 and row[0].startswith(f"`{rule}`"))
        k = lender.arm_index(rule)
        assert row[1:] == [f"{value:.2f}" for value in (means[k] @ world.shares, *means[k])]
