"""The best mixture of two arms against a fine grid, against every weight where some draw changes side, and by hand."""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np
import pytest

from fairarm.core.posterior import arm_mixture as mixture
from fairarm.core.posterior.arm_mixture import Mixture, best_mixture

NEAR = 1e-6


def share_fair(gaps: np.ndarray, i: int, j: int, alpha: np.ndarray, E: float) -> np.ndarray:
    """P(|α ζ_i + (1−α) ζ_j| < E) for each α."""
    mixed = np.outer(alpha, gaps[:, i]) + np.outer(1 - alpha, gaps[:, j])
    return np.mean(np.abs(mixed) < E, axis=1)


def oracle(outcomes, gaps, E, delta, alphas=None) -> float:
    """The best mean over all pairs; weights from a grid, or 0, 1 and just beside each where |gap| = E in some draw."""
    means, best = outcomes.mean(axis=0), -np.inf
    pairs = list(combinations(range(gaps.shape[1]), 2)) or [(0, 0)]
    for i, j in pairs:
        if alphas is None:
            ends = [(side * E - b) / (a - b) for a, b in gaps[:, [i, j]] for side in (-1, 1) if a != b]
            tried = np.array([0.0, 1.0] + [e + shift for e in ends for shift in (-NEAR, NEAR)])
            tried = tried[(tried >= 0) & (tried <= 1)]
        else:
            tried = alphas
        value = tried * means[i] + (1 - tried) * means[j]
        enough = share_fair(gaps, i, j, tried, E) >= 1 - delta - 1e-12
        best = max(best, float(np.max(np.where(enough, value, -np.inf))))
    return best


def draws(rng: np.random.Generator, K: int, D: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Gaps of both signs; better arms tend to be the less fair ones."""
    gap = rng.normal(0, 0.1, K)
    outcome = rng.uniform(0.3, 0.7, K) + np.abs(gap)
    shared = rng.normal(0, noise, (D, 1))
    return outcome + rng.normal(0, 0.02, (D, K)), gap + shared + rng.normal(0, noise, (D, K))


def check(found: Mixture, outcomes: np.ndarray, gaps: np.ndarray, E: float) -> None:
    """What is said of a mixture is what the draws say."""
    x = np.zeros(gaps.shape[1])
    np.add.at(x, list(found.arms), found.weights)
    assert np.all(x >= 0) and x.sum() == pytest.approx(1)
    assert found.outcome == pytest.approx(np.mean(outcomes @ x))
    assert found.gap == pytest.approx(np.mean(gaps @ x))
    assert found.fair == pytest.approx(np.mean(np.abs(gaps @ x) < E))
    np.testing.assert_allclose(found.outcome_interval, np.quantile(outcomes @ x, [0.025, 0.975]))
    np.testing.assert_allclose(found.gap_interval, np.quantile(gaps @ x, [0.025, 0.975]))


CASES = [
    (K, noise, E, delta)
    for K in (1, 2, 3, 6)
    for noise in (0.0, 0.01, 0.04)
    for E in (0.02, 0.06, 0.12)
    for delta in (0.0, 0.13, 0.4)  # of 40 draws 40, 34.8 and 24
]


def test_every_pair_and_every_change_of_side() -> None:
    seen = {"pair": 0, "single": 0, "none": 0, "pair without a fair arm": 0}
    for n, (K, noise, E, delta) in enumerate(CASES):
        outcomes, gaps = draws(np.random.default_rng(n), K, 40, noise)
        found = best_mixture(outcomes, gaps, E, delta)
        expected = oracle(outcomes, gaps, E, delta)
        if found.best is None:
            assert expected == -np.inf and found.single is None and found.margin_cost is None
            seen["none"] += 1
            continue
        check(found.best, outcomes, gaps, E)
        assert found.best.fair >= 1 - delta - 1e-12
        assert found.best.outcome == pytest.approx(expected, abs=3 * NEAR)
        alone = [k for k in range(K) if np.mean(np.abs(gaps[:, k]) < E) >= 1 - delta - 1e-12]
        if alone:
            check(found.single, outcomes, gaps, E)
            assert found.single.arms == (max(alone, key=lambda k: outcomes[:, k].mean()),)
            assert found.best.outcome >= found.single.outcome
        else:
            assert found.single is None
            seen["pair without a fair arm"] += 1
        seen["pair" if len(found.best.arms) == 2 else "single"] += 1
    assert min(seen.values()) >= 8, seen


def test_a_fine_grid() -> None:
    for seed in range(10):
        outcomes, gaps = draws(np.random.default_rng([1, seed]), 7, 60, 0.02)
        found = best_mixture(outcomes, gaps, 0.07, 0.1)
        expected = oracle(outcomes, gaps, 0.07, 0.1, np.linspace(0, 1, 4001))
        assert found.best is not None
        assert expected - NEAR <= found.best.outcome <= expected + 1 / 4000


def test_intervals_that_end_before_others_begin() -> None:
    """Opposite arms, gaps far above E: a draw is fair on a short stretch of weights, and the stretches do not all meet.

    E = 0.1, arm 0 at +1, arm 1 at −g: fair where |α − g(1 − α)| < 0.1, around g/(1 + g). Two draws of g = 3 are fair in
    (0.725, 0.775), six near g = 1 about (0.45, 0.55): where five of eight are needed, the fifth end of the six counts.
    """
    g = np.array([3.0, 3.0, 0.98, 0.99, 1.0, 1.01, 1.02, 1.03])
    gaps = np.column_stack([np.ones(8), -g])
    outcomes = np.tile([1.0, 0.0], (8, 1))
    found = best_mixture(outcomes, gaps, 0.1, 3 / 8)
    assert found.best is not None and found.best.arms == (0, 1)
    # ends (0.1 + g)/(1 + g): of the six, five end at or above that of g = 0.99
    assert found.best.outcome == pytest.approx(1.09 / 1.99, abs=2e-7)
    assert found.best.fair == 5 / 8
    assert best_mixture(outcomes, gaps, 0.1, 1 / 8).best is None
    assert best_mixture(outcomes, gaps, 0.1, 6 / 8).best.outcome == pytest.approx(3.1 / 4, abs=2e-7)


def test_one_draw_is_a_line() -> None:
    """α ζ_i + (1−α) ζ_j = E: α = (E − ζ_j)/(ζ_i − ζ_j), a little less."""
    found = best_mixture(np.array([[0.9, 0.5]]), np.array([[0.3, -0.1]]), 0.1)
    assert found.best is not None and found.best.arms == (0, 1)
    assert found.best.weights[0] == pytest.approx(0.5, abs=2e-7)
    assert found.best.weights[0] < 0.5 and abs(found.best.gap) < 0.1
    assert found.best.outcome == pytest.approx(0.7, abs=1e-7)
    assert found.single is None  # |−0.1| is not below 0.1
    assert found.margin_cost == 0
    negative = best_mixture(np.array([[0.5, 0.9]]), np.array([[0.05, -0.3]]), 0.1)
    assert negative.best.weights == pytest.approx((0.15 / 0.35, 0.2 / 0.35), abs=2e-7)
    assert negative.best.arms == (1, 0)
    assert negative.single.arms == (0,) and negative.single.weights == (1.0,)


def test_opposite_gaps_cancel() -> None:
    """No arm is fair in any draw; a mixture is in nearly all."""
    rng = np.random.default_rng(2)
    gaps = np.array([0.3, 0.25, -0.3]) + rng.uniform(-0.01, 0.01, (200, 3))
    outcomes = np.tile([0.9, 0.85, 0.6], (200, 1))
    found = best_mixture(outcomes, gaps, 0.05, 0.05)
    assert found.single is None
    # 0.25 needs less of the poor arm than 0.3, but not enough less: 0.3 α − 0.3 (1−α) = 0.05 − margin
    assert found.best.arms == (0, 2)
    assert 0.5 < found.best.weights[0] < 0.5 + 0.05 / 0.6
    # being sure costs the margin between the draws and their mean, at 0.3 of outcome a weight
    assert 0 < found.margin_cost < 0.3 * 0.02
    assert found.best.outcome + found.margin_cost == pytest.approx(
        oracle(outcomes[:1], gaps.mean(axis=0, keepdims=True), 0.05, 0.0), abs=3 * NEAR
    )


def test_the_more_sure_the_more_it_costs() -> None:
    outcomes, gaps = draws(np.random.default_rng(3), 6, 300, 0.02)
    found = [best_mixture(outcomes, gaps, 0.08, delta) for delta in (0.3, 0.1, 0.02)]
    values = [f.best.outcome for f in found]
    costs = [f.margin_cost for f in found]
    assert values[0] > values[1] > values[2]
    assert costs[0] < costs[1] < costs[2]
    np.testing.assert_allclose(np.add(values, costs), values[0] + costs[0])


def test_no_tolerance_at_all_and_every_tolerance() -> None:
    outcomes, gaps = draws(np.random.default_rng(4), 5, 50, 0.02)
    for E in (0.0, -1.0):
        assert best_mixture(outcomes, gaps, E, 1.0).best is None
    for E in (5.0, np.inf):
        found = best_mixture(outcomes, gaps, E, 0.0)
        assert found.best == found.single
        assert found.best.arms == (int(np.argmax(outcomes.mean(axis=0))),)
        assert found.margin_cost == 0 and found.best.fair == 1


def test_equal_gaps_in_both_arms() -> None:
    """A flat line: fair whatever the weight, or never. Arm 0 always 0.2, arm 1 equal to it in two draws of four."""
    outcomes = np.tile([0.8, 0.2], (4, 1))
    gaps = np.array([[0.2, 0.2], [0.2, 0.2], [0.2, -0.2], [0.2, -0.2]])
    assert best_mixture(outcomes, gaps, 0.1, 0.25).best is None
    half = best_mixture(outcomes, gaps, 0.1, 0.5).best
    assert half.weights[0] == pytest.approx(0.75, abs=2e-7) and half.fair == 0.5
    flat = best_mixture(outcomes, gaps, 0.3, 0.0).best
    assert flat.arms == (0,)


# ---- symmetries ----


@pytest.fixture(params=range(4))
def case(request):
    return (*draws(np.random.default_rng([5, request.param]), 8, 100, 0.02), 0.06, 0.1)


def test_arms_permuted_groups_swapped_outcomes_scaled(case) -> None:
    outcomes, gaps, E, delta = case
    plain = best_mixture(*case)
    order = np.random.default_rng(0).permutation(8)
    moved = best_mixture(outcomes[:, order], gaps[:, order], E, delta)
    assert tuple(order[list(moved.best.arms)]) == plain.best.arms
    assert moved.best.weights == pytest.approx(plain.best.weights)
    assert moved.margin_cost == pytest.approx(plain.margin_cost, abs=1e-12)
    assert best_mixture(outcomes, -gaps, E, delta).best.weights == pytest.approx(plain.best.weights)
    scaled = best_mixture(3 * outcomes - 1, 3 * gaps, 3 * E, delta)
    assert scaled.best.arms == plain.best.arms
    assert scaled.best.outcome == pytest.approx(3 * plain.best.outcome - 1)
    assert scaled.margin_cost == pytest.approx(3 * plain.margin_cost, abs=1e-12)


def test_draws_in_another_order(case) -> None:
    outcomes, gaps, E, delta = case
    again = best_mixture(outcomes[::-1], gaps[::-1], E, delta)
    assert again.best.weights == pytest.approx(best_mixture(*case).best.weights)


def test_small_blocks_give_the_same(case, monkeypatch) -> None:
    plain = best_mixture(*case)
    monkeypatch.setattr(mixture, "_BLOCK", 250)
    assert best_mixture(*case) == plain


def test_thirty_arms_and_a_thousand() -> None:
    """Generous by a factor of ten and of four: what is measured here is that nothing grows out of hand."""
    rng = np.random.default_rng(6)
    for K, limit in ((30, 0.5), (1000, 4.0)):
        outcomes, gaps = draws(rng, K, 400, 0.02)
        before = time.process_time()
        assert best_mixture(outcomes, gaps, 0.08, 0.1).best is not None
        assert time.process_time() - before < limit
