"""The truth of a world cell by cell, and the fewest pulls it allows, against enumeration and closed forms."""

from __future__ import annotations

import dataclasses
import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import oracle
from fairarm.algorithms import make_procedure
from fairarm.cli import documents
from fairarm.core.fairness import best_fair_arm
from fairarm.errors import OptionError, ProblemError
from fairarm.experiments.limit import find_limit, known_cells, least_error
from fairarm.experiments.simulate import replicate
from fairarm.problem.constraint import Constraint
from fairarm.problem.mechanism import Arm, table
from fairarm.problem.network import Network
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.variables import Variable
from fairarm.reports.words.problems import limit_text
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
    procedure = make_procedure("pool", problem, pulls)
    answers = replicate(procedure, worlds, 400, np.random.default_rng(1), 1).info.standing.likeliest()
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


# ---- three groups, and other questions than one gap ----

W1_ARMS = {"first": (0.5, 0.6, 0.8), "second": (0.4, 0.4, 0.5)}
SPREAD = (0.4 + math.sqrt(0.21)) ** 2
"""min over q of σ_0²/q_0 + σ_1²/q_1 of cells with the means 0.2 and 0.7, in the best shares."""


def three_groups(
    *constraints: Constraint, values: tuple[float, float] = (0, 1), **more: Any
) -> tuple[Problem, NetworkWorld]:
    """S in {a, b, c} -> V -> Y, E[Y | V] = 0.2 and 0.7 of the range, P(V = 1 | S) by arm."""
    tables = {name: [[1 - p, p] for p in rule] for name, rule in W1_ARMS.items()}
    given: dict[str, Any] = {"shares": [0.5, 0.3, 0.2], "outcome": Outcome("Y", values=values)}
    problem = Problem(
        name="three", variables=[Variable("S", ("a", "b", "c")), Variable("V", ("0", "1")), Variable("Y", ("0", "1"))],
        graph=[("S", "V"), ("V", "Y")], sensitive="S", decision="V", constraints=constraints,
        arms=[Arm(name, table("V", ["S"], rows)) for name, rows in tables.items()], **{**given, **more},
    )  # fmt: skip
    laws = [
        table("S", [], [0.5, 0.3, 0.2]),
        table("V", ["S"], tables["first"]),
        table("Y", ["V"], [[0.8, 0.2], [0.3, 0.7]]),
    ]
    return problem, NetworkWorld(problem, Network.of(problem.variables.values(), laws))


def test_three_groups_by_hand() -> None:
    """Pairs within 0.12: a - c of the first arm is -0.3 (θ_1 − θ_0) = −0.15, and 0.1 less of θ_1 − θ_0 would make it fair and best."""
    problem, world = three_groups(Constraint(compare="pairs", tolerance=0.12))
    found = find_limit(problem, world)
    assert found.form == "normal approximation" and found.best == 1 and found.shares.shape == (4, 2)
    assert found.pulls == pytest.approx(2 * SPREAD / 0.1**2, rel=1e-3)
    assert [
        (problem.arm_names[a.arm], a.kind, problem.rows[a.row].name) for a in found.binding if a.row is not None
    ] == [("first", "becomes fair", "a - c")]
    shown = documents._limit(problem, found)
    assert shown is not None and shown["binding"] == [
        {"arm": "first", "kind": "becomes fair", "row": "a - c", "weight": 1.0}
    ]
    assert shown["shares"].keys() == {"natural", "a", "b", "c"}
    assert "Hardest to exclude: first, becomes fair (a - c)." in limit_text(problem, found, "pulls")


def test_units_of_the_outcome_do_not_matter_to_the_limit_but_to_a_ratio() -> None:
    """Y = 10 + 10 Y': tolerances grow tenfold, and the ratio of 0.8 that the first arm breaks is met, 14.5 / 16."""
    gap = Constraint(compare="pairs", tolerance=0.12), Constraint(compare="pairs", tolerance=1.2)
    plain, moved = (find_limit(*three_groups(c, values=v)) for c, v in zip(gap, ((0, 1), (10, 20)), strict=True))
    assert moved.pulls == pytest.approx(plain.pulls, rel=2e-4) and moved.best == plain.best
    rule = Constraint(compare="pairs", ratio=0.8)
    assert find_limit(*three_groups(rule)).best == 1 and find_limit(*three_groups(rule, values=(10, 20))).best == 0


def test_several_questions_at_once() -> None:
    """Any gap below 0.2 and every group above 0.42: a's mean of the first arm, 0.45, is the nearest; 0.03 less in 0.5 θ_0 + 0.5 θ_1."""
    asked = Constraint(compare="pairs", tolerance=0.2), Constraint(compare="floor", at_least=0.42)
    problem, world = three_groups(*asked)
    found = find_limit(problem, world)
    assert found.best == 0 and found.pulls == pytest.approx(0.5 * SPREAD / 0.03**2, rel=1e-3)
    assert [problem.rows[a.row].name for a in found.binding if a.row is not None] == ["a"]


def test_two_groups_with_another_question_than_one_gap() -> None:
    """One-sided: b may not be below a by 0.1 or more. The gap is -0.15 of 0.3 (θ_1 − θ_0): unfair by 0.05, by hand as above."""
    problem = Problem(
        name="two", variables=[Variable("S", ("a", "b")), Variable("V", ("0", "1")), Variable("Y", ("0", "1"))],
        graph=[("S", "V"), ("V", "Y")], sensitive="S", decision="V", outcome=Outcome("Y", values=(0, 1)),
        constraints=[Constraint(compare="reference", reference="a", tolerance=0.1, direction="not_below")],
        arms=[Arm("only", table("V", ["S"], [[0.3, 0.7], [0.6, 0.4]]))], shares=[0.5, 0.5],
    )  # fmt: skip
    laws = [
        table("S", [], [0.5, 0.5]),
        table("V", ["S"], [[0.3, 0.7], [0.6, 0.4]]),
        table("Y", ["V"], [[0.8, 0.2], [0.3, 0.7]]),
    ]
    found = find_limit(problem, NetworkWorld(problem, Network.of(problem.variables.values(), laws)))
    assert found.form == "normal approximation" and found.best is None
    assert found.pulls == pytest.approx(2 * SPREAD / (0.05 / 0.3) ** 2, rel=1e-3)


@pytest.mark.parametrize(
    "asked", [Constraint(compare="pairs", tolerance=0.12), Constraint(compare="floor", at_least=0.4)]
)
def test_without_a_pull_the_least_error_is_that_of_the_commonest_answer(asked: Constraint) -> None:
    """Every θ of the law by hand: θ_0, θ_1 in {0.05, 0.5, 0.95}, nine truths alike. With equal cells both arms are as good and
    rounding decides, so that there are two such numbers.
    """
    problem, world = three_groups(asked)
    expected = []
    for order in (list(W1_ARMS), list(W1_ARMS)[::-1]):
        answers = []
        for first, second in product(MEANS, MEANS):
            by_arm = {name: [(1 - p) * first + p * second for p in rule] for name, rule in W1_ARMS.items()}
            if asked.compare == "pairs":
                fair = [name for name in order if max(by_arm[name]) - min(by_arm[name]) < 0.12]
            else:
                fair = [name for name in order if min(by_arm[name]) > 0.4]
            outcome = {
                name: round(sum(s * m for s, m in zip((0.5, 0.3, 0.2), by_arm[name], strict=True)), 9) for name in fair
            }
            answers.append(max(fair, key=lambda name: outcome[name], default=None))  # the first of equal ones
        expected.append(1 - max(answers.count(answer) for answer in answers) / 9)
    found = least_error(problem, world, pulls=0, means=MEANS, truths=40).error
    assert min(expected) - 0.02 < found < max(expected) + 0.02  # a share of 40 · 400 draws, four standard errors
    assert least_error(problem, world, pulls=2000, means=MEANS, truths=40).error < 0.02


def test_a_row_left_out_would_change_the_least_error() -> None:
    """The floor and the gaps together leave other arms than each alone."""
    gaps, floor = Constraint(compare="pairs", tolerance=0.12), Constraint(compare="floor", at_least=0.4)
    errors = {
        tuple(c.compare for c in asked): least_error(*three_groups(*asked), pulls=3, means=MEANS, truths=60).error
        for asked in ((gaps,), (floor,), (gaps, floor))
    }
    assert len({round(error, 3) for error in errors.values()}) == 3, errors
