"""Three small problems that are hard in different ways, each with a world: what an algorithm is checked on."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from fairarm.problem.mechanism import Arm, table
from fairarm.problem.network import Network
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.variables import Variable
from fairarm.worlds import FunctionWorld, NetworkWorld, World, context_law

PROBLEMS = ("chain", "context", "real")

CHAIN_ROWS = {
    "deployed": [[0.5, 0.3, 0.2], [0.4, 0.3, 0.3]],
    "bold": [[0.2, 0.2, 0.6], [0.3, 0.2, 0.5]],
    "never-low": [[0.0, 0.3, 0.7], [0.0, 0.6, 0.4]],
}


def chain_parts(**changes: Any) -> dict[str, Any]:
    """S → V → Y; one arm that never gives V = low, a free deployed arm, the paper's budget."""
    return {
        "name": "chain",
        "variables": [
            Variable("S", ("a", "b")),
            Variable("V", ("low", "mid", "high")),
            Variable("Y", ("bad", "fine", "good")),
        ],
        "graph": [("S", "V"), ("V", "Y")],
        "sensitive": "S",
        "decision": "V",
        "outcome": Outcome("Y", values=(-1, 0, 3)),
        "tolerance": 1.2,
        "arms": [Arm(name, table("V", ["S"], rows)) for name, rows in CHAIN_ROWS.items()],
        "costs": [[0, 0, 0], [1, 2, 2], [1, 1, 1]],
        "budget": "1/sqrt(pulls)",
        "shares": {"a": 0.6, "b": 0.4},
        "deployed": "deployed",
        **changes,
    }


def chain_network() -> Network:
    """A world of the chain."""
    p = Problem(**chain_parts())
    return Network.of(
        p.variables.values(),
        [
            table("S", [], [0.6, 0.4]),
            table("V", ["S"], CHAIN_ROWS["deployed"]),
            table("Y", ["V"], [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]]),
        ],
    )


def context_network() -> Network:
    """A world of the problem with a context."""
    return Network.of(
        [Variable("S", ("a", "b")), *(Variable(n, ("0", "1")) for n in "ZXVY")],
        [
            table("S", [], [0.5, 0.5]),
            table("Z", [], [0.3, 0.7]),
            table("X", ["S"], [[0.8, 0.2], [0.4, 0.6]]),
            table("V", ["Z"], [[0.5, 0.5], [0.5, 0.5]]),
            table("Y", ["X", "V"], [[[0.9, 0.1], [0.6, 0.4]], [[0.5, 0.5], [0.1, 0.9]]]),
        ],
    )


def context_parts(**changes: Any) -> dict[str, Any]:
    """S → X → Y with V between Z and Y; no pull is free, and the groups are named in the other order than the states."""
    network = context_network()
    return {
        "name": "context",
        "variables": network.variables,
        "graph": network.edges(),
        "sensitive": "S",
        "groups": ("b", "a"),
        "decision": "V",
        "outcome": Outcome("Y", values=(0, 1)),
        "tolerance": 0.4,
        "arms": [Arm(f"arm{i}", table("V", ["Z"], [[1 - p, p], [q, 1 - q]])) for i, (p, q) in enumerate([(0.5, 0.5), (0.9, 0.2)])],
        "mechanisms": [network.tables["X"]],
        "costs": [[1, 2, 1], [3, 2, 2]],
        "budget": 1.75,
        "shares": {"a": 0.5, "b": 0.5},
        "deployed": "arm0",
        **changes,
    }  # fmt: skip


def simulate_real(arm: str, regime: str, count: int, rng: np.random.Generator) -> dict[str, Any]:
    """Rows of the problem with a real outcome."""
    S = rng.choice(["a", "b"], count) if regime == "natural" else np.full(count, regime)
    high = np.where(S == "a", *[[0.3, 0.5], [0.6, 0.7]][arm == "new"])
    V = np.where(rng.random(count) < high, "1", "0")
    return {"S": S, "V": V, "Y": np.where(V == "1", 2.0, 0.0) + rng.random(count)}


def real_problem() -> Problem:
    """S → V → Y with a real outcome: rows are kept one by one."""
    return Problem(
        name="real",
        variables=[Variable("S", ("a", "b")), Variable("V", ("0", "1"))],
        graph=[("S", "V"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", low=0, high=3),
        tolerance=1.0,
        arms=[
            Arm("old", table("V", ["S"], [[0.7, 0.3], [0.5, 0.5]])),
            Arm("new", table("V", ["S"], [[0.4, 0.6], [0.3, 0.7]])),
        ],
        shares=(0.5, 0.5),
        deployed="old",
    )


@cache
def make_world(name: str) -> World:
    """The world of a problem by its name."""
    if name == "real":
        return FunctionWorld(real_problem(), simulate_real)
    if name == "chain":
        return NetworkWorld(Problem(**chain_parts()), chain_network())
    bare = Problem(**context_parts())
    return NetworkWorld(Problem(**context_parts(context=context_law(context_network(), bare))), context_network())
