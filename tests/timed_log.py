"""A small problem, and logs of it in the order of their times."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairarm import Arm, LogMap, Outcome, Problem, Variable, table

ARMS = {"old": [[0.5, 0.5], [0.5, 0.5]], "new": [[0.15, 0.85], [0.25, 0.75]], "unfair": [[0.9, 0.1], [0.05, 0.95]]}
"""P(V | S)."""
RATE = np.array([0.2, 0.7])
TIMED = LogMap(arm="arm", time="t")


def problem(**more: Any) -> Problem:
    two = ("0", "1")
    given: dict[str, Any] = {
        "variables": [Variable(name, two) for name in ("S", "V", "Y")],
        "graph": [("S", "V"), ("V", "Y")],
        "arms": [Arm(name, table("V", ["S"], rows)) for name, rows in ARMS.items()],
        "tolerance": 0.2,
        "shares": (0.5, 0.5),
    }
    outcome = Outcome("Y", values=(0, 1))
    return Problem(name="timed", sensitive="S", decision="V", outcome=outcome, **{**given, **more})


def rows_of(n: int, seed: int, rate: np.ndarray = RATE) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    arm = rng.integers(0, 2, n)
    s = rng.integers(0, 2, n)
    v = (rng.random(n) > np.array(list(ARMS.values()))[arm, s, 0]).astype(int)
    y = (rng.random(n) < rate[v]).astype(object)
    y = np.array([int(value) for value in y], dtype=object)
    return {"arm": np.array(list(ARMS))[arm], "S": s, "V": v, "Y": y, "t": np.arange(n)}
