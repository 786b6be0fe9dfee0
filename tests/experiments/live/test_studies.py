"""Live studies step by step: who is dealt what, what is settled when, and what a hand or an outage does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from benchmarks.live.cases import CASES, MOST, steady

from fairarm.algorithms.cohort import Loss
from fairarm.algorithms.pool import Pool, PoolOptions
from fairarm.algorithms.timing import Timing
from fairarm.core.answer import Code
from fairarm.experiments.live.studies import LiveStudies
from fairarm.experiments.live.world import HOURS, LiveWorld


def studies(
    n: int = 3, world: LiveWorld | None = None, timing: Timing | None = None, pulls: int = 1500, **how: Any
) -> LiveStudies:
    live = steady() if world is None else world
    pool = Pool(live.problem, pulls, PoolOptions(confidence=0.95), live=True, watched=False)
    chosen = Timing(100, 400.0, 2.0) if timing is None else timing
    return LiveStudies(pool, live, chosen, n, 5, loss=Loss.of(live.problem, "worst"), **how)


def steady_at(arrivals: float) -> LiveWorld:
    return replace(steady(), arrivals=np.full(HOURS, arrivals / 24))


def test_cohorts_are_settled_in_order_when_matured() -> None:
    """A window of two days and cohorts of one: the first is settled on day 3, and three are out at once."""
    made = studies(world=steady_at(400))
    settled, out = [], []
    for number in range(6):
        before = int(made.state.closed.max())
        made.settle_ready(number * 1.0)
        settled.append(int(made.state.closed.max()) - before)
        made.open(number)
        out.append(len(made.waiting))
    assert settled == [0, 0, 0, 1, 1, 1] and out == [1, 2, 3, 3, 3, 3]
    assert [each.number for each in made.waiting] == [3, 4, 5]


def test_about_as_many_enter_as_were_asked_for_evenly_over_the_day() -> None:
    """100 of 400 a day: Poisson, so within 5 standard errors over 20 studies; the deck of 125 rarely runs out."""
    made = studies(n=20, world=steady_at(400))
    made.open(0)
    people = made.ended.people
    assert abs(people.mean() - 100) < 5 * np.sqrt(100 / 20) and np.all(people <= 125)
    assert made.coverage.sum(axis=1) == pytest.approx(np.ones(20), abs=0.2)


def test_the_last_cards_are_dealt_over_the_whole_day_too() -> None:
    """60 pulls are left for a cohort of 100: 48 people are to enter, not 100 until 60 have."""
    made = studies(n=20, world=steady_at(400), pulls=60)
    made.open(0)
    assert abs(made.ended.people.mean() - 48) < 5 * np.sqrt(48 / 20)
    assert np.quantile(made.entered[0][2], 0.2) > 0.9


def test_nobody_is_dealt_more_than_there_are_cards_and_arms_are_those_of_the_deck() -> None:
    made = studies(n=2, world=steady_at(400))
    cards = np.array([[30, 20], [0, 7]])
    dealt = made._dealt(cards, np.full((2, 24), 100))
    assert dealt.sum(axis=1).tolist() == cards.tolist()
    few = made._dealt(cards, np.r_[[[1] * 24], [[0] * 24]])
    assert few[0].sum() == 24 and np.all(few[0].sum(axis=0) <= cards[0]) and not few[1].any()


def test_arrivals_are_learned() -> None:
    """Declared as 400 and truly 800: twice as many enter at first, and the share is halved by the second cohort."""
    made = studies(n=20, world=steady_at(800))
    hundred = np.full(20, 100.0)
    assert made.entry(hundred) == pytest.approx(np.full(20, 0.25))
    made.open(0)
    assert np.all(made.ended.people == 125)
    assert 0.1 < made.entry(hundred).mean() < 0.18
    assert made.entry(hundred / 2) == pytest.approx(made.entry(hundred) / 2)


def test_rows_after_the_window_are_lost() -> None:
    """Told on days 0, 1 and 2 with probabilities 0.5, 0.3 and 0.2."""
    for window, share in ((0.5, 0.5), (1.0, 0.8), (2.0, 1.0), (9.0, 1.0)):
        assert steady().told_within(window).told == pytest.approx(np.full((4, 1), share))
    made = studies(n=20, timing=Timing(100, 400.0, 1.0), world=steady_at(400))
    made.open(0)
    out = made.waiting[0]
    assert np.array_equal(out.told.sum(axis=(1, 2, 3, 4)), out.dealt.sum(axis=(1, 2)))
    assert abs(out.seen.sum() / out.told.sum() - 0.8) < 5 * np.sqrt(0.16 / out.told.sum())
    assert np.array_equal(out.by_group.sum(axis=2), out.dealt[:, 0])


def test_a_study_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairarm.experiments.live.studies.MOST_COHORTS", 5)
    ended = studies(world=steady_at(400), pulls=100_000).run()
    assert np.all(ended.answer == Code.UNDECIDED) and np.all(ended.days == 5) and np.all(ended.cohorts == 5)


def test_an_outage_loses_a_whole_cohort_and_the_study_goes_on() -> None:
    made = studies(world=steady_at(400), outages=frozenset({1}))
    ended = made.run()
    assert np.all(ended.lost >= 60) and np.all(ended.lost <= 125) and not np.any(ended.answer == 1)


class Always:
    """Stops every cohort."""

    def stops(self, seen: np.ndarray) -> np.ndarray:
        return np.ones(len(seen), dtype=bool)


def test_a_hand_that_always_stops_leaves_nothing_to_certify() -> None:
    made = studies(world=steady_at(400), hand=Always(), pulls=600)
    ended = made.run()
    assert np.all(ended.answer == Code.UNDECIDED)
    assert not made.state.memory.tested.any() and made.state.memory.n.sum() == made.state.given.sum()
    assert np.all(made.state.memory.labels <= 0)


def test_a_cohort_as_it_is_settled() -> None:
    """Groups are those at arrival, lost rows too; known cells are those of the lost rows; or the group comes with the outcome."""
    world = steady_at(400).with_delays(1.0, 2.0, 0.3)
    made = studies(world=world, cell_known=True)
    made.open(0)
    cohort = made.cohort_of(made.waiting[0])
    assert cohort.missing is not None and cohort.in_cells is not None and cohort.by_group is not None
    assert np.array_equal(cohort.in_cells.sum(axis=(1, 2, 3)), cohort.missing.sum(axis=(1, 2, 3)))
    assert np.array_equal(cohort.by_group.sum(axis=(1, 3)), cohort.missing[:, :, 0].sum(axis=1))
    later = studies(world=world, group_at_arrival=False)
    later.open(0)
    cohort = later.cohort_of(later.waiting[0])
    assert cohort.by_shares and cohort.by_group is None and cohort.in_cells is None


def test_arms_proved_unfair_are_paused_and_never_all() -> None:
    made = studies(world=steady_at(400))
    made.now.proof[0] = [0, 2]
    made.now.proof[1] = [6, 5]
    paused = made.rule.paused(made.now)
    assert paused is not None and paused.tolist() == [[False, True], [False, False], [False, False]]
    still = studies(pauses=False)
    assert still.rule.paused(still.now) is None


def test_uneven_entry_voids() -> None:
    """Everybody enters until noon: less than half of the time with cards in the afternoon."""
    case = next(case for case in CASES if case.name == "by the hour")
    assert case.mutant is not None
    made = case.studies(3, 1, case.mutant[1], MOST)
    made.rule = replace(made.rule, watched=True)
    ended = made.run()
    assert ended.void.all() and np.all(ended.answer == Code.UNDECIDED)


def test_the_same_seed_gives_the_same_studies() -> None:
    first, second = (studies(world=steady_at(400)).run() for _ in range(2))
    assert all(np.array_equal(value, getattr(second, name)) for name, value in vars(first).items())
