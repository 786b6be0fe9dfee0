"""Rows that were made before a run: they count as evidence, and cost nothing.

Which lines a batch of them has, in which order, makes no difference: rows with finite columns are counted, others are
sorted and equal ones merged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from fairarm.beliefs.evidence import Evidence, RunEvidence, empty_evidence
from fairarm.beliefs.lines import distinct
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch, check_batch

FIRST_PART, GROWTH = 32.0, 1.2
"""Rows of a log that are bet on first, and the factor by which the rows bet on so far grow with each further part."""


def earlier_evidence(problem: Problem, rows: Batch | None) -> RunEvidence | None:
    """Rows of a log as evidence, checked; None where there is no row."""
    if rows is None:
        return None
    check_batch(problem, rows)
    if rows.total == 0:
        return None
    return empty_evidence(problem).add(rows if problem.compiled.finite else _merged(problem, rows))


def _merged(problem: Problem, rows: Batch) -> Batch:
    """Lines in an order that depends on their content only, each once."""
    used = np.flatnonzero(rows.count)
    columns = {name: np.asarray(rows.columns[name])[used] for name in problem.observed}
    first, at = distinct([rows.arm[used], rows.regime[used], *columns.values()])
    count = np.zeros(len(first), dtype=np.int64)
    np.add.at(count, at, rows.count[used])
    kept = {name: values[first] for name, values in columns.items()}
    return Batch(rows.arm[used][first], rows.regime[used][first], kept, count)


def rows_of(earlier: Evidence | None) -> int:
    """How many they are."""
    return 0 if earlier is None else int(earlier.pulls()[0].sum())


def with_earlier(earlier: RunEvidence | None, rows: RunEvidence) -> RunEvidence:
    """Those from before the run and those of a stage that began later."""
    return rows if earlier is None else earlier.plus(rows)


def growing_parts(earlier: RunEvidence) -> Iterator[tuple[Evidence, Evidence]]:
    """A log's rows as batches to bet on one after the other: each part, and all rows up to its end.

    A bet rests on what was seen before its batch: on a log taken as one batch only blind bets could be made. Each row is
    put into a part at random, whatever its content, so that the bets are valid as long as what the log pulled, and how
    often, did not depend on the outcomes in it. The parts do not depend on the seed of a run: no other seed gives
    another proof.
    """
    shares = _part_shares(float(earlier.pulls().sum(axis=(1, 2)).max()))
    for part, seen in _divided(earlier.multiplicities, shares):
        yield earlier.recounted(part), earlier.recounted(seen)


def parts_with_missing(earlier: RunEvidence, missing: IntArray) -> Iterator[tuple[Evidence, IntArray]]:
    """The same where rows lack their outcome, (n, R, K, G, X): the rows of each part, and those of it that lack it.

    How many parts there are goes by all rows, so that which outcomes are missing does not change how the others are divided.
    """
    rows = earlier.pulls().sum(axis=(1, 2)) + missing.sum(axis=(1, 2, 3, 4))
    shares = _part_shares(float(rows.max()))
    both = zip(_divided(earlier.multiplicities, shares), _divided(missing, shares, seed=1), strict=True)
    for (part, _), (lacking, _) in both:
        yield earlier.recounted(part), lacking


def _part_shares(rows: float) -> FloatArray:
    """The chance of a row to be in each part."""
    parts = 1 + math.ceil(max(0.0, math.log(rows / FIRST_PART) / math.log(GROWTH)))
    reached = np.append(FIRST_PART * GROWTH ** np.arange(parts - 1), rows)
    return np.asarray(np.diff(reached, prepend=0.0) / rows)


def _divided(counts: IntArray, shares: FloatArray, seed: int = 0) -> Iterator[tuple[IntArray, IntArray]]:
    """Counts of each part and of all up to its end: multinomial, drawn one part after the other."""
    rng = np.random.default_rng(seed)
    at = np.nonzero(counts)
    left, seen = counts[at], np.zeros_like(counts)
    for share, rest in zip(shares, np.cumsum(shares[::-1])[::-1], strict=True):
        drawn = rng.binomial(left, min(1.0, share / rest))
        left = left - drawn
        part = np.zeros_like(counts)
        part[at] = drawn
        seen = seen + part
        yield part, seen
