"""Cards of the next cohort: within the pulls and the cost that are left, and planned beside what is under way."""

from __future__ import annotations

import numpy as np
import pytest

from fairarm.algorithms.opening import Room, ahead_of, shares_before, usable_units

COSTS = np.array([[0.0, 1.0, 1.0], [2.0, 2.0, 2.0], [2.0, 2.0, np.inf]])


def room(
    made: list[list[int]] | None = None, paused: tuple[int, ...] = (), budget: float | None = 0.2, part: float = 1.0
) -> Room:
    given = np.zeros((1, 3, 3), dtype=np.int64)
    if made is not None:
        given[0, 0] = made[0]
    stopped = np.isin(np.arange(3), paused)
    return Room(given, 1000 - given.sum(axis=(1, 2)), COSTS, usable_units(COSTS, (0,), stopped), budget, part)


def test_usable_units():
    assert usable_units(COSTS, (0,), np.zeros(3, dtype=bool)).sum() == 3
    assert usable_units(COSTS, (0, 2), np.array([True, False, False])).tolist() == [
        [False, True, True],
        [False] * 3,
        [False, True, False],
    ]


def test_how_far_ahead_is_planned_by_hand():
    made, left = np.array([0, 100, 990]), np.array([1000, 900, 10])
    assert ahead_of(made, left, 20, 32).tolist() == [32, 100, 20]


def test_a_search_starts_from_what_was_pulled():
    first = np.full((3, 3), 1 / 9)
    made = np.zeros((2, 3, 3), dtype=np.int64)
    made[1, 0] = [3, 1, 0]
    found = shares_before(made, first)
    assert found[0] == pytest.approx(first) and found[1, 0] == pytest.approx([0.75, 0.25, 0])


def test_cards_follow_the_plan_and_keep_the_budget():
    x = np.zeros((1, 3, 3))
    x[0, 0] = [100, 60, 40]
    cards = room().cards(x, np.array([200]), 100)
    assert cards.sum() == 100 and cards[0, 0, 1:].sum() == 20 and not cards[0, 1:].any()
    assert room(budget=None).cards(x, np.array([200]), 100)[0, 0].tolist() == [50, 30, 20]


def test_the_budget_counts_what_is_expected_to_be_dealt():
    """Of 100 cards 80 are: at 0.2 a pull they may cost 16."""
    x = np.zeros((1, 3, 3))
    x[0, 0] = [0, 100, 100]
    assert room(part=0.8).cards(x, np.array([200]), 100)[0, 0, 1:].sum() == 16


def test_what_earlier_cohorts_left_may_be_spent():
    x = np.zeros((1, 3, 3))
    x[0, 0] = [0, 100, 0]
    saved, spent = room([[100, 0, 0]]), room([[80, 20, 0]])
    assert saved.cards(x, np.array([100]), 50)[0, 0, 1] == 30 and spent.cards(x, np.array([100]), 50)[0, 0, 1] == 10


def test_no_more_cards_than_pulls_are_left():
    x = np.ones((1, 3, 3))
    assert room([[990, 0, 0]]).cards(x, np.array([20]), 50).sum() == 10
    assert room([[1000, 0, 0]]).cards(x, np.array([20]), 50).sum() == 0


def test_where_the_cheapest_arm_is_paused_cards_stay_within_the_budget():
    """Every card costs 1, and 0.2 a pull are allowed: 100 free pulls so far pay for 25 cards, (100 + 25) · 0.2."""
    x = np.ones((1, 3, 3))
    cards = room([[100, 0, 0]], paused=(0,)).cards(x, np.array([50]), 50)
    assert cards[0, 0].sum() == 25 and cards[0, 0, 0] == 0
    assert room([[80, 20, 0]], paused=(0,)).cards(x, np.array([50]), 50).sum() == 0


@pytest.mark.parametrize("seed", range(20))
def test_the_cost_rule_over_many_cohorts(seed: int) -> None:
    """Random plans, random parts dealt: pulls and the cost of what was planned never pass what is allowed."""
    rng = np.random.default_rng(seed)
    made = np.zeros((1, 3, 3), dtype=np.int64)
    for _ in range(20):
        here = Room(made, 1000 - made.sum(axis=(1, 2)), COSTS, usable_units(COSTS, (0,), np.zeros(3, dtype=bool)), 0.2)
        cards = here.cards(rng.dirichlet(np.ones(9), 1).reshape(1, 3, 3) * 60, np.array([60]), 60)
        made = made + rng.binomial(cards, 0.9)
        assert made.sum() <= 1000 and cards[0, 1:].sum() == 0
        cost = float((made[0, 0] * COSTS[0]).sum())
        assert cost <= 0.2 * 1000
