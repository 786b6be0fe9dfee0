"""Data frames of results: which library, which types, and what happens without one."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fairarm import frames
from fairarm.errors import OptionError
from fairarm.frames import LIBRARIES, columns_of_table, frame_of, limits

COLUMNS: dict[str, frames.Column] = {
    "arm": (str, ["a", "b"]),
    "outcome": (float, [0.1 + 0.2, None]),
    "pulls": (int, [2**53 + 1, 3]),
    "fair": (bool, [None, None]),
}


def test_types_and_full_precision() -> None:
    made = frame_of(COLUMNS, "pyarrow")
    assert made.schema.types == [pa.string(), pa.float64(), pa.int64(), pa.bool_()]
    assert made.to_pylist() == [
        {"arm": "a", "outcome": 0.1 + 0.2, "pulls": 2**53 + 1, "fair": None},
        {"arm": "b", "outcome": None, "pulls": 3, "fair": None},
    ]
    assert frame_of(COLUMNS, "polars").schema == {
        "arm": pl.String, "outcome": pl.Float64, "pulls": pl.Int64, "fair": pl.Boolean,
    }  # fmt: skip
    framed = frame_of(COLUMNS, "pandas")
    assert framed["pulls"].tolist() == [2**53 + 1, 3] and framed["outcome"].isna().tolist() == [False, True]


@pytest.mark.parametrize("missing", range(3))
def test_the_first_that_is_installed(monkeypatch: pytest.MonkeyPatch, missing: int) -> None:
    gone = LIBRARIES[:missing]
    monkeypatch.setattr(frames, "find_spec", lambda name: None if name in gone else find_spec(name))
    expected = (pd.DataFrame, pl.DataFrame, pa.Table)[missing]
    assert isinstance(frame_of(COLUMNS, None), expected)


def test_none_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "find_spec", lambda name: None)
    with pytest.raises(OptionError, match="pip install pandas"):
        frame_of(COLUMNS, None)


def test_one_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_polars(name: str) -> Any:
        if name == "polars":
            raise ImportError("No module named 'polars'")
        return importlib.import_module(name)

    monkeypatch.setattr(frames, "import_module", without_polars)
    with pytest.raises(OptionError, match="pip install polars") as caught:
        frame_of(COLUMNS, "polars")
    assert "\n" not in str(caught.value)


def test_one_that_is_unknown() -> None:
    with pytest.raises(OptionError, match="pandas, polars, pyarrow; got 'dask'"):
        frame_of(COLUMNS, "dask")


def test_names_of_columns_are_plain_and_unique() -> None:
    made = columns_of_table(("arm", "P(best fair)", "low", "low", "cost, natural"), [("x", 0.5, 1, 2, 3)])
    assert list(made) == ["arm", "p_best_fair", "low", "low_4", "cost_natural"]
    assert list(made["low_4"][1]) == [2]


def test_limits_that_are_not_known() -> None:
    assert limits("gap", [(1.0, 2.0), None]) == {"gap_low": (float, [1.0, None]), "gap_high": (float, [2.0, None])}
