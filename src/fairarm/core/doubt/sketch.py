"""The outcomes of every cell in a few bins: what sorted sums need of a real outcome, in memory that does not grow with the rows.

Bins have the same edges in all cells, so that parts of a log can be counted apart and added. Where no bin holds two different values
nothing is lost; else a sum over a part of a bin is bounded by its least and largest value (`sensitivity.others_of_parts`).

Axes: C cells, B bins; D draws.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.core.doubt.sensitivity import Parts
from fairarm.core.types import FloatArray, IntArray

PRIOR_ROWS = 2.0
"""Rows that the outcomes of all cells together count in the law of one: a cell of few rows has not seen how far its outcomes spread."""


def edges_for(values: FloatArray, bins: int) -> FloatArray:
    """Edges of at most so many bins, in rising order: one bin for each value where these are few, else about as many rows in each."""
    distinct = np.unique(values)
    if len(distinct) > bins:
        distinct = np.unique(np.quantile(values, np.linspace(0.0, 1.0, bins)))
    return np.asarray((distinct[1:] + distinct[:-1]) / 2)


@dataclass(frozen=True, eq=False)
class Sketch:
    """Rows and Σ Y' by cell and bin, (C, B) each, and the least and largest value of each bin, (B,)."""

    edges: FloatArray
    """Between the bins, (B − 1,)."""
    rows: IntArray
    sums: FloatArray
    least: FloatArray
    most: FloatArray

    @classmethod
    def empty(cls, cells: int, edges: FloatArray) -> Sketch:
        """Before any row."""
        shape = (cells, len(edges) + 1)
        ends = np.full((2, shape[1]), np.inf) * np.array([[1.0], [-1.0]])
        return cls(edges, np.zeros(shape, dtype=np.int64), np.zeros(shape), ends[0], ends[1])

    def add(self, cell: IntArray, value: FloatArray, count: IntArray) -> Sketch:
        """With lines (I,) each."""
        bins = np.searchsorted(self.edges, value, side="right")
        rows = self.rows.copy()
        sums, least, most = (part.copy() for part in (self.sums, self.least, self.most))
        np.add.at(rows, (cell, bins), count)
        np.add.at(sums, (cell, bins), count * value)
        np.minimum.at(least, bins, value)
        np.maximum.at(most, bins, value)
        return Sketch(self.edges, rows, sums, least, most)

    def plus(self, other: Sketch) -> Sketch:
        """Both together; edges are the same."""
        return Sketch(
            self.edges,
            self.rows + other.rows,
            self.sums + other.sums,
            np.minimum(self.least, other.least),
            np.maximum(self.most, other.most),
        )

    def _kept(self) -> Sketch:
        """Without bins that no row is in."""
        there = self.rows.any(axis=0)
        return Sketch(self.edges, self.rows[:, there], self.sums[:, there], self.least[there], self.most[there])

    def drawn(self, draws: int, rng: np.random.Generator) -> tuple[FloatArray, Parts]:
        """Laws of the bins in each cell by the Bayesian bootstrap, with their mean last, (D + 1, C, B), and what is in the bins."""
        kept = self._kept()
        every, total = kept.rows.sum(axis=0), max(int(kept.rows.sum()), 1)
        prior = PRIOR_ROWS * every / total
        rows = kept.rows + prior
        drawn = np.concatenate([rng.standard_gamma(rows, (draws, *rows.shape)), rows[None]])
        drawn /= np.maximum(drawn.sum(axis=-1, keepdims=True), np.finfo(np.float64).tiny)
        mean = (kept.sums + prior * kept.sums.sum(axis=0) / np.maximum(every, 1)) / rows
        # an average of values may be rounded past the largest of them
        return drawn, Parts(np.clip(mean, kept.least, kept.most), kept.least[None], kept.most[None])
