"""The first pass over a log that is read row by row: a sample for the regression, and counts of all rows.

Which rows are sampled, and which half of the sample predicts a row, depends on the row's content alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.core.mixing import mixed
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import LoggedRows, groups_of, scaled_outcomes

SAMPLE = 1 << 15
"""Distinct rows kept for the regression."""


@dataclass
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
    def repeated(self) -> BoolArray:
        """Rows that came more than once: both halves of the sample may hold them."""
        return np.asarray(self.count > 1)

    def half_of(self, prints: NDArray[np.uint64]) -> FloatArray:
        """Which half of the sample must not predict each row, as shares (n, 2): ½ for rows of which there are many."""
        first = (prints >> np.uint64(7)) & np.uint64(1)
        shares = np.stack([first == 0, first == 1], axis=1).astype(np.float64)
        if self.repeated.any():
            at = np.minimum(np.searchsorted(self.print, prints), len(self.print) - 1)
            shares[(self.print[at] == prints) & self.repeated[at]] = 0.5
        return shares


def sampled(problem: Problem, chunks: Iterable[LoggedRows]) -> Sample:
    """The first pass over a log."""
    K, G = len(problem.arms), len(problem.groups)
    names = (problem.sensitive, *problem.cell_columns)
    nothing = np.zeros(0, dtype=np.int64)
    sample = Sample(
        np.zeros(0, dtype=np.uint64), dict.fromkeys(names, nothing), np.zeros(0), nothing, np.zeros(0),
        np.zeros((K, G), dtype=np.int64), np.zeros(G, dtype=np.int64), np.zeros(G), np.zeros(G), np.zeros(G),
    )  # fmt: skip
    for part in chunks:
        batch, group = part.batch, groups_of(problem, part.batch)
        if part.propensity is None:
            np.add.at(sample.made, (batch.arm, group), batch.count)
        natural = np.where(batch.regime == 0, batch.count, 0)
        np.add.at(sample.natural, group, natural)
        y = scaled_outcomes(problem, batch)
        np.add.at(sample.natural_sums, group, natural * y)
        np.add.at(sample.natural_squares, group, natural * y**2)
        np.add.at(sample.rows, group, batch.count.astype(np.float64))
        _keep(problem, sample, part, names)
    return sample


def _keep(problem: Problem, sample: Sample, part: LoggedRows, names: tuple[str, ...]) -> None:
    """The sample with a part's rows, cut to the smallest fingerprints."""
    prints = fingerprints(problem, part)
    full = len(sample.print) >= SAMPLE
    low = np.flatnonzero(prints <= sample.print[-1]) if full else np.arange(len(prints))
    joined = np.concatenate([sample.print, prints[low]])
    unique, first, at = np.unique(joined, return_index=True, return_inverse=True)
    count = np.bincount(at, np.concatenate([sample.count, part.batch.count[low]]), len(unique)).astype(np.int64)
    kept = slice(0, SAMPLE)
    first = first[kept]
    for name in names:
        values = np.concatenate([sample.columns[name], np.asarray(part.batch.columns[name])[low]])
        sample.columns[name] = values[first]
    sample.outcome = np.concatenate([sample.outcome, scaled_outcomes(problem, part.batch)[low]])[first]
    logged = np.full(len(prints), np.nan) if part.propensity is None else part.propensity
    sample.propensity = np.concatenate([sample.propensity, logged[low]])[first]
    sample.print, sample.count = unique[kept], count[kept]


def fingerprints(problem: Problem, part: LoggedRows) -> NDArray[np.uint64]:
    """A number for the content of each row, the same wherever it is computed (splitmix64 over the columns' bits)."""
    columns = [np.asarray(part.batch.columns[name]) for name in sorted(problem.observed)]
    columns += [] if part.propensity is None else [part.propensity]
    out = np.full(part.batch.size, 0x9E3779B97F4A7C15, dtype=np.uint64)
    for values in columns:
        bits = (values + 0.0).view(np.uint64) if values.dtype.kind == "f" else values.astype(np.int64).view(np.uint64)
        out = mixed(out ^ mixed(bits))
    return out
