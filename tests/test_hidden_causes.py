"""A hidden cause of the outcome where S -> Y: noise of the outcome alone is summed out, what else it acts on makes it a confounder."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairarm import Constraint, NetworkWorld, evaluate, identify
from fairarm.errors import ProblemError
from fairarm.problem.graph import Graph, find_roles
from fairarm.problem.inference import completed
from logs_of_worlds import WHERE, log_of
from structural import Function
from worked_examples import chance, model
from worlds_fairarm import as_fairarm
from worlds_truth import Model, mean, world

REFUSED = {
    "acts on a mediator": "S>X H>X H>Y X>V",
    "acts on what acts on a mediator": "S>X H>G G>X H>Y X>V",
    "acts on an input of the decision": "H>N N>V H>Y",
    "acts on S": "H>S H>Y",
    "acts on a cause of S": "H>Z Z>S H>Y",
    "is a mediator": "S>H H>Y",
    "lies below a mediator": "S>X X>H H>Y X>V",
    "lies below an input": "N>H H>Y N>V",
    "lies below the decision": "V>H H>Y",
    "has a hidden cause in common with a mediator": "G>X G>H S>X X>V H>Y",
    "acts on another cause of the outcome": "H>Q Q>Y H>Y",
}


@pytest.mark.parametrize("edges", REFUSED.values(), ids=REFUSED)
def test_what_shares_more_with_the_rows_than_the_outcome_is_refused(edges: str) -> None:
    pairs = [tuple(edge.split(">")) for edge in f"S>V S>Y V>Y {edges}".split()]
    inputs = [a for a, b in pairs if b == "V"]
    with pytest.raises(ProblemError, match=r"'[HG]'"):
        find_roles(Graph.of(pairs), ("S",), "V", "Y", inputs, ["H", "G"])
    assert find_roles(Graph.of(pairs), ("S",), "V", "Y", inputs, []).observed


def test_the_message_says_when_the_node_may_be_left_out() -> None:
    with pytest.raises(ProblemError, match="if it acts on one node alone, leave the node out"):
        find_roles(Graph.of([("S", "Y"), ("H", "V"), ("V", "Y"), ("H", "Y")]), ("S",), "V", "Y", ["H"], ["H"])


def hidden(kind: str) -> tuple[Model, dict[str, Any]]:
    """S -> X -> V, S -> V, all act on Y, as does the hidden H; the outcome depends on H more in one group and decision."""

    def outcome(s: int, x: int, v: int, h: int) -> float:
        return 0.1 + 0.1 * s + 0.15 * x + 0.2 * v + 0.3 * h * (0.2 + s * v)

    nodes: dict[str, Function] = {
        "S": chance(("Z",), lambda z: (0.3, 0.8)[z]) if kind == "cause" else chance((), lambda: 0.4),
        "X": chance(("S",), lambda s: (0.3, 0.6)[s]),
        "H": chance(("G",), lambda g: (0.2, 0.9)[g]) if kind == "two" else chance((), lambda: 0.35),
        "Y": chance(("S", "X", "V", "H"), outcome),
    }
    if kind == "cause":
        nodes["Z"] = chance((), lambda: 0.5)
        nodes["Y"] = chance(("S", "X", "V", "H", "Z"), lambda s, x, v, h, z: outcome(s, x, v, h) * (0.5 + 0.5 * z))
    if kind == "two":
        nodes["G"] = chance((), lambda: 0.45)
    order = [name for name in ("Z", "G", "S", "X", "H") if name in nodes]
    arms = [chance(("S", "X"), lambda s, x, top=top: 0.2 + top * s + 0.3 * x) for top in (0.4, 0.1)]
    above = frozenset({"H", "G"} & nodes.keys())
    made = model(kind, " ".join([*order, "V", "Y"]), nodes, arms, "S", hidden=above)
    return made, {"tolerance": 0.2, "keep": ("X",)} if kind == "kept" else {"tolerance": 0.2}


@pytest.mark.parametrize("kind", ["plain", "two", "cause", "kept"])
def test_a_hidden_cause_of_the_outcome_alone_changes_no_answer(kind: str) -> None:
    """Against running everyone twice, with H: the truth exactly, the posterior mean of 10^9 exact rows to 1e-4."""
    made, asked = hidden(kind)
    bare, network = as_fairarm(made, tolerance=None, constraints=[Constraint(**asked)], mechanisms=[], deployed="arm 0")
    problem = completed(bare, network)
    kept = ["X"] if kind == "kept" else []

    def gap(k: int, t: int, u: int) -> float:
        return mean(made, k, world({"S": t}, {"S": u}, kept)) - mean(made, k, world(people={"S": u}))

    pairs = [(0, 1)] if problem.plain else [(1, 0), (0, 1)]
    true = np.array([[gap(k, t, u) for t, u in pairs] for k in (0, 1)])
    outcomes = [mean(made, k, world()) for k in (0, 1)]
    truth = NetworkWorld(problem, network).truth()
    assert truth.outcomes == pytest.approx(outcomes, abs=1e-12)
    found = evaluate(bare, log_of(made), columns=WHERE)
    assert [arm.outcome.value for arm in found.arms] == pytest.approx(outcomes, abs=1e-4)
    for arm, expected in zip(found.arms, true, strict=True):
        assert [row.value for row in arm.fairness] == pytest.approx(expected.tolist(), abs=1e-4)
    assert not any("misfit" in each.code or "disagree" in each.code for each in found.findings)
    assert truth.rows == pytest.approx(true, abs=1e-12)
    if problem.plain:
        for algorithm in ("pool", "csr-v2", "mis"):
            assert identify(problem, NetworkWorld(problem, network), pulls=2000, algorithm=algorithm, seed=1)
