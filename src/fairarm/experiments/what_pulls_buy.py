"""What the next pulls buy after a log: how much likelier the answer is right, and how much better what is then used."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.problem.problem import Problem
from fairarm.worlds.cells import CellWorlds
from fairarm.worlds.labels import LabelWorlds

NEXT = 100
"""Pulls that are asked about."""
NORMAL = 1.959963984540054


@dataclass(frozen=True)
class Gain:
    """A mean over drawn truths before the pulls and after them, and 95 % limits of the difference, truth by truth."""

    before: float
    after: float
    low: float
    high: float

    @classmethod
    def of(cls, before: FloatArray, after: FloatArray) -> Gain:
        """From a number of each truth, (N,) each."""
        away = after - before
        error = float(away.std(ddof=1)) / math.sqrt(len(away)) if len(away) > 1 else math.inf
        mean = float(away.mean())
        return cls(float(before.mean()), float(after.mean()), mean - NORMAL * error, mean + NORMAL * error)


@dataclass(frozen=True)
class PullsBuy:
    """What so many further pulls buy at one average cost a pull (None: no limit)."""

    average_cost: float | None
    pulls: int
    cost: float
    """Of these pulls, on average."""
    right: Gain
    """The probability that the answer is right, within the plan's margins."""
    outcome: Gain | None
    """The mean outcome of the arm that is named; where none is, of the deployed arm, which then stays. None where no arm is declared as
    deployed and no truth has an arm named both times."""


@dataclass(frozen=True, eq=False)
class Answered:
    """What simulated experiments answered in each drawn truth, (N,) each: whether it is right, the outcome of what is then used (nan where
    that is not known), and the cost."""

    right: BoolArray
    outcome: FloatArray
    cost: FloatArray


def outcome_used(problem: Problem, worlds: CellWorlds | LabelWorlds, answer: IntArray) -> FloatArray:
    """The true outcome, in its own units, of the arm that is named, or of the deployed one where none is: (N,)."""
    arms = problem.outcome.unscale(worlds.outcomes().outcomes)
    stays = np.full(len(answer), np.nan) if problem.deployed is None else arms[:, problem.arm_index(problem.deployed)]
    named = np.take_along_axis(arms, np.maximum(answer, 0)[:, None], axis=1)[:, 0]
    return np.asarray(np.where(answer >= 0, named, stays))


def bought(average_cost: float | None, pulls: int, before: Answered, after: Answered) -> PullsBuy:
    """The same truths without the pulls and with them."""
    known = np.isfinite(before.outcome) & np.isfinite(after.outcome)
    outcome = Gain.of(before.outcome[known], after.outcome[known]) if known.any() else None
    right = Gain.of(before.right.astype(np.float64), after.right.astype(np.float64))
    return PullsBuy(average_cost, pulls, float(after.cost.mean()), right, outcome)
