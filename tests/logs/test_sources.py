"""Every engine against plain Python loops: the same rows give the same counts, sums, duplicates, batches and profiles."""

from __future__ import annotations

import csv
import gzip
import json
import math
import os
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairarm.errors import DataError, OptionError, ReadError
from fairarm.logs import files
from fairarm.logs import table as tables
from fairarm.logs.by_time import batches_of
from fairarm.logs.coding import read_numbers
from fairarm.logs.sources import open_log
from fairarm.logs.table import DUE, Counts, Due, LogTable, RealColumn
from fairarm.logs.values import NO_TIME

Row = dict[str, Any]
START = datetime(2030, 3, 6)  # summer time starts on the 10th in New York
SERVERS = pytest.mark.xdist_group("servers")


def made_rows(n: int = 300) -> list[Row]:
    """Rows with everything that goes wrong: nulls, NaN, numbers outside their range, ids there twice."""
    rng = np.random.default_rng(5)
    rows = []
    for k in range(n):
        y = float(rng.normal(0.5, 1.5))
        y = {3: None, 5: math.nan, 7: 1e100, 9: -0.0, 11: -1.0, 13: 2.5}.get(k % 40, y)
        moment = None if k % 17 == 0 else START + timedelta(minutes=37 * (k * 7 % n), microseconds=k)
        rows.append(
            {
                "s": [None, "01", "1", 'naïve, "q"', "z"][rng.integers(5)],
                "i": [None, 0, 1, -7, 12][rng.integers(5)],
                "b": [None, True, False][rng.integers(3)],
                "f": [None, math.nan, 0.5, -0.25, 2.0][rng.integers(5)],
                "y": y,
                "w": int(rng.integers(4)),
                "t": moment,
                "z": None if moment is None else moment.replace(tzinfo=UTC),
                "d": None if k % 19 == 0 else START.date() + timedelta(days=k % 9),
                "n": None if k % 23 == 0 else 1_900_000_000 + k,
                "id": f"id{k if k % 10 else k // 40 * 40}" if k % 29 else None,
                "unique": k,
            }
        )
    return rows


ROWS = made_rows()
TEXTS = {"s", "id"}


def as_text(rows: list[Row]) -> list[Row]:
    """The rows as a CSV file holds them: all text, NaN left empty."""

    def text(value: Any) -> str | None:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return None
        return value.isoformat() if isinstance(value, date) else str(value)

    return [{name: text(value) for name, value in row.items()} for row in rows]


# ---- one builder an engine: (where to put files, the servers) -> what is handed to open_log, and its options ----

ARROW = pa.schema(
    {
        "s": pa.string(), "i": pa.int64(), "b": pa.bool_(), "f": pa.float64(), "y": pa.float64(), "w": pa.int32(),
        "t": pa.timestamp("us"), "z": pa.timestamp("us", "UTC"), "d": pa.date32(), "n": pa.int64(), "id": pa.string(),
        "unique": pa.int64(),
    }
)  # fmt: skip


def arrow() -> pa.Table:
    return pa.Table.from_pylist(ROWS, ARROW)


def parquet(folder: Path) -> str:
    half = len(ROWS) // 2
    pq.write_table(arrow().slice(0, half), folder / "a.parquet", row_group_size=40)
    pq.write_table(arrow().slice(half), folder / "b.parquet")
    return str(folder / "*.parquet")


def csv_file(folder: Path, packed: bool = False) -> Path:
    path = folder / ("log.csv.gz" if packed else "log.csv")
    with (gzip.open if packed else open)(path, "wt", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, ROWS[0])
        writer.writeheader()
        writer.writerows(as_text(ROWS))
    return path


def json_lines(folder: Path) -> Path:
    path = folder / "log.jsonl"
    texts = as_text(ROWS)
    lines = [
        {k: v if v is None or isinstance(v, bool | int | float) else t[k] for k, v in row.items()}
        for row, t in zip(ROWS, texts, strict=True)
    ]
    path.write_text("".join(json.dumps(nan_to_null(line)) + "\n" for line in lines), encoding="utf-8")
    return path


def nan_to_null(row: Row) -> Row:
    return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()}


def sqlite(folder: Path) -> str:
    path = folder / "log.db"
    kinds = {"i": "INTEGER", "b": "BOOLEAN", "f": "REAL", "y": "DOUBLE", "w": "INTEGER", "t": "TIMESTAMP", "d": "DATE"}
    columns = ", ".join(
        f'"{name}" {kinds.get(name, "INTEGER" if name in ("n", "unique") else "TEXT")}' for name in ROWS[0]
    )
    written = [tuple(str(v) if isinstance(v, date) else v for v in row.values()) for row in ROWS]
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE log ({columns})")
        connection.executemany(f"INSERT INTO log VALUES ({', '.join('?' * len(ROWS[0]))})", written)
    connection.close()
    return f"sqlite:///{path}?table=log"


def postgresql(server: Any) -> str:
    floats = "f double precision, y double precision"
    times = "t timestamp, z timestamptz, d date"
    columns = f's text, i integer, b boolean, {floats}, w smallint, {times}, n bigint, id varchar(20), "unique" bigint'
    marks = ", ".join(["%s"] * len(ROWS[0]))
    with server.connect() as connection:
        connection.execute("CREATE SCHEMA IF NOT EXISTS shop")
        connection.execute("DROP TABLE IF EXISTS shop.log")
        connection.execute(f"CREATE TABLE shop.log ({columns})")
        with connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO shop.log VALUES ({marks})", [tuple(row.values()) for row in ROWS])
    return str(server.url("shop.log"))


def dask_frame() -> Any:
    import dask.dataframe as dd

    return dd.from_pandas(arrow().to_pandas(types_mapper=pd.ArrowDtype), npartitions=5)


def ibis_table() -> Any:
    import ibis

    backend, log = ibis.duckdb.connect(), arrow()
    backend.con.register("given", log)
    backend.con.execute("CREATE TABLE log AS SELECT * FROM given")
    return backend.table("log")


Made = tuple[Any, dict[str, Any]]
BUILDERS: dict[str, Callable[[Path, Any], Made]] = {
    "parquet": lambda folder, _: (parquet(folder), {}),
    "csv": lambda folder, _: (csv_file(folder), {}),
    "csv.gz": lambda folder, _: ([str(csv_file(folder, packed=True))], {"engine": "duckdb"}),
    "json": lambda folder, _: (json_lines(folder), {}),
    "pyarrow": lambda *_: (arrow(), {}),
    "dictionary": lambda *_: (arrow().to_pydict(), {}),
    "pandas": lambda *_: (pd.DataFrame(ROWS), {}),
    "pandas-arrow": lambda *_: (arrow().to_pandas(types_mapper=pd.ArrowDtype), {}),
    "polars": lambda *_: (pl.from_arrow(arrow()), {}),
    "polars-lazy": lambda folder, _: (pl.scan_parquet(parquet(folder)), {}),
    "duckdb": lambda *_: (duckdb.connect().from_arrow(arrow()), {}),
    "ibis": lambda *_: (ibis_table(), {}),
    "sqlite": lambda folder, _: (sqlite(folder), {}),
    "dask": lambda *_: (dask_frame(), {}),
    "dask-parquet": lambda folder, _: (parquet(folder), {"engine": "dask"}),
    "dask-csv": lambda folder, _: (csv_file(folder), {"engine": "dask"}),
    "dask-json": lambda folder, _: (json_lines(folder), {"engine": "dask"}),
    "dask-cluster": lambda folder, server: (parquet(folder), {"engine": server("dask_cluster")}),
    "postgresql": lambda _, server: (postgresql(server("postgres")), {}),
    "spark": lambda _, server: (server("spark").createDataFrame(arrow()), {}),
}
NEED_SERVER = ("dask-cluster", "postgresql", "spark")
ENGINES = [pytest.param(name, marks=SERVERS if name in NEED_SERVER else ()) for name in BUILDERS]


@pytest.fixture(scope="session")
def opened(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LogTable]:
    return {}


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def table(
    engine: str,
    opened: dict[str, LogTable],
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> LogTable:
    """The rows in this engine; opened once."""
    if engine not in opened:
        source, options = BUILDERS[engine](tmp_path_factory.mktemp("log"), request.getfixturevalue)
        opened[engine] = open_log(source, **options)
    return opened[engine]


def seen_by(engine: str) -> list[Row]:
    """The rows with their keys as the engine holds them: CSV knows text only."""
    if "csv" not in engine:
        return ROWS
    return [row | {k: text[k] for k in "sibf"} for row, text in zip(ROWS, as_text(ROWS), strict=True)]


# ---- the oracle ----


def is_missing(value: Any) -> bool:
    return value is None or value != value


def expected(
    rows: list[Row], keys: str, weight: str | None, real: RealColumn | None, due: Due | None
) -> dict[tuple[Any, ...], list[float]]:
    """Rows, Σ y', Σ (y' - mean)^2 and Σ (y' - mean)^3 by key, row by row."""
    found: dict[tuple[Any, ...], list[float]] = {}
    seen: dict[tuple[Any, ...], list[tuple[int, float]]] = {}
    for row in rows:
        line = [None if is_missing(row[k]) else row[k] for k in keys]
        count = 1 if weight is None else row[weight]
        scaled = 0.0
        if real is not None:
            y = row[real.column]
            status = "missing" if is_missing(y) else "ok" if real.low <= y <= real.high else "outside"
            scaled = (y - real.low) / (real.high - real.low) if status == "ok" else 0.0
            line.append(status)
        if due is not None:
            newest = max(r[due.column] for r in rows if r[due.column] is not None)
            span = due.within if isinstance(newest, int) else timedelta(seconds=due.within)
            line.append(NO_TIME if row[due.column] is None else int(row[due.column] <= newest - span))
        if count:
            seen.setdefault(tuple(line), []).append((count, scaled))
    for key, each in seen.items():
        n, total = sum(count for count, _ in each), math.fsum(count * y for count, y in each)
        found[key] = [n, total, *(math.fsum(count * (y - total / n) ** p for count, y in each) for p in (2, 3))]
    return found


def lines(counts: Counts) -> list[tuple[Any, ...]]:
    """The keys of each line, the extra ones last."""
    columns = [*counts.keys.values(), *(c for c in (counts.outcome, counts.due) if c is not None)]
    return [tuple(column[k] for column in columns) for k in range(len(counts.rows))]


def order(line: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    ranks = {"ok": 0, "missing": 1, "outside": 2}
    return [(value is None, ranks.get(value, 0), value if value is not None else 0) for value in line]


QUESTIONS: dict[str, tuple[str, str | None, RealColumn | None, Due | None]] = {
    "one": ("i", None, None, None),
    "float": ("f", None, None, None),
    "all": ("sibf", None, None, None),
    "none": ("", None, None, None),
    "weight": ("sb", "w", None, None),
    "real": ("b", None, RealColumn("y", -1.0, 2.5), None),
    "real without keys": ("", None, RealColumn("y", 0.1, 0.9), None),
    "real weighted": ("is", "w", RealColumn("y", -1.0, 2.5), None),
    "due number": ("s", None, None, Due("n", 120.0)),
    "due fraction": ("s", None, None, Due("n", 99.5)),
    "due time": ("b", None, None, Due("t", 37 * 60 * 100.0)),
    "due zone": ("b", None, None, Due("z", 3600.0 * 48)),
    "due date": ("b", None, None, Due("d", 86400.0 * 3)),
    "everything": ("si", "w", RealColumn("y", -1.0, 2.5), Due("t", 3600.0 * 24)),
}


SLOW = ("dask-parquet", "dask-csv", "dask-json", "dask-cluster", "spark")
FOR_SLOW = ("float", "real weighted", "due zone", "everything", "z", "n")


def asked(questions: Iterable[str]) -> Any:
    """For parametrize: every question of every engine; most of those of Dask and Spark in `make test-all` only."""
    made = []
    for param in ENGINES:
        for question in questions:
            later = param.values[0] in SLOW and question not in FOR_SLOW
            marks = [*param.marks, *([pytest.mark.slow] if later else [])]
            made.append(pytest.param(param.values[0], question, marks=marks, id=f"{param.values[0]}-{question}"))
    return pytest.mark.parametrize(("engine", "question"), made, indirect=["engine"])


@asked(QUESTIONS)
def test_counts_are_those_of_a_loop_and_equal_between_engines(engine: str, table: LogTable, question: str) -> None:
    keys, weight, real, due = QUESTIONS[question]
    found = table.counts(list(keys), weight=weight, real=real, due=due)
    want = expected(seen_by(engine), keys, weight, real, due)
    got = lines(found)
    assert len(set(got)) == len(got) and sorted(got, key=order) == got
    assert dict(zip(got, found.rows.tolist(), strict=True)) == {line: total[0] for line, total in want.items()}
    assert found.rows.dtype == np.int64
    assert (found.sums is None) == (real is None) == (found.outcome is None) and (found.due is None) == (due is None)
    if found.sums is not None:
        near = np.array([want[line][1:] for line in got])
        assert np.allclose(found.sums, near, rtol=0, atol=2.0**-41 * 3 * len(ROWS))
        same = open_log(arrow()).counts(list(keys), weight=weight, real=real, due=due)
        assert sorted(map(tuple, same.sums.tolist())) == sorted(map(tuple, found.sums.tolist()))  # type: ignore[union-attr]


def chosen(number: int) -> int:
    """Whether an id is one of the pilot's, in whole numbers of any size."""
    value = number % (2**26 - 5)
    for step in (48271, 69621, 16807):
        value = (value * step + 12345) % (2**26 - 5)
        value = (value * value + value) % (2**26 - 5)
    return int(value % 5 == 0)


def test_ids_choose_the_same_rows_on_every_engine(engine: str, table: LogTable) -> None:
    for ids in ("unique", "w"):
        found = table.counts([], ids=ids)
        assert found.pilot is not None
        seen = dict(zip(found.pilot.tolist(), found.rows.tolist(), strict=True))
        assert seen == dict(Counter(chosen(row[ids]) for row in ROWS))


def test_ids_are_chosen_whatever_pattern_they_follow() -> None:
    """A fifth of 50 000 ids, up to 5 standard errors, also of the even ones, of every tenth, of large and of negative ones."""
    start = np.arange(50_000)
    for ids in (start, 2 * start, 10 * start + 3, 10**15 + start, -start - 1, 1 << (start % 62)):
        found = open_log({"id": ids, "by": start % 7}).counts(["by"], ids="id")
        assert found.pilot is not None
        if len(set(ids.tolist())) == len(ids):
            for by in range(7):
                rows = found.rows[found.keys["by"] == by]
                assert abs(rows[1] / rows.sum() - 0.2) < 5 * math.sqrt(0.16 / rows.sum())
    missing = open_log({"id": ["1", None, "x", "7"]}).counts([], ids="id").pilot
    assert missing is not None and (missing < 0).any()
    assert open_log({"id": [0.5, 1.5]}).counts([], ids="id").pilot is None


@asked(["t", "z", "d", "n", "unique"])
def test_rows_are_counted_by_time_on_every_engine(engine: str, table: LogTable, question: str) -> None:
    """Batches end with the times of rows 32, 38, 46 … in order, and rows without a time are apart."""
    column = question
    known = sorted(row[column] for row in ROWS if row[column] is not None)
    numbers = [int(32 * 1.2**i) for i in range(20) if int(32 * 1.2**i) <= len(known)]
    ends = sorted({known[number - 1] for number in numbers} - {known[-1]})
    made = batches_of(table, column, None).ends
    if (engine, column) == ("spark", "z"):
        assert made == []  # Spark hands out no times with a zone
        return
    assert len(made) == len(ends)
    found = table.counts([], parts=(column, made))
    assert found.part is not None
    want = Counter(-1 if row[column] is None else sum(row[column] > end for end in ends) for row in ROWS)
    assert dict(zip(found.part.tolist(), found.rows.tolist(), strict=True)) == dict(want)


def test_values_keep_their_types(engine: str, table: LogTable) -> None:
    found = table.counts(list("sibf"))
    kinds = {name: {type(v) for v in values if v is not None} for name, values in found.keys.items()}
    typed = {"s": {str}, "i": {float if engine == "pandas" else int}, "b": {bool}, "f": {float}}
    assert kinds == ({key: {str} for key in "sibf"} if "csv" in engine else typed)
    assert all(any(v is None for v in values) for values in found.keys.values())


def test_duplicates(engine: str, table: LogTable) -> None:
    times = Counter(row["id"] for row in ROWS if row["id"] is not None)
    twice = sorted(value for value, rows in times.items() if rows > 1)
    found = table.duplicates("id", examples=3)
    assert found.ids == len(twice) > 3
    assert found.extra_rows == sum(times[value] - 1 for value in twice)
    assert found.examples == tuple(twice[:3])
    none = table.duplicates("unique")
    assert (none.ids, none.extra_rows, none.examples) == (0, 0, ())


def test_batches_hold_every_row_once(engine: str, table: LogTable) -> None:
    parts = list(table.batches(["unique", "s", "b", "y", "i", "t", "s"], rows=64, due=Due("t", 3600.0 * 24)))
    assert all(set(part) == {"unique", "s", "b", "y", "i", "t", DUE} for part in parts)
    assert all(len(column) == len(part["unique"]) <= 64 for part in parts for column in part.values())
    assert all(part[DUE].dtype == np.int64 and part["s"].dtype == object for part in parts)
    typed = "csv" not in engine
    newest = max(row["t"] for row in ROWS if row["t"] is not None)
    got = {int(part["unique"][k]): {n: c[k] for n, c in part.items()} for part in parts for k in range(len(part["s"]))}
    assert sum(len(part["s"]) for part in parts) == len(got) == len(ROWS)
    for row in seen_by(engine):
        line = got[row["unique"]]
        assert line["s"] == row["s"]
        assert line["b"] == row["b"] and (line["b"] is None) == (row["b"] is None)
        assert line[DUE] == (NO_TIME if row["t"] is None else int(row["t"] <= newest - timedelta(days=1)))
        if typed:
            assert is_missing(line["y"]) if is_missing(row["y"]) else line["y"] == row["y"]
            assert is_missing(line["i"]) if row["i"] is None else line["i"] == row["i"]
    if typed:
        assert all(part["unique"].dtype == np.int64 and part["y"].dtype == np.float64 for part in parts)
        assert all(
            part["i"].dtype == (np.int64 if not np.isnan(part["i"].astype(float)).any() else np.float64)
            for part in parts
        )


def test_profiles(engine: str, table: LogTable) -> None:
    text = "csv" in engine
    s, i, y = table.profile("s", 10), table.profile("i", 10), table.profile("y", 10)
    assert (s.kind, s.distinct, s.low, s.high) == ("text", 4, "01", "z")
    assert s.values == tuple(sorted({row["s"] for row in ROWS} - {None}))
    assert s.nulls == sum(row["s"] is None for row in ROWS)
    assert (i.kind, i.distinct, i.low, i.high) == ("real" if engine == "pandas" else "integer", 4, -7, 12)
    assert i.values == (("-7", "0", "1", "12") if text else (-7, 0, 1, 12))
    real = [row["y"] for row in ROWS if not is_missing(row["y"])]
    assert (y.kind, y.distinct, y.values, y.nulls) == ("real", len(set(real)), None, len(ROWS) - len(real))
    assert (y.low, y.high) == (min(real), max(real))
    moments = [row["t"] for row in ROWS if row["t"] is not None]
    t = table.profile("t", 0)
    assert (t.kind, t.distinct, t.values) == ("time", None, None)
    assert (t.low, t.high, t.nulls) == (min(moments), max(moments), len(ROWS) - len(moments))
    b = table.profile("b", 5)
    assert (b.kind, b.distinct) == ("text" if text else "boolean", 2)
    assert b.values == (("False", "True") if text else (False, True))


def test_rows(table: LogTable) -> None:
    assert table.rows() == len(ROWS)
    assert table.columns == tuple(ROWS[0])


# ---- what only some engines can get wrong ----


def test_any_number_of_threads_gives_the_same_sums(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    log = {"a": rng.integers(0, 3, 200_000), "y": rng.random(200_000) ** 7}
    pq.write_table(pa.table(log), tmp_path / "log.parquet", row_group_size=5000)
    real = RealColumn("y", 0.0, 1.0)
    sums = []
    for threads in (1, 2, 7):
        connection = duckdb.connect(config={"threads": threads})
        relation = connection.read_parquet(str(tmp_path / "log.parquet"))
        sums.append(open_log(relation).counts(["a"], real=real).sums)
    assert all(np.array_equal(each, sums[0]) for each in sums)
    for a in range(3):
        y = log["y"][log["a"] == a]
        exact = [math.fsum(y), *(math.fsum((y - y.mean()) ** power) for power in (2, 3))]
        assert sums[0][a] == pytest.approx(exact, rel=0, abs=2.0**-39 * 70_000)


@pytest.mark.parametrize("low_high", [(0.0, 1.0), (-3.0, 5.0), (0.0, 1e-9), (-1e30, 1e30)])
def test_both_ends_of_the_range_are_in_it(low_high: tuple[float, float]) -> None:
    low, high = low_high
    beyond = [np.nextafter(low, -np.inf), np.nextafter(high, np.inf), np.inf, -np.inf]
    log = open_log({"y": np.array([low, high, *beyond, np.nan])})
    found = log.counts([], real=RealColumn("y", low, high))
    assert dict(zip(found.outcome.tolist(), found.rows.tolist(), strict=True)) == {"ok": 2, "missing": 1, "outside": 4}  # type: ignore[union-attr]
    assert found.sums.tolist() == [[1.0, 0.5, 0.0], [0.0] * 3, [0.0] * 3]  # type: ignore[union-attr]


FRAMES: dict[str, Callable[[pa.Table], Any]] = {
    "pyarrow": lambda log: log,
    "pandas": lambda log: log.to_pandas(),
    "polars": pl.from_arrow,
    "duckdb": lambda log: duckdb.connect().from_arrow(log),
    "dask": lambda log: __import__("dask.dataframe").dataframe.from_pandas(
        log.to_pandas(types_mapper=pd.ArrowDtype), npartitions=2
    ),
}


@pytest.fixture(params=FRAMES)
def framed(request: pytest.FixtureRequest) -> Callable[[dict[str, Any]], LogTable]:
    """Opens columns in one of the engines without a server."""
    return lambda columns: open_log(FRAMES[request.param](pa.table(columns)))


def test_text_as_numbers(framed: Any) -> None:
    """What is no number is outside, what says it is missing is missing; no exception, whatever the text."""
    ok = ["0.5", " 1 ", "+.25", "1e-3", "1.", "0E0", "000.5"]
    missing = [None, "", " ", "NaN", "na", "N/A", "NULL", "none"]
    outside = ["2", "-1", "1e30"]
    unreadable = ["abc", "inf", "1e999", "1,5", "0x1", "1_0", "١", "1 2", "9" * 400]
    log = framed({"y": pa.array(ok + missing + outside + unreadable)})
    found = log.counts([], real=RealColumn("y", 0.0, 1.0))
    rows = dict(zip(found.outcome.tolist(), found.rows.tolist(), strict=True))
    assert rows == {"ok": len(ok), "missing": len(missing), "outside": len(outside), "unreadable": len(unreadable)}
    assert log.examples("y", "outside", 0.0, 1.0) == sorted(outside)
    assert log.examples("y", "unreadable", 0.0, 1.0, most=20) == sorted(unreadable)
    raw = _joined(log.batches(["y"]))["y"]
    read, wrong = read_numbers(raw)
    assert (np.isnan(read).sum(), wrong.sum()) == (len(missing) + len(unreadable), len(unreadable))
    assert found.sums[0, :2] == pytest.approx([3.251, 2.562501 - 3.251**2 / 7], abs=1e-11)
    assert log.profile("y", 5).kind == "text"


@pytest.mark.parametrize("kind", [pa.bool_(), pa.int8(), pa.uint64(), pa.float32(), pa.decimal128(25, 2)])
def test_real_outcomes_of_every_number_type(framed: Any, kind: pa.DataType) -> None:
    log = framed({"y": pa.array([0, 1, None, 1], pa.int64()).cast(kind)})
    found = log.counts([], real=RealColumn("y", -1.0, 1.0))
    assert (found.rows.tolist(), found.outcome.tolist()) == ([3, 1], ["ok", "missing"])
    assert found.sums == pytest.approx(np.array([[2.5, 1 / 6, -1 / 36], [0.0] * 3]), abs=1e-11)


def test_dates_are_not_numbers(framed: Any) -> None:
    log = framed({"y": pa.array([START, None], pa.timestamp("us"))})
    with pytest.raises(DataError, match=r"Column 'y' is of type Datetime.*numbers are needed"):
        log.counts([], real=RealColumn("y", 0.0, 1.0))


@pytest.mark.parametrize("bad", [-1.0, 0.5, None, math.nan, math.inf, 2.0**43])
def test_weights_are_whole_numbers(framed: Any, bad: float | None) -> None:
    log = framed({"a": [1, 1, 2], "w": pa.array([2.0, 3.0, bad])})
    with pytest.raises(DataError, match=r"1 line has a count 'w' that is not a whole number .* such as"):
        log.counts(["a"], weight="w")


def test_weights_of_text_and_those_too_large_to_sum(framed: Any) -> None:
    assert framed({"w": ["2", " 3 ", "0"]}).counts([], weight="w").rows.tolist() == [5]
    with pytest.raises(DataError, match=r"such as 'x'"):
        framed({"w": ["2", "x"]}).counts([], weight="w")
    exact = framed({"w": [2**42 - 1] * 3001}).counts([], weight="w").rows.tolist()
    assert exact == [3001 * (2**42 - 1)]  # beyond what a double holds
    heavy = framed({"w": [2**42] * 3, "y": [1.0, 0.5, 1.0]})
    assert heavy.counts([], weight="w").rows.tolist() == [3 * 2**42]
    with pytest.raises(DataError, match=r"its sums would not fit|out of range"):
        heavy.counts([], weight="w", real=RealColumn("y", 0.0, 1.0))


def test_a_line_of_weight_0_is_no_line(framed: Any) -> None:
    found = framed({"a": [1, 2, 2], "w": [0, 0, 4]}).counts(["a"], weight="w")
    assert (found.keys["a"].tolist(), found.rows.tolist()) == ([2], [4])


def test_categories_negative_zero_and_empty_tables(framed: Any) -> None:
    log = framed({"c": pa.array(["x", None, "y", "x"]).dictionary_encode(), "z": [0.0, -0.0, 1.0, math.nan]})
    assert dict(zip(*_pairs(log.counts(["c"]), "c"), strict=True)) == {"x": 2, "y": 1, None: 1}
    assert dict(zip(*_pairs(log.counts(["z"]), "z"), strict=True)) == {0.0: 2, 1.0: 1, None: 1}
    assert str(log.counts(["z"]).keys["z"][0]) == "0.0"
    assert _joined(log.batches(["c"]))["c"].tolist().count("x") == 2
    empty = framed({"a": pa.array([], pa.int64()), "y": pa.array([], pa.float64())})
    found = empty.counts(["a"], real=RealColumn("y", 0.0, 1.0))
    assert len(found.rows) == 0 and found.sums.shape == (0, 3) and len(found.keys["a"]) == 0
    assert (empty.rows(), empty.duplicates("a").ids, list(empty.batches(["a"])) in ([], [])) == (0, 0, True)
    assert (empty.profile("a", 5).distinct, empty.profile("a", 5).low) == (0, None)


def _pairs(counts: Counts, key: str) -> tuple[list[Any], list[int]]:
    return counts.keys[key].tolist(), counts.rows.tolist()


def test_times_as_keys_and_in_batches_are_the_same_everywhere(framed: Any) -> None:
    moments = [START, START + timedelta(microseconds=1), None]
    zoned = pa.array([None if m is None else m.replace(tzinfo=UTC) for m in moments], pa.timestamp("ns", "Asia/Tokyo"))
    log = framed({"t": pa.array(moments, pa.timestamp("us")), "z": zoned})
    assert set(log.counts(["t"]).keys["t"]) == {"2030-03-06T00:00:00", "2030-03-06T00:00:00.000001", None}
    assert set(log.counts(["z"]).keys["z"]) == {"2030-03-06T00:00:00Z", "2030-03-06T00:00:00.000001Z", None}
    part = _joined(log.batches(["t", "z"]))
    assert part["t"].dtype == part["z"].dtype == np.dtype("datetime64[us]")
    assert sorted(part["z"][~np.isnat(part["z"])].tolist()) == moments[:2]
    assert log.profile("z", 0).high == moments[1]
    assert log.counts([], due=Due("z", 1e-6)).due.tolist() == [0, 1, NO_TIME]


def _joined(parts: Any) -> dict[str, Any]:
    parts = list(parts)
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def test_due_of_large_integers_is_exact(framed: Any) -> None:
    log = framed({"n": [10**18 + k for k in range(100)]})
    assert log.counts([], due=Due("n", 33.0)).rows.tolist() == [33, 67]
    assert log.counts([], due=Due("n", 33.5)).rows.tolist() == [34, 66]


def test_due_of_text(framed: Any) -> None:
    times = [
        "2030-03-06Z",
        "2030-03-06T00:00Z",
        "2030-03-06 00:00:00.000000000Z",
        "2030-03-06T00:00:01.5+00:00",
        "later",
        None,
    ]
    found = framed({"t": times}).counts([], due=Due("t", 1.5))
    assert (found.due.tolist(), found.rows.tolist()) == ([0, 1, NO_TIME], [1, 3, 2])
    assert framed({"t": ["1", "2.5", None, "inf"]}).counts([], due=Due("t", 1.0)).rows.tolist() == [1, 1, 2]
    for column in (
        ["x", "y"],
        ["1", "2030-03-06"],
        ["2030-03-06T00:00:00+02:00", "2030-03-06"],
        ["2030-03-06 01:00Z", "2030-03-06 01:00"],
    ):
        with pytest.raises(DataError, match=r"column 't' holds .* Make all of it numbers, or times in UTC"):
            framed({"t": column}).counts([], due=Due("t", 1.0))


def test_times_of_any_offset_are_compared_as_instants(framed: Any) -> None:
    """Against Python's own times. Every way of writing an offset; the newest one is written with an early clock."""
    rng = np.random.default_rng(8)
    offsets = {"Z": 0, "+00:00": 0, "+0530": 330, "-11": -660, "+14:00": 840, "-03:30": -210}
    moments = [
        START + timedelta(seconds=int(s), microseconds=int(u)) for s, u in rng.integers(0, [10**6, 10**6], (300, 2))
    ]
    texts, suffixes = [], rng.choice(list(offsets), len(moments))
    for i, (moment, suffix) in enumerate(zip(moments, suffixes, strict=True)):
        local = moment + timedelta(minutes=offsets[suffix])
        texts.append(local.isoformat(sep="T" if i % 2 else " ") + suffix)
    limit = max(moments) - timedelta(days=3)
    rows = sum(moment <= limit for moment in moments)
    log = framed({"t": [*texts, None, "yesterday"]})
    found = log.counts([], due=Due("t", 3 * 86400.0))
    assert (found.due.tolist(), found.rows.tolist()) == ([0, 1, NO_TIME], [300 - rows, rows, 2])
    seen = np.concatenate([part[DUE] for part in log.batches(["t"], rows=50, due=Due("t", 3 * 86400.0))])
    assert np.bincount(seen).tolist() == [300 - rows, rows, 2]
    assert log.examples("t", "no time") == ["yesterday"]


def test_an_infinite_number_is_an_end_of_the_profile(framed: Any) -> None:
    log = framed({"y": [1.5, float("inf"), float("nan"), -2.0]})
    found = log.profile("y", 1)
    assert (found.low, found.high, found.nulls) == (-2.0, float("inf"), 1)


def test_profile_of_text_that_is_numbers_or_times(framed: Any) -> None:
    log = framed({"n": ["3", "-1", "NA", None], "r": ["1.5", "2", "", None], "t": ["2030-03-06T01:00:00Z", "2030-03-05", None, None], "l": [[1], [2], None, []]})  # fmt: skip
    n, r, t, other = (log.profile(name, 10) for name in "nrtl")
    assert (n.kind, n.distinct, n.values, n.low, n.high, n.nulls) == ("integer", 2, ("-1", "3"), -1, 3, 2)
    assert (r.kind, r.values, r.low, r.high, r.nulls) == ("real", ("1.5", "2"), 1.5, 2.0, 2)
    assert (t.kind, t.low, t.high, t.nulls) == ("time", datetime(2030, 3, 5), datetime(2030, 3, 6, 1), 2)
    assert (other.kind, other.distinct, other.values, other.low) in [
        ("other", None, None, None),
        ("text", 3, None, ""),
    ] or other.kind == "text"


def test_streams_can_be_left_and_run_beside_counts(engine: str, table: LogTable) -> None:
    stream = table.batches(["unique"], rows=10)
    next(stream)
    if engine == "duckdb":  # the user's own connection, which has one open result at a time
        with pytest.raises(DataError, match="open result"):
            table.counts([])
    else:
        assert table.counts([]).rows.tolist() == [len(ROWS)]
    stream.close()
    assert table.counts([]).rows.tolist() == [len(ROWS)]


# ---- files ----


def written(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("engine_name", ["duckdb", "dask"])
@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_csv_as_it_comes(tmp_path: Path, sign: str, engine_name: str) -> None:
    """A byte-order mark, Windows line ends, quotes, other separators, names with signs in them; nothing is guessed."""
    rows = ['"a, ;|b"', "n", "t"], ["01", "1,5", "2030-01-31"], ["1", "", '"x ""y"" z"'], ['""', "NA", "true"]
    text = "\ufeff" + "\r\n".join(sign.join(f'"{e}"' if e == "1,5" else e for e in row) for row in rows) + "\r\n"
    log = open_log(written(tmp_path / "odd [1] log.csv", text), engine=engine_name)
    assert log.columns == ("a, ;|b", "n", "t")
    assert sorted(log.counts(["a, ;|b"]).keys["a, ;|b"], key=str) == ["01", "1", None]
    assert set(log.counts(["n"]).keys["n"]) == {"1,5", None, "NA"}
    assert set(log.counts(["t"]).keys["t"]) == {"2030-01-31", 'x "y" z', "true"}


def test_json_text_stays_text(tmp_path: Path) -> None:
    lines = ['{"a": "01", "m": 1, "t": "2030-01-31", "o": {"x": 1}}', "", '{"m": "x", "a": null, "new": 1.5}']
    path = written(tmp_path / "log.ndjson", "\n".join(lines))
    for name in ("duckdb", "dask"):
        log = open_log(path, engine=name)
        assert log.columns == ("a", "m", "t", "o", "new")
        found = {key: set(log.counts([key]).keys[key]) for key in ("a", "m", "t", "new")}
        assert found == {"a": {"01", None}, "m": {"1", "x"}, "t": {"2030-01-31", None}, "new": {None, 1.5}}
    array = open_log(written(tmp_path / "log.json", '[{"a": 1}, {"a": -2}]'))
    assert array.counts(["a"]).keys["a"].tolist() == [-2, 1]


@pytest.mark.parametrize("engine_name", ["duckdb", "dask"])
def test_a_folder_stands_for_its_files(tmp_path: Path, engine_name: str) -> None:
    """As Spark writes them: folders that name a column and its value, and files that are no log."""
    for day in (1, 2):
        (tmp_path / "log.parquet" / f"day={day}").mkdir(parents=True)
        pq.write_table(pa.table({"a": [1, day]}), tmp_path / "log.parquet" / f"day={day}" / "part-0.parquet")
    (tmp_path / "log.parquet" / "_SUCCESS").touch()
    log = open_log(tmp_path / "log.parquet", engine=engine_name)
    assert lines(log.counts(["day", "a"])) == [("1", 1), ("2", 1), ("2", 2)]
    parts = sorted((tmp_path / "log.parquet").rglob("*.parquet"))
    assert open_log([str(parts[0]), parts[1]], engine=engine_name).counts(["a"]).rows.tolist() == [3, 1]


BROKEN: dict[str, tuple[str | bytes, str]] = {
    "none.parquet": ("", r"none.parquet: .*"),
    "text.parquet": ("not a parquet file at all", r"text.parquet: .*"),
    "short.csv": ("a,b\n1,2\n3\n", r"short.csv: .*CSV Error on Line: 3.*Expected Number of Columns: 2 Found: 1"),
    "long.csv": ("a,b\n1,2\n3,4,5\n", r"CSV Error on Line: 3.*Found: 3"),
    "empty.csv": ("", r"empty.csv:1: no column has a name. The first line must name the columns"),
    "twice.csv": ("a,b,a\n1,2,3\n", r"twice.csv:1: the name 'a' is there twice"),
    "nameless.csv": (",,\n1,2,3\n", r"nameless.csv:1: no column has a name"),
    "case.csv": ("a,b,A\n1,2,3\n", r"case.csv:1: 'a' and 'A' differ by case alone"),
    "zeros.csv": (b"\0" * 1000, r"zeros.csv:1: the first line has bytes of value 0"),
    "wide.csv": (",".join(f"c{i}" for i in range(100_000)) + "\n", r"wide.csv: 100000 columns; a log may have 5000"),
    "line.csv": ("a" * (2 << 20), r"line.csv:1: the first line has more than 1048576 characters"),
    "utf16.csv": ("a,b\n1,2\n".encode("utf-16"), r"utf16.csv: cannot be read: .*UTF-8"),
    "latin.csv": (b"a,b\nna\xefve,2\n", r"latin.csv: .*utf-8"),
    "head.csv": (b"a\xef\xff,b\n1,2\n", r"head.csv: cannot be read: .*utf-8"),
    "fake.csv.gz": ("a,b\n1,2\n", r"fake.csv.gz: cannot be read: Not a gzipped file"),
    "half.jsonl": ('{"a": 1}\n{"a": 2', r"half.jsonl: .*Malformed JSON"),
    "empty.jsonl": ("", r"empty.jsonl: no rows"),
    "list.jsonl": ("[1, 2]\n", r"list.jsonl: .*"),
    "log.xlsx": ("x", r"log.xlsx: its ending is not that of a log. Known: .parquet"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_said_on_one_line(tmp_path: Path, name: str) -> None:
    content, message = BROKEN[name]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises((ReadError, DataError), match=message) as caught:
        list(open_log(path).batches(open_log(path).columns))
    assert "\n" not in str(caught.value) and len(str(caught.value)) <= 400


def test_files_that_are_not_there_or_do_not_fit(tmp_path: Path) -> None:
    written(tmp_path / "a.csv", "a,b\n1,2\n")
    written(tmp_path / "b.csv", "b,a\n1,2\n")
    written(tmp_path / "c.jsonl", '{"a": 1}\n')
    (tmp_path / "folder").mkdir()
    for source, message in [
        (tmp_path / "no.csv", r"no.csv: no such file. Check the path"),
        (str(tmp_path / "*.parquet"), r"\*.parquet: no file matches"),
        (tmp_path / "folder", r"folder: a folder without Parquet, CSV or JSON files"),
        (tmp_path / ("x" * 300), r"x: "),
        ("a\0b.csv", r"a\\x00b.csv: "),
        ([tmp_path / "a.csv", tmp_path / "c.jsonl"], r"files of different formats"),
    ]:
        with pytest.raises(ReadError, match=message):
            open_log(source)


def test_unknown_columns_are_named_with_the_nearest(table: LogTable) -> None:
    for ask in (
        lambda: table.counts(["uniqe"]),
        lambda: table.counts([], weight="uniqe"),
        lambda: table.counts([], real=RealColumn("uniqe", 0, 1)),
        lambda: table.counts([], due=Due("uniqe", 1)),
        lambda: table.duplicates("uniqe"),
        lambda: table.profile("uniqe", 3),
        lambda: next(table.batches(["uniqe"])),
    ):
        with pytest.raises(DataError, match=r"has no column 'uniqe'. Did you mean 'unique'\? Its columns: s, i, b, f"):
            ask()


# ---- limits ----


def test_too_many_combinations_are_refused(framed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_GROUPS", 100)
    log = framed({"a": list(range(101)), "b": [1] * 101})
    with pytest.raises(
        DataError, match=r"the columns a, b have more than 100 combinations of values. Leave out columns"
    ):
        log.counts(["a", "b"])
    assert framed({"a": list(range(100))}).counts(["a"]).rows.sum() == 100


def test_many_duplicates(framed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "FEW", 4)
    found = framed({"id": [k % 50 for k in range(120)]}).duplicates("id", 3)
    assert (found.ids, found.extra_rows, found.examples) == (50, 70, ("0", "1", "2"))


SPILL = """
import sys
from pathlib import Path
from fairarm.logs import files
files.MEMORY, files.CORE_MEMORY = 110, 55
from fairarm.logs.sources import open_log
log = open_log(sys.argv[1])
found = log.duplicates("id")
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(found.ids, found.extra_rows, int(peak.split()[1]) // 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_duplicates_of_more_ids_than_memory_holds_go_to_disk(tmp_path: Path) -> None:
    """1.5 million ids of 40 letters need some 150 MB; DuckDB is given 110."""
    path = tmp_path / "ids.parquet"
    source = (
        "SELECT 'a row id of some length ' || (i % 1499000)::VARCHAR || repeat('x', 12) AS id FROM range(1500000) t(i)"
    )
    duckdb.connect().execute(f"COPY ({source}) TO '{path}'")
    places = {"TMPDIR": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, "-c", SPILL, str(path)], capture_output=True, text=True, env=os.environ | places
    )
    assert run.returncode == 0, run.stderr
    ids, extra, peak = map(int, run.stdout.split())
    assert (ids, extra) == (1000, 1000) and peak < 300
    assert [each.name for each in tmp_path.iterdir()] == ["ids.parquet"]  # nothing is left behind


QUIET = """
import sys
import duckdb
made, connect = [], duckdb.connect
duckdb.connect = lambda *given, **options: made.append(connect(*given, **options)) or made[-1]
from fairarm.logs.sources import open_log
for path in sys.argv[1:]:
    assert open_log(path).rows() == 2 and open_log(path, engine="dask").rows() == 2
for each in [connect(), *made, *(opened.cursor() for opened in made)]:
    print(each.execute("SELECT current_setting('enable_progress_bar')").fetchone()[0])
"""


def test_no_connection_draws_its_progress_on_standard_output(tmp_path: Path) -> None:
    """DuckDB does so by itself where Python runs without a script, as it does with ``-c``, once a query takes two seconds."""
    (tmp_path / "log.csv").write_text("arm\na\nb\n")
    (tmp_path / "log.jsonl").write_text('{"arm": "a"}\n{"arm": "b"}\n')
    paths = [str(tmp_path / "log.csv"), str(tmp_path / "log.jsonl")]
    run = subprocess.run([sys.executable, "-c", QUIET, *paths], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    plain, *ours = run.stdout.split()
    assert (
        plain == "True" and len(ours) == 6 and set(ours) == {"False"}
    )  # of DuckDB itself; three of ours and their cursors


# ---- frames, dictionaries, engines ----


def test_bandit_feedback_becomes_columns() -> None:
    n, d = 5, 2
    feedback = {
        "n_rounds": n, "n_actions": 3, "context": np.arange(n * d, dtype=float).reshape(n, d), "action_context": np.eye(3),
        "action": np.arange(n) % 3, "position": None, "reward": np.ones(n), "pscore": np.full(n, 1 / 3),
        "expected_reward": np.zeros((n, 3)), "pi_b": np.zeros((n, 3, 1)),
    }  # fmt: skip
    log = open_log(feedback)
    rewards = tuple(f"expected_reward_{k}" for k in range(3))
    assert log.columns == ("context_0", "context_1", "action", "reward", "pscore", *rewards)
    assert (log.rows(), log.engine) == (n, "pyarrow")
    assert next(log.batches(["context_1"]))["context_1"].tolist() == [1.0, 3.0, 5.0, 7.0, 9.0]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"a": [1, 2], "b": [1]}, r"columns need one length; got \{'a': 2, 'b': 1\}"),
        ({}, r"columns need one length; got \{\}"),
        ({"a": "text"}, r"Column 'a' is a str; a sequence"),
        ({"a": 3}, r"Column 'a' is a int; a sequence"),
        ({"a": np.zeros((2, 2, 2))}, r"Column 'a' has 3 dimensions"),
        ({"a": [1, "x"]}, r"a dictionary of columns: not a table: .* Give each column values of one type"),
        (pd.DataFrame({0: [1]}), r"pandas DataFrame: the column name 0 is not text. Rename it"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), r"pandas DataFrame: .*"),
    ],
)
def test_columns_that_are_no_table(source: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        open_log(source)


def test_a_pandas_column_of_several_types() -> None:
    log = open_log(pd.DataFrame({"a": [1, "x", None], "b": [1, 2, 2]}, dtype=object))
    assert log.counts(["b"]).rows.tolist() == [1, 2]
    with pytest.raises(DataError, match=r"more than one type .*column a.* Convert it to one"):
        log.counts(["a"])


@pytest.mark.parametrize("source", [3, None, [1, 2], [], object(), np.zeros(3)])
def test_other_things_are_not_logs(source: Any) -> None:
    with pytest.raises(OptionError, match=r"is not a log. Give a path, a database URL"):
        open_log(source)


def test_engines_are_for_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "log.csv", "a\n1\n")
    log = open_log(path)
    assert open_log(log) is log
    assert (log.engine, log.name) == ("duckdb", path)
    for source in (log, pd.DataFrame({"a": [1]}), {"a": [1]}, "sqlite:///log.db"):
        with pytest.raises(OptionError, match=r"The engine 'dask' is for files"):
            open_log(source, engine="dask")
    for name in ("spark", "duckdb://x", "dask://", "", "ray://host:1"):
        with pytest.raises(OptionError, match="There is no engine"):
            open_log(path, engine=name)
    monkeypatch.setattr(files, "SECONDS", 1)
    with pytest.raises(ReadError, match=r"No Dask scheduler answers at 127.0.0.1:1: .*Start a scheduler there"):
        open_log(path, engine="dask://127.0.0.1:1")


@pytest.mark.parametrize(
    ("package", "extra", "source", "options"),
    [
        ("ibis", "sql", "sqlite:///{folder}/log.db", {}),
        ("ibis", "sql", "postgresql://localhost/x", {}),
        ("psycopg", "sql", "postgresql://localhost/x", {}),
        ("dask.dataframe", "dask", "{folder}/log.csv", {"engine": "dask"}),
        ("distributed", "dask", "{folder}/log.csv", {"engine": "dask://localhost:1"}),
    ],
)
def test_missing_packages_say_how_to_install_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, extra: str, source: str, options: dict[str, str]
) -> None:
    written(tmp_path / "log.csv", "a\n1\n")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(OptionError, match=rf"{package} is needed .*pip install 'fairarm\[{extra}\]'"):
        open_log(source.format(folder=tmp_path), **options)


# ---- databases ----


def connected(log: LogTable) -> Any:
    """The connection that a log of a database has, to see that it can only read."""
    return log._held.native.get_backend().con


def test_sqlite_tables_and_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("my shop.db") as connection:
        connection.execute("CREATE TABLE one (a INTEGER, loose)")
        connection.execute("INSERT INTO one VALUES (1, 'x'), (NULL, 'y')")
    connection.close()
    log = open_log("sqlite:///my%20shop.db")
    assert log.counts(["a"]).keys["a"].tolist() == [1, None]
    assert (log.engine, log.name) == ("ibis", "sqlite:///my shop.db?table=one")
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        connected(log).execute("DELETE FROM one")
    with sqlite3.connect("my shop.db") as connection:
        connection.execute("CREATE TABLE two (a TEXT)")
    connection.close()
    written(tmp_path / "text.db", "this is no database, though it is long enough to be one" * 40)
    for url, kind, message in [
        ("sqlite:///my shop.db", OptionError, r"say which table, as in \?table=name. Tables: one, two"),
        ("sqlite:///my shop.db?table=three", ReadError, r"there is no table 'three'. Tables: one, two"),
        ("sqlite:///none.db", ReadError, r"sqlite:///none.db: no such file"),
        ("sqlite:///text.db", ReadError, r"file is not a database"),
        ("sqlite://none.db", OptionError, r"write sqlite:///file.db"),
        ("sqlite://", OptionError, r"write sqlite:///file.db"),
        ("mysql://u:geheim@h/d", OptionError, r"A log at 'mysql://' cannot be read. Known: sqlite"),
        ("https://u:geheim@host/log.csv", OptionError, r"Fetch files first"),
        ("postgresql://u:geheim@host:port/d", OptionError, r"cannot be read"),
        (["a.csv", "sqlite:///x.db"], OptionError, r"A list may name files only"),
    ]:
        with pytest.raises(kind, match=message) as caught:
            open_log(url)
        assert "geheim" not in str(caught.value)
    assert not (tmp_path / "none.db").exists()


@SERVERS
def test_postgresql_says_what_is_wrong_and_keeps_the_password(postgres: Any) -> None:
    with postgres.connect() as connection:
        connection.execute("CREATE SCHEMA empty")
        connection.execute('CREATE TABLE "Odd Name" (a integer)')
        connection.execute('INSERT INTO "Odd Name" VALUES (1), (1)')
    log = open_log(postgres.url())  # the only table of the schema that is searched
    assert log.rows() == 2
    with pytest.raises(Exception, match="read-only transaction"):
        connected(log).execute('DELETE FROM "Odd Name"')
    assert log.name == f"postgresql://fairarm@127.0.0.1:{postgres.port}/postgres?table=Odd Name"
    assert open_log(postgres.url("Odd%20Name")).rows() == 2
    assert open_log(postgres.url().replace("postgresql:", "postgres:") + "?connect_timeout=3").rows() == 2
    port = postgres.port
    for url, kind, message in [
        (postgres.url("log", password="wrong guess"), ReadError, r"password authentication failed.*Check the address"),
        (postgres.url("nothing"), ReadError, r"there is no table 'nothing'. Tables: Odd Name"),
        (postgres.url("empty.nothing"), ReadError, r"There are none"),
        (postgres.url().replace(f":{port}", ":1"), ReadError, r"127.0.0.1:1/postgres: connection.*refused"),
        (postgres.url().replace("/postgres", "/nowhere"), ReadError, r"database \"nowhere\" does not exist"),
        (postgres.url() + "?sslmode=require", ReadError, r"SSL"),
        (postgres.url() + "?colour=blue", ReadError, r"colour"),
    ]:
        with pytest.raises(kind, match=message) as caught:
            open_log(url)
        text = str(caught.value)
        assert "\n" not in text and "wrong guess" not in text and postgres.password not in text
        assert "wrong%20guess" not in text
    with postgres.connect() as connection:
        connection.execute('DROP TABLE "Odd Name"')
    with pytest.raises(DataError, match=r"ibis could not read it: .*does not exist"):
        log.counts(["a"])  # the number of rows is remembered


@SERVERS
def test_spark_times_without_zone_are_compared_as_they_are_written(spark: Any) -> None:
    """Whatever the zones of the session and of this machine."""
    text = "SELECT TIMESTAMP_NTZ '2030-03-06 00:00:00' + make_dt_interval(0, id) AS t, id AS `a.b` FROM range(10)"
    for kind in ("TIMESTAMP_LTZ", "TIMESTAMP_NTZ"):
        spark.conf.set("spark.sql.timestampType", kind)
        log = open_log(spark.sql(text))
        assert log.counts([], due=Due("t", 3600.0 * 3)).rows.tolist() == [3, 7]
    with pytest.raises(DataError, match=r"Column 'a.b': Spark takes a dot .* Rename the column"):
        log.counts(["a.b"])


def test_categories_numbered_anew_in_each_part() -> None:
    """The same category has another number in another part of a pyarrow table."""
    parts = [pa.array(each).dictionary_encode() for each in (["x", "y"], ["y", "x", "x"])]
    log = open_log(pa.table({"c": pa.chunked_array(parts)}))
    assert dict(zip(*_pairs(log.counts(["c"]), "c"), strict=True)) == {"x": 3, "y": 2}


def test_odd_column_names(framed: Any) -> None:
    names = ["a.b", "sex at birth", 'quo"te', "naïve", "select", "a,b", "a'b"]
    log = framed({name: [1, 1, 2] for name in names})
    found = log.counts(names, weight="select", real=RealColumn('quo"te', 0, 2))
    assert found.rows.tolist() == [2, 2]
    assert next(list(part) for part in log.batches(names)) == names
    assert log.duplicates("a.b").ids == log.profile("a.b", 0).low == 1


def test_a_row_is_off_by_at_most_two_to_the_minus_41(framed: Any) -> None:
    y = np.random.default_rng(2).random(3000)
    found = framed({"k": np.arange(3000), "y": y}).counts(["k"], real=RealColumn("y", 0.0, 1.0))
    off = np.abs(found.sums[:, 0] - y)
    assert 2.0**-43 < off.max() <= 2.0**-41


def test_due_across_the_start_of_summer_time(framed: Any) -> None:
    """Seconds, not hours of the clock: of the last 24 hours one was skipped in New York."""
    newest = datetime(2030, 3, 10, 18, tzinfo=UTC)  # 14:00 there, in summer time
    times = [newest - timedelta(hours=k) for k in range(30)]
    log = framed({"z": pa.array(times, pa.timestamp("us", "America/New_York"))})
    assert log.counts([], due=Due("z", 24 * 3600.0)).rows.tolist() == [24, 6]
