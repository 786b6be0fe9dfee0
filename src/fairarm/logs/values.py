"""Arrow columns as plain Python values and numpy arrays, the same whichever engine they come from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairarm.core.types import IntArray
from fairarm.errors import DataError, one_line

if TYPE_CHECKING:
    import pyarrow as pa


ROWS, LINES, LARGEST, BAD = "fairarm_rows", "fairarm_lines", "fairarm_largest", "fairarm_bad"
STATUS, DUE, WEIGHT, VALUE = "fairarm_status", "fairarm_due", "fairarm_weight", "fairarm_value"
HIGH, LOW, UNIT = (tuple(f"fairarm_{part}{power}" for power in (1, 2, 3)) for part in ("high", "low", "unit"))
REAL, DROP, OFFSET = "fairarm_real", "fairarm_drop", "fairarm_offset"
PILOT, PART_OF = "fairarm_pilot", "fairarm_part"
"""Names of the columns that queries add to the table's own."""

PART = 1 << 20
"""A number in [0, 1] is summed as two integers of this many steps: y = (high + low / PART) / PART."""

MISSING_WORDS = ["", "na", "n/a", "nan", "null", "none"]
"""Text that stands for a missing number, in lower case."""

NOT_DUE, IS_DUE, NO_TIME = 0, 1, 2
"""Codes of when a row is: younger than the time within which outcomes arrive, older, or at a time that cannot be read."""

NUMBER = r"^[+-]?(?:[0-9]{1,60}(?:\.[0-9]{0,60})?|\.[0-9]{1,60})(?:[eE][+-]?1?[0-9]{1,2})?$"
"""Text that is a number. The lengths keep it within the range of a double, beyond which some engines give up."""

EXACT = 1 << 53
"""Integers up to this size are different as doubles if they are different."""

LONGEST = 80
"""Characters of an example."""

MAX_ROWS = 1 << 42
"""Most rows of one combination, and the largest weight: 2^20 times as much stays within 64 bits."""


def encoded(name: str, column: pa.ChunkedArray) -> tuple[NDArray[Any], IntArray]:
    """The distinct plain values of a column, sorted, and for each entry its place among them."""
    one = flat(name, column).combine_chunks()
    coded = one.dictionary_encode(null_encoding="encode")
    raw = [plain(value) for value in coded.dictionary.to_pylist()]
    values = sorted(set(raw), key=_order)
    place = {value: i for i, value in enumerate(values)}
    codes = np.array([place[value] for value in raw], dtype=np.int64)
    return object_array(values), codes[coded.indices.to_numpy(zero_copy_only=False)]


def plain(value: Any) -> Any:
    """A value as str, int, float or bool; None for a null or NaN. Times are ISO text, in UTC where they have a zone."""
    if isinstance(value, float):
        return None if math.isnan(value) else value + 0.0  # -0.0 becomes 0.0
    if isinstance(value, Decimal):
        return _fixed(value)
    if isinstance(value, datetime):
        return naive(value).isoformat() + ("Z" if value.tzinfo else "")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value if value is None or isinstance(value, str | int) else str(value)


def _fixed(value: Decimal) -> int | float | str | None:
    """A number of fixed point: an integer, a float that is written alike, else text; never another number."""
    if not value.is_finite():
        return None if value.is_nan() else float(value)
    if value.as_tuple().exponent == 0 or (value == value.to_integral_value() and abs(value) >= EXACT):
        return int(value)
    return float(value) if Decimal(repr(float(value))) == value else f"{value.normalize():f}"


def naive(value: datetime) -> datetime:
    """A moment without its zone: in UTC where it had one."""
    return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value


def shown(value: Any) -> str:
    """A value of a log as an example: as it is, missing ones by name, cut to LONGEST characters."""
    if value is None or value != value:
        return "(missing)"
    text = repr(float(value)) if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def merged(keys: Sequence[IntArray], amounts: NDArray[np.int64]) -> tuple[list[IntArray], NDArray[np.int64]]:
    """Lines sorted by their keys' codes, equal lines added up: amounts (lines, A) by key."""
    if not keys:
        return [], amounts
    order = np.lexsort(keys[::-1])
    sorted_keys = [key[order] for key in keys]
    new = np.ones(len(order), dtype=bool)
    new[1:] = np.any([key[1:] != key[:-1] for key in sorted_keys], axis=0)
    return [key[new] for key in sorted_keys], np.add.reduceat(amounts[order], np.flatnonzero(new), axis=0)


def to_numpy(name: str, column: pa.ChunkedArray) -> Any:
    """A column as an array: int64, float64 (nulls are NaN), bool, datetime64[us] (UTC), or objects (nulls are None).

    Integers with nulls are doubles only where these hold them exactly; decimals are objects.
    """
    import pyarrow as pa
    import pyarrow.types as kind

    column = flat(name, column)
    given = column.type
    if kind.is_integer(given) and not column.null_count and (given != pa.uint64() or _within(column, 1 << 63)):
        return column.to_numpy().astype(np.int64, copy=False)
    if kind.is_floating(given) or (kind.is_integer(given) and _within(column, EXACT)):
        return column.cast(pa.float64(), safe=False).to_numpy().astype(np.float64, copy=False)
    if kind.is_boolean(given) and not column.null_count:
        return column.to_numpy().astype(np.bool_)
    if kind.is_timestamp(given) or kind.is_date(given):
        return column.cast(pa.timestamp("us"), safe=False).to_numpy().astype("datetime64[us]")
    values, codes = encoded(name, column)
    return values[codes] if len(values) else object_array([])


def _within(column: pa.ChunkedArray, size: int) -> bool:
    """Whether integers are all smaller than ``size``, either way."""
    import pyarrow.compute as pc

    ends = pc.min_max(column).as_py()
    return bool(max(abs(ends["min"] or 0), abs(ends["max"] or 0)) < size)


def object_array(values: Sequence[Any]) -> NDArray[Any]:
    """One object an entry, whatever it is."""
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


def flat(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column with categories written out and times in microseconds; refused where it has no plain values."""
    import pyarrow as pa
    import pyarrow.types as kind

    if kind.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if kind.is_null(column.type):
        column = column.cast(pa.string())
    if kind.is_timestamp(column.type):
        return column.cast(pa.timestamp("us", column.type.tz), safe=False)
    if kind.is_string_view(column.type):
        return column.cast(pa.large_string())
    if kind.is_nested(column.type) or kind.is_binary(column.type) or kind.is_large_binary(column.type):
        text = (
            f"Column '{name}' is of type {column.type}, which has no plain values. Turn it into text or numbers first."
        )
        raise DataError(one_line(text))
    return column


def _order(value: Any) -> tuple[bool, str, Any]:
    return value is None, type(value).__name__, value
