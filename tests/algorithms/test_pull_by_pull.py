"""Algorithms that decide pull by pull: the purse keeps the budget, and batches end with the pulls."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fairarm.algorithms.pull_by_pull import Purse, next_batch


def test_the_purse_by_hand() -> None:
    """Natural, s, s' of two arms: 0 and 1, 0 and 2, 1 and 1; half a coin comes in with every pull."""
    costs = np.array([[0.0, 1.0], [0.0, 2.0], [1.0, 1.0]])
    none = np.zeros((1, 3, 2), dtype=np.int64)

    def bought(*wanted: tuple[int, int]) -> list[list[int]]:
        regimes, arms = np.array([wanted]).transpose(2, 0, 1)
        dearer = Purse(costs + 1, 1.5).buy(none, regimes, arms)
        made = Purse(costs, 0.5).buy(none, regimes, arms)
        np.testing.assert_array_equal(made, dearer)  # one more for every pull, and one more a pull to spend
        return made[0].tolist()

    assert bought((0, 1)) == [[1, 0], [0, 0], [0, 0]]  # ½ in hand: the cheapest of the regime
    assert bought((0, 0), (0, 1)) == [[1, 1], [0, 0], [0, 0]]
    assert bought((0, 0), (1, 1)) == [[1, 1], [0, 0], [0, 0]]  # 1 in hand: not forced at 2, but the arm naturally
    assert bought((0, 0), (0, 0), (0, 0), (1, 1)) == [[3, 0], [0, 1], [0, 0]]
    assert bought((1, 1)) == [[0, 0], [1, 0], [0, 0]]  # the other arm, in the regime wanted
    assert bought((2, 1)) == [[1, 0], [0, 0], [0, 0]]  # nothing of that regime either: the cheapest of all
    assert bought((0, 0), (2, 1), (2, 1), (2, 1)) == [[2, 0], [0, 0], [0, 2]]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.booleans())
def test_the_purse_keeps_the_budget_at_every_pull(seed: int, K: int, free: bool) -> None:
    rng = np.random.default_rng(seed)
    costs = rng.integers(0, 4, (3, K)) * rng.choice([1.0, 0.37])
    budget = None if free else float(costs.min() + rng.choice([0.0, 0.1, 1.0]) * rng.random() * 2)
    purse, given_, N = Purse(costs, budget), np.zeros((2, 3, K), dtype=np.int64), 2
    for total in range(1, 40):
        regime, arm = rng.integers(0, 3, (N, 1)), rng.integers(0, K, (N, 1))
        before = given_.copy()
        given_ = purse.buy(given_, regime, arm)
        assert (given_.sum(axis=(1, 2)) == total).all()
        if budget is None:
            assert ((given_ - before)[np.arange(N), regime[:, 0], arm[:, 0]] == 1).all()
        else:
            assert ((given_ * costs).sum(axis=(1, 2)) <= budget * total + 1e-6).all()


def test_batches_are_two_percent_and_end_with_the_pulls() -> None:
    assert [next_batch(made, 10_000) for made in (0, 1, 99, 100, 5_000, 9_990, 10_000)] == [1, 1, 1, 2, 100, 10, 0]
