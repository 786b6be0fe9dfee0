"""Successive rejection by importance sampling (`sris`; Sen et al. 2017): the best arm of all, fairness is not tested."""

from __future__ import annotations

from fairarm.algorithms.csr import Readings, Stage, SuccessiveRejection
from fairarm.problem.problem import Problem


def sris(problem: Problem, pulls: int, pooled: bool, readings: Readings) -> SuccessiveRejection:
    """One stage that estimates outcomes alone, from natural pulls."""
    return SuccessiveRejection(problem, pulls, (Stage(pulls, outcome=True, gap=False),), pooled, readings)
