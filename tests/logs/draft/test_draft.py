"""`fairarm init`: the draft loads as it is, names what was guessed, and evaluates the log it came from."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairarm import evaluate
from fairarm.errors import DataError, OptionError
from fairarm.logs.draft import draft_problem
from fairarm.logs.sources import open_log
from fairarm.readers.problem_file import ReadProblem, parse_problem


def columns(n: int = 300) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    offer = rng.integers(0, 2, n)
    return {
        "id": np.arange(n),
        "decided_at": [datetime(2026, 1, 1)] * n,
        "sex": rng.choice(["female", "male"], n).tolist(),
        "region": rng.choice(["north", "south", "west"], n).tolist(),
        "salary": rng.normal(size=n),
        "offer": offer,
        "repaid": np.where(rng.random(n) < 0.3 + 0.4 * offer, "yes", "no").tolist(),
    }


def parsed(text: str) -> ReadProblem:
    return parse_problem(text, "draft", Path("."), 0.05)


def test_roles_states_and_log_are_drafted_and_the_draft_evaluates() -> None:
    draft = draft_problem(open_log(columns()))
    problem, _, where = read = parsed(draft.text)
    assert (problem.sensitive, problem.decision, problem.outcome.node) == ("sex", "offer", "repaid")
    assert problem.variables["region"].states == ("north", "south", "west")
    assert problem.outcome.values == (0.0, 1.0) and problem.variables["repaid"].states == ("no", "yes")
    assert (where.row_id, where.time) == ("id", "decided_at")
    assert "salary" in problem.graph.nodes and not problem.variables["salary"].finite  # as it is, not in bins
    assert draft.text.count("TO CONFIRM") >= 5
    assert {"sensitive = sex", "decision = offer", "outcome = repaid"} <= set(draft.to_confirm)
    found = evaluate(read, columns())
    assert found.used == 300 and [arm.fitted for arm in found.arms] == [True]


def test_given_roles_are_kept_and_not_asked_about() -> None:
    draft = draft_problem(open_log(columns()), decision="region", outcome="salary")
    problem = parsed(draft.text).problem
    assert (problem.decision, problem.outcome.node) == ("region", "salary")
    assert problem.outcome.values is None and problem.outcome.low < problem.outcome.high
    assert not any(item.startswith(("decision =", "outcome =")) for item in draft.to_confirm)


def test_several_sensitive_attributes_are_drafted_as_they_are_asked_for() -> None:
    """They may have anything hidden in common, and the draft evaluates: what arms see is fitted. One with few rows is named."""
    log = columns(2000)
    log["race"] = np.random.default_rng(2).choice(["a", "b", "c"], 2000, p=[0.6, 0.387, 0.013]).tolist()
    draft = draft_problem(open_log(log), sensitive=["race", "sex"])
    read = parsed(draft.text)
    problem = read.problem
    assert problem.attributes == ("race", "sex") and problem.hidden == ("background",)
    assert [block.members for block in problem.roles.blocks] == [("race", "sex")]
    assert [group.group for group in draft.groups] == ["race=a", "race=b", "race=c", "sex=female", "sex=male"]
    assert [group.group for group in draft.small] == ["race=c"] and draft.plain_gap is None
    high, low = draft.widest or pytest.fail("no two groups")
    assert high.attribute == low.attribute
    found = evaluate(read, log)
    assert found.used == 2000 and {note.node for note in found.fitted} == {"offer", "region"}
    assert [row.name for row in found.arms[0].fairness][-1] == "sex: male as female - male"


def test_one_is_the_default_and_others_that_look_sensitive_are_named() -> None:
    draft = draft_problem(open_log(columns() | {"race": ["a", "b", "b"] * 100}))
    assert parsed(draft.text).problem.sensitive == "sex"
    [said] = [item for item in draft.to_confirm if item.startswith("race")]
    assert "name all of them with --sensitive" in said
    given = draft_problem(open_log(columns() | {"race": ["a", "b", "b"] * 100}), sensitive="sex")
    assert not any(item.startswith("race") for item in given.to_confirm)


def test_a_column_named_twice_is_refused() -> None:
    with pytest.raises(OptionError, match="named for two roles: --sensitive and --sensitive"):
        draft_problem(open_log(columns()), sensitive=["sex", "sex"])


def test_arms_of_an_arm_column_are_drafted() -> None:
    log = {**columns(), "policy": ["a", "b", "b"] * 100, "pscore": [0.5] * 300}
    problem, _, where = parsed(draft_problem(open_log(log)).text)
    assert problem.arm_names == ("a", "b") and where.arm == "policy" and where.propensity is None


def test_awkward_names_survive() -> None:
    log = {'a "quoted" sex': ["x", "y"] * 10, "my offer": [0, 1] * 10, "outcome = ?": [0, 1, 1, 0] * 5}
    problem = parsed(draft_problem(open_log(log)).text).problem
    assert problem.sensitive == 'a "quoted" sex' and problem.outcome.node == "outcome = ?"


def test_what_cannot_be_drafted_says_so() -> None:
    with pytest.raises(OptionError, match="--sensitive"):
        draft_problem(open_log({"salary": [1.5, 2.5, 3.5], "offer": [0, 1, 1], "outcome": [0, 1, 0]}), decision="offer", outcome="outcome")  # fmt: skip
    with pytest.raises(OptionError, match="no column 'gender'"):
        draft_problem(open_log(columns()), sensitive="gender")
    with pytest.raises(DataError, match="no rows"):
        draft_problem(open_log({"sex": [], "offer": [], "outcome": []}))


def test_the_drafted_candidate_loads_and_regimes_and_ids_are_found() -> None:
    n = 300
    rng = np.random.default_rng(2)
    log = {
        "row_id": [*range(n - 2), 0, 1],
        "sex": rng.choice(["f", "m"], n).tolist(),
        "recruited": rng.choice(["natural", "f", "m"], n).tolist(),
        "offer": rng.choice(["none", "small", "large"], n).tolist(),
        "income": rng.choice(["low", "high"], n).tolist(),
        "repaid": rng.integers(0, 2, n).tolist(),
    }
    draft = draft_problem(open_log(log))
    problem, _, where = parsed(draft.text)
    assert (problem.outcome.node, where.regime, where.row_id) == ("repaid", "recruited", "row_id")
    uncommented = draft.text.replace("# [[problem.arms]]", "[[problem.arms]]").replace(
        '# name = "even"', 'name = "even"'
    )
    uncommented = uncommented.replace("# parents = []", "parents = []").replace("# table = ", "table = ")
    assert parsed(uncommented).problem.arm_names == ("deployed", "even")


def test_protected_names_first_then_inputs_that_matter_and_no_sentence_is_an_id() -> None:
    """A table has room for two columns of 12 values: race is kept though it comes last, and so is the column that the decision follows."""
    rng, n = np.random.default_rng(2), 3000
    noise = {f"x{i}": rng.integers(0, 12, n) for i in range(4)}
    segment = rng.integers(0, 12, n)
    held = noise | {
        "sex": rng.choice(["f", "m"], n), "offer": np.where(segment > 5, "yes", "no"), "repaid": rng.integers(0, 2, n),
        "segment": segment, "comment": [f"a sentence, the {i}th" for i in range(n)], "code": [f"c-{i}" for i in range(n)],
        "race": rng.choice(["a", "b", "c"], n),
    }  # fmt: skip
    roles = {column.name: column.role for column in draft_problem(held).columns}
    assert (roles["sex"], roles["race"], roles["segment"]) == ("sensitive", "input", "input")
    assert (roles["comment"], roles["code"]) == ("unused", "row_id")
    assert [roles[f"x{i}"] for i in range(4)].count("input") == 1


def test_rare_groups_stay_and_words_for_missing_outcomes_are_no_states() -> None:
    n = 1000
    held = {
        "age": ["young", "old"] * 495 + ["very old"] * 10, "price": [str(i % 40) for i in range(n)],
        "repaid": (["yes", "no"] * 350 + ["."] * 200 + ["pending"] * 100)[:n], "page": [1, 2] * 500,
    }  # fmt: skip
    draft = draft_problem(held)
    assert {group.group for group in draft.groups} == {"young", "old", "very old"} and not draft.drop
    read = parsed(draft.text)
    assert set(read.columns.missing_values) == {".", "pending"} and len(read.problem.variables["price"].states) == 40
    assert read.problem.variables["repaid"].states == ("no", "yes")
    found = {finding.name: finding.rows for finding in evaluate(read, held).findings}
    assert found["missing-outcomes"] == 300 and "undeclared-states" not in found
