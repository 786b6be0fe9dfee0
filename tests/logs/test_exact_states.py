"""Numbers as states: two that differ stay two, whatever their type and however the log is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fairarm import Arm, LogMap, Outcome, Problem, Variable, table
from fairarm.logs.coding import UNDECLARED, Coder
from fairarm.logs.reading import LogReader
from fairarm.logs.sources import open_log

LARGE = 2**53
KINDS: dict[str, tuple[pa.DataType, tuple[Any, Any, Any]]] = {
    "int64": (pa.int64(), (LARGE, LARGE + 1, -LARGE - 1)),
    "uint64": (pa.uint64(), (2**64 - 2, 2**64 - 1, LARGE + 1)),
    "decimal": (pa.decimal128(38, 2), tuple(Decimal(f"{LARGE + i}.50") for i in range(3))),
    "whole decimal": (pa.decimal128(38, 3), tuple(Decimal(LARGE + i) for i in range(3))),
    "float64": (pa.float64(), (0.1234567, 0.12345671, 1234567.5)),
    "float32": (pa.float32(), (0.1, 0.2, 16777216.0)),
}
FRAMES: dict[str, Callable[[pa.Table], Any]] = {
    "pyarrow": lambda log: log,
    "pandas": lambda log: log.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
    "duckdb": lambda log: __import__("duckdb").connect().from_arrow(log),
    "dask": lambda log: __import__("dask.dataframe").dataframe.from_pandas(
        log.to_pandas(types_mapper=pd.ArrowDtype), npartitions=2
    ),
}


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize("by_rows", [False, True])
def test_states_that_differ_stay_apart(frame: str, kind: str, null: bool, by_rows: bool) -> None:
    dtype, (first, second, third) = KINDS[kind]
    names = tuple(f"{value.normalize():f}" if isinstance(value, Decimal) else str(value) for value in (first, second))
    problem = Problem(
        name="exact",
        variables=[Variable("S", names), Variable("V", ("no", "yes")), Variable("Y", ("0", "1"))],
        graph=[("S", "V"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.1,
        arms=[Arm("old", table("V", [], [0.5, 0.5]))],
        deployed="old",
    )
    held = [first, second, second, third, *([None] if null else [])]
    columns = {"S": pa.array(held, dtype), "V": ["no"] * len(held), "Y": [0] * len(held)}
    reader = LogReader(problem, open_log(FRAMES[frame](pa.table(columns))), LogMap())
    batches = [part.batch for part in reader.chunks(100)] if by_rows else [reader.cells().batch]
    counts = [sum(int(b.count[b.columns["S"] == code].sum()) for b in batches) for code in (0, 1)]
    assert counts == [1, 2]
    assert {f.name: f.rows for f in reader.findings()} == {
        "undeclared-states": 1, **({"missing-values": 1} if null else {}),
    }  # fmt: skip


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("kind", [*KINDS, "tiny decimal", "zero"])
@pytest.mark.parametrize("by_rows", [False, True])
def test_what_is_left_out_is_the_same_number_and_no_other(frame: str, kind: str, by_rows: bool) -> None:
    more = {
        "tiny decimal": (pa.decimal128(38, 30), (Decimal("1.5e-20"), Decimal("2e-20"), Decimal("-2e-20"))),
        "zero": (pa.decimal128(38, 12), (Decimal(1), Decimal(0), Decimal("1e-12"))),
    }
    dtype, (first, second, third) = (KINDS | more)[kind]
    named = f"{second:f}" if isinstance(second, Decimal) else str(second)
    columns = {
        "S": ["a", "b"] * 2 + ["a"],
        "V": ["no"] * 5,
        "Y": [0] * 5,
        "x": pa.array([first, second, second, third, None], dtype),
    }
    where = LogMap(drop={"x": [named, "123.25", "not", "1e199", "1e999999999"]})
    reader = LogReader(SMALL, open_log(FRAMES[frame](pa.table(columns))), where)
    assert [part.rows for part in reader.dropped] == [2, 0, 0, 0, 0]
    assert reader.dropped[1].text == "x = 123.25: 0 rows (no such row)"
    total = sum(part.batch.total for part in reader.chunks(100)) if by_rows else reader.cells().batch.total
    assert total == 3


SMALL = Problem(
    name="small",
    variables=[Variable("S", ("a", "b")), Variable("V", ("no", "yes")), Variable("Y", ("0", "1"))],
    graph=[("S", "V"), ("V", "Y")],
    sensitive="S",
    decision="V",
    outcome=Outcome("Y", values=(0, 1)),
    tolerance=0.1,
    arms=[Arm("old", table("V", [], [0.5, 0.5]))],
    deployed="old",
)


def test_a_double_is_no_state_that_is_written_with_fewer_digits() -> None:
    coder = Coder(("0.123457", "1.23457e+06", "0.1"))
    assert [coder.code(v) for v in (0.1234567, 1234567.5, 0.1)] == [UNDECLARED, UNDECLARED, 2]
    assert replace(coder, states=("1",)).code(1.0) == 0
