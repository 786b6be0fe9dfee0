"""`verify` sees every change that somebody makes behind the study's back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fairarm.studies import Studies
from fairarm.studies.calls import row_digest
from fairarm.studies.events import line_hash
from fairarm.studies.progress import chained_digest
from four_arms import chain
from study_people import DAY, HOUR, SECOND, START, Clock, Crowd, small_study

Query = Callable[[str], list[tuple[Any, ...]]]

SETTLED, OUT, NEXT = 0, 2, 4
"""Cohorts with people: one that is settled, one whose outcomes are still waited for; and one that is open and has dealt nothing."""
PERSON = (
    "(SELECT a.id FROM fairarm_assignment a JOIN fairarm_outcome o ON o.assignment = a.id "
    "WHERE a.number = {} AND o.row IS NOT NULL AND a.erased IS NULL AND o.told < a.issued + 172800000000 ORDER BY o.told, a.id LIMIT 1)"
)
"""Somebody of a cohort whose outcome was told in time."""
NOTE = "WHERE text LIKE '%Anna%'"
"""The note of a correction of somebody whose cohort is out."""
OF_NOTE = f"WHERE seq = (SELECT seq FROM fairarm_note {NOTE})"

EACH = {
    "another arm": ("UPDATE fairarm_assignment SET arm = (arm + 1) % 4 WHERE id = {person}", "not that of their card"),
    "another slot": ("UPDATE fairarm_assignment SET slot = 74 WHERE id = {person}", "dealt twice, or was not in the deck"),
    "a slot below all": ("UPDATE fairarm_assignment SET slot = -1 WHERE id = {person}", "dealt twice, or was not in the deck"),
    "after its end": ("UPDATE fairarm_assignment SET issued = issued + 999999999999 WHERE id = {person}", "outside of its time"),
    "before its start": ("UPDATE fairarm_assignment SET issued = issued - 99999999999 WHERE id = {person}", "outside of its time"),
    "another group": ("UPDATE fairarm_assignment SET label = 1 - label WHERE id = {person}", "1 outcomes are not those that were told"),
    "another outcome": (
        "UPDATE fairarm_outcome SET row = CASE WHEN row % 2 = 0 THEN row + 1 ELSE row - 1 END WHERE assignment = {person}",
        "1 outcomes are not those that were told",
    ),
    "an outcome unsaid": ("UPDATE fairarm_outcome SET row = NULL WHERE assignment = {person}", "1 outcomes are not those that were told"),
    "another group's outcome": ("UPDATE fairarm_outcome SET label = 1 - label WHERE assignment = {person}", "outcomes are not those that were told"),
    "another digest": ("UPDATE fairarm_outcome SET digest = 'unserved' WHERE assignment = {person}", "1 outcomes are not those that were told"),
    "a share": ("UPDATE fairarm_cohort SET share = 0.9 WHERE number = {number}", "plan, share, times or deck"),
    "a plan": ("UPDATE fairarm_cohort SET plan = '{{\"good\": 75}}' WHERE number = {number}", "plan, share, times or deck"),
    "a start": ("UPDATE fairarm_cohort SET starts = starts - 1 WHERE number = {number}", "plan, share, times or deck"),
    "an opening": ("UPDATE fairarm_cohort SET opened = opened + 1 WHERE number = {number}", "plan, share, times or deck"),
    "an end": ("UPDATE fairarm_cohort SET closes = closes + 1 WHERE number = {number}", "plan, share, times or deck"),
    "why it has its plan": ("UPDATE fairarm_cohort SET why = '{{}}' WHERE number = {number}", "plan, share, times or deck"),
    "a deck": (
        "UPDATE fairarm_deck SET arms = (SELECT arms FROM fairarm_deck WHERE number = 1) WHERE number = {number}", "plan, share, times or deck",
    ),
    "cards that were never made": ("UPDATE fairarm_counter SET size = 99 WHERE number = {number}", "from a deck of 75"),
    "a cohort": ("DELETE FROM fairarm_cohort WHERE number = {number}", "belong to no cohort"),
}  # fmt: skip
"""Tried on a settled cohort and on one that is out."""

ONCE = {
    "an outcome is gone": (f"DELETE FROM fairarm_outcome WHERE assignment = {PERSON.format(SETTLED)}", "1 outcomes were counted that are not there"),
    "an outcome came too late": (
        f"UPDATE fairarm_outcome SET told = told + 999999999999 WHERE assignment = {PERSON.format(SETTLED)}", "1 outcomes were counted that are not there",
    ),
    "all outcomes are others": (
        "UPDATE fairarm_outcome SET row = CASE WHEN row % 2 = 0 THEN row + 1 ELSE row - 1 END WHERE row IS NOT NULL",
        "'rows' is not what its people's rows come to",
    ),
    "groups of people are others": ("UPDATE fairarm_assignment SET label = 1 - label WHERE number = 0", "'rows' is not what its people's rows come to"),
    "an orphan": ("INSERT INTO fairarm_outcome (assignment, digest, told) VALUES (7, 'x', 0)", "1 outcomes belong to no assignment"),
    "an actor": ("UPDATE fairarm_event SET actor = 'somebody' WHERE seq = 2", "event 2"),
    "a time": ("UPDATE fairarm_event SET at = at + 1 WHERE seq = 2", "event 2"),
    "a kind": ("UPDATE fairarm_event SET kind = 'paused' WHERE seq = 3", "event 3"),
    "a body": ("UPDATE fairarm_event SET body = '{\"cohort\":0}' WHERE kind = 'settled' AND seq = (SELECT min(seq) FROM fairarm_event WHERE kind = 'settled')", "(settled) is not what its hash says"),
    "a status": ("UPDATE fairarm_event SET status = 'paused' WHERE seq = 2", "event 2"),
    "a hash": ("UPDATE fairarm_event SET hash = prev WHERE seq = 2", "event 3"),
    "an event is gone": ("DELETE FROM fairarm_event WHERE seq = 2", "event 3"),
    "the first event is gone": ("DELETE FROM fairarm_event WHERE seq = 1", "event 2"),
    "what was counted": ("UPDATE fairarm_settled SET counted = state WHERE number = 0", "cohort 0: what was settled was changed since"),
    "what was shown": ("UPDATE fairarm_settled SET shown = replace(shown, '\"arm\":null', '\"arm\":\"good\"') WHERE number = 0", "cohort 0: what was settled was changed since"),
    "what was lost": ("UPDATE fairarm_settled SET lost = lost + 1 WHERE number = 0", "lost or cut"),
    "what was cut": ("UPDATE fairarm_settled SET cut = 1 - cut WHERE number = 0", "lost or cut"),
    "a settled cohort is open again": ("DELETE FROM fairarm_settled WHERE number = 0", "cohort 1 was settled, and one before it was not"),
    "the settled cohort before is another": ("UPDATE fairarm_settled SET digest = 'x' WHERE number = 0", "cohort 1: what was settled was changed since"),
    "a cohort that never was": (
        "INSERT INTO fairarm_settled SELECT study, 99, at, cells, counted, lost, cut, shown, state, digest FROM fairarm_settled WHERE number = 0",
        "cohort 99 is settled, and was never opened",
    ),
    "fewer pulls": ("UPDATE fairarm_study SET options = replace(options, '\"pulls\": 2000', '\"pulls\": 100')", "at most 100 may be"),
    "a note": (f"UPDATE fairarm_note SET text = '{{}}' {NOTE}", "its note, or the correction"),
    "a note's salt": (f"UPDATE fairarm_note SET salt = '0' {NOTE}", "its note, or the correction"),
    "a note's person": (f"UPDATE fairarm_note SET assignment = assignment + 1 {NOTE}", "its note, or the correction"),
    "a note of nobody": (f"UPDATE fairarm_note SET assignment = NULL {NOTE}", "its note, or the correction"),
    "a note without its salt": (f"UPDATE fairarm_note SET salt = NULL {NOTE}", "its note, or the correction"),
    "half a note": (f"UPDATE fairarm_note SET text = NULL, assignment = NULL {NOTE}", "its note, or the correction"),
    "a note is gone": (f"DELETE FROM fairarm_note {NOTE}", "its note, or the correction"),
    "who erased": ("UPDATE fairarm_note SET text = '{\"actor\": \"nobody\"}' WHERE text LIKE '%boss%'", "(erased): its note"),
    "an erased note is gone": ("DELETE FROM fairarm_note WHERE text IS NULL", "(corrected): its note"),
    "a correction": (f"UPDATE fairarm_correction SET row = row - 1 {OF_NOTE}", "its note, or the correction"),
    "a correction's group": (f"UPDATE fairarm_correction SET label = 1 - label {OF_NOTE}", "its note, or the correction"),
    "a correction that did not count": (f"UPDATE fairarm_correction SET counts = 0 {OF_NOTE}", "its note, or the correction"),
    "a correction is gone": (f"DELETE FROM fairarm_correction {OF_NOTE}", "there are 0 corrections, and 1 were made"),
    "a correction that nobody made": (
        f"INSERT INTO fairarm_correction SELECT assignment, 999, label, row, counts FROM fairarm_correction {OF_NOTE}", "there are 2 corrections, and 1 were made",
    ),
}  # fmt: skip

CHANGES = [(change, words) for change, words in ONCE.values()] + [
    (change.format(person=PERSON.format(number), number=number), words)
    for change, words in EACH.values()
    for number in (SETTLED, OUT)
]


@pytest.fixture
def settled(studies: Studies, clock: Clock) -> Crowd:
    """Two cohorts are settled; a third is out: two of its outcomes were corrected, and one of these people is erased."""
    crowd = Crowd(studies, small_study(studies), clock, lost=lambda row: 0.05)
    crowd.days(0, 3)
    for unit, why in list(zip(_inside(crowd), ("Anna called", "Ben called"), strict=False)):
        id = str(crowd.study.assign(unit, "a").id)
        crowd.study.tell(id, {"V": "1", "Y": "0"})
        assert crowd.study.correct(id, {"V": "1", "Y": "1"}, why, "ann")
    assert crowd.study.forget(unit, "boss")
    for number in (3, 4):
        crowd.clock.now = START + number * DAY - 1
        crowd.tell()
        crowd.tick(START + number * DAY + 61 * SECOND)
    return crowd


def _inside(crowd: Crowd) -> Iterator[str]:
    """People who come last to the cohort that is open."""
    return (unit for unit in (f"late {i}" for i in range(50)) if not crowd.study.assign(unit, "a").outside)


def test_what_was_not_touched_is_well_and_what_was_is_found(
    settled: Crowd, query: Query, opened: Callable[..., Studies]
) -> None:
    """One after the other, each undone by a copy of its table."""
    found = settled.study.verify()
    assert found.ok and found.settled == 2 and found.assignments > 60 and found.after_settlement == 0, found.problems
    for change, words in CHANGES:
        table = change.split()[2 if change.startswith(("DELETE", "INSERT")) else 1]
        query(f"CREATE TABLE kept AS SELECT * FROM {table}")
        query(change)
        fresh = opened().open("small")
        problems = fresh.verify().problems
        assert any(words in each for each in problems), (change, problems)
        query(f"DELETE FROM {table}")
        query(f"INSERT INTO {table} SELECT * FROM kept")
        query("DROP TABLE kept")
    assert settled.study.verify().ok


def test_a_note_may_be_emptied_by_hand(settled: Crowd, query: Query) -> None:
    """As docs/live.md says: text and salt; of a correction the assignment stays, so that an erasure still finds the note."""
    query("UPDATE fairarm_note SET salt = NULL, text = NULL")
    assert settled.study.verify().ok, settled.study.verify().problems
    assert {event.actor for event in settled.study.events() if event.kind in ("corrected", "erased")} == {"erased"}


def test_a_wealth_that_does_not_follow_is_found(settled: Crowd, query: Query) -> None:
    """Cells, bits and digest are changed together, as somebody would who knows how: the state does not follow from them."""
    cells, bits, state, shown = query("SELECT cells, counted, state, shown FROM fairarm_settled WHERE number = 0")[0]
    other = cells.replace('"weekday":0', '"weekday":5')
    assert other != cells
    digest = chained_digest("", other, bits, state, shown)
    query(f"UPDATE fairarm_settled SET cells = '{other}', digest = '{digest}' WHERE number = 0")
    assert any("is not what its rows make of it" in each for each in settled.study.verify().problems)


def test_an_event_that_was_left_out_is_found(settled: Crowd, query: Query) -> None:
    """The last line gets the next number and the hash that goes with it, as somebody would do who knows how."""
    names = ("study", "seq", "at", "actor", "kind", "body", "status", "prev")
    row = query(f"SELECT {', '.join(names)} FROM fairarm_event ORDER BY seq DESC LIMIT 1")[0]
    line = dict(zip(names, row, strict=True))
    line["seq"] += 1
    query(f"UPDATE fairarm_event SET seq = {line['seq']}, hash = '{line_hash(line, line['prev'])}' WHERE seq = {line['seq'] - 1}")  # fmt: skip
    assert any(f"event {line['seq']}" in each for each in settled.study.verify().problems)


def test_an_outcome_that_is_not_counted_is_found_unless_its_caller_heard_so(settled: Crowd, query: Query) -> None:
    """Told in time, and stored after its cohort was settled. Without a note of the answer "settled" it was acknowledged as new and lost."""
    lost = query("SELECT a.id, a.label FROM fairarm_assignment a LEFT JOIN fairarm_outcome o ON o.assignment = a.id WHERE a.number = 0 AND o.assignment IS NULL")  # fmt: skip
    assert lost
    id, label = lost[0]
    told = f"{id}, '{row_digest(settled.study.running.key, id, label, 2)}', {label}, 2, {START + DAY}"
    query(f"INSERT INTO fairarm_outcome (assignment, digest, label, row, told) VALUES ({told})")
    found = settled.study.verify()
    assert found.problems == ("cohort 0: 1 outcomes were acknowledged as new and not counted",)
    query(f"INSERT INTO fairarm_incident VALUES ({settled.study.running.id}, 'told-after-settlement', {id})")
    found = settled.study.verify()
    assert found.ok and found.after_settlement == 1


def test_people_who_cost_more_than_the_budget_are_found(studies: Studies, clock: Clock, query: Query) -> None:
    """A budget of 0.5 a person, for 2 000 people: 1 000. One person of the last arm costs 2 000."""
    problem = chain(costs=[0.1, 0.1, 0.1, 2000], budget=0.5)
    crowd = Crowd(studies, small_study(studies, problem=problem), clock)
    crowd.arrive(START + HOUR, 20)
    assert crowd.study.verify().ok, crowd.study.verify().problems
    query("UPDATE fairarm_assignment SET arm = 3 WHERE slot = 0")
    assert any("more than the budget of 1000" in each for each in crowd.study.verify().problems)
