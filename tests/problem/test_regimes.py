"""Regimes that are offered, what a pull costs in each, and that nothing plans, takes or is told one that is not offered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fairarm import NetworkWorld, Problem, algorithm, batch, evaluate, identify, load_problem, plan, simulate
from fairarm.algorithms import DESCRIPTIONS
from fairarm.core.affordable import affordable_mix
from fairarm.errors import DataError, OptionError, ProblemError
from fairarm.experiments.limit import find_limit
from fairarm.problem.log_map import LogMap
from fairarm.problem.pulls import Request
from fairarm.problem.regimes import (
    arm_costs,
    held_costs,
    held_forced,
    held_kind,
    offered_regimes,
    values_of_regime,
)

GROUPS = ("a", "b", "c")
NEED_FORCED = ("csr-v1", "csr-v2", "two-stage-v1", "two-stage-v2", "mis")


def coin(**given: Any) -> Problem:
    return replace(load_problem("coin").problem, **{"costs": (), **given})


def world(problem: Problem) -> NetworkWorld:
    known = load_problem("coin").world
    assert isinstance(known, NetworkWorld)
    return NetworkWorld(problem, known.network)


# ---- costs by name ----


@pytest.mark.parametrize(
    ("given", "forced", "expected"),
    [
        (2, GROUPS, (2, 2, 2, 2)),
        ((1, 2, 3, 4), GROUPS, (1, 2, 3, 4)),
        ({"natural": 1, "forced": 2}, GROUPS, (1, 2, 2, 2)),
        ({"natural": 1, "forced": 2, "b": 3}, GROUPS, (1, 2, 3, 2)),
        ({"natural": 1, "a": 2, "b": 3, "c": 4}, GROUPS, (1, 2, 3, 4)),
        ({"natural": 1, "b": 3}, ("b",), (1, np.inf, 3, np.inf)),
        ({"natural": 1}, (), (1, np.inf, np.inf, np.inf)),
    ],
)
def test_costs_of_an_arm_in_every_form(given: Any, forced: tuple[str, ...], expected: tuple[float, ...]) -> None:
    found = held_costs([given], GROUPS, ("x",), forced)
    assert found == (tuple(c if i == 0 or GROUPS[i - 1] in forced else np.inf for i, c in enumerate(expected)),)


def test_forced_is_a_group_where_one_is_called_so() -> None:
    groups = ("forced", "free")
    assert arm_costs({"natural": 1, "forced": 2, "free": 3}, groups, groups) == (1, 2, 3)
    with pytest.raises(ProblemError, match="no cost for the regime 'free'"):
        arm_costs({"natural": 1, "forced": 2}, groups, groups)


@pytest.mark.parametrize(
    ("given", "forced", "message"),
    [
        ({"natural": 1, "a": 1, "b": 1}, GROUPS, "no cost for the regime 'c': needs one number for each regime"),
        ({"forced": 1}, GROUPS, "no cost for the regime 'natural'"),
        ({"natural": 1, "q": 1}, GROUPS, "There is no regime 'q'. Regimes: natural, a, b, c"),
        ({"natural": 1, "forced": 1, "c": 1}, ("a",), "a cost for the regime 'c', which is not offered"),
        ((1, 2), GROUPS, "one number per regime"),
        ("cheap", GROUPS, "The costs of an arm are numbers"),
        ((1, 2, 3, np.inf), GROUPS, "no finite cost for the regime 'c', which is offered"),
        ((1, 2, 3, -1), GROUPS, "A cost is a finite number from 0"),
        ((1, 2, 3, np.nan), GROUPS, "A cost is a finite number from 0"),
    ],
)
def test_costs_that_do_not_cover_the_regimes_are_refused(given: Any, forced: tuple[str, ...], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        held_costs([given], GROUPS, ("x",), forced)


# ---- what is offered ----


def test_forced_regimes_follow_the_groups() -> None:
    assert held_forced(None, GROUPS) == GROUPS and held_forced([], GROUPS) == ()
    assert held_forced(["c", "a"], GROUPS) == ("a", "c")
    turned = held_forced(held_forced(["a"], GROUPS), ("c", "b", "a"))
    assert turned == ("a",) and turned.groups == ("c", "b", "a")
    assert held_forced(held_forced(None, GROUPS), ("x", "y")) == ("x", "y")
    with pytest.raises(ProblemError, match="name 'a'"):
        held_forced(held_forced(["a"], GROUPS), ("x", "y"))
    with pytest.raises(ProblemError, match="a list of groups; got 'a'"):
        held_forced("a", GROUPS)
    with pytest.raises(ProblemError, match="'natural' is always offered"):
        held_forced(["natural"], GROUPS)


BOTH = {"region": ("north", "south"), "race": ("a", "b", "c")}
SINGLES = ("region=north", "region=south", "race=a", "race=b", "race=c")


def test_forced_regimes_of_several_attributes() -> None:
    assert offered_regimes(None, BOTH) == SINGLES and offered_regimes([], BOTH) == ()
    named = offered_regimes(["race=b", "region=north,race=b"], BOTH)
    assert named == ("race=b", "region=north,race=b") and named.groups == SINGLES  # in the order that is given
    assert values_of_regime("region=north,race=b", BOTH) == {"region": "north", "race": "b"}
    assert offered_regimes(named, BOTH) == named
    assert offered_regimes(None, {"race": ("c", "a")}) == ("c", "a")
    fewer = {"region": ("north", "south"), "race": ("b", "a")}
    assert offered_regimes(offered_regimes(None, BOTH), fewer) == (*SINGLES[:2], "race=b", "race=a")
    assert offered_regimes(named, fewer) == named
    assert offered_regimes(held_forced(None, GROUPS), BOTH) == SINGLES


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("race=b", "a list of names such as 'region=north'; got 'race=b'"),
        (["b"], "There is no regime 'b'. A forced regime names a state of one or more of the attributes region, race"),
        (["race=d"], "no regime 'race=d'"),
        (["sex=f"], "no regime 'sex=f'"),
        (["race=a,race=b"], "no regime 'race=a,race=b'"),
        ([""], "no regime ''"),
        (["natural"], "'natural' is always offered"),
        (["race=b,region=north"], "is written 'region=north,race=b', in the order of the attributes"),
        (["race=b", "race=b"], "'race=b' is named twice"),
        (["race=b"] * 1025, "1025 forced regimes; at most 1024 are offered"),
    ],
)
def test_no_regimes_of_several_attributes(given: Any, expected: str) -> None:
    with pytest.raises(ProblemError, match=expected):
        offered_regimes(given, BOTH)


def test_how_pulls_are_forced() -> None:
    assert [held_kind(kind) for kind in ("recruited", "set")] == ["recruited", "set"]
    with pytest.raises(ProblemError, match=r"regime_kind is .found.\. It is one of: recruited, set"):
        held_kind("found")


def test_costs_follow_the_regimes_by_name() -> None:
    held = held_costs([{"natural": 1, "forced": 2, "race=b": 3}], SINGLES, ("x",), SINGLES)
    assert held == ((1, 2, 2, 2, 3, 2),)
    assert held_costs(held, ("race=b", "region=north"), ("x",), ("race=b", "region=north")) == ((1, 3, 2),)
    with pytest.raises(ProblemError, match=r"the groups are now \['region=north,race=b'\]. Give costs as well"):
        held_costs(held, ("region=north,race=b",), ("x",), ("region=north,race=b",))
    alike = held_costs([{"natural": 1, "forced": 2}], SINGLES, ("x",), SINGLES)
    assert held_costs(alike, ("region=north,race=b",), ("x",), ("region=north,race=b",)) == ((1, 2),)


def test_a_problem_that_offers_fewer_regimes() -> None:
    problem = coin(forced=["b"])
    assert problem.regimes == ("natural", "a", "b") and problem.forced == ("b",)
    assert np.isinf(problem.compiled.cost_array).tolist() == [[False] * 2, [True] * 2, [False] * 2]
    assert problem.compiled.cost_of(np.array([[3, 1], [0, 0], [2, 0]])) == 6.0
    assert replace(problem, groups=("b", "a")).costs == ((1, 1, np.inf),) * 2
    with pytest.raises(ProblemError, match=r"no finite cost for the regime 'a', which is offered. Give costs as well"):
        replace(problem, forced=None)
    assert replace(problem, forced=None, costs=()) == coin()
    assert "inf" not in str(problem) and "inf" not in problem._repr_html_()


@pytest.mark.parametrize("budget", [None, 1.5])
@pytest.mark.parametrize("forced", [(), ("b",)])
@pytest.mark.parametrize("name", sorted(DESCRIPTIONS))
def test_no_algorithm_plans_a_regime_that_is_not_offered(
    name: str, forced: tuple[str, ...], budget: float | None
) -> None:
    """It keeps to what is offered, or refuses before the first pull and says what to do."""
    costs = [{"natural": 1, "forced": 2}, {"natural": 2, "forced": 3}]
    problem = coin(forced=forced, budget=budget, costs=costs)
    if name in NEED_FORCED:
        with pytest.raises(OptionError, match=r"the regime 'a' is not offered|the regime 'b' is not offered") as caught:
            algorithm(name, problem, pulls=60)
        assert "Use pool" in str(caught.value)
        return
    run, rng, made = algorithm(name, problem, pulls=60), np.random.default_rng(0), 0
    while not run.finished:
        asked = run.ask()
        assert not asked.counts[np.isinf(problem.compiled.cost_array)].any()
        run.tell(world(problem).pull(asked, rng), id=str(run.phase))
        made += asked.total
    assert made == 60 and run.verdict()
    spent = float(problem.compiled.cost_of(run.pulls_made()))
    assert budget is None or spent <= 60 * budget + 1e-6


@pytest.mark.parametrize("options", [{"stop": "certified"}, {"stop": "bayes-stop"}])
def test_a_run_with_a_confidence_keeps_to_it(options: dict[str, Any]) -> None:
    problem = coin(forced=())
    found = identify(problem, world(problem), pulls=3000, seed=0, confidence=0.9, **options)
    assert found.verdict.finished and found.pulls <= 3000


def test_every_experiment_keeps_to_it() -> None:
    problem = coin(forced=("b",), costs=[1, 2])
    assert simulate(problem, world(problem), algorithms=["pool", "uniform"], pulls=[60], runs=4).results
    planned = plan(problem, truths=6, most_pulls=64)
    assert all(unit.regime != "a" for option in planned.options for unit in option.units)
    rng = np.random.default_rng(0)
    rows = world(problem).pull(Request(problem.arm_names, problem.regimes, np.array([[300, 300], [0, 0], [0, 0]])), rng)
    found = evaluate(problem, rows.labels(problem), columns=LogMap(arm="arm", regime="regime", count="count"))
    assert all(line.regime != "a" for line in found.next_pulls)
    for pulls in (None, 100):
        limits = [find_limit(each, world(each), pulls=pulls) for each in (problem, coin(costs=[1, 2]))]
        assert limits[0].pulls >= limits[1].pulls * (1 - 1e-4) and np.all(limits[0].shares[1] == 0)


def test_rows_of_a_regime_that_is_not_offered_are_refused() -> None:
    problem = coin(forced=("b",))
    rows = {
        "arm": [problem.arm_names[0]],
        "regime": ["a"],
        **{n: [(problem.variables[n].states or ())[0]] for n in problem.observed},
    }
    with pytest.raises(
        DataError, match=r"rows of the regime 'a', which the problem does not offer. Regimes: natural, b"
    ):
        batch(problem, rows)
    run = algorithm("pool", problem, pulls=20)
    full = coin()
    with pytest.raises(DataError, match="does not offer"):
        run.tell(
            world(full).pull(
                Request(full.arm_names, full.regimes, np.array([[0, 0], [3, 0], [0, 0]])), np.random.default_rng(0)
            ),
            id="1",
        )


def test_rows_of_a_log_in_such_a_regime_are_left_out_and_counted() -> None:
    problem = coin(forced=("b",))
    rng = np.random.default_rng(1)
    full = coin()
    rows = world(full).pull(Request(full.arm_names, full.regimes, np.array([[200, 200], [30, 0], [0, 20]])), rng)
    found = evaluate(problem, rows.labels(full), columns=LogMap(arm="arm", regime="regime", count="count"))
    left = {finding.name: finding for finding in found.findings}
    assert "regimes-not-offered" in left and left["regimes-not-offered"].blocks_certification


def test_a_unit_without_a_price_is_never_in_a_mix() -> None:
    gain, costs = np.array([[1.0, 5.0, 9.0]]), np.array([1.0, 2.0, np.inf])
    for average in (1.0, 1.5, 10.0, np.inf):
        assert affordable_mix(gain, costs, np.array([average]))[0, 2] == 0
