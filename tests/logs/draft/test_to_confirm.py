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
    found = evaluate(parse_problem(draft.text, "draft", Path("."))[0], held)
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


@pytest.mark.parametrize("held", [np.arange(N) % 40 + 50, np.arange(N) + 0.5, [-1] * N])
def test_measurements_are_no_counts(held: Any) -> None:
    draft = draft_of(log(weight=held))
    assert role(draft, "weight") == "unused" and draft.rows == N


@pytest.mark.parametrize("good", [np.arange(N) % 3 == 0, np.where(np.arange(N) % 3 == 0, "high", "low")])
def test_the_index_of_pandas_has_no_role_and_two_values_may_be_the_outcome(tmp_path: Path, good: Any) -> None:
    held = pd.DataFrame({**log(), "repaid": good}).rename(columns={"repaid": "good"})
    held.index = np.arange(N) * 3
    held.to_parquet(tmp_path / "log.parquet")
    draft = draft_of(tmp_path / "log.parquet")
    assert role(draft, "__index_level_0__") == "unused" and role(draft, "good") == "outcome"
