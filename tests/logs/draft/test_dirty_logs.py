"""Ordinary dirty files: what `init` drafts from them loads, evaluates, and gives the numbers of the cleaned rows.

The oracle knows which cells were made dirty, and takes means of the other rows with pandas alone.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairarm.cli import main
from quick import quick

GROUPS = (("F", "M"), ("female", "male"), ("1", "2"), ("Woman", "Man"), ("b", "a"))
STRAYS = ("U", "unknown", "?", "X", "n/a", "other", "-", "NA")


@dataclass(frozen=True)
class Dirty:
    """A file as it might arrive, and which of its rows are sound."""

    frame: pd.DataFrame
    clean: pd.DataFrame
    sound: Any
    """(n,) every column of the row that is used holds what it should."""


def dirty(seed: int) -> Dirty:
    """A log in which a few cells of every column are missing, stray or spelt otherwise."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(300, 900))
    sex = rng.choice(GROUPS[seed % len(GROUPS)], n)
    region = rng.choice(["north", "south", "west"][: 2 + seed % 2], n)
    offer = rng.choice(["none", "small", "large"], n)
    outcome = {
        0: lambda: rng.integers(0, 2, n).astype(str),
        1: lambda: rng.choice(["no", "yes"], n),
        2: lambda: np.round(rng.lognormal(6, 1, n), 2).astype(str),
        3: lambda: rng.integers(-40, 90, n).astype(str),
    }[seed % 4]()
    clean = pd.DataFrame({"sex": sex, "region": region, "offer": offer, "repaid": outcome})
    frame = clean.astype(object)
    for column in clean:
        for how in (_missing, _stray, _spelt):
            at = rng.choice(n, int(rng.integers(0, max(2, n // 150))), replace=False)
            frame.loc[at, column] = [how(rng, str(column), text) for text in clean.loc[at, column]]
    found = frame.apply(lambda held: held.str.strip().str.lower())
    sound = found.eq(clean.apply(lambda held: held.str.lower())).all(axis=1).to_numpy()
    frame["note"] = [f"text {i}, of its own" for i in range(n)]
    frame["always"] = "x"
    frame["empty"] = ""
    return Dirty(frame, clean, sound)


def _missing(rng: np.random.Generator, column: str, text: str) -> str:
    return ""


def _stray(rng: np.random.Generator, column: str, text: str) -> str:
    return str(rng.choice(STRAYS if column == "repaid" else ("unknown", "?", "n/a")))


def _spelt(rng: np.random.Generator, column: str, text: str) -> str:
    return (text.upper(), text.title(), f" {text}", f"{text}  ")[int(rng.integers(4))]


def run(*arguments: str, capsys: Any) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["fairarm", *arguments, "--json"])
        with pytest.raises(SystemExit) as ended:
            main()
    out, err = capsys.readouterr()
    assert not ended.value.code, err
    return json.loads(out)


def expected(made: Dirty) -> dict[str, tuple[int, float]]:
    """Rows and mean outcome of each group, by pandas."""
    kept = made.clean[made.sound]
    worth = pd.to_numeric(kept["repaid"].replace({"no": "0", "yes": "1"}))
    return {str(g): (len(y), float(y.mean())) for g, y in worth.groupby(kept["sex"])}


@pytest.mark.parametrize("seed", quick(range(20), 6))
def test_the_draft_evaluates_to_the_numbers_of_the_cleaned_rows(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    made = dirty(seed)
    made.frame.to_csv("log.csv", index=False)
    want = expected(made)
    drafted = run("init", "log.csv", "--tolerance", "0.1", capsys=capsys)
    roles = {column["name"]: column["role"] for column in drafted["columns"]}
    assert roles == {"sex": "sensitive", "region": "input", "offer": "decision", "repaid": "outcome", "note": "unused", "always": "unused", "empty": "unused"}  # fmt: skip
    for column in drafted["columns"]:
        held = made.frame[column["name"]].replace("", None).dropna()
        seen = {value["value"]: value["rows"] for value in column["values"]}
        assert {value: int((held == value).sum()) for value in seen} == seen
        assert sum(seen.values()) + column["other_rows"] == len(held) == len(made.frame) - column["missing"]
        assert len(seen) + column["other_values"] == held.nunique()
    assert {group["group"]: group["rows"] for group in drafted["groups"]} == {g: rows for g, (rows, _) in want.items()}
    for group in drafted["groups"]:
        assert group["mean"] == pytest.approx(want[group["group"]][1], rel=1e-9)
    first, second = (want[group["group"]][1] for group in drafted["groups"])
    assert drafted["plain_gap"] == pytest.approx(first - second, rel=1e-9, abs=1e-9)
    assert drafted["used"] == made.sound.sum() and drafted["rows"] == len(made.frame)
    found = run("evaluate", "problem.toml", "log.csv", capsys=capsys)
    assert (found["used"], found["rows"]) == (made.sound.sum(), len(made.frame))
    observed = {group["group"]: (group["rows"], pytest.approx(group["mean"], rel=1e-9)) for group in found["observed"]}
    assert observed == want
    assert found["plain_gap"] == pytest.approx(drafted["plain_gap"], rel=1e-12, abs=1e-12)
    assert {part["column"] for part in drafted["drop"]} <= {"sex", "region"}
    odd = made.frame["offer"].str.strip().str.lower()
    without = made.frame["offer"][~odd.isin(["none", "small", "large"])].value_counts()
    assert {part["value"]: part["rows"] for part in drafted["unusable_decisions"]} == without.to_dict()
    if len(without):
        assert found["certified_status"] == "UNDECIDED" and any("blocks" in each["level"] for each in found["findings"])
    dropped = {(part["column"], part["value"]): part["rows"] for part in drafted["drop"]}
    assert all(
        made.frame[column].str.strip().eq(value.strip()).sum() == rows for (column, value), rows in dropped.items()
    )
