"""Whom a live study has served with what: people by arm and group, those who met an arm that is probably unfair, outcome given up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.core.types import FloatArray, IntArray

DOUBTED = 0.5
"""An arm whose probability of being fair lies below this is one that people are exposed to."""


@dataclass(frozen=True, eq=False)
class Exposure:
    """Of one study. ``people`` (K, G): everybody dealt so far."""

    people: IntArray
    doubted_now: int
    """Served by arms that are probably unfair, as is known now."""
    doubted_then: int
    """The same as was known when their cohort opened."""
    given_up: float
    """Outcome given up against the answer, or the deployed arm where there is none, summed over people; on the scale of the means."""

    @property
    def total(self) -> int:
        """Everybody."""
        return int(self.people.sum())


def exposure(cohorts: IntArray, then: FloatArray, now: FloatArray, means: FloatArray, reference: int) -> Exposure:
    """From people by cohort, arm and group (Q, K, G); P(fair) of each arm when the cohort opened (Q, K) and now (K,), nan where nothing
    was known; each arm's mean outcome by group (K, G); and the arm that people would have had instead."""
    people = cohorts.sum(axis=0)
    by_arm = cohorts.sum(axis=2)
    lower = (means[reference] - means) * people
    return Exposure(
        people=people,
        doubted_now=int(by_arm[:, np.flatnonzero(now < DOUBTED)].sum()),
        doubted_then=int(by_arm[then < DOUBTED].sum()),
        given_up=float(np.where(people > 0, lower, 0.0).sum()),
    )
