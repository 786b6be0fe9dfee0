"""Studies as one might run them carelessly. Each breaks one rule of docs/certified.md, part 5, and certifies what is not so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fairarm.algorithms.cohort import Cohort
from fairarm.algorithms.pool import Pool
from fairarm.algorithms.timing import Timing
from fairarm.core.types import FloatArray
from fairarm.experiments.live.studies import LiveStudies, Made
from fairarm.experiments.live.world import LiveWorld


class AsArrived(LiveStudies):
    """A batch is what arrived since the last one, whoever was asked when."""

    by_day = True

    def settle_ready(self, now: float) -> None:
        """Every day, what was told on it, of all cohorts that are out."""
        today = round(now / self.timing.cohort) - 1
        if today < 0:
            return
        seen = sum(
            made.told[..., today - made.number]
            for made in self.waiting
            if today - made.number < made.told.shape[-1] - 1
        )
        self.settle(Cohort(self._evidence(np.asarray(seen))), now)
        self.waiting = [made for made in self.waiting if today - made.number < made.told.shape[-1] - 2]


class LostIgnored(LiveStudies):
    """Rows that never came count for nothing."""

    def cohort_of(self, made: Made) -> Cohort:
        """Those that came."""
        return replace(super().cohort_of(made), missing=None, by_group=None)


class DealtByNoon(LiveStudies):
    """Everybody enters until the cards run out."""

    def entry(self, people: FloatArray) -> FloatArray:
        """All of them."""
        return np.ones_like(people)


class DailyCohorts(LiveStudies):
    """Cohorts of a day, where outcomes follow the weekday: the first five say nothing of the weekend."""

    def __init__(self, pool: Pool, world: LiveWorld, timing: Timing, *args: Any, **how: Any) -> None:
        super().__init__(
            pool, world, replace(timing, cohort=1.0, people=round(timing.people / timing.cohort)), *args, **how
        )


class CutLeftOut(LiveStudies):
    """A cohort that was stopped is forgotten."""

    def cohort_of(self, made: Made) -> Cohort:
        """Without rows, where it was cut."""
        told = np.where(made.cut[:, None, None, None, None], 0, made.told)
        dealt = np.where(made.cut[:, None, None], 0, made.dealt)
        return super().cohort_of(replace(made, told=told, dealt=dealt, cut=np.zeros_like(made.cut)))
