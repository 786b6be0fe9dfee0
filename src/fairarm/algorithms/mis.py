"""Multiple importance sampling (`mis`): the paper's pulls, read by the balance heuristic (Veach and Guibas 1995).

The phases and the allocation are those of CSR (`fairarm.algorithms.csr`). Every row of any arm, group and regime
counts for every arm k and group t, weighted against the mixture of all that was pulled and not against its own arm:

    w_{k,t}(row) = L[k, t](row) / Σ_{j,u} (n_{j,u}/N) L[j, u](row),       n_{j,u} rows of arm j with S = u, N in all
    μ̂_{k,t} = (1/N) Σ_rows w_{k,t} Y',      μ̂_k = Σ_t P(t) μ̂_{k,t},      rows of fairness from both

No weight is dropped or capped: w_{k,t} is at most N/n_{k,t}, and the estimates are unbiased wherever the mixture reaches.
Nothing is rejected before the end: CSR's rule on these estimates made no difference (600 runs at each of T = 100, 300,
1 000 and 3 000 in four settings, errors within 0.03 of each other). The answer is the highest μ̂ among the arms whose rows hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairarm.algorithms.csr import Rejections, Stage, SuccessiveRejection
from fairarm.algorithms.records import but
from fairarm.algorithms.state import State
from fairarm.beliefs.draws import Draws
from fairarm.beliefs.evidence import Evidence
from fairarm.core.answer import Code
from fairarm.core.fairness import best_fair, expected_shares
from fairarm.core.grouping import sum_by_group
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.problem.context import ContextSample
from fairarm.problem.problem import Problem


def group_shares(evidence: Evidence) -> FloatArray:
    """P(S) as declared, or (n_t + ½) / (n + G/2) of natural rows and of a context sample's: (n, G)."""
    problem = evidence.problem
    natural = evidence.group_sums((0,))[0].sum(axis=1)
    if problem.shares is not None:
        return np.broadcast_to(np.array(problem.shares), natural.shape)
    return expected_shares(natural + _sampled(problem))


def _sampled(problem: Problem) -> IntArray:
    """Rows of a context sample by group, (G,)."""
    sample = problem.context
    if not isinstance(sample, ContextSample):
        return np.zeros(len(problem.groups), dtype=np.int64)
    codes = np.asarray(sample.columns[problem.sensitive])
    return np.array([np.sum(codes == code) for code in problem.compiled.group_codes])


def balanced_means(evidence: Evidence) -> FloatArray:
    """μ̂_{k,t} of the module's docstring on the scale of Y', (n, K, G); nan where no row could be of arm k and group t."""
    log_L = evidence.likelihood.log_L
    K, G, points = log_L.shape
    made = evidence.group_sums(evidence.every_regime)[0].reshape(-1, K * G)
    total = made.sum(axis=1, keepdims=True)
    top = np.max(log_L, axis=(0, 1), initial=-np.inf)
    L = np.exp(log_L - np.where(np.isneginf(top), 0.0, top)).reshape(
        K * G, points
    )  # a factor common to a point cancels
    mixture = made @ L  # N Σ (n_{j,u}/N) L[j, u], (n, points)
    seen = evidence.observations(tuple(range(len(evidence.problem.regimes))))
    outcome = sum_by_group(seen.outcome_sum, seen.at, points)
    ratio = np.divide(outcome, mixture, out=np.zeros_like(mixture), where=mixture > 0)
    reached = ((mixture > 0) @ (L > 0).T) & (total > 0)
    # (A16)
    return np.where(reached, ratio @ L.T, np.nan).reshape(-1, K, G)


@dataclass(frozen=True)
class BalanceHeuristic(SuccessiveRejection):
    """The procedure (see the module's docstring): CSR's phases and allocation over all arms, other estimates."""

    @classmethod
    def of(cls, problem: Problem, pulls: int) -> BalanceHeuristic:
        """One stage that estimates outcomes and gaps together from all pulls."""
        return cls(problem, pulls, (Stage(pulls, outcome=True, gap=True),), pooled=True)

    def options(self) -> dict[str, Any]:
        """Nothing can be asked of it: the paper's readings are fixed."""
        return {}

    def _require_gaps(self) -> None:
        """Nothing: whatever is asked is tested as it is, by the groups' means."""

    def _estimated(self, state: State[Rejections], stage: Stage, evidence: Evidence) -> Rejections:
        """F holds the arms of which all estimated rows hold."""
        means, rows = balanced_means(evidence), self.problem.compiled.rows
        found = Draws((means * group_shares(evidence)[:, None]).sum(axis=2), means)
        which = state.running[:, None]
        return but(
            state.memory,
            fair=np.where(which, rows.fair(found.rows(rows)), state.memory.fair),
            outcomes=np.where(which, found.outcomes, state.memory.outcomes),
            gaps=np.where(which[:, None], found.gaps(self.problem.compared), state.memory.gaps),
        )

    def _rejected(self, state: State[Rejections], stage: Stage) -> tuple[State[Rejections], BoolArray]:
        """No arm leaves R and no replicate ends early."""
        return state, np.zeros_like(state.running)

    def _answer(self, state: State[Rejections], stage: Stage, i: int, seed: int) -> int:
        memory = state.memory
        best = int(best_fair(memory.outcomes[i], memory.fair[i]))
        if best == Code.NONE:
            return int(Code.UNDECIDED if np.isnan(memory.outcomes[i]).all() else Code.NONE)
        return best
