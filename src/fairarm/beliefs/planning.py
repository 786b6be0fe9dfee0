"""What to pull next by what is believed: the pulls that soonest tell apart what would overturn the answer."""

from __future__ import annotations

from fairarm.beliefs.beliefs import DesignBasis
from fairarm.core.design.events import alternatives, plan_pulls
from fairarm.core.types import FloatArray
from fairarm.problem.problem import Problem

DESIGN_DRAWS = 6
"""Drawn truths whose alternatives are planned for."""


def planned_pulls(
    problem: Problem,
    basis: DesignBasis,
    outcomes: FloatArray,
    values: FloatArray,
    ahead: FloatArray,
    average: FloatArray,
    costs: FloatArray | None = None,
) -> FloatArray:
    """The next ``ahead`` (N,) pulls, (N, R, K), within the ``average`` cost: those that soonest tell apart what would
    overturn the answer in the first few of the drawn truths, outcomes (N, D, K) and values of rows (N, D, K, J). ``costs`` (R, K)
    take the place of the problem's."""
    events = alternatives(outcomes[:, :DESIGN_DRAWS], values[:, :DESIGN_DRAWS], problem.compiled.rows)
    costs = problem.compiled.cost_array if costs is None else costs
    return plan_pulls(basis.counts, basis.noise, basis.laws, events, ahead, costs, average)
