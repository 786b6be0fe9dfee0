"""The paper's two theorems for a problem whose truth is known, as far as they hold."""

from __future__ import annotations

import numpy as np

from fairarm.algorithms.csr import SuccessiveRejection
from fairarm.core.paper.bounds import error_bound, no_fair_arm_bound
from fairarm.worlds.base import Truth

ONE_GAP = 2
"""Estimators an arm in theorem 1: its proof is about both directions of one gap."""


def theorems(csr: SuccessiveRejection, truth: Truth) -> tuple[float | None, float | None]:
    """Theorem 1, the largest error, where a fair arm exists; theorem 2, the least probability of saying so, where none does.

    The other one is None, and so is theorem 1 where more than one gap is estimated.
    """
    problem, estimators = csr.problem, len(csr.problem.compared)
    rows = problem.compiled.rows
    gaps = rows.values(truth.group_outcomes, truth.outcomes) / problem.outcome.width  # scaling does not shift a gap
    best = truth.best_fair_arm
    if best is None:
        value = csr.value(np.ones(len(problem.arms), dtype=np.bool_))
        return None, no_fair_arm_bound(gaps, rows.high, csr.pulls, value, rows.low, estimators)
    if estimators != ONE_GAP:
        return None, None
    return error_bound(
        problem.outcome.scale(truth.outcomes), gaps, rows.high, best, csr.pulls, csr.value, rows.low
    ), None
