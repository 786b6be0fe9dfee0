"""Who enters a live study, and whether evenly: by hand, then over many names."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairarm.core.entry import (
    PARTS,
    Coverage,
    dealt_deck,
    deck_size,
    entry_number,
    entry_share,
    expected_arrivals,
    time_with_cards,
    under_way_at_once,
)

KEY = bytes(range(32))


def test_the_share_and_the_deck_by_hand():
    assert entry_share(500, 2000) == 0.25 and entry_share(500, 400) == 1.0
    assert [deck_size(people) for people in (1, 4, 100, 500)] == [2, 5, 125, 625]
    assert under_way_at_once(500, 7.0, 1.0) == 4000 and under_way_at_once(100, 3.5, 7.0) == 150


def test_a_name_has_one_number_by_key():
    """The same for ever, another with another key, and spread evenly: 20 000 names, the share
    below 0.3 is within 4 standard errors."""
    assert entry_number(KEY, "u-123") == entry_number(KEY, "u-123")
    assert entry_number(KEY, "u-123") != entry_number(b"other", "u-123")
    numbers = np.array([entry_number(KEY, f"u-{i}") for i in range(20_000)])
    assert numbers.min() >= 0 and numbers.max() < 1 and len(set(numbers)) == 20_000
    assert abs((numbers < 0.3).mean() - 0.3) < 4 * math.sqrt(0.21 / 20_000)
    assert 0.0 <= entry_number(KEY, "u-1") < 1.0


def test_whoever_enters_a_smaller_study_enters_a_larger_one():
    few, many = ({i for i in range(500) if entry_number(KEY, str(i)) < share} for share in (0.2, 0.5))
    assert few < many


def test_a_deck_holds_its_cards_in_any_order_with_the_same_chance():
    counts = np.array([1, 0, 2])
    rng, first = np.random.default_rng(1), np.zeros(3)
    for _ in range(6000):
        deck = dealt_deck(counts, rng)
        assert np.bincount(deck, minlength=3).tolist() == [1, 0, 2]
        first[deck[0]] += 1
    assert abs(first[0] / 6000 - 1 / 3) < 4 * math.sqrt(2 / 9 / 6000)


def test_arrivals_are_the_median_of_the_last_three_cohorts():
    assert expected_arrivals(2000, [], [], []) == 2000
    assert expected_arrivals(2000, [0], [0.25], [1.0]) == 2000
    # 500 / .25, 100 / (.25 · .5), 900 / .25; and an old one that is forgotten
    assert expected_arrivals(1, [9000, 500, 100, 900], [0.25] * 4, [1, 1, 0.5, 1]) == 2000


def test_time_in_parts_of_the_cycle_by_hand():
    day = time_with_cards(0.0, 1.0, 1.0)
    assert day == pytest.approx(np.full(PARTS, 1 / 24))
    noon = time_with_cards(2.0, 2.5, 1.0)
    assert noon[:12] == pytest.approx(np.full(12, 1 / 24)) and np.allclose(noon[12:], 0, atol=1e-12)
    assert time_with_cards(0.75, 1.25, 1.0) == pytest.approx(
        np.where((np.arange(24) < 6) | (np.arange(24) >= 18), 1 / 24, 0)
    )
    assert time_with_cards(0.0, 7.0, 7.0) == pytest.approx(np.full(PARTS, 7 / 24))


def test_time_in_parts_against_a_clock_that_ticks():
    rng = np.random.default_rng(2)
    for _ in range(20):
        start = rng.uniform(0, 10)
        stop, cycle = start + rng.uniform(0, 5), rng.choice([1.0, 7.0])
        ticks = np.linspace(start, stop, 200_001)[:-1]
        part = np.floor((ticks % cycle) / cycle * PARTS).astype(int)
        by_clock = np.bincount(part, minlength=PARTS) * (stop - start) / 200_000
        assert time_with_cards(start, stop, cycle) == pytest.approx(by_clock, abs=1e-3)


@pytest.mark.parametrize(
    ("least", "uneven", "void"),
    [
        (1.0, False, False),
        (0.8, False, False),
        (0.79, True, False),
        (0.5, True, False),
        (0.49, True, True),
        (0.0, True, True),
    ],
)
def test_coverage(least: float, uneven: bool, void: bool) -> None:
    time = np.ones(PARTS)
    time[3] = least
    found = Coverage(time)
    assert (found.uneven, found.void) == (uneven, void) and found.least == pytest.approx(least)


def test_nothing_dealt_is_covered():
    assert not Coverage(np.zeros(PARTS)).uneven
