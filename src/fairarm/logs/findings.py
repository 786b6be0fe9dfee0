"""What is wrong with a log, by name, with counts and examples. Rows that cannot be used are left out and said."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import chi2

from fairarm.core.types import FloatArray, IntArray

EXAMPLES = 5
MISMATCH = 1e-4
"""A test of the rows against what was declared is a finding below this p-value: one sound log in 10 000."""

FEW_EXPECTED = 5.0
"""Expected counts below this are merged before a chi-square test."""


@dataclass(frozen=True)
class Finding:
    """One thing noticed. ``voids``: with it nothing is certified, whatever the numbers say."""

    name: str
    message: str
    rows: int = 0
    examples: tuple[str, ...] = ()
    voids: bool = True


@dataclass
class Tally:
    """Rows of one kind, and a few of them, gathered part by part."""

    rows: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, rows: int, examples: Iterable[str]) -> None:
        self.rows += rows
        for example in examples:
            if len(self.examples) < EXAMPLES and example not in self.examples:
                self.examples.append(example)


def mismatch(observed: IntArray, expected: FloatArray) -> float:
    """The p-value of a chi-square test of counts (groups, categories) against probabilities of the same shape.

    Within a group, categories with few expected are merged; one with probability 0 and rows is impossible: p = 0.
    """
    statistic, freedom = 0.0, 0
    for counts, shares in zip(observed, expected, strict=True):
        total = counts.sum()
        if np.any(counts[shares == 0] > 0):
            return 0.0
        order = np.argsort(shares, kind="stable")
        merged = _merged(counts[order], shares[order] * total)
        if len(merged) > 1:
            seen, hoped = np.array(merged).T
            statistic += float(((seen - hoped) ** 2 / hoped).sum())
            freedom += len(merged) - 1
    return float(chi2.sf(statistic, freedom)) if freedom else 1.0


def contingency(seen: IntArray) -> float:
    """The p-value of independence of rows and columns of a table; columns with few expected are merged, rarest first."""
    if len(seen) < 2:
        return 1.0
    columns = seen[:, np.argsort(seen.sum(axis=0), kind="stable")]
    share = seen.sum(axis=1).min() / max(int(seen.sum()), 1)
    kept: list[IntArray] = []
    waiting = np.zeros(len(seen), dtype=np.int64)
    for column in columns.T:
        waiting = waiting + column
        if waiting.sum() * share >= FEW_EXPECTED:
            kept.append(waiting)
            waiting = np.zeros(len(seen), dtype=np.int64)
    if kept:
        kept[-1] = kept[-1] + waiting
    if len(kept) < 2:
        return 1.0
    table = np.stack(kept, axis=1)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    return float(chi2.sf(((table - expected) ** 2 / expected).sum(), (table.shape[0] - 1) * (table.shape[1] - 1)))


def _merged(counts: IntArray, expected: FloatArray) -> list[tuple[float, float]]:
    """Neighbours joined, smallest first, until each has enough expected; what is left over joins the last."""
    out: list[tuple[float, float]] = []
    seen = hoped = 0.0
    for n, e in zip(counts.tolist(), expected.tolist(), strict=True):
        seen, hoped = seen + n, hoped + e
        if hoped >= FEW_EXPECTED:
            out.append((seen, hoped))
            seen = hoped = 0.0
    if hoped and out:
        out[-1] = (out[-1][0] + seen, out[-1][1] + hoped)
    return out
