"""The pilot of a log that is read one by one: rows that are looked at before the others, and not bet on.

A row belongs to the pilot by its id alone, so that what is learned from it is independent of the other rows. Without ids
there is none: a row is never put aside by what it holds, or by where it stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.beliefs.smallest_rows import SmallestRows
from fairarm.core.packed import Arrays, named, within
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import LoggedRows

ONE_OF = 5
"""The pilot is one row of so many."""

MOST_KEPT = 1 << 14
"""Rows of the pilot that are kept, those with the smallest tickets."""


@dataclass
class RowPilot:
    """What the first pass leaves: rows of the pilot, and how many others each arm made."""

    problem: Problem
    without_id: bool = False
    """Some row has no id: there is no pilot."""
    kept: SmallestRows = field(init=False)

    def __post_init__(self) -> None:
        self.made = np.zeros((len(self.problem.arms), len(self.problem.groups)), dtype=np.int64)
        self.rows = np.zeros(len(self.problem.groups))
        self.kept = SmallestRows(MOST_KEPT, distinct=False)

    @property
    def usable(self) -> bool:
        """Every group has a row to bet on, and every row an id."""
        return not self.without_id and bool(self.rows.all()) and len(self.ticket) > 0

    def add(self, part: LoggedRows, prints: NDArray[np.uint64], group: IntArray, outcome: FloatArray) -> None:
        """More rows, with their fingerprints, groups and outcomes; two rows of one id are told apart by what they hold."""
        if part.ticket is None:
            self.without_id |= part.batch.size > 0
            return
        mine = in_pilot(part.ticket)
        other, at = ~mine, np.flatnonzero(mine)
        np.add.at(self.rows, group[other], 1.0)
        if part.propensity is None:
            np.add.at(self.made, (part.batch.arm[other], group[other]), 1)
        names = (self.problem.sensitive, *self.problem.cell_columns)
        kept = {f"in {name}": np.asarray(part.batch.columns[name])[at] for name in names}
        if part.propensity is not None:
            kept["propensity"] = part.propensity[at]
        self.kept.add(part.ticket[at], {"tie": prints[at], "outcome": outcome[at], **kept})

    def merge(self, other: RowPilot) -> None:
        """With another part of the log."""
        self.without_id |= other.without_id
        self.made += other.made
        self.rows += other.rows
        self.kept.merge(other.kept)

    def arrays(self) -> Arrays:
        """To be sent."""
        known = {"made": self.made, "rows": self.rows, "without_id": np.array(self.without_id)}
        return {**known, **named("kept", {} if self.without_id else self.kept.rows)}

    def merge_arrays(self, sent: Arrays) -> None:
        """With a part that was sent."""
        self.without_id |= bool(sent["without_id"])
        self.made += sent["made"]
        self.rows += sent["rows"]
        if kept := within("kept", sent):
            self.kept.add(kept.pop("key"), kept)

    @property
    def ticket(self) -> NDArray[np.uint64]:
        """Of the rows that are kept."""
        return np.asarray(self.kept.rows.get("key", np.zeros(0, dtype=np.uint64)))

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """Of the same rows."""
        return {name.removeprefix("in "): v for name, v in self.kept.rows.items() if name.startswith("in ")}

    @property
    def outcome(self) -> FloatArray:
        """Of the same rows."""
        return np.asarray(self.kept.rows["outcome"])

    @property
    def propensity(self) -> FloatArray | None:
        """Of the same rows, where it is logged."""
        return self.kept.rows.get("propensity")

    def by_group(self) -> Iterator[tuple[dict[str, NDArray[Any]], FloatArray, FloatArray | None]]:
        """Columns, outcomes and propensities of each group's rows."""
        for at in self.places():
            columns = {name: values[at] for name, values in self.columns.items()}
            yield columns, self.outcome[at], None if self.propensity is None else self.propensity[at]

    def places(self) -> Iterator[IntArray]:
        """Where the rows of each group are."""
        codes = np.asarray(self.columns[self.problem.sensitive])
        return (np.flatnonzero(codes == code) for code in self.problem.compiled.group_codes)


def in_pilot(ticket: NDArray[np.uint64]) -> BoolArray:
    """Whether rows belong to the pilot, by the numbers made of their ids."""
    return np.asarray(ticket % np.uint64(ONE_OF) == 0)
