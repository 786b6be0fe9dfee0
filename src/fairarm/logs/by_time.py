"""Rows of a log in batches by the time of their decision, cut at fixed row numbers: a longer log leaves earlier batches alone.

A batch ends with a time, not within one: rows of the same time are in the same batch, whatever their order in the log. A batch
is whole once there is a later row, and once its outcomes were due. The part after the last whole batch waits.
"""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.errors import DataError
from fairarm.logs.ranks import ranked
from fairarm.logs.reading import LogReader
from fairarm.logs.table import MAX_GROUPS, Batches, Counts, LogTable, Parts, RealColumn
from fairarm.logs.times import Form, known, read_texts
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


def count_batches_too(reader: LogReader) -> None:
    """Have the rows counted by batch in the same pass in which they are counted by cell."""
    with suppress(DataError):  # of what is wrong with the rows, the counts speak first
        reader.batches = batches_of(reader.table, reader.map.time or "", reader.map.outcome_within)


def rows_by_time(reader: LogReader, lines: int) -> TimedRows | None:
    """Whole batches of a log that `can_be_timed`; None where times cannot be put in order, or are too many to
    sort or to count.

    ``lines``: different rows that the log has.
    """
    batches = reader.batches or batches_of(reader.table, reader.map.time or "", reader.map.outcome_within)
    if not batches.ends or lines * (len(batches.ends) + 1) > MAX_GROUPS:
        return None
    found = reader.by_batch or reader.table.counts(reader.keys, real=reader.real, parts=batches.parts)
    return _taken(reader, found, reader.real, batches.ends)


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


def batches_of(table: LogTable, column: str, within: float | None) -> Batches:
    """The whole batches of a table."""
    none = Batches([], Parts(column, []))
    if table.rows() > MOST_TIMES:
        return none
    newest = table.newest(column)
    try:
        times, form = _times(table, column, newest)
    except (
        DataError
    ):  # Spark hands out no times with a zone: such a log has no answer by time, and is evaluated all the same
        return none
    if times.dtype.kind not in "ifMU" or not len(times):
        return none
    ends, last = _order_statistics(times)
    if form is not None:
        ends, last = (np.array([form.bare(each) for each in some]) for some in (ends, last))
    made = [_as(newest, end) for end in ends[_whole(ends, last, within)]]
    return Batches(made, Parts(column, made if form is None else [form.written(end) for end in made], form is not None))


def _times(table: LogTable, column: str, newest: Any) -> tuple[NDArray[Any], Form | None]:
    """The times that there are, and their form where they are text of one form."""
    if newest is None:
        read = read_texts(partial(table.column, column))
        return known(read.values), read.form
    parts = [part[column] for part in table.batches([column], 1 << 20)]
    return known(np.concatenate(parts) if parts else np.zeros(0)), None


def _order_statistics(times: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The times of the rows with which batches end, each once, and the last time of all, (1,)."""
    numbers = np.floor(FIRST * GROWTH ** np.arange(200)).astype(np.int64)
    at = np.append(numbers[numbers <= len(times)] - 1, len(times) - 1)
    found = ranked(times, at)
    return np.unique(found[:-1]), found[-1:]


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
