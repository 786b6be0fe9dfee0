"""The truth of a world cell by cell, and the fewest pulls it allows, against enumeration and closed forms."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import oracle
from fairarm.algorithms import make_procedure
from fairarm.core.fairness import best_fair_arm
from fairarm.errors import OptionError, ProblemError
from fairarm.experiments.limit import find_limit, known_cells, least_error
from fairarm.experiments.simulate import replicate
from fairarm.problem.mechanism import Arm, table
from fairarm.problem.network import Network
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.variables import Variable
from fairarm.worlds import FunctionWorld, NetworkWorld, context_law
from fairarm.worlds.cells import CellWorlds
from four_arms import chain, world

SEEDS = range(150)


@pytest.mark.parametrize("missing", [False, True])
def test_cells_of_random_networks(missing: bool) -> None:
    """Law, E[Y' | c] and Var(Y' | c) by enumeration; also where a child's mechanism is not declared."""
    done = {"S -> Y": 0, "three outcome states": 0, "zeros": 0, "context": 0, "groups reversed": 0}
    for seed in SEEDS:
        case = oracle.random_case(seed)
        problem, network = oracle.as_fairarm(case)
        children = sorted(oracle.relevant_children(case) - {case.outcome})
        if missing and not children:
            continue
        if missing:
            kept = [m for name, m in problem.mechanisms.items() if name != children[0]]
            problem = dataclasses.replace(problem, mechanisms=kept)
        elif "context" in oracle.features(case):
            problem = dataclasses.replace(problem, context=context_law(network, problem))
        found = known_cells(problem, NetworkWorld(problem, network))
        mean, variance = oracle.cell_outcomes(case)
        reached = ~np.isnan(mean)
        np.testing.assert_allclose(found.law, oracle.cell_law(case), atol=1e-12, err_msg=str(seed))
        np.testing.assert_allclose(found.theta[reached], mean[reached], atol=1e-9, err_msg=str(seed))
        np.testing.assert_allclose(found.variance[reached], variance[reached], atol=1e-9, err_msg=str(seed))
        assert np.all(found.variance >= 0)
        assert np.isfinite(found.theta).all()
        np.testing.assert_allclose(found.shares, oracle.shares(case))
        outcomes, _, gaps = oracle.truth(case)
        width = case.high - case.low
        by_group = found.law @ found.theta
        np.testing.assert_allclose(by_group @ found.shares, (outcomes - case.low) / width, atol=1e-9)
        np.testing.assert_allclose(by_group[:, 0] - by_group[:, 1], gaps / width, atol=1e-9)
        for name in done:
            done[name] += name in oracle.features(case)
    assert min(done.values()) >= 5, done


# ---- two arms, two cells ----

COINS = (0.3, 0.8)
DICE = ((0.5, 0.3, 0.2), (0.2, 0.2, 0.6))
"""P(Y) where V = 0 and where V = 1, with two states of Y and with three."""


def two_arms(values: tuple[float, ...] = (-1, 4), **changes: Any) -> Problem:
    """Arm "low" always gives V = 0, "high" always V = 1, whatever the group: no arm can be unfair."""
    states = tuple(str(y) for y in range(len(values)))
    parts: dict[str, Any] = {
        "name": "two arms",
        "variables": [Variable("S", ("a", "b")), Variable("V", ("0", "1")), Variable("Y", states)],
        "graph": [("S", "V"), ("V", "Y")],
        "sensitive": "S",
        "decision": "V",
        "outcome": Outcome("Y", values=values, low=-6, high=5),
        "tolerance": 0.3,
        "arms": [Arm("low", table("V", [], [1.0, 0.0])), Arm("high", table("V", [], [0.0, 1.0]))],
        "shares": (0.5, 0.5),
        "costs": [[0, 0, 0], [1, 1, 1]],
        "budget": "1/sqrt(pulls)",
        **changes,
    }
    return Problem(**parts)


def with_outcomes(problem: Problem, rows: Any, parents: tuple[str, ...] = ("V",)) -> NetworkWorld:
    half = [0.5, 0.5]
    tables = [table("S", [], half), table("V", [], half), table("Y", parents, rows)]
    return NetworkWorld(problem, Network.of(problem.variables.values(), tables))


def coins() -> tuple[Problem, NetworkWorld]:
    problem = two_arms()
    return problem, with_outcomes(problem, [[1 - p, p] for p in COINS])


def dice() -> tuple[Problem, NetworkWorld]:
    problem = two_arms(values=(-1, 1, 4))
    return problem, with_outcomes(problem, DICE)


def kl(p: float, x: float) -> float:
    return p * math.log(p / x) + (1 - p) * math.log((1 - p) / (1 - x))


def coin_rate(share: float, low: float, high: float, apart: float = 0.0) -> float:
    """min over x of (1 − share) kl(low, x) + share kl(high, x + apart): the nearest truth with the other answer."""
    found = minimize_scalar(
        lambda x: (1 - share) * kl(low, x) + share * kl(high, x + apart),
        bounds=(low, high - apart),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return float(found.fun)


def best_coin_share(low: float, high: float, apart: float = 0.0, most: float = 1.0) -> tuple[float, float]:
    """The share of pulls of ``high`` with the highest rate, at most ``most``, and the pulls T*."""
    found = minimize_scalar(
        lambda share: -coin_rate(share, low, high, apart), bounds=(0, 1), method="bounded", options={"xatol": 1e-9}
    )
    share = min(float(found.x), most)
    return share, 1 / coin_rate(share, low, high, apart)


def test_two_coins_without_costs() -> None:
    """Two states: the exact rate, whatever the numbers of the states and the range of the outcome."""
    found = find_limit(*coins())
    share, pulls = best_coin_share(*COINS)
    assert found.best == 1
    assert found.pulls == pytest.approx(pulls, rel=1e-3)
    assert found.shares[:, 1].sum() == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize("pulls", [4, 100, 10_000])
def test_two_coins_with_costs(pulls: int) -> None:
    """ "high" costs 1, and may be at most 1/√T of the pulls."""
    found = find_limit(*coins(), pulls=pulls)
    share, expected = best_coin_share(*COINS, most=1 / math.sqrt(pulls))
    assert found.pulls == pytest.approx(expected, rel=1e-3)
    assert found.shares[:, 1].sum() <= 1 / math.sqrt(pulls) + 1e-9
    assert found.shares[:, 1].sum() == pytest.approx(share, rel=0.03)


@pytest.mark.parametrize("pulls", [None, 4, 100, 10_000])
def test_two_dice(pulls: int | None) -> None:
    """Three states: T* = 2 (σ_0²/(1 − x) + σ_1²/x) / Δ² at the best share x ≤ 1/√T of "high", or 2 (σ_0 + σ_1)² / Δ²."""
    found = find_limit(*dice(), pulls=pulls)
    values = (-1.0, 1.0, 4.0)
    means = [sum(p * y for p, y in zip(row, values, strict=True)) for row in DICE]
    low, high = (
        sum(p * (y - mean) ** 2 for p, y in zip(row, values, strict=True))
        for row, mean in zip(DICE, means, strict=True)
    )
    share = math.sqrt(high) / (math.sqrt(low) + math.sqrt(high))
    share = share if pulls is None else min(share, 1 / math.sqrt(pulls))
    expected = 2 * (low / (1 - share) + high / share) / (means[1] - means[0]) ** 2
    assert found.best == 1
    assert found.pulls == pytest.approx(expected, rel=2e-4)
    assert found.shares[:, 1].sum() == pytest.approx(share, rel=0.03)


def test_pulls_needed_for_a_confidence() -> None:
    found = find_limit(*dice())
    assert found.pulls_needed(0.05) == pytest.approx(found.pulls * 0.9 * math.log(19))


def test_one_unfair_arm_where_the_group_acts_on_the_outcome_itself() -> None:
    """S → Y: P(Y = 1) is 0.8 for a and 0.3 for b, a gap of 0.5 · 5; it would have to fall to 1.5, three tenths of 5."""
    problem = two_arms(
        graph=[("S", "Y"), ("V", "Y")], arms=[Arm("half", table("V", [], [0.5, 0.5]))], tolerance=1.5, costs=[[1, 1, 1]]
    )
    pulled = with_outcomes(problem, [[[0.2, 0.8]] * 2, [[0.7, 0.3]] * 2], ("S", "V"))
    found = find_limit(problem, pulled)
    _, pulls = best_coin_share(0.3, 0.8, apart=0.3)
    assert found.best is None
    assert found.pulls == pytest.approx(pulls, rel=1e-3)


def test_worlds_that_do_not_know_their_cells() -> None:
    problem = two_arms()
    with pytest.raises(ProblemError, match="Bayesian network"):
        find_limit(problem, FunctionWorld(problem, lambda *_: {}))
    with pytest.raises(ProblemError):
        find_limit(problem, None)


# ---- a fixed number of pulls ----

MEANS = (0.05, 0.5, 0.95)


@pytest.mark.parametrize(("pulls", "budget"), [(10, None), (40, None), (40, 0.25)])
def test_pool_is_not_better_than_the_least_error_on_truths_of_its_law(pulls: int, budget: float | None) -> None:
    """Of 400 truths each; a right limit fails this once in 10 000."""
    problem = chain(costs=[(0, 0, 0), (1, 1, 1), (2, 2, 2), (1, 2, 2)], budget=budget)
    least = least_error(problem, world(problem), pulls=pulls, means=MEANS, seed=pulls)
    theta = np.random.default_rng(pulls).choice(MEANS, (400, 3))
    law = np.repeat(np.stack([1 - theta, theta], axis=2)[:, None], 2, axis=1)
    cells = known_cells(problem, world(problem))
    worlds = CellWorlds(problem, cells.law, law, cells.shares)
    natural = np.einsum("t,ktc->kc", cells.shares, cells.law)
    # with all cells alike every arm is as good: rounding decides, the same way in both
    right = best_fair_arm(theta @ natural.T, theta @ (cells.law[:, 0] - cells.law[:, 1]).T, problem.gap_tolerance)
    procedure = make_procedure("pool", problem, pulls, min_fair_probability=0)
    answers = replicate(procedure, worlds, 400, np.random.default_rng(1), 1).state.answer
    error = np.mean(answers != right)
    assert error >= least.error - 3.7 * np.hypot(least.standard_error, np.sqrt(error * (1 - error) / 400))
    assert 0 < least.error < 1


def test_dearer_pulls_and_fewer_of_them_add_to_the_least_error() -> None:
    free, dear = (chain(costs=[(0, 0, 0), *[(1, 1, 1)] * 3], budget=budget) for budget in (None, 0.0))
    errors = [least_error(each, world(each), pulls=30, means=MEANS).error for each in (free, dear)]
    assert errors[0] < errors[1]


def test_the_least_error_needs_means_inside_and_an_outcome_of_two_states() -> None:
    problem = chain()
    for means in ((), (0.0, 0.5), (0.5, 1.2)):
        with pytest.raises(OptionError, match="between 0 and 1"):
            least_error(problem, world(problem), pulls=5, means=means)
    three = chain(
        variables=[Variable("S", ("a", "b")), Variable("V", ("0", "1", "2")), Variable("Y", ("0", "1", "2"))],
        outcome=Outcome("Y", values=(0, 1, 2)),
    )
    with pytest.raises(ProblemError, match="two states"):
        least_error(three, None, pulls=5, means=MEANS)
