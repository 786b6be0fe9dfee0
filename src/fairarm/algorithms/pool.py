"""Pool, the default: every pull of any arm in any regime informs one shared vector of cell means.

    start with the cheapest arms; then, phase by phase,
      pool all pulls into beliefs, draw a few truths from them, list what would overturn the answer in each,
      plan the remaining pulls so that those alternatives are told apart soonest, and make a part of the plan

With a fixed number of pulls it ends after PHASES of these. With a confidence it goes on in phases that grow by a
factor, up to the number of pulls, and stops when sure: *certified* by a bound that holds whatever the truth, or
*bayes-stop* when the posterior probability of the answer reaches the confidence. A log takes the place of the start.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from fairarm.algorithms.certificates import Books, Certified
from fairarm.algorithms.cohort import Cohort, logged_cohort
from fairarm.algorithms.info import Info
from fairarm.algorithms.opening import Room, ahead_of, shares_before, usable_units, with_under_way
from fairarm.algorithms.procedure import BaseProcedure, Guarantee, LawReport
from fairarm.algorithms.state import Memory, State
from fairarm.beliefs.beliefs import PlanningBeliefs, believe
from fairarm.beliefs.draws import Draws
from fairarm.beliefs.evidence import Evidence, RunEvidence
from fairarm.beliefs.from_log import growing_parts, parts_with_missing
from fairarm.beliefs.planning import DESIGN_DRAWS, planned_pulls
from fairarm.beliefs.standing import CONFIDENCE, GATE, Standing, standing_of
from fairarm.core.answer import Code
from fairarm.core.design.rounding import round_pulls
from fairarm.core.paper.allocation import require_affordable
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.errors import OptionError

PHASES = 4
"""Phases after the first, which pulls only the cheapest arms."""

INTERIM_DRAWS, ANSWER_DRAWS = 100, 400
DRAWS_IN_DOUBT = 20
"""Draws that should fall outside the answer where it has just the confidence asked for."""

FIRST_LOOK, GROWTH, PROVING_GROWTH = 32, 1.2, 1.12
"""Pulls before a run with a confidence first looks, and the factor from one look to the next, less where each is a proof's batch.

A log's rows are not among them: it may be large and lack just what a few pulls show.
"""


RESERVE = 0.95
"""ρ: the part of every wealth that a live study stakes in a bet, as a cohort may be stopped by hand at any moment."""


@dataclass(frozen=True)
class PoolOptions:
    """What can be asked of Pool."""

    confidence: float | None = None
    """Stop when this sure; without it, use all pulls."""
    stop: Literal["certified", "bayes-stop"] = "certified"
    """What "sure" means: proved, or by the posterior."""
    law: Literal["declared", "estimated"] = "declared"
    """P(S) and the law of contexts as the problem declares them, or from the rows alone."""

    def __post_init__(self) -> None:
        if self.confidence is not None and not 0.5 <= self.confidence < 1:
            raise OptionError(f"The confidence is {self.confidence}. It is a number from 0.5 to below 1, e.g. 0.95.")


class _Known(NamedTuple):
    """What a phase left for the plan of the next: beliefs, drawn outcomes and values of rows, and which replicates go on (N,)."""

    beliefs: PlanningBeliefs
    outcomes: FloatArray
    values: FloatArray
    going: BoolArray


@dataclass(frozen=True)
class Pool(BaseProcedure):
    """The procedure (see the module's docstring)."""

    asked: PoolOptions = PoolOptions()
    growth: float | None = None
    """From one look to the next, where it is not as usual."""
    live: bool = False
    """A live study: cohorts can be cut by hand, and an arm that is proved unfair is dealt no more (docs/certified.md)."""
    watched: bool = True
    """What is believed is looked at after each phase; otherwise only the draws are made that an answer or a plan needs."""

    def __post_init__(self) -> None:
        require_affordable(self.problem.compiled.cost_array, self._budget)
        if self.guarantee == Guarantee.CERTIFIED:
            _ = self._certified  # an error where it is not available comes before the first pull

    @property
    def guarantee(self) -> Guarantee:
        """By what ends the run: the pulls, a proof, or the posterior."""
        return Guarantee.POSTERIOR if self.asked.confidence is None else Guarantee(self.asked.stop)

    @property
    def confidence(self) -> float | None:
        """How sure it has to be; None where all pulls are used."""
        return self.asked.confidence

    def unwatched(self) -> Self:
        """With fewer draws in all phases but the last, and without limits and diagnostics."""
        return replace(self, watched=False)

    def options(self) -> dict[str, Any]:
        """As asked for."""
        return asdict(self.asked)

    @cached_property
    def _certified(self) -> Certified:
        weight = 1 / max(len(self.problem.arms), 2) if self.live else 0.0
        return Certified.of(self.problem, 1.0 - (self.confidence or 0.0), self.asked.law == "estimated", weight)

    @property
    def _budget(self) -> float | None:
        return self.problem.average_cost_budget(self.pulls)

    def law_report(self, state: State[Books], replicate: int) -> LawReport:
        """Of a certified run."""
        return self._certified.law_report(state.memory, replicate)

    def law_evidence(self, state: State[Books], replicate: int) -> float:
        """The same as a logarithm of evidence."""
        return self._certified.law_evidence(state.memory, replicate)

    # ---- planning ----

    def start(self, n: int) -> State[Books]:
        """Natural pulls of the cheapest arms, the same number of each: about half of all, or as many as the first look takes."""
        certified = self.guarantee == Guarantee.CERTIFIED
        state = self.fresh(n, self._certified.start(n) if certified else Books.none(n))
        half = (self.pulls - math.isqrt(self.pulls)) // 2
        first = half if self.confidence is None else min(self.pulls, FIRST_LOOK)
        costs = self.problem.compiled.cost_array
        plan = round_pulls(first * self._first_shares(), state.given[0], costs, self._budget, float(first))
        everyone = np.broadcast_to(plan, state.plan.shape).copy()
        return state.but(phase=1, given=everyone, plan=everyone)

    @property
    def _growth(self) -> float:
        if self.growth is not None:
            return self.growth
        return PROVING_GROWTH if self.guarantee == Guarantee.CERTIFIED else GROWTH

    def _next_total(self, made: int, phase: int) -> int:
        """Pulls in all after the next phase."""
        if self.confidence is not None:
            return min(self.pulls, max(FIRST_LOOK, made + 1, math.ceil(made * self._growth)))
        return made + math.ceil((self.pulls - made) / (PHASES + 1 - phase))

    def _planned(
        self, state: State[Books], beliefs: PlanningBeliefs, outcomes: FloatArray, values: FloatArray, seed: int
    ) -> State[Books]:
        """The next phase of the running replicates, whose beliefs and drawn truths (N, D, K), (N, D, K, J) are given."""
        running = np.flatnonzero(state.running)
        made = state.given[running].sum(axis=(1, 2))
        ahead = self.pulls - made
        if self.confidence is not None:
            ahead = np.minimum(ahead, np.maximum(made, FIRST_LOOK))
        costs, budget = self.problem.compiled.cost_array, self._budget
        spent = self.problem.compiled.cost_of(state.given[running])
        average = np.full(len(running), np.inf)
        if budget is not None:
            average = (budget * (made + ahead) - spent) / np.maximum(ahead, 1)
        if self.guarantee == Guarantee.CERTIFIED:
            x = self._proving(state, average, seed) * ahead[:, None, None]
        else:
            basis = beliefs.design()
            x = planned_pulls(self.problem, basis, outcomes, values, ahead.astype(np.float64), average)
        given = state.given.copy()
        for i, replicate in enumerate(running):
            total = self._next_total(int(made[i]), state.phase)
            part = (total - int(made[i])) / max(int(ahead[i]), 1)
            target = given[replicate] + x[i] * part
            given[replicate] = round_pulls(target, given[replicate], costs, budget, float(total))
        return state.but(phase=state.phase + 1, given=given, plan=given - state.given)

    def _proving(self, state: State[Books], average: FloatArray, seed: int) -> FloatArray:
        """Shares of the units in the next batch of the running replicates that prove an answer soonest, (N, R, K)."""
        running, costs = state.running, self.problem.compiled.cost_array
        last = state.plan[running].astype(np.float64)
        made = last.sum(axis=(1, 2), keepdims=True)
        before = np.where(made > 0, last / np.maximum(made, 1), self._first_shares())
        books = state.memory.of_replicates(running)
        return self._certified.planned(books, before, costs, average, seed, np.flatnonzero(running))

    def _first_shares(self) -> FloatArray:
        """Natural pulls of the cheapest arms, the same number of each, (R, K)."""
        costs = self.problem.compiled.cost_array
        shares = np.zeros_like(costs)
        shares[0] = costs[0] == costs[0].min()
        return np.asarray(shares / shares.sum())

    # ---- closing a phase ----

    def begin(
        self, state: State[Books], earlier: RunEvidence, seed: int, missing: IntArray | None = None
    ) -> tuple[State[Books], Info]:
        """The log is the first phase, and no pull of the run has been made: all are planned by what it leaves open.

        A certified answer holds where what the log pulled, and how often, did not depend on the outcomes in it. ``missing``: rows of the
        log that lack their outcome; each costs a bet the most that it could.
        """
        none = np.zeros_like(state.plan)
        parts = self._parts_of_log(earlier, missing) if self.guarantee == Guarantee.CERTIFIED else ()
        begun, info = self._closed(state.but(given=none, plan=none), parts, earlier, seed)
        return begun.but(closed=state.closed), info

    def _parts_of_log(self, earlier: RunEvidence, missing: IntArray | None) -> Iterator[Cohort]:
        """What is bet on one after the other."""
        if missing is None:
            yield from (Cohort(part) for part, _ in growing_parts(earlier))
            return
        for part, lacking in parts_with_missing(earlier, missing):
            yield logged_cohort(part, lacking, self.problem)

    def step(self, state: State[Books], in_phase: Evidence, in_stage: Evidence, seed: int) -> tuple[State[Books], Info]:
        """One phase, of which every row came, is one batch to bet on."""
        return self.close(state, Cohort(in_phase), in_stage, seed)

    def close(self, state: State[Books], cohort: Cohort, in_stage: Evidence, seed: int) -> tuple[State[Books], Info]:
        """The same where rows may be missing, or beyond the plan."""
        return self._closed(state, [cohort], in_stage, seed)

    def _closed(
        self, state: State[Books], batches: Iterable[Cohort], in_stage: Evidence, seed: int
    ) -> tuple[State[Books], Info]:
        """After a phase: what it showed, then the plan of the next. ``batches`` are what was bet on in it, in order."""
        settled, info, known = self._learned(state, batches, in_stage, seed, self._over(state))
        if not settled.running.any():
            return settled.but(plan=np.zeros_like(settled.plan)), info
        beliefs, going = known.beliefs, known.going
        if not going.all():
            beliefs = self._believe(in_stage.of_replicates(settled.running), seed)
        return self._planned(settled, beliefs, known.outcomes[going], known.values[going], seed), info

    def _learned(
        self, state: State[Books], batches: Iterable[Cohort], in_stage: Evidence, seed: int, over: BoolArray
    ) -> tuple[State[Books], Info, _Known]:
        """Beliefs, bets and answers; ``over`` (N,): running replicates that have no pull left."""
        evidence = in_stage.of_replicates(state.running)
        beliefs = self._believe(evidence, seed)
        rng = np.random.default_rng([seed, state.phase])
        drawn, rows = beliefs.draw(rng, self._draws(bool(over.all()))), self.problem.compiled.rows
        outcomes, values = drawn.outcomes, drawn.rows(rows)
        standing = standing_of(beliefs, outcomes, values, rows, self.watched, self.confidence or CONFIDENCE)
        answer = self.answers(standing, over)
        if self.guarantee == Guarantee.CERTIFIED:
            state, proved, proof, void = self._settled(state, batches, seed)
            standing = replace(standing, proof=proof)
            answer = np.where(proved == Code.UNDECIDED, np.where(over | void, Code.UNDECIDED, Code.PENDING), proved)
        blind = without_rows(evidence)
        info = believed(evidence, beliefs.values(outcomes, drawn.means), standing)
        answer = np.where(blind & over, Code.UNDECIDED, answer)
        return answered(state, answer), info, _Known(beliefs, outcomes, values, answer == Code.PENDING)

    # ---- live studies: several cohorts under way at once ----

    def start_live(self, n: int) -> State[Books]:
        """n studies of which no cohort has been opened."""
        certified = self.guarantee == Guarantee.CERTIFIED
        return self.fresh(n, self._certified.start(n, days=True) if certified else Books.none(n)).but(phase=1)

    def settle(self, state: State[Books], cohort: Cohort, so_far: Evidence, seed: int) -> tuple[State[Books], Info]:
        """What a matured cohort showed: beliefs, bets, the answer; no plan. ``so_far``: all rows of settled cohorts, this one's too.

        Cohorts are settled strictly in the order in which they were opened. The info is of the replicates that were running.
        """
        state = state.but(given=state.given + cohort.dealt)
        over = state.given[state.running].sum(axis=(1, 2)) >= self.pulls
        settled, info, _ = self._learned(state, [cohort], so_far, seed, over)
        return settled.but(phase=state.phase + 1), info

    def voided(self, state: State[Books], which: BoolArray) -> State[Books]:
        """Where a monitor says so, (n,): nothing is certified, and the study ends undecided."""
        answer = np.where(which, int(Code.UNDECIDED), state.answer)
        return state.but(answer=answer, running=state.running & ~which)

    def open(
        self,
        state: State[Books],
        so_far: Evidence,
        under_way: IntArray,
        size: int,
        seed: int,
        number: int,
        regimes: tuple[int, ...] = (0,),
        paused: BoolArray | None = None,
        dealt: float = 1.0,
    ) -> IntArray:
        """The cards of cohort ``number``, (n, R, K), at most ``size``; changes nothing.

        ``under_way`` (n, R, K): pulls dealt and not settled, and cards left in an open deck. ``paused`` (n, K): arms that are not
        dealt; ``dealt``: the part of the cards that is expected to be. Natural pulls only, unless other ``regimes`` are allowed.
        """
        plan, arms = np.zeros_like(state.given), state.given.shape[2]
        stopped = np.zeros((len(plan), arms), dtype=np.bool_) if paused is None else paused
        for pattern in np.unique(stopped[state.running], axis=0):
            which = state.running & (stopped == pattern).all(axis=1)
            made = state.given[which] + under_way[which]
            costs = self.problem.compiled.cost_array
            usable = usable_units(costs, regimes, pattern)
            room = Room(made, self.pulls - made.sum(axis=(1, 2)), costs, usable, self._budget, dealt)
            if usable.any():
                plan[which] = self._cards(state, which, so_far, under_way[which], room, size, [seed, 1, number])
        return plan

    def _cards(
        self,
        state: State[Books],
        which: BoolArray,
        so_far: Evidence,
        under_way: IntArray,
        room: Room,
        size: int,
        key: list[int],
    ) -> IntArray:
        ahead = ahead_of(room.made.sum(axis=(1, 2)), room.left, size, FIRST_LOOK)
        average, costs = room.average(ahead), room.open_costs
        if self.guarantee == Guarantee.CERTIFIED and state.closed[which].min() > 0:
            before = shares_before(room.made, room.usable / room.usable.sum())
            books, who = state.memory.of_replicates(which), np.flatnonzero(which)
            x = self._certified.planned(books, before, costs, average, key[0], who, under_way / size)
            return room.cards(x * ahead[:, None, None], ahead, size)
        # before anything is settled there is nothing to prove with: the prior says what to find out
        beliefs = self._believe(so_far.of_replicates(which), key[0])
        drawn = beliefs.draw(np.random.default_rng(key), DESIGN_DRAWS)
        basis, values = with_under_way(beliefs.design(), under_way), drawn.rows(self.problem.compiled.rows)
        x = planned_pulls(
            self.problem, basis, drawn.outcomes, values, ahead.astype(np.float64), average, room.open_costs
        )
        return room.cards(x, ahead, size)

    def _believe(self, evidence: Evidence, seed: int) -> PlanningBeliefs:
        return believe(evidence, self.asked.law == "estimated", seed)

    def _settled(
        self, state: State[Books], batches: Iterable[Cohort], seed: int
    ) -> tuple[State[Books], IntArray, IntArray, BoolArray]:
        """The books after this phase, and what they prove of the running replicates: answers (N,), Proofs (N, K), and where
        nothing can be proved any more (N,)."""
        running = state.running
        books = state.memory.of_replicates(running)
        for cohort in batches:
            books = self._certified.after(
                cohort.of_replicates(running), books, seed, np.flatnonzero(running), RESERVE if self.live else 1.0
            )
        answer, proof = self._certified.proved(books)
        return state.but(memory=state.memory.updated(running, books)), answer, proof, books.void

    def _over(self, state: State[Books]) -> BoolArray:
        """Which of the running replicates have no pull left, (N,)."""
        made = state.given[state.running].sum(axis=(1, 2))
        if self.confidence is None:
            return np.full(len(made), state.phase == PHASES + 1 or not self.pulls)
        return np.asarray(made >= self.pulls)

    def _draws(self, last: bool) -> int:
        if self.guarantee == Guarantee.BAYES_STOP:
            return max(ANSWER_DRAWS, math.ceil(DRAWS_IN_DOUBT / (1.0 - (self.confidence or 0.0))))
        if not self.watched and (not last or self.guarantee == Guarantee.CERTIFIED):
            return DESIGN_DRAWS  # a proof needs none
        return ANSWER_DRAWS if last else INTERIM_DRAWS

    def answers(self, standing: Standing, over: BoolArray) -> IntArray:
        """What is recommended where all pulls are used, (N,), what is sure where a confidence is asked for; or not yet."""
        recommended = standing.choice().code
        if self.confidence is None:
            return np.where(over, recommended, Code.PENDING)
        sure = standing.sure(recommended, self.confidence)
        return np.where((sure == Code.UNDECIDED) & ~over, Code.PENDING, sure)


def answered(state: State[Memory], answer: IntArray) -> State[Memory]:
    """After a phase that gave the replicates which were running these answers, (N,)."""
    answers = state.answer.copy()
    answers[state.running] = answer
    running = state.running & (answers == Code.PENDING)
    return state.but(closed=state.closed + state.running, answer=answers, running=running)


def believed(evidence: Evidence, values: Draws, standing: Standing) -> Info:
    """What is shown of outcomes (N, K) and of means by group (N, K, G), unknown where there was no row."""
    shown = Info.estimated(evidence.problem, values, standing.fair >= GATE, standing)
    blind = without_rows(evidence)
    if not blind.any():
        return shown
    made = {name: getattr(shown, name).copy() for name in ("outcomes", "gaps", "rows")}
    for part in made.values():
        part[blind] = np.nan
    return replace(shown, **made)


def without_rows(evidence: Evidence) -> BoolArray:
    """Replicates of which no row has come, (N,)."""
    return np.asarray(evidence.pulls().sum(axis=(1, 2)) == 0)
