"""What an algorithm must define: pure functions from state to state. Ask/tell and replication are built on these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fairarm.algorithms.state import ArmReport, Guarantee, Reason, State, Verdict
from fairarm.beliefs.evidence import Evidence, RunEvidence
from fairarm.beliefs.standing import Proof, Standing
from fairarm.core.answer import Code
from fairarm.errors import OptionError
from fairarm.problem.answer import Answer
from fairarm.problem.mechanism import NO_FAIR_ARM
from fairarm.problem.pair import pair_of
from fairarm.problem.problem import Problem


class Procedure(Protocol):
    """An algorithm for one problem and number of pulls. Holds no data: everything that changes is in the State."""

    @property
    def problem(self) -> Problem: ...

    @property
    def pulls(self) -> int: ...

    @property
    def tests_fairness(self) -> bool:
        """False where only outcomes are compared."""
        ...

    @property
    def guarantee(self) -> Guarantee:
        """What the probability of being right rests on."""
        ...

    @property
    def confidence(self) -> float | None:
        """1 − δ, where it stops when sure."""
        ...

    def options(self) -> dict[str, Any]:
        """The options it runs with, for saving."""
        ...

    def start(self, n: int) -> State:
        """n replicates with the plan of the first phase out."""
        ...

    @property
    def takes_log(self) -> bool:
        """Whether rows that were made before the run can count in it."""
        ...

    def begin(self, state: State, log: RunEvidence, seed: int) -> State:
        """The started state of a run that begins with a log: its rows are in every ``in_stage``, in no ``in_phase``."""
        ...

    def step(self, state: State, in_phase: Evidence, in_stage: Evidence, seed: int) -> State:
        """Close the phase, with the evidence of this phase and of its whole stage; the next plan is out, or the end."""
        ...


def require_log_start(name: str, procedure: Procedure) -> None:
    """An error where the rows of a log would not count."""
    if not procedure.takes_log:
        raise OptionError(
            f"'{name}' cannot start from a log: it estimates from each phase's own pulls, so that the log would count for "
            f"nothing. Use 'pool', or a version that counts all pulls so far ('csr-v2', 'two-stage-v2', 'sris-v2')."
        )


@dataclass(frozen=True)
class BaseProcedure:
    """What a procedure is unless it says otherwise: a fixed number of pulls, fairness tested, nothing said of how sure,
    no options. From a log it starts with the plan that it has without one."""

    problem: Problem
    pulls: int

    @property
    def tests_fairness(self) -> bool:
        return True

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.NONE

    @property
    def confidence(self) -> float | None:
        return None

    def options(self) -> dict[str, Any]:
        return {}

    @property
    def takes_log(self) -> bool:
        return True

    def begin(self, state: State, log: RunEvidence, seed: int) -> State:
        return state


def verdict(procedure: Procedure, state: State, replicate: int = 0) -> Verdict:
    """The answer of one replicate as names, numbers in the outcome's units, and reasons."""
    problem = procedure.problem
    answer = int(state.answer[replicate])
    fairness = procedure.tests_fairness
    gate = procedure.options().get("min_fair_probability")
    return Verdict(
        answer=Answer.of(answer, problem.arm_names),
        arms=tuple(_report(problem, state, replicate, k, fairness) for k in range(len(problem.arms))),
        phases=int(state.closed[replicate]),
        finished=answer != Code.PENDING,
        fairness_tested=fairness,
        guarantee=procedure.guarantee,
        confidence=procedure.confidence,
        min_fair_probability=gate,
        **_sureness(procedure, state.standing.of(replicate), answer, gate),
    )


def _sureness(procedure: Procedure, standing: Standing, answer: int, gate: float | None) -> dict[str, Any]:
    """The fields of a verdict that only algorithms with beliefs fill."""
    if np.isnan(standing.votes).any():
        return {**dict.fromkeys(_SURENESS_FIELDS), "gated": False}
    leader = np.array([answer]) if answer >= Code.NONE else standing.likeliest()
    second = standing.runner_up(leader)
    named = (NO_FAIR_ARM, *procedure.problem.arm_names)
    by_posterior = answer >= Code.NONE and procedure.guarantee != Guarantee.CERTIFIED
    return {
        "leader": named[leader[0] - Code.NONE],
        "probability": float(standing.probability(leader)[0]),
        "none_probability": float(standing.none[0]),
        "runner_up": named[second[0] - Code.NONE],
        "runner_up_probability": float(standing.probability(second)[0]),
        "method": "doubly robust" if standing.robust[0] else "cell means",
        "gated": gate is not None and by_posterior and bool(standing.choice(gate).gated[0]),
    }


_SURENESS_FIELDS = ("leader", "probability", "none_probability", "runner_up", "runner_up_probability", "method")

NEVER_BEST, UNLIKELY_FAIR = 0.05, 0.2


def _believed_reason(problem: Problem, state: State, i: int, k: int) -> str:
    """Why an arm is not the answer, where there are beliefs: unfair and toward whom, worse, or not known well enough."""
    standing, answer = state.standing, int(state.answer[i])
    against = pair_of(problem)[1 if state.gaps[i, 0, k] > 0 else 0]
    proof, fair = Proof(int(standing.proof[i, k])), float(standing.fair[i, k])
    if proof.label == "unfair":
        side = {Proof.UNFAIR_TO_FIRST: 0, Proof.UNFAIR_TO_SECOND: 1}.get(proof)
        return "unfair (proved)" if side is None else f"unfair toward {pair_of(problem)[side]} (proved)"
    if proof in (Proof.WORSE, Proof.UNFAIR_OR_WORSE):
        return f"{proof.label} than the arm found (proved)"
    if answer == Code.PENDING:
        return f"still in the running: the best fair arm with probability {standing.best[i, k]:.2g}"
    if fair <= UNLIKELY_FAIR:
        return f"unfair toward {against}: fair with probability {fair:.2g}"
    lower = answer >= 0 and state.outcomes[i, k] < state.outcomes[i, answer]
    if lower and (state.fair[i, k] or standing.best[i, k] <= NEVER_BEST):
        return f"worse than the arm found: the best fair arm with probability {standing.best[i, k]:.2g}"
    return f"not known well enough: fair with probability {fair:.2g}, best with {standing.best[i, k]:.2g}"


def _report(problem: Problem, state: State, i: int, k: int, fairness: bool) -> ArmReport:
    s, other = pair_of(problem)
    outcome = float(problem.outcome.unscale(state.outcomes[i, k]))
    gaps = problem.outcome.width * state.gaps[i, :, k]
    keyed = {f"{s}|{other}": gaps[0], f"{other}|{s}": gaps[1]}
    rejected = int(state.rejected[i, k])
    return ArmReport(
        name=problem.arm_names[k],
        outcome=None if np.isnan(outcome) else outcome,
        gaps={key: None if np.isnan(gap) else float(gap) for key, gap in keyed.items()},
        fair=bool(state.fair[i, k]),
        rejected_in_phase=rejected or None,
        reason=_reason(problem, state, i, k, fairness),
        **_beliefs(problem, state.standing, i, k),
    )


def _beliefs(problem: Problem, standing: Standing, i: int, k: int) -> dict[str, Any]:
    """The fields of a report that only some algorithms fill."""
    if np.isnan(standing.best[i, k]):
        return dict.fromkeys(_BELIEF_FIELDS)
    width = problem.outcome.width
    outcome = tuple(
        float(problem.outcome.unscale(side[i, k])) for side in (standing.outcome_low, standing.outcome_high)
    )
    proof = Proof(int(standing.proof[i, k]))
    return {
        "best_probability": float(standing.best[i, k]),
        "fair_probability": float(standing.fair[i, k]),
        "outcome_interval": outcome,
        "gap_interval": (float(width * standing.gap_low[i, k]), float(width * standing.gap_high[i, k])),
        "certified": None if proof == Proof.NOTHING else proof.label,
        "effective_rows": float(standing.effective[i, k]),
        "largest_weight": float(standing.largest_weight[i, k]),
        "overlap": float(standing.overlap[i, k]),
        "unseen": float(standing.unseen[i, k]),
    }


_BELIEF_FIELDS = (
    "best_probability", "fair_probability", "outcome_interval", "gap_interval", "certified", "effective_rows",
    "largest_weight", "overlap", "unseen",
)  # fmt: skip


def _reason(problem: Problem, state: State, i: int, k: int, fairness: bool) -> str:
    answer, outcome, gaps = (
        int(state.answer[i]),
        state.outcomes[i, k],
        problem.outcome.width * np.abs(state.gaps[i, :, k]),
    )
    if not np.isnan(state.standing.best[i, k]) and answer != k:
        return _believed_reason(problem, state, i, k)
    if state.reason[i, k] == Reason.UNFAIR:
        return f"unfair: gap {np.nanmax(gaps):.4g} > {problem.gap_tolerance:.4g}"
    if state.reason[i, k] == Reason.WORSE:
        return "worse than a fair arm" if fairness else "worse than another arm"
    if answer == k:
        return "found: best of the fair arms" if fairness else "found: best of all; fairness was not tested"
    if answer == Code.PENDING:
        return "still in the running"
    if np.isnan(outcome) and (np.isnan(gaps).any() or not fairness):
        return "not known well enough: no usable pull"
    if answer >= 0 and outcome <= state.outcomes[i, answer]:
        return "a lower estimate than the arm found"
    return "not shown to be fair"
