"""Rows that would have to be read one by one are refused where more is asked than about groups, with the way out."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from fairarm import Arm, Outcome, Problem, Variable, evaluate, read_log, table
from fairarm.errors import DataError
from fairarm.problem.log_map import LogMap


def problem(z: Variable, **options: Any) -> Problem:
    """Z → S → V → Y ← Z."""
    variables = [z, Variable("S", ("a", "b")), Variable("V", ("0", "1")), Variable("Y", ("0", "1"))]
    given: dict[str, Any] = {
        "name": "caused", "variables": variables, "graph": [("Z", "S"), ("S", "V"), ("V", "Y"), ("Z", "Y")], "sensitive": "S",
        "decision": "V", "outcome": Outcome("Y", values=(0, 1)), "tolerance": 0.1, "deployed": "old",
        "arms": [Arm("old", table("V", ["S"], [[0.5, 0.5], [0.4, 0.6]]))],
    }  # fmt: skip
    return Problem(**(given | options))


LOG = {"Z": [0.5, 0.1], "S": ["a", "b"], "V": ["0", "1"], "Y": ["1", "0"], "p": [0.5, 0.6]}


@pytest.mark.parametrize("read", [evaluate, read_log])
def test_a_real_cause(read: Any) -> None:
    with pytest.raises(DataError, match=re.escape("'Z' is real-valued. Leave it out if no rule looked at it")):
        read(problem(Variable("Z", low=0, high=1)), LOG)


def test_propensities() -> None:
    with pytest.raises(DataError, match=re.escape("say which arm made each row (log.arm)")):
        evaluate(problem(Variable("Z", ("0.1", "0.5"))), LOG, columns=LogMap(propensity="p"))


def test_too_many_combinations() -> None:
    many = [Variable(name, tuple(map(str, range(400)))) for name in ("Z", "W")]
    edges = [("Z", "S"), ("S", "V"), ("V", "Y"), ("Z", "Y"), ("W", "V"), ("W", "Y")]
    small = [Variable("S", ("a", "b")), Variable("V", ("0", "1")), Variable("Y", ("0", "1"))]
    rules = [Arm(f"arm {k}", table("V", ["S", "W"], np.full((2, 400, 2), 0.5))) for k in range(12)]
    asked = problem(many[0], variables=[*many, *small], graph=edges, arms=rules, deployed="arm 0")
    with pytest.raises(DataError, match=re.escape("too many combinations of values to count. Merge states")):
        evaluate(asked, {**LOG, "W": [1, 2], "Z": [1, 2]})


def test_a_real_outcome_is_summed() -> None:
    """Y = 2 + 2V, and V is 1 with probability 0.5 of people of a, 0.6 of people of b: they differ by 0.2."""
    z, outcome = Variable("Z", ("0", "1")), Outcome("Y", low=0, high=10)
    asked = problem(z, outcome=outcome, variables=[z, Variable("S", ("a", "b")), Variable("V", ("0", "1"))])
    log: dict[str, Any] = {"Z": ["0", "1"] * 500, "S": ["a"] * 400 + ["b"] * 600, "V": ["0", "0", "1", "1"] * 250}
    log["V"][400:] = ["0"] * 240 + ["1"] * 360
    found = evaluate(asked, log | {"Y": [2.0 + 2.0 * int(v) for v in log["V"]]})
    assert found.method == "cell means" and "declare them as its states" in found.findings[0].message
    assert found.arms[0].pairs["b|a"].gap == pytest.approx(0.2, abs=0.02)
    assert [group.mean for group in found.observed] == pytest.approx([3.0, 3.2])
