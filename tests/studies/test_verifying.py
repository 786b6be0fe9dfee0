"""`verify` sees every change that somebody makes behind the study's back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairarm.studies import Studies
from fairarm.studies.calls import row_digest
from fairarm.studies.progress import chained_digest
from study_people import DAY, SECOND, START, Clock, Crowd, small_study

Query = Callable[[str], list[tuple[Any, ...]]]

FIRST = "WHERE number = 0 AND slot = 0"
CHANGES = {
    "another arm": (f"UPDATE fairarm_assignment SET arm = (arm + 1) % 4 {FIRST}", "not that of their card"),
    "another group": (f"UPDATE fairarm_assignment SET label = 1 - label {FIRST}", "not what its people's rows come to"),
    "another slot": ("UPDATE fairarm_assignment SET slot = 74 WHERE number = 0 AND slot = 0", "dealt twice, or was not in the deck"),
    "another time": (f"UPDATE fairarm_assignment SET issued = issued + 999999999999 {FIRST}", "outside of its time"),
    "an outcome is gone": (
        "DELETE FROM fairarm_outcome WHERE assignment = (SELECT assignment FROM fairarm_outcome o JOIN fairarm_assignment a "
        "ON a.id = o.assignment WHERE number = 0 AND o.row IS NOT NULL ORDER BY told LIMIT 1)",
        "counted that are not there",
    ),
    "outcomes are others": (
        "UPDATE fairarm_outcome SET row = CASE WHEN row % 2 = 0 THEN row + 1 ELSE row - 1 END WHERE row IS NOT NULL",
        "'rows' is not what its people's rows come to",
    ),
    "an orphan": ("INSERT INTO fairarm_outcome (assignment, digest, told) VALUES (7, 'x', 0)", "belong to no assignment"),
    "an event": ("UPDATE fairarm_event SET actor = 'somebody' WHERE seq = 2", "event 2"),
    "an event is gone": ("DELETE FROM fairarm_event WHERE seq = 2", "event 3"),
    "a share": ("UPDATE fairarm_cohort SET share = 0.9 WHERE number = 0", "plan, share, times or deck"),
    "a plan": ("UPDATE fairarm_cohort SET plan = '{\"good\": 75}' WHERE number = 1", "plan, share, times or deck"),
    "what was settled": ("UPDATE fairarm_settled SET counted = state WHERE number = 0", "was changed since"),
    "what was lost": ("UPDATE fairarm_settled SET lost = lost + 1 WHERE number = 0", "lost or cut"),
    "a cohort": ("DELETE FROM fairarm_cohort WHERE number = 1", "belong to no cohort"),
}  # fmt: skip


@pytest.fixture
def settled(studies: Studies, clock: Clock) -> Crowd:
    crowd = Crowd(studies, small_study(studies), clock, lost=lambda row: 0.05)
    crowd.days(0, 2)
    for number in (2, 3):
        crowd.clock.now = START + number * DAY - 1
        crowd.tell()
        crowd.tick(START + number * DAY + 61 * SECOND)
    return crowd


def test_what_was_not_touched_is_well_and_what_was_is_found(
    settled: Crowd, query: Query, opened: Callable[..., Studies]
) -> None:
    """One after the other, each undone by a copy of its table."""
    found = settled.study.verify()
    assert found.ok and found.settled >= 1 and found.assignments > 60 and found.behind == 0, found.problems
    for change, words in CHANGES.values():
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


def test_a_wealth_that_does_not_follow_is_found(settled: Crowd, query: Query) -> None:
    """Cells, bits and digest are changed together, as somebody would who knows how: the state does not follow from them."""
    cells, bits, state = query("SELECT cells, counted, state FROM fairarm_settled WHERE number = 0")[0]
    other = cells.replace('"weekday":0', '"weekday":5')
    assert other != cells
    digest = chained_digest("", other.encode(), bytes(bits), bytes(state))
    query(f"UPDATE fairarm_settled SET cells = '{other}', digest = '{digest}' WHERE number = 0")
    assert any("is not what its rows make of it" in each for each in settled.study.verify().problems)


def test_a_tell_behind_the_snapshot_is_charged_and_shown(settled: Crowd, query: Query) -> None:
    """It was told in time, and committed after its cohort was settled: not counted, and said."""
    lost = query("SELECT a.id, a.label FROM fairarm_assignment a LEFT JOIN fairarm_outcome o ON o.assignment = a.id WHERE a.number = 0 AND o.assignment IS NULL")  # fmt: skip
    assert lost
    id, label = lost[0]
    told = f"{id}, '{row_digest(settled.study.running.key, id, label, 2)}', {label}, 2, {START + DAY}"
    query(f"INSERT INTO fairarm_outcome (assignment, digest, label, row, told) VALUES ({told})")
    found = settled.study.verify()
    assert found.ok and found.behind == 1
