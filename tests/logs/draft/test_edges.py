"""Logs at the edge: where nothing can be drafted one line says why; where something can, it evaluates."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from fairarm import evaluate
from fairarm.errors import FairarmError
from fairarm.logs.draft import draft_problem
from fairarm.logs.sources import open_log
from fairarm.readers.problem_file import parse_problem

N = 120
RNG = np.random.default_rng(5)
DAYS = [date(2026, 1, 1 + i % 28) for i in range(N)]
HOLES = np.where(np.arange(N) % 10 == 0, np.nan, RNG.normal(size=N))


def log(**columns: Any) -> dict[str, Any]:
    plain = {"sex": ["f", "m"] * (N // 2), "offer": ["a", "a", "b"] * (N // 3), "repaid": [0, 1, 1, 0] * (N // 4)}
    return {**plain, **columns}


WORK: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "a real outcome with NaN": (log(repaid=HOLES), {}),
    "two numbers and NaN": (log(repaid=np.where(HOLES > 0, 1.0, np.where(HOLES <= 0, 0.0, np.nan))), {}),
    "a real column with NaN that is not used": (log(x=HOLES), {}),
    "a column of nulls": (log(x=pa.nulls(N)), {}),
    "a column of NaN": (log(x=np.full(N, np.nan)), {}),
    "two rows": ({"sex": ["f", "m"], "offer": ["a", "b"], "repaid": [1, 0]}, {}),
    "groups that are numbers": (log(sex=np.arange(N) % 2 + 1), {}),
    "groups that are real numbers": (log(sex=np.arange(N) % 2 + 1.0), {}),
    "dates and times": (log(day=DAYS, at=[datetime(2026, 1, 1)] * N), {}),
    "lists": (log(x=[[1]] * N), {}),
    "bytes": (log(x=[b"x"] * N), {}),
    "booleans": (log(sex=np.arange(N) % 2 == 0, repaid=np.arange(N) % 3 == 0), {}),
    "a group called natural": (log(sex=["natural", "m"] * (N // 2)), {}),
    "an arm called no fair arm": (log(arm=["no fair arm", "b", "b"] * (N // 3)), {}),
    "an arm called almost so": (log(arm=["(No fair  arm!)", "b", "b"] * (N // 3)), {}),
    "a count below 0 is no count": (log(count=[-1] * N), {}),
    "a group without outcomes": (log(sex=["f"] * 60 + ["m"] * 60, repaid=[0, 1] * 30 + [None] * 60), {}),
    "many different values": (log(x=[f"u{i}" for i in range(N)], z=RNG.normal(size=N)), {}),
}
FAIL: dict[str, tuple[dict[str, Any], dict[str, str], str]] = {
    "no rows": ({"sex": [], "offer": [], "repaid": []}, {}, "no rows"),
    "one row": ({"sex": ["f"], "offer": ["a"], "repaid": [1]}, {}, "sex: it has one value only"),
    "one column": ({"sex": ["f", "m"]}, {}, "--decision"),
    "5 000 columns": ({f"c{i}": [1, 2] for i in range(5000)}, {}, "5000 columns"),
    "one group": (log(sex=["f"] * N), {"sensitive": "sex"}, "one value only"),
    "no values": (log(x=pa.nulls(N, pa.string())), {"sensitive": "x"}, "no values"),
    "an outcome that is the same everywhere": (log(repaid=[1.5] * N), {"outcome": "repaid"}, "one value only"),
    "many groups": (
        log(age=np.arange(N)),
        {"sensitive": "age"},
        "120 groups (0 1%, 1 1%, 2 1%, 3 1%, …), and at most 20",
    ),
    "21 groups that are named": (log(sex=[f"g{i % 21}" for i in range(N)]), {}, "sex: it has 21 groups"),
    "merging is the way out": (
        log(sex=np.arange(N) % 30),
        {"sensitive": "sex"},
        "Merge some of them or leave their rows out",
    ),
    "dates as outcomes": (log(day=DAYS), {"outcome": "day"}, "it holds times"),
    "dates as groups": (log(day=DAYS), {"sensitive": "day"}, "it holds times"),
    "texts as outcomes": (log(x=[f"n{i % 50}" for i in range(N)]), {"outcome": "x"}, "50 different texts"),
    "percentages": (log(x=[f"{i % 50}%" for i in range(N)]), {"outcome": "x"}, "percentages"),
    "decimal commas": (log(x=[f"{i % 50},5" for i in range(N)]), {"outcome": "x"}, "decimal comma"),
    "decimal commas and points": (log(x=[f"1.{i % 50 + 100},5" for i in range(N)]), {"outcome": "x"}, "decimal comma"),
    "thousands": (log(x=[f"{i % 50 + 1},500" for i in range(N)]), {"outcome": "x"}, "signs between thousands"),
    "infinite numbers": (log(repaid=np.r_[np.inf, HOLES[1:]]), {}, "infinite"),
    "numbers too far apart": (log(repaid=np.r_[1e308, -1e308, HOLES[2:]]), {}, "too far apart"),
    "many decisions": (
        {"sex": ["f", "m"] * 600, "offer": [f"o{i}" for i in range(1200)], "repaid": [0, 1] * 600},
        {},
        "offer: it has 1,200 different values",
    ),
    "one column twice": (log(), {"sensitive": "sex", "decision": "sex"}, "two roles"),
    "counts of 0": (log(count=[0] * N), {}, "Every count is 0"),
    "no outcome": (log(repaid=pa.nulls(N, pa.int64())), {"outcome": "repaid"}, "no values"),
}


@pytest.mark.parametrize("case", WORK)
def test_what_can_be_drafted_evaluates(case: str) -> None:
    held, given = WORK[case]
    draft = draft_problem(open_log(held), **given, tolerance=0.1)
    found = evaluate(parse_problem(draft.text, "draft", Path(".")), held)
    assert (found.used, found.plain_gap) == (draft.used, draft.plain_gap)
    assert [(g.group, g.rows, g.mean) for g in found.observed] == [(g.group, g.rows, g.mean) for g in draft.groups]


@pytest.mark.parametrize("case", FAIL)
def test_what_cannot_be_drafted_says_why_in_one_line(case: str) -> None:
    held, given, part = FAIL[case]
    with pytest.raises(FairarmError) as error:
        draft_problem(open_log(held), **given)
    assert part in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("tolerance", [0.0, -1.0, float("nan"), float("inf")])
def test_a_tolerance_that_is_none(tolerance: float) -> None:
    with pytest.raises(FairarmError, match="finite number above 0"):
        draft_problem(open_log(log()), tolerance=tolerance)


def test_the_tolerance_is_never_chosen() -> None:
    draft = draft_problem(open_log(log(repaid=HOLES)))
    assert draft.tolerance is None and draft.to_confirm[0].startswith("the tolerance")
    assert not [line for line in draft.text.splitlines() if line.startswith("tolerance")]
    assert f"plain gap {draft.plain_gap:.4g}" in draft.text and f"mean of all {draft.mean:.4g}" in draft.text


def test_an_index_that_pandas_wrote_is_no_row_id(tmp_path: Path) -> None:
    """It starts anew in each file: repeated numbers would say nothing of repeated rows."""
    lines = [f"{i},{s},{v},{y}" for i, (s, v, y) in enumerate(zip(*log().values(), strict=True))]
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("\n".join([",sex,offer,repaid", *lines]) + "\n")
    draft = draft_problem(open_log(tmp_path), tolerance=0.1)
    assert draft.columns[0].role == "unused" and "numbers the lines" in draft.columns[0].why
    found = evaluate(parse_problem(draft.text, "draft", Path(".")), tmp_path)
    assert found.used == 2 * N and not found.findings


def test_strays_and_spellings_are_proposed_with_their_rows() -> None:
    sex = ["F"] * 200 + ["M"] * 190 + ["?", "?", "unknown", "F ", "f", "f", "male", "male", None, ""]
    held = {"sex": sex, "offer": ["a", "b"] * 200, "repaid": ["1", "0"] * 199 + ["n/a", "pending"]}
    draft = draft_problem(open_log(held))
    assert draft.labels == {"sex": {"F ": "F", "f": "F", "male": "M"}}
    assert draft.drop == {"sex": {"?": 2, "unknown": 1, "": 2}}
    assert draft.unusable == {"outcome": {"n/a": 1, "pending": 1}}
    roles = {column.name: (column.role, column.why) for column in draft.columns}
    assert roles["sex"] == ("sensitive", "its name, and 2 groups")


def test_rows_are_not_left_out_by_their_decision() -> None:
    """They are counted and said; with such a drop, the answers would be those of other rows."""
    held = {"sex": ["f", "m"] * 200, "offer": ["a", "b"] * 198 + ["?", "?", None, ""], "repaid": [1, 0, 0, 1] * 100}
    draft = draft_problem(open_log(held), tolerance=0.1)
    assert draft.drop == {} and draft.unusable == {"decision": {"?": 2, "": 2}}
    assert '# Lines without a usable decision: "?" (2), missing (2). evaluate leaves them out' in draft.text
    found = evaluate(parse_problem(draft.text, "draft", Path(".")), held)
    assert found.used == draft.used == 396
    assert sum(each.rows for each in found.findings if each.blocks_certification) == 4


@pytest.mark.parametrize("as_text", [False, True])
def test_long_numbers_that_are_one_as_doubles_stay_two(as_text: bool) -> None:
    first, second = 9007199254740992, 9007199254740993
    sex = [str(first), str(second)] * 60 if as_text else [first, second] * 60
    draft = draft_problem(open_log(log(sex=sex)), tolerance=0.1)
    assert draft.labels == {} and [group.group for group in draft.groups] == [str(first), str(second)]
    assert [group.rows for group in draft.groups] == [60, 60]


def test_spellings_of_one_number_are_one_state() -> None:
    draft = draft_problem(open_log(log(sex=["1", "2.0", "1.0", "2", "01", "2e0"] * 20)), tolerance=0.1)
    assert [group.rows for group in draft.groups] == [60, 60] and len(draft.labels["sex"]) == 4


RACE = (
    ["white"] * 500
    + ["Black"] * 120
    + ["black "] * 30
    + ["asian"] * 80
    + ["other"] * 12
    + ["typo"] * 3
    + ["unknown"] * 5
)


def race_log() -> dict[str, Any]:
    rng, n = np.random.default_rng(3), len(RACE)
    repaid = rng.random(n) < np.where(np.array(RACE) == "white", 0.7, 0.5)
    return {"race": RACE, "offer": rng.choice(["none", "full"], n), "repaid": repaid.astype(int)}


def test_all_groups_are_proposed_with_their_rows_and_small_ones_are_named() -> None:
    """However few rows it has, a group is a group."""
    held = race_log()
    draft = draft_problem(open_log(held))
    problem = parse_problem(draft.text, "draft", Path("."), 0.1).problem
    assert (
        problem.groups == ("Black", "asian", "other", "typo", "white") == tuple(group.group for group in draft.groups)
    )
    assert [group.rows for group in draft.groups] == [150, 80, 12, 3, 500]
    assert draft.labels == {"race": {"black ": "Black"}} and draft.drop == {"race": {"unknown": 5}}
    assert [column.why for column in draft.columns if column.role == "sensitive"] == ["its name, and 5 groups"]
    few = "groups with few rows, of which little can be said: other (12), typo (3). Merge them, or leave them out"
    assert (
        few in draft.to_confirm and "# TO CONFIRM: groups with few rows: other (12 rows), typo (3 rows)." in draft.text
    )
    worth, groups = np.array(held["repaid"]), np.char.strip(np.char.lower(np.array(held["race"])))
    means = [worth[groups == name.lower()].mean() for name in problem.groups]
    assert [group.mean for group in draft.groups] == pytest.approx(means)
    high, low = problem.groups[int(np.argmax(means))], problem.groups[int(np.argmin(means))]
    said = f"largest plain gap {max(means) - min(means):.4g} ({high} - {low})"
    assert draft.plain_gap is None and said in " ".join(draft.text.replace("\n# ", " ").split())
    assert "docs/fairness.md" in draft.text and "any two groups' mean outcomes" in draft.text


def test_without_a_name_that_says_so_only_a_column_with_two_groups_is_taken() -> None:
    held = {"x": ["a", "b", "c"] * 40, "z": ["p", "q"] * 60, "offer": ["a", "a", "b"] * 40, "repaid": [0, 1, 1, 0] * 30}
    roles = {column.name: column.role for column in draft_problem(open_log(held)).columns}
    assert roles["z"] == "sensitive" and roles["x"] == "input"
    assert draft_problem(open_log(held), sensitive="x").groups[2].rows == 40


def test_twenty_groups_are_drafted() -> None:
    draft = draft_problem(open_log(log(sex=[f"g{i % 20:02}" for i in range(N)])), tolerance=0.1)
    problem = parse_problem(draft.text, "draft", Path(".")).problem
    assert len(problem.groups) == 20 and [group.rows for group in draft.groups] == [6] * 20 and not draft.small
