"""Pairs of groups: which are compared, by which worlds, and what is not known is null."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import worked_examples as examples
import worlds_models
import worlds_truth
from fairarm import Constraint, NetworkWorld, evaluate, inspect, load_problem
from fairarm.errors import ProblemError
from fairarm.experiments.pairs import Pair, PairGap, compared_profiles, pair_readings, world_pairs
from fairarm.problem.problem import Problem
from fairarm.problem.worlds import World
from logs_of_worlds import WHERE, log_of
from worlds_fairarm import as_fairarm


def asked(model: examples.Model, *constraints: Constraint) -> Problem:
    return as_fairarm(model, constraints=constraints, tolerance=None)[0]


PAIR = Pair(*(World((("S", name),)) for name in ("asked", "total", "direct", "own", "other")))


def test_parts_sum_to_the_plain_gap_by_hand() -> None:
    """μ(u|u) = 1, μ(t|t) = 5, μ(t|u) = 3, μ(t,u,M) = 2: gap 2, plain 4 = 1 − (−1) − (−2)."""
    by_world = dict(zip(PAIR.worlds, map(np.array, ([3.0], [3.0], [2.0], [1.0], [5.0])), strict=True))
    assert PAIR.gaps(by_world) == [PairGap(gap=2.0, plain=4.0, direct=1.0, indirect=-1.0, spurious=-2.0)]


def test_what_is_not_known_is_null_and_estimates_count_from_people_as_they_are() -> None:
    """(u|u) is 1 by what is known and 0.5 by estimates, which have the direct world 0.75 above it."""
    known = {PAIR.asked: np.array([3.0]), PAIR.total: np.array([3.0]), PAIR.own: np.array([1.0])}
    assert PAIR.gaps(known) == [PairGap(2.0, None, None, None, None)]
    estimates = {PAIR.own: np.array([0.5]), PAIR.direct: np.array([1.25])}
    assert PAIR.gaps(known, estimates) == [PairGap(2.0, None, 0.75, -1.25, None)]


def test_worlds_of_a_pair() -> None:
    pair = world_pairs(asked(examples.w3(), Constraint(tolerance=0.1, keep=["R"])))["s1|s0"]
    to, people = (("S", "s1"),), (("S", "s0"),)
    assert pair.asked == World(to, people, ("R",)) == pair.direct  # R is the only mediator before the decision
    assert (pair.total, pair.own, pair.other) == (World(to), World(people), World(to))  # nothing causes S


def test_both_orders_of_every_compared_pair_keyed_by_regimes() -> None:
    one = asked(examples.w2(), Constraint(tolerance=0.1, compare="reference", reference="s0"))
    assert set(compared_profiles(one)) == {"s0|s1", "s1|s0"}
    joint = asked(examples.w4(), Constraint(tolerance=0.1, attributes=["region", "race"]))
    assert len(
        compared_profiles(joint)
    ) == 12 and "region=region0,race=race1|region=region1,race=race0" in compared_profiles(joint)
    assert not compared_profiles(asked(examples.w4(), Constraint(tolerance=0.1, attribute="race", compare="mean")))


def test_the_first_question_about_a_pair_says_what_is_kept() -> None:
    keep, total = Constraint(tolerance=0.1, keep=["R"]), Constraint(tolerance=0.3)
    kept = [world_pairs(asked(examples.w3(), *order))["s1|s0"].asked.keep for order in ((keep, total), (total, keep))]
    assert kept == [("R",), ()]


def test_worlds_that_rows_cannot_tell_have_no_reading() -> None:
    """S → R → Q → V and S → Q: with R kept and the mechanism of Q not declared, rows of one group do not stand for the other's. The question
    itself keeps both."""
    nodes = {
        "S": examples.chance((), lambda: 0.5),
        "R": examples.chance(("S",), lambda s: (0.3, 0.7)[s]),
        "Q": examples.chance(("S", "R"), lambda s, r: 0.2 + 0.2 * s + 0.3 * r),
        "Y": examples.SAME_AS_DECISION,
    }
    model = examples.model(
        "two", "S R Q V Y", nodes, [examples.chance(("S", "Q"), lambda s, q: 0.2 + 0.1 * s + 0.4 * q)], "S"
    )
    both = as_fairarm(model, constraints=[Constraint(tolerance=0.1, keep=["R", "Q"])], tolerance=None, mechanisms=())[0]
    pair = world_pairs(both)["s1|s0"]
    assert {*pair_readings(both, [pair])} == {pair.asked, pair.total, pair.own, pair.other}
    some = replace(pair, direct=replace(pair.direct, keep=("R",)))
    assert some.direct not in pair_readings(both, [some])


# ---- plain problems ----


def test_parts_of_plain_problems_against_structural_models() -> None:
    """Random networks with one root attribute, nothing kept: every part of every pair and arm, by running everyone twice."""
    checked, with_both = 0, 0
    for seed in range(250):
        model = worlds_models.random_model(seed)
        if len(model.attributes) > 1:
            continue
        try:
            problem, network = as_fairarm(model, tolerance=0.1 * model.width)
            found = inspect(problem, NetworkWorld(problem, network))
        except ProblemError:
            continue
        if not problem.plain:
            continue
        name = problem.attribute
        for k in range(len(model.arms)):
            for pair, gap in found.pairs(k).items():
                t, u = (problem.variables[name].code(group) for group in pair.split("|"))
                truth = worlds_truth.effects(model, k, name, t, u)
                assert (gap.gap, gap.plain, gap.spurious) == pytest.approx((truth.total, truth.plain, 0.0), abs=1e-9)
                if gap.direct is not None:
                    checked += 1
                    assert (gap.direct, gap.indirect) == pytest.approx((truth.direct, truth.indirect), abs=1e-9), seed
                    with_both += abs(truth.direct) > 1e-6 and abs(truth.indirect) > 1e-6
    assert checked >= 60 and with_both >= 15


def test_parts_of_a_plain_problem_from_a_log() -> None:
    """Berkeley's counts as a law, department open: men as women get 0.142 less, made of 0.071 more within the department and what the
    departments do. Without a mediator all is direct; with missing outcomes a part that goes by mediators is not worked out."""
    problem = as_fairarm(examples.w7(), tolerance=0.05, mechanisms=())[0]
    log = log_of(examples.w7(), 10**10)
    assert problem.plain
    pair = evaluate(problem, log, columns=WHERE).arms[0].pairs["sex0|sex1"]
    told = (pair.gap, pair.plain, pair.direct, pair.indirect, pair.spurious)
    assert told == pytest.approx((-0.141645, -0.141645, 0.070969, 0.212614, 0.0), abs=1e-5)
    holes = {name: [*column, column[0]] for name, column in log.items()}
    holes["Y"][-1] = None
    hidden = evaluate(problem, holes, columns=WHERE).arms[0].pairs["sex0|sex1"]
    assert hidden.direct is None and hidden.indirect is None and hidden.spurious == 0.0
    coin = load_problem("coin")
    alone = inspect(coin.problem, coin.world).pairs(1)["a|b"]
    assert (alone.direct, alone.indirect, alone.spurious) == (alone.gap, 0.0, 0.0)


@pytest.mark.parametrize("groups", [20])
def test_pairs_are_bounded(groups: int) -> None:
    from fairarm import Arm, Outcome, Variable, table

    states = tuple(f"g{i}" for i in range(groups))
    problem = Problem(
        name="many", variables=[Variable("Z", ("0", "1")), Variable("S", states), Variable("V", ("0", "1")), Variable("Y", ("0", "1"))],
        graph=[("Z", "S"), ("S", "V"), ("V", "Y"), ("Z", "Y")], sensitive="S", decision="V", outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.1, arms=[Arm("a", table("V", ["S"], np.full((groups, 2), 0.5)))],
    )  # fmt: skip
    assert len(compared_profiles(problem)) == groups * (groups - 1) == 380
