"""Pause, resume, close, cut, drop, correct, forget, restore: what each does, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairarm.beliefs.assumptions import Assumption, Statement
from fairarm.studies import Conflict, Invalid, NotFound, Studies, StudyState
from fairarm.studies.progress import read_progress
from study_people import DAY, HOUR, SECOND, START, Clock, Crowd, small_study

Query = Callable[[str], list[tuple[Any, ...]]]


def memory(crowd: Crowd, number: int | None) -> Any:
    core, running = crowd.study._core, crowd.study.running
    with core.database.reading() as connection:
        return read_progress(connection, running.id, number, running.rule).settled.state.memory


def test_pause_acts_after_the_open_cohort_and_resume_from_the_next(crowd: Crowd) -> None:
    crowd.day(0, until=0.5)
    crowd.study.pause("holidays", "ann")
    assert crowd.study.state == StudyState.PAUSED
    crowd.clock.now = START + 13 * HOUR
    assert any(not crowd.study.assign(f"p{i}", "a").outside for i in range(20))  # the open cohort goes on
    assert crowd.tick(START + DAY) == ()
    with pytest.raises(Conflict, match="paused already"):
        crowd.study.pause("again", "ann")
    crowd.study.resume("back", "ann")
    assert crowd.tick(START + DAY + SECOND) == ("small: opened 1",)
    with pytest.raises(Conflict, match="nothing to resume"):
        crowd.study.resume("back", "ann")
    assert [event.kind for event in crowd.study.events()] == ["created", "opened", "paused", "resumed", "opened"]
    assert not crowd.study.verdict().cut and not crowd.study.cohorts()[0].cut


def test_now_cuts_the_open_cohort_and_costs_the_reserve(crowd: Crowd) -> None:
    """A cut cohort: labels lose log 20, its rows teach, and nothing is dealt any more."""
    crowd.days(0, 4)
    crowd.tick(START + 4 * DAY + 61 * SECOND)
    first = max(int(row.number) for row in crowd.study.cohorts() if row.state == "settled")
    before = memory(crowd, first).labels
    cut = crowd.study.cohorts()[-1].number
    crowd.clock.now = START + 4 * DAY + 12 * HOUR
    crowd.arrive(crowd.clock.now, 40)
    crowd.study.pause("outage?", "ann", now=True)
    assert all(crowd.study.assign(f"c{i}", "a").outside for i in range(20))
    for number in range(5, 9):
        crowd.clock.now = START + number * DAY
        crowd.tell()
        crowd.tick()
    report = crowd.study.cohorts()[cut]
    assert report.cut and report.state == "settled" and report.reason == "outage?" and report.counted
    labels = memory(crowd, cut).labels - memory(crowd, cut - 1).labels
    assert np.allclose(labels[labels != 0], np.log(0.05)) and (labels != 0).any() and before.shape == labels.shape
    assert crowd.study.verdict().cut == (cut,) and crowd.study.verify().ok


def test_cutting_a_cohort_that_has_dealt_nothing_is_free(crowd: Crowd) -> None:
    crowd.study.pause("before anybody came", "ann", now=True)
    assert not crowd.study.verdict().cut and crowd.study.assign("u", "a").outside
    assert "cut" not in [event.kind for event in crowd.study.events()]


def test_close_drains_then_ends(crowd: Crowd) -> None:
    crowd.day(0)
    crowd.study.close("enough", "ann")
    assert crowd.study.state == StudyState.DRAINING
    with pytest.raises(Conflict, match="cannot be closed"):
        crowd.study.close("enough", "ann")
    with pytest.raises(Conflict, match="cannot be paused"):
        crowd.study.pause("enough", "ann")
    person = next(unit for unit in (f"u{i}" for i in range(1, 121)) if not crowd.study.assign(unit, "a").outside)
    assert crowd.tick(START + 4 * DAY) == ("small: settled 0",)
    assert crowd.study.state == StudyState.CLOSED and crowd.study.verdict().reason == "not-proved"
    again = crowd.study.assign(person, "a")
    assert again.outside and again.repeated  # afterwards outside
    assert crowd.tick(START + 9 * DAY) == ()


def test_a_cohort_that_is_dropped_counts_for_nothing_and_is_named(crowd: Crowd, query: Query) -> None:
    crowd.days(0, 2)
    crowd.study.drop(1, "the mail server was down", "ann")
    for number in (2, 3, 4):
        crowd.clock.now = START + number * DAY + 61 * SECOND
        crowd.tell()
        crowd.tick()
    assert [row[0] for row in query("SELECT number FROM fairarm_settled ORDER BY number")][:2] == [0, 1]
    first, second = memory(crowd, 0), memory(crowd, 1)
    assert np.array_equal(first.labels, second.labels) and np.array_equal(first.tested, second.tested)
    verdict = crowd.study.verdict()
    assert verdict.dropped == (1,)
    assert verdict.assumed[-1] == Statement(Assumption.DROPPED, {"cohorts": (1,)})
    assert crowd.study.cohorts()[1].state == "dropped" and crowd.study.cohorts()[1].counted == 0
    with pytest.raises(Conflict, match="is settled"):
        crowd.study.drop(0, "too late", "ann")
    for number in (99, -1, True, "1"):
        with pytest.raises(NotFound, match="never opened"):
            crowd.study.drop(number, "which?", "ann")  # type: ignore[arg-type]
    assert crowd.study.verify().ok, crowd.study.verify().problems


def test_corrections_count_in_the_window_and_are_shown_later(crowd: Crowd, query: Query) -> None:
    crowd.arrive(START + HOUR, 30)
    (first, (_, group, _)), (second, _), (third, _) = list(crowd.made.items())[:3]
    with pytest.raises(Conflict, match="nothing to correct"):
        crowd.study.correct(first, {"V": "1", "Y": "1"}, "typo", "ann")
    crowd.study.tell(first, {"V": "1", "Y": "0"})
    crowd.study.tell(second, {"V": "1", "Y": "0"})
    crowd.study.unserved(third)
    assert crowd.study.correct(first, {"V": "1", "Y": "1"}, "typo", "ann")
    assert crowd.study.correct(third, {"V": "1", "Y": "1"}, "was served after all", "ann")
    with pytest.raises(Invalid, match="was known"):
        crowd.study.correct(first, {"S": "b" if group == "a" else "a", "V": "1", "Y": "1"}, "typo", "ann")
    with pytest.raises(Invalid, match="reason"):
        crowd.study.correct(first, {"V": "1", "Y": "1"}, "", "ann")
    with pytest.raises(NotFound):
        crowd.study.correct("0" * 16, {"V": "1", "Y": "1"}, "typo", "ann")
    crowd.clock.now = START + HOUR + 2 * DAY + 1
    assert not crowd.study.correct(second, {"V": "1", "Y": "1"}, "typo", "ann")
    crowd.tick(START + 4 * DAY)
    counts = memory(crowd, 0)
    assert counts.n.sum() == 3 and counts.y.sum() == 2  # first and third corrected, second as it was told
    assert query("SELECT count(*) FROM fairarm_correction") == [(3,)]
    assert crowd.study.verify().ok, crowd.study.verify().problems


def test_a_person_who_is_forgotten_leaves_no_trace_but_counts(crowd: Crowd, query: Query) -> None:
    """Unsettled: lost, with its group still in the blend; settled: the counts stay. Nothing of the person is left."""
    crowd.arrive(START + HOUR, 40)
    units = {crowd.study.assign(f"u{i}", "a").id: f"u{i}" for i in range(1, 41)}
    ids = list(crowd.made)
    for id in ids:
        crowd.study.tell(id, {"V": "1", "Y": "1"})
    gone = units[ids[0]]
    assert crowd.study.forget(gone, "ann") and not crowd.study.forget(gone, "ann")
    assert not crowd.study.forget("nobody", "ann")
    with pytest.raises(NotFound, match="erased"):
        crowd.study.tell(ids[0], {"V": "1", "Y": "1"})
    erased = query("SELECT unit, label, known, decision FROM fairarm_assignment WHERE erased IS NOT NULL")
    assert erased == [(None,) * 4]
    assert query("SELECT count(*) FROM fairarm_outcome WHERE row IS NULL") == [(1,)]
    crowd.tick(START + 4 * DAY)
    settled = memory(crowd, 0)
    assert settled.n.sum() == len(ids) - 1 and settled.natural.sum() == len(ids) and settled.lost.tolist() == [[1, 0]]
    assert crowd.study.forget(units[ids[1]], "ann")
    found = crowd.study.verify()
    assert found.ok and found.erased == 2 and found.not_recomputed == (0,)


def test_rows_are_kept_until_settled_where_asked(studies: Studies, clock: Clock, query: Query) -> None:
    crowd = Crowd(studies, small_study(studies, keep_rows="until settled"), clock)
    crowd.days(0, 2)
    crowd.tick(START + 3 * DAY + 61 * SECOND)
    left = query(
        "SELECT number, count(unit), count(label), count(known) FROM fairarm_assignment WHERE slot IS NOT NULL GROUP BY number ORDER BY number"
    )
    assert left[0][1:] == (0, 0, 0) and left[1][1] > 0
    assert query(
        "SELECT count(o.row) FROM fairarm_outcome o JOIN fairarm_assignment a ON a.id = o.assignment WHERE a.number = 0"
    ) == [(0,)]
    found = crowd.study.verify()
    assert found.ok and found.not_recomputed == (0,) and crowd.study.verdict().counted > 0


def corrected(crowd: Crowd) -> tuple[str, str]:
    """Unit and assignment of somebody whose outcome was corrected, with a name in reason and actor; another person's stays."""
    crowd.clock.now = START + HOUR
    inside = ((f"u{i}", crowd.study.assign(f"u{i}", "a")) for i in range(50))
    (unit, first), (_, second) = list(islice(((unit, a) for unit, a in inside if not a.outside), 2))
    for id, reason in ((str(first.id), "Anna Miller called"), (str(second.id), "Ben Smith called")):
        crowd.study.tell(id, {"V": "1", "Y": "0"})
        assert crowd.study.correct(id, {"V": "1", "Y": "1"}, reason, f"her brother, {reason}")
        assert crowd.study.correct(id, {"V": "1", "Y": "0"}, f"{reason} again", "ann")
    return unit, str(first.id)


def stored_anywhere(text: str, query: Query, url: str) -> list[str]:
    """Tables with a text in any column, and on SQLite files of the database that hold it in their bytes."""
    lists = "sqlite_master WHERE type = 'table'" if url.startswith("sqlite") else "information_schema.tables"
    name = "name" if url.startswith("sqlite") else "table_name"
    tables = [row[0] for row in query(f"SELECT {name} FROM {lists}") if row[0].startswith("fairarm_")]
    assert len(tables) > 10
    found = [table for table in tables if any(text in str(row) for row in query(f"SELECT * FROM {table}"))]
    if url.startswith("sqlite"):
        path = Path(url.removeprefix("sqlite:///"))
        found += [each.name for each in path.parent.glob(f"{path.name}*") if text.encode() in each.read_bytes()]
    return found


def test_what_was_said_of_a_person_who_is_forgotten_is_nowhere(crowd: Crowd, query: Query, url: str) -> None:
    """Reason and actor of a correction go with the person; the chain of events never had them, nor the assignment's id."""
    unit, id = corrected(crowd)
    first = next(event for event in crowd.study.events() if event.kind == "corrected")
    assert first.body == {"assignment": id, "counts": True, "reason": "Anna Miller called"}
    assert first.actor == "her brother, Anna Miller called"
    for hidden in (id, str(int(id, 16)), "Anna Miller", "brother"):
        assert "fairarm_event" not in stored_anywhere(hidden, query, url), hidden
    assert stored_anywhere("Anna Miller", query, url)[0] == "fairarm_note" and crowd.study.verify().ok
    assert crowd.study.forget(unit, "ann")
    assert stored_anywhere("Anna Miller", query, url) == []
    assert stored_anywhere(crowd.study.running.unit(unit), query, url) == []
    assert query("SELECT count(assignment), count(salt), count(text), count(*) FROM fairarm_note") == [(2, 3, 3, 5)]
    shown = [(event.kind, event.actor, event.body) for event in crowd.study.events() if event.kind != "opened"][1:]
    gone = ("corrected", "erased", {"counts": True, "reason": "erased"})
    assert shown[:2] == [gone, gone] and shown[2][2]["reason"] == "Ben Smith called"
    assert shown[4] == ("erased", "ann", {"cohort": 0})
    assert crowd.study.verify().ok, crowd.study.verify().problems
    crowd.tick(START + 4 * DAY)
    assert crowd.study.verify().ok, crowd.study.verify().problems


def test_what_was_said_of_people_goes_with_their_rows(studies: Studies, clock: Clock, query: Query, url: str) -> None:
    crowd = Crowd(studies, small_study(studies, keep_rows="until settled"), clock)
    crowd.tick()
    corrected(crowd)
    assert "fairarm_note" in stored_anywhere("Anna Miller", query, url)
    assert "small: settled 0" in crowd.tick(START + 4 * DAY)
    assert stored_anywhere("Anna Miller", query, url) == stored_anywhere("Ben Smith", query, url) == []
    assert crowd.study.verify().ok, crowd.study.verify().problems


def test_a_log_that_somebody_reads_is_emptied_by_a_later_tick(
    crowd: Crowd, query: Query, url: str, opened: Callable[..., Studies]
) -> None:
    """SQLite's write-ahead log holds older pages, and cannot be emptied while a reader may need them."""
    if not url.startswith("sqlite"):
        pytest.skip("PostgreSQL cleans up by itself")
    unit, _ = corrected(crowd)
    with opened()._core.database.reading() as connection:
        connection.exec_driver_sql("SELECT count(*) FROM fairarm_note").all()
        assert crowd.study.forget(unit, "ann")
        assert stored_anywhere("Anna Miller", query, url) == ["studies.db-wal"]
    crowd.tick()
    assert stored_anywhere("Anna Miller", query, url) == []


def test_after_a_restore_every_cohort_that_is_out_is_cut(crowd: Crowd, studies: Studies) -> None:
    crowd.days(0, 2)
    crowd.tick(START + 2 * DAY)
    assert studies.restored("the disk died", "ann") == ("small: cut 0", "small: cut 1", "small: cut 2")
    assert crowd.study.verdict().cut == (0, 1, 2)
    crowd.tick(START + 6 * DAY)
    assert all(report.cut for report in crowd.study.cohorts()[:3]) and crowd.study.verify().ok


def test_reasons_are_asked_for(crowd: Crowd) -> None:
    for reason, actor in (
        ("", "ann"),
        (" ", "ann"),
        (None, "ann"),
        ("x" * 501, "ann"),
        ("ok", 7),
        ("a\ud800", "ann"),
        ("a\x00", ""),
    ):
        for call in (crowd.study.pause, crowd.study.resume, crowd.study.close):
            with pytest.raises(Invalid, match=r"reason|actor"):
                call(reason, actor)  # type: ignore[arg-type]
