"""Logs as people have them, from `init` to the answer: an A/B/C test, a loan book, a raw score."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairarm import Arm, LogMap, Outcome, Problem, Unknown, Variable, evaluate, read_log, table
from fairarm.beliefs.findings import Level
from fairarm.errors import DataError, OptionError, ProblemError
from fairarm.logs.draft import draft_problem
from fairarm.logs.sources import open_log
from fairarm.reports.words import sentence

Log = dict[str, list[Any]]


def drafted(log: Log) -> Any:
    """What `init` makes of it, read as a problem file."""
    from fairarm.readers.problem_file import parse_problem

    return parse_problem(draft_problem(open_log(log), tolerance=0.1).text, "draft", Path("."), None)


# ---- an A/B/C test ----


def abc(column: str = "variant", n: int = 6000) -> Log:
    rng = np.random.default_rng(3)
    age, variant = rng.choice(["old", "young"], n), rng.choice(["A", "B", "C"], n)
    rate = np.array([{"A": 0.1, "B": 0.13, "C": 0.2}[v] for v in variant.tolist()])
    return {"age": age.tolist(), column: variant.tolist(), "converted": (rng.random(n) < rate).astype(int).tolist()}


@pytest.mark.parametrize("column", ["variant", "Treatment", "arm", "group", "experiment"])
def test_each_value_of_an_experiment_is_drafted_as_a_rule_that_made_its_rows(column: str) -> None:
    read = drafted(abc(column))
    assert (read.problem.decision, read.columns.arm) == (column if column != "arm" else "arm (2)", column)
    assert [(arm.name, arm.parents) for arm in read.problem.arms] == [("A", ()), ("B", ()), ("C", ())]
    found = evaluate(read, abc(column))
    assert (found.used, found.status, found.arm) == (6000, "FOUND", "C")
    assert found.arms[2].outcome.low < 0.2 < found.arms[2].outcome.high


def test_a_column_that_says_decision_comes_before_an_experiment() -> None:
    log = abc("group")
    read = drafted({"group": log["age"], "decision": log["group"], "converted": log["converted"]})
    assert (read.problem.decision, read.problem.sensitive, read.columns.arm) == ("decision", "group", None)


@pytest.mark.parametrize(
    ("names", "labels"), [("ABC", ""), ("abc", ", and name the rule of each value in log.labels.arm")]
)
def test_rows_of_several_rules_said_to_be_of_one_are_refused_with_the_way_out(names: str, labels: str) -> None:
    made = [Arm(name, table("variant", [], np.eye(3)[k])) for k, name in enumerate(names)]
    read, log = drafted(abc()), abc()
    asked = Problem(
        name="one", variables=read.problem.variables, graph=read.problem.graph, sensitive="age", decision="variant",
        outcome=read.problem.outcome, tolerance=0.1, arms=made, deployed=names[0],
    )  # fmt: skip
    wrong = sum(value != "A" for value in log["variant"])
    said = (
        f"{wrong:,} of 6,000 rows have decisions that rule {names[0]} never makes. Which rule made each row? Set log.arm. "
        f'Each decision is of one rule: log.arm = "variant"{labels}.'
    )
    for read_it in (evaluate, read_log):
        with pytest.raises(DataError) as caught:
            read_it(asked, log)
        assert str(caught.value) == said


# ---- a loan book ----


def loans(n: int = 3000, denied: str | None = None, lacking: float = 1.0) -> Log:
    rng = np.random.default_rng(5)
    sex, approved = rng.choice(["f", "m"], n), rng.random(n) < 0.6
    repaid = np.where(rng.random(n) < 0.8, "yes", "no").astype(object)
    repaid[~approved & (rng.random(n) < lacking)] = denied
    return {"sex": sex.tolist(), "decision": np.where(approved, "approve", "deny").tolist(), "repaid": repaid.tolist()}


@pytest.mark.parametrize("missing", ["worst", "at random"])
@pytest.mark.parametrize("values", [None, {"yes": "1.5", "no": "0.25"}])  # states, and a real outcome
def test_an_outcome_that_only_some_decisions_have_blocks_the_answer(missing: Any, values: Any) -> None:
    log = loans()
    if values:
        log["repaid"] = [value and float(values[value]) + 1e-6 * i for i, value in enumerate(log["repaid"])]
    found = evaluate(drafted(log), log, missing=missing)
    [needs] = [finding for finding in found.findings if finding.name == "outcome-needs-decision"]
    denied = log["decision"].count("deny")
    assert (found.status, found.arm, found.reason) == ("UNDECIDED", None, "outcome-needs-decision")
    assert needs.level == Level.BLOCKS_ANSWER and needs.rows == denied and "denied / default / repaid" in needs.message
    assert (
        f"missing in {denied} of {denied} rows with decision = deny" in needs.message and not found.evidence.at_random
    )
    assert "it exists only after some decisions" in draft_problem(open_log(log)).to_confirm[0]


@pytest.mark.parametrize("lacking", [0.0, 0.4])
def test_outcomes_that_are_missing_here_and_there_are_not_said_to_need_a_decision(lacking: float) -> None:
    log = loans(lacking=lacking)
    log["repaid"][::10] = [None] * 300
    found = evaluate(drafted(log), log)
    assert "outcome-needs-decision" not in [finding.name for finding in found.findings]


# ---- a raw score ----


def scored(seed: int, n: int = 3000, steps: bool = False) -> Log:
    """Who has a high score is offered more often, and buys more often."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    score = rng.normal(np.where(sex == "f", -0.2, 0.2), 1.0)
    chance = np.where(score > 0.5, 0.9, np.where(score < -1, 0.7, 0.15)) if steps else 1 / (1 + np.exp(-1.5 * score))
    offer = rng.random(n) < chance
    bought = rng.random(n) < _rate(score, offer)
    return {
        "sex": sex.tolist(), "score": score.tolist(), "offer": np.where(offer, "yes", "no").tolist(), "bought": bought.astype(int).tolist()
    }  # fmt: skip


def _rate(score: Any, offer: Any) -> Any:
    return 1 / (1 + np.exp(1 - 0.8 * score - 0.6 * offer))


def truth(offered: float) -> float:
    """Of a rule that offers with one probability, by quadrature."""
    points, weights = np.polynomial.hermite_e.hermegauss(60)
    each = [_rate(points + shift, offer) @ weights / weights.sum() for offer in (0, 1) for shift in (-0.2, 0.2)]
    return float((1 - offered) * np.mean(each[:2]) + offered * np.mean(each[2:]))


def with_rules(log: Log) -> tuple[Problem, LogMap]:
    read = drafted(log)
    rules = {"never": 0.0, "even": 0.5, "always": 1.0}
    arms = [*read.problem.arms, *(Arm(name, table("offer", [], [1 - p, p])) for name, p in rules.items())]
    return read.problem.with_arms(arms), read.columns


@pytest.mark.parametrize("steps", [False, True])
def test_a_rule_that_looked_at_a_raw_score_is_fitted_by_the_better_model(steps: bool) -> None:
    log = scored(1, steps=steps)
    problem, columns = with_rules(log)
    assert not problem.variables["score"].finite and problem.arms[0].parents == ("sex", "score")
    found = evaluate(problem, log, columns=columns)
    for arm, offered in zip(found.arms[1:], (0.0, 0.5, 1.0), strict=True):
        assert arm.outcome.low < truth(offered) < arm.outcome.high
    assert found.arms[0].fitted and found.certified_by is None and found.arms[0].effective_rows == pytest.approx(3000)
    assert found.fitted[0].model.startswith("gradient boosting" if steps else "logistic regression")
    assert "The propensity of arm 'deployed' is estimated from 3000 rows" in found.fitted[0].text
    assert any("propensity of arm 'deployed' is estimated" in sentence(said) for said in found.assumptions)
    assert "was fitted from them" in sentence(found.not_certified[0])


def test_the_order_of_the_rows_does_not_matter() -> None:
    log = scored(2, 800)
    at = np.random.default_rng(0).permutation(800)
    problem, columns = with_rules(log)
    found = [
        evaluate(problem, rows, columns=columns) for rows in (log, {n: [v[i] for i in at] for n, v in log.items()})
    ]
    assert found[0].arms == found[1].arms


def test_a_model_may_be_asked_for_where_inputs_have_states() -> None:
    log = scored(3, 1500)
    log["score"] = np.round(log["score"]).clip(-2, 2).astype(int).tolist()
    problem, _ = with_rules(log)
    counted, fitted = (evaluate(problem, log, columns=LogMap(fit_propensity=fit)) for fit in (False, True))
    assert (counted.method, fitted.method) == ("cell means", "doubly robust")
    for first, second in zip(counted.arms, fitted.arms, strict=True):
        assert first.outcome.value == pytest.approx(second.outcome.value, abs=0.03)


def test_what_cannot_be_fitted_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    log = scored(4, 300)
    problem, columns = with_rules(log)
    with pytest.raises(DataError, match="nearly all of its rows have the same 'offer'"):
        evaluate(problem, {**log, "offer": ["no"] * 300}, columns=columns)
    declared = problem.with_arms([*problem.arms[1:], Arm("deployed", table("offer", [], [0.5, 0.5]))])
    for wrong in (LogMap(fit_propensity=True), LogMap(fit_propensity=True, propensity="p")):
        with pytest.raises(ProblemError, match=r"log\.fit_propensity fits the arms that have parents and no table"):
            evaluate(declared, log, columns=wrong)
    monkeypatch.setitem(__import__("sys").modules, "sklearn.ensemble", None)
    with pytest.raises(OptionError, match=r"pip install '\.\[propensity\]'"):
        evaluate(problem, log, columns=columns)


def test_a_real_decision_is_not_fitted() -> None:
    asked = Problem(
        name="price", variables=[Variable("S", ("a", "b")), Variable("X", low=0, high=1), Variable("V", low=0, high=1), Variable("Y", ("0", "1"))],
        graph=[("S", "X"), ("X", "V"), ("V", "Y"), ("X", "Y")], sensitive="S", decision="V", outcome=Outcome("Y", values=(0, 1)), tolerance=0.1,
        arms=[Arm("old", Unknown("V", ("X",)))], deployed="old",
    )  # fmt: skip
    rows = {"S": ["a", "b"] * 5, "X": [0.5] * 10, "V": [0.25] * 10, "Y": [0, 1] * 5}
    with pytest.raises(ProblemError, match="is real-valued"):
        evaluate(asked, rows)
