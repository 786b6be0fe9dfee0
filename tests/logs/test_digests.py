"""Digests say which rows a log holds, and no arm is recommended from the rows that it was learned from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairarm import (  # fmt: skip
    Arm,
    FairarmError,
    LogMap,
    Outcome,
    Problem,
    Variable,
    evaluate,
    log_digest,
    open_log,
    read_problem,
    split_log,
    table,
    write_problem,
)
from fairarm.logs.digests import canonical, overlaps


def typed_rows(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Columns of every type that a CSV file holds as text."""
    rng = np.random.default_rng(seed)
    start = pd.Timestamp("2024-01-01")
    rows = pd.DataFrame(
        {
            "row_id": rng.permutation(n) + 1000 * seed,
            "text": rng.choice(["A", "b c", "é"], n),
            "real": rng.normal(size=n),
            "short": rng.normal(size=n).astype("float32"),
            "yes": rng.random(n) < 0.5,
            "large": 2**60 + rng.integers(0, 99, n),
            "time": start + pd.to_timedelta(rng.integers(0, 10**6, n), unit="s"),
            "zoned": start.tz_localize("Europe/Berlin") + pd.to_timedelta(rng.integers(0, 10**6, n), unit="ms"),
            "day": start + pd.to_timedelta(rng.integers(0, 99, n), unit="D"),
            "whole": pd.array(rng.integers(0, 9, n), dtype="Int64"),
        }
    )
    rows.loc[3, "whole"], rows.loc[4, "text"], rows.loc[5, "real"] = pd.NA, None, np.nan
    return rows


def test_the_same_rows_have_one_digest(tmp_path: Path) -> None:
    """As CSV and Parquet, shuffled, with columns in another order, and by Dask."""
    rows = typed_rows()
    rows.to_csv(tmp_path / "log.csv", index=False)
    rows.to_parquet(tmp_path / "log.parquet")
    shuffled = rows.sample(frac=1, random_state=1)[rows.columns[::-1]]
    same = [
        rows,
        shuffled,
        tmp_path / "log.csv",
        tmp_path / "log.parquet",
        open_log(tmp_path / "log.csv", engine="dask"),
    ]
    assert len({log_digest(log) for log in same}) == 1
    changed = rows.assign(real=rows["real"].where(rows.index != 7, 0.5))
    assert len({log_digest(log).split(":")[1] for log in (rows, changed, rows.iloc[1:], rows.rename(columns={"yes": "no"}))}) == 4  # fmt: skip
    swapped = rows.assign(text=rows["text"].sample(frac=1, random_state=2).to_numpy())  # the same values on other rows
    assert not overlaps(log_digest(rows.drop(columns="row_id")), log_digest(swapped.drop(columns="row_id")))


@pytest.mark.parametrize(
    "same",
    [(7, 7.0, "7", "7.0", " 7"), (0.1, np.float32(0.1).item(), "0.10"), (True, "true", "True"), (None, float("nan"), "", "NA"), (2**60 + 1, str(2**60 + 1)),
     ("2024-01-01", "2024-01-01T00:00:00", "2024-01-01 01:00:00+01:00", "2024-01-01 00:00:00.000Z")],
)  # fmt: skip
def test_one_text_for_a_value_however_it_is_held(same: tuple[Any, ...]) -> None:
    assert len({canonical(value) for value in same}) == 1


def test_values_that_differ_keep_texts_that_differ() -> None:
    values = [0, 1, 0.1, 0.1000001, 2**60, 2**60 + 1, "a", "true", "", "2024-01-01", "2024-01-02"]
    assert len({canonical(value) for value in values}) == len(values)


def test_halves_are_accepted_and_wholes_are_not() -> None:
    rows = typed_rows()
    first, second = split_log(rows, 0.25)
    assert (first.rows(), second.rows()) == (100, 300)
    whole, again = log_digest(rows), split_log(rows.sample(frac=1, random_state=3), 0.25)[0]
    assert first.digest == again.digest != split_log(rows, 0.25, seed=1)[0].digest
    assert not overlaps(first.digest, second.digest) and not overlaps(first.digest, log_digest(second.to_arrow()))
    assert overlaps(first.digest, whole) and overlaps(whole, second.digest) and overlaps(whole, log_digest(first))
    other = typed_rows(seed=1)
    assert not overlaps(whole, log_digest(other))
    few, some = (pd.concat([other, rows.iloc[:shared]]) for shared in (2, 20))
    assert not overlaps(whole, log_digest(few)) and overlaps(whole, log_digest(some))


def test_large_logs_share_ids_as_estimated() -> None:
    ids = np.arange(50_000)
    one, half, none = (log_digest({"key": ids + shift}, by="key") for shift in (0, 25_000, 50_000))
    assert overlaps(one, half) and not overlaps(one, none)


def test_rows_without_ids_are_split_one_by_one_and_people_stay_together() -> None:
    rows = pd.DataFrame({"person": np.repeat(np.arange(50), 4), "y": np.tile([0, 1], 100)})
    first, second = (part.to_arrow().to_pandas() for part in split_log(rows, by="person"))
    assert not {*first["person"]} & {*second["person"]} and len(first) == len(second) == 100
    first, second = split_log(rows.drop(columns="person"), seed=4)
    assert first.rows() == 100 and 0.3 < np.mean(first.to_arrow()["y"].to_pylist()) < 0.7
    assert first.digest == split_log(rows.drop(columns="person").iloc[::-1], seed=4)[0].digest


@pytest.mark.parametrize(
    ("asked", "message"), [({"share": 1.0}, "share is 1.0"), ({"by": "nobody"}, "no column 'nobody'")]
)
def test_bad_splits_are_one_sentence(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(FairarmError, match=message):
        split_log(typed_rows(20), **asked)


# ---- arms ----


def logged(n: int = 1000, seed: int = 0) -> pd.DataFrame:
    """The decision has no effect on the outcome."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"S": rng.choice(["a", "b"], n), "X": rng.integers(0, 20, n).astype(str), "V": rng.choice(["0", "1", "2"], n), "Y": rng.integers(0, 2, n), "p": 1 / 3})  # fmt: skip


def greedy(rows: pd.DataFrame) -> np.ndarray:
    """The decision with the highest mean outcome in each context."""
    means = rows.astype({"X": int, "V": int, "Y": int}).groupby(["X", "V"])["Y"].mean().unstack().reindex(range(20)).to_numpy()  # fmt: skip
    return np.eye(3)[np.nan_to_num(means).argmax(axis=1)]


def problem(*arms: Arm) -> Problem:
    return Problem(
        name="learned",
        variables=[Variable("S", ("a", "b")), Variable("X", tuple(map(str, range(20)))), Variable("V", ("0", "1", "2")), Variable("Y", ("0", "1"))],
        graph=[("S", "X"), ("X", "V"), ("X", "Y"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.3,
        arms=[*arms],
        deployed="old",
    )  # fmt: skip


OLD = Arm("old", table("V", [], [1 / 3, 1 / 3, 1 / 3]))


def test_an_arm_keeps_the_digest_of_its_log(tmp_path: Path) -> None:
    rows = logged()
    arm = Arm("new", table("V", ["X"], greedy(rows)), open_log(rows))
    assert arm.learned_from == log_digest(rows) == Arm("new", arm.mechanism, log_digest(rows)).learned_from
    first, _ = split_log(rows)
    write_problem(problem(OLD, replace(arm, learned_from=first)), tmp_path / "problem.toml")
    again = read_problem(tmp_path / "problem.toml").problem
    assert [each.learned_from for each in again.arms] == [None, first.digest]
    for wrong in ("log.csv", 5, rows):
        with pytest.raises(FairarmError, match=r"learned_from is .*Give the log, as open_log"):
            replace(arm, learned_from=wrong)


def test_no_arm_is_recommended_from_the_rows_it_was_learned_from(tmp_path: Path) -> None:
    rows = logged(seed=2)
    new = Arm("new", table("V", ["X"], greedy(rows)), open_log(rows))
    unmarked = evaluate(problem(OLD, replace(new, learned_from=None)), rows)
    assert unmarked.recommended == "new"  # it only looks better
    rows.to_csv(tmp_path / "log.csv", index=False)
    for log in (rows, rows.sample(frac=1, random_state=0), tmp_path / "log.csv"):
        found = evaluate(problem(OLD, new), log)
        assert found.recommended == found.arm == "old"
        assert "learned-from-this-log" in [finding.name for finding in found.findings]
        old, shown = found.arms
        assert shown.learned and not old.learned and shown.outcome.certified_low is None
        assert shown.outcome.value == unmarked.arms[1].outcome.value  # shown all the same
        assert shown.fair_probability == unmarked.arms[1].fair_probability and not shown.best_probability
        assert old.best_probability == old.fair_probability
    assert not evaluate(problem(OLD, new), logged(seed=3)).findings


def test_it_is_an_error_where_no_other_arm_is_left() -> None:
    rows = logged()
    with pytest.raises(FairarmError, match=r"Every arm was learned from these rows.*split_log"):
        evaluate(problem(replace(OLD, learned_from=open_log(rows))), rows)


def test_a_rule_learned_on_one_half_is_estimated_rightly_on_the_other() -> None:
    """Of the rows that it was learned from, its outcome is overestimated in nearly every log."""
    held = 0
    for seed in range(12):
        first, second = split_log(logged(seed=100 + seed))
        new = Arm("new", table("V", ["X"], greedy(first.to_arrow().to_pandas())), first)
        found = evaluate(problem(OLD, new), second, columns=LogMap())
        estimate = found.arms[1].outcome
        held += estimate.low <= 0.5 <= estimate.high
        assert not found.findings
    assert held >= 10
