"""One table of a log, whatever holds it: rows counted by value, rows in parts, what a column looks like.

Results do not depend on the engine, on its threads or on the order of the rows. Counts are integers. The sums of a real
outcome are sums of integers too: each y, as a share of the way from the smallest to the largest, is cut into two integers of 20 bits,
the first exact and the second to the nearest, so that a row is off by at most 2^-41 of that. Sums of 64 bits hold that for 2^42 rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairarm.core.types import FloatArray, IntArray
from fairarm.errors import DataError, OptionError, one_line
from fairarm.logs import values as plain
from fairarm.logs.library_errors import speaking
from fairarm.logs.profiles import Profile, profile_of
from fairarm.logs.values import (
    BAD,
    DROP,
    DUE,
    HIGH,
    LARGEST,
    LINES,
    LOW,
    MAX_ROWS,
    OFFSET,
    PART,
    PART_OF,
    PILOT,
    REAL,
    ROWS,
    STATUS,
    VALUE,
)

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    import pyarrow as pa

    from fairarm.logs.engines import Engine, Transform
    from fairarm.logs.gathering import Tick

MISSING = None
"""A null, NaN or absent value, in key arrays."""

FEW = 1 << 16
"""Values that are there more than once are fetched if they are fewer."""

MAX_GROUPS = 1 << 22
"""Most combinations of values that are counted."""

OUTCOMES = ("ok", "missing", "outside", "unreadable")
"""What a real outcome is."""


@dataclass(frozen=True)
class RealColumn:
    """A column of real outcomes in [low, high]."""

    column: str
    low: float
    high: float

    def __post_init__(self) -> None:
        if not (isfinite(self.low) and isfinite(self.high) and self.low < self.high):
            raise OptionError(f"Column '{self.column}': low must be below high; got {self.low:g} and {self.high:g}.")


@dataclass(frozen=True)
class Due:
    """Rows later than the newest value of the column less ``within`` are not due: a number, or seconds of a time."""

    column: str
    within: float

    def __post_init__(self) -> None:
        if not (isfinite(self.within) and self.within >= 0):
            raise OptionError(
                f"Column '{self.column}': the time within which outcomes arrive is {self.within:g}; 0 or more."
            )


class Parts(NamedTuple):
    """Ends, in order, between which the rows of a column lie. ``plain``: text of one form, which is compared as it is."""

    column: str
    ends: Sequence[Any]
    plain: bool = False


@dataclass(frozen=True)
class Batches:
    """The times with which batches end, and how the engine compares them."""

    ends: list[Any]
    parts: Parts


@dataclass(frozen=True)
class Counts:
    """Rows by combination of values. One line per combination, sorted so that the order does not depend on the engine."""

    keys: dict[str, NDArray[Any]]
    """Object arrays of str, int, float, bool; None for a null or NaN. One entry per line."""
    rows: IntArray
    """(lines,) number of rows, or the sum of the weight column."""
    sums: FloatArray | None = None
    """(lines, 3): Σ y', Σ (y' - mean)^2 and Σ (y' - mean)^3 of a real outcome, y' = (y - low) / (high - low); 0 unless it is ok."""
    outcome: NDArray[Any] | None = None
    """(lines,) one of OUTCOMES, of a real outcome."""
    marks: dict[str, IntArray] = field(default_factory=dict)
    """Further keys that are integers, (lines,) each, by name."""

    @property
    def due(self) -> IntArray | None:
        """NOT_DUE, IS_DUE or NO_TIME, where that was asked."""
        return self.marks.get(DUE)

    @property
    def pilot(self) -> IntArray | None:
        """1 for rows that are chosen by their ids, 0 for others, -1 for those without one; None if ids are no whole numbers."""
        return self.marks.get(PILOT)

    @property
    def part(self) -> IntArray | None:
        """How many of the given ends a row is later than, -1 where it has no time."""
        return self.marks.get(PART_OF)


@dataclass(frozen=True)
class Duplicates:
    """Values that are there more than once; missing ones are not looked at."""

    ids: int
    extra_rows: int
    examples: tuple[str, ...]


class LogTable:
    """A table of logged rows. ``open_log`` makes one."""

    def __init__(
        self, name: str, engine: str, held: Engine, drop: Sequence[tuple[str, str]] = (), whole: str | None = None
    ) -> None:
        self.name = name
        self.whole = whole
        """Of a part of a log: the digest of the whole."""
        self.engine = engine
        self.drop = tuple(drop)
        self.missing: tuple[tuple[str, str], ...] = ()
        self._held = held
        self.disputed = held.disputed
        self._rows: int | None = None
        with self._speaking():
            self.columns = held.columns()

    def without(self, drop: Sequence[tuple[str, str]], missing: Sequence[tuple[str, str]] = ()) -> LogTable:
        """The same table without the rows in which a column holds a value, and with ``missing`` values as nulls: pairs of column and
        value, the value as text."""
        made = LogTable(self.name, self.engine, self._held, (*self.drop, *drop))
        made.missing = (*self.missing, *missing)
        return made

    @cached_property
    def digest(self) -> str:
        """Which rows it holds (`log_digest`)."""
        from fairarm.logs.digests import log_digest

        return log_digest(self)

    def to_arrow(self) -> pa.Table:
        """All rows, in memory."""
        with self._speaking():
            return self._held.collect(self._frame(self.columns))

    def changed(self, transform: Transform) -> LogTable:
        """The table that a query makes of this one."""
        made = copy(self)
        with self._speaking():
            made._held, made._rows = self._held.changed(transform), None
        return made

    def left_out(self, weight: str | None = None) -> IntArray:
        """Rows left out by ``drop``, each counted for the first of its pairs that it meets, (pairs,). A line left out for its
        weight, which is none, counts as one row."""
        from fairarm.logs import queries as ask

        counts = np.zeros(len(self.drop) + 1, dtype=np.int64)
        if self.drop:
            frame = self._all([column for column, _ in self.drop], weight)
            with self._speaking():
                found = self._held.collect(ask.left_out(frame, self.drop, weight))
            place, rows = plain.to_numpy(DROP, found[DROP]), plain.to_numpy(ROWS, found[ROWS])
            if weight is not None:
                by_weight = np.array([False, *(column == weight for column, _ in self.drop)])[place]
                self._check_weights(found.filter(~by_weight), frame, weight)
                rows = rows + by_weight * plain.to_numpy(BAD, found[BAD])
            np.add.at(counts, place, rows)
        return counts[1:]

    def rows(self) -> int:
        """Number of rows, counted once."""
        from fairarm.logs import queries as ask

        if self._rows is None:
            frame = self._frame(self.columns[:1])
            with self._speaking():
                self._rows = int(self._one(ask.counted(frame))[ROWS])
        return self._rows

    def counts(
        self,
        keys: Sequence[str],
        *,
        weight: str | None = None,
        real: RealColumn | None = None,
        due: Due | None = None,
        ids: str | None = None,
        parts: Parts | None = None,
    ) -> Counts:
        """Rows by the values of the key columns, counted in the engine; ``real``, ``due``, ``ids`` (where they are whole numbers) and
        ``parts`` add a key each."""
        frame, found, marks, seen = self._grouped(keys, weight, real, due, ids, parts)
        if len(found) > MAX_GROUPS:
            raise DataError(self._too_many(list(dict.fromkeys(keys))))
        if weight is not None:
            self._check_weights(found, frame, weight)
        return _lines(found, keys, seen, marks)

    def counts_and_parts(
        self, keys: Sequence[str], parts: Parts, *, real: RealColumn | None, due: Due | None, ids: str | None
    ) -> tuple[Counts, Counts] | None:
        """What ``counts`` gives without the parts, and what it gives with them alone, from one look at the rows; None where
        the combinations of both are too many."""
        _, found, marks, seen = self._grouped(keys, None, real, due, ids, parts)
        if len(found) > MAX_GROUPS:
            return None
        others = [mark for mark in marks if mark != PART_OF]
        return _lines(found, keys, seen, others), _lines(found, keys, seen, [PART_OF])

    def _grouped(
        self,
        keys: Sequence[str],
        weight: str | None,
        real: RealColumn | None,
        due: Due | None,
        ids: str | None,
        parts: Parts | None,
    ) -> tuple[nw.LazyFrame[Any], pa.Table, list[str], tuple[float, float] | None]:
        """The rows that are counted, one line too many at most of their combinations, the names of the marks, and from where to where
        real outcomes lie, as y'."""
        from fairarm.logs import queries as ask

        named = list(dict.fromkeys(keys))
        frame = self._frame(
            named, weight, real.column if real else None, due.column if due else None, ids, parts[0] if parts else None
        )
        with self._speaking():
            low, high = self._seen_range(frame, real) if real else (0.0, 0.0)
            bounds = (real.column, real.low, real.high, low, high) if real else None
            marks = {DUE: self._due(frame, due)} if due else {}
            marks |= ask.pilot(frame, ids) if ids is not None else {}
            marks |= ask.parts(frame, *parts) if parts is not None else {}
            found = self._held.collect(ask.grouped(frame, named, weight, bounds, marks).head(MAX_GROUPS + 1))
        seen = ((low - real.low) / (real.high - real.low), (high - real.low) / (real.high - real.low)) if real else None
        return frame, found, list(marks), seen

    def _seen_range(self, frame: nw.LazyFrame[Any], real: RealColumn) -> tuple[float, float]:
        """The smallest and the largest outcome within the declared range."""
        from fairarm.logs import queries as ask

        low, high = self._one(ask.seen_range(frame, real.column, real.low, real.high)).values()
        return (real.low, real.high) if low is None or np.isnan(low) else (float(low), float(high))

    def duplicates(self, column: str, examples: int = 5) -> Duplicates:
        """How many values of a column are there more than once. DuckDB does this on disk where memory is short."""
        from fairarm.logs import queries as ask

        frame = self._frame([column])
        with self._speaking():
            repeated = ask.repeated(frame, column)
            found = self._held.collect(repeated.head(FEW))
            ids, rows = len(found), sum(found[ROWS].to_pylist())
            if ids == FEW:
                total = self._one(ask.summed(repeated))
                ids, rows = total[LINES], total[ROWS]
                found = self._held.collect(repeated.sort(VALUE).head(examples))
            shown, _ = plain.encoded(column, found[VALUE])
        return Duplicates(ids, rows - ids, tuple(str(value) for value in shown[:examples]))

    def batches(
        self, columns: Sequence[str], rows: int = 1 << 16, *, due: Due | None = None
    ) -> Iterator[dict[str, NDArray[Any]]]:
        """The rows in parts of at most ``rows``, in no promised order: int64, float64 (nulls are NaN), bool, datetime64
        or objects (nulls are None). ``due`` adds the column ``DUE``."""
        with self._speaking():
            for part in self._held.stream(*self._chosen(columns, due), rows):
                yield {name: plain.to_numpy(name, part[name]) for name in part.column_names}

    def gathered(
        self, columns: Sequence[str], start: Callable[[], Any], *, due: Due | None = None, tick: Tick | None = None
    ) -> Any:
        """What ``start`` makes (`gathering.Gathering`), once it has seen every row, in parts as ``batches`` has them: on a
        Dask or Spark cluster where the rows are, else here. ``tick`` is told how far it is."""
        with self._speaking():
            return self._held.gathered(*self._chosen(columns, due), start, tick, self.rows)

    @property
    def streams_here(self) -> bool:
        """Whether rows that are gathered are read by this process."""
        return self._held.streams_here

    def _chosen(self, columns: Sequence[str], due: Due | None) -> tuple[list[str], Transform]:
        """The columns that are read, and what makes of them the rows and columns that are asked for."""
        from fairarm.logs import queries as ask

        named = list(dict.fromkeys(columns))
        frame = self._frame(named, due.column if due else None)
        flag = self._due(frame, due) if due else None
        used = frame.collect_schema().names()
        return used, lambda each: ask.selected(ask.kept(each, self.drop, self.missing), named, flag)

    def column(self, name: str, rows: int = 1 << 20) -> Iterator[pa.ChunkedArray]:
        """The entries of one column as Arrow holds them, in parts of at most ``rows``, in no promised order."""
        with self._speaking():
            for part in self._held.stream(*self._chosen([name], None), rows):
                yield plain.flat(name, part[name])

    def common(self, column: str, most: int, *, numbers: bool = True) -> tuple[tuple[Any, int], ...]:
        """The values of a column and their rows, most rows first, at most so many; missing ones aside. Without
        ``numbers``: only the texts that are no numbers."""
        from fairarm.logs import queries as ask

        frame = self._frame([column])
        with self._speaking():
            found = ask.by_value(frame, column)
            found = found if numbers else ask.without_numbers(found)
            seen = self._held.collect(found.sort(ROWS, VALUE, descending=[True, False]).head(most))
            values, codes = plain.encoded(column, seen[VALUE])
        rows = np.zeros(len(values), dtype=np.int64)
        np.add.at(rows, codes, plain.to_numpy(ROWS, seen[ROWS]))
        listed = zip(values.tolist(), rows.tolist(), strict=True)
        return tuple(sorted(listed, key=lambda each: -each[1]))

    def profile(self, column: str, most_values: int, stray: float = 0.0) -> Profile:
        """What a column looks like, with its values if there are at most ``most_values`` of them. Up to a share ``stray``
        of the rows may be text beside numbers or times."""
        from fairarm.logs import queries as ask

        frame = self._frame([column])
        rows = self.rows()
        with self._speaking():
            counted = most_values > 0 and ask.kind(frame, column) != "other"
            found = ask.by_value(frame, column) if counted else ask.each_value(frame, column)
            kind, summary = ask.summary(found)
            seen = self._one(summary)
            values = None
            if counted and seen[LINES] <= most_values:
                values = tuple(plain.encoded(column, self._held.collect(found)[VALUE])[0])
        return profile_of(column, kind, rows, seen, values, counted, stray)

    # ---- parts ----

    def _frame(self, named: Sequence[str], *others: str | None) -> nw.LazyFrame[Any]:
        """The columns that are used, without the rows that are left out."""
        from fairarm.logs import queries as ask

        frame = self._all(named, *others, *(column for column, _ in self.drop))
        with self._speaking():
            return ask.kept(frame, self.drop, self.missing)

    def _all(self, named: Sequence[str], *others: str | None) -> nw.LazyFrame[Any]:
        """The columns that are used, once they are known to be there."""
        used = list(dict.fromkeys([*named, *(name for name in others if name is not None)]))
        for name in used:
            if name not in self.columns:
                raise DataError(self.no_column(name))
        with self._speaking():
            return self._held.lazy(used or self.columns[:1])

    def no_column(self, name: str) -> str:
        """Why a column cannot be used: the log has none of the name, or its files do not agree on it."""
        if name in self.disputed:
            return one_line(f"The column '{name}' cannot be used: {self.disputed[name]}.")
        near = get_close_matches(str(name), self.columns, n=1)
        hint = f"Did you mean '{near[0]}'? " if near else ""
        return one_line(f"{self.name} has no column '{name}'. {hint}Its columns: {', '.join(self.columns[:30])}.")

    def _one(self, frame: nw.LazyFrame[Any]) -> dict[str, Any]:
        """The only row of a result, as Python values."""
        found = self._held.collect(frame)
        return {name: plain.flat(name, found[name])[0].as_py() for name in found.column_names}

    def newest(self, column: str) -> Any:
        """The largest number or time of a column; None where there is none, or where it is text."""
        from fairarm.logs import expressions as ex
        from fairarm.logs import queries as ask

        frame = self._frame([column])
        with self._speaking():
            dtype = frame.collect_schema()[column]
            return self._one(ask.newest(frame, column))[VALUE] if ex.is_time(dtype) or dtype.is_numeric() else None

    def _due(self, frame: nw.LazyFrame[Any], due: Due) -> nw.Expr:
        """IS_DUE, NOT_DUE or NO_TIME of each row; the newest value is looked up first."""
        from fairarm.logs import expressions as ex
        from fairarm.logs import queries as ask

        dtype = frame.collect_schema()[due.column]
        if ex.is_text(dtype):
            return self._due_text(frame, due, dtype)
        newest = self._one(ask.newest(frame, due.column))[VALUE]
        spark = frame.implementation.value.startswith("pyspark")
        return ex.due(due.column, dtype, newest, due.within, spark)

    def _due_text(self, frame: nw.LazyFrame[Any], due: Due, dtype: Any) -> nw.Expr:
        """The same where numbers or times are text. Times of any offset are compared as instants."""
        from fairarm.logs import expressions as ex
        from fairarm.logs import queries as ask

        found = self._held.collect(ask.newest_text(frame, due.column)).to_pylist()
        times = {line[OFFSET]: line[VALUE] for line in found if line[OFFSET] is not None}
        number = max((line[REAL] for line in found if line[REAL] is not None), default=None)
        trouble = None
        if len(times) > ex.MOST_OFFSETS:
            trouble = f"times of more than {ex.MOST_OFFSETS} offsets from UTC"
        elif "" in times and len(times) > 1:
            with_one = next(written for written in times if written)
            trouble = f"times with an offset from UTC ({with_one}) and times without one"
        elif times and number is not None:
            trouble = "both numbers and times"
        elif not times and number is None:
            trouble = "no number and no time such as 2030-01-31T12:00:00Z"
        if trouble is not None:
            text = f"{self.name}: column '{due.column}' holds {trouble}. Make all of it numbers, or times in UTC."
            raise DataError(one_line(text))
        if times:
            return ex.due_text(due.column, dtype, times, due.within)
        return ex.due(due.column, dtype, number, due.within)

    def examples(self, column: str, what: str, low: float = 0.0, high: float = 0.0, most: int = 5) -> list[Any]:
        """Values of a column that are "no time", or no number in [low, high]: "outside" or "unreadable"."""
        from fairarm.logs import expressions as ex
        from fairarm.logs import queries as ask

        frame = self._frame([column])
        with self._speaking():
            dtype = frame.collect_schema()[column]
            if what == "no time":
                numeric = (
                    ex.place(column, dtype).is_null() if not ex.is_time(dtype) else ex.moment(column, dtype).is_null()
                )
                wanted = (ex.moment(column, dtype).is_null() & numeric) if ex.is_text(dtype) else numeric
            else:
                code = ex.status(ex.number(column, dtype), column, dtype, low, high)
                wanted = code == OUTCOMES.index(what)
            found = self._held.collect(ask.examples(frame, column, wanted).head(most))
            return [value for value in plain.encoded(column, found[VALUE])[0].tolist() if value is not None]

    def _too_many(self, named: Sequence[str]) -> str:
        return one_line(
            f"{self.name}: the columns {', '.join(named)} have more than {MAX_GROUPS} combinations of values. "
            "Leave out columns that are ids or measurements, or round them."
        )

    def _check_weights(self, found: pa.Table, frame: nw.LazyFrame[Any], weight: str) -> None:
        """Refuse weights that are not whole numbers, and sums that would not fit."""
        from fairarm.logs import queries as ask

        bad = sum(found[BAD].to_pylist())
        if bad:
            with self._speaking():
                example = self._one(ask.unsound(frame, weight))[VALUE]
            lines = f"{bad} line{' has' if bad == 1 else 's have'} a count '{weight}'"
            text = f"{self.name}: {lines} that is not a whole number from 0 to {MAX_ROWS}, such as {example!r}. "
            raise DataError(one_line(text + "A count says how many rows a line stands for."))
        products = zip(found[LARGEST].to_pylist(), found[LINES].to_pylist(), strict=True)
        too_large = any(largest * lines > MAX_ROWS << 20 for largest, lines in products)
        if too_large or sum(found[ROWS].to_pylist()) > MAX_ROWS << 20:
            raise DataError(one_line(f"{self.name}: the counts '{weight}' are too large to be summed. Check them."))

    def _speaking(self) -> AbstractContextManager[None]:
        return speaking(f"{self.name}: {self.engine} could not read it", DataError)


def _lines(found: pa.Table, keys: Sequence[str], seen: tuple[float, float] | None, marks: Sequence[str]) -> Counts:
    """The engine's result in the order of its values, equal lines together; ``seen``: from where to where a real outcome lies, as y'."""
    real = seen is not None
    named = list(dict.fromkeys(keys))
    coded = [plain.encoded(name, found[name]) for name in named]
    extra = [plain.to_numpy(name, found[name]) for name in (*([STATUS] if real else []), *marks)]
    amounts = np.stack([plain.to_numpy(name, found[name]) for name in (ROWS, *((*HIGH, *LOW) if real else ()))], axis=1)
    codes, amounts = plain.merged([*(codes for _, codes in coded), *extra], amounts.astype(np.int64))
    kept = amounts[:, 0] > 0
    if real and amounts[:, 0].max(initial=0) > MAX_ROWS:
        raise DataError(
            f"A combination of values has more than {MAX_ROWS} rows: its sums would not fit. Split the log."
        )
    held = {name: values[code[kept]] for name, (values, _), code in zip(named, coded, codes, strict=False)}
    sums = None
    if seen is not None:
        n, (first, second, third) = amounts[kept, 0], ((amounts[kept, 1:4] + amounts[kept, 4:] / PART) / PART).T
        mean, width = first / n, seen[1] - seen[0]
        within, cubes = second - mean * first, third - 3 * mean * second + 2 * mean**2 * first
        sums = np.stack([n * seen[0] + width * first, width**2 * np.maximum(within, 0.0), width**3 * cubes], axis=1)
        sums[codes[len(named)][kept] != OUTCOMES.index("ok")] = 0.0
    statuses = plain.object_array(OUTCOMES)[codes[len(named)][kept]] if real else None
    marked = dict(zip(marks, (code[kept] for code in codes[len(codes) - len(marks) :]), strict=True))
    return Counts(held, amounts[kept, 0], sums, statuses, marked)
