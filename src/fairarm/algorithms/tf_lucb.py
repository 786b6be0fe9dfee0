"""Top-feasible LUCB (`tf-lucb`), after Katz-Samuels and Scott (2019, "Top feasible arm identification", AISTATS).

Theirs: every arm has a vector of means, estimated from its own pulls alone, with a sub-Gaussian radius U(n) around it
that holds for all arms and all n at once. An arm whose confidence region lies outside the feasible set is out. Of the
others a leader and its most optimistic challenger are pulled in each round, as in LUCB (Kalyanakrishnan et al. 2012),
until the leader is surely feasible and surely better.

Ours:
- the vector is the mean in every group; outcome Σ_t P(t) m_t and rows of fairness Σ_t (a_jt + e_j P(t)) m_t are linear in it,
  feasible is that all rows hold (of two groups: |m_s − m_s'| < E). Bounds are those of a box, one radius a group: μ̂ ± Σ_t P(t) U(n_t),
  a row ± Σ_t |a_jt + e_j P(t)| U(n_t); theirs is a ball;
- U is Hoeffding's with a union over arms, groups and n; theirs is of the law of the iterated logarithm;
- leader: the highest estimate among arms that look feasible and are not out; if none looks so, the one that misses a row by least;
- a fixed budget: no stopping; the answer is the highest estimate among arms that look feasible, none if there is none;
- an arm is pulled forced to the group of which it has fewer rows; where P(S) is not declared, in the least pulled of its
  regimes;
- costs and batches as in `fairarm.algorithms.pull_by_pull`; within a batch leader and challenger alternate.

Written from the paper's idea, not from its listing. It uses none of the mechanisms: with a budget of √T costly pulls
most of many arms stay unpulled for long.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairarm.algorithms.info import Info
from fairarm.algorithms.mis import group_shares
from fairarm.algorithms.procedure import BaseProcedure
from fairarm.algorithms.pull_by_pull import Purse, Wanted, next_batch, require_few_pulls
from fairarm.algorithms.state import NoMemory, State
from fairarm.beliefs.draws import Draws
from fairarm.beliefs.evidence import Evidence
from fairarm.core.answer import Code
from fairarm.core.fairness import Rows, as_rows, best_fair, gap_of
from fairarm.core.paper.allocation import require_affordable
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.problem.pair import require_plain

FIRST = 10
"""Pulls of the cheapest arm to begin with."""

DELTA = 0.1
"""The chance that any bound of the run fails."""


def radius(rows: IntArray, means: int, delta: float = DELTA) -> FloatArray:
    """U(n) of a mean m̂ of n rows in [0, 1], one of ``means`` that must all hold; +inf at n = 0.

    U(n) = √( log(π² means n² / (3 δ)) / (2 n) ),     P(|m̂ − m| ≥ U(n)) ≤ 6 δ / (π² means n²),     over all n ≤ δ / means
    """
    n = np.maximum(rows, 1)
    wide = np.sqrt(np.log(np.pi**2 * means * n.astype(np.float64) ** 2 / (3.0 * delta)) / (2.0 * n))
    return np.where(rows > 0, wide, np.inf)


@dataclass(frozen=True)
class Bounds:
    """Estimates, nan where a group has no row, and how far they may be off, +inf there; (N, K) each."""

    outcome: FloatArray
    outcome_radius: FloatArray
    gap: FloatArray
    gap_radius: FloatArray
    """Of every row of fairness, (N, K, J); of the gap alone, (N, K), where a tolerance takes the place of rows."""

    def possible(self, asked: Rows | float) -> BoolArray:
        """Not shown to be unfair: the interval of every row reaches between its ends."""
        value, rows = as_rows(self.gap, asked)
        wide, _ = as_rows(self.gap_radius, asked)
        inside = (value - wide < rows.high) & (value + wide > rows.low)
        return np.asarray((np.isnan(value) | inside).all(axis=-1))

    def looks_fair(self, asked: Rows | float) -> BoolArray:
        """The estimate of every row holds, whatever its radius."""
        value, rows = as_rows(self.gap, asked)
        return rows.fair(value)

    def misses(self, asked: Rows | float) -> FloatArray:
        """By how much the worst row is missed, below 0 where all hold; +inf where one is not known."""
        value, rows = as_rows(self.gap, asked)
        worst = rows.beyond(value).max(axis=-1)
        return np.where(np.isnan(worst), np.inf, worst)


def own_bounds(rows: IntArray, sums: FloatArray, shares: FloatArray, asked: Rows | None = None) -> Bounds:
    """From each arm's own rows and sums of Y' by group, (N, K, G), and P(S), (N, G); ``asked``: of which rows of fairness, of the
    gap of two groups where none are given."""
    means = np.divide(sums, rows, out=np.full(sums.shape, np.nan), where=rows > 0)
    wide = radius(rows, rows.shape[1] * rows.shape[2])
    known = np.asarray((rows > 0).all(axis=2))
    outcome = (shares[:, None] * means).sum(axis=2)
    if asked is None:
        gap, gap_radius = gap_of(means), wide.sum(axis=2)
    else:
        gap, gap_radius = asked.values(means, outcome), _row_radius(wide, np.abs(asked.weights(shares)))
    return Bounds(
        outcome=outcome,
        outcome_radius=np.where(known, (shares[:, None] * np.where(known[..., None], wide, 0.0)).sum(axis=2), np.inf),
        gap=gap,
        gap_radius=gap_radius,
    )


def _row_radius(wide: FloatArray, weights: FloatArray) -> FloatArray:
    """Σ_t |weight_jt| U(n_t), (N, K, J), from radii (N, K, G) and weights (N, J, G); a group that a row leaves out does not matter."""
    unknown = np.isinf(wide)
    finite = np.where(unknown, 0.0, wide) @ weights.transpose(0, 2, 1)
    missing = unknown.astype(np.float64) @ (weights > 0).astype(np.float64).transpose(0, 2, 1) > 0
    return np.where(missing, np.inf, finite)


def leader_and_challenger(bounds: Bounds, rows: IntArray, asked: Rows | float) -> tuple[IntArray, IntArray]:
    """The arms to pull, (N,) each; ``rows`` (N, K): of arms without bounds those go first that have been begun."""
    possible, fair = bounds.possible(asked), bounds.looks_fair(asked)
    possible = possible | ~possible.any(axis=1, keepdims=True)  # all shown to be unfair: they stay in play
    ready = possible & fair
    by_outcome = np.argmax(np.where(ready, bounds.outcome, -np.inf), axis=1)
    by_row = np.argmin(np.where(possible, bounds.misses(asked), np.inf), axis=1)
    leader = np.where(ready.any(axis=1), by_outcome, by_row)
    others = possible & (np.arange(rows.shape[1]) != leader[:, None])
    upper = np.where(np.isnan(bounds.outcome), np.inf, bounds.outcome + bounds.outcome_radius)
    upper = np.where(others, upper, -np.inf)
    first = upper == upper.max(axis=1, keepdims=True)
    challenger = np.argmax(np.where(first, rows, -1), axis=1)
    return leader, np.where(others.any(axis=1), challenger, leader)


@dataclass(frozen=True)
class TopFeasible(BaseProcedure):
    """The procedure (see the module's docstring)."""

    def __post_init__(self) -> None:
        require_plain(self.problem)
        require_few_pulls("tf-lucb", self.pulls)
        require_affordable(self.problem.compiled.cost_array, self._purse.budget)

    @cached_property
    def _purse(self) -> Purse:
        return Purse(self.problem.compiled.cost_array, self.problem.average_cost_budget(self.pulls))

    def _wanted(self, leader: IntArray, challenger: IntArray, rows: IntArray, given: IntArray, batch: int) -> Wanted:
        """Leader and challenger in turn, each where it has the fewest rows by group, or pulls by regime."""
        at, known = np.arange(len(leader)), self.problem.shares is not None
        have = rows.copy() if known else given.transpose(0, 2, 1).copy()
        arms = np.where(np.arange(batch) % 2, challenger[:, None], leader[:, None])
        regimes = np.empty_like(arms)
        for i in range(batch):
            least = np.argmin(have[at, arms[:, i]], axis=1)
            have[at, arms[:, i], least] += 1
            regimes[:, i] = least + known
        return Wanted(regimes, arms)

    def start(self, n: int) -> State[NoMemory]:
        """The cheapest arm, in turn in the regimes it is pulled in."""
        state = self.fresh(n, NoMemory())
        cheapest = np.full(n, self.problem.compiled.cost_array.min(axis=0).argmin())
        rows = np.zeros((n, len(self.problem.arms), len(self.problem.groups)), dtype=np.int64)
        wanted = self._wanted(cheapest, cheapest, rows, state.given, min(self.pulls, FIRST))
        given = self._purse.buy(state.given, wanted.regimes, wanted.arms)
        return state.but(phase=1, given=given, plan=given)

    def step(
        self, state: State[NoMemory], in_phase: Evidence, in_stage: Evidence, seed: int
    ) -> tuple[State[NoMemory], Info]:
        """Judge every arm by its own rows; then name the leader and the challenger of the next batch, or answer."""
        asked = self.problem.compiled.rows
        rows, sums = in_stage.group_sums(in_stage.every_regime)
        bounds = own_bounds(rows, sums, group_shares(in_stage), asked)
        fair = bounds.looks_fair(asked)
        means = np.divide(sums, rows, out=np.full(sums.shape, np.nan), where=rows > 0)
        info = Info.estimated(self.problem, Draws(bounds.outcome, means), fair)
        state = state.but(closed=state.closed + state.running)
        batch = next_batch(int(state.given[0].sum()), self.pulls)
        if not batch:
            none = np.where(np.isnan(bounds.gap.sum(axis=2)).all(axis=1), Code.UNDECIDED, Code.NONE)
            best = best_fair(bounds.outcome, fair)
            answer = np.where(best == Code.NONE, none, best)
            return state.but(answer=answer, running=np.zeros_like(state.running), plan=np.zeros_like(state.plan)), info
        leader, challenger = leader_and_challenger(bounds, rows.sum(axis=2), asked)
        wanted = self._wanted(leader, challenger, rows, state.given, batch)
        given = self._purse.buy(state.given, wanted.regimes, wanted.arms)
        return state.but(phase=state.phase + 1, given=given, plan=given - state.given), info
