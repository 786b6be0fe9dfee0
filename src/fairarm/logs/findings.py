"""What findings of a log are made of: rows counted with examples, and tests of counts against what was declared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from scipy.special import betainc, chdtrc

from fairarm.beliefs.findings import Level
from fairarm.core.types import FloatArray, IntArray

EXAMPLES = 5
MISMATCH = 1e-4
"""A test of the rows against what was declared is a finding below this p-value: one sound log in 10 000."""

MATTERS = 0.02
"""A mismatch blocks the answer if this share of the rows would have to be in other categories; in a large log a smaller one is found too."""

FEW_EXPECTED = 5.0
"""Expected counts below this are merged before a chi-square test."""


CERTIFICATION = Level.BLOCKS_CERTIFICATION
LEFT_OUT = {
    "missing-outcomes": (CERTIFICATION, "have no outcome. They were left out, not taken as 0; if outcomes are missing for a reason, what is left misleads"),
    "outcomes-out-of-range": (CERTIFICATION, "have an outcome outside the declared range"),
    "outcomes-not-numbers": (CERTIFICATION, "have an outcome that is not a number"),
    "values-not-numbers": (CERTIFICATION, "hold something that is not a number where one is needed"),
    "undeclared-states": (CERTIFICATION, "hold a value that is not a declared state. Declare it, or map it in [log.labels]"),
    "missing-values": (CERTIFICATION, "lack a value that the problem needs"),
    "values-out-of-range": (CERTIFICATION, "hold a number outside the declared range"),
    "unknown-arms": (CERTIFICATION, "name an arm that the problem does not have"),
    "unknown-regimes": (CERTIFICATION, "name a regime that is neither natural nor a group"),
    "regimes-not-offered": (CERTIFICATION, "were forced to a group in a regime that the problem does not offer. Offer it (regimes), or take such rows out"),
    "forced-rows-of-another-group": (CERTIFICATION, "were forced to one group and hold another"),
    "impossible-propensities": (CERTIFICATION, "have a propensity that is missing, not above 0, or above 1 (a percentage is to be divided by 100)"),
    "incredible-propensities": (CERTIFICATION, "have a propensity so small that such a decision would hardly be seen once in a thousand logs of this size"),
    "propensities-do-not-sum": (CERTIFICATION, "have propensities that do not sum to 1 over the decisions"),
    "impossible-rows": (CERTIFICATION, "hold a decision or child that the declared mechanisms give probability 0: the rows are from another arm, or a mechanism is not the one that ran"),
    "missing-times": (CERTIFICATION, "have no time, or one that cannot be read: whether their outcome was due is not known"),
    "outcomes-not-due": (Level.INFO, "are younger than the time within which outcomes arrive; they wait, with and without outcome alike"),
}  # fmt: skip
"""Why rows are left out: the level of the finding, and the sentence after the number of rows."""


FEW_ROWS, SMALL_SHARE = 30, 0.05


def is_small(rows: int, all_rows: int) -> bool:
    """Whether a group has so few rows, beside the others, that little can be said of it."""
    return rows < FEW_ROWS and rows < SMALL_SHARE * all_rows


@dataclass
class Tally:
    """Rows of one kind, and a few of them, gathered part by part."""

    rows: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, rows: int, examples: Iterable[str]) -> None:
        """Count rows, and keep the first few different examples."""
        self.rows += rows
        for example in examples:
            if len(self.examples) < EXAMPLES and example not in self.examples:
                self.examples.append(example)


def mismatch(observed: IntArray, expected: FloatArray) -> float:
    """The p-value of counts (groups, categories) against probabilities of the same shape: chi-square, and exact tests.

    Within a group, categories with few expected are merged for the chi-square test; whether they were seen too often is
    tested exactly beside it. One with probability 0 and rows is impossible: p = 0.
    """
    statistic, freedom = 0.0, 0
    rare: list[tuple[int, int, float]] = []
    together: list[tuple[int, int, float]] = []
    for counts, shares in zip(observed, expected, strict=True):
        total = counts.sum()
        if np.any(counts[shares == 0] > 0):
            return 0.0
        order = np.argsort(shares, kind="stable")
        merged = _merged(counts[order], shares[order] * total)
        rare += (found := _rare(counts, shares, int(total)))
        together += found[-1:]
        if len(merged) > 1:
            seen, hoped = np.array(merged).T
            statistic += float(((seen - hoped) ** 2 / hoped).sum())
            freedom += len(merged) - 1
    if len(together) > 1:
        of = sum(n for _, n, _ in together)
        rare.append((sum(seen for seen, _, _ in together), of, sum(n * p for _, n, p in together) / max(of, 1)))
    tests = ([float(chdtrc(freedom, statistic))] if freedom else []) + ([_too_often(rare)] if rare else [])
    return min(1.0, len(tests) * min(tests)) if tests else 1.0


def mismatch_level(observed: IntArray, expected: FloatArray) -> Level:
    """Of a `mismatch` that was found: whether it is large enough to change the answer."""
    differ = np.abs(observed - expected * observed.sum(axis=1, keepdims=True)).sum() / 2
    return Level.BLOCKS_ANSWER if differ > MATTERS * observed.sum() else Level.BLOCKS_CERTIFICATION


def _rare(counts: IntArray, shares: FloatArray, total: int) -> list[tuple[int, int, float]]:
    """What is tested exactly, as (seen, of, probability): each category with few expected, and all of them together."""
    few = (shares > 0) & (shares * total < FEW_EXPECTED) & (shares < 0.5)
    each = [(n, total, p) for n, p in zip(counts[few].tolist(), shares[few].tolist(), strict=True)]
    return [*each, (int(counts[few].sum()), total, float(shares[few].sum()))] if len(each) > 1 else each


def _too_often(rare: list[tuple[int, int, float]]) -> float:
    """The smallest p-value that one was seen so often, times the number of tests. A sum over groups of different
    probabilities is as often far above its mean as that of the mean probability, or less (Hoeffding 1956)."""
    seen, of, p = (np.array(part, dtype=np.float64) for part in zip(*rare, strict=True))
    return float(min(1.0, len(rare) * at_least(seen, of, np.minimum(p, 1.0)).min()))


def at_least(seen: FloatArray, of: FloatArray, p: FloatArray) -> FloatArray:
    """P(X ≥ seen) for X ~ Binomial(of, p): the regularised incomplete beta function I_p(seen, of − seen + 1)."""
    return np.where(seen > 0, betainc(np.maximum(seen, 1.0), of - seen + 1.0, p), 1.0)


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
    return float(chdtrc((table.shape[0] - 1) * (table.shape[1] - 1), ((table - expected) ** 2 / expected).sum()))


def independence(tables: IntArray) -> float:
    """The p-value of independence of rows and columns within each of the tables (…, rows, columns): chi-square, summed over the tables.

    Rare rows and columns of a table are merged until 5 rows are expected everywhere; a table that is too small for that says nothing.
    """
    statistic, freedom = 0.0, 0
    for table in tables:
        if (merged := _merged_table(table)) is not None:
            expected = np.outer(merged.sum(axis=1), merged.sum(axis=0)) / merged.sum()
            statistic += float(((merged - expected) ** 2 / expected).sum())
            freedom += (merged.shape[0] - 1) * (merged.shape[1] - 1)
    return float(chdtrc(freedom, statistic)) if freedom else 1.0


def _merged_table(table: IntArray) -> IntArray | None:
    """Rows and columns by their totals, the two rarest of one kind merged until enough is expected; None where no two of each are left."""
    kept = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    while min(kept.shape) > 1:
        sides = kept.sum(axis=1), kept.sum(axis=0)
        least = [side.min() for side in sides]
        if least[0] * least[1] >= FEW_EXPECTED * kept.sum():
            return np.asarray(kept)
        axis = int(least[1] < least[0])
        order = np.argsort(sides[axis], kind="stable")
        turned = kept.take(order, axis=axis)
        first, rest = np.split(turned, [2], axis=axis)
        kept = np.concatenate([first.sum(axis=axis, keepdims=True), rest], axis=axis)
    return None


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
