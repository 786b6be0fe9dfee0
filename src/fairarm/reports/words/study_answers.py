"""Live studies in words: the answer and what comes next, one person, one arm, what happened, what was checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from fairarm.durations import shown_days
from fairarm.reports.words.numbers import Marked, count, names, percent, value
from fairarm.reports.words.runs import arm_reason
from fairarm.studies.answers import (
    Assignment,
    CohortReport,
    Event,
    ExposureReport,
    Monitor,
    StudyStatus,
    StudyVerdict,
    Verification,
    WhyArm,
    WhyPerson,
)

STATUS = {
    StudyStatus.RUNNING: "running",
    StudyStatus.PAUSED: "paused: no cohort opens",
    StudyStatus.DRAINING: "draining: no cohort opens any more; those that are out still settle",
    StudyStatus.FINISHED: "finished",
    StudyStatus.CLOSED: "closed by hand",
}

ASSUMED = {
    "people-independent": "people do not influence each other",
    "unit-is-a-person": "a unit is a person",
    "declared-law": "the declared law",
    "sensitive-is-a-root": "nothing causes the sensitive attribute and also the outcome",
    "lost-at-random": "outcomes are lost at random, as stated",
    "dropped-cohorts": "cohorts that were left out were left out for reasons that have nothing to do with outcomes, as stated",
}

LOST = {"worst": "each is charged as it hurts most", "at random": "they count for nothing, as stated"}


def moment(at: datetime) -> str:
    """2026-11-17 22:50:08 UTC."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def study_answer(found: StudyVerdict) -> tuple[str | Marked, ...]:
    """One sentence: what is known and how sure that is."""
    after = f" after {count(found.settled, 'settled cohort')}."
    sure = f" (certified, confidence {found.confidence:g})"
    if found.void:
        return Marked("void"), f": nothing is certified, since {names(found.void_by)} {_says(found)}."
    if found.answer == "found":
        return Marked(str(found.arm)), f" is the best fair arm{sure},{after}"
    if found.answer == "no-fair-arm":
        return Marked("no arm is fair"), f"{sure},{after}"
    if found.settled == 0:
        return Marked("nothing is known yet"), ": no cohort is settled."
    if found.answer == "undecided":
        return Marked("undecided"), f": no answer is certified at confidence {found.confidence:g},{after}"
    leader, chance = found.verdict.leader, found.verdict.probability
    most = "" if leader is None or chance is None else f" The most likely answer: {leader}, probability {chance:.2g}."
    return Marked("not decided yet"), f",{after}{most}"


def _says(found: StudyVerdict) -> str:
    return "says that what was declared is wrong" if len(found.void_by) == 1 else "say that what was declared is wrong"


def study_people(found: StudyVerdict) -> str:
    """How many, how many of them count, what the lost ones count as."""
    text = f"{count(found.people, 'person').replace('persons', 'people')} assigned; {found.counted} outcomes count"
    lost = LOST.get(found.lost_means, f"not told means {found.lost_means}")
    text += f", {found.lost} were lost ({lost})." if found.lost else "; none was lost."
    if found.cut:
        text += f" Cut by hand: {_cohorts(found.cut)}."
    if found.dropped:
        text += f" Left out: {_cohorts(found.dropped)}."
    return text


def _cohorts(numbers: tuple[int, ...]) -> str:
    return f"cohort{'' if len(numbers) == 1 else 's'} {names([str(each) for each in numbers])}"


def study_next(found: StudyVerdict) -> str | None:
    """What happens next, and when."""
    if found.status.over:
        return None
    if found.next_at is None:
        return "No cohort is out." if found.status == StudyStatus.RUNNING else None
    return f"{count(found.out, 'cohort')} out; the next can be settled from {moment(found.next_at)}."


def study_assumed(found: StudyVerdict) -> str:
    """What the certificate rests on."""
    return f"Assumed: {'; '.join(ASSUMED.get(code, code) for code in found.assumed)}."


def exposure_text(found: ExposureReport) -> str:
    """Whom the study has served with what, in one line."""
    text = (
        f"Of {found.total} people, {found.doubted_now} were served by arms that are more likely unfair than not as known now "
        f"({found.doubted_then} as known when their cohort opened)."
    )
    if found.given_up is None or found.against is None:
        return text
    return f"{text} Outcome given up against {found.against}: {value(found.given_up, '.4g')} in all."


def monitor_text(found: Monitor) -> str:
    """law: 0.3 of 9.2."""
    if not found.on:
        return f"{found.name}: off here"
    state = "void" if found.voids else "alarm" if found.alarm else "quiet"
    return f"{found.name}: {state} ({value(found.value, '.3g')}, alarm at {value(found.threshold, '.3g')})"


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
    return f"Arm {found.arm}{decision}, cohort {found.cohort}{again}. Tell the outcome with {found.id}."


PERSON = {
    "open": "The outcome has not been told yet; it counts until {until}.",
    "told": "The outcome was told {told}, in time. It counts once cohort {cohort} is settled.",
    "late": "The outcome was told {told}, after the window: it is kept and does not count.",
    "unserved": "The person never got what was assigned: counts as lost.",
    "counted": "The outcome was told {told} and counts.",
    "lost": "No outcome was told in time: lost, and charged as the study says.",
}


def why_person(found: WhyPerson) -> Iterator[str]:
    """What happened to one person and why."""
    if not found.unit_known or found.assignment is None:
        yield f"This person is not in the study. Their number is {found.entry:.4f}: they enter a cohort whose share is above that."
        if found.cohort is not None:
            yield f"The share of cohort {found.cohort.number} is {found.cohort.share:.4f}."
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
    told = "" if found.told is None else moment(found.told)
    until = "" if cohort is None else moment(cohort.matures)
    if said:
        yield said.format(told=told, cohort=given.cohort, until=until)
    if found.corrections:
        yield f"Corrected {count(found.corrections, 'time')}."


def _at(issued: datetime | None) -> str:
    return "" if issued is None else f" at {moment(issued)}"


def _why_plan(cohort: CohortReport) -> Iterator[str]:
    cards = ", ".join(f"{arm} {number}" for arm, number in cohort.plan.items() if number)
    yield f"The deck had {cohort.cards} cards ({cards}), fixed when the cohort opened at {moment(cohort.opened)}."


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


# ---- what happened, what was checked ----


def event_text(event: Event) -> str:
    """One line: what, by whom, with what was said about it."""
    body = ", ".join(f"{key} {_short(item)}" for key, item in event.body.items() if item not in (None, "", [], {}))
    return event.kind + (f" by {event.actor}" if event.actor else "") + (f": {body}" if body else "")


def _short(item: object) -> str:
    text = percent(item) if isinstance(item, float) and 0 < item < 1 else str(item)
    return text if len(text) <= 80 else f"{text[:79]}…"


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
    if found.behind:
        yield f"{count(found.behind, 'outcome')} committed behind the snapshot of their settling: charged as lost."
    if found.not_recomputed:
        yield f"Not worked out again, since their rows are erased: {_cohorts(found.not_recomputed)}."
