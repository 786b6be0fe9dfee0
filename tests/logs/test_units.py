"""Rows that belong together: repeated rows are counted once, and ids whose rows are alike are noticed, on every engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairarm import Arm, LogMap, Outcome, Problem, Variable, evaluate, read_log, table
from fairarm.logs.units import UnitLines, alike, constant_units, is_unit_name

pytestmark = pytest.mark.xdist_group("servers")

PROBLEM = Problem(
    name="units",
    variables=[Variable("S", ("a", "b")), Variable("X", ("0", "1", "2")), Variable("V", ("no", "yes")), Variable("Y", ("0", "1"))],
    graph=[("S", "X"), ("X", "V"), ("X", "Y"), ("V", "Y")],
    sensitive="S",
    decision="V",
    outcome=Outcome("Y", values=(0, 1)),
    tolerance=0.1,
    arms=[Arm("old", table("V", [], [0.5, 0.5])), Arm("new", table("V", [], [0.1, 0.9]))],
    deployed="old",
)  # fmt: skip


def people(number: int, rows: int, icc: float, seed: int = 0) -> pd.DataFrame:
    """Each person has a chance of its own and keeps its group."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(number), rows)
    chance = rng.beta(*[(1 / icc - 1) / 2] * 2, number)[person] if icc else 0.5
    return pd.DataFrame(
        {
            "person_id": [f"p{i}" for i in person],
            "S": rng.choice(["a", "b"], number)[person],
            "X": rng.integers(0, 3, number * rows).astype(str),
            "V": rng.choice(["no", "yes"], number * rows),
            "Y": (rng.random(number * rows) < chance).astype(int),
        }
    )


def names(log: Any, where: LogMap | None = None, engine: str | None = None) -> list[str]:
    return [finding.name for finding in evaluate(PROBLEM, log, columns=where, engine=engine).findings]


def lines(unit: Any, y: Any, group: Any = None) -> UnitLines:
    y = np.asarray(y, dtype=float)
    zero = np.zeros(len(y), dtype=np.int64)
    return UnitLines(np.asarray(unit), zero, zero if group is None else np.asarray(group), zero + 1, y, y**2)


def test_the_worked_example() -> None:
    """(U8) of eight residuals of one cell, which are y times √(8/7)."""
    e = np.array([0.5, 0.25, -0.5, -0.25, 0.4, -0.1, -0.2, -0.1])
    assert alike(lines([0, 0, 1, 1, 2, 2, 3, 3], e * np.sqrt(7 / 8)))[0] == pytest.approx(1.261340, abs=1e-6)


@pytest.mark.parametrize("units", [3, 20, 500])
def test_independent_rows_are_rarely_taken_for_alike(units: int) -> None:
    """At most 1 of 200 logs; z > 3 alone would be raised in 1 of 60 with three shops."""
    rng, raised = np.random.default_rng(units), 0
    for _ in range(2000):
        raised += alike(lines(rng.integers(0, units, 1000), rng.random(1000) < 0.3))[1] < 0.00135
    assert raised <= 10


def test_an_attribute_that_is_constant_by_chance_says_nothing() -> None:
    """1 row in 100 is of the second group: that 30 pairs of rows are each of one group is chance."""
    pairs = np.repeat(np.arange(30), 2)
    assert constant_units(lines(pairs, pairs, np.repeat([0] * 29 + [1], 2))) == 0
    assert constant_units(lines(pairs, pairs, np.arange(60) % 2)) == 0
    assert constant_units(lines(pairs, pairs, np.repeat(np.arange(30) % 2, 2))) == 30


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("person_id", True), ("shopId", True), ("Customer-ID", True), ("id", True), ("userid", True), ("ward", True), ("school no", True),
     ("user_age", False), ("reward", False), ("width", False), ("paid", False), ("personal_income", False)],
)  # fmt: skip
def test_names_of_units(name: str, is_one: bool) -> None:
    assert is_unit_name(name) == is_one


def test_people_who_return_and_rows_written_five_times_are_noticed() -> None:
    assert {"rows-alike", "repeated-people"} <= {*names(people(250, 8, 0.3))}
    assert "repeated-people" in names(people(250, 8, 0.0))
    assert {"rows-alike", "repeated-people"} <= {*names(people(300, 1, 0.0).loc[np.repeat(np.arange(300), 5)])}
    assert not {"rows-alike", "repeated-people"} & {*names(people(300, 1, 0.0))}
    found = {finding.name: finding for finding in read_log(PROBLEM, people(250, 8, 0.3)).findings}
    assert "Keep one row of each 'person_id'" in found["rows-alike"].message and found["rows-alike"].blocks_answer


@pytest.mark.parametrize("order", ["S", "V", "X"])
def test_the_order_of_a_file_does_not_matter(order: str) -> None:
    """Sessions of five rows, one after the other, in a sorted file of independent rows."""
    rows = people(3000, 1, 0.0, seed=5).sort_values(order, kind="stable")
    rows["session"] = np.arange(3000) // 5
    assert "rows-alike" not in names(rows.drop(columns="person_id"))


def repeated_rows() -> pd.DataFrame:
    """400 rows, 40 of them written again, one of these with another outcome; two equal rows without an id."""
    rows = people(400, 1, 0.0).rename(columns={"person_id": "key"})
    again = rows.iloc[:40].copy()
    again.loc[0, "Y"] = 1 - again.loc[0, "Y"]
    lacking = rows.iloc[[50, 50]].assign(key=None)
    return pd.concat([rows, again, lacking], ignore_index=True)


Open = Callable[[pd.DataFrame, Path, pytest.FixtureRequest], tuple[Any, str | None]]


def _file(rows: pd.DataFrame, path: Path, kind: str) -> Path:
    if kind == "csv":
        rows.to_csv(path / "log.csv", index=False)
    else:
        rows.to_parquet(path / "log.parquet", index=False)
    return path / f"log.{kind}"


def _polars(rows: pd.DataFrame) -> Any:
    import polars

    return polars.from_pandas(rows).lazy()


def _ibis(rows: pd.DataFrame) -> Any:
    import ibis

    return ibis.memtable(rows)


PLACES: dict[str, Open] = {
    "pandas": lambda rows, path, request: (rows, None),
    "columns": lambda rows, path, request: (rows.to_dict("list"), None),
    "polars": lambda rows, path, request: (_polars(rows), None),
    "csv": lambda rows, path, request: (_file(rows, path, "csv"), None),
    "parquet": lambda rows, path, request: (_file(rows, path, "parquet"), None),
    "dask": lambda rows, path, request: (_file(rows, path, "csv"), "dask"),
    "ibis": lambda rows, path, request: (_ibis(rows), None),
    "spark": lambda rows, path, request: (request.getfixturevalue("spark").read.parquet(str(_file(rows, path, "parquet"))), None),
}  # fmt: skip


@pytest.mark.parametrize(
    "place", [pytest.param(name, marks=pytest.mark.slow) if name == "spark" else name for name in PLACES]
)
def test_repeated_rows_count_once_and_units_are_found_in_every_place(
    place: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    log, engine = PLACES[place](repeated_rows(), tmp_path, request)
    found = evaluate(PROBLEM, log, columns=LogMap(row_id="key"), engine=engine)
    said = {finding.name: finding.rows for finding in found.findings}
    assert (found.rows, found.used) == (442, 403)
    assert said == {"repeated-rows": 39, "duplicate-rows": 1}
    log, engine = PLACES[place](people(250, 4, 0.3), tmp_path, request)
    assert {"rows-alike", "repeated-people"} <= {*names(log, engine=engine)}


def test_rows_are_kept_where_nobody_looks_for_repeats() -> None:
    found = evaluate(PROBLEM, repeated_rows(), columns=LogMap(row_id="key"), duplicates=False)
    assert found.used == 442 and not found.findings


def test_repeated_rows_keep_what_the_map_says_of_values() -> None:
    """Outcomes that are missing by a word, and rows that are left out."""
    rows = repeated_rows().astype({"Y": str})
    rows.loc[100:104, "Y"], rows.loc[105:106, "S"] = "pending", "other"
    where = LogMap(row_id="key", missing_values=("pending",), drop={"S": ["other"]})
    found = evaluate(PROBLEM, rows, columns=where)
    said = {finding.name: finding.rows for finding in found.findings}
    assert said == {"repeated-rows": 39, "rows-left-out": 2, "missing-outcomes": 5, "duplicate-rows": 1}
    assert (found.rows, found.used) == (442, 396)
