"""Each arm's gap as served, watched while a live study runs: whatever the model of the cells says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairarm.algorithms.cohort import Cohort, Loss, Missing
from fairarm.beliefs.evidence import Evidence
from fairarm.beliefs.findings import Finding, Level
from fairarm.core.proof.guard import Guarded
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.problem.problem import Problem

GUARD_STREAM = 3
"""Of the generators that pair rows, among those of a seed."""


@dataclass(frozen=True)
class Watched:
    """Of n studies: the wealth of the bets (n, K, J₁, L), arms that have given alarm (n, K), and studies in which such an arm was
    certified to be fair (n,): something that was declared is wrong, and nothing is certified."""

    wealth: FloatArray
    alarmed: BoolArray
    void: BoolArray


@dataclass(frozen=True)
class Watch:
    """The guard of one problem. People who were not served, or were erased, are not among those whom an arm served."""

    problem: Problem
    loss: Loss

    @cached_property
    def guarded(self) -> Guarded:
        """The ends whose gap as served means what is asked: none where a fair arm may have such a gap, as with causes or kept nodes."""
        if not self.problem.plain:
            return Guarded(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))
        return Guarded.of(self.problem.compiled.rows)

    def start(self, n: int) -> Watched:
        """Before the first row."""
        arms = len(self.problem.arms)
        none = np.zeros((n, arms), dtype=np.bool_)
        return Watched(self.guarded.start(n, arms), none, none[:, 0])

    def after(self, before: Watched, cohort: Cohort, seed: int, number: int, fair: BoolArray) -> Watched:
        """With a settled cohort; ``fair`` (n, K): arms that are certified to be fair by now. One that was cut is not looked at."""
        served = by_state(cohort.rows)
        if self.loss.state is not None and cohort.by_group is not None:
            served[..., self.loss.state] += cohort.by_group[:, Missing.STATED]
        if cohort.cut is not None:
            served = np.where(cohort.cut[:, None, None, None], 0, served)
        rng = np.random.default_rng([seed, GUARD_STREAM, number])
        wealth = self.guarded.after(before.wealth, served, self.problem.outcome.scaled_values, rng)
        alarmed = before.alarmed | self.guarded.alarm(wealth)
        return Watched(wealth, alarmed, before.void | (alarmed & fair).any(axis=1))

    def findings(self, watched: Watched, study: int) -> tuple[Finding, ...]:
        """What is to be said of one study."""
        names = tuple(self.problem.arm_names[k] for k in np.flatnonzero(watched.alarmed[study]))
        if not names:
            return ()
        level, more = (Level.BLOCKS_CERTIFICATION, CERTIFIED_FAIR) if watched.void[study] else (Level.WARNING, "")
        return (Finding("unfair-as-served", AS_SERVED + more, 0, names, level),)


def by_state(rows: Evidence) -> IntArray:
    """Natural rows by arm, group and state of the outcome, (n, K, G, O)."""
    counts: IntArray = rows.counts[:, 0]  # type: ignore[attr-defined]
    states = len(rows.problem.outcome.scaled_values)
    return np.asarray(counts.reshape(*counts.shape[:3], -1, states).sum(axis=3))


AS_SERVED = (
    "The people whom these arms served show a gap beyond the tolerance, whatever the model of the cells says. Pause them, and check that "
    "the sensitive attribute does not follow the hour of the day."
)
CERTIFIED_FAIR = " One of them was certified to be fair: something that was declared is wrong, and nothing is certified in this study."
