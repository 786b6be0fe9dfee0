"""Cohorts of live studies: settling is what a phase does without the plan, opening plans beside pulls that are under way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairarm.algorithms.cohort import Cohort, Loss, Missing
from fairarm.algorithms.pool import Pool, PoolOptions
from fairarm.beliefs.evidence import CellEvidence
from fairarm.core.answer import Code
from four_arms import EASY, chain, world

COSTS = {"costs": [[0.0, 2.0, 2.0], [1.0, 2.0, 2.0], [1.0, 2.0, 2.0], [1.0, 2.0, 2.0]], "budget": 0.5}

BY_DAY = ("weekday_n", "weekday_y", "predicted")
"""What only live studies have: days."""


def pool(pulls: int = 2000, confidence: float | None = 0.95, live: bool = False, **changes: Any) -> Pool:
    return Pool(chain(**changes), pulls, PoolOptions(confidence=confidence), live=live)


def rows(made: Pool, plan: np.ndarray, seed: int) -> CellEvidence:
    return CellEvidence(made.problem, world(made.problem, EASY).draw(plan, np.random.default_rng(seed)))


def test_settling_whole_cohorts_is_what_phases_do() -> None:
    """Phases of one run; the same rows as cohorts: every number of the books is the same, bit for bit."""
    made = pool(confidence=1 - 1e-9)
    phases, live = made.start(2), made.start_live(2)
    so_far = CellEvidence.empty(made.problem, 2)
    for phase in range(4):
        fresh = rows(made, phases.plan, phase)
        so_far = so_far.plus(fresh)
        phases, shown = made.step(phases, fresh, so_far, 7)
        live, info = made.settle(live, Cohort(fresh), so_far, 7)
        same = {name: value for name, value in vars(live.memory).items() if name not in BY_DAY}
        assert all(np.array_equal(getattr(phases.memory, name), value) for name, value in same.items())
        assert np.array_equal(info.outcomes, shown.outcomes) and np.array_equal(live.closed, phases.closed)
        assert not live.plan.any() and np.array_equal(live.given, so_far.pulls()) and live.phase == phase + 2


def opened(
    made: Pool, state: Any, so_far: CellEvidence, under_way: np.ndarray, size: int, number: int, **how: Any
) -> np.ndarray:
    return made.open(state, so_far, under_way, size, 7, number, **how)


@pytest.mark.parametrize("confidence", [0.95, None])
def test_many_cohorts_under_way_keep_pulls_and_budget(confidence: float | None) -> None:
    """Cohorts of 150 cards, of which 120 are dealt, three under way at once: never more than 2 000 pulls, and 0.5 a pull."""
    made, n = pool(confidence=confidence, **COSTS), 2
    state, so_far, out = made.start_live(n), CellEvidence.empty(made.problem, n), []
    rng, costs, cards = np.random.default_rng(1), made.problem.compiled.cost_array, np.ones(1)
    for number in range(60):
        if len(out) == 3 or (out and not cards.any()):
            fresh = rows(made, out.pop(0), number)
            so_far = so_far.plus(fresh)
            state, _ = made.settle(state, Cohort(fresh), so_far, 7)
        if state.finished:
            break
        under_way = sum(out, np.zeros_like(state.given))
        before = state.to_json()
        cards = opened(made, state, so_far, under_way, 150, number, dealt=0.8)
        assert np.array_equal(cards, opened(made, state, so_far, under_way, 150, number, dealt=0.8))
        assert state.to_json() == before
        assert not cards[:, 1:].any() and np.all(cards.sum(axis=(1, 2)) <= 150) and not cards[~state.running].any()
        assert np.all((state.given + under_way + cards).sum(axis=(1, 2)) <= 2000)
        dealt = np.stack([_dealt(each, rng) for each in cards])
        out.append(dealt)
        total = state.given + sum(out)
        assert np.all((total * costs).sum(axis=(1, 2)) <= 0.5 * 2000)
    assert state.finished
    assert state.answer.tolist() == [1, 1]
    assert np.all((total * costs).sum(axis=(1, 2)) <= 0.5 * total.sum(axis=(1, 2)))


def _dealt(cards: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Four fifths of a shuffled deck."""
    left = rng.multivariate_hypergeometric(cards[0], round(0.2 * cards[0].sum()))
    dealt = cards.copy()
    dealt[0] -= left
    return dealt


def test_what_is_under_way_is_planned_with() -> None:
    """Before anything is settled: beside 400 pulls of the first arm that are out, others have more of the cards than without."""
    made = pool()
    state, nothing = made.start_live(1), CellEvidence.empty(made.problem, 1)
    none, some = np.zeros_like(state.given), np.zeros_like(state.given)
    alone = opened(made, state, nothing, none, 100, 0)
    some[0, 0, int(alone[0, 0].argmax())] = 400
    beside = opened(made, state, nothing, some, 100, 0)
    assert alone.sum() == beside.sum() == 100
    first = int(alone[0, 0].argmax())
    assert beside[0, 0, first] < alone[0, 0, first]


def test_paused_arms_have_no_cards_and_other_regimes_where_asked_for() -> None:
    made = pool()
    state, so_far = made.start_live(2), CellEvidence.empty(made.problem, 2)
    fresh = rows(made, np.full((2, 3, 4), 10) * (np.arange(3) == 0)[:, None], 1)
    state, _ = made.settle(state, Cohort(fresh), so_far.plus(fresh), 7)
    none = np.zeros_like(state.given)
    paused = np.array([[True, False, False, True], [False, False, False, False]])
    cards = opened(made, state, fresh, none, 80, 1, paused=paused)
    assert cards.sum(axis=(1, 2)).tolist() == [80, 80] and not cards[0][:, [0, 3]].any()
    assert not opened(made, state, fresh, none, 80, 1, paused=np.ones((2, 4), dtype=bool)).any()
    forced = opened(made, state, fresh, none, 80, 1, regimes=(1, 2))
    assert forced.sum() == 160 and not forced[:, 0].any()


def test_an_answer_stands_while_cohorts_out_are_settled_and_a_monitor_may_void() -> None:
    made = pool(confidence=0.6)
    state, so_far = made.start_live(1), CellEvidence.empty(made.problem, 1)
    plan = np.full((1, 3, 4), 60) * (np.arange(3) == 0)[:, None]
    for number in range(8):
        fresh = rows(made, plan, number)
        so_far = so_far.plus(fresh)
        state, _ = made.settle(state, Cohort(fresh), so_far, 7)
        if state.finished:
            break
    assert state.answer.tolist() == [1]
    books = state.memory
    later, _ = made.settle(state, Cohort(rows(made, plan, 99)), so_far, 7) if state.running.any() else (state, None)
    assert later.answer.tolist() == [1] and np.array_equal(later.memory.labels, books.labels)
    assert made.voided(state, np.array([True])).answer.tolist() == [Code.UNDECIDED]
    assert made.voided(state, np.array([False])).answer.tolist() == [1]


def test_a_study_ends_undecided_when_its_pulls_are_settled_and_not_before() -> None:
    made = pool(pulls=60, confidence=1 - 1e-12)
    state, so_far = made.start_live(1), CellEvidence.empty(made.problem, 1)
    for number in range(2):
        cards = opened(made, state, so_far, np.zeros_like(state.given), 30, number)
        fresh = rows(made, cards, number)
        so_far = so_far.plus(fresh)
        state, _ = made.settle(state, Cohort(fresh), so_far, 7)
        assert state.answer.tolist() == [Code.PENDING if number == 0 else Code.UNDECIDED]


def test_the_reserve_is_in_every_cohort() -> None:
    """With ρ = 0.95 a cohort changes each wealth by log(0.05 + 0.95 e^x) where it is x without."""
    staked, whole = pool(live=True, confidence=1 - 1e-9), pool(confidence=1 - 1e-9)
    states = [made.start_live(1) for made in (staked, whole)]
    so_far, plan = CellEvidence.empty(staked.problem, 1), np.full((1, 3, 4), 15) * (np.arange(3) == 0)[:, None]
    for number in range(2):
        fresh = rows(staked, plan, number)
        so_far = so_far.plus(fresh)
        before = [state.memory.labels for state in states]
        states = [
            made.settle(state, Cohort(fresh), so_far, 7)[0] for made, state in zip((staked, whole), states, strict=True)
        ]
        less, more = (state.memory.labels - was for state, was in zip(states, before, strict=True))
        moved = more != 0
        np.testing.assert_allclose(less[moved], np.logaddexp(np.log(0.05), np.log(0.95) + more[moved]), rtol=1e-9)
    assert moved.any()


def test_lost_rows_count_as_pulls_and_are_remembered() -> None:
    made = pool()
    state, so_far = made.start_live(1), CellEvidence.empty(made.problem, 1)
    plan = np.full((1, 3, 4), 20) * (np.arange(3) == 0)[:, None]
    fresh, missing, by_group = rows(made, plan, 1), np.zeros((1, 3, 3, 4), dtype=int), np.zeros((1, 3, 4, 2), dtype=int)
    missing[0, Missing.UNKNOWN, 0, 2] = by_group[0, Missing.UNKNOWN, 2, 1] = 5
    cohort = Cohort(fresh, missing, Loss.of(made.problem, "worst"), by_group=by_group)
    state, _ = made.settle(state, cohort, so_far.plus(fresh), 7)
    assert state.given[0, 0].tolist() == [20, 20, 25, 20] and state.memory.lost.tolist() == [[5, 0]]
    assert np.array_equal(state.memory.natural, fresh.group_sums((0,))[0].sum(axis=1) + np.array([0, 5]))
