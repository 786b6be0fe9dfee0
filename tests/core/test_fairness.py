"""The gap, the test of fairness, the best fair arm and P(S) from counts, in closed form; and two groups or an error."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta

from fairarm.core.answer import Code
from fairarm.core.fairness import (
    Rows,
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


def test_drawn_shares_of_several_groups_are_dirichlet() -> None:
    """Mean, variance and covariance in closed form, of 20 000 draws; and beside the Beta of two groups merged."""
    a = np.array([3.5, 0.5, 1.5, 8.5])
    drawn = draw_shares(np.array([[3, 0, 1, 8], [0, 0, 0, 0]]), 20_000, np.random.default_rng(0))
    assert drawn.shape == (2, 20_000, 4) and np.allclose(drawn.sum(axis=2), 1.0)
    mean = a / a.sum()
    np.testing.assert_allclose(drawn[0].mean(axis=0), mean, atol=0.005)
    np.testing.assert_allclose(np.cov(drawn[0].T), (np.diag(mean) - np.outer(mean, mean)) / (a.sum() + 1), atol=0.001)
    merged = np.quantile(drawn[0, :, :2].sum(axis=1), [0.05, 0.5, 0.95])
    np.testing.assert_allclose(merged, beta.ppf([0.05, 0.5, 0.95], a[:2].sum(), a[2:].sum()), atol=0.01)
    np.testing.assert_allclose(drawn[1].mean(axis=0), 0.25, atol=0.01)


# ---- rows ----


def some_rows(rng: np.random.Generator, groups: int, count: int) -> Rows:
    """Weights with zeros, parts of everybody, and ends of all kinds."""
    a = np.where(rng.random((count, groups)) < 0.4, 0.0, rng.uniform(-1, 1, (count, groups)))
    e = np.where(rng.random(count) < 0.5, 0.0, rng.uniform(-1, 1, count))
    low, high = -rng.uniform(0, 0.4, count), rng.uniform(0, 0.4, count)
    kind = np.arange(count) % 3
    return Rows(a, e, np.where(kind == 1, -np.inf, low), np.where(kind == 2, np.inf, high))


def test_rows_by_loops() -> None:
    rng = np.random.default_rng(0)
    rows, means, shares = some_rows(rng, 4, 7), rng.random((5, 3, 4)), np.array([0.1, 0.2, 0.3, 0.4])
    outcomes = means @ shares
    values = rows.values(means, outcomes)
    law, theta = rng.dirichlet(np.ones(6), (3, 4)), rng.random(6)
    alpha = rows.coefficients(law, np.einsum("ktc,t->kc", law, shares))
    for k in range(3):
        for j in range(7):
            a, e, low, high = rows.by_group[j], rows.everyone[j], rows.low[j], rows.high[j]
            for n in range(5):
                value = sum(a[t] * means[n, k, t] for t in range(4)) + e * outcomes[n, k]
                assert values[n, k, j] == pytest.approx(value, abs=1e-12)
                assert rows.hold(values)[n, k, j] == (low < value < high)
                inside = [end for end in (value - low, high - value) if np.isfinite(end)]
                assert rows.beyond(values)[n, k, j] == pytest.approx(-min(inside), abs=1e-12)
                assert rows.is_above(values)[n, k, j] == (high - value <= value - low)
            mean = sum(a[t] * law[k, t] @ theta for t in range(4)) + e * sum(
                shares[t] * law[k, t] @ theta for t in range(4)
            )
            assert alpha[k, j] @ theta == pytest.approx(mean, abs=1e-12)
            assert rows.weights(shares)[j] @ (law[k] @ theta) == pytest.approx(mean, abs=1e-12)
    np.testing.assert_array_equal(
        rows.fair(values), [[all(rows.hold(values)[n, k]) for k in range(3)] for n in range(5)]
    )


def test_a_row_on_its_end_does_not_hold() -> None:
    rows = Rows(np.array([[1.0, 0.0], [1.0, -0.8]]), np.zeros(2), np.array([0.25, 0.0]), np.array([np.inf, np.inf]))
    means = np.array([[0.25, 0.0], [0.5, 0.625], [0.5, 0.5], [np.nan, 0.5]])
    assert rows.hold(rows.values(means, means[:, 0])).tolist() == [
        [False, True],
        [True, False],
        [True, True],
        [False, False],
    ]


def test_one_gap_is_first_less_second_to_the_last_bit() -> None:
    rng = np.random.default_rng(1)
    means = rng.random((50, 40, 2)) * 10.0 ** rng.integers(-12, 3, (50, 40, 2))
    rows = Rows.gap(0.25)
    assert np.array_equal(rows.values(means, means[..., 0])[..., 0], gap_of(means))
    law = rng.random((3, 4, 2, 50))
    assert np.array_equal(rows.coefficients(law, law[:, :, 0])[:, :, 0], gap_of(law, axis=2))
    assert np.array_equal(rows.fair(rows.values(means, means[..., 0])), is_fair(gap_of(means), 0.25))


def test_a_group_without_a_mean_matters_where_a_row_has_it() -> None:
    rows = Rows(np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0], [1.0, 0.0, 0.0]]), np.array([0.0, 0.0, -1.0]), *np.array([[-1.0] * 3, [1.0] * 3]))  # fmt: skip
    values = rows.values(np.array([[0.5, 0.25, np.nan], [0.5, 0.25, 0.5]]), np.array([0.375, np.nan]))
    np.testing.assert_array_equal(values, [[0.25, np.nan, 0.125], [0.25, -0.25, np.nan]])
    assert rows.fair(values).tolist() == [False, False]


def test_drawn_shares_are_beta() -> None:
    drawn = draw_shares(np.array([[3, 1], [0, 0]]), 20_000, np.random.default_rng(0))
    assert drawn.shape == (2, 20_000, 2) and np.allclose(drawn.sum(axis=2), 1.0)
    a, b = np.array([3.5, 0.5]), np.array([1.5, 0.5])
    assert np.allclose(drawn[..., 0].mean(axis=1), a / (a + b), atol=0.01)
    assert np.allclose(drawn[..., 0].var(axis=1), a * b / (a + b) ** 2 / (a + b + 1), atol=0.005)


@pytest.mark.parametrize("groups", [1, 3])
def test_other_than_two_groups_are_refused(groups: int) -> None:
    means = np.zeros((4, groups))
    for compare in (two_groups, gap_of, lambda given: Rows.gap(0.1).values(given, given[:, 0])):
        with pytest.raises(ProblemError, match=f"got {groups}.*merge states, or run one pair at a time"):
            compare(means)
