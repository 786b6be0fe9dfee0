"""Cohorts are opened and settled by the clock, once, and what is settled is what plain counts settle to, bit for bit."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from fairarm.algorithms.cohort import Cohort, Loss
from fairarm.algorithms.pool import Pool, PoolOptions
from fairarm.algorithms.watch import Watch
from fairarm.beliefs.evidence import CellEvidence
from fairarm.beliefs.standing import Proof
from fairarm.studies import Studies, StudyState, Told, ticking
from fairarm.studies.calls import Tell
from fairarm.studies.progress import read_progress
from four_arms import chain
from study_people import DAY, HOUR, SECOND, START, Clock, Crowd, small_study

Query = Callable[[str], list[tuple[Any, ...]]]


class Oracle:
    """A certified pool, its guard, and counts that plain Python makes of plain SQL. Shares no code with the engine above `Pool`."""

    def __init__(self, query: Query, lost: str = "worst", at_arrival: bool = True, known: bool = False) -> None:
        self.query, self.problem, self.lost = query, chain(), lost
        self.at_arrival, self.known = at_arrival, known
        self.pool = Pool(self.problem, 2_000, PoolOptions(confidence=0.95), live=True)
        self.state, self.so_far = self.pool.start_live(1), CellEvidence.empty(self.problem, 1)
        self.watch = Watch(self.problem, Loss.of(self.problem, lost))
        self.watched = self.watch.start(1)

    def settle(self, number: int, cut: bool = False) -> None:
        rows = np.zeros((1, 3, 4, 2, 6), dtype=np.int64)
        missing, by_group = np.zeros((1, 3, 3, 4), dtype=np.int64), np.zeros((1, 3, 4, 2), dtype=np.int64)
        in_cells, unplaced = np.zeros((1, 4, 2, 3), dtype=np.int64), np.zeros((1, 4, 3, 2), dtype=np.int64)
        state = int(self.lost) if self.lost in "01" else None
        told = self.query(
            "SELECT a.arm, a.label, a.decision, o.label, o.row, o.told - a.issued, o.digest FROM fairarm_assignment a LEFT JOIN "
            f"fairarm_outcome o ON o.assignment = a.id WHERE a.number = {number}"
        )
        for arm, group, decision, row_group, row, delay, digest in told:
            if row is not None and delay <= 2 * DAY:
                rows[0, 0, arm, row_group if group is None else group, row] += 1
                continue
            unserved = digest == "unserved"
            if state is not None and self.known and not unserved:
                rows[0, 0, arm, group, 2 * decision + state] += 1
                continue
            kind = 0 if unserved or self.lost == "worst" else 1 if state is not None else 2
            missing[0, kind, 0, arm] += 1
            if kind == 1:
                unplaced[0, arm, 2 if group is None else group, state] += 1
            if group is not None:
                by_group[0, kind, arm, group] += 1
                in_cells[0, arm, group, decision] += self.known and kind == 0
        cohort = Cohort(
            CellEvidence(self.problem, rows, unplaced if unplaced.any() else None),
            missing if missing.any() else None,
            Loss.of(self.problem, self.lost),
            by_group=by_group if self.at_arrival else None,
            by_shares=not self.at_arrival,
            in_cells=in_cells if in_cells.any() else None,
            cut=np.array([True]) if cut else None,
            weekday=number % 7,
        )
        self.so_far = self.so_far.plus(cohort.rows)  # type: ignore[arg-type]
        if not self.state.running.any():
            return
        self.state, info = self.pool.settle(self.state, cohort, self.so_far, 11)
        assert info.standing is not None
        fair = info.standing.proof == Proof.FAIR
        self.watched = self.watch.after(self.watched, cohort, 11, int(self.state.closed.max()), fair)

    def agrees(self, crowd: Crowd, number: int) -> None:
        """Every array of the state is the same, bit for bit, as what was stored."""
        core, running = crowd.study._core, crowd.study.running
        with core.database.reading() as connection:
            kept = read_progress(connection, running.id, number, running.rule).settled
        for each in fields(self.state.memory):
            made, stored = getattr(self.state.memory, each.name), getattr(kept.state.memory, each.name)
            assert made.dtype == stored.dtype and np.array_equal(made, stored), each.name
        for name in ("closed", "running", "answer"):
            assert np.array_equal(getattr(self.state, name), getattr(kept.state, name)), name
        assert np.array_equal(self.so_far.counts, kept.so_far.counts)
        assert np.array_equal(self.watched.wealth, kept.watched.wealth)


HOW: list[dict[str, Any]] = [
    {},
    {"lost": "at random", "at_random_confirmed": True},
    {"lost": "0"},
    {"group": "with outcome"},
]


@pytest.mark.parametrize("how", HOW, ids=["worst", "at random", "a state", "with outcome"])
def test_a_study_settles_to_what_plain_counts_settle_to(
    studies: Studies, clock: Clock, query: Query, how: dict[str, Any]
) -> None:
    """Eight days, a tenth of the outcomes never told, the others within two days; every settled state against the oracle."""
    crowd = Crowd(studies, small_study(studies, **how), clock, lost=lambda row: 0.1)
    oracle, settled = Oracle(query, how.get("lost", "worst"), how.get("group") is None), []
    for number in range(8):
        for line in crowd.tick(START + number * DAY + SECOND):
            if "settled" in line:
                settled.append(int(line.split()[-1]))
                oracle.settle(settled[-1])
                oracle.agrees(crowd, settled[-1])
        if crowd.study.state != StudyState.RUNNING:
            break
        crowd.day(number)
    assert settled == list(range(len(settled))) and len(settled) >= 2
    lost = query("SELECT sum(lost) FROM fairarm_settled")[0][0]
    assert lost > 5


def test_known_cells_cuts_and_cohorts_after_the_answer(studies: Studies, clock: Clock, query: Query) -> None:
    """Decisions are drawn, lost rows fall into known cells, cohort 1 is cut at noon: states as of plain counts; and until the end."""
    crowd = Crowd(studies, small_study(studies), clock, known=True, lost=lambda row: 0.03)
    oracle, settled, number = Oracle(query, known=True), [], 0
    while not crowd.study.state.over:
        for line in crowd.tick(START + number * DAY + SECOND):
            if "settled" in line:
                settled.append(int(line.split()[-1]))
                oracle.settle(settled[-1], cut=settled[-1] == 1)
                oracle.agrees(crowd, settled[-1])
        if crowd.study.state == StudyState.RUNNING:
            crowd.day(number, until=0.5 if number == 1 else 1.0)
        if number == 1:
            crowd.study.pause("it looks bad", "ann", now=True)
            crowd.study.resume("it does not", "ann")
        crowd.clock.now = START + (number + 1) * DAY - 1
        crowd.tell()
        number += 1
        assert number < 40
    assert crowd.study.verdict().arm == "good" and crowd.study.verdict().cut == (1,)
    assert settled == [row[0] for row in query("SELECT number FROM fairarm_cohort ORDER BY number")]
    assert crowd.study.verify().ok, crowd.study.verify().problems


def test_the_deck_is_what_the_pool_plans(crowd: Crowd, query: Query) -> None:
    """Cohorts 0 … 2 are planned before anything is settled, beside what is under way; their cards are `Pool.open`'s."""
    crowd.days(0, 3)
    pool = Pool(chain(), 2_000, PoolOptions(confidence=0.95), live=True)
    state, nothing = pool.start_live(1), CellEvidence.empty(chain(), 1)
    under_way = np.zeros_like(state.given)
    for number in range(3):
        cards = pool.open(state, nothing, under_way, 75, 11, number, dealt=0.8)[0, 0]
        plan = json.loads(query(f"SELECT plan FROM fairarm_cohort WHERE number = {number}")[0][0])
        assert plan == {name: int(count) for name, count in zip(chain().arm_names, cards, strict=True) if count}
        deck = np.frombuffer(query(f"SELECT arms FROM fairarm_deck WHERE number = {number}")[0][0], dtype="<u2")
        assert np.array_equal(np.bincount(deck, minlength=4), cards)
        assert np.any(np.diff(deck.astype(int)) < 0) and np.any(np.diff(deck.astype(int)) > 0)  # shuffled
        for arm, count in query(f"SELECT arm, count(*) FROM fairarm_assignment WHERE number = {number} GROUP BY arm"):
            under_way[0, 0, arm] += count


def test_a_cohort_settles_when_matured_or_when_all_is_told(crowd: Crowd) -> None:
    """Window 2 d, grace 60 s: at the second, not before; one whose outcomes are all told settles two seconds after its end."""
    crowd.day(0)
    matured = START + 3 * DAY + 60 * SECOND
    assert crowd.tick(START + DAY) == ("small: opened 1",)
    assert crowd.tick(matured - 1) == ("small: opened 3",)
    assert crowd.tick(matured) == (
        "small: settled 0",
        "small: settled 1",
    )  # nobody came to cohort 1: nothing is waited for
    crowd.day(3)
    crowd.clock.now = START + 4 * DAY - 1
    crowd.out = [(0, id, row) for _, id, row in crowd.out]
    crowd.tell()
    assert crowd.tick(START + 4 * DAY + 2 * SECOND - 1) == ("small: opened 4",)
    assert crowd.tick(START + 4 * DAY + 2 * SECOND) == ("small: settled 3",)


def test_the_share_follows_the_arrivals(studies: Studies, clock: Clock, query: Query) -> None:
    """30 of 240 a day are to enter; when 120 come, the share goes from an eighth to about a quarter."""
    crowd = Crowd(studies, small_study(studies, people=30, arrivals=240), clock)
    for number in range(3):
        crowd.tick(START + number * DAY + SECOND)
        crowd.day(number)
    crowd.tick(START + 3 * DAY + SECOND)
    shares = [row[0] for row in query("SELECT share FROM fairarm_cohort ORDER BY number")]
    dealt = [
        row[1]
        for row in query(
            "SELECT number, count(*) FROM fairarm_assignment WHERE slot IS NOT NULL GROUP BY number ORDER BY number"
        )
    ]
    assert shares[0] == 0.125
    expected = float(np.median([n / share for n, share in zip(dealt, shares, strict=False)]))
    assert shares[3] == pytest.approx(30 / expected) and 0.15 < shares[3] < 0.45


def test_a_late_tick_skips_a_cohort_that_would_leave_hours_behind(crowd: Crowd, query: Query) -> None:
    """Nothing ticked for a day and a half: a cohort that opens at noon would know no mornings; the next one opens in time."""
    crowd.day(0)
    assert crowd.tick(START + 2 * DAY + 12 * HOUR) == ()
    assert crowd.tick(START + 3 * DAY + 5 * SECOND) == ("small: opened 3",)
    crowd.day(3)
    crowd.days(4, 12)
    # a fifth of an hour late, after ten whole days: little enough
    crowd.tick(START + 12 * DAY + HOUR // 5)
    numbers = [row[0] for row in query("SELECT number FROM fairarm_cohort ORDER BY number")]
    assert numbers[:2] == [0, 3] and (numbers[-1] == 12 or crowd.study.state != StudyState.RUNNING)


def test_hours_without_cards_are_found_and_void(studies: Studies, clock: Clock) -> None:
    """Arrivals are four times what was declared, all in the morning: cards run out, and nothing is certified."""
    crowd = Crowd(studies, small_study(studies, arrivals=60, people=60), clock)
    crowd.day(0, arrivals=480, until=0.5)
    crowd.clock.now = START + DAY - 1
    crowd.tell()
    crowd.tick(START + DAY)
    crowd.tick(START + 4 * DAY)
    assert [finding.name for finding in crowd.study.findings()] == ["uneven-entry"]
    verdict = crowd.study.verdict()
    assert verdict.void and verdict.void_by == ("uneven-entry",) and verdict.status == "UNDECIDED"
    assert crowd.study.state in (StudyState.DRAINING, StudyState.FINISHED)


def test_pulls_run_out_and_the_study_ends_undecided(studies: Studies, clock: Clock) -> None:
    crowd = Crowd(studies, small_study(studies, pulls=70, confidence=0.999999), clock)
    number = 0
    while not crowd.study.state.over:
        crowd.tick(START + number * DAY + SECOND)
        crowd.day(number)
        number += 1
        assert number < 30
    verdict = crowd.study.verdict()
    assert verdict.status == "UNDECIDED" and verdict.people <= 70
    assert crowd.study.assign("later", "a").outside


def test_another_process_ticks_and_it_happens_once(opened: Callable[..., Studies], clock: Clock, query: Query) -> None:
    first, second = opened(), opened()
    crowd = Crowd(first, small_study(first), clock)
    crowd.day(0)
    second.tick()
    clock.now = START + 4 * DAY
    assert second.tick() == ("small: settled 0", "small: opened 4")
    assert first.tick() == ()
    assert query("SELECT count(*) FROM fairarm_settled") == [(1,)]
    assert crowd.study.verdict().settled == 1 and second.open("small").verdict().settled == 1


def test_what_a_hand_does_while_a_cohort_is_computed_is_not_overlooked(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dropped between the snapshot and the write: the settling is thrown away, and the next tick leaves the cohort out."""
    crowd.day(0)
    computed = ticking.settled_progress

    def slow(*given: Any) -> Any:
        monkeypatch.setattr(ticking, "settled_progress", computed)
        crowd.study.drop(0, "an outage", "ann")
        return computed(*given)

    monkeypatch.setattr(ticking, "settled_progress", slow)
    assert crowd.tick(START + 4 * DAY) == ("small: opened 4",)
    assert crowd.tick() == ("small: settled 0",)
    assert crowd.study.cohorts()[0].counted == 0 and crowd.study.verify().ok


def test_an_outcome_that_comes_while_a_cohort_is_computed_is_counted(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told in time between the snapshot and the write: the settling is thrown away, and the next tick counts the outcome."""
    a = next(a for a in (crowd.study.assign(f"t{i}", "a") for i in range(60)) if not a.outside)
    computed = ticking.settled_progress

    def slow(*given: Any) -> Any:
        monkeypatch.setattr(ticking, "settled_progress", computed)
        crowd.clock.now = START + DAY
        assert crowd.study.tell(str(a.id), {"V": "1", "Y": "1"}) == Told("new")
        crowd.clock.now = START + 4 * DAY
        return computed(*given)

    monkeypatch.setattr(ticking, "settled_progress", slow)
    assert "small: settled 0" not in crowd.tick(START + 4 * DAY)
    assert "small: settled 0" in crowd.tick()
    assert crowd.study.cohorts()[0].counted == 1 and crowd.study.verify().ok


def test_an_outcome_whose_commit_is_under_way_is_waited_for_and_counted(
    opened: Callable[..., Studies], crowd: Crowd
) -> None:
    """Another process settles at the same time: it waits, sees the outcome, and settles at the next tick."""
    a = next(a for a in (crowd.study.assign(f"t{i}", "a") for i in range(60)) if not a.outside)
    clock = Clock()
    other = opened(clock=clock)
    other.tick()
    clock.now = START + 4 * DAY
    settling, done = threading.Thread(target=lambda: done.extend(other.tick())), list[str]()
    with crowd.study._core.database.writing([crowd.study.running.id]) as (connection, now):
        tell = Tell(crowd.study.running, int(str(a.id), 16), {"V": "1", "Y": "1"})
        assert crowd.study._teller(connection, now, [tell]) == [Told("new")]
        settling.start()
        settling.join(0.5)
    settling.join()
    assert "small: settled 0" in (*done, *other.tick())
    assert crowd.study.cohorts()[0].counted == 1 and crowd.study.verify().ok


def test_an_outcome_that_comes_while_its_cohort_is_written_hears_that_it_was_settled(
    opened: Callable[..., Studies], crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process tells before the settling is committed: it waits, and does not count."""
    a = next(a for a in (crowd.study.assign(f"t{i}", "a") for i in range(60)) if not a.outside)
    teller = opened(clock=Clock(START + DAY)).open("small")
    told = list[Told]()
    telling = threading.Thread(target=lambda: told.append(teller.tell(str(a.id), {"V": "1", "Y": "1"})))
    moves_on = ticking.move_on

    def slow(*given: Any) -> Any:
        telling.start()
        telling.join(0.5)
        return moves_on(*given)

    monkeypatch.setattr(ticking, "move_on", slow)
    assert "small: settled 0" in crowd.tick(START + 4 * DAY)
    telling.join()
    assert told == [Told("settled")]
    assert crowd.study.cohorts()[0].counted == 0 and crowd.study.verify().ok


def test_a_budget_that_is_used_up_ends_a_study_undecided(studies: Studies, clock: Clock) -> None:
    """No card can be paid for, and nothing is out: finished, and said to be undecided."""
    crowd = Crowd(studies, small_study(studies), clock)
    clockwork, running = studies._core.clockwork, crowd.study.running
    crowd.tick(START + DAY + 10 * SECOND)
    crowd.tick(START + 2 * DAY + 10 * SECOND)
    crowd.tick(START + 3 * DAY + 10 * SECOND)
    crowd.study.pause("so that none is out", "ann")
    crowd.tick(START + 9 * DAY)
    crowd.study.resume("go on", "ann")
    with studies._core.database.reading() as connection:
        before = clockwork.progress(connection, running)[0]
    clockwork._no_cards(running, before, 0)
    assert crowd.study.state == StudyState.FINISHED
    assert crowd.study.verdict().status == studies.summaries()[0].status == "UNDECIDED"
