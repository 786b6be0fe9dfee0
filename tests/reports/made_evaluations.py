"""Evaluations made by hand: numbers that no log has to give."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from fairarm.beliefs.assumptions import Assumption, Statement
from fairarm.beliefs.beliefs import Smoothness
from fairarm.beliefs.certified import Bound, Certificate
from fairarm.beliefs.findings import Finding, Level
from fairarm.beliefs.status import Decision
from fairarm.experiments.evaluate import ArmEvaluation, Estimate, Evaluation, NextPulls, ObservedGroup
from fairarm.experiments.evidence_from_log import LogEvidence
from fairarm.logs.usable import LogSource
from fairarm.problem.answer import Answer, Status
from fairarm.problem.fitting import FittedNote
from fairarm.problem.mechanism import Arm, table
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.variables import Variable

RESTS_ON = (
    Statement(Assumption.GRAPH, {"sensitive": "sex", "outcome": "days"}),
    Statement(Assumption.ROWS),
    Statement(Assumption.LATER),
)
ASSUMPTIONS = (
    "The causal graph is as declared. Nothing causes 'sex', and 'sex' acts on 'days' only along the declared arrows.",
    "Rows are different people, independent of each other, and no row was dropped because of its outcome.",
    "People who come later are like those in the log.",
)
MISSING = Finding(
    "missing-outcomes",
    "31 of 12000 rows have no outcome. They were left out, not taken as 0.",
    31,
    ("days = None, arm = current", "days = '', arm = current"),
)
YOUNG = Finding(
    "outcomes-not-due", "40 of 12000 rows are younger than the time within which outcomes arrive.", 40, (), Level.INFO
)


DAYS = Outcome("days", values=(0, 1))


def problem_of(
    arms: tuple[str, ...], tolerance: float = 0.1, sensitive: str = "sex", outcome: Outcome = DAYS
) -> Problem:
    return Problem(
        name="ward",
        description="How beds are given on a ward.",
        variables=[
            Variable(sensitive, ("woman", "man")),
            Variable("bed", ("yes", "no")),
            Variable(outcome.node, ("few", "many")),
        ],
        graph=[(sensitive, "bed"), ("bed", outcome.node)],
        sensitive=sensitive,
        decision="bed",
        outcome=outcome,
        tolerance=tolerance,
        arms=[Arm(name, table("bed", [sensitive], [[0.5, 0.5], [0.4, 0.6]])) for name in arms],
        shares={"woman": 0.5, "man": 0.5},
        deployed=arms[0],
    )


def arm_of(name: str, outcome: float, gap: float, **changes: Any) -> ArmEvaluation:
    made = ArmEvaluation(
        name=name,
        outcome=Estimate(outcome, outcome - 0.03, outcome + 0.03, outcome - 0.08, outcome + 0.08),
        gap=Estimate(gap, gap - 0.02, gap + 0.02, gap - 0.06, gap + 0.06),
        fair_probability=0.99 if abs(gap) < 0.1 else 0.02,
        best_probability=0.0,
        fair_probability_at_random=0.99,
        best_probability_at_random=0.0,
        certified_fair=None,
        support="yes",
        effective_rows=900.0,
        largest_weight=2.5,
        overlap=0.8,
        unseen=0.0,
        rows=0,
        fitted=False,
    )
    return replace(made, **changes)


ARMS = (
    arm_of("current", 0.41, 0.01, rows=11929, best_probability=0.002, certified_fair=True),
        arm_of("by-need", 0.55, -0.03, best_probability=0.953, certified_fair=True),
        arm_of("by-sex", 0.62, 0.25, certified_fair=False, best_probability=0.0),
        arm_of("never-tried", 0.5, 0.05, support="no", effective_rows=3.2, largest_weight=810.0, overlap=0.04, unseen=0.7, best_probability=0.04),
        arm_of("lottery", 0.47, 0.0, support="weakly", effective_rows=60.0, largest_weight=12.0, overlap=0.3, unseen=0.05, fitted=True, best_probability=0.003),
)  # fmt: skip


def uncertified(arm: ArmEvaluation) -> ArmEvaluation:
    outcome, gap = (replace(number, certified_low=None, certified_high=None) for number in (arm.outcome, arm.gap))
    return replace(arm, outcome=outcome, gap=gap, certified_fair=None)


def evaluation(
    arms: tuple[ArmEvaluation, ...] | None = None, smooth: float | None = None, **changes: Any
) -> Evaluation:
    """Five arms: the second is the answer, the third is better and unfair, the fourth hardly seen. Nothing is certified.
    ``smooth``: the weight of outcomes that are smooth along 'dose', an ordered column; None where none is."""
    arms = arms or tuple(uncertified(arm) for arm in ARMS)
    along = None if smooth is None else Smoothness(("dose",), np.array([smooth]))
    beliefs: Any = SimpleNamespace(method="cell means", diagnostics=lambda: SimpleNamespace(smooth=along))
    evidence = LogEvidence(
        problem=problem_of(tuple(arm.name for arm in arms)),
        source=LogSource("ward-2024.parquet", "duckdb", 12000, 11929),
        beliefs=beliefs,
        made=np.array([[arm.rows, 0] for arm in arms]),
        natural=np.array([6100, 5829]),
        natural_sums=np.zeros(2),
        natural_squares=np.zeros(2),
        certificate=Certificate(None, (Bound.REGION,)),
        findings=(MISSING, YOUNG),
        fitted=(FittedNote("bed", "lottery", 210, 12, 1),),
        assumptions=RESTS_ON,
    )
    answer = Answer(Status.FOUND, arms[1 % len(arms)].name)
    made = Evaluation(
        evidence=evidence,
        confidence=0.95,
        seed=3,
        arms=arms,
        decision=Decision(answer, answer, 0.953, 0.953, margin=0.02),
        none_probability=0.004,
        runner_up="never-tried",
        runner_up_probability=0.04,
        certified_answer=Answer(Status.UNDECIDED),
        observed=(ObservedGroup("woman", 6100, 0.437), ObservedGroup("man", 5829, 0.381)),
        plain_gap_interval=None,
        next_pulls=(NextPulls("by-need", "natural", 0.6), NextPulls("never-tried", "woman", 0.4)),
    )
    return changed(made, **changes)


def changed(found: Evaluation, **changes: Any) -> Evaluation:
    """With other values, of what it rests on too, each by the name under which an evaluation shows it."""
    evidence, source = found.evidence, found.evidence.source
    if "log" in changes:
        evidence = replace(evidence, source=replace(source, name=changes.pop("log")))
    if "fitted_logging_arm" in changes:
        evidence = replace(evidence, certificate=Certificate(None, (), (changes.pop("fitted_logging_arm"),)))
    rests_on = {key: changes.pop(key) for key in ("findings", "assumptions", "problem") if key in changes}
    made, proved = found.decision, found.certified_answer
    arm, status = changes.pop("arm", made.answer.arm), changes.pop("status", made.answer.status)
    reasons = changes.pop("reasons", ("fairness-open",) if status == Status.UNDECIDED else ())
    recommended = changes.pop("recommended", Answer(status, arm) if status != Status.UNDECIDED else made.recommended)
    probability = changes.pop("probability", made.recommended_probability)
    decision = replace(
        made, answer=Answer(status, arm), reasons=reasons, recommended=recommended, recommended_probability=probability,
        blocked_by=changes.pop("blocked_by", ()),
    )  # fmt: skip
    certified = Answer(changes.pop("certified_status", proved.status), changes.pop("certified_arm", proved.arm))
    return replace(
        found, evidence=replace(evidence, **rests_on), decision=decision, certified_answer=certified, **changes
    )


def certified(**changes: Any) -> Evaluation:
    """The same, without what voids the guarantee."""
    clean = {"findings": (YOUNG,), "certified_status": Status.FOUND, "certified_arm": "by-need"}
    return evaluation(changes.pop("arms", ARMS), **{**clean, **changes})
