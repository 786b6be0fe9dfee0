"""Logs of several rules: decisions are weighed against the mixture of the rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairarm import Arm, LogMap, Outcome, Problem, Variable, evaluate, table
from fairarm.errors import DataError, ProblemError


def rules_of_a_log(rows: int = 3000) -> tuple[Problem, dict[str, Any]]:
    """20 items, two rules that show them evenly or nearly always the first; half of the first group's rows are of each, all but a tenth of the second's of one."""
    rng, items = np.random.default_rng(5), 20
    even, first = np.full(items, 1 / items), np.r_[1 - 19 * 0.002, np.full(19, 0.002)]
    group = rng.integers(0, 2, rows)
    rule = (rng.random(rows) < np.where(group == 0, 0.5, 0.1)).astype(int)
    item = np.where(rule == 0, rng.choice(items, rows, p=even), rng.choice(items, rows, p=first))
    chance = np.linspace(0.1, 0.9, items)[item]
    log = {
        "S": np.array(["a", "b"])[group], "V": item.astype(str), "Y": (rng.random(rows) < chance).astype(int),
        "rule": np.array(["even", "first"])[rule], "e": even[item], "f": first[item], "p": np.where(rule == 0, even[item], first[item]),
    }  # fmt: skip
    problem = Problem(
        name="rules",
        variables=[Variable("S", ("a", "b")), Variable("V", tuple(map(str, range(items)))), Variable("Y", ("0", "1"))],
        graph=[("V", "Y"), ("S", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.2,
        arms=[Arm("even", table("V", [], even)), Arm("first", table("V", [], first))],
    )
    return problem, log


MIXTURE = LogMap(logging_rule="rule", rule_propensities={"even": "e", "first": "f"})


def test_a_log_of_several_rules_is_weighed_against_their_mixture() -> None:
    """The same as its propensities worked out by hand, narrower than each row's own, which is noticed."""
    problem, log = rules_of_a_log()
    frame = pd.DataFrame(log)
    share = frame.groupby("S")["rule"].transform(lambda rules: (rules == "even").mean())
    by_hand = {**log, "q": (share * frame["e"] + (1 - share) * frame["f"]).to_numpy()}
    found, expected = (
        evaluate(problem, log, columns=MIXTURE),
        evaluate(problem, by_hand, columns=LogMap(propensity="q")),
    )
    own = evaluate(problem, log, columns=LogMap(propensity="p"))
    for arm, same, wide in zip(found.arms, expected.arms, own.arms, strict=True):
        assert arm.outcome.value == pytest.approx(same.outcome.value, abs=1e-12)
        assert arm.outcome.high - arm.outcome.low < 0.8 * (wide.outcome.high - wide.outcome.low)
    assert [finding.name for finding in own.findings] == ["propensities-of-several-rules"] and not found.findings
    alone = {name: values[log["rule"] == "even"] for name, values in log.items()}
    assert not evaluate(problem, alone, columns=LogMap(propensity="p")).findings


def test_several_rules_need_all_their_columns() -> None:
    problem, log = rules_of_a_log(200)
    with pytest.raises(ProblemError, match="need each other"):
        evaluate(problem, log, columns=LogMap(logging_rule="rule", propensity="p"))
    with pytest.raises(ProblemError, match="give one"):
        evaluate(problem, log, columns=replace(MIXTURE, propensity="p"))
    with pytest.raises(DataError, match="names the rule 'first', of which"):
        evaluate(problem, log, columns=replace(MIXTURE, rule_propensities={"even": "e"}))
