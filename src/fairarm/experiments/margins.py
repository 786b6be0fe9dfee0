"""What counts as a right answer in a drawn truth, and how close is close enough: the margins of `plan`.

A margin must be small against the differences between the arms, whatever the outcome's range is: one that is larger makes
every answer right, and a plan by it says that nothing needs to be learned. So the margins that are not given follow the
drawn truths, and how often a margin makes every arm right is part of the result.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fairarm.core.answer import Code
from fairarm.core.fairness import is_fair
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.problem.problem import Problem
from fairarm.worlds.cells import CellWorlds

RANGE_SHARE = 0.02
"""The outcome's margin is at most this share of its range,"""

GAIN_SHARE = 0.2
"""and of the gain, which is what the best arm has over the average one: a right answer keeps four fifths of it."""

TOLERANCE_SHARE = 0.1
SPREAD_SHARE = 0.1
"""The gap's margin is at most these shares of the tolerance and of the distance between the largest and the smallest gap."""

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
    """Every arm's outcome and gap in each drawn truth, (N, K) each, scaled."""

    outcomes: FloatArray
    gaps: FloatArray
    tolerance: float

    @classmethod
    def of(cls, worlds: Iterable[CellWorlds], problem: Problem) -> DrawnArms:
        """Of all worlds together, as they were drawn."""
        outcomes, gaps = zip(*(drawn.outcomes() for drawn in worlds), strict=True)
        return cls(np.concatenate(outcomes), np.concatenate(gaps), problem.compiled.scaled_tolerance)

    @property
    def gain(self) -> float:
        """By how much the best arm's outcome is above the average arm's, in the median truth."""
        return float(np.median(self.outcomes.max(axis=1) - self.outcomes.mean(axis=1)))

    @property
    def gap_spread(self) -> float:
        """The distance between the arms' largest and smallest gap, in the median truth."""
        return float(np.median(np.ptp(self.gaps, axis=1)))

    def margins(self) -> Margins:
        """Small against the range and the tolerance, and against the differences between the arms where they differ."""
        outcome = min(RANGE_SHARE, GAIN_SHARE * self.gain)
        gap = TOLERANCE_SHARE * self.tolerance
        return Margins(outcome, min(gap, SPREAD_SHARE * self.gap_spread) if self.gap_spread > SAME else gap)

    def right(self, margins: Margins) -> tuple[BoolArray, BoolArray]:
        """Which arms would be a right answer, (N, K), and whether "none is fair" would be, (N,).

        An arm: its gap is below E + margin, and no arm with a gap below E − margin is better by more than the margin.
        "None": no arm has a gap below E − margin.
        """
        clearly_fair = is_fair(self.gaps, self.tolerance - margins.gap)
        best = np.where(clearly_fair, self.outcomes, -np.inf).max(axis=1, keepdims=True)
        named = is_fair(self.gaps, self.tolerance + margins.gap) & (self.outcomes >= best - margins.outcome - SAME)
        return np.asarray(named), np.asarray(~clearly_fair.any(axis=1))

    def every_arm_right(self, margins: Margins) -> float:
        """The share of the truths in which every arm is a right answer by the margins alone, not without them."""
        with_margins, without = (self.right(m)[0].all(axis=1) for m in (margins, NO_MARGINS))
        return float(np.mean(with_margins & ~without))


def good_enough(worlds: CellWorlds, answer: IntArray, margins: Margins) -> BoolArray:
    """Which answers are right within the margins, (N,)."""
    named, none = DrawnArms.of([worlds], worlds.problem).right(margins)
    chosen = np.take_along_axis(named, np.maximum(answer, 0)[:, None], axis=1)[:, 0]
    return np.asarray(np.where(answer >= 0, chosen, (answer == Code.NONE) & none))
