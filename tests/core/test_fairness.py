"""The gap, the test of fairness, the best fair arm and P(S) from counts, in closed form; and two groups or an error."""

from __future__ import annotations

import numpy as np
import pytest

from fairarm.core.answer import Code
from fairarm.core.fairness import (
    best_fair,
    best_fair_arm,
    both_directions,
    draw_shares,
    expected_shares,
    gap_of,
    interval_fairness,
    is_fair,
    two_groups,
)
from fairarm.errors import DataError, ProblemError

MEANS = np.array([[0.75, 0.5], [0.25, 0.5]])


def test_gap_is_the_first_group_minus_the_second() -> None:
    assert gap_of(MEANS).tolist() == [0.25, -0.25]
    assert gap_of(MEANS, axis=0).tolist() == [0.5, 0.0]
    assert both_directions(gap_of(MEANS)[None]).tolist() == [[[0.25, -0.25], [-0.25, 0.25]]]


def test_an_arm_on_the_tolerance_is_unfair_and_so_is_one_that_is_not_known() -> None:
    assert is_fair(np.array([0.25, -0.25, 0.249, -0.249, np.nan]), 0.25).tolist() == [False, False, True, True, False]


def test_an_interval_is_fair_or_unfair_only_throughout() -> None:
    low, high = np.array([-0.1, -0.2, 0.2, 0.1, -0.5, -0.5]), np.array([0.1, 0.1, 0.5, 0.3, -0.2, -0.1])
    fair, above, below = interval_fairness(low, high, 0.2)
    assert fair.tolist() == [True, False, False, False, False, False]  # -0.2 itself is unfair
    assert above.tolist() == [False, False, True, False, False, False]
    assert below.tolist() == [False, False, False, False, True, False]


def test_best_fair_is_the_highest_outcome_among_the_fair() -> None:
    outcomes = np.array([[0.9, 0.5, 0.7], [0.9, 0.5, 0.7]])
    fair = np.array([[False, True, True], [False, False, False]])
    assert best_fair(outcomes, fair).tolist() == [2, Code.NONE]
    assert best_fair_arm(outcomes[0], np.array([0.3, 0.0, -0.1]), 0.2) == 2
    assert best_fair(np.array([np.nan, 0.5]), np.array([False, True])) == 1  # an estimate that is not known


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_draws_that_are_not_finite_are_an_error(bad: float) -> None:
    with pytest.raises(DataError, match="not a finite number"):
        best_fair_arm(np.array([0.5, bad]), np.zeros(2), 0.1)
    with pytest.raises(DataError, match="not a finite number"):
        best_fair_arm(np.zeros(2), np.array([0.0, bad]), 0.1)


def test_shares_have_half_a_row_of_each_group() -> None:
    assert expected_shares(np.array([[0, 0], [2, 0]])).tolist() == [[0.5, 0.5], [2.5 / 3, 0.5 / 3]]


def test_drawn_shares_are_beta() -> None:
    drawn = draw_shares(np.array([[3, 1], [0, 0]]), 20_000, np.random.default_rng(0))
    assert drawn.shape == (2, 20_000, 2) and np.allclose(drawn.sum(axis=2), 1.0)
    a, b = np.array([3.5, 0.5]), np.array([1.5, 0.5])
    assert np.allclose(drawn[..., 0].mean(axis=1), a / (a + b), atol=0.01)
    assert np.allclose(drawn[..., 0].var(axis=1), a * b / (a + b) ** 2 / (a + b + 1), atol=0.005)


@pytest.mark.parametrize("groups", [1, 3])
def test_other_than_two_groups_are_refused(groups: int) -> None:
    means = np.zeros((4, groups))
    for compare in (two_groups, gap_of, lambda given: draw_shares(given, 1, np.random.default_rng(0))):
        with pytest.raises(ProblemError, match=f"got {groups}.*merge states, or run one pair at a time"):
            compare(means)
