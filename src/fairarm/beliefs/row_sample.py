"""The first pass over a log that is read row by row: a sample for the regression, a pilot, and counts of all rows.

Which rows are sampled, and which half of the sample predicts a row, depends on the row's content alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.beliefs.row_pilot import RowPilot
from fairarm.beliefs.smallest_rows import SmallestRows
from fairarm.core.exact_sums import ExactSum
from fairarm.core.mixing import mixed
from fairarm.core.packed import Arrays, named, within
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch, LoggedRows, groups_of, scaled_outcomes

SAMPLE = 1 << 15
"""Distinct rows kept for the regression."""
NATURAL_BITS = -80
"""Of sums over natural outcomes, whose size is not known yet."""


@dataclass(frozen=True)
class Sample:
    """The distinct rows with the smallest fingerprints, how often each came, and counts of all rows."""

    print: NDArray[np.uint64]
    columns: dict[str, NDArray[Any]]
    outcome: FloatArray
    count: IntArray
    propensity: FloatArray
    """As logged; nan where it is not."""
    made: IntArray
    """Rows by arm and group, (K, G); of no arm where they have propensities."""
    natural: IntArray
    natural_sums: FloatArray
    natural_squares: FloatArray
    """Σ Y' and Σ Y'² of the natural rows, (G,)."""
    rows: FloatArray
    """(G,)."""

    @cached_property
    def repeated(self) -> NDArray[np.uint64]:
        """Fingerprints of rows that came more than once: both halves of the sample may hold them."""
        return np.asarray(self.print[self.count > 1])


def second_half(prints: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """1 for rows that the second half of the sample must not predict, 0 for the others."""
    return ((prints >> np.uint64(7)) & np.uint64(1)).astype(np.uint16)


def halves_of(prints: NDArray[np.uint64], repeated: NDArray[np.uint64]) -> FloatArray:
    """Which half of the sample must not predict each row, as shares (n, 2): ½ for rows of which there are many."""
    second = second_half(prints).astype(np.float64)
    shares = np.stack([1.0 - second, second], axis=1)
    if len(repeated):
        at = np.minimum(np.searchsorted(repeated, prints), len(repeated) - 1)
        shares[repeated[at] == prints] = 0.5
    return shares


@dataclass
class FirstPass:
    """What the first pass gathers. That of two parts of a log is merged."""

    problem: Problem
    pilot: RowPilot = field(init=False)

    def __post_init__(self) -> None:
        K, G = len(self.problem.arms), len(self.problem.groups)
        self.pilot = RowPilot(self.problem)
        self.kept = SmallestRows(SAMPLE, distinct=True)
        self.counts: dict[str, IntArray] = {
            "made": np.zeros((K, G), dtype=np.int64),
            "natural": np.zeros(G, dtype=np.int64),
            "rows": np.zeros(G, dtype=np.int64),
        }
        self.outcomes = ExactSum((2, G), NATURAL_BITS)

    def add(self, part: LoggedRows) -> None:
        """More rows."""
        batch, problem = part.batch, self.problem
        if not batch.size:
            return
        group, y, G = groups_of(problem, batch), scaled_outcomes(problem, batch), len(problem.groups)
        count = self.counts
        if part.propensity is None:
            count["made"] += _counted(batch.arm * G + group, batch.count, len(problem.arms) * G).reshape(-1, G)
        forced = bool(batch.regime.any())
        natural = np.where(batch.regime == 0, batch.count, 0) if forced else batch.count
        of_natural = _counted(group, natural, G)
        count["natural"] += of_natural
        count["rows"] += _counted(group, batch.count, G) if forced else of_natural
        self._add_outcomes(batch, group, y, natural)
        prints = fingerprints(problem, part)
        if len(at := self.kept.within_reach(prints)):
            self.kept.add(prints[at], self._columns(part, y, at))
        self.pilot.add(part, prints, group, y)

    def _add_outcomes(self, batch: Batch, group: IntArray, y: FloatArray, natural: IntArray) -> None:
        """Σ Y' and Σ Y'² of natural rows. An outcome with states is counted by state, which is the same sum."""
        outcome, G = self.problem.outcome, len(self.problem.groups)
        if outcome.values is None:
            self.outcomes.add(np.stack([y, y * y]), np.eye(G)[group] * natural[:, None])
            return
        each = outcome.scaled_values
        found = _counted(np.asarray(batch.columns[outcome.node]) * G + group, natural, len(each) * G).reshape(-1, G)
        self.outcomes.add(np.stack([each, each * each]), found.astype(np.float64))

    def _columns(self, part: LoggedRows, y: FloatArray, at: IntArray) -> Arrays:
        """What is kept of rows."""
        logged = np.full(len(at), np.nan) if part.propensity is None else part.propensity[at]
        names = (self.problem.sensitive, *self.problem.cell_columns)
        kept = {f"in {name}": _plain(np.asarray(part.batch.columns[name])[at]) for name in names}
        return {"count": part.batch.count[at], "outcome": y[at], "propensity": logged, **kept}

    def merge(self, other: FirstPass) -> None:
        """With another part of the log."""
        for name, held in other.counts.items():
            self.counts[name] += held
        self.outcomes.merge(other.outcomes)
        self.kept.merge(other.kept)
        self.pilot.merge(other.pilot)

    def arrays(self) -> Arrays:
        """To be sent."""
        held = {**named("counts", self.counts), **named("kept", self.kept.rows), **named("pilot", self.pilot.arrays())}
        return {**held, "outcomes": self.outcomes.bytes}

    def merge_arrays(self, sent: Arrays) -> None:
        """With a part that was sent."""
        for name, held in within("counts", sent).items():
            self.counts[name] += held
        self.outcomes.merge_bytes(sent["outcomes"])
        if kept := within("kept", sent):
            self.kept.add(kept.pop("key"), kept)
        self.pilot.merge_arrays(within("pilot", sent))

    def sample(self) -> Sample:
        """What the regression is made of."""
        kept = self.kept.rows
        sums, squares = self.outcomes.value
        columns = {name.removeprefix("in "): values for name, values in kept.items() if name.startswith("in ")}
        return Sample(
            kept.get("key", np.zeros(0, dtype=np.uint64)),
            columns,
            kept.get("outcome", np.zeros(0)),
            kept.get("count", np.zeros(0, dtype=np.int64)),
            kept.get("propensity", np.zeros(0)),
            self.counts["made"],
            self.counts["natural"],
            sums,
            squares,
            self.counts["rows"].astype(np.float64),
        )


def _counted(at: IntArray, count: IntArray, size: int) -> IntArray:
    """Rows by place. Those of one part are below 2^53."""
    weights = None if (count == 1).all() else count
    return np.bincount(at, weights=weights, minlength=size).astype(np.int64)


def _plain(values: Any) -> NDArray[Any]:
    """Without a minus before 0, which a fingerprint does not see."""
    held = np.asarray(values)
    return held + 0.0 if held.dtype.kind == "f" else held


def fingerprints(problem: Problem, part: LoggedRows) -> NDArray[np.uint64]:
    """A number for the content of each row, the same wherever it is computed. Each column's bits are multiplied in, and the upper
    half of the product, where they have gone, is folded onto the lower one; splitmix64 at the end makes any bit depend on all."""
    if "prints" in part.memo:
        return part.memo["prints"]
    columns = [np.asarray(part.batch.columns[name]) for name in sorted(problem.observed)]
    columns += [] if part.propensity is None else [part.propensity]
    out = np.full(part.batch.size, 0x9E3779B97F4A7C15, dtype=np.uint64)
    upper = np.empty_like(out)
    for values in columns:
        held = values + 0.0 if values.dtype.kind == "f" else values.astype(np.int64, copy=False)
        out ^= held.view(np.uint64)
        out *= np.uint64(0xD6E8FEB86659FD93)
        out ^= np.right_shift(out, np.uint64(32), out=upper)
    part.memo["prints"] = mixed(out)
    return part.memo["prints"]
