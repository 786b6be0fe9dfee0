"""Live studies in words for who runs them: what was agreed to, one person, one arm, what was checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from fairarm.durations import shown_days
from fairarm.reports.words.numbers import count, names, value
from fairarm.reports.words.runs import arm_reason
from fairarm.reports.words.studies import moment
from fairarm.studies.answers import (
    Assignment,
    CohortReport,
    StudyVerdict,
    Verification,
    WhyArm,
    WhyPerson,
)

# ---- creating ----


def study_created(name: str, options: Mapping[str, Any], at_once: int, weekly: bool) -> Iterator[str]:
    """What was agreed to, and what to think of before people come."""
    yield (
        f"Study '{name}': {options['people']} people enter each cohort of {_length(options['cohort'])}, of {options['arrivals']:g} who arrive in "
        f"a day; an outcome counts for {_length(options['window'])}; at most {options['pulls']} people in all."
    )
    yield f"Out at the same time: up to {at_once} people whose outcome is not known yet."
    if not weekly:
        yield 'Where weekdays differ, cohorts of a day may certify what holds from Monday to Friday only: use cohort = "7d" there.'


def _length(days: object) -> str:
    return days if isinstance(days, str) else shown_days(float(str(days)))


# ---- one person ----


def assignment_text(found: Assignment) -> str:
    """What a person gets."""
    decision = "" if found.decision is None else f", decision {found.decision}"
    again = " (as before)" if found.repeated else ""
    if found.outside:
        arm = "Serve as before" if found.arm is None else f"Serve with the deployed arm, {found.arm}{decision}"
        return f"{arm}: not in the study{again}; nothing is to be told."
    other = " The group or an input differs from those of the first call, which hold." if found.conflict else ""
    return f"Arm {found.arm}{decision}, cohort {found.cohort}{again}. Tell the outcome with {found.id}.{other}"


PERSON = {
    "open": "The outcome has not been told yet; it counts until {until}.",
    "told": "The outcome was told {told}, in time. It counts once cohort {cohort} is settled.",
    "late": "The outcome was told {told}, after the window: it is kept and does not count.",
    "unserved": "The person was never served, and stays outside the study. The certificate counts the worst case, unless the study states that this is at random.",
    "counted": "The outcome was told {told} and counts.",
    "not reported": "The person was served, and no outcome was told in time: it counts as the study says (lost).",
    "erased": "The person was erased before the cohort was settled: the certificate counts the worst case.",
}


def why_person(found: WhyPerson) -> Iterator[str]:
    """What happened to one person and why."""
    if not found.unit_known or found.assignment is None:
        yield f"This person is not in the study. Their number is {found.entry:.4f}: they enter a cohort whose share is above that."
        if found.cohort is not None:
            yield (
                f"They first came{_at(found.issued)}, when cohort {found.cohort.number} was the newest, whose share is "
                f'{found.cohort.share:.4f}. They were answered "outside", and stay outside for the whole study.'
            )
        return
    cohort, given = found.cohort, found.assignment
    share = "" if cohort is None else f", below the cohort's share of {cohort.share:.4f}"
    yield f"Entered cohort {given.cohort}: their number is {found.entry:.4f}{share}."
    yield (
        f"Got card {found.slot} of the cohort's shuffled deck{_at(found.issued)}: arm {given.arm}"
        + ("" if given.decision is None else f", decision {given.decision}, drawn from the arm's table")
        + "."
    )
    if cohort is not None:
        yield from _why_plan(cohort)
    said = PERSON.get(found.status or "", "")
    told = "" if found.told is None else f"{moment(found.told)} UTC"
    until = "" if cohort is None else f"{moment(cohort.matures)} UTC"
    if said:
        yield said.format(told=told, cohort=given.cohort, until=until)
    if found.corrections:
        yield f"Corrected {count(found.corrections, 'time')}."


def _at(issued: datetime | None) -> str:
    return "" if issued is None else f" at {moment(issued)} UTC"


def _why_plan(cohort: CohortReport) -> Iterator[str]:
    cards = ", ".join(f"{arm} {number}" for arm, number in cohort.plan.items() if number)
    yield f"The deck had {cohort.cards} cards ({cards}), fixed when the cohort opened at {moment(cohort.opened)} UTC."


# ---- one arm ----


def why_arm(found: WhyArm, verdict: StudyVerdict) -> Iterator[str]:
    """What happened to one arm and why."""
    arm = found.arm
    report = next(each for each in verdict.verdict.arms if each.name == arm.name)
    yield f"{arm.name}: {arm_reason(verdict.verdict, report)}."
    if arm.outcome is not None:
        ends = "" if arm.interval is None else f" (95 %: {value(arm.interval[0])} to {value(arm.interval[1])})"
        yield f"Outcome {value(arm.outcome)}{ends}; fair with probability {value(arm.fair_probability, '.3g')}, the best fair arm with {value(arm.best_probability, '.3g')}."
    closest = next((row for row in arm.rows if row.name == arm.closest), None)
    if closest is not None and closest.value is not None:
        yield f"Closest to its end: {closest.name}, {value(closest.value, '+.4f')}; it must lie {_ends(closest.above, closest.below)}."
    if arm.paused:
        yield "It is not dealt any more: proved unfair, or its guard has given alarm."
    dealt = ", ".join(f"{number}: {cards}" for number, cards in found.cards.items() if cards)
    yield f"Cards by cohort: {dealt or 'none'}; {count(arm.people, 'person').replace('persons', 'people')} served."
    for finding in found.findings:
        yield f"{finding.name}: {finding.message}"


def _ends(above: float | None, below: float | None) -> str:
    if above is None:
        return f"below {value(below, '.4g')}"
    return (
        f"above {value(above, '.4g')}" if below is None else f"between {value(above, '.4g')} and {value(below, '.4g')}"
    )


# ---- what was checked ----


def _cohorts(numbers: tuple[int, ...]) -> str:
    return f"cohort{'' if len(numbers) == 1 else 's'} {names([str(each) for each in numbers])}"


def verification_text(found: Verification) -> Iterator[str]:
    """Whether all is well, what was looked at, what could not be."""
    looked = (
        f"{count(found.assignments, 'assignment')}, {count(found.cohorts, 'cohort')} ({found.settled} settled), "
        f"{count(found.events, 'event')}"
    )
    if found.ok:
        yield f"{found.study}: all is as it must be ({looked})."
    else:
        yield f"{found.study}: {count(len(found.problems), 'problem')} ({looked})."
        yield from found.problems
    if found.erased:
        yield f"{count(found.erased, 'assignment')} erased on purpose: what is gone cannot be checked."
    if found.after_settlement:
        yield f"{count(found.after_settlement, 'outcome')} came within their window after their cohort was settled: kept, not counted."
    if found.not_recomputed:
        yield f"Not worked out again, since their rows are erased: {_cohorts(found.not_recomputed)}."
