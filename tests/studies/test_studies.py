"""All studies of one database: created, listed, ticked, held by the clock, opened with the right key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairarm.studies import Conflict, NotAllowed, NotFound, Studies, StudyState
from study_people import DAY, SECOND, START, Clock, Crowd, small_study

Query = Callable[[str], list[tuple[Any, ...]]]


def test_studies_are_listed(studies: Studies, clock: Clock) -> None:
    assert studies.names() == () and studies.summaries() == () and studies.tick_every == 5.0
    small_study(studies, "b")
    small_study(studies, "a", cohort="20s", cycle="20s", window="1m", people=10, arrivals=86_400)
    assert studies.names() == ("a", "b") and studies.tick_every == 1.0
    first = studies.summaries()[0]
    assert (first.name, first.problem, first.state, first.cohorts, first.people) == ("a", "chain", "running", 1, 0)
    assert first.status == "UNDECIDED" and first.recommended is None and not first.void and not first.held
    with pytest.raises(NotFound, match="no study 'c'"):
        studies.open("c")
    studies.open("b").close("enough", "ann", now=True)
    clock.now = START + 4 * DAY
    studies.tick()
    assert studies.open("b").state == StudyState.CLOSED


def test_a_study_starts_when_it_is_told_to(studies: Studies, clock: Clock) -> None:
    study = small_study(studies, start="2026-01-06T00:00:00+00:00")
    assert study.cohorts() == () and study.assign("u", "a").outside
    clock.now = START + DAY - 1
    assert studies.tick() == ()
    clock.now = START + DAY
    assert (
        studies.tick() == ("small: opened 0",) and study.cohorts()[0].starts.isoformat() == "2026-01-06T00:00:00+00:00"
    )


def test_the_same_seed_is_the_same_study(opened: Callable[..., Studies], studies: Studies, query: Query) -> None:
    small_study(studies)
    decks = query("SELECT arms FROM fairarm_deck")
    small_study(studies, "other", seed=11)
    small_study(studies, "again", seed=None)
    small_study(studies, "again2", seed=None)
    rows = query("SELECT arms FROM fairarm_deck ORDER BY study")
    assert len({bytes(row[0]) for row in rows}) == 4 and len(decks) == 1
    keys = query("SELECT key FROM fairarm_study")
    assert len({bytes(row[0]) for row in keys}) == 4


def test_people_are_kept_under_a_key(
    opened: Callable[..., Studies], monkeypatch: pytest.MonkeyPatch, query: Query
) -> None:
    """With a key of one's own the database alone cannot test a guess; another key, or none, is refused; ticks need none."""
    first = opened(unit_key="correct horse")
    study = small_study(first, people=120)
    assert not study.assign("ann@example.org", "a").outside
    assert all("ann" not in str(row) for row in query("SELECT * FROM fairarm_assignment"))
    monkeypatch.setenv("FAIRARM_UNIT_KEY", "correct horse")
    assert opened().open("small").assign("ann@example.org", "a").repeated
    for wrong in (b"battery staple", None):
        monkeypatch.delenv("FAIRARM_UNIT_KEY", raising=False)
        other = opened(unit_key=wrong)
        with pytest.raises(NotAllowed, match="another key"):
            other.open("small")
        assert other.tick() == () and other.summaries()[0].name == "small"


def test_ready_is_a_write_and_a_fresh_tick(studies: Studies, clock: Clock) -> None:
    found = studies.ready()
    assert found.writes and found.tick_age is None and found.waiting == 0
    studies.tick()
    clock.now += 7 * SECOND
    assert studies.ready().tick_age == 7.0
    studies.close()
    assert not studies.ready().writes


def test_a_study_that_cannot_be_read_does_not_stop_the_others(studies: Studies, clock: Clock, query: Query) -> None:
    made = [small_study(studies, name) for name in ("a", "b")]
    for study in made:
        Crowd(studies, study, clock).day(0)
    clock.now = START + 4 * DAY
    studies.tick()
    query("UPDATE fairarm_settled SET state = counted WHERE study = 1")
    with Studies(str(studies._core.database.url.render_as_string(hide_password=False)), clock=clock) as fresh:
        clock.now = START + 5 * DAY
        with pytest.raises(Conflict, match="cannot be read"):
            fresh.tick()
    assert {row[0] for row in query("SELECT study FROM fairarm_cohort WHERE number = 5")} == {2}
