"""Rows left out on purpose: on every engine, counted in every output, refused where the value counts."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from fairarm import Arm, LogMap, Outcome, Problem, Variable, evaluate, table
from fairarm.beliefs.assumptions import Assumption
from fairarm.cli.app import app
from fairarm.errors import DataError, FairarmError, ProblemError
from fairarm.experiments.start_from_log import read_log
from fairarm.logs.reading import Dropped, LogReader
from fairarm.logs.sources import open_log
from fairarm.readers.problem_file import read_problem
from fairarm.readers.problem_writer import write_problem
from fairarm.reports.words import sentence

BASE = Problem(
    name="base",
    variables=[Variable("S", ("a", "b")), Variable("V", ("no", "yes")), Variable("Y", ("0", "1"))],
    graph=[("S", "V"), ("V", "Y")],
    sensitive="S",
    decision="V",
    outcome=Outcome("Y", values=(0, 1)),
    tolerance=0.1,
    arms=[Arm("old", table("V", [], [0.5, 0.5])), Arm("new", table("V", ["S"], [[0.2, 0.8], [0.0, 1.0]]))],
    deployed="old",
)
COLUMNS: dict[str, list[Any]] = {
    "S": ["a", "b", "U", " U ", "", None, "a", "b", "u", "a"],
    "V": ["no", "yes"] * 5,
    "Y": [0, 1] * 5,
    "test": [False, False, False, True, False, False, True, None, False, False],
    "code": [1, 2, -99, 2, 3, 4, 5, 6, 7, 9_007_199_254_740_993],
    "score": [0.5, -99.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, None, 0.5],
    "n": [1, 1, 5, 1, 1, 1, 1, 1, 1, 1],
}


def forms(folder: Path, columns: dict[str, list[Any]]) -> dict[str, tuple[Any, str | None]]:
    import dask.dataframe as dd

    rows = pa.table(columns)
    pq.write_table(rows, folder / "log.parquet")
    frame = rows.to_pandas(types_mapper=pd.ArrowDtype)
    frame.to_csv(folder / "log.csv", index=False)
    with sqlite3.connect(folder / "log.db") as connection:
        pd.DataFrame(columns).assign(test=[None if t is None else str(t) for t in columns["test"]]).to_sql(
            "log", connection
        )
    connection.close()
    return {
        "parquet": (str(folder / "log.parquet"), None),
        "csv": (str(folder / "log.csv"), None),
        "dask parquet": (str(folder / "log.parquet"), "dask"),
        "dask csv": (str(folder / "log.csv"), "dask"),
        "pyarrow": (rows, None),
        "pandas": (pd.DataFrame(columns), None),
        "polars": (pl.from_arrow(rows), None),
        "duckdb": (duckdb.connect().from_arrow(rows), None),
        "sqlite": (f"sqlite:///{folder / 'log.db'}", None),
        "dask": (dd.from_pandas(frame, npartitions=3), None),
    }


KINDS = ("parquet", "csv", "dask parquet", "dask csv", "pyarrow", "pandas", "polars", "duckdb", "sqlite", "dask")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by_rows", [False, True])
def test_rows_are_left_out_and_counted_by_value(kind: str, by_rows: bool, tmp_path: Path) -> None:
    source, engine = forms(tmp_path, COLUMNS)[kind]
    drop = {"S": ["U", ""], "test": ["True"], "code": ["9007199254740993", "x"], "score": ["-99.0"]}
    reader = LogReader(BASE, open_log(source, engine=engine), LogMap(drop=drop))
    total = sum(part.batch.total for part in reader.chunks(4)) if by_rows else reader.cells().batch.total
    counts = {(part.column, part.value): part.rows for part in reader.dropped}
    assert counts == {
        ("S", "U"): 2, ("S", ""): 2, ("test", "True"): 1, ("code", "9007199254740993"): 1, ("code", "x"): 0, ("score", "-99.0"): 1,
    }  # fmt: skip
    assert (reader.rows, reader.used, total) == (10, 2, 2)  # one more is 'u', which is no state
    assert [(f.name, f.rows, f.blocks_certification) for f in reader.findings()] == [
        ("rows-left-out", 7, False),
        ("undeclared-states", 1, True),
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by_rows", [False, True])
def test_values_that_mean_a_missing_one_are_read_as_missing(kind: str, by_rows: bool, tmp_path: Path) -> None:
    """Of the outcome in two rows, of the attribute in one; a state is never among them."""
    held = COLUMNS | {
        "S": ["a", "b"] * 4 + ["?", "a"],
        "Y": ["0", "1", ".", "pending", " . ", "1", "0", "x", "0", None],
    }
    source, engine = forms(tmp_path, held)[kind]
    for outcome in (BASE.outcome, Outcome("Y", low=0, high=1)):
        states = [v for v in BASE.variables.values() if v.name != "Y" or outcome.values]
        asked = replace(BASE, outcome=outcome, variables=states)
        reader = LogReader(asked, open_log(source, engine=engine), LogMap(missing_values=[".", "pending", "?"]))
        total = sum(part.batch.total for part in reader.chunks(4)) if by_rows else reader.cells().batch.total
        other = "undeclared-states" if outcome.values else "outcomes-not-numbers"
        counted = {f.name: f.rows for f in reader.findings()}
        assert total == 4 and counted == {"missing-outcomes": 4, "missing-values": 1, other: 1}


def test_missing_values_are_no_states_and_no_numbers_in_range() -> None:
    rows = {"S": ["a", "b"] * 20, "V": ["no", "yes", "yes", "no"] * 10, "Y": [1, 0] * 20}
    real = replace(
        BASE, outcome=Outcome("Y", low=-1, high=1), variables=[v for v in BASE.variables.values() if v.name != "Y"]
    )
    for problem, wrong in ((BASE, ["no"]), (BASE, ["1.0"]), (real, ["-1"]), (BASE, "pending"), (BASE, [3])):
        with pytest.raises(ProblemError, match=r"log\.missing_values"):
            evaluate(problem, rows, columns=LogMap(missing_values=wrong))


def test_missing_values_in_a_problem_file(tmp_path: Path) -> None:
    path, log = tmp_path / "p.toml", LogMap(missing_values=(".", "pending"))
    write_problem(BASE, path, columns=log)
    assert "missing_values = [" in path.read_text() and read_problem(path).columns == log


def test_a_value_that_no_row_has_is_on_record_only() -> None:
    rows = {"S": ["a", "b"] * 20, "V": ["no", "yes", "yes", "no"] * 10, "Y": [1, 0] * 20}
    found = evaluate(BASE, rows, columns=LogMap(drop={"S": ["U", ""]}))
    assert [part.rows for part in found.dropped] == [0, 0]
    assert "rows-left-out" not in [f.name for f in found.findings]
    assert not any(said.code == Assumption.LEFT_OUT for said in found.assumptions)
    late = LogReader(BASE, open_log(rows), LogMap(drop={"Y": ["x"]}))
    late.cells()
    assert late.findings() == []


def test_lines_that_stand_for_rows_are_counted_as_rows() -> None:
    reader = LogReader(BASE, open_log(COLUMNS), LogMap(count="n", drop={"S": ["U"]}))
    assert reader.dropped == (Dropped("S", "U", 6),) and reader.rows == 6
    reader.cells()
    assert reader.rows == 14


def test_what_is_left_out_is_left_out_of_duplicates_and_of_the_newest_time() -> None:
    columns = {
        "S": ["a", "b", "a", "U", "U"],
        "V": ["no"] * 5,
        "Y": [1] * 5,
        "id": [1, 2, 3, 3, 3],
        "at": [0.0, 1.0, 2.0, 9e9, 9e9],
    }
    log = LogMap(drop={"S": ["U"]}, row_id="id", time="at", outcome_within=1.5)
    found = evaluate(BASE, columns, columns=log)
    names = [f.name for f in found.findings]
    assert "outcomes-not-due" in names and "duplicate-rows" not in names
    assert (found.rows, found.used, found.dropped[0].rows) == (5, 1, 2)


@pytest.mark.parametrize(
    ("drop", "message"),
    [
        ({"S": ["a"]}, "declared state"),
        ({"S": [" a "]}, "declared state"),
        ({"Y": ["1.0"]}, "declared state"),
        ({"arm": ["old"]}, "declared state"),
        ({"S": ["F"]}, "log.labels"),
        ({"S": "U"}, "a list of texts"),
        ({"S": []}, "a list of texts"),
        ({"other": [str(i) for i in range(201)]}, "more than 200"),
    ],
)
def test_a_value_that_counts_is_not_left_out(drop: Any, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        LogMap(arm="arm", labels={"S": {"F": "a"}}, drop=drop).check(BASE)


def test_a_number_in_the_range_is_not_left_out() -> None:
    real = replace(
        BASE, outcome=Outcome("Y", low=0, high=10), variables=[v for k, v in BASE.variables.items() if k != "Y"]
    )
    with pytest.raises(ProblemError, match="declared range"):
        LogMap(drop={"Y": ["7"]}).check(real)
    LogMap(drop={"Y": ["-1"]}).check(real)


def test_an_unknown_column_is_an_error() -> None:
    with pytest.raises(DataError, match="no column 'sax'"):
        evaluate(BASE, COLUMNS, columns=LogMap(drop={"sax": ["U"]}))


def test_rows_chosen_by_their_outcome_void() -> None:
    columns = {"S": ["a", "b"] * 50, "V": ["no", "yes", "yes", "no"] * 25, "Y": ["0", "1", "1", "lost"] * 25}
    found = evaluate(BASE, columns, columns=LogMap(drop={"Y": ["lost"]}))
    assert "left-out-after-the-decision" in [f.name for f in found.findings if f.blocks_certification]
    assert found.certified_by is None


CHOSEN: dict[str, list[Any]] = {
    "S": ["a", "b"] * 100,
    "V": ["no", "yes", "yes", "no"] * 49 + ["revised"] * 4,
    "Y": ["0", "1", "1", "0", "1"] * 40,
    "p": [0.5] * 190 + [0.1] * 10,
    "q": [0.5] * 200,
    "n": [1] * 190 + [7] * 10,
    "status": ["ok"] * 190 + ["cancelled"] * 10,
    "policy": ["old"] * 190 + ["trial"] * 10,
}


@pytest.mark.parametrize(
    "log",
    [
        LogMap(drop={"V": ["revised"]}),
        LogMap(drop={"p": ["0.1"]}, propensity="p"),
        LogMap(drop={"p": ["0.1"]}, propensities={"no": "p", "yes": "q"}),
        LogMap(drop={"n": ["7"]}, count="n"),
    ],
)
def test_rows_chosen_by_their_decision_void(log: LogMap) -> None:
    reader = LogReader(BASE, open_log(CHOSEN), log)
    found = [f for f in reader.findings() if f.name == "left-out-after-the-decision"]
    assert (
        len(found) == 1
        and found[0].blocks_certification
        and found[0].rows == sum(part.rows for part in reader.dropped) > 0
    )
    assert not reader.unplaced


def test_it_is_said_that_a_column_must_have_been_known_before_the_decision() -> None:
    rest = "this holds if 'status' was known before the decision and did not follow from it"
    columns = CHOSEN | {"V": ["no", "yes", "yes", "no"] * 50}
    found = evaluate(BASE, columns, columns=LogMap(drop={"status": ["cancelled"]}))
    assert sum(rest in sentence(said) for said in found.assumptions) == 1
    assert "left-out-after-the-decision" not in [f.name for f in found.findings]
    for log in (
        LogMap(drop={"S": ["U"]}),
        LogMap(arm="policy", drop={"arm": ["trial"]}),
        LogMap(drop={"status": ["x"]}),
    ):
        told = evaluate(BASE, columns, columns=log).assumptions
        assert not any(said.code == Assumption.LEFT_OUT_BY for said in told)


FILE = """
format = 1
[problem]
name = "base"
sensitive = "S"
decision = "V"
outcome = { node = "Y", values = { "0" = 0, "1" = 1 } }
tolerance = 0.1
deployed = "old"
edges = [["S", "V"], ["V", "Y"]]
[problem.states]
S = ["a", "b"]
V = ["no", "yes"]
Y = ["0", "1"]
[[problem.arms]]
name = "old"
parents = []
table = [0.5, 0.5]
[log]
drop = { S = ["U"] }
"""


def test_every_output_says_what_was_left_out(tmp_path: Path) -> None:
    problem, log, page = tmp_path / "p.toml", tmp_path / "log.csv", tmp_path / "page.html"
    problem.write_text(FILE)
    lines = ["a,no,1", "a,yes,0", "b,no,0", "b,yes,1"] * 30 + ["U,no,1"] * 7
    log.write_text("S,V,Y\n" + "\n".join(lines) + "\n")
    shown = CliRunner().invoke(app, ["evaluate", str(problem), str(log), "--report", str(page)], terminal_width=200)
    assert shown.exit_code == 0, shown.output
    said = " ".join(shown.output.split())
    assert "rows-left-out" in said and "the answer is about the others" in said
    assert said.count("S = U: 7 rows") == 2 and "blocks" not in said
    assert "S = U: 7 rows" in page.read_text() and "the answer is about the others" in page.read_text()
    document = json.loads(CliRunner().invoke(app, ["evaluate", str(problem), str(log), "--json"]).stdout)
    assert document["dropped"] == [{"column": "S", "value": "U", "rows": 7}]
    assert (document["rows"], document["used"]) == (127, 120) and document["certified_by"]
    found = read_log(read_problem(problem), str(log))
    assert found.dropped == (Dropped("S", "U", 7),) and found.batch.total == 120


def test_it_is_written_back_as_it_was_read(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(FILE)
    read = read_problem(tmp_path / "p.toml")
    write_problem(read, tmp_path / "again.toml")
    assert read_problem(tmp_path / "again.toml") == read
    assert read.columns.drop == {"S": ["U"]}


@pytest.mark.parametrize(
    "roles",
    [
        {"count": "Y"}, {"count": "S"}, {"regime": "S"}, {"propensity": "Y"}, {"row_id": "V"}, {"arm": "Y"}, {"time": "Y"},
        {"count": "n", "row_id": "n"}, {"arm": "x", "regime": "x"}, {"propensities": {"no": "p", "yes": "p"}},
    ],
)  # fmt: skip
def test_a_column_has_one_role(roles: Any) -> None:
    with pytest.raises(FairarmError, match="one role"):
        LogMap(**roles).check(BASE)
    LogMap(arm="V", time="S").check(BASE)
