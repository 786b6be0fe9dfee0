"""What an algorithm must define: pure functions from state to state. Ask/tell and replication are built on these."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from fairarm.algorithms.evidence import Evidence
from fairarm.algorithms.state import Answer, ArmReport, Reason, State, Status, Verdict
from fairarm.problem.model import Problem


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

    def options(self) -> dict[str, Any]:
        """The options it runs with, for saving."""
        ...

    def start(self, n: int) -> State:
        """n replicates with the plan of the first phase out."""
        ...

    def step(self, state: State, in_phase: Evidence, in_stage: Evidence, seed: int) -> State:
        """Close the phase, with the evidence of this phase and of its whole stage; the next plan is out, or the end."""
        ...


def verdict(procedure: Procedure, state: State, replicate: int = 0) -> Verdict:
    """The answer of one replicate as names, numbers in the outcome's units, and reasons."""
    problem = procedure.problem
    answer = int(state.answer[replicate])
    status = Status.FOUND if answer >= 0 else Status.NO_FAIR_ARM if answer == Answer.NONE else Status.UNDECIDED
    fairness = procedure.tests_fairness
    arms = tuple(_report(problem, state, replicate, k, fairness) for k in range(len(problem.arms)))
    return Verdict(
        status=status,
        arm=problem.arm_names[answer] if answer >= 0 else None,
        arms=arms,
        phases=int(state.closed[replicate]),
        finished=answer != Answer.PENDING,
        fairness_tested=fairness,
    )


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
    )


def _reason(problem: Problem, state: State, i: int, k: int, fairness: bool) -> str:
    answer, outcome, gaps = (
        int(state.answer[i]),
        state.outcomes[i, k],
        problem.outcome.width * np.abs(state.gaps[i, :, k]),
    )
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
