"""Files that do not agree: every row's value is what its file says, whatever the order, or an error names the column."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairarm import Arm, LogMap, Outcome, Problem, Variable, evaluate, table
from fairarm.errors import DataError, ReadError
from fairarm.logs.sources import open_log
from fairarm.logs.table import LogTable

ENGINES = pytest.mark.parametrize("engine", ["duckdb", "dask"])
ORDERS = pytest.mark.parametrize("turned", [False, True])


def parquet(folder: Path, parts: list[pa.Table], turned: bool = False) -> list[str]:
    paths = []
    for i, part in enumerate(parts[::-1] if turned else parts):
        pq.write_table(part, folder / f"{i}.parquet")
        paths.append(str(folder / f"{i}.parquet"))
    return paths


def values(log: LogTable, column: str) -> Counter[Any]:
    found = log.counts([column])
    return Counter(dict(zip(found.keys[column].tolist(), found.rows.tolist(), strict=True)))


def streamed(log: LogTable, column: str) -> Counter[Any]:
    each = [value for part in log.batches([column], rows=3) for value in part[column].tolist()]
    return Counter(None if value is None or value != value else value for value in each)


MIXED: dict[str, tuple[list[pa.Array], list[Any]]] = {
    "integers, decimals": ([pa.array([0, 1]), pa.array([0.25, 0.75])], [0, 1, 0.25, 0.75]),
    "integers, float32": ([pa.array([16777217, 1]), pa.array([0.5, 1.0], pa.float32())], [16777217, 1, 0.5, 1.0]),
    "bytes, integers": ([pa.array([1, 2], pa.int8()), pa.array([300, None])], [1, 2, 300, None]),
    "uint64, integers": ([pa.array([2**64 - 1, 1], pa.uint64()), pa.array([-1, 2])], [2**64 - 1, 1, -1, 2]),
    "fixed point, double": (
        [pa.array([Decimal("0.10"), Decimal("2.00")], pa.decimal128(10, 2)), pa.array([0.5, None])],
        [0.1, 2.0, 0.5, None],
    ),
    "fixed points": (
        [
            pa.array([Decimal("0.1")], pa.decimal128(20, 1)),
            pa.array([Decimal("9007199254740993.25")], pa.decimal128(30, 2)),
        ],
        [0.1, "9007199254740993.25"],
    ),
    "nothing, text": ([pa.nulls(2), pa.array(["x", "y"])], [None, None, "x", "y"]),
    "categories, text": ([pa.array(["x", "y"]).dictionary_encode(), pa.array(["z", None])], ["x", "y", "z", None]),
    "nanoseconds, microseconds": (
        [
            pa.array([datetime(2030, 1, 1)], pa.timestamp("ns")),
            pa.array([datetime(2030, 1, 1, 0, 0, 0, 1)], pa.timestamp("us")),
        ],
        ["2030-01-01T00:00:00", "2030-01-01T00:00:00.000001"],
    ),
    "zones": (
        [
            pa.array([datetime(2030, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC")),
            pa.array([datetime(2030, 1, 2, tzinfo=UTC)], pa.timestamp("ns", "Asia/Tokyo")),
        ],
        ["2030-01-01T00:00:00Z", "2030-01-02T00:00:00Z"],
    ),
    "dates, times": (
        [pa.array([date(2030, 1, 1)]), pa.array([datetime(2030, 1, 1, 5)], pa.timestamp("us"))],
        ["2030-01-01T00:00:00", "2030-01-01T05:00:00"],
    ),
}


@ENGINES
@ORDERS
@pytest.mark.parametrize("name", MIXED)
def test_types_are_promoted_without_loss(tmp_path: Path, name: str, turned: bool, engine: str) -> None:
    parts, expected = MIXED[name]
    paths = parquet(tmp_path, [pa.table({"a": list(range(len(p))), "x": p}) for p in parts], turned)
    log = open_log(paths, engine=engine)
    assert values(log, "x") == Counter(expected)
    if "seconds" not in name and name != "zones" and "dates" not in name:
        assert streamed(log, "x") == Counter(expected)


REFUSED: dict[str, list[pa.Array]] = {
    "text, numbers": [pa.array(["1", "2"]), pa.array([1, 2])],
    "times, numbers": [pa.array([datetime(2030, 1, 1)]), pa.array([1.5])],
    "booleans, text": [pa.array([True]), pa.array(["true"])],
    "booleans, integers": [pa.array([True]), pa.array([1])],
    "zone, no zone": [pa.array([datetime(2030, 1, 1)]), pa.array([datetime(2030, 1, 1, tzinfo=UTC)])],
    "large integers, doubles": [pa.array([2**53 + 1]), pa.array([0.5])],
    "long fixed point, double": [pa.array([Decimal("1.5")], pa.decimal128(38, 10)), pa.array([0.5])],
    "lists, numbers": [pa.array([[1]]), pa.array([1])],
}


@ENGINES
@ORDERS
@pytest.mark.parametrize("name", REFUSED)
def test_types_that_do_not_go_together_are_named(tmp_path: Path, name: str, turned: bool, engine: str) -> None:
    """Only where the column is used: the others are read."""
    paths = parquet(tmp_path, [pa.table({"a": [1] * len(p), "x": p}) for p in REFUSED[name]], turned)
    log = open_log(paths, engine=engine)
    assert log.columns == ("a",) and log.rows() == sum(len(p) for p in REFUSED[name])
    with pytest.raises(DataError, match=r"column 'x' cannot be used: it .*parquet.*Convert it to one type"):
        log.counts(["x"])


@ENGINES
def test_columns_in_another_order_and_columns_that_are_not_everywhere(tmp_path: Path, engine: str) -> None:
    parts = [pa.table({"a": [1], "b": ["x"], "only": [1]}), pa.table({"b": ["y"], "a": [2]})]
    log = open_log(parquet(tmp_path, parts), engine=engine)
    found = log.counts(["a", "b"])
    assert list(zip(found.keys["a"], found.keys["b"], strict=True)) == [(1, "x"), (2, "y")]
    with pytest.raises(DataError, match=r"'only' cannot be used: it is in .*0.parquet and not in .*1.parquet"):
        log.counts(["only"])
    for i, text in enumerate(("a,b,only\n1,x,3\n", "b;a\ny;2\n")):
        (tmp_path / f"{i}.csv").write_text(text)
    log = open_log(tmp_path / "*.csv", engine=engine)
    found = log.counts(["a", "b"])
    assert list(zip(found.keys["a"], found.keys["b"], strict=True)) == [("1", "x"), ("2", "y")]
    with pytest.raises(DataError, match=r"'only' cannot be used"):
        log.counts(["only"])


@ENGINES
@ORDERS
def test_each_csv_file_has_its_own_separator(tmp_path: Path, turned: bool, engine: str) -> None:
    """Also where the sign of the one file stands in the values of the other."""
    texts = ["x,y\n1,2\n5,a;b\n", "x;y\n3,5;4\n", "x,y\n7,8\n"]
    for i, text in enumerate(texts[::-1] if turned else texts):
        (tmp_path / f"{i}.csv").write_text(text)
    found = open_log(tmp_path, engine=engine).counts(["x", "y"])
    pairs = list(zip(found.keys["x"], found.keys["y"], strict=True))
    assert pairs == [("1", "2"), ("3,5", "4"), ("5", "a;b"), ("7", "8")] and found.rows.tolist() == [1] * 4


@ENGINES
def test_files_without_a_column_in_common_are_refused(
    tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = parquet(Path(), [pa.table({"x": ["a"], "y": [1]}), pa.table({"x": [1], "y": ["a"]})])
    with pytest.raises(
        ReadError, match=r"none of the 2 columns can be used. 'x': it is .*0.parquet.*; 'y': it is"
    ) as caught:
        open_log(paths, engine=engine)
    assert "\n" not in str(caught.value)
    for i, text in enumerate(("a,b\n1,x\n", "c,d\n1,x\n")):
        (tmp_path / f"{i}.csv").write_text(text)
    with pytest.raises(ReadError, match=r"none of the 4 columns.* 'a': it is in .*0.csv and not in .*1.csv"):
        open_log(tmp_path / "*.csv", engine=engine)


BASE = Problem(
    name="base",
    variables=[Variable("S", ("a", "b")), Variable("V", ("no", "yes"))],
    graph=[("S", "V"), ("V", "Y")],
    sensitive="S",
    decision="V",
    outcome=Outcome("Y", low=0, high=1),
    tolerance=0.1,
    arms=[Arm("old", table("V", [], [0.5, 0.5]))],
    deployed="old",
)


@ENGINES
@ORDERS
def test_an_answer_from_integers_and_decimals(tmp_path: Path, turned: bool, engine: str) -> None:
    """The first file holds 0 and 1, the second 0.3 throughout: the mean is known, and it used to be rounded."""
    rng = np.random.default_rng(3)
    n = 600
    names = {"S": rng.choice(["a", "b"], 2 * n), "V": rng.choice(["no", "yes"], 2 * n)}
    outcomes = [pa.array(rng.integers(0, 2, n)), pa.array(np.full(n, 0.3))]
    parts = [pa.table({**{k: v[i * n : (i + 1) * n] for k, v in names.items()}, "Y": outcomes[i]}) for i in range(2)]
    found = evaluate(BASE, parquet(tmp_path, parts, turned), engine=engine)
    truth = (outcomes[0].to_numpy().sum() + 0.3 * n) / (2 * n)
    means = [(g.rows, g.mean) for g in found.observed]
    assert sum(rows * mean for rows, mean in means if mean is not None) / (2 * n) == pytest.approx(truth, abs=1e-9)


# ---- text ----


@ENGINES
def test_a_decimal_after_a_hundred_thousand_integers(tmp_path: Path, engine: str) -> None:
    many = 100_000
    (tmp_path / "log.csv").write_text("x\n" + "1\n" * many + "0.5\ntrue\n")
    assert values(open_log(tmp_path / "log.csv", engine=engine), "x") == {"1": many, "0.5": 1, "true": 1}
    (tmp_path / "log.jsonl").write_text('{"x": 1, "b": true}\n' * many + '{"x": 0.5, "b": "no", "late": 7}\n')
    log = open_log(tmp_path / "log.jsonl", engine=engine)
    assert values(log, "x") == {1.0: many, 0.5: 1}
    assert values(log, "b") == {"true": many, "no": 1}
    assert values(log, "late") == {None: many, 7: 1}


LINES: dict[str, tuple[list[Any], list[Any]]] = {
    "integers": ([1, -2, 2**53 + 1], [1, -2, 2**53 + 1]),
    "integers, doubles": ([1, 0.5], [1.0, 0.5]),
    "long integers, doubles": ([2**53 + 1, 0.5], [str(2**53 + 1), "0.5"]),
    "beyond 64 bits": ([2**64 + 1, 2**64 + 2, -1], [str(2**64 + 1), str(2**64 + 2), "-1"]),
    "quoted numbers": (["0.5", 0.25], ["0.5", "0.25"]),
    "booleans, text": ([True, "yes"], ["true", "yes"]),
    "booleans, null": ([True, None], [True, None]),
    "times": (["2030-01-31", "2030-01-31T12:00:00+01:00"], ["2030-01-31", "2030-01-31T12:00:00+01:00"]),
}


@ENGINES
@ORDERS
@pytest.mark.parametrize("name", LINES)
def test_json_values_are_what_the_lines_say(tmp_path: Path, name: str, turned: bool, engine: str) -> None:
    given, expected = LINES[name]
    for i, value in enumerate(given[::-1] if turned else given):
        (tmp_path / f"{i}.jsonl").write_text(json.dumps({"x": value}) + "\n")
    assert values(open_log(tmp_path, engine=engine), "x") == Counter(expected)


@ENGINES
def test_files_as_pandas_writes_them(tmp_path: Path, engine: str) -> None:
    """An index column without a name; written twice, there are two of them. A sign at the end of each line is one too."""
    (tmp_path / "log.csv").write_text(",Unnamed: 0,x,\n0,5,a,\n1,6,b,\n")
    log = open_log(tmp_path / "log.csv", engine=engine)
    assert log.columns == ("Unnamed: 0.1", "Unnamed: 0", "x", "Unnamed: 3")
    found = log.counts(["Unnamed: 0.1", "Unnamed: 0", "x", "Unnamed: 3"])
    assert {name: column.tolist() for name, column in found.keys.items()} == {
        "Unnamed: 0.1": ["0", "1"], "Unnamed: 0": ["5", "6"], "x": ["a", "b"], "Unnamed: 3": [None, None],
    }  # fmt: skip


@ENGINES
@pytest.mark.parametrize("text", ["a,b\n1,2\n3\n", "a,b\n1,2\n3,4,5\n", 'a,b\n1,"2\n'])
def test_lines_of_another_length_are_errors(tmp_path: Path, text: str, engine: str) -> None:
    (tmp_path / "log.csv").write_text(text)
    with pytest.raises((ReadError, DataError), match=r"log.csv"):
        open_log(tmp_path / "log.csv", engine=engine).counts(["a"])


@ENGINES
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_blank_lines_quotes_and_line_ends(tmp_path: Path, ending: str, engine: str) -> None:
    lines = ["\ufeffa,b", "1,x", "", '"2","y ""z"", "', "3,", "4, w "]
    (tmp_path / "log.csv").write_text(ending.join(lines) + ending, encoding="utf-8", newline="")
    found = open_log(tmp_path / "log.csv", engine=engine).counts(["a", "b"])
    assert list(zip(found.keys["a"], found.keys["b"], strict=True)) == [
        ("1", "x"), ("2", 'y "z", '), ("3", None), ("4", " w "),
    ]  # fmt: skip


@ENGINES
@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_folders_that_name_a_column(tmp_path: Path, ending: str, engine: str) -> None:
    """Their values are text, as in CSV: 01 is not 1."""
    for i, name in enumerate(("s=01", "s=1", "s=a%20b", "s=__HIVE_DEFAULT_PARTITION__")):
        (tmp_path / name).mkdir()
        path = tmp_path / name / f"log.{ending}"
        if ending == "parquet":
            pq.write_table(pa.table({"y": [i]}), path)
        else:
            path.write_text(f"y\n{i}\n" if ending == "csv" else json.dumps({"y": i}) + "\n")
    log = open_log(tmp_path, engine=engine)
    assert values(log, "s") == {"01": 1, "1": 1, "a b": 1, None: 1}
    assert log.counts(["s", "y"]).rows.tolist() == [1] * 4


@pytest.mark.parametrize("engine", ["duckdb", "dask"])
def test_a_column_that_is_read_but_not_everywhere_is_an_error_in_an_answer(tmp_path: Path, engine: str) -> None:
    rows = {"S": ["a", "b"], "V": ["no", "yes"], "Y": [0.5, 1.0]}
    paths = parquet(tmp_path, [pa.table(rows | {"n": [1, 2]}), pa.table(rows)])
    with pytest.raises(DataError, match=r"'n' cannot be used: it is in .*0.parquet and not in .*1.parquet"):
        evaluate(BASE, paths, engine=engine, columns=LogMap(count="n"))
    assert evaluate(BASE, paths, engine=engine).used == 4
