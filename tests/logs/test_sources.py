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

from fairarm.errors import DataError, OptionError, ReadError
from fairarm.logs import files, sources
from fairarm.logs import table as tables
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
        exact = [math.fsum(log["y"][log["a"] == a] ** power) for power in (1, 2)]
        assert sums[0][a] == pytest.approx(exact, rel=0, abs=2.0**-41 * 70_000)


@pytest.mark.parametrize("low_high", [(0.0, 1.0), (-3.0, 5.0), (0.0, 1e-9), (-1e30, 1e30)])
def test_both_ends_of_the_range_are_in_it(low_high: tuple[float, float]) -> None:
    low, high = low_high
    beyond = [np.nextafter(low, -np.inf), np.nextafter(high, np.inf), np.inf, -np.inf]
    log = open_log({"y": np.array([low, high, *beyond, np.nan])})
    found = log.counts([], real=RealColumn("y", low, high))
    assert dict(zip(found.outcome.tolist(), found.rows.tolist(), strict=True)) == {"ok": 2, "missing": 1, "outside": 4}  # type: ignore[union-attr]
    assert found.sums.tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]  # type: ignore[union-attr]


FRAMES: dict[str, Callable[[pa.Table], Any]] = {
    "pyarrow": lambda log: log,
    "pandas": lambda log: log.to_pandas(),
    "polars": pl.from_arrow,
    "duckdb": lambda log: duckdb.connect().from_arrow(log),
    "dask": lambda log: __import__("dask.dataframe").dataframe.from_pandas(log.to_pandas(), npartitions=2),
}


@pytest.fixture(params=FRAMES)
def framed(request: pytest.FixtureRequest) -> Callable[[dict[str, Any]], LogTable]:
    """Opens columns in one of the engines without a server."""
    return lambda columns: open_log(FRAMES[request.param](pa.table(columns)))


def test_text_as_numbers(framed: Any) -> None:
    """What is no number is outside, what says it is missing is missing; no exception, whatever the text."""
    ok = ["0.5", " 1 ", "+.25", "1e-3", "1.", "0E0", "000.5"]
    missing = [None, "", " ", "NaN", "na", "N/A", "NULL", "none"]
    outside = ["abc", "2", "-1", "inf", "1e999", "1,5", "0x1", "1_0", "١", "1 2", "9" * 400]
    log = framed({"y": pa.array(ok + missing + outside)})
    found = log.counts([], real=RealColumn("y", 0.0, 1.0))
    rows = dict(zip(found.outcome.tolist(), found.rows.tolist(), strict=True))
    assert rows == {"ok": len(ok), "missing": len(missing), "outside": len(outside)}
    assert found.sums[0] == pytest.approx([3.251, 2.562501], abs=1e-11)
    assert log.profile("y", 5).kind == "text"


@pytest.mark.parametrize("kind", [pa.bool_(), pa.int8(), pa.uint64(), pa.float32(), pa.decimal128(9, 2)])
def test_real_outcomes_of_every_number_type(framed: Any, kind: pa.DataType) -> None:
    log = framed({"y": pa.array([0, 1, None, 1], pa.int64()).cast(kind)})
    found = log.counts([], real=RealColumn("y", -1.0, 1.0))
    assert (found.rows.tolist(), found.outcome.tolist()) == ([3, 1], ["ok", "missing"])
    assert found.sums.tolist() == [[2.5, 2.25], [0.0, 0.0]]


def test_dates_are_not_numbers(framed: Any) -> None:
    log = framed({"y": pa.array([START, None], pa.timestamp("us"))})
    with pytest.raises(DataError, match=r"Column 'y' is of type Datetime.*numbers are needed"):
        log.counts([], real=RealColumn("y", 0.0, 1.0))


@pytest.mark.parametrize("bad", [-1.0, 0.5, None, math.nan, math.inf, 2.0**43])
def test_weights_are_whole_numbers(framed: Any, bad: float | None) -> None:
    log = framed({"a": [1, 1, 2], "w": pa.array([2.0, 3.0, bad])})
    with pytest.raises(DataError, match=r"1 rows have a weight 'w' that is not a whole number .* such as"):
        log.counts(["a"], weight="w")


def test_weights_of_text_and_those_too_large_to_sum(framed: Any) -> None:
    assert framed({"w": ["2", " 3 ", "0"]}).counts([], weight="w").rows.tolist() == [5]
    with pytest.raises(DataError, match=r"such as 'x'"):
        framed({"w": ["2", "x"]}).counts([], weight="w")
    heavy = framed({"w": [2**42] * 3, "y": [1.0, 0.5, 1.0]})
    assert heavy.counts([], weight="w").rows.tolist() == [3 * 2**42]
    with pytest.raises(DataError, match="its sums would not fit"):
        heavy.counts([], weight="w", real=RealColumn("y", 0.0, 1.0))


def test_a_line_of_weight_0_is_no_line(framed: Any) -> None:
    found = framed({"a": [1, 2, 2], "w": [0, 0, 4]}).counts(["a"], weight="w")
    assert (found.keys["a"].tolist(), found.rows.tolist()) == ([2], [4])


def test_categories_negative_zero_and_empty_tables(framed: Any) -> None:
    log = framed({"c": pa.array(["x", None, "y", "x"]).dictionary_encode(), "z": [0.0, -0.0, 1.0, math.nan]})
    assert dict(zip(*_pairs(log.counts(["c"]), "c"), strict=True)) == {"x": 2, "y": 1, None: 1}
    assert dict(zip(*_pairs(log.counts(["z"]), "z"), strict=True)) == {0.0: 2, 1.0: 1, None: 1}
    assert next(iter(log.batches(["c"])))["c"].tolist().count("x") == 2
    empty = framed({"a": pa.array([], pa.int64()), "y": pa.array([], pa.float64())})
    found = empty.counts(["a"], real=RealColumn("y", 0.0, 1.0))
    assert len(found.rows) == 0 and found.sums.shape == (0, 2) and len(found.keys["a"]) == 0
    assert (empty.rows(), empty.duplicates("a").ids, list(empty.batches(["a"])) in ([], [])) == (0, 0, True)
    assert (empty.profile("a", 5).distinct, empty.profile("a", 5).low) == (0, None)


def _pairs(counts: Counts, key: str) -> tuple[list[Any], list[int]]:
    return counts.keys[key].tolist(), counts.rows.tolist()


def test_times_as_keys_and_in_batches_are_the_same_everywhere(framed: Any) -> None:
    moments = [START, START + timedelta(microseconds=1), None]
    zoned = pa.array([None if m is None else m.replace(tzinfo=UTC) for m in moments], pa.timestamp("ns", "Asia/Tokyo"))
    log = framed({"t": pa.array(moments, pa.timestamp("us")), "z": zoned})
    assert log.counts(["t"]).keys["t"].tolist() == ["2030-03-06T00:00:00", "2030-03-06T00:00:00.000001", None]
    assert log.counts(["z"]).keys["z"].tolist() == ["2030-03-06T00:00:00Z", "2030-03-06T00:00:00.000001Z", None]
    [part] = _joined(log.batches(["t", "z"]))
    assert part["t"].dtype == part["z"].dtype == np.dtype("datetime64[us]")
    assert sorted(part["z"][~np.isnat(part["z"])].tolist()) == moments[:2]
    assert log.profile("z", 0).high == moments[1]
    assert log.counts([], due=Due("z", 1e-6)).due.tolist() == [False, True]


def _joined(parts: Any) -> list[dict[str, Any]]:
    parts = list(parts)
    return [{name: np.concatenate([part[name] for part in parts]) for name in parts[0]}]


def test_due_of_large_integers_is_exact(framed: Any) -> None:
    log = framed({"n": [10**18 + k for k in range(100)]})
    assert log.counts([], due=Due("n", 33.0)).rows.tolist() == [33, 67]
    assert log.counts([], due=Due("n", 33.5)).rows.tolist() == [34, 66]


def test_due_of_text(framed: Any) -> None:
    times = [
        "2030-03-06",
        "2030-03-06T00:00Z",
        "2030-03-06 00:00:00.000000000",
        "2030-03-06T00:00:01.5+00:00",
        "later",
        None,
    ]
    log = framed({"t": times})
    found = log.counts([], due=Due("t", 1.5))
    assert (found.due.tolist(), found.rows.tolist()) == ([False, True], [3, 3])
    assert framed({"t": ["1", "2.5", None]}).counts([], due=Due("t", 1.0)).rows.tolist() == [2, 1]
    for column in (["x", "y"], ["1", "2030-03-06"], ["2030-03-06T00:00:00+02:00"]):
        with pytest.raises(DataError, match=r"column 't' holds .* Make all of it numbers, or times in UTC"):
            framed({"t": column}).counts([], due=Due("t", 1.0))


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
    assert table.rows() == len(ROWS) or engine == "duckdb"
    stream.close()
    assert table.rows() == len(ROWS)
