"""Two groups of an arm beside each other, for every pair that is compared."""

from __future__ import annotations

from dataclasses import dataclass

from fairarm.core.types import FloatArray
from fairarm.problem.fairness import pair_names
from fairarm.problem.problem import Problem


@dataclass(frozen=True)
class PairGap:
    """Two groups t and u of an arm, keyed "t|u": what people of u would get as if they were of t, less what they get."""

    gap: float
    plain: float
    """What people of t get, less what people of u get: the same, as nothing causes the sensitive attribute."""


def pair_gaps(problem: Problem, gaps: FloatArray) -> dict[str, PairGap]:
    """From μ(t) − μ(u) of an arm in the outcome's units, (P,), in the order of ``problem.compared``."""
    return {name: PairGap(gap, gap) for name, gap in zip(pair_names(problem), (gaps + 0.0).tolist(), strict=True)}
