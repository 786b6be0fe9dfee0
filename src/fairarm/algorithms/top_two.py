"""Top-two posterior sampling (`top-two`): draw the best fair arm, and sometimes its rival, and pull what they name.

Theirs (Russo 2016, 2020): draw a truth from the posterior, I its answer;
with probability ½ pull for I, else draw again until the answer J differs and pull for J.

Ours, so that it stands in the same contract as Pool and differs from it by its pulls alone:
- the posterior is Pool's (all rows pooled into cell means) and so is the last word: the mode of 400 draws, an arm named
  only if it is fair with ``min_fair_probability``;
- "no fair arm" is an answer; to pull for it is to pull the arm nearest to being fair in that draw, by the row that it misses most;
- the regime: forced, to one of the groups at random, where the two draws disagree on whether the arm is fair, else natural;
- redrawing ends after TRIES; the rival is then the runner-up within the draw;
- costs: a pull that the budget so far does not allow is made with a cheaper unit (`Purse`);
- the first half of the pulls is Pool's, natural ones of the cheapest arms (without it, no better); the others are decided
  in batches of at most 2 % of the pulls so far.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from fairarm.algorithms.info import Info
from fairarm.algorithms.pool import ANSWER_DRAWS, Pool, answered, believed, without_rows
from fairarm.algorithms.procedure import BaseProcedure, Guarantee
from fairarm.algorithms.pull_by_pull import Purse, Wanted, next_batch, require_few_pulls
from fairarm.algorithms.state import NoMemory, State
from fairarm.beliefs.beliefs import believe
from fairarm.beliefs.evidence import Evidence
from fairarm.beliefs.standing import standing_of
from fairarm.core.answer import Code
from fairarm.core.fairness import Rows, as_rows, best_fair, best_fair_arm
from fairarm.core.types import BoolArray, FloatArray, IntArray

TRIES = 100
"""Draws looked through for a rival."""


def top_two(
    outcomes: FloatArray,
    values: FloatArray,
    asked: Rows | float,
    batch: int,
    rng: np.random.Generator,
    forced: int | None = None,
) -> Wanted:
    """A batch of decisions from draws of outcomes (N, batch + tries, K) and of rows (…, K, J), or of gaps (…, K) with a tolerance:
    draw i is the first of pull i, the rest are the redraws.

    One after the other, each pull starts looking for its rival one draw later. ``forced``: how many forced regimes there are, one
    per group if not given.
    """
    values, rows_of = as_rows(values, asked)
    regime_count = rows_of.groups if forced is None else forced
    best, fair = best_fair_arm(outcomes, values, rows_of), rows_of.fair(values)
    misses = rows_of.beyond(values).max(axis=-1)
    N, rows, tries = len(best), np.arange(len(best)), best.shape[1] - batch
    coin = rng.random((N, batch)) < 0.5
    group = rng.integers(1, 1 + regime_count, (N, batch)) if regime_count else np.zeros((N, batch), dtype=np.int64)
    regimes, arms = np.empty((2, N, batch), dtype=np.int64)
    for i in range(batch):
        order = batch + (i + np.arange(tries)) % tries
        differs = best[:, order] != best[:, i, None]
        other = np.where(differs.any(axis=1), order[np.argmax(differs, axis=1)], i)
        rival = np.where(other == i, _runner_up(outcomes[:, i], fair[:, i], best[:, i]), best[rows, other])
        at = np.where(coin[:, i], i, other)
        chosen = np.where(coin[:, i], best[:, i], rival)
        nearest = np.argmin(misses[rows, at], axis=1)
        arms[:, i] = np.where(chosen == Code.NONE, nearest, chosen)
        doubt = fair[rows, i, arms[:, i]] != fair[rows, other, arms[:, i]]
        regimes[:, i] = np.where(doubt, group[:, i], 0)
    return Wanted(regimes, arms)


def _runner_up(outcomes: FloatArray, fair: BoolArray, best: IntArray) -> IntArray:
    """The best fair arm of a draw (N, K) but for ``best``; NONE where there is no other."""
    return best_fair(outcomes, fair & (np.arange(fair.shape[1]) != best[:, None]))


@dataclass(frozen=True)
class TopTwo(BaseProcedure):
    """The procedure (see the module's docstring)."""

    watched: bool = True
    """As in `Pool`; all its draws are used."""

    def __post_init__(self) -> None:
        require_few_pulls("top-two", self.pulls)
        _ = self._pool  # checks the budget

    @cached_property
    def _pool(self) -> Pool:
        """Whose first phase and whose last word it shares."""
        return Pool(self.problem, self.pulls)

    @cached_property
    def _purse(self) -> Purse:
        return Purse(self.problem.compiled.cost_array, self.problem.average_cost_budget(self.pulls))

    @property
    def guarantee(self) -> Guarantee:
        """Pool's posterior, at a fixed number of pulls."""
        return Guarantee.POSTERIOR

    def unwatched(self) -> Self:
        """Without limits and diagnostics."""
        return replace(self, watched=False)

    def start(self, n: int) -> State[NoMemory]:
        """Pool's first phase."""
        first = self._pool.start(n)
        return self.fresh(n, NoMemory()).but(phase=first.phase, given=first.given, plan=first.plan)

    def step(
        self, state: State[NoMemory], in_phase: Evidence, in_stage: Evidence, seed: int
    ) -> tuple[State[NoMemory], Info]:
        """All replicates have made the same number of pulls and end together."""
        rows, batch = self.problem.compiled.rows, next_batch(int(state.given[0].sum()), self.pulls)
        beliefs, rng = believe(in_stage, seed=seed), np.random.default_rng([seed, state.phase])
        drawn = beliefs.draw(rng, batch + TRIES if batch else ANSWER_DRAWS)
        outcomes, values = drawn.outcomes, drawn.rows(rows)
        standing = standing_of(beliefs, outcomes, values, rows, self.watched)
        answer = self._pool.answers(standing, np.full(len(outcomes), not batch))
        info = believed(in_stage, beliefs.values(outcomes, drawn.means), standing)
        closed = answered(state, np.where(without_rows(in_stage) & (not batch), Code.UNDECIDED, answer))
        if not batch:
            return closed.but(plan=np.zeros_like(state.plan)), info
        wanted = top_two(outcomes, values, rows, batch, rng, len(self.problem.regimes) - 1)
        given = self._purse.buy(state.given, wanted.regimes, wanted.arms)
        return closed.but(phase=state.phase + 1, given=given, plan=given - state.given), info
