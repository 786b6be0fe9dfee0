"""A live study with made-up values, for pages and words: every field is there, nothing was run."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from fairarm import algorithm, load_problem
from fairarm.beliefs.assumptions import assumptions
from fairarm.beliefs.findings import Finding, Level
from fairarm.problem.problem import Problem
from fairarm.reports.page.study import SeenStudy
from fairarm.studies import (
    ArmStanding,
    CohortReport,
    Event,
    ExposureReport,
    HistoryPoint,
    Monitor,
    RowStanding,
    StudyState,
    StudyVerdict,
)

START = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
DAY = timedelta(days=1)


def seen_study(name: str = "reminders", bundled: str = "ad-marketplace", **changes: Any) -> SeenStudy:
    """Six cohorts, four of them settled, one lost outcome in a hundred; ``changes`` replace fields."""
    scenario = load_problem(bundled)
    asked = scenario.problem
    run = algorithm("pool", asked, pulls=2_000, confidence=0.95, seed=1)
    run.tell(scenario.world.pull(run.ask(), np.random.default_rng(1)), id="phase-1")
    verdict = run.verdict()
    cohorts = tuple(made_cohort(number, asked) for number in range(6))
    arms = tuple(made_arm(asked, report) for report in verdict.arms)
    history = tuple(made_point(asked, number) for number in range(4))
    people = {arm: dict.fromkeys(asked.groups, 40 + 7 * i) for i, arm in enumerate(asked.arm_names)}
    total = sum(sum(each.values()) for each in people.values())
    found = StudyVerdict(
        study=name, state=StudyState.RUNNING, status="UNDECIDED", arm=None, reason="not-proved-yet", reason_text="No answer is proved yet.", recommended="by-query",
        recommended_status="FOUND", recommended_probability=0.71, confidence=0.95, void=False, void_by=(), settled=4, out=2,
        people=total, counted=total - 12, filled=0, unserved=3, erased=1, lost=12, lost_means="worst", unserved_means="worst", cut=(),
        dropped=(), next_at=START + 12 * DAY, closes_at=START + 6 * DAY, none_probability=verdict.none_probability, findings=(),
        assumed=assumptions(asked), verdict=verdict,
    )  # fmt: skip
    made = SeenStudy(
        name=name,
        problem=asked,
        options={"pulls": 20_000, "people": 500, "arrivals": 2_000, "window": "7d", "cohort": "1d", "confidence": 0.95},
        now=START + 11 * DAY,
        verdict=found,
        findings=(),
        exposure=ExposureReport(people, total, 31, 4, 12.5, asked.arm_names[0]),
        cohorts=cohorts,
        events=(made_event(1, "created", {}), made_event(2, "paused", {"reason": "a holiday", "cohort": 3}, "ann")),
        history=history,
        arms=arms,
        monitors=tuple(
            Monitor(watch, value, threshold, False, False, watch != "guard", {})  # type: ignore[arg-type]
            for watch, value, threshold in (
                ("law", 0.4, 9.2), ("drift", 1.1, 6.9), ("loss", 0.2, 6.9), ("coverage", 0.93, 0.5), ("guard", 0.0, 4.6),
            )
        ),
        addresses={arm: f"/studies/{name}/arms/{k}" for k, arm in enumerate(asked.arm_names)},
    )  # fmt: skip
    return replace(made, **changes)


def made_cohort(number: int, problem: Problem) -> CohortReport:
    settled = number < 4
    dealt = 100 + number
    return CohortReport(
        number=number,
        state="settled" if settled else "out" if number == 4 else "open",
        starts=START + number * DAY,
        opened=START + number * DAY,
        closes=START + (number + 1) * DAY,
        matures=START + (number + 8) * DAY,
        settles=START + (number + 8) * DAY + timedelta(minutes=1),
        settled=START + (number + 8) * DAY if settled else None,
        plan={problem.arm_names[0]: 125},
        share=0.25,
        cards=125,
        dealt=dealt,
        told=dealt - 1 if settled else 60,
        late=0,
        unserved=0,
        lost=1 if settled else None,
        counted=dealt - 1 if settled else None,
        filled=0 if settled else None,
        erased=0 if settled else None,
        cut=False,
        reason=None,
        why={},
    )


def made_arm(problem: Problem, report: Any) -> ArmStanding:
    rows = tuple(
        RowStanding(
            row.name, own.value, own.interval, own.interval and (own.interval[0] - 0.1, own.interval[1] + 0.1), row.above, row.below,
            own.holds_probability,
        )
        for row, own in zip(problem.rows, report.fairness, strict=True)
    )  # fmt: skip
    ends = report.outcome_interval
    return ArmStanding(
        name=report.name,
        outcome=report.outcome,
        interval=ends,
        certified=ends and (ends[0] - 0.05, ends[1] + 0.05),
        rows=rows,
        closest=report.closest,
        best_probability=report.best_probability,
        fair_probability=report.fair_probability,
        proof=report.certified,
        paused=False,
        paused_by=None,
        reason=str(report.reason),
        people=120,
        counted=100,
    )


def made_point(problem: Problem, number: int) -> HistoryPoint:
    names = problem.arm_names
    best = {arm: (number + 1) / 8 if k == 0 else (1 - (number + 1) / 8) / len(names) for k, arm in enumerate(names)}
    fair = {arm: 0.9 - 0.15 * k for k, arm in enumerate(names)}
    return HistoryPoint(number, START + (number + 8) * DAY, best, fair, 0.01, "UNDECIDED", None, 101 * (number + 1))


def made_event(number: int, kind: str, body: dict[str, Any], actor: str = "") -> Event:
    at = START + number * timedelta(hours=1)
    return Event(number, at, actor, kind, body, StudyState.RUNNING, "0" * 64, "1" * 64)


VOIDS = Finding(
    "outcomes-drift",
    "Outcomes in the same cell are not what they were.",
    412,
    ("monday", "sunday"),
    level=Level.BLOCKS_ANSWER,
)
