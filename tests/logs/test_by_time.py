"""Batches by time: cut where loops would cut them, the same on every engine, and left alone by a longer log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

from fairarm import Arm, LogMap, Outcome, Problem, Variable, table
from fairarm.logs import table as tables
from fairarm.logs.by_time import TimedRows, batches_of, can_be_timed, count_batches_too, rows_by_time
from fairarm.logs.reading import LogReader
from fairarm.logs.sources import open_log

TWO = ("0", "1")


def problem(real: bool = False) -> Problem:
    names = ("S", "V") if real else ("S", "V", "Y")
    return Problem(
        name="timed",
        variables=[Variable(name, TWO) for name in names],
        graph=[("S", "V"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", low=0, high=2) if real else Outcome("Y", values=(0, 1)),
        tolerance=0.2,
        arms=[Arm("a", table("V", [], [0.5, 0.5])), Arm("b", table("V", ["S"], [[0.2, 0.8], [0.6, 0.4]]))],
    )


def rows_of(n: int, seed: int = 1, missing: float = 0.1) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    y: list[Any] = rng.integers(0, 2, n).tolist()
    for i in np.flatnonzero(rng.random(n) < missing):
        y[i] = None
    return {
        "arm": rng.choice(["a", "b"], n).tolist(), "S": rng.integers(0, 2, n).tolist(), "V": rng.integers(0, 2, n).tolist(),
        "Y": y, "t": sorted(rng.integers(0, 3 * n, n).tolist()),
    }  # fmt: skip


def numbers(n: int) -> list[int]:
    """Row numbers with which batches end, by the rule as it is told."""
    return [int(32 * 1.2**i) for i in range(100) if int(32 * 1.2**i) <= n]


def expected_ends(times: list[Any], within: float | None = None) -> list[Any]:
    ordered, last = sorted(times), max(times)
    ends = sorted({ordered[number - 1] for number in numbers(len(times))})
    return [end for end in ends if end < last and (within is None or end <= last - within)]


def reader_of(columns: Any, asked: Problem | None = None, **where: Any) -> LogReader:
    return LogReader(asked or problem(), open_log(columns), LogMap(arm="arm", time="t", **where))


def read(columns: Any, asked: Problem | None = None, **where: Any) -> TimedRows:
    found = rows_by_time(reader_of(columns, asked, **where), 20)
    assert found is not None
    return found


@pytest.mark.parametrize("within", [None, 300.0])
def test_batches_end_where_loops_end_them(within: float | None) -> None:
    for seed in range(4):
        columns = rows_of(700, seed)
        if seed == 3:
            columns["t"] = [40 * (t // 40) for t in columns["t"]]  # many rows of one time
        shuffled = np.random.default_rng(seed).permutation(700)
        mixed = {name: [values[i] for i in shuffled] for name, values in columns.items()}
        found = batches_of(open_log(mixed), "t", within).ends
        assert found == expected_ends(columns["t"], within) and len(found) > 3


def counted(found: TimedRows) -> dict[tuple[Any, ...], int]:
    out: dict[tuple[Any, ...], int] = {}
    for i in range(found.batch.size):
        state = None if found.missing[i] else int(found.batch.columns["Y"][i])
        key = (int(found.part[i]), int(found.batch.arm[i]), int(found.batch.columns["S"][i]), int(found.batch.columns["V"][i]), state)  # fmt: skip
        out[key] = out.get(key, 0) + int(found.batch.count[i])
    return out


def by_loop(columns: dict[str, Any]) -> dict[tuple[Any, ...], int]:
    ends, out = expected_ends(columns["t"]), {}
    for arm, s, v, y, t in zip(*(columns[name] for name in ("arm", "S", "V", "Y", "t")), strict=True):
        part = sum(t > end for end in ends)
        if part < len(ends):
            key = (part, "ab".index(arm), s, v, y)
            out[key] = out.get(key, 0) + 1
    return out


@pytest.mark.parametrize("kind", ["columns", "pyarrow", "pandas", "polars", "duckdb"])
def test_rows_are_those_of_a_loop_on_every_engine(kind: str) -> None:
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    columns = rows_of(900)
    arrow = pa.table(columns)
    made = {
        "columns": lambda: columns, "pyarrow": lambda: arrow, "pandas": lambda: pd.DataFrame(columns), "polars": lambda: pl.DataFrame(columns),
        "duckdb": lambda: duckdb.from_arrow(arrow),
    }[kind]()  # fmt: skip
    found = read(made)
    assert counted(found) == by_loop(columns) and found.untimed == 0
    assert any(key[-1] is None for key in counted(found))


def test_times_of_every_kind_cut_alike() -> None:
    import pandas as pd

    columns = rows_of(600)
    start = datetime(2026, 3, 1)
    moments = [start + timedelta(minutes=t) for t in columns["t"]]
    zone = timezone(timedelta(hours=-5))
    kinds = {
        "number": [float(t) for t in columns["t"]],
        "naive": moments,
        "utc": [m.replace(tzinfo=UTC) for m in moments],
        "zone": pd.Series([m.replace(tzinfo=UTC).astimezone(zone) for m in moments]),
    }
    for times in kinds.values():
        frame = pd.DataFrame({**columns, "t": times})
        assert counted(read(frame)) == by_loop(columns)
    days = [m.date() for m in moments]
    by_day = read(pd.DataFrame({**columns, "t": pd.to_datetime(pd.Series(days))}))
    assert counted(by_day) == by_loop({**columns, "t": [d.toordinal() for d in days]})
    for text in (
        [m.isoformat() for m in moments],
        [f"{m:%Y-%m-%d %H:%M}Z" for m in moments],
        [str(t) for t in columns["t"]],
    ):
        assert counted(read({**columns, "t": text})) == by_loop(columns)
        late = columns["t"][-1] - 60
        within = 60.0 if text[0].isdigit() else 3600.0
        due = batches_of(open_log({**columns, "t": text}), "t", within).ends
        assert len(due) == sum(end <= late for end in expected_ends(columns["t"]))
    mixed = [f"{m:%Y-%m-%dT%H:%M}{'Z' if i % 2 else '+01:00'}" for i, m in enumerate(moments)]
    assert rows_by_time(reader_of({**columns, "t": mixed}), 20) is None  # their order is not that of the text


def test_a_longer_log_leaves_earlier_batches_alone() -> None:
    columns = rows_of(2000)
    before: dict[tuple[Any, ...], int] = {}
    batches = 0
    for n in (100, 101, 350, 800, 2000):
        found = read({name: values[:n] for name, values in columns.items()})
        now = counted(found)
        assert {key: rows for key, rows in now.items() if key[0] < batches} == before
        assert len(found.ends) >= batches
        before, batches = now, len(found.ends)
    assert batches > 15


def test_rows_of_the_last_time_wait_for_a_later_one() -> None:
    columns = rows_of(40)
    columns["t"] = [5] * 40
    assert rows_by_time(reader_of(columns), 20) is None
    columns["t"] = [5] * 39 + [6]
    assert read(columns).batch.total == 39


def test_a_real_outcome_is_summed_and_a_missing_one_counted() -> None:
    columns = rows_of(500)
    columns["Y"] = [None if y is None else 0.5 + y for y in columns["Y"]]
    found = read(columns, problem(real=True))
    ends, told, lost, total = expected_ends(columns["t"]), 0, 0, 0.0
    for y, t in zip(columns["Y"], columns["t"], strict=True):
        if t <= ends[-1]:
            told, lost, total = told + (y is not None), lost + (y is None), total + (y or 0.0) / 2
    assert found.sums is not None and found.sums[~found.missing].sum() == pytest.approx(total)
    assert found.batch.count[found.missing].sum() == lost and found.batch.count[~found.missing].sum() == told


def test_rows_without_a_time_are_counted_apart() -> None:
    columns = rows_of(300)
    columns["t"] = [None if i % 50 == 7 else float(t) for i, t in enumerate(columns["t"])]
    assert read(columns).untimed == 6


def test_what_cannot_be_timed() -> None:
    columns = {**rows_of(50), "n": [1] * 50}
    assert can_be_timed(reader_of(columns))
    assert not can_be_timed(reader_of(columns, adaptive=True)) and not can_be_timed(reader_of(columns, count="n"))
    assert not can_be_timed(LogReader(problem(), open_log(columns), LogMap(arm="arm")))
    assert rows_by_time(reader_of(columns), 1 << 22) is None  # too many combinations to count


@pytest.mark.parametrize("case", ["states", "real", "due", "text"])
def test_one_pass_counts_what_two_passes_count(case: str) -> None:
    columns = rows_of(800)
    where: dict[str, Any] = {"outcome_within": 100.0} if case in ("due", "real") else {}
    if case == "real":
        columns |= {
            "Y": [None if y is None else y + 0.1 * (i % 9) for i, y in enumerate(columns["Y"])],
            "id": [*range(800)],
        }
        where["row_id"] = "id"
    if case == "text":
        columns["t"] = [f"{t:05d}" for t in columns["t"]]
    one, two = (reader_of(columns, problem(case == "real"), **where) for _ in range(2))
    count_batches_too(one)
    assert one.by_batch is None
    cells = (one.cells(), two.cells())
    assert one.by_batch is not None and two.by_batch is None
    timed = [rows_by_time(each, 100) for each in (one, two)]
    for first, second in (cells, timed):
        assert first is not None and second is not None and alike(first.batch, second.batch)
        assert (first.sums is None) == (case != "real") and np.array_equal(first.sums, second.sums)
    assert np.array_equal(cells[0].pilot, cells[1].pilot) and (cells[0].pilot is None) == (case != "real")
    assert timed[0].ends == timed[1].ends and np.array_equal(timed[0].part, timed[1].part)
    assert np.array_equal(timed[0].missing, timed[1].missing) and timed[0].missing.any()
    assert (one.rows, one.used) == (two.rows, two.used)


def alike(first: Any, second: Any) -> bool:
    pairs = [(getattr(first, key), getattr(second, key)) for key in ("arm", "regime", "count")]
    pairs += [(first.columns[name], second.columns[name]) for name in first.columns]
    return all(np.array_equal(a, b) for a, b in pairs)


def test_too_many_combinations_of_both_are_counted_by_cell_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_GROUPS", 40)
    reader = reader_of(rows_of(800))
    count_batches_too(reader)
    assert reader.cells().batch.total > 600 and reader.by_batch is None
