"""Monitors of drift and loss: by hand, against every outcome of small cohorts, and how often they alarm."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from fairarm.core.proof.monitors import LOG_ALARM, Drift, LossRows, _log_bet


def test_drift_by_hand():
    """Two cohorts of one cell, 2 rows each: none good, then both. Krichevsky and Trofimov: (1/2)(3/4) = 3/8 for the first. By
    weekday the second has 3/8 again. What is recent has two bad rows: (½ / 3)(1½ / 4). Constant: (1/2)^4."""
    one = Drift.start(1, 1).after(np.array([[2.0]]), np.array([[0.0]]), 0)
    assert np.exp(one.predicted[0, :, 0]) == pytest.approx([3 / 8] * 3)
    assert one.log_value()[0] == pytest.approx(math.log(3 / 8))
    two = one.after(np.array([[2.0]]), np.array([[2.0]]), 5)
    recent = (0.5 / 3) * (1.5 / 4)
    assert np.exp(two.predicted[0, :, 0]) == pytest.approx([3 / 8 * recent, 9 / 64, 9 / 64])
    each = np.array([3 / 8 * recent, 9 / 64, 9 / 64]) * 16
    assert np.exp(two.log_value()[0]) == pytest.approx(each.mean())
    assert two.recent_n[0, 0] == pytest.approx(0.8 * 2 + 2)


def test_without_days_there_is_what_is_recent_alone():
    state = Drift.start(1, 2, days=False).after(np.array([[2.0, 3.0]]), np.array([[0.0, 1.0]]))
    with_days = Drift.start(1, 2).after(np.array([[2.0, 3.0]]), np.array([[0.0, 1.0]]), 4)
    assert state.predicted.shape == (1, 1, 2) and np.array_equal(state.predicted[:, 0], with_days.predicted[:, 0])
    assert Drift.start(2, 0, days=False).log_value().tolist() == [0, 0]


def test_no_law_that_stays_is_expected_to_gain():
    """Every outcome of three cohorts of two rows in one cell, by P(y) of a θ that does not move: the mean e-value is at most 1."""
    for theta in (0.05, 0.3, 0.5, 0.9):
        mean = 0.0
        for ys in itertools.product(range(3), repeat=3):
            chance = math.prod(math.comb(2, y) * theta**y * (1 - theta) ** (2 - y) for y in ys)
            state = Drift.start(1, 1)
            for day, y in enumerate(ys):
                state = state.after(np.array([[2.0]]), np.array([[float(y)]]), 3 * day % 7)
            mean += chance * math.exp(state.log_value()[0])
        assert mean <= 1 + 1e-12


def test_a_cohort_that_is_skipped_changes_nothing():
    rng = np.random.default_rng(3)
    n, y = np.full((2, 3), 5.0), rng.integers(0, 6, (2, 3)).astype(float)
    before = Drift.start(2, 3).after(n, y, 1)
    after = before.after(n, y, 2, np.array([True, False]))
    assert all(np.array_equal(getattr(after, name)[0], getattr(before, name)[0]) for name in vars(before))
    assert not np.array_equal(after.predicted[1], before.predicted[1])


def drifted(shift: float, studies: int, days: int) -> np.ndarray:
    rng, state = np.random.default_rng(4), Drift.start(studies, 3)
    ever = np.zeros(studies, dtype=bool)
    for day in range(days):
        n = rng.multinomial(300, [0.5, 0.3, 0.2], studies)
        theta = np.array([0.3 + shift * (day % 7 >= 5), 0.5, 0.8])
        state = state.after(n.astype(float), rng.binomial(n, theta).astype(float), day % 7)
        ever |= state.alarm()
    return ever


def test_drift_is_found_and_not_imagined():
    """2 000 clean studies of 28 days at level 0.001: more than 10 alarms have probability 10⁻⁵. A weekend that is 0.2 higher in half of
    the rows is found in all of 100."""
    assert drifted(0.0, 2000, 28).sum() <= 10
    assert drifted(0.2, 100, 28).all()


def hypergeometric(dealt: tuple[int, ...], lost: tuple[int, ...]) -> Fraction:
    ways = math.prod(math.comb(d, g) for d, g in zip(dealt, lost, strict=True))
    return Fraction(ways, math.comb(sum(dealt), sum(lost)))


@pytest.mark.parametrize("dealt", [(4, 4), (1, 5), (3, 0, 2)])
def test_whoever_is_lost_at_random_is_bet_on_at_a_fair_price(dealt: tuple[int, ...]) -> None:
    """Over every way to lose m of those dealt, by the law without replacement: the mean payoff is at most 1."""
    rng = np.random.default_rng(5)
    for missing in range(sum(dealt) + 1):
        past = rng.integers(0, 200, (1, len(dealt))).astype(float)
        past_lost = np.floor(past * rng.uniform(0, 0.2, past.shape))
        mean = 0.0
        for lost in itertools.product(*(range(d + 1) for d in dealt)):
            if sum(lost) == missing:
                now, gone = np.array([dealt], dtype=float), np.array([lost], dtype=float)
                mean += float(hypergeometric(dealt, lost)) * math.exp(_log_bet(past, past_lost, now, gone)[0])
        assert mean <= 1 + 1e-9


def lost_ever(points: float, studies: int, cohorts: int, base: float = 0.02) -> np.ndarray:
    rng, state = np.random.default_rng(6), LossRows.start(studies, 3, 2)
    ever = np.zeros(studies, dtype=bool)
    for _ in range(cohorts):
        dealt = rng.multinomial(500, np.full(6, 1 / 6), studies).reshape(-1, 3, 2)
        rate = np.broadcast_to(base + points * np.array([1.0, 0.0]), dealt.shape)
        state = state.after(dealt, rng.binomial(dealt, rate))
        ever |= state.alarm()
    return ever


def test_uneven_loss_is_found_and_not_imagined():
    """2 000 clean studies at level 0.001, as above; 5 points more in one group are found by 5 000 people in 95 of 100 or more."""
    assert lost_ever(0.0, 2000, 20).sum() <= 10
    assert lost_ever(0.0, 500, 20, base=0.3).sum() <= 5
    assert lost_ever(0.05, 100, 10).sum() >= 95


def test_an_outage_says_nothing_of_who_is_lost():
    dealt = np.full((1, 2, 2), 10)
    after = LossRows.start(1, 2, 2).after(dealt, dealt)
    assert not after.loss_wealth.any() and after.gone.sum() == 40
    assert not LossRows.start(1, 2, 2).after(dealt, np.zeros_like(dealt)).loss_wealth.any()
    assert pytest.approx(math.log(1000)) == LOG_ALARM
