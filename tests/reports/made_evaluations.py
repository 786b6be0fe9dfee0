"""Evaluations made by hand: numbers that no log has to give."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairarm.experiments.evaluate import ArmEvaluation, Estimate, Evaluation, NextPulls, ObservedGroup
from fairarm.logs.findings import Finding
from fairarm.problem.answer import Status
from fairarm.problem.fitting import FittedNote
from fairarm.problem.mechanism import Arm, table
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.variables import Variable

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
    "outcomes-not-due", "40 of 12000 rows are younger than the time within which outcomes arrive.", 40, (), False
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


def evaluation(arms: tuple[ArmEvaluation, ...] | None = None, **changes: Any) -> Evaluation:
    """Five arms: the second is the answer, the third is better and unfair, the fourth hardly seen. Nothing is certified."""
    arms = arms or tuple(uncertified(arm) for arm in ARMS)
    made = Evaluation(
        problem=problem_of(tuple(arm.name for arm in arms)),
        log="ward-2024.parquet",
        engine="duckdb",
        rows=12000,
        used=11929,
        method="cell means",
        confidence=0.95,
        seed=3,
        arms=arms,
        status=Status.FOUND,
        arm=arms[1 % len(arms)].name,
        probability=0.953,
        runner_up="never-tried",
        runner_up_probability=0.04,
        certified_status=Status.UNDECIDED,
        certified_arm=None,
        not_certified=("the log has the finding 'missing-outcomes'",),
        certified_by=None,
        observed=(ObservedGroup("woman", 6100, 0.437), ObservedGroup("man", 5829, 0.381)),
        next_pulls=(NextPulls("by-need", "natural", 0.6), NextPulls("never-tried", "woman", 0.4)),
        findings=(MISSING, YOUNG),
        fitted=(FittedNote("bed", "lottery", 210, 12, 1),),
        assumptions=ASSUMPTIONS,
    )
    return replace(made, **changes)


def certified(**changes: Any) -> Evaluation:
    """The same, without what voids the guarantee."""
    clean = {"findings": (YOUNG,), "not_certified": (), "certified_by": "joint region of the cell means"}
    return evaluation(
        changes.pop("arms", ARMS), **{**clean, "certified_status": Status.FOUND, "certified_arm": "by-need", **changes}
    )
