"""What a world is: something that can be pulled, and that may know the truth."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, cast

import numpy as np

from fairarm.core.answer import Code
from fairarm.core.fairness import Rows, best_fair, gap_of
from fairarm.core.types import BoolArray, FloatArray
from fairarm.errors import ProblemError
from fairarm.problem.fairness import unscaled_rows
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch, Request


@dataclass(frozen=True)
class Truth:
    """Exact means of every arm, in the outcome's own units, and what is asked of them.

    Of two groups whose gap is to be small, give the ``tolerance``; `Truth.of` takes what a problem asks, whatever that is.
    """

    outcomes: FloatArray
    """(K,)."""
    group_outcomes: FloatArray
    """(K, G)."""
    tolerance: float | None = None
    """Of the gap between two groups, where that is all that is asked about; else None."""
    asked: Rows | None = field(default=None, compare=False)
    """The rows of fairness, in the outcome's units; made of the tolerance where that is given."""

    def __post_init__(self) -> None:
        if self.tolerance is not None:  # the only row: what it says counts, also where it was replaced
            object.__setattr__(self, "asked", Rows.gap(self.tolerance))
        elif self.asked is None:
            raise ProblemError(
                "A truth needs a tolerance, or what is asked: use Truth.of(problem, outcomes, group_outcomes)."
            )

    @classmethod
    def of(cls, problem: Problem, outcomes: FloatArray, group_outcomes: FloatArray) -> Truth:
        """Of a problem's arms, with the rows that it asks about."""
        tolerance = problem.gap_tolerance if problem.has_one_gap else None
        return cls(outcomes, group_outcomes, tolerance, unscaled_rows(problem))

    @property
    def rows(self) -> FloatArray:
        """The value of every row of fairness, (K, J)."""
        return self._asked.values(self.group_outcomes, self.outcomes)

    @property
    def gaps(self) -> FloatArray:
        """ζ_k = μ(s) − μ(s') of two groups, (K,)."""
        return gap_of(self.group_outcomes)

    @property
    def fair(self) -> BoolArray:
        """Which arms are fair, (K,): all rows hold strictly, as a gap below the tolerance does."""
        return self._asked.fair(self.rows)

    @property
    def _asked(self) -> Rows:
        return cast(Rows, self.asked)

    @property
    def best_fair_arm(self) -> int | None:
        """The position of the fair arm with the highest outcome; None where no arm is fair."""
        return None if self.answer == Code.NONE else self.answer

    @property
    def answer(self) -> int:
        """The right answer: the position of the best fair arm, or NONE."""
        return int(best_fair(self.outcomes, self.fair))


class World(Protocol):
    """Something that can be pulled. ``truth`` is None where it is not known."""

    @property
    def problem(self) -> Problem:
        """The problem whose arms can be pulled here."""
        ...

    def pull(self, plan: Request, rng: np.random.Generator) -> Batch:
        """Make the pulls that are asked for, and hand back their rows."""
        ...

    def truth(self) -> Truth | None:
        """What only the world may know: every arm's exact outcome and means by group."""
        ...
