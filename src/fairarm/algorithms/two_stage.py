"""The two-stage baseline (`two-stage`): half the pulls to screen for fairness, then SRIS on the survivors."""

from __future__ import annotations

from fairarm.algorithms.csr import Readings, Stage, SuccessiveRejection
from fairarm.errors import BudgetError
from fairarm.problem.problem import Problem


def two_stage(problem: Problem, pulls: int, pooled: bool, readings: Readings) -> SuccessiveRejection:
    """T/2 pulls for each stage, the odd one for the second: gaps from forced pulls, then outcomes from natural ones."""
    if pulls < 2:
        raise BudgetError(f"The two-stage algorithms need at least 2 pulls, one for each stage; got {pulls}.")
    stages = (Stage(pulls // 2, outcome=False, gap=True), Stage(pulls - pulls // 2, outcome=True, gap=False))
    return SuccessiveRejection(problem, pulls, stages, pooled, readings)
