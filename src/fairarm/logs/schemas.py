"""Do the files of one log agree? Columns that all of them hold, each with a type that loses nothing; the others, and why not.

Readers take the types of many Parquet files from the first of them, and round what a later one holds. Here the types
of all files are compared first. Files alike are read together; types that differ are promoted where every value
survives, and a column for which there is no such type cannot be used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairarm.errors import ReadError, one_line

if TYPE_CHECKING:
    import pyarrow as pa

MOST_COLUMNS = 5000
"""Columns that a log may have."""

MOST_KINDS = 200
"""Kinds of files, by names and types of their columns, that are read together."""

SAFE_DIGITS = 15
"""Decimals of so many digits are different as doubles if they are different."""

DUCKDB_TYPES = {
    "int64": "BIGINT",
    "whole": "DECIMAL(20, 0)",
    "double": "DOUBLE",
    "text": "VARCHAR",
    "time": "TIMESTAMP",
    "zoned time": "TIMESTAMPTZ",
    "boolean": "BOOLEAN",
}
"""What types are promoted to, by what they hold; "whole": integers of up to 20 digits."""


@dataclass(frozen=True)
class Kind:
    """The type of a column, and what it holds: a name of ``DUCKDB_TYPES``, or the type again."""

    type: str
    holds: str


TEXT = Kind("text", "text")


@dataclass(frozen=True)
class Alike:
    """Files with the same columns of the same types."""

    paths: tuple[str, ...]
    kinds: dict[str, Kind]


@dataclass(frozen=True)
class Agreement:
    """What the files of a log have in common."""

    parts: tuple[Alike, ...]
    promoted: dict[str, str]
    """Columns whose types differ -> what they are promoted to."""
    columns: tuple[str, ...]
    """Columns that all files hold, in the order of the first."""
    disputed: dict[str, str]
    """Columns that cannot be used, and why."""

    def of_kind(self, column: str, kind: str) -> list[str]:
        """The files in which a column is of a kind."""
        return [path for part in self.parts if part.kinds[column].holds == kind for path in part.paths]


def agree(
    files: Iterable[tuple[str, dict[str, Kind]]], apart: Callable[[str], object] = lambda path: None
) -> Agreement:
    """Files, each with what its columns hold, in the order in which they are read; ``apart``: what else two files must
    have in common to be read together."""
    found: dict[tuple[object, tuple[tuple[str, Kind], ...]], list[str]] = {}
    for path, kinds in files:
        if len(kinds) > MOST_COLUMNS:
            text = f"{path}: {len(kinds)} columns; a log may have {MOST_COLUMNS}. Keep those that the problem needs."
            raise ReadError(one_line(text))
        found.setdefault((apart(path), tuple(kinds.items())), []).append(path)
    if len(found) > MOST_KINDS:
        text = (
            f"{path}: files of more than {MOST_KINDS} kinds, by names and types of their columns. Read fewer together."
        )
        raise ReadError(one_line(text))
    parts = tuple(Alike(tuple(paths), dict(kinds)) for (_, kinds), paths in found.items())
    promoted, disputed = {}, {}
    for name in dict.fromkeys(name for part in parts for name in part.kinds):
        lacking = next((part for part in parts if name not in part.kinds), None)
        kinds_held = {part.kinds[name]: part.paths[0] for part in reversed(parts) if name in part.kinds}
        if lacking is not None:
            holder = next(iter(kinds_held.values()))
            disputed[name] = f"it is in {holder} and not in {lacking.paths[0]}"
        elif len(kinds_held) > 1:
            kind = _promoted(each.holds for each in kinds_held)
            if kind is None:
                each = [f"{what.type} in {path}" for what, path in kinds_held.items()][::-1]
                disputed[name] = f"it is {each[0]} and {each[1]}. Convert it to one type"
            else:
                promoted[name] = kind
    columns = tuple(name for name in parts[0].kinds if name not in disputed) if parts else ()
    return Agreement(parts, promoted, columns, disputed)


def _promoted(kinds: Iterable[str]) -> str | None:
    """The kind that holds every value of these, or None. Of integers beside doubles the size is checked by the reader."""
    held = {*kinds} - {"null"}
    decimals = [_decimal(kind) for kind in held if kind.startswith("decimal(")]
    if len(held) == 1:
        return held.pop() if held <= {*DUCKDB_TYPES} or decimals else None
    if held <= {"int64", "whole"}:
        return "whole"
    if decimals and len(decimals) == len(held):
        before, after = (max(sizes) for sizes in zip(*((p - s, s) for p, s in decimals), strict=True))
        return f"decimal({before + after}, {after})" if before + after <= 38 else None
    if len(decimals) == len(held - {"int64", "whole", "double"}):
        return "double" if all(p <= SAFE_DIGITS for p, _ in decimals) else None
    return "time" if held <= {"time", "date"} else None


def _decimal(kind: str) -> tuple[int, int]:
    """Digits in all and after the point."""
    precision, scale = kind.removeprefix("decimal(").removesuffix(")").split(",")
    return int(precision), int(scale)


def holds(kind: pa.DataType) -> str:
    """What a type of Arrow holds: a name of ``DUCKDB_TYPES``, or its own name."""
    import pyarrow as pa
    import pyarrow.types as types

    if types.is_dictionary(kind):
        return holds(kind.value_type)
    if types.is_integer(kind):
        return "whole" if kind == pa.uint64() else "int64"
    if types.is_floating(kind):
        return "double"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "text"
    if types.is_timestamp(kind):
        return "time" if kind.tz is None else "zoned time"
    if types.is_date(kind):
        return "date"
    if types.is_decimal(kind) and kind.precision <= 38:
        return f"decimal({kind.precision}, {kind.scale})"
    return "boolean" if types.is_boolean(kind) else str(kind)


def duckdb_type(kind: str) -> str:
    """The type of DuckDB that a promoted column has."""
    return DUCKDB_TYPES.get(kind, kind.upper())


def arrow_type(kind: str) -> pa.DataType:
    """The type of Arrow that a promoted column has."""
    import pyarrow as pa

    if kind.startswith("decimal("):
        return pa.decimal128(*_decimal(kind))
    made = {
        "int64": pa.int64(), "whole": pa.decimal128(20, 0), "double": pa.float64(), "text": pa.string(),
        "time": pa.timestamp("us"), "zoned time": pa.timestamp("us", "UTC"), "boolean": pa.bool_(),
    }  # fmt: skip
    return made[kind]


def parquet_kinds(paths: Sequence[str]) -> Iterable[tuple[str, dict[str, Kind]]]:
    """What the columns of each file hold."""
    import pyarrow.parquet as pq

    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                if file.metadata.num_columns > MOST_COLUMNS:
                    yield path, {str(i): TEXT for i in range(file.metadata.num_columns)}
                schema = file.schema_arrow
        except Exception as error:
            raise ReadError(one_line(f"{path}: cannot be read as Parquet: {error}.")) from None
        check_names(path, schema.names)
        yield path, {field.name: Kind(str(field.type), holds(field.type)) for field in schema}


def check_names(where: str, names: Sequence[str]) -> None:
    """Names are different, also for readers that do not tell capital letters from small ones."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.get(name.casefold())
        if other is not None:
            trouble = (
                f"the name '{name}' is there twice" if other == name else f"'{other}' and '{name}' differ by case alone"
            )
            raise ReadError(one_line(f"{where}: {trouble}. Each column needs a name of its own."))
        seen[name.casefold()] = name
