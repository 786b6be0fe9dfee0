"""What a world is: something that can be pulled, and that may know the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fairarm.core.answer import Code
from fairarm.core.fairness import best_fair, gap_of, is_fair
from fairarm.core.types import BoolArray, FloatArray
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch, Request


@dataclass(frozen=True)
class Truth:
    """Exact means of every arm, in the outcome's own units: ``outcomes`` (K,), ``gaps`` μ(s) − μ(s') (K,)."""

    outcomes: FloatArray
    group_outcomes: FloatArray
    """(K, G)."""
    tolerance: float

    @property
    def gaps(self) -> FloatArray:
        """ζ_k, (K,)."""
        return gap_of(self.group_outcomes)

    @property
    def fair(self) -> BoolArray:
        """Which arms are fair, (K,): a gap strictly below the tolerance."""
        return is_fair(self.gaps, self.tolerance)

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
        """What only the world may know: every arm's exact outcome and gap."""
        ...
