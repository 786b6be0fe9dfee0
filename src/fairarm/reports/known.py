"""What is known of the rows of fairness of an arm, whatever result it is from, as people read it.

A row that asks for a ratio, a − ρ b > 0 of two means, is read as the quotient a / b = ρ + value / b, which must be above ρ. Its limits are
those of the value over the same mean, so that they reach ρ exactly where the value's reach 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fairarm.core.types import FloatArray
from fairarm.errors import ProblemError
from fairarm.problem.fairness import Row, named_group, reads_first

if TYPE_CHECKING:
    from fairarm.algorithms.verdict import ArmReport, RowReport
    from fairarm.experiments.evaluate import ArmEvaluation, Estimate
    from fairarm.problem.problem import Problem
    from fairarm.studies import ArmStanding
    from fairarm.worlds.base import Truth

Ends = tuple[float, float]
_SAME = 1e-12
"""Rows of the same two means whose weights differ by less are multiples of each other."""


@dataclass(frozen=True)
class KnownRow:
    """One row of an arm, in the outcome's own units; what is not known is None."""

    row: Row
    value: float | None
    interval: Ends | None = None
    certified: Ends | None = None
    holds: float | None = None
    """The probability that it holds."""
    base: float | None = None
    """Of a ratio: the mean that the first one is compared with."""

    @property
    def shown(self) -> float | None:
        """The value, or of a ratio the quotient."""
        return None if self.value is None else self._read(self.value)

    @property
    def shown_interval(self) -> Ends | None:
        """The usual interval of what is shown."""
        return self._read_ends(self.interval)

    @property
    def shown_certified(self) -> Ends | None:
        """The certified interval of what is shown."""
        return self._read_ends(self.certified)

    @property
    def inside(self) -> bool | None:
        """Whether its value lies between its ends."""
        return None if self.value is None else _beyond(self.row, self.value) < 0

    def _read(self, value: float) -> float | None:
        if self.row.ratio is None:
            return value
        return None if not self.base or math.isnan(self.base) else self.row.ratio + value / self.base

    def _read_ends(self, ends: Ends | None) -> Ends | None:
        low, high = (None, None) if ends is None else (self._read(end) for end in ends)
        return None if low is None or high is None else (low, high)


@dataclass(frozen=True)
class KnownArm:
    """An arm with its rows, in the order of the problem's."""

    name: str
    rows: Sequence[KnownRow]
    named: str | None = None
    """The row that the result says is closest to breaking."""

    @property
    def closest(self) -> KnownRow | None:
        """That row, or the one that is least likely to hold; None where nothing is known of any."""
        return self.closest_of(range(len(self.rows)))

    def closest_of(self, some: Sequence[int]) -> KnownRow | None:
        """The same among the rows at these positions; of several the one whose limits reach furthest toward an end or beyond it."""
        found = [row for j in some if (row := self.rows[j]).value is not None]
        found = [row for row in found if row.row.name == self.named] or found
        return min(found, key=lambda row: (1.0 if row.holds is None else row.holds, -_reach(row)), default=None)


def read_ends(row: Row) -> tuple[float | None, float | None]:
    """The ends of what is shown of a row: those of the quotient, where it is a ratio."""
    return (row.above, row.below) if row.ratio is None else (row.ratio, None)


# ---- by result ----


def true_arm(problem: Problem, truth: Truth, arm: int) -> KnownArm:
    """An arm as it is."""
    means, outcome, values = truth.group_outcomes[arm], float(truth.outcomes[arm]), truth.rows[arm]
    known = [
        KnownRow(row, float(x), holds=float(_beyond(row, x) < 0), base=_true_base(row, means, outcome))
        for row, x in zip(problem.rows, values, strict=True)
    ]
    return KnownArm(problem.arm_names[arm], known)


def reported_arm(problem: Problem, report: ArmReport) -> KnownArm:
    """An arm of a run."""
    known = [
        KnownRow(row, _reported(row, each, report.gaps), each.interval, holds=each.holds_probability)
        for row, each in zip(problem.rows, report.fairness, strict=True)
    ]
    gaps = report.gaps if problem.plain else {}  # else they are rows themselves, whatever other rows keep
    return KnownArm(report.name, _with_bases(problem, known, gaps, report.outcome), report.closest)


def studied_arm(problem: Problem, report: ArmReport, standing: ArmStanding) -> KnownArm:
    """An arm of a live study."""
    known = reported_arm(problem, report)
    rows = [replace(row, certified=own.certified) for row, own in zip(known.rows, standing.rows, strict=True)]
    return replace(known, rows=rows)


def logged_arm(problem: Problem, arm: ArmEvaluation) -> KnownArm:
    """An arm by a log."""
    known = [
        KnownRow(
            row=row,
            value=each.value,
            interval=(each.low, each.high),
            certified=_both(each.certified_low, each.certified_high),
            holds=each.holds_probability,
        )
        for row, each in zip(problem.rows, arm.fairness, strict=True)
    ]
    gaps = {pair: each.gap for pair, each in arm.pairs.items()}
    return KnownArm(arm.name, _with_bases(problem, known, gaps, arm.outcome.value), arm.closest)


def one_gap(arm: ArmEvaluation) -> Estimate:
    """The gap of an arm by a log, where that is all that is asked about."""
    if arm.gap is None:
        raise ProblemError(f"Arm '{arm.name}' has no single gap: more is asked about. Its rows are in 'fairness'.")
    return arm.gap


def _both(low: float | None, high: float | None) -> Ends | None:
    return None if low is None or high is None else (low, high)


def _reported(row: Row, own: RowReport, gaps: Mapping[str, float | None]) -> float | None:
    """The row's own value. Algorithms without beliefs reject an arm by either estimate of a gap, that from pulls of the one group or
    of the other: the one that is nearer to an end, or further beyond it."""
    if own.holds_probability is not None or row.ratio is not None or row.as_group is None or row.people is None:
        return own.value
    back = gaps.get(f"{row.people}|{row.as_group}")
    found = (own.value, gaps.get(f"{row.as_group}|{row.people}"), None if back is None else -back)
    return max((gap for gap in found if gap is not None), key=lambda gap: _beyond(row, gap), default=None)


# ---- ratios ----


def _true_base(row: Row, means: FloatArray, outcome: float) -> float | None:
    """The mean that the first one is compared with."""
    if row.ratio is None:
        return None
    return outcome if row.everyone < 0 else float(means[int(np.argmin(row.weights))])


def _with_bases(
    problem: Problem, known: Sequence[KnownRow], gaps: Mapping[str, float | None], outcome: float | None
) -> list[KnownRow]:
    """The same rows with the means that ratios are compared with, which follow from other rows, gaps "t|u" and the outcome."""
    return [
        each if each.row.ratio is None else replace(each, base=_base(problem, each, known, gaps, outcome))
        for each in known
    ]


def _base(
    problem: Problem,
    known: KnownRow,
    others: Sequence[KnownRow],
    gaps: Mapping[str, float | None],
    outcome: float | None,
) -> float | None:
    row, value, ratio = known.row, known.value, known.row.ratio
    if value is None or ratio is None:
        return None
    if row.everyone < 0:  # a − ρ μ
        return outcome
    if row.everyone > 0:  # μ − ρ b
        return None if outcome is None else (outcome - value) / ratio
    gap = _gap(problem, row, gaps)
    if gap is not None:
        return (value - gap) / (1.0 - ratio)  # a − ρ b less a − b
    return next((base for other in others if (base := _from_other(known, other)) is not None), None)


def _gap(problem: Problem, row: Row, gaps: Mapping[str, float | None]) -> float | None:
    """a − b of a row of two means, where gaps tell it: they are of the first question about two groups, with what that keeps."""
    first = next(
        r
        for r in problem.rows
        if {r.as_group, r.people} == {row.as_group, row.people} and r.attributes == row.attributes
    )
    t, u = (named_group(problem, row, group) for group in (row.as_group, row.people))
    if first.keep != row.keep:
        return None
    gap = gaps.get(f"{t}|{u}")
    return None if gap is None else reads_first(problem, row) * gap


def _from_other(known: KnownRow, other: KnownRow) -> float | None:
    """b of a − ρ b from another row of the same two means."""
    row, second = known.row, other.row
    used = [w for w, weight in enumerate(row.weights) if weight]
    if (
        known.value is None
        or other.value is None
        or second.everyone
        or {w for w, x in enumerate(second.weights) if x} != {*used}
    ):
        return None
    a, b = sorted(used, key=lambda w: -row.weights[w])
    turned = second.weights[b] - second.weights[a] * row.weights[b]  # of b, once a is taken from both
    return (other.value - second.weights[a] * known.value) / turned if abs(turned) > _SAME else None


# ---- ends ----


def _reach(known: KnownRow) -> float:
    """How far its limits, or its value where it has none, lie beyond an end; below 0 how far inside."""
    ends = known.interval or (known.value or 0.0,) * 2
    return max(_beyond(known.row, end) for end in ends)


def _beyond(row: Row, value: float) -> float:
    low, high = (-math.inf if row.above is None else row.above, math.inf if row.below is None else row.below)
    return max(low - value, value - high)


# ---- many rows ----


def by_question(rows: Sequence[Row]) -> list[list[int]]:
    """The positions of the rows of each question, in their order: those of one name that lie between the same ends."""
    found: dict[object, list[int]] = {}
    for j, row in enumerate(rows):
        found.setdefault((row.constraint, row.ratio, read_ends(row)), []).append(j)
    return list(found.values())


def row_heads(rows: Sequence[Row]) -> list[str]:
    """A name for each row that no other has: its own, with that of its question where two have the same."""
    names = [row.name for row in rows]
    return [row.name if names.count(row.name) == 1 else f"{row.name} ({row.constraint})" for row in rows]
