"""Which pulls would tell most about the answer, after a log."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.beliefs.beliefs import Beliefs, DesignBasis
from fairarm.beliefs.planning import planned_pulls
from fairarm.core.fairness import best_fair_arm
from fairarm.core.types import FloatArray
from fairarm.problem.problem import Problem

NEXT_PULLS = 1000


@dataclass(frozen=True)
class NextPulls:
    """A line of the plan for the next pulls."""

    arm: str
    regime: str
    share: float


def next_pulls(problem: Problem, beliefs: Beliefs, outcomes: FloatArray, values: FloatArray) -> tuple[NextPulls, ...]:
    """By drawn truths, outcomes (1, D, K) and values of rows (1, D, K, J), largest share first."""
    basis = beliefs.design()
    shares = _doubt(problem, outcomes, values) if basis is None else _planned(problem, basis, outcomes, values)
    lines = [
        NextPulls(problem.arm_names[k], problem.regimes[r], float(shares[r, k])) for r, k in np.argwhere(shares > 0.005)
    ]
    return tuple(sorted(lines, key=lambda line: -line.share))


def _planned(problem: Problem, basis: DesignBasis, outcomes: FloatArray, values: FloatArray) -> FloatArray:
    """The shares of the next pulls by what would overturn the answer, (R, K)."""
    budget = problem.average_cost_budget(NEXT_PULLS)
    average = np.array([np.inf if budget is None else budget])
    ahead = np.array([float(NEXT_PULLS)])
    return np.asarray(planned_pulls(problem, basis, outcomes, values, ahead, average)[0] / NEXT_PULLS)


def _doubt(problem: Problem, outcomes: FloatArray, values: FloatArray) -> FloatArray:
    """Natural pulls of the arms that are, or might be, the answer: how often each is the answer of a draw, with the
    likeliest answer's share cut to one half."""
    best = best_fair_arm(outcomes[0], values[0], problem.compiled.rows)
    share = (best[:, None] == np.arange(len(problem.arms))).mean(axis=0)
    top = int(np.argmax(share))
    rest = share.sum() - share[top]
    if rest > 0:
        share[np.arange(len(share)) != top] *= 0.5 / rest
        share[top] = 0.5
    out = np.zeros((len(problem.regimes), len(share)))
    out[0] = share / max(share.sum(), 1e-300)
    return out
