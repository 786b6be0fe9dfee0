"""Rows of a log that lack nothing but their outcome: what else they hold is known, and counts."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairarm.core.types import BoolArray, IntArray
from fairarm.logs.coding import ABSENT
from fairarm.logs.values import object_array

if TYPE_CHECKING:
    from fairarm.logs.reading import LogReader
    from fairarm.logs.table import Counts, RealColumn
    from fairarm.problem.pulls import Batch


def stand_in(reader: LogReader, raw: dict[str, NDArray[Any]], found: Counts, real: RealColumn | None) -> BoolArray:
    """Put a value in the place of missing outcomes, so that nothing else of their lines is lost, and say where they are."""
    if real is not None and found.outcome is not None:
        middle = 0.5 * (real.low + real.high)
        values = {"ok": middle, "missing": middle, "outside": np.inf, "unreadable": "?"}
        raw[real.column] = object_array([values[status] for status in found.outcome])
        return np.asarray(found.outcome == "missing", dtype=bool)
    node = reader.problem.outcome.node
    column = reader.map.column(node)
    coder = reader.coders[node]
    missing = np.asarray(coder.codes(raw[column]) == ABSENT)
    raw[column] = raw[column].copy()
    raw[column][missing] = coder.states[0]
    return missing


def without_outcome(reader: LogReader, found: Counts, real: RealColumn | None) -> tuple[Batch, IntArray | None] | None:
    """The counted lines whose only fault is a missing outcome, and which of them the ids choose for the pilot; None where
    there is none. Their outcome's column holds a stand-in."""
    if "missing-outcomes" not in reader.tallies:
        return None
    raw = dict(found.keys)
    at = np.flatnonzero(stand_in(reader, raw, found, real))
    twin = copy(reader)
    twin.tallies, twin.rows, twin.used = {}, 0, 0  # what is wrong with the rows was said when all of them were read
    lines = {name: values[at] for name, values in raw.items()}
    rows, kept = twin.taken(lines, found.rows[at], None if found.due is None else found.due[at])
    if not rows.batch.total:
        return None
    return rows.batch, None if found.pilot is None else found.pilot[at][kept]
