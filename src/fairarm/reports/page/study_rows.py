"""The rows of fairness of one arm of a live study: which are met, open or broken by what is certified."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from fairarm.reports.known import KnownArm, KnownRow, read_ends


class RowState(StrEnum):
    """By what is certified, not by the posterior."""

    MET = "met"
    OPEN = "open"
    BROKEN = "broken"


def row_states(arm: KnownArm, proof: str | None) -> Sequence[RowState]:
    """Of every row; all are met where the arm is proved to be fair."""
    if proof == "fair":
        return [RowState.MET] * len(arm.rows)
    states = [_state(row) for row in arm.rows]
    if proof == "unfair" and len(states) == 1:
        return [RowState.BROKEN]
    return states


def _state(row: KnownRow) -> RowState:
    certified = row.shown_certified
    if certified is None:
        return RowState.OPEN
    low, high = read_ends(row.row)
    inside = (low is None or certified[0] > low) and (high is None or certified[1] < high)
    outside = (low is not None and certified[1] <= low) or (high is not None and certified[0] >= high)
    return RowState.MET if inside else RowState.BROKEN if outside else RowState.OPEN
