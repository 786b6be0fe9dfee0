"""What every result has: the problem that it answers, so that nobody has to keep the two together."""

from __future__ import annotations

from typing import Any

import pytest

from fairarm import evaluate, identify, inspect, load_problem, plan, simulate

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
