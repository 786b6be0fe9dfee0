"""Successive rejection in phases (`csr`): CSR, SRIS and the two-stage baselines are stages of one procedure (paper, section 4).

A stage estimates outcomes, gaps, or both, and divides its pulls accordingly:
CSR is one stage with both, SRIS one with outcomes, two-stage a stage with gaps and then one with outcomes.
V1 estimates from the phase's own pulls, V2 from all pulls of the stage so far.

There is one gap ζ^{t,u} for every ordered pair of groups that is compared, learned from pulls forced to u: one block of the
programme each. An arm is in F if all of them pass their test, and is rejected if any fails.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from fairarm.algorithms.info import Info, Reason
from fairarm.algorithms.procedure import BaseProcedure
from fairarm.algorithms.records import but
from fairarm.algorithms.state import State
from fairarm.beliefs.evidence import Evidence
from fairarm.core.answer import Code
from fairarm.core.design.rounding import round_pulls
from fairarm.core.paper.allocation import Allocation, Leakage, allocate, require_affordable, require_room
from fairarm.core.paper.estimators import ClipBase, dropped_mean
from fairarm.core.paper.rejection import highest, safely_fair, surely_unfair, surely_worse
from fairarm.core.paper.schedule import PhaseReading, phase_count, phase_lengths
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.errors import OptionError
from fairarm.problem.pair import require_plain
from fairarm.problem.problem import Problem
from fairarm.problem.regimes import require_forced


@dataclass(frozen=True)
class Readings:
    """Where the paper can be read in two ways: the defaults are ours, docs/decisions says why."""

    phases: PhaseReading = "log2"
    """n(T): ⌈log2(10√T)⌉, or the product log 2 · log 10√T."""
    clip_base: ClipBase = "2"
    """Base of the logarithm in the threshold 2 log(2/ε) M."""
    programme: Literal["reciprocal", "literal"] = "reciprocal"
    """Entries of the programme: 1/M and 1/D, or M and D themselves paired as printed."""
    outcome_pulls: Literal["natural", "all"] = "natural"
    """Ŷ from natural pulls, or from all pulls of an arm, forced ones too (biased toward the forced group)."""
    final_arm: Literal["best", "random"] = "best"
    """SRIS's last word: the highest estimate, or a random arm of those left."""


@dataclass(frozen=True)
class Stage:
    """Pulls to spend, and what is estimated and tested with them."""

    pulls: int
    outcome: bool
    gap: bool


@dataclass(frozen=True)
class Rejections:
    """The memory: who is left and why others are not, the last estimates, and the allocation in force. Leading axis n."""

    alive: BoolArray
    """R, (n, K)."""
    fair: BoolArray
    """F as of the last phase that tested, (n, K)."""
    outcomes: FloatArray
    """Last Ŷ of each arm, (n, K); nan where undefined."""
    gaps: FloatArray
    """Last ζ̂^{t,u} of every compared pair, (n, P, K): of two groups ζ̂^{s,s'} and ζ̂^{s',s}."""
    rejected: IntArray
    """(n, K): the phase in which the arm was rejected, 0 if it was not."""
    reason: IntArray
    """(n, K): a Reason."""
    shares: FloatArray
    """The allocation in force, (n, R, K)."""
    target: FloatArray
    """C_u, the running sum of shares times phase lengths of this stage, (n, R, K)."""

    @classmethod
    def none(cls, n: int, regimes: int, arms: int, pairs: int) -> Rejections:
        """Before the first phase."""
        return cls(
            alive=np.ones((n, arms), dtype=np.bool_),
            fair=np.zeros((n, arms), dtype=np.bool_),
            outcomes=np.full((n, arms), np.nan),
            gaps=np.full((n, pairs, arms), np.nan),
            rejected=np.zeros((n, arms), dtype=np.int64),
            reason=np.zeros((n, arms), dtype=np.int64),
            shares=np.zeros((n, regimes, arms)),
            target=np.zeros((n, regimes, arms)),
        )

    def info(self, which: BoolArray, row_pairs: IntArray) -> Info:
        """What is shown of these replicates; a row is the ζ̂ of its pair, and is not estimated where it has none (−1)."""
        at = slice(None) if which.all() else which  # all of them without a copy
        outcomes, gaps = self.outcomes[at], self.gaps[at]
        rows = np.concatenate([gaps, np.full_like(outcomes, np.nan)[:, None]], axis=1)[:, row_pairs]
        return Info(
            outcomes, gaps, self.fair[at], self.rejected[at], self.reason[at], None, np.moveaxis(rows, 1, 2).copy()
        )


@dataclass(frozen=True)
class SuccessiveRejection(BaseProcedure):
    """The procedure (see the module's docstring). ``pooled``: V2."""

    stages: tuple[Stage, ...]
    pooled: bool
    readings: Readings = Readings()
    _programmes: dict[tuple[int, bytes], Allocation] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_plain(self.problem)
        for stage in self.stages:
            require_room(len(self.problem.arms), *self._size(stage))
        if self.tests_fairness:
            require_forced(self.problem)
            self._require_gaps()
            if self.readings.programme == "literal" and len(self.problem.groups) != 2:
                raise OptionError(
                    f"The literal programme pairs M and D as the paper prints them, for two groups; '{self.problem.sensitive}' has "
                    f"{len(self.problem.groups)}. Use programme=reciprocal, the default."
                )
            self.problem.compiled.tables.require_overlap()
        for stage in self.stages:  # a budget that cannot be met is an error before the first pull
            require_affordable(self._costs(stage), self.problem.average_cost_budget(self.pulls))

    def _require_gaps(self) -> None:
        """What is asked are gaps, which is what is tested; an error where it is more."""
        _ = self.problem.compiled.gap_ends

    @property
    def tests_fairness(self) -> bool:
        """Whether some stage estimates gaps; SRIS has none."""
        return any(stage.gap for stage in self.stages)

    @property
    def takes_log(self) -> bool:
        """V2 only: the estimates of V1 are made of each phase's own pulls, and a log would count in none of them."""
        return self.pooled

    def options(self) -> dict[str, Any]:
        """The readings of the paper that it was made with."""
        return asdict(self.readings)

    # ---- planning ----

    def phases(self, stage: int) -> int:
        """n(T) of a stage."""
        return len(self._lengths[stage])

    @cached_property
    def _lengths(self) -> tuple[FloatArray, ...]:
        """τ(1) … τ(n) of each stage."""
        counts = [phase_count(stage.pulls, self.readings.phases) for stage in self.stages]
        return tuple(phase_lengths(stage.pulls, n) for stage, n in zip(self.stages, counts, strict=True))

    def _blocks(self, stage: Stage) -> list[tuple[int, FloatArray]]:
        """The programme's blocks: which regime feeds each, and its divergence. D^{t,u} is fed by pulls forced to u; the literal
        reading has t."""
        tables, literal = self.problem.compiled.tables, self.readings.programme == "literal"
        gaps = zip(self.problem.compared, tables.D, strict=True) if stage.gap else ()
        of_gaps = [(1 + (t if literal else u), divergence) for (t, u), divergence in gaps]
        return [*([(0, tables.M)] if stage.outcome else []), *of_gaps]

    def _leakages(self, stage: Stage) -> list[Leakage]:
        blocks = self._blocks(stage)
        if self.readings.programme != "literal":
            return [Leakage(regime, 1.0 / divergence) for regime, divergence in blocks]
        if any(np.isinf(divergence).any() for _, divergence in blocks):
            raise OptionError(
                "The literal programme (M and D as entries) needs finite divergences; some arms do not overlap."
            )
        return [Leakage(regime, divergence) for regime, divergence in blocks]

    def _size(self, stage: Stage) -> tuple[int, int]:
        """Regimes and blocks of the stage's programme."""
        return int(self._pulled(stage).sum()), stage.outcome + len(self.problem.compared) * stage.gap

    def _pulled(self, stage: Stage) -> BoolArray:
        """Which regimes the stage pulls, (R,): natural for outcomes, forced to each compared group for gaps."""
        pulled = np.zeros(len(self.problem.regimes), dtype=np.bool_)
        pulled[0] = stage.outcome
        if stage.gap:
            pulled[[1 + u for _, u in self.problem.compared]] = True
        return pulled

    def _allocation(self, stage: int, alive: BoolArray) -> Allocation:
        """The programme for this set of arms, solved once."""
        key = (stage, alive.tobytes())
        if key not in self._programmes:
            budget = self.problem.average_cost_budget(self.pulls)
            self._programmes[key] = allocate(
                self._leakages(self.stages[stage]), self.problem.compiled.cost_array, budget, alive
            )
        return self._programmes[key]

    def value(self, alive: BoolArray) -> float:
        """v*(B, R) of the first stage."""
        return self._allocation(0, alive).value

    def _costs(self, stage: Stage) -> FloatArray:
        """Costs (R, K), +inf for regimes that the stage does not pull."""
        return np.where(self._pulled(stage)[:, None], self.problem.compiled.cost_array, np.inf)

    def start(self, n: int) -> State[Rejections]:
        """All arms in R, and the first phase planned."""
        problem = self.problem
        memory = Rejections.none(n, len(problem.regimes), len(problem.arms), len(problem.compared))
        return self._planned(self.fresh(n, memory), changed=np.ones(n, np.bool_))

    def _planned(self, state: State[Rejections], changed: BoolArray) -> State[Rejections]:
        """The next phase's plan for every replicate still running; the programme is solved anew where R changed."""
        stage, memory = self.stages[state.stage], state.memory
        lengths = self._lengths[state.stage]
        last = state.phase + 1 == len(lengths)
        reached = float(stage.pulls) if last else float(lengths[: state.phase + 1].sum())
        shares, target, given = memory.shares.copy(), memory.target.copy(), state.given.copy()
        budget, costs = self.problem.average_cost_budget(self.pulls), self._costs(stage)
        for i in np.flatnonzero(state.running):
            if changed[i]:
                shares[i] = self._allocation(state.stage, memory.alive[i]).shares
            target[i] += shares[i] * lengths[state.phase]
            given[i] = round_pulls(target[i], given[i], costs, budget, reached)
        memory = but(memory, shares=shares, target=target)
        return state.but(phase=state.phase + 1, given=given, plan=given - state.given, memory=memory)

    # ---- closing a phase ----

    def step(
        self, state: State[Rejections], in_phase: Evidence, in_stage: Evidence, seed: int
    ) -> tuple[State[Rejections], Info]:
        """Estimate, reject, and plan the next phase; or answer, or go on to the next stage."""
        stage, running, before = self.stages[state.stage], state.running, state.memory.alive
        state = state.but(memory=self._estimated(state, stage, in_stage if self.pooled else in_phase))
        state, ended = self._rejected(state.but(closed=state.closed + running), stage)
        over = state.phase == self.phases(state.stage)
        ended |= running if over else False
        answer = self._concluded(state, stage, ended, seed) if self._is_last(state) else self._screened(state)
        state = state.but(answer=answer, running=running & ~ended & (answer == Code.PENDING))
        info = state.memory.info(running, self.problem.compiled.row_pairs)
        if state.running.any():
            return self._planned(state, np.any(before != state.memory.alive, axis=1)), info
        return self._next_stage(state), info

    def _is_last(self, state: State[Rejections]) -> bool:
        return state.stage == len(self.stages) - 1

    def _estimated(self, state: State[Rejections], stage: Stage, evidence: Evidence) -> Rejections:
        """Ŷ and every ζ̂ of the arms still in R of running replicates; others keep their last estimate."""
        tables, pulls, base = self.problem.compiled.tables, evidence.pulls(), self.readings.clip_base
        memory = state.memory
        outcomes, gaps = memory.outcomes.copy(), memory.gaps.copy()
        fresh = memory.alive & state.running[:, None]
        if stage.outcome:
            natural = self.readings.outcome_pulls == "natural"
            terms = evidence.outcome_terms((0,) if natural else tuple(range(pulls.shape[1])))
            found = dropped_mean(terms, pulls[:, 0] if natural else pulls.sum(axis=1), tables.M, state.phase, base)
            outcomes = np.where(fresh, found, outcomes)
        if stage.gap:
            for p, (_, u) in enumerate(self.problem.compared):
                found = dropped_mean(evidence.gap_terms(p), pulls[:, 1 + u], tables.D[p], state.phase, base)
                gaps[:, p] = np.where(fresh, found, gaps[:, p])
        return but(memory, outcomes=outcomes, gaps=gaps)

    def _rejected(self, state: State[Rejections], stage: Stage) -> tuple[State[Rejections], BoolArray]:
        """F and R after this phase, and which replicates end early because one arm is left (not if K is 1)."""
        phase, memory = state.phase, state.memory
        alive, running = memory.alive, state.running
        single = len(self.problem.arms) == 1 and stage.gap
        alone = running & (alive.sum(axis=1) == 1) & (not single)
        fair, unfair = alive, np.zeros_like(alive)
        if stage.gap:
            ends = self.problem.compiled.gap_ends
            fair = alive & safely_fair(memory.gaps, phase, ends.below, ends.above)
            unfair = surely_unfair(memory.gaps, phase, ends.below, ends.above)
        ready = running & ~alone & (fair.any(axis=1) | (not stage.outcome))
        worse = surely_worse(memory.outcomes, fair, phase) if stage.outcome else np.False_
        out = alive & (worse | unfair) & ready[:, None]
        reason = np.where(unfair, Reason.UNFAIR, Reason.WORSE)
        memory = but(
            memory,
            alive=alive & ~out,
            fair=np.where(running[:, None], fair, memory.fair) if stage.gap else memory.fair,
            rejected=np.where(out, state.closed[:, None], memory.rejected),
            reason=np.where(out, reason, memory.reason),
        )
        return state.but(memory=memory), alone

    def _screened(self, state: State[Rejections]) -> IntArray:
        """After a phase of a stage that only screens: no arm left means no fair arm."""
        empty = state.running & ~state.memory.alive.any(axis=1)
        return np.where(empty, Code.NONE, state.answer)

    def _concluded(self, state: State[Rejections], stage: Stage, ended: BoolArray, seed: int) -> IntArray:
        """The answers, with those of the replicates that end with this phase."""
        answer = state.answer.copy()
        for i in np.flatnonzero(ended):
            answer[i] = self._answer(state, stage, int(i), seed)
        return answer

    def _answer(self, state: State[Rejections], stage: Stage, i: int, seed: int) -> int:
        memory = state.memory
        alive = np.flatnonzero(memory.alive[i])
        if len(self.problem.arms) == 1 and stage.gap:
            undefined = np.isnan(memory.gaps[i]).any()
            return 0 if memory.fair[i, 0] else int(Code.UNDECIDED if undefined else Code.NONE)
        if len(alive) == 1:
            return int(alive[0])
        candidates = memory.fair[i] & memory.alive[i] if stage.gap else memory.alive[i]
        if not candidates.any():
            blind = np.isnan(memory.gaps[i][:, alive]).any(axis=0).all()
            return int(Code.UNDECIDED if blind else Code.NONE)
        if not stage.gap and self.readings.final_arm == "random":
            return int(np.random.default_rng([seed, int(state.closed[i]), i]).choice(alive))
        if np.isneginf(highest(memory.outcomes[i], candidates)):
            return int(Code.UNDECIDED)
        return int(np.nanargmax(np.where(candidates, memory.outcomes[i], -np.inf)))

    def _next_stage(self, state: State[Rejections]) -> State[Rejections]:
        """Every replicate has left this stage: the survivors start the next one, with a ledger of its own."""
        pending = state.answer == Code.PENDING
        empty = np.zeros_like(state.plan)
        if not pending.any():
            return state.but(running=pending, plan=empty)
        memory = but(state.memory, target=np.zeros_like(state.memory.target))
        fresh = state.but(stage=state.stage + 1, phase=0, running=pending, given=empty, plan=empty, memory=memory)
        return self._planned(fresh, pending)


def csr(problem: Problem, pulls: int, pooled: bool, readings: Readings) -> SuccessiveRejection:
    """Constraint successive rejection: one stage that estimates outcomes and gaps together."""
    return SuccessiveRejection(problem, pulls, (Stage(pulls, outcome=True, gap=True),), pooled, readings)
