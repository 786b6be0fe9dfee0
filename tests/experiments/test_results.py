"""What every result has: the problem that it answers, so that nobody has to keep the two together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairarm import (
    FairarmError,
    algorithm,
    evaluate,
    find_limit,
    identify,
    inspect,
    load_problem,
    plan,
    resume,
    simulate,
)
from fairarm.algorithms import make_procedure

COIN = load_problem("coin")
ROWS = {"group": ["a", "b"] * 40, "side": ["heads", "tails", "tails", "heads"] * 20, "result": ["win", "lose"] * 40}


@pytest.mark.parametrize(
    "result",
    [
        lambda: inspect(COIN.problem, COIN.world),
        lambda: evaluate(COIN, ROWS),
        lambda: identify(COIN.problem, COIN.world, pulls=50),
        lambda: identify(COIN.problem, COIN.world, pulls=50).verdict,
        lambda: simulate(COIN.problem, COIN.world, algorithms=["uniform"], pulls=[20], runs=2),
        lambda: plan(COIN.problem, truths=2, most_pulls=32),
    ],
    ids=["inspect", "evaluate", "identify", "verdict", "simulate", "plan"],
)
def test_a_result_holds_its_problem(result: Any) -> None:
    assert result().problem == COIN.problem


@pytest.mark.parametrize(
    "use",
    [
        lambda scenario: inspect(scenario),
        lambda scenario: find_limit(scenario, scenario.world),
        lambda scenario: resume(scenario, algorithm("pool", scenario.problem, pulls=10).to_json()),
        lambda scenario: make_procedure("pool", scenario, 10),
    ],
    ids=["inspect", "find_limit", "resume", "make_procedure"],
)
def test_a_scenario_where_a_problem_is_needed_is_an_error_that_says_so(use: Callable[[Any], object]) -> None:
    with pytest.raises(FairarmError, match=r"pass scenario\.problem"):
        use(load_problem("coin"))
