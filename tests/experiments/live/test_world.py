"""Worlds of live studies: who arrives when, what is told when, and what the truth is over a week."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.live.cases import by_hour, by_week, late, lost, network, steady

from fairarm.errors import OptionError
from fairarm.experiments.live.world import HOURS, LiveWorld
from fairarm.experiments.truths_from_prior import PriorTruths


@pytest.mark.parametrize("made", [steady, late, lost, by_hour, by_week])
def test_every_world_of_the_benchmark_has_its_arm_at_the_tolerance(made) -> None:
    means = made().group_means()
    assert means[1, 0] - means[1, 1] == pytest.approx(0.2) and means[0, 0] == pytest.approx(means[0, 1])


def test_people_come_by_hour_and_weekday() -> None:
    """200 studies of a week: the mean of each hour is within 5 standard errors, at 2 000 a day on average."""
    hours = np.r_[np.zeros(8), np.ones(12), np.zeros(4)]
    world = steady().with_hours(hours, (1, 1, 1, 1, 1, 0.5, 0.5))
    found = world.people(200, 0.0, 7.0, np.full(200, 0.25), np.random.default_rng(1)).mean(axis=0)
    assert found.shape == (HOURS,) and world.arrivals.mean() == pytest.approx(2000 / 24)
    expected = 0.25 * world.arrivals
    assert np.all(np.abs(found - expected) <= 5 * np.sqrt(expected / 200) + 1e-12)
    assert expected[9] == pytest.approx(2 * expected[5 * 24 + 9])


def test_told_by_day_adds_up() -> None:
    world = steady().with_delays(2.0, 7.0, 0.1)
    dealt = np.full((3, 24, 2), 50)
    made = world.outcomes(dealt, 0.0, np.random.default_rng(2))
    assert made.shape == (3, 2, 2, 4, 8) and np.all(made.sum(axis=(2, 3, 4)) == 24 * 50)
    assert abs(made[..., -1].sum() / 7200 - 0.1) < 4 * math.sqrt(0.09 / 7200)
    assert np.all(np.diff(world.told[0]) < 0) and world.told.sum(axis=1) == pytest.approx(np.full(4, 0.9))


def test_a_loss_by_outcome_is_that_of_its_state() -> None:
    world = steady()
    assert world.by_outcome([0.0, 0.3]).tolist() == [0.0, 0.3, 0.0, 0.3]
    with pytest.raises(OptionError, match="2 states"):
        world.by_outcome([0.1])


def test_the_law_of_an_hour_is_its_own() -> None:
    """Before noon and after it the mean of "edge" in the first group is that of the pattern, within 5 standard errors."""
    world, rng = by_hour(), np.random.default_rng(3)
    for hours, high in ((slice(0, 12), 0.35), (slice(12, 24), 0.75)):
        dealt = np.zeros((1, 24, 2), dtype=np.int64)
        dealt[0, hours, 1] = 5000
        seen = world.outcomes(dealt, 0.0, rng).sum(axis=-1)[0, 1, 0]
        assert abs(seen[3] / seen[2:].sum() - high) < 5 * math.sqrt(0.25 / seen[2:].sum())


def test_each_study_may_have_a_truth_of_its_own() -> None:
    asked = network().problem
    drawn = PriorTruths.of(asked, 0.5, 2.0).draw(5, np.random.default_rng(4))
    world = LiveWorld.of_truths(drawn, 1000)
    assert world.laws.shape == (1, 5, 2, 2, 4)
    np.testing.assert_allclose(world.group_means(), drawn.outcomes().means, rtol=1e-12)
    assert world.of_studies(slice(1, 3)).laws.shape[1] == 2
    dealt = np.full((5, 24, 2), 10)
    assert world.outcomes(dealt, 0.0, np.random.default_rng(5)).sum() == dealt.sum()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: LiveWorld.of(network(), 0), "Arrivals are 0"),
        (lambda: steady().with_hours([1.0] * 23), "have 24 weights"),
        (lambda: steady().with_hours([1.0] * 24, [0.0] * 7), "have 7 weights"),
        (lambda: steady().with_telling(np.full((4, 2), 0.6)), "at most 1 in all"),
        (lambda: steady().with_telling(np.full((4, 1), -0.1)), "0 or more"),
    ],
)
def test_what_cannot_be_is_refused(wrong, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        wrong()
