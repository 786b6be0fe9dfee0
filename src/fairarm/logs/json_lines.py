"""JSON lines: the types of the columns are found from every row, so that none is rounded or read as another."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import Any

from fairarm.errors import ReadError, one_line
from fairarm.sealed import distinct

DIGITS = 16
"""Integers with so many digits may be more than a double can hold."""

_KEPT = {"BIGINT": "BIGINT", "UBIGINT": "BIGINT", "HUGEINT": "BIGINT", "DOUBLE": "DOUBLE", "BOOLEAN": "BOOLEAN"}


def types_by_duckdb(connection: Any, paths: Sequence[str]) -> dict[str, str]:
    """Columns and types. What is written as text stays text, times and all; so does a mixture."""
    from duckdb import ColumnExpression, ConstantExpression, FunctionExpression

    found = connection.read_json(list(paths), sample_size=-1, records="true", hive_partitioning=False)
    types = {name: _KEPT.get(str(kind), "VARCHAR") for name, kind in zip(found.columns, found.types, strict=True)}
    patterns = {"DOUBLE": f"-?[0-9]{{{DIGITS},}}", "BIGINT": "-?[0-9]{19,}"}
    unsure = {name: patterns[kind] for name, kind in types.items() if kind in patterns}
    if unsure:
        raw = connection.read_json(list(paths), columns=dict.fromkeys(unsure, "VARCHAR"), hive_partitioning=False)
        long = [
            FunctionExpression("regexp_full_match", ColumnExpression(name), ConstantExpression(pattern))
            for name, pattern in unsure.items()
        ]
        each = [FunctionExpression("bool_or", part).alias(f"c{i}") for i, part in enumerate(long)]
        held = raw.aggregate(each).fetchall()[0]
        types |= {name: "VARCHAR" for name, any_long in zip(unsure, held, strict=True) if any_long}
    return types


def kinds_of(lines: Iterable[str]) -> dict[str, set[str]]:
    """What the values of each column are, in some lines."""
    found: dict[str, set[str]] = {}
    for line in lines:
        if line.strip():
            for name, value in _row(line).items():
                found.setdefault(name, set()).add(_kind(value))
    return found


def types_of(parts: Iterable[dict[str, set[str]]]) -> dict[str, str]:
    """Columns and types, from what all parts hold; the same as DuckDB's."""
    joined: dict[str, set[str]] = {}
    for part in parts:
        for name, kinds in part.items():
            joined.setdefault(name, set()).update(kinds)
    return {name: _type(kinds - {"null"}) for name, kinds in joined.items()}


def _type(kinds: set[str]) -> str:
    if kinds and kinds <= {"integer", "long"}:
        return "BIGINT"
    if kinds and kinds <= {"integer", "double"}:
        return "DOUBLE"
    return "BOOLEAN" if kinds == {"boolean"} else "VARCHAR"


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer" if abs(value) < 10 ** (DIGITS - 1) else "long" if abs(value) < 10**18 else "huge"
    return {float: "double", str: "text", type(None): "null"}.get(type(value), "other")


def _row(line: str) -> dict[str, Any]:
    row = json.loads(line, object_pairs_hook=distinct)
    if not isinstance(row, dict):
        raise ValueError(f'a line is not an object such as {{"arm": 1}}: {line.strip()[:80]}')
    return row


def framed(lines: Iterable[str], types: dict[str, str]) -> Any:
    """Lines as a pandas frame of these types."""
    import pandas as pd

    names = {"BIGINT": "Int64", "DOUBLE": "Float64", "BOOLEAN": "boolean"}
    rows = [_row(line) for line in lines if line.strip()]
    columns = {}
    for name, kind in types.items():
        values = [row.get(name) for row in rows]
        if kind == "VARCHAR":
            values = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
        columns[name] = pd.array(values, dtype=names.get(kind, "string[pyarrow]"))
    return pd.DataFrame(columns)


def check_rows(name: str, paths: Sequence[str]) -> None:
    """There is something to read."""
    if not any(os.path.getsize(path) for path in paths):
        raise ReadError(one_line(f'{name}: no rows. Lines such as {{"arm": 1}} are needed.'))
