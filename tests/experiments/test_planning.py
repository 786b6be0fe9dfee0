"""Planning before the experiment: truths from the prior, margins, budgets, and what the plan says."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fairarm import load_problem, plan
from fairarm.errors import OptionError, ProblemError
from fairarm.experiments.planning import _Asked, _known_law, _truths, good_enough
from fairarm.problem.context import ContextSample
from fairarm.problem.outcome import Outcome
from fairarm.worlds.cells import CellWorlds

ASKED = _Asked(0.05, 0.0, 0.0, 0.3, 4.0, 100, 0, 1000)


def worlds(outcome_law: Any, count: int = 1) -> CellWorlds:
    """The coin: arm "even" tosses 50:50, "tilted" more often heads in group a."""
    problem = load_problem("coin").problem
    law, shares = _known_law(problem)
    by_cell = np.broadcast_to(np.asarray(outcome_law, dtype=np.float64), (count, 2, 2, 2))
    return CellWorlds(problem, law, by_cell, shares)


def test_truths_have_the_priors_moments() -> None:
    problem = load_problem("hepar2").problem
    law, shares = _known_law(problem)
    drawn = _truths(problem, law, shares, ASKED, 4000, np.random.default_rng(1))
    theta = drawn.outcome_law @ problem.outcome.scaled_values
    # Beta(1.2, 2.8): mean 0.3, variance 0.3 · 0.7 / 5; 4 000 independent truths of a cell, 5 standard errors
    assert np.all(np.abs(theta.mean(axis=0) - 0.3) < 5 * math.sqrt(0.042 / 4000))
    assert np.all(np.abs(theta.var(axis=0) - 0.042) < 0.006)
    np.testing.assert_array_equal(theta[:, 0], theta[:, 1])  # a cell's outcome does not depend on the group


def test_worlds_outcomes_are_those_of_the_network() -> None:
    scenario = load_problem("ad-marketplace")
    world, problem = scenario.world, scenario.problem
    law, shares = _known_law(problem)
    states = len(problem.outcome.values or ())
    rows = world.law.reshape(*world.law.shape[:2], -1, states).sum(axis=0)
    mass = rows.sum(axis=2, keepdims=True)
    outcome_law = np.divide(rows, mass, out=np.full(rows.shape, 1 / states), where=mass > 0)
    np.testing.assert_allclose(law, world.law.reshape(*law.shape, states).sum(axis=3), atol=1e-12)
    outcomes, gaps = CellWorlds(problem, law, outcome_law[None], shares).outcomes()
    truth = world.truth()
    np.testing.assert_allclose(problem.outcome.unscale(outcomes[0]), truth.outcomes, atol=1e-12)
    np.testing.assert_allclose(problem.outcome.width * gaps[0], truth.gaps, atol=1e-12)


def test_draws_have_the_laws_means() -> None:
    truth = worlds([[[0.2, 0.8], [0.6, 0.4]]] * 2)
    counts = np.zeros((1, 3, 2), dtype=np.int64)
    counts[0] = [[10**6, 0], [0, 10**6], [0, 0]]
    drawn = truth.draw(counts, np.random.default_rng(3))
    assert drawn.sum() == 2 * 10**6
    np.testing.assert_array_equal(drawn.sum(axis=(3, 4)), counts)
    for r, k, t in ((0, 0, 0), (0, 0, 1), (1, 1, 0)):
        rows = drawn[0, r, k, t].reshape(2, 2)
        expected = truth.law[k, t][:, None] * truth.outcome_law[0, t]
        sd = np.sqrt(expected * (1 - expected) / rows.sum())
        assert np.all(np.abs(rows / rows.sum() - expected) < 5 * sd)
    assert drawn[0, 1, 1, 1].sum() == 0  # forced to the first group


def test_good_enough_by_hand() -> None:
    problem = load_problem("coin").problem
    truth = worlds([[[0.0, 1.0], [1.0, 0.0]]] * 2, count=5)  # one side always wins
    outcomes, gaps = (values[0] for values in truth.outcomes())
    E = problem.scaled_tolerance
    fair = np.abs(gaps) < E
    best = int(np.argmax(np.where(fair, outcomes, -1)))
    answers = np.array([best, 1 - best, -1, -2, best])
    np.testing.assert_array_equal(good_enough(truth, answers, 0.0, 0.0), [True, False, False, False, True])
    # with margins as wide as everything, any named arm is good enough, and "none" too, as no arm is clearly fair
    np.testing.assert_array_equal(good_enough(truth, answers, 2.0, 2.0), [True, True, True, False, True])


def test_the_plan_is_the_same_for_any_number_of_jobs_and_its_curve_falls() -> None:
    problem = load_problem("ad-marketplace").problem
    asked: dict[str, Any] = {"target_error": 0.2, "truths": 40, "seed": 3}
    one, two = plan(problem, **asked), plan(problem, **asked, jobs=2)
    assert one == two
    option = one.cheapest
    assert option is not None and option.pulls is not None
    assert option.curve[0].error > option.curve[-1].error
    assert sum(unit.pulls for unit in option.units) == pytest.approx(option.pulls, rel=0.05)
    assert option.cost is not None and option.average_cost is not None
    assert option.cost <= option.average_cost * option.pulls + 1e-9
    assert all(a.pulls < b.pulls for a, b in zip(option.curve, option.curve[1:], strict=False))


def test_the_target_may_be_out_of_reach() -> None:
    found = plan(load_problem("ad-marketplace").problem, target_error=0.001, truths=20, most_pulls=64)
    assert found.cheapest is None and found.quickest is None
    assert all(option.pulls is None and len(option.curve) == 2 for option in found.options)


def test_a_real_outcome_is_taken_as_all_or_nothing() -> None:
    problem = load_problem("coin").problem
    variables = {name: v for name, v in problem.variables.items() if name != problem.outcome.node}
    real = replace(problem, variables=variables, outcome=Outcome(problem.outcome.node, low=0.0, high=1.0))
    found = plan(real, target_error=0.3, truths=20)
    assert "real-valued" in found.notes[0]
    assert found.options == plan(problem, target_error=0.3, truths=20).options


def test_what_is_not_declared_is_named() -> None:
    problem = load_problem("hepar2").problem
    with pytest.raises(ProblemError, match=r"shares.*context"):
        plan(replace(problem, shares=None, context=None), truths=2)
    with pytest.raises(OptionError, match="target error"):
        plan(problem, target_error=1.5)
    with pytest.raises(OptionError, match="Margins"):
        plan(problem, gap_margin=-1.0)


def test_a_context_sample_stands_in_for_the_law() -> None:
    scenario = load_problem("hepar2")
    problem = scenario.problem
    rng = np.random.default_rng(0)
    counts = np.zeros((3, len(problem.arms)), dtype=np.int64)
    counts[0, 0] = 20_000
    from fairarm.problem.pulls import Plan

    pulled = scenario.world.pull(Plan(problem.arm_names, problem.regimes, counts), rng)
    rows = {name: np.repeat(values, pulled.count) for name, values in pulled.columns.items()}
    sampled = replace(problem, shares=None, context=ContextSample(problem.arm_names[0], rows))
    law, shares = _known_law(sampled)
    exact, exact_shares = _known_law(problem)
    assert np.abs(law - exact).max() < 0.02 and np.abs(shares - exact_shares).max() < 0.02
