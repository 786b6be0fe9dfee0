"""Rows of a log that lack nothing but their outcome: what else they hold is known, and counts."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairarm.beliefs.findings import Finding, Level
from fairarm.core.types import BoolArray, IntArray
from fairarm.logs.coding import ABSENT
from fairarm.logs.findings import MISMATCH, at_least
from fairarm.logs.values import NOT_DUE, object_array

if TYPE_CHECKING:
    from fairarm.logs.reading import LogReader
    from fairarm.logs.table import Counts, RealColumn
    from fairarm.problem.pulls import Batch

NEARLY_ALL, MOST_OTHERS = 0.95, 0.5
"""An outcome needs a decision where this share of the rows of another one lack it, and at most that share of the others."""


def check_outcomes(reader: LogReader) -> list[Finding]:
    """Whether the outcome is missing because of the decision: a loan that is denied is never repaid."""
    problem, real = reader.problem, reader.real
    if "missing-outcomes" not in reader.tallies or problem.decision not in reader.coders:
        return []
    decision, outcome = (reader.map.column(node) for node in (problem.decision, problem.outcome.node))
    found = reader.table.counts(
        [decision] if real else [decision, outcome], weight=reader.map.count, real=real, due=reader.due
    )
    coder = reader.coders[problem.decision]
    decided = coder.codes(found.keys[decision])
    known = (decided >= 0) & (True if found.due is None else found.due != NOT_DUE)
    missing = (
        found.outcome == "missing" if real else reader.coders[problem.outcome.node].codes(found.keys[outcome]) == ABSENT
    )
    rows, lacking = (
        np.bincount(decided[at], found.rows[at], len(coder.states)) for at in (known, known & np.asarray(missing))
    )
    none = (rows > 0) & (lacking >= NEARLY_ALL * rows)
    others = lacking[~none].sum() / max(rows[~none].sum(), 1)
    chance = at_least(lacking.astype(np.float64), rows.astype(np.float64), np.full(len(rows), others))
    none &= (chance < MISMATCH) & (others <= MOST_OTHERS) & rows[~none].any()
    if not none.any():
        return []
    which = ", ".join(np.array(coder.states)[none])
    text = (
        f"'{outcome}' is missing in {int(lacking[none].sum())} of {int(rows[none].sum())} rows with {decision} = {which}, and in {others:.1%} of the "
        f"others: it exists only after some decisions, so nothing is known about it after {which}, and it is not missing at random. Log one "
        f"outcome for all rows, such as denied / default / repaid, with a value for each; or a value for {decision} = {which} itself."
    )
    return [Finding("outcome-needs-decision", text, int(lacking[none].sum()), level=Level.BLOCKS_ANSWER)]


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
