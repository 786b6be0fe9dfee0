"""A clock that is wrong, across restarts and while a process runs: nobody enters, nothing opens or settles until it is confirmed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairarm.studies import Invalid, Studies, StudyState, Told
from fairarm.studies.clocks import ClockWatch, since_stored
from study_people import DAY, HOUR, SECOND, START, Clock, Crowd, small_study

HELD = ("small: held until somebody confirms the clock (fairarm study confirm-clock)",)
Query = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def before(crowd: Crowd) -> Crowd:
    """A study in its first cohort: looked after until noon, then its process ends."""
    crowd.day(0, until=0.5)
    crowd.tick()
    crowd.studies.close()
    return crowd


def restarted(opened: Callable[..., Studies], crowd: Crowd, at: int) -> Studies:
    """A new process at this time."""
    crowd.clock.now = at
    crowd.studies = opened()
    crowd.study = crowd.studies.open("small")
    return crowd.studies


@pytest.mark.parametrize("away", [10 * DAY, DAY + SECOND, -61 * SECOND, -3 * DAY])
def test_a_restart_with_a_wrong_clock_holds_the_study(
    before: Crowd, opened: Callable[..., Studies], query: Query, away: int
) -> None:
    """Everybody who is new is outside, who is known keeps the arm, nothing opens or settles; then all outcomes count."""
    noon = before.clock.now
    id, (first, group, row) = next(iter(before.made.items()))
    unit = query(f"SELECT unit FROM fairarm_assignment WHERE id = {int(id, 16)}")[0][0]
    studies = restarted(opened, before, noon + away)
    assert studies.tick() == HELD and studies.ready().held == ("small",) and studies.summaries()[0].held
    assert all(before.study.assign(f"new{i}", "a").outside for i in range(20))
    known = next(u for u in (f"u{i}" for i in range(1, 61)) if before.study.running.unit(u) == unit)
    assert (before.study.assign(known, group).id, before.study.assign(known, group).arm) == (id, first.arm)
    found = {finding.name: finding for finding in before.study.findings()}
    assert "fairarm study confirm-clock" in found["clock-held"].message and not found["clock-held"].blocks_certification
    assert query("SELECT count(*) FROM fairarm_settled") == [(0,)] and query("SELECT count(*) FROM fairarm_cohort") == [
        (1,)
    ]
    before.clock.now = noon + HOUR  # the clock is put right, in the same process
    assert studies.tick() == () and studies.confirm_clock("the time server was wrong", "ann") == ("small",)
    assert not all(before.study.assign(f"more{i}", "a").outside for i in range(20))
    assert before.study.tell(id, {"V": row["V"], "Y": row["Y"]}) == Told("new")
    assert [event.kind for event in before.study.events()][-2:] == ["clock-held", "clock-confirmed"]
    assert "settled 0" in str([before.tick(START + 4 * DAY)])
    report = before.study.cohorts()[0]
    assert report.counted == report.told and report.told > 0 and before.study.verify().ok


@pytest.mark.parametrize("away", [DAY, 0, -60 * SECOND])
def test_a_restart_within_a_cohort_and_a_minute_goes_on(
    before: Crowd, opened: Callable[..., Studies], away: int
) -> None:
    studies = restarted(opened, before, before.clock.now + away)
    studies.tick()
    assert studies.ready().held == ()


def test_a_service_that_was_really_down_goes_on_after_one_confirmation(
    before: Crowd, opened: Callable[..., Studies]
) -> None:
    """Three days: held; confirmed by another process, since then no later restart is."""
    studies = restarted(opened, before, START + 3 * DAY + 5 * SECOND)
    assert studies.tick() == HELD and studies.ready().held == ("small",)
    assert opened().confirm_clock("it was down", "ann") == ("small",)
    assert studies.tick() == ("small: opened 3",)
    assert opened().tick() == () and opened().ready().held == ()


def test_after_a_backup_was_put_back_no_confirmation_is_needed(before: Crowd, opened: Callable[..., Studies]) -> None:
    """Whoever says `restored` says so now: its event is what the clock is compared with."""
    studies = restarted(opened, before, START + 9 * DAY)
    assert studies.restored("disk", "ann") == ("small: cut 0",)
    assert opened().tick() == ("small: settled 0", "small: opened 9") and studies.ready().held == ()


def test_a_study_that_has_not_begun_is_not_held(studies: Studies, opened: Callable[..., Studies], clock: Clock) -> None:
    """Created on a Monday, to start on Friday; the service is first run then."""
    small_study(studies, start="2026-01-09T00:00:00+00:00")
    clock.now = START + 4 * DAY + SECOND
    assert opened().tick() == ("small: opened 0",)


def test_a_study_over_is_left_alone(before: Crowd, opened: Callable[..., Studies]) -> None:
    restarted(opened, before, before.clock.now).tick()
    before.study.drop(0, "an outage", "ann")
    before.study.close("enough", "ann", now=True)
    before.tick(START + 4 * DAY)
    assert before.study.state == StudyState.CLOSED
    studies = restarted(opened, before, START + 40 * DAY)
    assert studies.tick() == () and studies.ready().held == ()


def test_stored_times_are_compared_in_microseconds() -> None:
    assert [since_stored(now, 100 * SECOND, 50 * SECOND) for now in (40 * SECOND, 100 * SECOND, 150 * SECOND)] == [
        None
    ] * 3
    assert (
        since_stored(39 * SECOND, 100 * SECOND, 50 * SECOND) == -61
        and since_stored(151 * SECOND, 100 * SECOND, 50 * SECOND) == 51
    )


def test_nothing_opens_or_settles_while_clocks_do_not_agree(opened: Callable[..., Studies], clock: Clock) -> None:
    """The wall clock jumps by ten minutes: held, said, and confirmed by an admin in any process."""
    mono = [0.0]
    first, second = (opened(monotonic=lambda: mono[0]) for _ in range(2))
    crowd = Crowd(first, small_study(first), clock)
    first.tick(), second.tick()
    clock.now, mono[0] = clock.now + 50 * SECOND, 0.0
    first.tick()
    assert first.ready().held == ()
    clock.now, mono[0] = START + 5 * DAY, 600.0
    assert first.tick() == HELD and second.tick() == ()
    assert first.ready().held == ("small",) and first.summaries()[0].held
    assert [finding.name for finding in crowd.study.findings()] == ["clock-held"]
    assert crowd.study.assign("u", "a").outside
    with pytest.raises(Invalid, match="reason"):
        second.confirm_clock("", "ann")
    assert second.confirm_clock("the server was moved", "ann") == ("small",)
    assert second.confirm_clock("again", "ann") == ()
    assert second.tick() == ("small: settled 0", "small: opened 5") and first.tick() == ()
    assert first.ready().held == () and crowd.study.verify().ok


def test_clocks_are_compared_from_the_first_look() -> None:
    mono = [100.0]
    watch = ClockWatch(lambda: mono[0])
    assert watch.apart(5_000.0, 0) is None
    mono[0] = 160.0
    assert watch.apart(5_060.0, 0) is None and watch.apart(5_121.0, 0) == pytest.approx(61)
    assert watch.apart(4_999.0, 0) == pytest.approx(-61)
    assert watch.apart(4_999.0, 1) is None  # somebody has said that it is right
    assert ClockWatch(None).apart(0.0, 0) is None
