"""Random worlds with Dirichlet tables, rows drawn from them, and the law of a row by its definition."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairarm.beliefs.evidence import CellEvidence
from fairarm.problem.mechanism import Arm, table
from fairarm.problem.network import Network
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.variables import Variable
from fairarm.worlds import NetworkWorld


def random_world(seed: int, K: int = 3, S_to_Y: bool = False, order: Any = None, **changes: Any) -> NetworkWorld:
    """S → X → Y, S → V → Y, perhaps S → Y; Dirichlet tables, Y with three states. ``order`` takes the arms so."""
    rng = np.random.default_rng(seed)
    law = lambda *shape: rng.dirichlet(np.ones(shape[-1]), shape[:-1])  # noqa: E731
    inputs = ["S", "X", "V"] if S_to_Y else ["X", "V"]
    share = 0.2 + 0.6 * rng.random()
    network = Network.of(
        [Variable("S", ("a", "b")), Variable("X", ("0", "1")), Variable("V", ("0", "1", "2")), Variable("Y", ("l", "m", "h"))],
        [
            table("S", [], [share, 1 - share]),
            table("X", ["S"], law(2, 2)),
            table("V", ["S"], law(2, 3)),
            table("Y", inputs, law(*(2, 2, 3, 3)[-len(inputs) - 1 :])),
        ],
    )  # fmt: skip
    arms = [Arm(f"arm{k}", table("V", ["S"], law(2, 3))) for k in range(K)]
    parts: dict[str, Any] = {
        "name": "random",
        "variables": network.variables,
        "graph": network.edges(),
        "sensitive": "S",
        "decision": "V",
        "outcome": Outcome("Y", values=(-1, 0, 3)),
        "tolerance": 0.6,
        "arms": arms if order is None else [arms[k] for k in order],
        "mechanisms": [network.tables[name] for name in (("X", "Y") if S_to_Y else ("X",))],
        "shares": (share, 1 - share),
        **changes,
    }
    return NetworkWorld(Problem(**parts), network)


def drawn(world: NetworkWorld, pulls: Any, seed: int = 0, n: int = 1) -> CellEvidence:
    """Rows of pulls (R, K)."""
    plan = np.broadcast_to(np.asarray(pulls), (n, 3, len(world.problem.arms)))
    return CellEvidence(world.problem, world.draw(plan.astype(np.int64), np.random.default_rng(seed)))


def law_of_row(world: NetworkWorld, k: int, t: int, o: int) -> float:
    """P(X, V, Y | arm k, S = t) without what no arm or group changes: a plain product of the declared tables."""
    p = world.problem
    codes = {name: int(values[o]) for name, values in p.compiled.row_space.codes().items()}
    given: dict[str, Any] = {name: mechanism.probabilities for name, mechanism in p.mechanisms.items()}  # type: ignore[union-attr]
    arm: Any = p.arms[k].mechanism
    value = arm.probabilities[t, codes["V"]] * given["X"][t, codes["X"]]
    return float(value * (given["Y"][t, codes["X"], codes["V"], codes["Y"]] if "Y" in given else 1.0))
