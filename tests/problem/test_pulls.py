"""Rows as users have them: what `batch` takes, and one line for everything else."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fairarm.catalog import load_problem
from fairarm.errors import DataError, OptionError
from fairarm.problem.mechanism import Arm, table
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import MOST_ROWS, Batch, Request, batch, check_batch, groups_of
from fairarm.problem.variables import Variable

GOOD = {"arm": ["old", "new"], "S": ["a", "b"], "V": ["0", "1"], "Y": [0.5, 2.5]}


def real_problem() -> Problem:
    return Problem(
        name="real",
        variables=[Variable("S", ("a", "b")), Variable("V", ("0", "1"))],
        graph=[("S", "V"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", low=0, high=3),
        tolerance=1.0,
        arms=[Arm(name, table("V", ["S"], [[0.7, 0.3], [0.5, 0.5]])) for name in ("old", "new")],
    )


PROBLEM = real_problem()


@pytest.mark.parametrize(
    "rows",
    [
        GOOD,
        pd.DataFrame(GOOD),
        pl.DataFrame(GOOD),
        pa.table(GOOD),
        [dict(zip(GOOD, line, strict=True)) for line in zip(*GOOD.values(), strict=True)],
        {**GOOD, "Y": ["0.5", "2.5"]},
        {**GOOD, "arm": np.array([b"old", b"new"]), "count": np.array([1, 1], dtype=np.uint64)},
        pd.DataFrame({**GOOD, "column_names": [1, 2]}),
    ],
    ids=["columns", "pandas", "polars", "pyarrow", "records", "numbers as text", "bytes", "an odd name"],
)
def test_the_same_rows_in_any_form_are_the_same_batch(rows: Any) -> None:
    assert batch(PROBLEM, rows).digest() == batch(PROBLEM, GOOD).digest()


WRONG: dict[str, Any] = {
    "None": None,
    "a number": 3,
    "text": "old",
    "bytes": b"old",
    "a generator": (row for row in [{"arm": "old"}]),
    "a set": {"arm"},
    "an array": np.zeros((2, 4)),
    "a list of lists": [["old", "a", "0", 0.5]],
    "a list of None": [None],
    "records and something else": [{"arm": "old"}, 3],
    "nothing": [],
    "no columns": {},
    "one record": {"arm": "old", "S": "a", "V": "0", "Y": 0.5},
    "records with other keys": [{"arm": "old"}, {"S": "a"}],
    "ragged": {**GOOD, "V": ["0"]},
    "nested and ragged": {**GOOD, "V": [["0"], ["1", "0"]]},
    "two dimensions": {**GOOD, "V": [["0"], ["1"]]},
    "a generator as a column": {**GOOD, "V": (v for v in "01")},
    "a column of text": {**GOOD, "V": "01"},
    "no such arm": {**GOOD, "arm": ["old", "older"]},
    "a name on two lines": {**GOOD, "arm": ["old", "a\nb" * 900]},
    "None as an arm": {**GOOD, "arm": ["old", None]},
    "bytes that are not text": {**GOOD, "arm": np.array([b"old", b"\xff"])},
    "a missing outcome": {**GOOD, "Y": [0.5, None]},
    "an outcome that is nan": {**GOOD, "Y": [0.5, float("nan")]},
    "an infinite outcome": {**GOOD, "Y": [0.5, float("inf")]},
    "an outcome in words": {**GOOD, "Y": [0.5, "much"]},
    "a complex outcome": {**GOOD, "Y": [0.5, 1j]},
    "an outcome that is a date": {**GOOD, "Y": np.array(["1970-01-01", "1970-01-02"], dtype="datetime64[D]")},
    "dates as objects": {**GOOD, "Y": [date(1970, 1, 1), date(1970, 1, 2)]},
    "an integer beyond floats": {**GOOD, "Y": [0.5, 10**400]},
    "a negative count": {**GOOD, "count": [1, -1]},
    "half a count": {**GOOD, "count": [1, 0.5]},
    "counts in words": {**GOOD, "count": ["1", "2"]},
    "a missing count": {**GOOD, "count": [1, None]},
    "counts that are true": {**GOOD, "count": [True, False]},
    "a count above 2^53": {**GOOD, "count": [1, MOST_ROWS]},
    "a count above 2^63": {**GOOD, "count": np.array([1, 2**64 - 1], dtype=np.uint64)},
    "a count above 2^64": {**GOOD, "count": [1, 2**70]},
    "counts that overflow together": {**GOOD, "count": [2**62, 2**62]},
}


@pytest.mark.parametrize("what", list(WRONG))
def test_anything_else_is_refused_in_one_line(what: str) -> None:
    with pytest.raises(DataError) as refused:
        batch(PROBLEM, WRONG[what])
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 400


def test_the_largest_number_of_rows_is_taken() -> None:
    made = batch(PROBLEM, {**GOOD, "count": [1, MOST_ROWS - 1]})
    assert made.total == MOST_ROWS == 2**53


BY_HAND: dict[str, dict[str, Any]] = {
    "lists": {"arm": [0, 1], "regime": [0, 0], "count": [1, 1]},
    "None": {"arm": None},
    "columns that are none": {"columns": None},
    "a scalar": {"count": np.int64(1)},
    "text as an outcome": {"columns": {"S": np.zeros(2, int), "V": np.zeros(2, int), "Y": np.array(["1", "2"])}},
    "objects as an outcome": {"columns": {"S": np.zeros(2, int), "V": np.zeros(2, int), "Y": np.array([1, None])}},
    "a column that is a list": {"columns": {"S": np.zeros(2, int), "V": np.zeros(2, int), "Y": [0.5, 0.5]}},
    "counts that overflow together": {"count": np.array([2**62, 2**62])},
}


@pytest.mark.parametrize("what", list(BY_HAND))
def test_a_batch_made_by_hand_is_checked_too(what: str) -> None:
    good = batch(PROBLEM, GOOD)
    parts = {"arm": good.arm, "regime": good.regime, "columns": good.columns, "count": good.count, **BY_HAND[what]}
    with pytest.raises(DataError) as refused:
        check_batch(PROBLEM, Batch(**parts))
    assert "\n" not in str(refused.value)


def test_the_total_of_a_batch_never_overflows() -> None:
    made = batch(PROBLEM, GOOD)
    assert Batch(made.arm, made.regime, made.columns, np.array([2**62, 2**62])).total == 2**63


def test_labels_are_taken_back() -> None:
    world = load_problem("coin").world
    assert world is not None
    from fairarm.algorithms import algorithm

    made = world.pull(algorithm("uniform", world.problem, pulls=40).ask(), np.random.default_rng(0))
    assert batch(world.problem, made.labels(world.problem)).digest() == made.digest()


def test_a_scenario_is_not_its_problem() -> None:
    scenario: Any = load_problem("coin")
    with pytest.raises(OptionError, match=r"got Scenario\. Of a scenario, pass scenario\.problem"):
        batch(scenario, [])


# ---- several attributes ----

SEVERAL = Problem(
    name="several",
    variables=[
        Variable("region", ("north", "south")), Variable("race", ("a", "b", "c")), Variable("V", ("0", "1")), Variable("Y", ("no", "yes")),
    ],
    graph=[("region", "race"), ("region", "V"), ("race", "V"), ("V", "Y")],
    sensitive=["race", "region"],
    decision="V",
    outcome=Outcome("Y", values=(0, 1)),
    tolerance=0.1,
    arms=[Arm(name, table("V", ["region", "race"], np.full((2, 3, 2), 0.5))) for name in ("old", "new")],
    forced=["race=b", "race=c,region=south"],
)  # fmt: skip
ROWS = {
    "arm": ["old", "new", "new", "old"],
    "regime": ["natural", "race=b", "race=c,region=south", "natural"],
    "region": ["south", "north", "south", "north"],
    "race": ["a", "b", "c", "c"],
    "V": ["0", "1", "1", "0"],
    "Y": ["yes", "no", "yes", "no"],
    "count": [1, 2, 3, 4],
}


def test_labels_of_rows_from_several_columns() -> None:
    made = batch(SEVERAL, ROWS)
    labels = groups_of(SEVERAL, made)
    assert [SEVERAL.groups[i] for i in labels] == [
        f"race={race},region={region}" for race, region in zip(ROWS["race"], ROWS["region"], strict=True)
    ]
    codes = SEVERAL.compiled.profile_codes[labels]
    assert np.array_equal(codes, np.stack([made.columns["race"], made.columns["region"]], axis=1))
    assert (
        made.labels(SEVERAL) == {**ROWS, "arm": ROWS["arm"]}
        and batch(SEVERAL, made.labels(SEVERAL)).digest() == made.digest()
    )


def test_which_labels_fit_a_regime() -> None:
    fits = SEVERAL.compiled.regime_fits
    assert fits.shape == (3, 6) and fits[0].all()
    assert [group for group, fit in zip(SEVERAL.groups, fits[1], strict=True) if fit] == [
        "race=b,region=north",
        "race=b,region=south",
    ]
    assert [group for group, fit in zip(SEVERAL.groups, fits[2], strict=True) if fit] == ["race=c,region=south"]
    turned = load_problem("coin").problem
    assert turned.compiled.regime_fits.tolist() == [[True, True], [True, False], [False, True]]


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        (
            "race",
            "a",
            "A row of regime 'race=b' has another race or region. A forced pull must return the states it was forced to",
        ),
        ("regime", "region=north", "holds 'region=north', which is not one of: natural, race=b, race=c,region=south"),
        ("race", "d", "Column 'race' holds 'd'"),
    ],
)
def test_a_row_that_its_regime_cannot_return_is_refused(column: str, value: str, expected: str) -> None:
    rows: dict[str, list[Any]] = {name: list(values) for name, values in ROWS.items()}
    rows[column][1] = value
    with pytest.raises(DataError, match=expected):
        batch(SEVERAL, rows)


@pytest.mark.parametrize("shape", [(2, 3), (3,), (1, 3, 2)])
def test_counts_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    """Turned round they would be pulls of other arms in other regimes."""
    coin = load_problem("coin").problem
    with pytest.raises(
        OptionError, match=rf"per regime and a column per arm, \(3, 2\); got shape {re.escape(str(shape))}"
    ):
        Request(coin.arm_names, coin.regimes, np.zeros(shape, dtype=np.int64))
