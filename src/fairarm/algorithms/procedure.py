"""What an algorithm must define: pure functions from state to state. Ask/tell and replication are built on these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fairarm.algorithms.state import Answer, ArmReport, Belief, Guarantee, Proof, Reason, State, Status, Verdict
from fairarm.beliefs.evidence import CellEvidence, Evidence, RowEvidence
from fairarm.errors import OptionError
from fairarm.problem.mechanism import NO_FAIR_ARM
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

    def begin(self, state: State, log: CellEvidence | RowEvidence, seed: int) -> State:
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

    def begin(self, state: State, log: CellEvidence | RowEvidence, seed: int) -> State:
        return state


def verdict(procedure: Procedure, state: State, replicate: int = 0) -> Verdict:
    """The answer of one replicate as names, numbers in the outcome's units, and reasons."""
    problem = procedure.problem
    answer = int(state.answer[replicate])
    status = Status.FOUND if answer >= 0 else Status.NO_FAIR_ARM if answer == Answer.NONE else Status.UNDECIDED
    fairness = procedure.tests_fairness
    arms = tuple(_report(problem, state, replicate, k, fairness) for k in range(len(problem.arms)))
    belief, named = state.belief, (NO_FAIR_ARM, *problem.arm_names)
    votes = np.concatenate([belief.none[replicate, None], belief.best[replicate]])
    said = not np.isnan(votes).any()
    chosen = answer + 1 if answer >= Answer.NONE else int(np.argmax(votes)) if said else 0
    others = np.where(np.arange(len(votes)) == chosen, -1.0, votes)
    second = int(np.argmax(others))
    gate = procedure.options().get("min_fair_probability")
    by_posterior = answer >= Answer.NONE and procedure.guarantee != Guarantee.CERTIFIED
    return Verdict(
        status=status,
        arm=problem.arm_names[answer] if answer >= 0 else None,
        arms=arms,
        phases=int(state.closed[replicate]),
        finished=answer != Answer.PENDING,
        fairness_tested=fairness,
        guarantee=procedure.guarantee,
        confidence=procedure.confidence,
        probability=float(votes[chosen]) if said else None,
        none_probability=float(votes[0]) if said else None,
        runner_up=named[second] if said else None,
        runner_up_probability=float(votes[second]) if said else None,
        leader=named[chosen] if said else None,
        method=("doubly robust" if belief.robust[replicate] else "cell means") if said else None,
        min_fair_probability=gate,
        gated=said and gate is not None and by_posterior and bool(votes[second] > votes[chosen]),
    )


NEVER_BEST, UNLIKELY_FAIR = 0.05, 0.2


def _believed_reason(problem: Problem, state: State, i: int, k: int) -> str:
    """Why an arm is not the answer, where there are beliefs: unfair and toward whom, worse, or not known well enough."""
    belief, answer = state.belief, int(state.answer[i])
    against = problem.groups[1 if state.gaps[i, 0, k] > 0 else 0]
    proof, fair = Proof(int(belief.proof[i, k])), float(belief.fair[i, k])
    if proof.label == "unfair":
        side = {Proof.UNFAIR_TO_FIRST: 0, Proof.UNFAIR_TO_SECOND: 1}.get(proof)
        return "unfair (proved)" if side is None else f"unfair toward {problem.groups[side]} (proved)"
    if proof in (Proof.WORSE, Proof.UNFAIR_OR_WORSE):
        return f"{proof.label} than the arm found (proved)"
    if answer == Answer.PENDING:
        return f"still in the running: the best fair arm with probability {belief.best[i, k]:.2g}"
    if fair <= UNLIKELY_FAIR:
        return f"unfair toward {against}: fair with probability {fair:.2g}"
    lower = answer >= 0 and state.outcomes[i, k] < state.outcomes[i, answer]
    if lower and (state.fair[i, k] or belief.best[i, k] <= NEVER_BEST):
        return f"worse than the arm found: the best fair arm with probability {belief.best[i, k]:.2g}"
    return f"not known well enough: fair with probability {fair:.2g}, best with {belief.best[i, k]:.2g}"


def _report(problem: Problem, state: State, i: int, k: int, fairness: bool) -> ArmReport:
    s, other = problem.groups
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
        **_beliefs(problem, state.belief, i, k),
    )


def _beliefs(problem: Problem, belief: Belief, i: int, k: int) -> dict[str, Any]:
    """The fields of a report that only some algorithms fill."""
    if np.isnan(belief.best[i, k]):
        return dict.fromkeys(_BELIEF_FIELDS)
    width = problem.outcome.width
    outcome = tuple(float(problem.outcome.unscale(side[i, k])) for side in (belief.outcome_low, belief.outcome_high))
    proof = Proof(int(belief.proof[i, k]))
    return {
        "best_probability": float(belief.best[i, k]),
        "fair_probability": float(belief.fair[i, k]),
        "outcome_interval": outcome,
        "gap_interval": (float(width * belief.gap_low[i, k]), float(width * belief.gap_high[i, k])),
        "certified": None if proof == Proof.NOTHING else proof.label,
        "effective_rows": float(belief.effective[i, k]),
        "largest_weight": float(belief.largest_weight[i, k]),
        "overlap": float(belief.overlap[i, k]),
        "unseen": float(belief.unseen[i, k]),
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
    if not np.isnan(state.belief.best[i, k]) and answer != k:
        return _believed_reason(problem, state, i, k)
    if state.reason[i, k] == Reason.UNFAIR:
        return f"unfair: gap {np.nanmax(gaps):.4g} > {problem.gap_tolerance:.4g}"
    if state.reason[i, k] == Reason.WORSE:
        return "worse than a fair arm" if fairness else "worse than another arm"
    if answer == k:
        return "found: best of the fair arms" if fairness else "found: best of all; fairness was not tested"
    if answer == Answer.PENDING:
        return "still in the running"
    if np.isnan(outcome) and (np.isnan(gaps).any() or not fairness):
        return "not known well enough: no usable pull"
    if answer >= 0 and outcome <= state.outcomes[i, answer]:
        return "a lower estimate than the arm found"
    return "not shown to be fair"
