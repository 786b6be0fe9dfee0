"""Worlds whose sensitive attribute has any number of groups: S → V → Y, perhaps S → Y too, with Dirichlet tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairarm.problem.mechanism import Arm, table
from fairarm.problem.network import Network
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.variables import Variable
from fairarm.worlds import NetworkWorld

NAMES = "abcdefghijklmnopqrstuvwxyz"


def many_groups(
    seed: int, G: int = 4, K: int = 3, C: int = 3, S_to_Y: bool = False, alike: float = 4.0, **changes: Any
) -> NetworkWorld:
    """``alike``: the larger, the less an arm tells the groups apart. P(S) is declared unless ``shares`` is None."""
    rng = np.random.default_rng([seed, G, K, C])
    groups, shares = tuple(NAMES[:G]), rng.dirichlet(np.full(G, 5.0))
    centre = rng.dirichlet(np.full(C, 2.0), K)
    rules = [np.array([rng.dirichlet(alike * C * centre[k] + 0.1) for _ in range(G)]) for k in range(K)]
    chance = rng.random((G, C) if S_to_Y else C)
    inputs = ["S", "V"] if S_to_Y else ["V"]
    network = Network.of(
        [Variable("S", groups), Variable("V", tuple(map(str, range(C)))), Variable("Y", ("no", "yes"))],
        [
            table("S", [], shares),
            table("V", ["S"], rules[0]),
            table("Y", inputs, np.stack([1 - chance, chance], axis=-1)),
        ],
    )
    parts: dict[str, Any] = {
        "name": "many groups",
        "variables": network.variables,
        "graph": network.edges(),
        "sensitive": "S",
        "decision": "V",
        "outcome": Outcome("Y", values=(0, 1)),
        "arms": [Arm(f"arm{k}", table("V", ["S"], rule)) for k, rule in enumerate(rules)],
        "shares": shares,
        **changes,
    }
    if "constraints" not in parts:
        parts.setdefault("tolerance", 0.2)
    return NetworkWorld(Problem(**parts), network)


def means_by_loops(world: NetworkWorld, theta: np.ndarray) -> np.ndarray:
    """μ_k(t) = Σ_v P_k(v | t) θ_v of a world without S → Y, (K, G), from the declared tables alone."""
    rules = [arm.mechanism.probabilities for arm in world.problem.arms]  # type: ignore[union-attr]
    return np.array(
        [[sum(rule[t][v] * theta[v] for v in range(len(theta))) for t in range(len(rule))] for rule in rules]
    )
