"""Live studies in words: what is known and what happens next, people, exposure, what is watched, events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from fairarm.problem.outcome import Outcome
from fairarm.reports.words.numbers import count, digits_of, names, unit_of, value, whole
from fairarm.studies import CohortReport, Event, ExposureReport, Monitor, StudyState, StudyVerdict, Summary

STATES = {
    StudyState.RUNNING: "running: a new cohort opens when the open one closes",
    StudyState.PAUSED: "paused: no cohort opens until somebody resumes it",
    StudyState.DRAINING: "draining: no cohort opens any more, those that are out still settle",
    StudyState.FINISHED: "finished: everything is settled",
    StudyState.CLOSED: "closed by hand: everything is settled",
}

COHORT_STATES = {
    "open": "takes people",
    "out": "waits for outcomes",
    "settled": "settled",
    "dropped": "left out",
}

WATCHES = {
    "law": "rows that the declared law cannot have made",
    "drift": "outcomes that follow the weekday, or move",
    "loss": "arms or groups whose outcomes are lost more often",
    "coverage": "hours in which cards had run out",
    "guard": "an arm whose people show a gap beyond the tolerance, whatever the model says",
}

_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60))


# ---- times ----


def moment(at: datetime) -> str:
    """2026-11-17 22:50:08."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def length(time: timedelta) -> str:
    """14 seconds, 3 minutes, 7 days: to two digits or so."""
    seconds = max(0, round(time.total_seconds()))
    for unit, size in _UNITS:
        if seconds >= 2 * size:
            return count(round(seconds / size), unit)
    return count(seconds, "second")


def when(at: datetime, now: datetime) -> str:
    """in 14 seconds (22:50:08 UTC), with the day where it is not today's; any moment now, where it should have been."""
    if at <= now:
        return "any moment now"
    text = moment(at)
    return f"in {length(at - now)} ({text.partition(' ')[2] if text[:10] == moment(now)[:10] else text} UTC)"


# ---- what is known, and what comes next ----


def known_now(found: StudyVerdict) -> str:
    """What is known, and how sure, in one sentence."""
    error = f"wrong with probability at most {1 - found.confidence:.3g}"
    if found.void:
        return f"Nothing is certified: something that was declared is wrong ({names(found.void_by)})."
    if found.arm is not None:
        return f"{found.arm} is the best fair arm: certified, {error}."
    if found.status == "NO_FAIR_ARM":
        return f"No arm is fair: certified, {error}."
    so_far = _recommended(found)
    if found.reason == "not-proved":
        return f"Undecided: the study ended before it was sure. {so_far}"
    if not found.settled:
        return "Nothing is known yet: no cohort is settled."
    return f"Not certified yet. {so_far}"


def _recommended(found: StudyVerdict) -> str:
    """By the posterior."""
    if found.recommended_probability is None:
        return "No arm is known well enough to say more."
    what = "no arm is fair" if found.recommended is None else f"{found.recommended} is the best fair arm"
    return f"Most likely {what}, with probability {_chance(found.recommended_probability)}."


def _chance(probability: float) -> str:
    """Two digits; what is not certain does not look so."""
    return "above 0.99" if probability > 0.99 else f"{probability:.2f}"


def chance_cell(probability: float | None) -> str:
    """The same in a table."""
    if probability is None:
        return "?"
    return "> 0.99" if probability > 0.99 else "< 0.01" if probability < 0.01 else f"{probability:.2f}"


def next_step(found: StudyVerdict, cohorts: Sequence[CohortReport], now: datetime, held: bool = False) -> str:
    """What happens next, and when."""
    if found.state.over:
        return "Nothing will change any more."
    if held:
        return "The clock may be wrong: nobody enters, and nothing opens or settles, until somebody confirms the clock (fairarm study confirm-clock)."
    takes = next((one for one in cohorts if one.state == "open"), None)
    waits = next((one for one in cohorts if one.state in ("open", "out")), None)
    said = []
    if waits is not None:
        at = found.next_at or waits.settles
        said.append(f"Cohort {waits.number} is settled {when(at, now)}.")
    if found.state == StudyState.RUNNING and takes is not None:
        said.append(f"Cohort {takes.number} takes people for another {length(takes.closes - now)}.")
    elif found.state == StudyState.PAUSED:
        said.append("It is paused: no cohort opens until somebody resumes it.")
    elif found.state == StudyState.DRAINING:
        said.append("No cohort opens any more.")
    return " ".join(said) or "The next cohort is about to open."


def answer_text(found: Summary) -> str:
    """The answer of one study in a list."""
    if found.arm is not None:
        return f"{found.arm} is the best fair arm"
    if found.status == "NO_FAIR_ARM":
        return "no arm is fair"
    return "undecided" if found.state.over else "none yet"


def left_out(found: StudyVerdict) -> list[str]:
    """Cohorts that count less, or not, and why."""
    said = []
    if found.cut:
        which = names([str(number) for number in found.cut])
        said.append(f"Stopped by hand while people came: {which}. That costs 3 nats of evidence each.")
    if found.dropped:
        which = names([str(number) for number in found.dropped])
        said.append(f"Left out, as independent of outcomes: {which}.")
    return said


def counted_text(found: StudyVerdict) -> str:
    """How many people count, and how those without an outcome do."""
    means = {"worst": "counted as the worst case", "at random": "left out, as missing at random"}
    lost = found.lost - found.unserved - found.erased
    parts = {
        f"{whole(found.filled)} of them not reported, which means {found.lost_means}": found.filled,
        f"{whole(lost)} people not reported ({means.get(found.lost_means, f'{found.lost_means}, inputs not known')})": lost,
        f"{whole(found.unserved)} never served ({means[found.unserved_means]})": found.unserved,
        f"{whole(found.erased)} erased (counted as the worst case)": found.erased,
    }
    said = "; ".join(text for text, people in parts.items() if people)
    return f"{whole(found.people)} people so far; {whole(found.counted)} rows count{f'; {said}' if said else ''}."


# ---- exposure ----


def exposure_text(found: ExposureReport, outcome: Outcome) -> list[str]:
    """How many people met an arm that is probably unfair, and what it cost."""
    said = [
        f"{whole(found.doubted_now)} of {whole(found.total)} people were served by an arm that is probably unfair, by what is known now; "
        f"{whole(found.doubted_then)} of them when that was known already."
    ]
    if found.given_up is None or found.against is None or not found.total:
        said.append("What that cost cannot be said before a cohort is settled.")
        return said
    each = found.given_up / found.total
    digits = digits_of(outcome)
    word = "gave up" if found.given_up >= 0 else "gained"
    said.append(
        f"Compared with serving everybody by {found.against}, the study {word} {value(abs(found.given_up), ',.1f')} in all, "
        f"{value(abs(each), digits)} per person, in {unit_of(outcome)}."
    )
    return said


# ---- what is watched ----


def monitor_state(found: Monitor) -> str:
    """Quiet, or what it has found."""
    if not found.on:
        why = found.detail.get("why")
        return f"cannot be used here{f': {why}' if why else ''}"
    if found.voids:
        return "alarm: nothing is certified"
    return "alarm" if found.alarm else "quiet"


def monitor_numbers(found: Monitor) -> str:
    """How far it is from an alarm."""
    if not found.on:
        return "none"
    if found.name == "coverage":
        return f"{found.value:.0%} of the best covered hour's time; voids below {found.threshold:.0%}"
    return f"evidence {found.value:.1f}; alarm at {found.threshold:.1f}"


# ---- events ----


def event_text(event: Event) -> str:
    """What happened, without the reason."""
    rest = {name: value for name, value in event.body.items() if name not in UNSAID}
    kind = event.kind.replace("_", " ").replace("-", " ")
    return f"{kind}: {_pairs(rest)}" if rest else kind


def event_reason(event: Event) -> str:
    """Why, as was said or found."""
    return str(event.body.get("reason") or "")


UNSAID = ("reason", "digest", "fingerprint", "options")
"""Of an event: said elsewhere, or for programs."""
MOST_FACTS, LONGEST_FACT = 6, 80


def event_actor(event: Event) -> str:
    """Who did it: somebody, or fairarm itself."""
    return "fairarm" if event.actor in ("", "tick") else event.actor


def _pairs(facts: Mapping[str, Any]) -> str:
    said = [
        f"{name.replace('_', ' ')} {_short(value)}" for name, value in facts.items() if value not in (None, "", [], {})
    ]
    return ", ".join(said[:MOST_FACTS]) + (" …" if len(said) > MOST_FACTS else "")


def _short(fact: Any) -> str:
    text = ", ".join(map(str, fact)) if isinstance(fact, list | tuple) else str(fact)
    return text if len(text) <= LONGEST_FACT else f"{text[: LONGEST_FACT - 1]}…"
