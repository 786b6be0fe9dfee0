"""What a draft cannot know is said in its list to confirm, on the terminal and in JSON as in the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairarm import evaluate
from fairarm.logs.draft import Draft, draft_problem
from fairarm.logs.sources import open_log
from fairarm.readers.problem_file import parse_problem

N = 240
RNG = np.random.default_rng(11)


def log(**columns: Any) -> dict[str, Any]:
    plain = {"sex": ["f", "m"] * (N // 2), "offer": ["a", "a", "b"] * (N // 3), "repaid": [0, 1, 1, 0] * (N // 4)}
    return {**plain, **columns}


def draft_of(held: Any, **given: Any) -> Draft:
    """A draft that loads, and evaluates to its own numbers."""
    draft = draft_problem(open_log(held), **given, tolerance=0.1)
    found = evaluate(parse_problem(draft.text, "draft", Path(".")), held)
    assert (found.used, found.plain_gap) == (draft.used, draft.plain_gap)
    return draft


def said(draft: Draft, part: str) -> str:
    """The one item to confirm that holds these words."""
    (item,) = (item for item in draft.to_confirm if part in item)
    return item


def role(draft: Draft, name: str) -> str:
    return next(column.role for column in draft.columns if column.name == name)


COUNTS = [str(11 + i % 7) for i in range(20)]
BAD = {"missing": "", "a word for missing": "n/a", "a stray": "?", "below 0": "-3", "a part of a row": "2.5"}


@pytest.mark.parametrize("name", ["count", "n", "freq", "frequency", "students", "Applicants"])
@pytest.mark.parametrize("bad", BAD)
def test_one_bad_count_is_left_out_and_said_and_the_others_count(tmp_path: Path, bad: str, name: str) -> None:
    path = tmp_path / "log.csv"
    counts = [*COUNTS[:-1], BAD[bad]]
    lines = [f"{'fm'[i % 2]},{'ab'[i // 2 % 2]},{i // 4 % 2},{count}" for i, count in enumerate(counts)]
    path.write_text("\n".join([f"sex,offer,repaid,{name}", *lines]) + "\n")
    draft = draft_of(path)
    assert role(draft, name) == "count" and draft.drop == {name: {BAD[bad]: 1}}
    assert (draft.used, draft.rows) == (sum(map(int, COUNTS[:-1])), sum(map(int, COUNTS[:-1])) + 1)
    assert (BAD[bad] or "missing") in said(draft, f"the 1 line left out because {name} holds no count")


def test_counts_that_are_written_as_real_numbers_are_counts() -> None:
    counts = np.arange(N) + 11.0  # more different values than a column lists
    draft = draft_of(log(count=counts))
    assert role(draft, "count") == "count" and draft.used == counts.sum() and not draft.drop


def test_many_different_bad_counts_are_no_counts() -> None:
    """They could not all be named in log.drop."""
    counts = np.r_[-np.arange(1.0, 151.0), np.ones(20 * N - 150)]
    draft = draft_of({name: list(held) * 20 for name, held in log().items()} | {"n": counts})
    assert role(draft, "n") == "input" and draft.rows == 20 * N


@pytest.mark.parametrize("held", [np.arange(N) % 40 + 50, np.arange(N) + 0.5, [-1] * N])
def test_measurements_are_no_counts(held: Any) -> None:
    draft = draft_of(log(weight=held))
    assert role(draft, "weight") in ("input", "unused") and draft.rows == N


@pytest.mark.parametrize("good", [np.arange(N) % 3 == 0, np.where(np.arange(N) % 3 == 0, "high", "low")])
def test_the_index_of_pandas_has_no_role_and_two_values_may_be_the_outcome(tmp_path: Path, good: Any) -> None:
    held = pd.DataFrame({**log(), "repaid": good}).rename(columns={"repaid": "good"})
    held.index = np.arange(N) * 3
    held.to_parquet(tmp_path / "log.parquet")
    draft = draft_of(tmp_path / "log.parquet")
    assert role(draft, "__index_level_0__") == "unused" and role(draft, "good") == "outcome"


def worths(draft: Draft) -> dict[str, float]:
    problem = parse_problem(draft.text, "draft", Path("."))[0]
    states = problem.variables[problem.outcome.node].states
    assert states is not None and problem.outcome.values is not None
    return dict(zip(states, problem.outcome.values, strict=True))


BAD_OUTCOMES: dict[str, tuple[list[Any], dict[str, float]]] = {
    "default": ([0, 1], {"0": 1.0, "1": 0.0}),
    "loan_default": (["no", "yes"], {"no": 1.0, "yes": 0.0}),
    "churned": ([False, True], {"false": 1.0, "true": 0.0}),
    "dropOut": (["n", "y"], {"n": 1.0, "y": 0.0}),
    "complaints": ([0, 1, 2], {"0": 0.0, "1": -1.0, "2": -2.0}),
}


@pytest.mark.parametrize("name", BAD_OUTCOMES)
def test_a_bad_outcome_is_worth_less_and_that_is_said_first(name: str) -> None:
    values, want = BAD_OUTCOMES[name]
    held = log()
    del held["repaid"]
    draft = draft_of({**held, name: [values[i % len(values)] for i in range(N)]}, outcome=name)
    assert worths(draft) == want
    assert draft.to_confirm[0].startswith(f"the worth of {name} was turned")
    assert "TO CONFIRM: the worth of" in draft.text and "that more is better" in said(
        draft, "what each outcome is worth"
    )


@pytest.mark.parametrize("name", ["no_default", "not_churned", "repaid", "related"])
def test_a_good_outcome_is_not_turned(name: str) -> None:
    held = log()
    draft = draft_of({**held, name: held["repaid"]}, outcome=name)
    assert worths(draft) == {"0": 0.0, "1": 1.0} and not draft.doubts


def test_states_that_sound_bad_are_worth_less() -> None:
    draft = draft_of(log(repaid=["current", "defaulted", "paid"] * (N // 3)))
    assert worths(draft) == {"current": 1.0, "defaulted": 0.0, "paid": 2.0} and "Fill in the values" in draft.doubts[0]


def test_no_outcome_is_left_out_because_it_is_rare() -> None:
    """Four defaults of 240 loans: they decide the answer."""
    draft = draft_of(log(repaid=["default"] * 4 + ["denied", "repaid"] * ((N - 4) // 2)))
    assert (
        worths(draft) == {"default": 0.0, "denied": 1.0, "repaid": 2.0}
        and draft.used == draft.rows
        and not draft.unusable
    )


@pytest.mark.parametrize("states", [["fine", "great", "poor"], ["blue", "red"]])
def test_an_order_of_the_alphabet_is_said_first(states: list[str]) -> None:
    draft = draft_problem(open_log(log(repaid=[states[i % len(states)] for i in range(N)])))
    assert draft.to_confirm[0].startswith("what each repaid is worth") and "alphabet" in draft.to_confirm[0]
    assert draft.to_confirm[1].startswith("the tolerance") and "TO CONFIRM: what each repaid is worth" in draft.text


def test_a_bad_outcome_of_numbers_is_said_first() -> None:
    draft = draft_of({**log(), "loss": RNG.normal(size=N)}, outcome="loss")
    assert "more loss is worse" in draft.to_confirm[0]


def test_what_is_left_out_and_what_may_follow_the_decision_are_to_confirm() -> None:
    notes = [f"note {i % 120}" for i in range(N)]
    draft = draft_of(log(late_payments=[0, 1, 2] * (N // 3), savings=RNG.normal(size=N), notes=notes, always=["x"] * N))
    assert "notes (it has 120 different values" in said(draft, "every answer is wrong: add it as an input")
    assert "always" not in said(draft, "every answer is wrong")
    assert said(draft, "known before the decision").endswith(": late_payments, savings")
    assert "bin" not in draft.text.replace("In bins it is no longer", "")
    assert "cautious" not in draft.text


def test_every_mark_of_the_file_is_in_the_list() -> None:
    days = [f"2026-01-{1 + i % 28:02}" for i in range(N)]
    special = {"row_id": "key_id", "time": "day", "arm": "policy", "count": "n"}
    held = log(key_id=[f"k{i}" for i in range(N)], day=days, policy=["v1", "v2"] * (N // 2), n=[1, 2] * (N // 2))
    draft = draft_of(held)
    for role, column in special.items():
        assert f'{role} = "{column}"  # TO CONFIRM' in draft.text and f"{role} = {column}" in draft.to_confirm
    assert "deployed = v1, the rule that runs today" in draft.to_confirm


ENDS: dict[str, tuple[Any, str]] = {
    "a code": (np.r_[[-9999.0] * 5, np.linspace(0, 20000, N - 5)], "-9999 (5 lines)"),
    "a code among states": ([-9, 0, 1, 1] * (N // 4), "-9 (60 lines)"),
    "a slip": (np.r_[1e12, np.linspace(0, 20000, N - 1)], "1e+12"),
    "a code beside words": ([*map(str, np.linspace(1, 2, N - 4)), "-99", "-99", "-99", "n/a"], "-99 (3 lines)"),
}


@pytest.mark.parametrize("case", ENDS)
def test_an_end_that_stands_apart_is_said_first(case: str) -> None:
    held, part = ENDS[case]
    draft = draft_problem(open_log(log(repaid=held)))
    assert len(draft.doubts) == 1 and part in draft.to_confirm[0] and "stands apart" in draft.to_confirm[0]


@pytest.mark.parametrize("held", [np.r_[[0.0] * 100, np.linspace(50, 90, N - 100)], RNG.lognormal(size=N), np.minimum(RNG.normal(size=N), 1.5), [0, 1, 2] * (N // 3)])  # fmt: skip
def test_ordinary_ends_are_not_doubted(held: Any) -> None:
    assert not draft_of(log(repaid=held)).doubts
