"""`tf-lucb`: bounds, leader and challenger by hand, and estimates from own rows alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dirichlet_worlds import drawn, random_world
from fairarm import load_problem
from fairarm.algorithms.tf_lucb import Bounds, TopFeasible, leader_and_challenger, own_bounds, radius
from fairarm.core.fairness import Rows
from fairarm.experiments.simulate import replicate


def test_bounds_on_the_coin_by_hand() -> None:
    """Two arms in two groups, δ = 0.1; even: 2 of 4 and 1 of 4 won, tilted: 9 of 16 and no row."""
    problem = load_problem("coin").problem
    rows, sums = np.array([[[4, 4], [16, 0]]]), np.array([[[2.0, 1.0], [9.0, 0.0]]])
    bounds = own_bounds(rows, sums, np.array([problem.shares]))
    U4 = math.sqrt(math.log(math.pi**2 * 4 * 16 / 0.3) / 8)
    assert abs(U4 - 0.9780) < 1e-4  # ln 2 105.5 = 7.6523, an eighth of it 0.95653
    np.testing.assert_allclose(bounds.outcome[0], [0.375, np.nan])
    np.testing.assert_allclose(bounds.gap[0], [0.25, np.nan])
    np.testing.assert_allclose(bounds.outcome_radius[0], [U4, np.inf])
    np.testing.assert_allclose(bounds.gap_radius[0], [2 * U4, np.inf])
    assert bounds.possible(0.1).all()
    np.testing.assert_array_equal(bounds.looks_fair(0.1)[0], [False, False])
    np.testing.assert_array_equal(bounds.looks_fair(0.3)[0], [True, False])


def test_the_radius_covers_every_mean_at_every_size() -> None:
    """Σ_n 2 exp(−2 n U(n)²) over all n and means is δ; and U falls."""
    n = np.arange(1, 200_000)
    U = radius(n, 6, 0.1)
    assert 6 * np.sum(2 * np.exp(-2 * n * U**2)) == pytest.approx(0.1, rel=1e-4)
    assert (np.diff(U) < 0).all()
    assert np.isinf(radius(np.array([0]), 6))


def bounded(*arms: tuple[float, float, float, float]) -> Bounds:
    outcome, outcome_radius, gap, gap_radius = (np.array([column]) for column in zip(*arms, strict=True))
    return Bounds(outcome, outcome_radius, gap, gap_radius)


def pair(bounds: Bounds, rows: list[int], tolerance: float = 0.1) -> tuple[int, int]:
    leader, challenger = leader_and_challenger(bounds, np.array([rows]), tolerance)
    return int(leader[0]), int(challenger[0])


def test_leader_and_challenger_by_hand() -> None:
    nan, inf = float("nan"), float("inf")
    best, wide, unfair = (0.6, 0.1, 0.05, 0.2), (0.4, 0.4, 0.05, 0.8), (0.9, 0.1, 0.5, 0.2)
    doubtful, unseen = (0.9, 0.1, -0.25, 0.2), (nan, inf, nan, inf)
    assert pair(bounded(best, wide, (0.5, 0.1, 0.0, 0.2)), [9, 3, 9]) == (0, 1)  # the most optimistic of the others
    assert pair(bounded(best, wide, unfair), [9, 3, 9]) == (0, 1)  # shown to be unfair: out, however good
    assert pair(bounded(best, wide, (0.9, 0.1, -0.5, 0.2)), [9, 3, 9]) == (0, 1)  # in either direction
    assert pair(bounded(best, wide, doubtful), [9, 3, 9]) == (0, 2)  # looks unfair, may be fair: a challenger
    assert pair(bounded(wide, best, unseen, unseen), [9, 3, 0, 1]) == (1, 3)  # without bounds first, begun ones first
    assert pair(bounded(wide, best, unseen, unseen), [9, 3, 0, 0]) == (1, 2)
    assert pair(bounded(doubtful, (0.1, 0.1, 0.15, 0.2), unseen), [9, 9, 0]) == (1, 2)  # none looks fair: least gap
    assert pair(bounded(unfair, (0.1, 0.1, 0.4, 0.1)), [9, 9]) == (1, 0)  # all shown to be unfair
    assert pair(bounded(best), [9]) == (0, 0)


def test_leader_and_challenger_turn_with_the_arms() -> None:
    rng, order = np.random.default_rng(0), np.array([3, 1, 4, 0, 2])
    rows = rng.integers(1, 40, (200, 5, 2))
    sums, shares = rows * rng.random(rows.shape), np.tile([0.4, 0.6], (200, 1))
    plain = leader_and_challenger(own_bounds(rows, sums, shares), rows.sum(axis=2), 0.2)
    turned = own_bounds(rows[:, order], sums[:, order], shares)
    for a, b in zip(leader_and_challenger(turned, rows[:, order].sum(axis=2), 0.2), plain, strict=True):
        np.testing.assert_array_equal(order[a], b)


@pytest.mark.parametrize("shares", ["declared", None])
def test_tf_lucb_pulls_every_regime_it_needs_equally(shares: str | None) -> None:
    """Declared P(S): forced alone, the groups in turn; else all three regimes in turn. No cost, so nothing is replaced."""
    world = random_world(6, **({} if shares else {"shares": None}))
    procedure = TopFeasible(world.problem, 400)
    state = replicate(procedure, world, 5, np.random.default_rng(0), 0).state
    assert (np.ptp(state.given[:, 0 if shares is None else 1 :], axis=1) <= 1).all()
    assert shares is None or not state.given[:, 0].any()


def test_tf_lucb_estimates_each_arm_from_its_own_rows_alone() -> None:
    world = random_world(7)
    procedure = TopFeasible(world.problem, 60)
    evidence = drawn(world, [[30, 0, 5], [5, 8, 0], [5, 8, 9]])
    _, shown = procedure.step(procedure.start(1), evidence, evidence, 0)
    values = world.problem.compiled.row_outcomes
    for k in range(3):
        means = []
        for t in range(2):
            own = [(values[o], evidence.counts[0, r, k, t, o]) for r in range(3) for o in range(len(values))]
            means.append(sum(y * n for y, n in own) / sum(n for _, n in own))
        share = world.problem.shares or ()
        assert shown.outcomes[0, k] == pytest.approx(share[0] * means[0] + share[1] * means[1], rel=1e-12)
        assert shown.gaps[0, 0, k] == pytest.approx(means[0] - means[1], rel=1e-12)


def test_tf_lucb_finds_the_even_coin() -> None:
    """Truth: 0.5 and fair, against 0.5625 with a gap of 0.125 > 0.1: 3 000 pulls settle the gap to ± 0.02 or so."""
    coin = load_problem("coin")
    state = replicate(TopFeasible(coin.problem, 6_000), coin.world, 30, np.random.default_rng(0), 0).state
    assert np.mean(state.answer == 0) > 0.8


def test_bounds_of_rows_by_hand() -> None:
    """Three groups, P = (.5, .3, .2): b less c, a less everybody, and a floor of c, which the second arm has no row of."""
    rows, sums = np.array([[[4, 16, 4], [4, 4, 0]]]), np.array([[[2.0, 4.0, 1.0], [1.0, 3.0, 0.0]]])
    asked = Rows(np.array([[0.0, 1, -1], [1, 0, 0], [0, 0, 1]]), np.array([0.0, -1, 0]), np.array([-0.1, -0.1, 0.4]), np.array([0.1, 0.1, np.inf]))  # fmt: skip
    bounds = own_bounds(rows, sums, np.array([[0.5, 0.3, 0.2]]), asked)
    U4, U16 = (math.sqrt(math.log(math.pi**2 * 6 * n**2 / 0.3) / (2 * n)) for n in (4, 16))
    np.testing.assert_allclose(bounds.gap[0], [[0.0, 0.5 - 0.375, 0.25], [np.nan, np.nan, np.nan]], atol=1e-12)
    np.testing.assert_allclose(bounds.gap_radius[0, 0], [U4 + U16, 0.5 * U4 + 0.3 * U16 + 0.2 * U4, U4])
    assert np.isinf(bounds.gap_radius[0, 1]).all() and bounds.possible(asked).all()
    assert bounds.looks_fair(asked).tolist() == [[False, False]]
    np.testing.assert_allclose(bounds.misses(asked)[0], [0.15, np.inf])  # the floor is missed by more than the mean
    two = own_bounds(np.array([[[4, 4, 0]]]), np.array([[[2.0, 1.0, 0.0]]]), np.array([[0.5, 0.3, 0.2]]), Rows(np.array([[1.0, -1, 0]]), np.zeros(1), -np.ones(1), np.ones(1)))  # fmt: skip
    np.testing.assert_allclose(two.gap[0], [[0.25]])  # a group that the row leaves out does not matter
    np.testing.assert_allclose(two.gap_radius[0], [[2 * U4_of_three()]])


def U4_of_three() -> float:
    return math.sqrt(math.log(math.pi**2 * 3 * 16 / 0.3) / 8)


def test_an_arm_is_out_where_one_of_its_rows_surely_fails() -> None:
    """A floor: 40 of 1 000 rows won in one group, where 0.4 is asked for; however good the others are."""
    asked = Rows(np.eye(3), np.zeros(3), np.full(3, 0.4), np.full(3, np.inf))
    rows, sums = np.full((1, 2, 3), 1000), np.array([[[900.0, 900.0, 40.0], [500.0, 500.0, 500.0]]])
    bounds = own_bounds(rows, sums, np.full((1, 3), 1 / 3), asked)
    assert bounds.possible(asked).tolist() == [[False, True]]
    leader, challenger = leader_and_challenger(bounds, rows.sum(axis=2), asked)
    assert (leader[0], challenger[0]) == (1, 1)
