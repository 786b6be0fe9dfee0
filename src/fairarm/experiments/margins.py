"""What counts as a right answer in a drawn truth, and how close is close enough: the margins of `plan`.

A margin must be small against the differences between the arms, whatever the outcome's range is: one that is larger makes
every answer right, and a plan by it says that nothing needs to be learned. So the margins that are not given follow the
drawn truths, and how often a margin makes every arm right is part of the result.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairarm.core.answer import Code
from fairarm.core.fairness import Rows, as_rows
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.problem.problem import Problem
from fairarm.worlds.cells import CellWorlds
from fairarm.worlds.labels import LabelWorlds

RANGE_SHARE = 0.02
"""The outcome's margin is at most this share of its range,"""

GAIN_SHARE = 0.2
"""and of the gain, which is what the best arm has over the average one: a right answer keeps four fifths of it."""

TOLERANCE_SHARE = 0.1
SPREAD_SHARE = 0.1
"""The gap's margin is at most these shares of the tolerance and of the distance between the largest and the smallest gap.

With several rows: of the narrowest that has two ends, RANGE_SHARE of the range where none has, and of the distance between the arms
farthest inside their nearest end and farthest outside."""

SAME = 1e-9
"""Outcomes and gaps (of a range of 1) that are this close are equal but for rounding."""

TOO_OFTEN = 0.2
"""Margins that make every arm right in this share of the truths or more tell too little about which arm to take."""


@dataclass(frozen=True)
class Margins:
    """On the outcome's scale of [0, 1]."""

    outcome: float
    gap: float


NO_MARGINS = Margins(0.0, 0.0)


@dataclass(frozen=True, eq=False)
class DrawnArms:
    """Every arm in each drawn truth: outcomes (N, K), and values of the rows that are asked (N, K, J), scaled.

    Gaps (N, K) with a tolerance are one row.
    """

    outcomes: FloatArray
    values: FloatArray
    tolerance: Rows | float

    @cached_property
    def _asked(self) -> tuple[FloatArray, Rows]:
        return as_rows(self.values, self.tolerance)

    @classmethod
    def of(cls, worlds: Iterable[CellWorlds | LabelWorlds], problem: Problem) -> DrawnArms:
        """Of all worlds together, as they were drawn."""
        rows, drawn = problem.compiled.rows, [each.outcomes() for each in worlds]
        return cls(np.concatenate([d.outcomes for d in drawn]), np.concatenate([d.rows(rows) for d in drawn]), rows)

    @property
    def gain(self) -> float:
        """By how much the best arm's outcome is above the average arm's, in the median truth."""
        return float(np.median(self.outcomes.max(axis=1) - self.outcomes.mean(axis=1)))

    @property
    def gap_spread(self) -> float:
        """The distance between the arms' largest and smallest gap, in the median truth; with several rows that between the arms
        farthest inside their nearest end and farthest outside."""
        return float(np.median(np.ptp(self._distances, axis=1)))

    @property
    def _distances(self) -> FloatArray:
        """By what arms differ in fairness, (N, K): the value of the one row, or how far inside the nearest end of all rows."""
        values, rows = self._asked
        return values[..., 0] if len(rows) == 1 else -rows.beyond(values).max(axis=-1)

    def margins(self) -> Margins:
        """Small against the range and the tolerance, and against the differences between the arms where they differ."""
        outcome = min(RANGE_SHARE, GAIN_SHARE * self.gain)
        gap = self._widest
        return Margins(outcome, min(gap, SPREAD_SHARE * self.gap_spread) if self.gap_spread > SAME else gap)

    @property
    def _widest(self) -> float:
        """By the tolerance, which is half the distance between two ends; by the range where every row has one end only."""
        half = 0.5 * (self._asked[1].high - self._asked[1].low)
        both = half[np.isfinite(half)]
        return TOLERANCE_SHARE * float(both.min()) if len(both) else RANGE_SHARE

    def right(self, margins: Margins) -> tuple[BoolArray, BoolArray]:
        """Which arms would be a right answer, (N, K), and whether "none is fair" would be, (N,).

        An arm: all its rows are inside their ends, or outside by less than the margin, and no arm whose rows are all inside by more
        than the margin is better by more than the margin. "None": there is no such arm.
        """
        clearly_fair = self._fair(-margins.gap)
        best = np.where(clearly_fair, self.outcomes, -np.inf).max(axis=1, keepdims=True)
        named = self._fair(margins.gap) & (self.outcomes >= best - margins.outcome - SAME)
        return np.asarray(named), np.asarray(~clearly_fair.any(axis=1))

    def _fair(self, beyond: float) -> BoolArray:
        """Which arms have all rows inside ends that are moved out so far, (N, K)."""
        values, rows = self._asked
        return replace(rows, low=rows.low - beyond, high=rows.high + beyond).fair(values)

    def every_arm_right(self, margins: Margins) -> float:
        """The share of the truths in which every arm is a right answer by the margins alone, not without them."""
        with_margins, without = (self.right(m)[0].all(axis=1) for m in (margins, NO_MARGINS))
        return float(np.mean(with_margins & ~without))


def good_enough(worlds: CellWorlds | LabelWorlds, answer: IntArray, margins: Margins) -> BoolArray:
    """Which answers are right within the margins, (N,)."""
    named, none = DrawnArms.of([worlds], worlds.problem).right(margins)
    chosen = np.take_along_axis(named, np.maximum(answer, 0)[:, None], axis=1)[:, 0]
    return np.asarray(np.where(answer >= 0, chosen, (answer == Code.NONE) & none))
