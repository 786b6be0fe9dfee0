"""Sentences about live studies: each says what is known, how sure, and what comes next, and nothing that is not so."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from fairarm.reports.page.study import SeenStudy
from fairarm.reports.words.studies import (
    STATES,
    WATCHES,
    chance_cell,
    counted_text,
    event_actor,
    event_reason,
    event_text,
    exposure_text,
    known_now,
    left_out,
    length,
    moment,
    monitor_numbers,
    monitor_state,
    next_step,
    when,
)
from fairarm.studies import Monitor, StudyState
from reports.made_studies import DAY, START, made_cohort, made_event, seen_study


@pytest.fixture(scope="module")
def seen() -> SeenStudy:
    return seen_study()


def test_times_are_in_utc_and_said_as_people_say_them() -> None:
    assert moment(START) == "2026-03-02 08:00:00"
    for seconds, said in ((0, "0 seconds"), (1, "1 second"), (119, "119 seconds"), (120, "2 minutes"), (7_200, "2 hours"), (864_000, "10 days")):  # fmt: skip
        assert length(timedelta(seconds=seconds)) == said
    assert when(START + timedelta(seconds=14), START) == "in 14 seconds (08:00:14 UTC)"
    assert when(START + 7 * DAY, START) == "in 7 days (2026-03-09 08:00:00 UTC)"
    assert when(START - DAY, START) == "any moment now"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"status": "FOUND", "arm": "by-query"}, "by-query is the best fair arm: certified, wrong with probability at most 0.05."),
        ({"status": "NO_FAIR_ARM"}, "No arm is fair: certified, wrong with probability at most 0.05."),
        ({"reason": "not-proved"}, "Undecided: the study ended before it was sure. Most likely"),
        ({"settled": 0}, "Nothing is known yet: no cohort is settled."),
        ({}, "Not certified yet. Most likely"),
        ({"void": True, "void_by": ("outcomes-drift",)}, "Nothing is certified: something that was declared is wrong (outcomes-drift)."),
        (
            {"void": True, "void_by": ("law",), "status": "FOUND", "arm": "by-query"},
            "Nothing is certified: something that was declared is wrong (law).",
        ),
    ],
)  # fmt: skip
def test_what_is_known_and_how_sure(seen: SeenStudy, changes: dict[str, Any], said: str) -> None:
    found = known_now(replace(seen.verdict, **changes))
    assert found.startswith(said)
    certified = "certified, wrong" in found
    assert certified == (changes.get("status") in ("FOUND", "NO_FAIR_ARM") and not changes.get("void"))


def test_what_is_not_certified_does_not_look_certain(seen: SeenStudy) -> None:
    said = known_now(replace(seen.verdict, recommended="popular", recommended_probability=0.99999))
    assert said == "Not certified yet. Most likely popular is the best fair arm, with probability above 0.99."
    said = known_now(
        replace(seen.verdict, recommended=None, recommended_status="NO_FAIR_ARM", recommended_probability=0.904)
    )
    assert said == "Not certified yet. Most likely no arm is fair, with probability 0.90."
    assert [chance_cell(p) for p in (None, 0.0, 0.5, 0.99, 1.0)] == ["?", "< 0.01", "0.50", "0.99", "> 0.99"]


def test_what_comes_next_and_when(seen: SeenStudy) -> None:
    now = START + 5 * DAY + timedelta(hours=20)
    said = next_step(seen.verdict, seen.cohorts, now)
    assert said == "Cohort 4 is settled in 6 days (2026-03-14 08:00:00 UTC). Cohort 5 takes people for another 4 hours."
    states = {status: next_step(replace(seen.verdict, state=status), seen.cohorts, now) for status in StudyState}
    assert (
        "Cohort 5 takes people" not in states[StudyState.PAUSED]
        and "until somebody resumes it" in states[StudyState.PAUSED]
    )
    assert states[StudyState.DRAINING].endswith("No cohort opens any more.")
    assert states[StudyState.FINISHED] == states[StudyState.CLOSED] == "Nothing will change any more."
    assert "confirms the clock" in next_step(seen.verdict, seen.cohorts, now, held=True)
    assert next_step(seen.verdict, (), now) == "The next cohort is about to open."
    assert {*STATES} == {*StudyState}


def test_people_who_are_lost_and_cohorts_that_are_left_out(seen: SeenStudy) -> None:
    said = counted_text(seen.verdict)
    assert (
        "8 people not reported (counted as the worst case); 3 never served (counted as the worst case); 1 erased"
        in said
    )
    assert "5 of them not reported, which means none" in counted_text(
        replace(seen.verdict, filled=5, lost_means="none")
    )
    assert "8 people not reported (none, inputs not known)" in counted_text(replace(seen.verdict, lost_means="none"))
    assert counted_text(replace(seen.verdict, lost=0, unserved=0, erased=0)).endswith("678 rows count.")
    assert left_out(seen.verdict) == []
    cut, dropped = left_out(replace(seen.verdict, cut=(2,), dropped=(3, 4)))
    assert "2" in cut and "3 nats" in cut and "3, 4" in dropped


def test_exposure_says_how_many_and_what_it_cost(seen: SeenStudy) -> None:
    people, cost = exposure_text(seen.exposure, seen.problem.outcome)
    assert people.startswith("31 of 690 people") and "; 4 of them when" in people
    assert (
        f"serving everybody by {seen.exposure.against}, the study gave up 12.5 in all, 0.018 per person" in cost
        and "revenue (from 0 to 10)" in cost
    )
    assert "gained" in exposure_text(replace(seen.exposure, given_up=-3.0), seen.problem.outcome)[1]
    assert "before a cohort is settled" in exposure_text(replace(seen.exposure, given_up=None), seen.problem.outcome)[1]


def test_monitors_are_quiet_alarmed_or_cannot_be_used() -> None:
    quiet = Monitor("drift", 1.14, 6.9, False, False, True)
    assert (monitor_state(quiet), monitor_numbers(quiet)) == ("quiet", "evidence 1.1; alarm at 6.9")
    assert monitor_state(replace(quiet, alarm=True)) == "alarm"
    assert monitor_state(replace(quiet, alarm=True, voids=True)) == "alarm: nothing is certified"
    assert monitor_state(replace(quiet, on=False)) == "cannot be used here"
    assert monitor_numbers(Monitor("coverage", 0.93, 0.5, False, False, True)).startswith("93% of")
    assert {*WATCHES} == {"law", "drift", "loss", "coverage", "guard"}


def test_events_say_what_and_why_apart() -> None:
    event = made_event(3, "cohort-settled", {"reason": "matured", "cohort": 4, "long": "x" * 200, "empty": None})
    assert event_reason(event) == "matured"
    assert event_text(event) == f"cohort settled: cohort 4, long {'x' * 79}…"
    assert event_text(made_event(1, "created", {"fingerprint": "ab12", "options": "{}"})) == "created"
    assert [event_actor(made_event(1, "x", {}, actor)) for actor in ("", "tick", "ann")] == [
        "fairarm",
        "fairarm",
        "ann",
    ]
    assert made_cohort(5, seen_study().problem).lost is None
