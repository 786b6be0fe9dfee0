"""Four arms on S → V → Y whose outcomes and gaps are worked out by hand, and a world: two fair, two clearly not."""

from __future__ import annotations

from typing import Any

from fairarm.problem.mechanism import Arm, table
from fairarm.problem.network import Network
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.variables import Variable
from fairarm.worlds import NetworkWorld

SHARE = 0.4
ARMS = {
    "even": [[0.6, 0.2, 0.2], [0.6, 0.2, 0.2]],
    "good": [[0.1, 0.3, 0.6], [0.2, 0.2, 0.6]],
    "favours a": [[0.0, 0.1, 0.9], [0.7, 0.2, 0.1]],
    "favours b": [[0.8, 0.1, 0.1], [0.05, 0.15, 0.8]],
}
THETA = (0.1, 0.5, 0.9)
"""P(Y = 1) in each state of V. Outcomes and gaps: even 0.34 and 0; good 0.7 and 0.04; the last two ± 0.6 and more."""


EASY = (0.02, 0.5, 0.98)


def chain(arms: dict[str, Any] = ARMS, **changes: Any) -> Problem:
    """S → V → Y."""
    parts: dict[str, Any] = {
        "name": "chain",
        "variables": [Variable("S", ("a", "b")), Variable("V", ("0", "1", "2")), Variable("Y", ("0", "1"))],
        "graph": [("S", "V"), ("V", "Y")],
        "sensitive": "S",
        "decision": "V",
        "outcome": Outcome("Y", values=(0, 1)),
        "tolerance": 0.15,
        "arms": [Arm(name, table("V", ["S"], rows)) for name, rows in arms.items()],
        "shares": {"a": SHARE, "b": 1 - SHARE},
        **changes,
    }
    return Problem(**parts)


def world(problem: Problem, theta: tuple[float, ...] = THETA) -> NetworkWorld:
    tables = [
        table("S", [], [SHARE, 1 - SHARE]),
        table("V", ["S"], ARMS["even"]),
        table("Y", ["V"], [[1 - p, p] for p in theta]),
    ]
    return NetworkWorld(problem, Network.of(problem.variables.values(), tables))


def truth(name: str, theta: tuple[float, ...] = THETA) -> tuple[float, float]:
    """Outcome and gap of an arm, by hand."""
    a, b = (sum(p * x for p, x in zip(row, theta, strict=True)) for row in ARMS[name])
    return SHARE * a + (1 - SHARE) * b, a - b
