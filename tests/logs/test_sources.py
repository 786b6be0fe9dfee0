"""Every engine against plain Python loops: the same rows give the same counts, sums, duplicates, batches and profiles."""

from __future__ import annotations

import csv
import gzip
import json
import math
import sqlite3
from collections import Counter
from collections.abc import Callable
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

from fairarm.logs.sources import open_log
from fairarm.logs.table import DUE, Counts, Due, LogTable, RealColumn

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
    """Rows, Σ y' and Σ y'^2 by key, row by row."""
    found: dict[tuple[Any, ...], list[float]] = {}
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
            line.append(row[due.column] is not None and row[due.column] <= newest - span)
        if count:
            total = found.setdefault(tuple(line), [0, 0.0, 0.0])
            for at, amount in enumerate((1, scaled, scaled * scaled)):
                total[at] += count * amount
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


@pytest.mark.parametrize("question", QUESTIONS)
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
    assert all(part[DUE].dtype == np.bool_ and part["s"].dtype == object for part in parts)
    typed = "csv" not in engine
    newest = max(row["t"] for row in ROWS if row["t"] is not None)
    got = {int(part["unique"][k]): {n: c[k] for n, c in part.items()} for part in parts for k in range(len(part["s"]))}
    assert sum(len(part["s"]) for part in parts) == len(got) == len(ROWS)
    for row in seen_by(engine):
        line = got[row["unique"]]
        assert line["s"] == row["s"]
        assert line["b"] == row["b"] and (line["b"] is None) == (row["b"] is None)
        assert line[DUE] == (row["t"] is not None and row["t"] <= newest - timedelta(days=1))
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
