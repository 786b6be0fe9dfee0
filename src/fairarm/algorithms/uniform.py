"""The naive baseline: every arm the same number of natural pulls, as the cost allows, and plain group means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.algorithms.info import Info
from fairarm.algorithms.procedure import BaseProcedure
from fairarm.algorithms.state import NoMemory, State
from fairarm.beliefs.draws import Draws
from fairarm.beliefs.evidence import Evidence
from fairarm.core.answer import Code
from fairarm.core.design.rounding import round_pulls
from fairarm.core.fairness import best_fair
from fairarm.core.paper.allocation import require_affordable
from fairarm.core.types import FloatArray
from fairarm.problem.pair import require_plain


@dataclass(frozen=True)
class Uniform(BaseProcedure):
    """One phase: the largest equal share that the budget allows, the rest of the pulls to the cheapest arm.

    An arm's outcome is the mean of its own rows, and what fairness asks is made of its group means; it is fair if that is
    within the tolerance. Needs no mechanisms, shares or context law, and no row serves any other arm.
    """

    def __post_init__(self) -> None:
        require_plain(self.problem)
        require_affordable(self.problem.compiled.cost_array[0], self.problem.average_cost_budget(self.pulls))

    def shares(self) -> FloatArray:
        """x for every arm with K x ≤ 1 and x Σ c_k + (1 − K x) c_min ≤ B, the rest to the cheapest; (R, K), natural only."""
        costs = self.problem.compiled.cost_array[0]
        K, cheapest, budget = len(costs), float(costs.min()), self.problem.average_cost_budget(self.pulls)
        extra = float(costs.sum()) - K * cheapest
        x = 1.0 / K
        if budget is not None and extra > 0:
            x = min(x, (budget - cheapest) / extra)
        shares = np.zeros_like(self.problem.compiled.cost_array)
        shares[0] = x
        shares[0, int(np.argmin(costs))] += 1.0 - K * x
        return shares

    def start(self, n: int) -> State[NoMemory]:
        """All pulls in one phase."""
        state = self.fresh(n, NoMemory())
        costs = self.problem.compiled.cost_array.copy()
        costs[1:] = np.inf
        budget = self.problem.average_cost_budget(self.pulls)
        plan = round_pulls(self.shares() * self.pulls, state.given[0], costs, budget, float(self.pulls))
        everyone = np.broadcast_to(plan, state.plan.shape).copy()
        return state.but(phase=1, given=everyone, plan=everyone)

    def step(
        self, state: State[NoMemory], in_phase: Evidence, in_stage: Evidence, seed: int
    ) -> tuple[State[NoMemory], Info]:
        """Compare the arms' plain means, and answer."""
        rows, sums = in_stage.group_sums((0,))
        with np.errstate(invalid="ignore", divide="ignore"):
            means = sums / rows
            outcomes = sums.sum(axis=2) / rows.sum(axis=2)
        rows_of = self.problem.compiled.rows
        seen = Draws(outcomes, means)
        values = seen.rows(rows_of)
        fair = rows_of.fair(values)
        answer = best_fair(outcomes, fair)
        state = state.but(
            closed=state.closed + 1,
            running=np.zeros_like(state.running),
            answer=np.where(np.isnan(values.sum(axis=2)).all(axis=1), Code.UNDECIDED, answer),
            plan=np.zeros_like(state.plan),
        )
        return state, Info.estimated(self.problem, seen, fair)
