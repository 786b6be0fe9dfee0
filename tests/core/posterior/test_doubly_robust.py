"""Balance-heuristic weights, self-normalised contexts and the covariance: by hand, by differences, by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from fairarm.core.posterior import doubly_robust
from fairarm.core.posterior.doubly_robust import (
    ContextTerm,
    Spread,
    clip_levels,
    clipped_weights,
    kept_share,
    mixture,
    unknown_apart,
    unknown_by_region,
)


def test_weights_of_two_arms_and_a_coin_by_hand() -> None:
    """Arm 1 is even in both groups, arm 2 shows heads with ¾ in s and ¼ in s'. 6 + 2 pulls of arm 1, 4 + 0 of arm 2."""
    L = np.array([[[0.5, 0.5], [0.5, 0.5]], [[0.75, 0.25], [0.25, 0.75]]])  # (arm, group, side)
    made = np.array([[6, 2], [4, 0]])
    q = mixture(L, made, by_group=False)
    np.testing.assert_allclose(q, [[(8 * 0.5 + 4 * 0.75) / 12, (8 * 0.5 + 4 * 0.25) / 12]])
    full, clipped = clipped_weights(L, q, np.array([10.0, 10.0]))
    np.testing.assert_allclose(full, L / np.array([7 / 12, 5 / 12]))
    np.testing.assert_array_equal(full, clipped)
    own = mixture(L, made, by_group=True)
    np.testing.assert_allclose(own, [[(6 * 0.5 + 4 * 0.75) / 12, (6 * 0.5 + 4 * 0.25) / 12], [1 / 12, 1 / 12]])


@pytest.mark.parametrize("by_group", [False, True])
def test_weights_have_mean_one_under_the_mixture(by_group: bool) -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(7), size=(3, 2))
    q = mixture(p, rng.integers(1, 9, (3, 2)), by_group)
    full, _ = clipped_weights(p, q, np.full(2, np.inf))
    np.testing.assert_allclose((full * q).sum(axis=2), 1.0)


def test_zeros_and_clipping() -> None:
    L, q = np.array([[[0.0, 0.0, 0.5, 1.0]]]), np.array([[0.0, 0.2, 0.0, 0.1]])
    full, clipped = clipped_weights(L, q, np.array([4.0]))
    np.testing.assert_array_equal(full, [[[0.0, 0.0, np.inf, 10.0]]])
    np.testing.assert_array_equal(clipped, [[[0.0, 0.0, 4.0, 4.0]]])
    np.testing.assert_allclose(kept_share(full, clipped), [[[1.0, 1.0, 0.0, 0.4]]])


def test_clip_levels_are_a_tenth_of_the_rows_that_speak() -> None:
    np.testing.assert_allclose(clip_levels(np.array([900, 100]), by_group=False), [100, 100])
    np.testing.assert_allclose(clip_levels(np.array([900, 100]), by_group=True), [90 * 1000 / 900, 10 * 1000 / 100])
    assert np.all(np.isfinite(clip_levels(np.array([0, 0]), by_group=True)))


def test_the_context_influence_is_the_derivative_of_the_mean() -> None:
    rng = np.random.default_rng(1)
    K, G, Z = 2, 2, 4
    a, e, D = rng.random((K, G, Z)), rng.uniform(0.5, 2, (K, G, Z)), rng.uniform(0.5, 2, (1, Z))
    rows = rng.integers(5, 20, (G, Z))

    def mean(counts: np.ndarray) -> np.ndarray:
        return ContextTerm(a, e, counts.sum(axis=0)[None] / counts.sum() / D).mean

    term = ContextTerm(a, e, rows.sum(axis=0)[None] / rows.sum() / D)
    np.testing.assert_allclose(term.mean, (a * rows.sum(0) / D).sum(2) / (e * rows.sum(0) / D).sum(2))
    for g in range(G):
        n = rows[g].sum()
        found = term.influence(D, rows, g).reshape(Z, K, G)
        raw = np.empty((Z, K, G))
        for z in range(Z):
            step = np.zeros((G, Z))
            step[g, z] = 1e-4
            raw[z] = (mean(rows + step) - mean(rows - step)) / 2e-4 * rows.sum()
        centred = raw - (raw * rows[g][:, None, None]).sum(axis=0) / n
        np.testing.assert_allclose(found, centred * np.sqrt(n / (n - 1)), rtol=1e-5, atol=1e-7)


def test_a_law_by_group_is_moved_by_that_group_alone() -> None:
    rng = np.random.default_rng(1)
    rows = rng.integers(5, 20, (2, 4))
    term = ContextTerm(rng.random((3, 2, 4)), np.ones((3, 2, 4)), rows / rows.sum(axis=1, keepdims=True))
    moved = term.influence(rows.sum(axis=1, keepdims=True) / rows.sum(), rows, 0).reshape(4, 3, 2)
    assert np.abs(moved[..., 0]).min() > 0 and np.all(moved[..., 1] == 0)


def test_the_spread_is_the_sum_of_products() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(300, 6)) @ rng.normal(size=(6, 6))
    spread = Spread(6)
    spread.add(vectors[:100])
    spread.add(vectors[100:])
    root = spread.root()
    np.testing.assert_allclose(root.T @ root, vectors.T @ vectors, rtol=1e-9, atol=1e-9)


def test_a_wide_spread_is_exact_until_it_must_be_sketched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doubly_robust, "EXACT_WIDTH", 4)
    monkeypatch.setattr(doubly_robust, "SKETCH", 2000)
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(20_000, 6)) @ rng.normal(size=(6, 6)) + 0.5  # a mean that signs must cancel
    few, many = Spread(6), Spread(6)
    for part in np.split(vectors[:1500], 3):
        few.add(part)
    np.testing.assert_allclose(few.root().T @ few.root(), vectors[:1500].T @ vectors[:1500])
    for part in np.split(vectors, 10):
        many.add(part)
    ratio = np.diag(many.root().T @ many.root()) / np.diag(vectors.T @ vectors)
    assert np.abs(ratio - 1).max() < 4 * np.sqrt(2 / 2000)


def test_what_is_unknown_is_shared_where_arms_go_to_the_same_place() -> None:
    lost = np.zeros((2, 2, 4))
    lost[0, :, 1] = 0.3  # both groups of arm 1 lose the same mass in the same region: its gap is known to be 0
    lost[1, 0, 1], lost[1, 1, 2] = 0.3, 0.3
    root = unknown_by_region(lost, own_cells=False, scale=1.0).reshape(-1, 2, 2)
    gaps = root[..., 0] - root[..., 1]
    assert np.all(gaps[:, 0] == 0) and np.sqrt((gaps[:, 1] ** 2).sum()) > 0.1
    apart = unknown_by_region(lost, own_cells=True, scale=1.0).reshape(-1, 2, 2)
    assert np.abs(apart[..., 0] - apart[..., 1])[:, 0].max() > 0
    blind = unknown_apart(np.full((2, 2), 0.5), np.array([0.0, 1.0]), 1.0).reshape(-1, 2, 2)
    assert np.all(blind[:, 0, 0] == blind[:, 0, 1]) and np.abs(blind[:, 1, 0] - blind[:, 1, 1]).max() > 0
