"""`mis`, `top-two` and `tf-lucb` alike: budgets under any costs, few pulls, seeds, turned arms and groups, errors that fall."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dirichlet_worlds import drawn, random_world
from fairarm.algorithms import make_procedure
from fairarm.algorithms.procedure import Guarantee
from fairarm.beliefs.evidence import CellEvidence
from fairarm.errors import BudgetError, OptionError
from fairarm.experiments.simulate import replicate
from fairarm.problem.mechanism import Arm, table
from fairarm.problem.network import Network
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.variables import Variable
from fairarm.worlds import NetworkWorld

COMPETITORS = ("mis", "top-two", "tf-lucb")
PULL_BY_PULL = ("top-two", "tf-lucb")


@pytest.mark.parametrize("name", COMPETITORS)
@pytest.mark.parametrize("seed", range(6))
def test_budgets_under_any_costs(name: str, seed: int) -> None:
    rng = np.random.default_rng([seed, 9])
    costs = rng.integers(0, 4, (3, 3)) * rng.choice([1.0, 0.37])
    pulls = int(rng.integers(1, 250))
    budget: Any = rng.choice([None, "1/sqrt(pulls)", 0.0, 1.0]) if seed else None
    if isinstance(budget, str):
        costs[0] = 0
    elif budget is not None:
        budget = float(costs.min() + budget * rng.random())
    world = random_world(seed, costs=costs.tolist(), budget=budget)
    limit = world.problem.average_cost_budget(pulls)
    state, _, spent, made = replicate(make_procedure(name, world.problem, pulls), world, 3, rng, seed)
    assert state.finished and (made == pulls).all()
    assert limit is None or (spent <= limit * pulls + 1e-6).all()


@pytest.mark.parametrize("name", COMPETITORS)
def test_a_budget_below_the_cheapest_pull(name: str) -> None:
    with pytest.raises(BudgetError, match="cheapest"):
        make_procedure(name, random_world(0, costs=[[2, 2, 2]] * 3, budget=1.0).problem, 50)


@pytest.mark.parametrize("name", COMPETITORS)
@pytest.mark.parametrize("pulls", [1, 2, 3, 5])
def test_very_few_pulls(name: str, pulls: int) -> None:
    world = random_world(8)
    state, _, _, made = replicate(make_procedure(name, world.problem, pulls), world, 4, np.random.default_rng(0), 0)
    assert state.finished and (made == pulls).all()


@pytest.mark.parametrize("name", COMPETITORS)
def test_the_same_seed_is_the_same_run(name: str) -> None:
    world = random_world(9, costs=[[0, 0, 0], [1, 1, 1], [1, 1, 1]], budget="1/sqrt(pulls)")
    procedure = make_procedure(name, world.problem, 120)
    runs = [replicate(procedure, world, 6, np.random.default_rng(1), seed) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(runs[0].state.given, runs[1].state.given)
    np.testing.assert_array_equal(runs[0].info.outcomes, runs[1].info.outcomes)
    np.testing.assert_array_equal(runs[0].state.answer, runs[1].state.answer)
    assert np.array_equal(runs[0].state.given, runs[2].state.given) == (name != "top-two")  # the others draw nothing


@pytest.mark.parametrize("name", ["mis", "tf-lucb"])
def test_estimates_turn_with_the_arms_and_the_groups(name: str) -> None:
    """One closed phase on the same rows, arms reordered, or the groups exchanged."""
    order = [2, 0, 1]
    world, turned = random_world(10), random_world(10, order=order)
    evidence = drawn(world, [[20, 9, 6], [5, 8, 7], [6, 5, 9]])
    swapped = random_world(10, groups=("b", "a"), shares=(world.problem.shares or ())[::-1]).problem

    def closed(problem: Problem, counts: Any) -> Any:
        procedure, told = make_procedure(name, problem, 100), CellEvidence(problem, counts)
        return procedure.step(procedure.start(1), told, told, 0)[1]

    plain = closed(world.problem, evidence.counts)
    other = closed(turned.problem, evidence.counts[:, :, order])
    np.testing.assert_allclose(other.outcomes, plain.outcomes[:, order], rtol=1e-12)
    np.testing.assert_allclose(other.gaps, plain.gaps[:, :, order], rtol=1e-10, atol=1e-12)
    exchanged = closed(swapped, evidence.counts[:, [0, 2, 1]][:, :, :, ::-1])
    np.testing.assert_allclose(exchanged.outcomes, plain.outcomes, rtol=1e-12)
    np.testing.assert_allclose(exchanged.gaps, -plain.gaps, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", PULL_BY_PULL)
def test_too_many_pulls_to_decide_one_by_one(name: str) -> None:
    problem = random_world(0).problem
    make_procedure(name, problem, 10_000)
    with pytest.raises(OptionError, match="at most 10000"):
        make_procedure(name, problem, 10_001)


@pytest.mark.parametrize("name", ["mis", "tf-lucb"])
def test_they_have_no_options(name: str) -> None:
    procedure = make_procedure(name, random_world(0).problem, 100)
    assert procedure.options() == {} and procedure.tests_fairness
    assert procedure.guarantee is Guarantee.NONE and procedure.confidence is None
    with pytest.raises(OptionError, match="no option 'phases'"):
        make_procedure(name, random_world(0).problem, 100, phases="log2")


@pytest.mark.parametrize("name", COMPETITORS)
def test_errors_fall_with_the_pulls(name: str) -> None:
    """Three arms without costs, one better by far and fair: the right answer in 2 000 pulls, and more often than in 20."""
    network = Network.of(
        [Variable("S", ("a", "b")), Variable("V", ("0", "1")), Variable("Y", ("0", "1"))],
        [table("S", [], [0.5, 0.5]), table("V", ["S"], [[0.5, 0.5]] * 2), table("Y", ["V"], [[0.7, 0.3], [0.3, 0.7]])],
    )
    rows = {"poor": [[0.8, 0.2], [0.8, 0.2]], "good": [[0.1, 0.9], [0.1, 0.9]], "unfair": [[0.0, 1.0], [0.9, 0.1]]}
    problem = Problem(
        name="plain",
        variables=network.variables,
        graph=network.edges(),
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.15,
        arms=[Arm(name, table("V", ["S"], arm)) for name, arm in rows.items()],
        shares=(0.5, 0.5),
    )
    world = NetworkWorld(problem, network)
    wrong = []
    for pulls in (20, 2_000):
        state, _, _, _ = replicate(make_procedure(name, problem, pulls), world, 40, np.random.default_rng(0), 0)
        wrong.append(np.mean(state.answer != 1))
    assert wrong[1] <= 0.05
    assert wrong[1] < wrong[0]
