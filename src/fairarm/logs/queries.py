"""The questions asked of a table, as lazy frames that any engine runs: columns are made first, then grouped or reduced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw

from fairarm.logs import expressions as ex
from fairarm.logs.values import (
    BAD,
    DROP,
    DUE,
    HIGH,
    LARGEST,
    LINES,
    LOW,
    NUMBER,
    OFFSET,
    PART_OF,
    PILOT,
    REAL,
    ROWS,
    STATUS,
    UNIT,
    VALUE,
    WEIGHT,
)

Frame: TypeAlias = nw.LazyFrame[Any]


def grouped(
    frame: Frame,
    keys: Sequence[str],
    weight: str | None,
    real: tuple[str, float, float, float, float] | None,
    marks: Mapping[str, nw.Expr],
) -> Frame:
    """Rows by key and by marks, which are integers made of other columns, and sums of a real column's parts. Nothing is made
    that is not needed."""
    # A name with a dot cannot be grouped by in DuckDB, and one that is empty not at all.
    safe = {key: f"fairarm_key{k}" if "." in key or not key else key for k, key in enumerate(keys)}
    by = [*safe.values(), *([STATUS] if real else []), *marks]
    made = _made_keys(frame, safe)
    made += [mark.alias(name) for name, mark in marks.items()]
    made += [] if by else [nw.lit(1).alias(VALUE)]
    totals = {ROWS: nw.len()}
    if weight is not None:
        frame = _with_weight(frame, weight)
        totals = {LINES: nw.len(), ROWS: nw.col(WEIGHT).sum(), LARGEST: nw.col(WEIGHT).max(), BAD: nw.col(BAD).sum()}
    if real is not None:
        frame = _with_parts(frame, real, weight is not None)
        totals |= {part: nw.col(part).sum() for part in (*HIGH, *LOW)}
    frame = frame.with_columns(*made) if made else frame
    found = frame.group_by(*(by or [VALUE])).agg(*(total.alias(name) for name, total in totals.items()))
    # DuckDB sums into 128 bits and PostgreSQL into decimals; Polars counts in 32.
    added = [*by[len(keys) :], *totals]
    named = (nw.col(name).alias(key) for key, name in safe.items())
    return found.select(*named, *(nw.col(name).cast(nw.Int64) for name in added))


def pilot(frame: Frame, ids: str) -> dict[str, nw.Expr]:
    """The mark of the rows that are chosen by their ids; none where these are not whole numbers."""
    dtype = frame.collect_schema()[ids]
    held = ex.is_text(dtype) or (dtype.is_integer() and not isinstance(dtype, nw.UInt64))
    return {PILOT: ex.pilot(ids, dtype)} if held else {}


def parts(frame: Frame, column: str, ends: Sequence[Any], plain: bool = False) -> dict[str, nw.Expr]:
    """The mark of how many of the ends a row is later than."""
    spark = frame.implementation.value.startswith("pyspark")
    return {PART_OF: ex.part(column, frame.collect_schema()[column], ends, plain, spark)}


def _made_keys(frame: Frame, safe: dict[str, str]) -> list[nw.Expr]:
    """The keys that cannot be used as they are: numbers that may be NaN, and odd names."""
    real = {key for key, dtype in frame.collect_schema().items() if dtype.is_float()}
    made = {key: ex.not_nan(nw.col(key)) if key in real else nw.col(key) for key in safe}
    return [value.alias(safe[key]) for key, value in made.items() if key in real or safe[key] != key]


def _with_weight(frame: Frame, weight: str) -> Frame:
    """The weight as an integer, 0 and marked where it is none."""
    frame = frame.with_columns(ex.number(weight, frame.collect_schema()[weight]).alias(WEIGHT))
    sound = ex.whole(nw.col(WEIGHT))
    amount = nw.when(sound).then(nw.col(WEIGHT)).otherwise(nw.lit(0.0)).cast(nw.Int64)
    return frame.with_columns((1 - ex.flag(sound)).alias(BAD), amount.alias(WEIGHT))


def seen_range(frame: Frame, column: str, low: float, high: float) -> Frame:
    """The smallest and the largest number of a column within a range."""
    frame = frame.select(ex.number(column, frame.collect_schema()[column]).alias(REAL))
    found = frame.filter(ex.between(nw.col(REAL), low, high))
    return found.select(nw.col(REAL).min().alias(LOW[0]), nw.col(REAL).max().alias(HIGH[0]))


def _with_parts(frame: Frame, real: tuple[str, float, float, float, float], weighted: bool) -> Frame:
    """What each outcome is, and u, u^2 and u^3 as two integers each, times the row's weight, u its share of the way from the smallest to
    the largest. One step a line: an expression that is used twice would be worked out twice."""
    column, low, high, least, most = real
    dtype = frame.collect_schema()[column]
    frame = frame.with_columns(ex.number(column, dtype).alias(REAL))
    code = ex.status(nw.col(REAL), column, dtype, low, high)
    frame = frame.with_columns(code.alias(STATUS), ex.scaled(nw.col(REAL), least, most).alias(UNIT[0]))
    frame = frame.with_columns((nw.col(UNIT[0]) * nw.col(UNIT[0])).alias(UNIT[1]))
    frame = frame.with_columns((nw.col(UNIT[1]) * nw.col(UNIT[0])).alias(UNIT[2]))
    frame = frame.with_columns(*(ex.high_part(nw.col(u)).alias(h) for u, h in zip(UNIT, HIGH, strict=True)))
    rest = zip(UNIT, HIGH, LOW, strict=True)
    frame = frame.with_columns(*(ex.low_part(nw.col(u), nw.col(h)).alias(part) for u, h, part in rest))
    parts = {name: nw.col(name).cast(nw.Int64) for name in (*HIGH, *LOW)}
    return frame.with_columns(
        *((part * nw.col(WEIGHT) if weighted else part).alias(name) for name, part in parts.items())
    )


def kept(frame: Frame, drop: Sequence[tuple[str, str]], missing: Sequence[tuple[str, str]]) -> Frame:
    """The rows that hold none of the values to drop, with the missing ones as nulls."""
    schema = frame.collect_schema()
    if drop:
        coded = frame.with_columns(ex.dropped(schema, drop).alias(DROP))
        frame = coded.filter(nw.col(DROP) == 0).drop(DROP)
    blank = ex.without_missing(schema, missing)
    return frame.with_columns(*blank) if blank else frame


def left_out(frame: Frame, drop: Sequence[tuple[str, str]], weight: str | None) -> Frame:
    """Rows by the place, from 1, of the value for which they are left out; 0 for those that are kept."""
    coded = frame.with_columns(ex.dropped(frame.collect_schema(), drop).alias(DROP))
    return grouped(coded, [DROP], weight, None, {})


def counted(frame: Frame) -> Frame:
    """The number of rows."""
    return frame.select(nw.len().alias(ROWS))


def selected(frame: Frame, columns: Sequence[str], due: nw.Expr | None) -> Frame:
    """The columns, and whether a row is due."""
    return frame.select(*columns, *([] if due is None else [due.alias(DUE)]))


def kind(frame: Frame, column: str) -> str:
    """What a column's type holds."""
    return ex.kind(frame.collect_schema()[column])


def values(frame: Frame, column: str) -> Frame:
    """One column as ``VALUE``, missing entries left out."""
    value = nw.col(column)
    value = ex.not_nan(value) if frame.collect_schema()[column].is_float() else value
    return frame.select(value.alias(VALUE)).drop_nulls(VALUE)


def by_value(frame: Frame, column: str) -> Frame:
    """Rows by value of one column, missing entries left out."""
    found = values(frame, column).group_by(VALUE).agg(nw.len().alias(ROWS))
    return found.with_columns(nw.col(ROWS).cast(nw.Int64))


def without_numbers(found: Frame) -> Frame:
    """The values that are text and no number."""
    return found.filter(~ex.trimmed(VALUE).str.contains(NUMBER))


def each_value(frame: Frame, column: str) -> Frame:
    """The same, not grouped: one line per row."""
    return values(frame, column).with_columns(nw.lit(1).cast(nw.Int64).alias(ROWS))


def repeated(frame: Frame, column: str) -> Frame:
    """The values that are there more than once, and their rows."""
    return by_value(frame, column).filter(nw.col(ROWS) > 1)


def without_repeats(frame: Frame, ids: str) -> Frame:
    """Rows that have an id and are equal in every column once; rows without an id as they are."""
    coded = frame.with_columns(ex.dropped(frame.collect_schema(), [(ids, "")]).alias(DROP))
    return nw.concat([coded.filter(nw.col(DROP) == 0).unique(), coded.filter(nw.col(DROP) == 1)]).drop(DROP)


def of_repeated(frame: Frame, column: str, most: int) -> Frame:
    """The rows of the first ``most`` values, in order, that are there more than once."""
    chosen = repeated(frame, column).sort(VALUE).head(most).select(VALUE)
    return frame.with_columns(nw.col(column).alias(VALUE)).join(chosen, on=VALUE, how="semi").drop(VALUE)


def summed(found: Frame) -> Frame:
    """Lines, and rows of all of them."""
    both = found.select(nw.len().alias(LINES), nw.col(ROWS).sum().alias(ROWS))
    return both.select(nw.col(LINES).cast(nw.Int64), nw.col(ROWS).cast(nw.Int64))


def unsound(frame: Frame, weight: str) -> Frame:
    """One row whose weight is not a whole number."""
    given = frame.with_columns(nw.col(weight).alias(VALUE))
    return _with_weight(given, weight).filter(nw.col(BAD) == 1).select(VALUE).head(1)


def newest(frame: Frame, column: str) -> Frame:
    """The largest number, or time, of a column that is no text."""
    dtype = frame.collect_schema()[column]
    value = ex.moment(column, dtype) if ex.is_time(dtype) else ex.place(column, dtype)
    return frame.select(value.alias(VALUE)).select(nw.col(VALUE).max())


def newest_text(frame: Frame, column: str) -> Frame:
    """Of text, by offset from UTC (null where it is no time): the largest time and the largest number, one too many of them."""
    dtype = frame.collect_schema()[column]
    made = {OFFSET: ex.offset(column), VALUE: ex.moment(column, dtype), REAL: ex.place(column, dtype)}
    frame = frame.select(*(value.alias(name) for name, value in made.items()))
    return frame.group_by(OFFSET).agg(nw.col(VALUE).max(), nw.col(REAL).max()).head(ex.MOST_OFFSETS + 2)


def examples(frame: Frame, column: str, wanted: nw.Expr) -> Frame:
    """Values of a column in the rows that are wanted, each once, in order."""
    found = frame.with_columns(wanted.alias(STATUS)).filter(nw.col(STATUS)).select(nw.col(column).alias(VALUE))
    return found.drop_nulls(VALUE).unique().sort(VALUE)


def summary(found: Frame) -> tuple[str, Frame]:
    """What ``VALUE`` holds, and over all lines: how many, their ``ROWS``, smallest and largest value; for text also the
    rows that are numbers, times or words for missing."""
    dtype = found.collect_schema()[VALUE]
    held = ex.kind(dtype)
    ranged, tallied = {}, {"filled": nw.col(ROWS)}
    if held in ("integer", "real", "boolean", "text"):
        ranged["number"] = nw.col(VALUE) if dtype.is_integer() else ex.number(VALUE, dtype)  # an infinite one is said
    if held in ("time", "text"):
        ranged["moment"] = ex.moment(VALUE, dtype)
    if held == "text":
        text = ex.trimmed(VALUE)
        ranged["text"] = nw.col(VALUE).cast(nw.String)
        flags = {"integer": ex.INTEGER, "real": NUMBER, "time": ex.MOMENT, "words": ex.WORD}
        tallied |= {name: ex.flag(text.str.contains(pattern)) * nw.col(ROWS) for name, pattern in flags.items()}
    made = found.select(*(value.alias(name) for name, value in (ranged | tallied).items()))
    ends = [end for n in ranged for end in (nw.col(n).min().alias(f"low_{n}"), nw.col(n).max().alias(f"high_{n}"))]
    return held, made.select(nw.len().alias(LINES), *ends, *(nw.col(name).sum() for name in tallied))
