"""Rows of a log in batches by the time of their decision, cut at fixed row numbers: a longer log leaves earlier batches alone.

A batch ends with a time, not within one: rows of the same time are in the same batch, whatever their order in the log. A batch
is whole once there is a later row, and once its outcomes were due. The part after the last whole batch waits.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.errors import DataError
from fairarm.logs.coding import read_numbers
from fairarm.logs.reading import LogReader
from fairarm.logs.table import MAX_GROUPS, Counts, LogTable, RealColumn
from fairarm.logs.unanswered import stand_in
from fairarm.problem.pulls import Batch

FIRST, GROWTH = 32, 1.2
"""Rows of the first batch, and the factor by which the rows so far grow with each further one."""

MOST_TIMES = 1 << 25
"""Rows whose times are sorted."""


@dataclass(frozen=True)
class TimedRows:
    """Rows of whole batches as lines; ``part`` (I,) is the batch of each, ``missing`` (I,) whether its outcome is missing."""

    batch: Batch
    part: IntArray
    missing: BoolArray
    sums: FloatArray | None
    """Of a real outcome: Σ Y' of each line, (I,)."""
    ends: tuple[str, ...]
    """The time with which each batch ends."""
    untimed: int
    """Rows without a time: which they are may depend on anything."""


def can_be_timed(reader: LogReader) -> bool:
    """Whether its rows have times, can be counted by cell, and were not made by looking at outcomes."""
    there = reader.map.time is not None and reader.map.time in reader.table.columns
    return there and reader.countable and reader.map.count is None and not reader.map.adaptive


def rows_by_time(reader: LogReader, lines: int) -> TimedRows | None:
    """Whole batches of a log that `can_be_timed`; None where times cannot be put in order, or are too many to
    sort or to count.

    ``lines``: different rows that the log has.
    """
    column = reader.map.time or ""
    ends = batch_ends(reader.table, column, reader.map.outcome_within)
    if not ends or lines * (len(ends) + 1) > MAX_GROUPS:
        return None
    outcome, real = reader.problem.outcome, None
    if outcome.values is None:
        real = RealColumn(reader.map.column(outcome.node), outcome.low or 0.0, outcome.high or 0.0)
    nodes = {reader.map.column(node) for node in reader.problem.observed}
    keys = [
        name for name in reader.columns if (name in nodes or name != column) and (real is None or name != real.column)
    ]
    found = reader.table.counts(keys, real=real, parts=(column, ends))
    return _taken(reader, found, real, ends)


def _taken(reader: LogReader, found: Counts, real: RealColumn | None, ends: list[Any]) -> TimedRows:
    """Lines as codes; a missing outcome has a stand-in, so that nothing else of its line is lost."""
    raw, part = dict(found.keys), found.part
    if part is None:
        raise TypeError("The rows were not counted by time.")
    missing = stand_in(reader, raw, found, real)
    twin = copy(reader)
    twin.tallies, twin.rows, twin.used = {}, 0, 0  # what is wrong with the rows was said when all of them were read
    rows, kept = twin.taken(raw, found.rows, None)
    whole = (part[kept] >= 0) & (part[kept] < len(ends))
    at = np.flatnonzero(whole)
    sums = None if found.sums is None else found.sums[kept][at, 0]
    untimed = int(found.rows[part < 0].sum())
    return TimedRows(rows.batch.take(at), part[kept][at], missing[kept][at], sums, tuple(map(str, ends)), untimed)


def batch_ends(table: LogTable, column: str, within: float | None) -> list[Any]:
    """The times with which whole batches end, as the log's engine compares them; none where they cannot be put in order."""
    if table.rows() > MOST_TIMES:
        return []
    newest = table.newest(column)
    try:
        parts = [part[column] for part in table.batches([column], 1 << 20)]
    except (
        DataError
    ):  # Spark hands out no times with a zone: such a log has no answer by time, and is evaluated all the same
        return []
    times = np.concatenate(parts) if parts else np.zeros(0)
    times = _known(_from_text(times) if newest is None else times)
    if times.dtype.kind not in "ifMU" or not len(times):
        return []
    ends, last = _order_statistics(times)
    return [_as(newest, end) for end in ends[_whole(ends, last, within)]]


def _from_text(times: NDArray[Any]) -> NDArray[Any]:
    """Text as numbers, or as times of one offset from UTC in a form whose order is theirs; objects where it is neither."""
    from fairarm.logs import expressions as ex

    values, other = read_numbers(times)
    if not other.any():
        return values
    texts = [str(value).strip() for value in times.tolist() if value is not None]
    offsets = {ex.written_offset(text) for text in texts} - {None}
    if len(offsets) != 1:
        return np.array([], dtype=object)
    return np.array([bare for text in texts if (bare := ex.bare_moment(text)) is not None], dtype=str)


def _known(times: NDArray[Any]) -> NDArray[Any]:
    """Those that there are."""
    if times.dtype.kind not in "fM":
        return times
    there = ~np.isnat(times) if times.dtype.kind == "M" else np.isfinite(times)
    return times if there.all() else np.asarray(times[there])


def _order_statistics(times: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The times of the rows with which batches end, each once, and the last time of all, (1,); ``times`` are put in order in place."""
    numbers = np.floor(FIRST * GROWTH ** np.arange(200)).astype(np.int64)
    at = numbers[numbers <= len(times)] - 1
    if not np.all(times[:-1] <= times[1:]):  # a log mostly comes in the order of its times
        times.partition([*at, len(times) - 1])
    return np.unique(times[at]), times[-1:]


def _whole(ends: NDArray[Any], last: NDArray[Any], within: float | None) -> BoolArray:
    """Which batches can get no more rows, and have all the outcomes that they will get."""
    later = ends < last
    if within is None:
        return np.asarray(later)
    if ends.dtype.kind == "U":
        from fairarm.logs import expressions as ex

        return np.asarray(later & (ends <= ex.text_before(str(last[0]), within)))
    wait = np.timedelta64(round(within * 1e6), "us") if ends.dtype.kind == "M" else within
    return np.asarray(later & (ends <= last - wait))


def _as(newest: Any, end: Any) -> Any:
    """A time of an array in the form of the engine's own."""
    if isinstance(end, str):
        return str(end)
    if isinstance(newest, datetime):
        moment = end.astype("datetime64[us]").item()
        return moment if newest.tzinfo is None else moment.replace(tzinfo=UTC).astimezone(newest.tzinfo)
    return int(end) if isinstance(newest, int) else float(end)
