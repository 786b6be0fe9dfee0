"""The expressions that every engine runs, written once in narwhals.

Only operations that mean the same everywhere are used. Comparisons are written so that a NaN fails them both where it
is unordered (IEEE) and where it is the largest number (DuckDB, PostgreSQL, Polars); nothing is rounded but by ``floor``,
since engines round halves differently; and no doubles are summed, since such a sum depends on the order of the rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import reduce
from math import floor
from operator import or_
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from fairarm.errors import DataError, one_line
from fairarm.logs.values import IS_DUE, MAX_ROWS, MISSING_WORDS, NO_TIME, NOT_DUE, NUMBER, PART

INTEGER = r"^(?:0|-?[1-9][0-9]{0,17})$"
"""Text that is an integer and nothing else: not 01, which is a name."""

_DAY = r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?"
_LONG = r"[+-](?:0[0-9]|1[0-4]):?[0-5][0-9]"
_SHORT = r"[+-](?:0[0-9]|1[0-4])"
MOMENT = rf"^{_DAY}(?:[T ]{_CLOCK}(?:Z|{_LONG}|{_SHORT})?|Z|{_LONG})?$"
"""Text that is a time, with its offset from UTC or without. Those of one offset are in the order of the times."""

MOST_OFFSETS = 100
"""Offsets from UTC, each as it is written, that a column of times may hold."""

WORD = rf"(?i)^(?:{'|'.join(MISSING_WORDS)})$"
"""Text that stands for a missing number. A list with ``is_in`` would be joined to every row by DuckDB."""

MOST_PLACES = 80
"""Digits after the point of a decimal, at most: those of 256 bits have 76."""

LATER_PARTS = 4
"""Rows by time grow by 1.2 with each part: the last four hold half of them."""

PRIME, MIXING, PILOT_OF = (1 << 26) - 5, (48271, 69621, 16807), 5
"""What ids are mixed by, and the share of them that is chosen: one of so many."""

MAX = 1.7976931348623157e308

OK, MISSING, OUTSIDE, UNREADABLE = 0, 1, 2, 3
"""Codes of what a real outcome is."""


def not_nan(value: nw.Expr) -> nw.Expr:
    """The value, or null where it is NaN."""
    return nw.when((value <= 0.0) | (value * -1.0 <= 0.0)).then(value)


def kind(dtype: Any) -> str:
    """What a column's type holds: "integer", "real", "boolean", "text", "time" or "other"."""
    if dtype.is_numeric():
        return "integer" if dtype.is_integer() else "real"
    if isinstance(dtype, nw.Boolean):
        return "boolean"
    if is_text(dtype):
        return "text"
    return "time" if is_time(dtype) else "other"


def is_text(dtype: Any) -> bool:
    """Whether a column holds words: strings, or categories of them."""
    return isinstance(dtype, nw.String | nw.Categorical | nw.Enum)


def is_time(dtype: Any) -> bool:
    """Whether a column holds dates or moments."""
    return isinstance(dtype, nw.Datetime | nw.Date)


def number(column: str, dtype: Any) -> nw.Expr:
    """A column as doubles; null where text is not a number."""
    value = nw.col(column)
    if isinstance(dtype, nw.Boolean):
        return nw.when(value).then(nw.lit(1)).when(~value).then(nw.lit(0)).cast(nw.Float64)
    if is_text(dtype):
        text = trimmed(column)
        return nw.when(text.str.contains(NUMBER)).then(text).cast(nw.Float64)
    if dtype.is_numeric():
        return value if isinstance(dtype, nw.Float64) else value.cast(nw.Float64)
    message = f"Column '{column}' is of type {dtype}: numbers are needed. Name another column, or convert it."
    raise DataError(one_line(message))


def trimmed(column: str) -> nw.Expr:
    """Text without the spaces around it."""
    return nw.col(column).cast(nw.String).str.strip_chars()


def between(value: nw.Expr, low: float, high: float) -> nw.Expr:
    """Within a range, both ends included; missing values are not."""
    return (value >= low) & (value <= high)


def status(value: nw.Expr, column: str, dtype: Any, low: float, high: float) -> nw.Expr:
    """Code of each row's outcome: OK in [low, high], MISSING if null, NaN or a word for it, UNREADABLE if it is no number,
    OUTSIDE otherwise. ``value``: the column as a number."""
    codes = nw.when(between(value, low, high)).then(nw.lit(OK))
    if is_text(dtype):
        text = trimmed(column)
        absent = text.is_null() | text.str.contains(WORD)
        codes = codes.when(absent).then(nw.lit(MISSING)).when(value.is_null()).then(nw.lit(UNREADABLE))
        return codes.otherwise(nw.lit(OUTSIDE)).cast(nw.Int64)
    beyond = (value < low) | (value * -1.0 < -high)
    return codes.when(beyond).then(nw.lit(OUTSIDE)).otherwise(nw.lit(MISSING)).cast(nw.Int64)


def scaled(value: nw.Expr, low: float, high: float) -> nw.Expr:
    """(y - low) / (high - low), in [0, 1]; 0 where y is outside."""
    inside = nw.when(between(value, low, high)).then(value).otherwise(nw.lit(low))
    return (inside - low) / (high - low or 1.0)


def high_part(unit: nw.Expr) -> nw.Expr:
    """⌊y · PART⌋, exact."""
    return (unit * float(PART)).floor()


def low_part(unit: nw.Expr, high: nw.Expr) -> nw.Expr:
    """The rest, to the nearest step of PART^-2: off by at most 2^-41."""
    return ((unit * float(PART) - high) * float(PART) + 0.5).floor()


def whole(value: nw.Expr) -> nw.Expr:
    """Whether a weight is an integer of 0 to ``MAX_ROWS``."""
    return between(value, 0.0, float(MAX_ROWS)) & (value == value.floor())


def flag(condition: nw.Expr) -> nw.Expr:
    """1 where it holds, 0 where it does not or is null."""
    return nw.when(condition).then(nw.lit(1)).otherwise(nw.lit(0)).cast(nw.Int64)


def pilot(ids: str, dtype: Any) -> nw.Expr:
    """1 for about one id of five, 0 for the others, -1 for one that is missing or no whole number. Ids are squared modulo a prime
    again and again, so that neighbours and multiples have nothing in common. No product is beyond what a double holds,
    by which SQLite divides."""
    text = trimmed(ids)
    held = nw.when(text.str.contains(INTEGER)).then(text) if is_text(dtype) else nw.col(ids)
    held = held.cast(nw.Int64)
    value = (held % PRIME + PRIME) % PRIME  # engines differ on the sign of a remainder
    for step in MIXING:
        value = (value * step + 12345) % PRIME
        value = (value * value + value) % PRIME
    chosen = nw.when(value % PILOT_OF == 0).then(nw.lit(1)).when(value >= 0).then(nw.lit(0))
    return chosen.otherwise(nw.lit(-1)).cast(nw.Int64)


def dropped(schema: Any, values: Sequence[tuple[str, str]]) -> nw.Expr:
    """The place, from 1, of the first pair of column and value that a row holds; 0 where it holds none."""
    chain: Any = nw
    for place, (column, value) in enumerate(values, start=1):
        chain = chain.when(_is(column, schema[column], value)).then(nw.lit(place))
    return (chain.otherwise(nw.lit(0)) if values else nw.lit(0)).cast(nw.Int64)


def without_missing(schema: Any, values: Sequence[tuple[str, str]]) -> list[nw.Expr]:
    """The columns of the schema that may hold one of their values, with nulls in place of these."""
    found: dict[str, nw.Expr] = {}
    for column, value in values:
        if column in schema and kind(schema[column]) in ("text", "integer", "real"):
            held = found.get(column, nw.col(column))
            found[column] = nw.when(~_is(column, schema[column], value)).then(held)
    return [held.alias(column) for column, held in found.items()]


def _is(column: str, dtype: Any, value: str) -> nw.Expr:
    """Whether a column holds a value, which is written as text; "" is a missing one. Text is compared without the spaces
    around it."""
    held, absent = nw.col(column), not value.strip()
    what = kind(dtype)
    if what == "text":
        return (held.is_null() | (trimmed(column) == "")) if absent else trimmed(column) == value.strip()
    if absent:
        return (not_nan(held) if dtype.is_float() else held).is_null()
    if what == "boolean":
        said = {"true": held, "1": held, "false": ~held, "0": ~held}.get(value.strip().lower())
        return held.is_null() & nw.lit(False) if said is None else said
    if what in ("integer", "real"):
        number = _exact(value)
        return held.is_null() & nw.lit(False) if number is None else _equals(held, dtype, number)
    message = f"log.drop: column '{column}' is of type {dtype}. Rows are left out by text, numbers or booleans."
    raise DataError(one_line(message))


def _equals(held: nw.Expr, dtype: Any, number: Fraction) -> nw.Expr:
    """Whether a column of numbers holds exactly this one. Engines compare decimals and large integers as doubles: there
    the digits are compared. A number of 32 bits is also the one that it is written as: 0.1 (``coding.texts``)."""
    never = held.is_null() & nw.lit(False)
    if isinstance(dtype, nw.Int8 | nw.Int16 | nw.Int32 | nw.Int64 | nw.UInt8 | nw.UInt16 | nw.UInt32):
        within = number.denominator == 1 and -(1 << 63) <= number < 1 << 63
        return held == int(number) if within else never
    if not dtype.is_float():
        pattern = _digits(number)
        return never if pattern is None else held.cast(nw.String).str.contains(pattern)
    with np.errstate(over="ignore"):
        long, short = float(number), np.float32(float(number))
    found = {long} if number in (Fraction(long), Fraction(repr(long))) else set()
    if np.isfinite(short) and Fraction(str(short)) == number:
        found.add(float(short))
    return reduce(or_, (held.cast(nw.Float64) == each for each in sorted(found)), never)


def _digits(number: Fraction) -> str | None:
    """The pattern of a number as engines write decimals: 1.50, 0E-10, 1.5E-9; None where no decimal is the number."""
    whole = number
    places = 0
    while whole.denominator != 1 and places < MOST_PLACES:
        whole, places = whole * 10, places + 1
    if whole.denominator != 1:
        return None
    if not whole:
        return r"^-?0(?:\.0*)?(?:[eE][+-]?[0-9]+)?$"
    digits, sign = str(abs(int(whole))).rjust(places + 1, "0"), "-" if whole < 0 else r"\+?"
    before, after = digits[: len(digits) - places], digits[len(digits) - places :]
    plain = rf"0*{before}\.{after}0*" if after else rf"0*{before}(?:\.0*)?"
    bare = digits.lstrip("0")
    power, bare = len(bare) - 1 - places, bare.rstrip("0")
    mantissa = rf"{bare[0]}\.{bare[1:]}0*" if bare[1:] else rf"{bare}(?:\.0*)?"
    return rf"^{sign}(?:{plain}|{mantissa}[eE]{'-' if power < 0 else '[+]?'}0*{abs(power)})$"


def _exact(text: str) -> Fraction | None:
    """Text as the number that it is, or None."""
    return Fraction(text.strip()) if re.fullmatch(NUMBER, text.strip()) else None


def moment(column: str, dtype: Any) -> nw.Expr:
    """A column of times as what can be compared: times, or text in the order of the times of one offset; null where it is
    no time."""
    if is_text(dtype):
        text = trimmed(column)
        timed = text.str.replace_all(f"(?:Z|{_LONG}|{_SHORT})$", "")
        dated = text.str.replace_all(f"(?:Z|{_LONG})$", "")
        bare = nw.when(text.str.contains(":")).then(timed).otherwise(dated)
        return nw.when(text.str.contains(MOMENT)).then(bare.str.replace_all("T", " ", literal=True))
    return nw.col(column).cast(nw.Datetime("us")) if isinstance(dtype, nw.Date) else nw.col(column)


def offset(column: str) -> nw.Expr:
    """The offset from UTC of text that is a time, as it is written: "", "Z", "+01:00"; null where it is no time."""
    text = trimmed(column)
    return nw.when(text.str.contains(MOMENT)).then(text.str.replace_all(f"^{_DAY}(?:[T ]{_CLOCK})?", ""))


def place(column: str, dtype: Any) -> nw.Expr:
    """A column of numbers as what can be compared; null where it is no finite number."""
    if dtype.is_integer():
        return nw.col(column)
    value = number(column, dtype)
    return nw.when(between(value, -MAX, MAX)).then(value)


def minutes(written: str) -> int:
    """An offset from UTC, as it is written, in minutes."""
    digits = written.lstrip("+-").replace(":", "")
    if written in ("", "Z"):
        return 0
    return (-1 if written[0] == "-" else 1) * (60 * int(digits[:2]) + int(digits[2:] or 0))


def instant(text: str, written: str) -> datetime:
    """A time as ``moment`` gives it, and its offset, as one in UTC."""
    return datetime.fromisoformat(text[:26]) - timedelta(minutes=minutes(written))


def earlier(newest: Any, within: float) -> Any:
    """The newest value less ``within``, which is seconds where it is a time; of the same kind as the newest."""
    if isinstance(newest, datetime) and newest.tzinfo is not None:
        # Not in local time, where an hour may be there twice.
        return (newest.astimezone(UTC) - timedelta(seconds=within)).astimezone(newest.tzinfo)
    if isinstance(newest, datetime):
        return newest - timedelta(seconds=within)
    return floor(newest - Fraction(within)) if isinstance(newest, int) else newest - within


def literal(value: Any, spark: bool) -> nw.Expr:
    """A number or a time to compare a column with."""
    if spark and isinstance(value, datetime) and value.tzinfo is None:
        # Spark would take the time as one of this machine's zone, and shift it to the session's.
        return nw.lit(value.isoformat(sep=" ")).cast(nw.Datetime("us"))
    return nw.lit(value)


def part(column: str, dtype: Any, ends: Sequence[Any], plain: bool = False, spark: bool = False) -> nw.Expr:
    """How many of the ends, in order, a row is later than; -1 where it has no time. ``plain``: text can be compared as it is."""
    timed = isinstance(ends[0], datetime | str)
    if plain:
        text = nw.col(column).cast(nw.String)  # categories are compared by their order
        value = text if timed else text.cast(nw.Float64)
    else:
        value = (moment if timed else place)(column, dtype)

    def among(first: int, last: int) -> nw.Expr:
        """A tree: a row is compared a few times, however many ends there are. Later parts hold more rows, and are nearer to its root."""
        if first == last < len(ends):
            return nw.lit(first)
        if first == last:  # no comparison holds of a row without a time, so that it comes here
            return nw.when(value.is_null()).then(nw.lit(-1)).otherwise(nw.lit(last))
        middle = max((first + last) // 2, last - LATER_PARTS)
        below = value <= literal(ends[middle], spark)
        return nw.when(below).then(among(first, middle)).otherwise(among(middle + 1, last))

    return among(0, len(ends)).cast(nw.Int64)


def due(column: str, dtype: Any, newest: Any, within: float, spark: bool = False) -> nw.Expr:
    """IS_DUE for rows that are not later than the newest value less ``within``, NO_TIME for those without one, else
    NOT_DUE; ``newest`` says what is compared."""
    if newest is None:
        return nw.lit(NO_TIME)
    limit = literal(earlier(newest, within), spark)
    value = (moment if isinstance(newest, datetime) else place)(column, dtype)
    codes = nw.when(value <= limit).then(nw.lit(IS_DUE)).when(value.is_null()).then(nw.lit(NO_TIME))
    return codes.otherwise(nw.lit(NOT_DUE)).cast(nw.Int64)


def due_text(column: str, dtype: Any, newest: Mapping[str, str], within: float) -> nw.Expr:
    """The same of times that are text; ``newest``: the newest of each offset. Each is compared among those of its offset."""
    latest = max(instant(text, written) for written, text in newest.items()) - timedelta(seconds=within)
    value, own = moment(column, dtype), offset(column)
    codes = nw.when(value.is_null()).then(nw.lit(NO_TIME))
    for written in newest:
        # Nine digits after the point: no text of the same moment is longer, so none comes after it.
        limit = _longest(latest + timedelta(minutes=minutes(written)))
        codes = codes.when((own == written) & (value <= limit)).then(nw.lit(IS_DUE))
    return codes.otherwise(nw.lit(NOT_DUE)).cast(nw.Int64)


def _longest(moment: datetime) -> str:
    """The last of the texts of a moment, in the form that ``moment`` gives."""
    return f"{moment:%Y-%m-%d %H:%M:%S.%f}000"


def written_offset(text: str) -> str | None:
    """What ``offset`` says of one text."""
    return re.sub(f"^{_DAY}(?:[T ]{_CLOCK})?", "", text) if re.search(MOMENT, text) else None


def bare_moment(text: str) -> str | None:
    """What ``moment`` says of one text."""
    written = written_offset(text)
    return None if written is None else text.removesuffix(written).replace("T", " ")


def text_before(text: str, within: float) -> str:
    """The last text, in the form that ``moment`` gives, of a time so many seconds before another."""
    return _longest(instant(text, "") - timedelta(seconds=within))
