"""Mixtures with names, in the outcome's own units, for any rows; with one gap between two groups as they were."""

from __future__ import annotations

import numpy as np
import pytest

from fairarm.algorithms import algorithm
from fairarm.algorithms.best_mixture import BestMixture, described
from fairarm.core.posterior.arm_mixture import best_mixture
from fairarm.problem.constraint import Constraint
from fairarm.problem.mechanism import Arm, table
from fairarm.problem.network import Network
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.variables import Variable
from fairarm.reports.words.runs import mixture_text
from fairarm.worlds import NetworkWorld

# on the outcome's scale of 10 to 20: each arm favours one group, the first is the best
MEANS = np.array([[19.0, 16.0, 16.0], [15.0, 18.0, 15.0], [15.0, 15.0, 18.0]])


def problem(*constraints: Constraint, groups: int = 3) -> Problem:
    names = ("a", "b", "c")[:groups]
    return Problem(
        name="three", variables=[Variable("S", names), Variable("V", ("0", "1")), Variable("Y", ("0", "1"))],
        graph=[("S", "V"), ("V", "Y")], sensitive="S", decision="V", outcome=Outcome("Y", values=(10, 20)),
        constraints=constraints, shares=[1 / groups] * groups,
        arms=[Arm(name, table("V", ["S"], [[0.5, 0.5]] * groups)) for name in ("for a", "for b", "for c")],
    )  # fmt: skip


def found_for(asked: Problem, means: np.ndarray) -> BestMixture:
    scaled = (means - 10) / 10
    outcomes = scaled.mean(axis=-1)
    values = asked.compiled.rows.values(scaled, outcomes)
    return described(asked, best_mixture(outcomes, values, asked.compiled.rows), 0.95)


def test_three_arms_and_their_rows_in_the_outcomes_units() -> None:
    asked = problem(Constraint(compare="pairs", tolerance=0.1), Constraint(compare="floor", at_least=12))
    found = found_for(asked, np.repeat(MEANS[None], 8, axis=0))
    assert found.single is None and found.best is not None
    assert found.best.shares.keys() == {"for a", "for b", "for c"} and sum(found.best.shares.values()) == pytest.approx(
        1
    )
    x = np.array([found.best.shares[name] for name in ("for a", "for b", "for c")])
    mixed = x @ MEANS
    assert found.best.outcome == pytest.approx(mixed.mean())
    assert {row.name: row.value for row in found.best.fairness} == pytest.approx(
        {"a - b": mixed[0] - mixed[1], "a - c": mixed[0] - mixed[2], "b - c": mixed[1] - mixed[2], "a": mixed[0], "b": mixed[1], "c": mixed[2]},
        abs=1e-9,
    )  # fmt: skip
    assert all(
        row.holds_probability == 1 and row.interval == pytest.approx((row.value, row.value))
        for row in found.best.fairness
    )
    assert found.best.gap is None and found.best.gap_interval is None and found.best.fair_probability == 1
    text = mixture_text(found, asked.outcome)
    assert "% for a, " in text and " and 3" in text and "best single arm" not in text


def test_a_ratio_is_shown_as_its_row() -> None:
    """μ(a) − 0.9 μ(c) and the like: on the scale of Y' the end is shifted, in the outcome's units it is 0."""
    asked = problem(Constraint(compare="pairs", ratio=0.9))
    found = found_for(asked, np.repeat(MEANS[None], 4, axis=0))
    assert found.best is not None
    mixed = np.array([found.best.shares.get(arm, 0.0) for arm in ("for a", "for b", "for c")]) @ MEANS
    values = {row.name: row.value for row in found.best.fairness}
    assert values["a / c"] == pytest.approx(mixed[0] - 0.9 * mixed[2]) and values["c / a"] == pytest.approx(
        mixed[2] - 0.9 * mixed[0]
    )
    assert min(values.values()) == pytest.approx(0, abs=1e-4) and mixed.min() / mixed.max() == pytest.approx(
        0.9, abs=1e-4
    )


def test_one_gap_between_two_groups_is_the_gap() -> None:
    asked = problem(Constraint(compare="pairs", tolerance=1.0), groups=2)
    found = found_for(asked, np.repeat(MEANS[None, :, :2], 4, axis=0))
    assert found.best is not None and len(found.best.shares) == 2
    (row,) = found.best.fairness
    assert (found.best.gap, found.best.gap_interval) == (row.value, row.interval) and row.name == "a - b"
    assert found.best.gap == pytest.approx(1.0, abs=1e-5)


def test_nothing_is_found() -> None:
    found = found_for(problem(Constraint(compare="floor", at_least=17.5)), np.repeat(MEANS[None], 4, axis=0))
    assert found == BestMixture(0.95, None, None, None)
    assert mixture_text(found) == "No arm, and no mixture of arms, was found that is fair with probability 0.95."


def test_a_run_with_three_groups_mixes_by_all_rows() -> None:
    """Two arms of a bundled kind: the first breaks a - c alone, 0.15 above 0.12; less than 0.8 of it and the rest of the second is fair."""
    rules = {"first": (0.5, 0.6, 0.8), "second": (0.4, 0.4, 0.5)}
    tables = {name: [[1 - p, p] for p in rule] for name, rule in rules.items()}
    asked = Problem(
        name="three", variables=[Variable("S", ("a", "b", "c")), Variable("V", ("0", "1")), Variable("Y", ("0", "1"))],
        graph=[("S", "V"), ("V", "Y")], sensitive="S", decision="V", outcome=Outcome("Y", values=(0, 1)), tolerance=0.12,
        shares=[0.5, 0.3, 0.2], arms=[Arm(name, table("V", ["S"], rows)) for name, rows in tables.items()],
    )  # fmt: skip
    laws = [
        table("S", [], [0.5, 0.3, 0.2]),
        table("V", ["S"], tables["first"]),
        table("Y", ["V"], [[0.8, 0.2], [0.3, 0.7]]),
    ]
    world, rng = NetworkWorld(asked, Network.of(asked.variables.values(), laws)), np.random.default_rng(0)
    run = algorithm("uniform", asked, pulls=20_000)
    while not run.finished:
        run.tell(world.pull(run.ask(), rng), id=str(run.phase))
    found = run.best_mixture()
    assert found.single is not None and found.single.shares == {"second": 1.0} and found.best is not None
    # the gap a - c is 0.05 + 0.1 x, so that x < 0.7; being sure costs a little of it
    assert 0.55 < found.best.shares["first"] < 0.7 and found.best.fair_probability >= 0.95
    assert {row.name: row.holds_probability for row in found.best.fairness} == {
        "a - b": 1.0, "a - c": found.best.fair_probability, "b - c": 1.0,
    }  # fmt: skip
    assert found == run.best_mixture()
