"""The questions asked of a table, as lazy frames that any engine runs: columns are made first, then grouped or reduced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw

from fairarm.logs import expressions as ex
from fairarm.logs.values import BAD, DUE, HIGH, LARGEST, LINES, LOW, MISSING_WORDS, ROWS, STATUS, UNIT, VALUE, WEIGHT

Frame: TypeAlias = nw.LazyFrame[Any]


def grouped(
    frame: Frame, keys: Sequence[str], weight: str | None, real: tuple[str, float, float] | None, due: nw.Expr | None
) -> Frame:
    """Rows by key, and sums of a real column's parts. Nothing is made that is not needed."""
    made = [*_made_keys(frame, keys, due), *_made_weight(frame, weight), *_made_outcome(frame, real)]
    by = [*keys, *([STATUS] if real else []), *([DUE] if due is not None else [])]
    if not by:
        by, made = [VALUE], [*made, nw.lit(1).alias(VALUE)]
    frame = frame.with_columns(*made) if made else frame
    frame = _with_parts(frame, weight is not None) if real else frame
    totals = {ROWS: nw.len()}
    if weight is not None:
        sums = {ROWS: nw.col(WEIGHT).sum(), LARGEST: nw.col(WEIGHT).max(), BAD: nw.col(BAD).sum()}
        totals = {LINES: nw.len(), **sums}
    totals |= {part: nw.col(part).sum() for part in (*HIGH, *LOW)} if real else {}
    found = frame.group_by(*by).agg(*(total.alias(name) for name, total in totals.items()))
    # DuckDB sums into 128 bits and PostgreSQL into decimals; Polars counts in 32.
    added = [*(name for name in by if name not in keys and name != VALUE), *totals]
    return found.select(*keys, *(nw.col(name).cast(nw.Int64) for name in added))


def _made_keys(frame: Frame, keys: Sequence[str], due: nw.Expr | None) -> list[nw.Expr]:
    types = frame.collect_schema()
    made = [ex.not_nan(nw.col(key)).alias(key) for key in keys if types[key].is_float()]
    return made if due is None else [*made, due.alias(DUE)]


def _made_weight(frame: Frame, weight: str | None) -> list[nw.Expr]:
    if weight is None:
        return []
    dtype = frame.collect_schema()[weight]
    sound = ex.whole(weight, dtype)
    amount = nw.when(sound).then(ex.number(weight, dtype)).otherwise(nw.lit(0.0)).cast(nw.Int64)
    return [(1 - ex.flag(sound)).alias(BAD), amount.alias(WEIGHT)]


def _made_outcome(frame: Frame, real: tuple[str, float, float] | None) -> list[nw.Expr]:
    if real is None:
        return []
    column, low, high = real
    dtype = frame.collect_schema()[column]
    unit = ex.scaled(column, dtype, low, high)
    return [ex.status(column, dtype, low, high).alias(STATUS), unit.alias(UNIT[0]), (unit * unit).alias(UNIT[1])]


def _with_parts(frame: Frame, weighted: bool) -> Frame:
    """Each number in [0, 1] as two integers, times the row's weight."""
    highs = {name: ex.high_part(nw.col(unit)) for name, unit in zip(HIGH, UNIT, strict=True)}
    frame = frame.with_columns(*(part.alias(name) for name, part in highs.items()))
    lows = [ex.low_part(nw.col(unit), nw.col(high)).alias(low) for low, unit, high in zip(LOW, UNIT, HIGH, strict=True)]
    parts = [nw.col(name).cast(nw.Int64) for name in (*HIGH, *LOW)]
    whole = [part * nw.col(WEIGHT) for part in parts] if weighted else parts
    named = [part.alias(name) for name, part in zip((*HIGH, *LOW), whole, strict=True)]
    return frame.with_columns(*lows).with_columns(*named)


def counted(frame: Frame) -> Frame:
    """The number of rows."""
    return frame.select(nw.len().alias(ROWS))


def selected(frame: Frame, columns: Sequence[str], due: nw.Expr | None) -> Frame:
    """The columns, and whether a row is due."""
    return frame.select(*columns, *([] if due is None else [due.alias(DUE)]))


def by_value(frame: Frame, column: str) -> Frame:
    """Rows by value of one column, missing ones left out."""
    value = nw.col(column)
    value = ex.not_nan(value) if frame.collect_schema()[column].is_float() else value
    return frame.select(value.alias(VALUE)).drop_nulls(VALUE).group_by(VALUE).agg(nw.len().alias(ROWS))


def repeated(frame: Frame, column: str) -> Frame:
    """The values that are there more than once, and their rows."""
    return by_value(frame, column).filter(nw.col(ROWS) > 1)


def summed(found: Frame) -> Frame:
    """Lines, and rows of all of them."""
    both = found.select(nw.len().alias(LINES), nw.col(ROWS).sum().alias(ROWS))
    return both.select(nw.col(LINES).cast(nw.Int64), nw.col(ROWS).fill_null(0).cast(nw.Int64))


def unsound(frame: Frame, weight: str) -> Frame:
    """One row whose weight is not a whole number."""
    [bad, _] = _made_weight(frame, weight)
    return frame.with_columns(bad).filter(nw.col(BAD) == 1).select(weight).head(1)


def newest(frame: Frame, column: str) -> Frame:
    """The largest number and the largest time of a column, as far as its type can hold them."""
    dtype = frame.collect_schema()[column]
    made = {}
    if not ex.is_time(dtype):
        made["number"] = ex.place(column, dtype)
    if ex.is_time(dtype) or ex.is_text(dtype):
        made["moment"] = ex.moment(column, dtype)
    frame = frame.select(*(value.alias(name) for name, value in made.items()))
    return frame.select(*(nw.col(name).max() for name in made))


def summary(frame: Frame, column: str) -> tuple[str, Frame]:
    """The kind of a column, and: rows, entries, smallest and largest value; for text also how many entries are numbers, times or words for
    missing."""
    dtype = frame.collect_schema()[column]
    kind = ex.kind(dtype)
    ranged, tallied = {}, {"filled": 1 - ex.flag(nw.col(column).is_null())}
    if kind in ("integer", "real", "boolean", "text"):
        ranged["number"] = ex.place(column, dtype)
    if kind in ("time", "text"):
        ranged["moment"] = ex.moment(column, dtype)
    if kind == "real":
        tallied["filled"] = 1 - ex.flag(ranged["number"].is_null())
    if kind == "text":
        text = ex.trimmed(column)
        ranged["text"] = nw.col(column).cast(nw.String)
        patterns = {"integer": ex.INTEGER, "real": ex.NUMBER, "time": ex.MOMENT}
        tallied |= {name: ex.flag(text.str.contains(pattern)) for name, pattern in patterns.items()}
        tallied["words"] = ex.flag(text.str.to_lowercase().is_in(MISSING_WORDS))
    frame = frame.select(*(value.alias(name) for name, value in (ranged | tallied).items()))
    low = [nw.col(name).min().alias(f"low_{name}") for name in ranged]
    high = [nw.col(name).max().alias(f"high_{name}") for name in ranged]
    return kind, frame.select(nw.len().alias(ROWS), *low, *high, *(nw.col(name).sum() for name in tallied))
