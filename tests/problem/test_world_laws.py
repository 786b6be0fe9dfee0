"""Sums over terms: by hand, and the two ways of making them against each other."""

from __future__ import annotations

import numpy as np
import pytest

from fairarm.problem import world_laws
from fairarm.problem.world_laws import NOT_READ, Factors, Places, Term, WorldSums


def test_weights_and_laws_by_hand() -> None:
    """Two labels, one point each; a child (2, 3), an own factor (5, 7). World 0: label 0 as it is, 2 · 5; read as 1: 3 · 5. World 1: both."""
    child, own = np.array([[2.0], [3.0]]), np.array([[5.0], [7.0]])
    terms = [
        Term(0, 0, 0, 0, (1,), (0,)),
        Term(1, 0, 0, 0, (0,), (0,)),
        Term(1, 1, 1, 0, (1,), (1,)),
        Term(2, 0, 0, 0, (1,), (NOT_READ,), over=(1,)),
    ]
    sums = WorldSums.of(terms, 3, [0, 0], [0, 0], [0, 0])
    arms = np.ones((1, 2, 1))
    assert sums.weights(Factors(arms, (child,), (own,)))[:, 0].tolist() == [15.0, 31.0, pytest.approx(3 / 7)]


def random_case(seed: int) -> tuple[WorldSums, Factors, Places, np.random.Generator]:
    rng = np.random.default_rng(seed)
    D, K, P, X, W = 40, 3, 5, 6, 4
    label = lambda: int(rng.integers(P))  # noqa: E731
    some = lambda: NOT_READ if rng.random() < 0.3 else label()  # noqa: E731
    terms = [
        Term(w, label(), label(), label(), (label(), label()), (some(), some()), (some(), some()) if seed % 2 else ())
        for w in range(W)
        for _ in range(5)
    ]
    sums = WorldSums.of(terms, W, [0, 0, 2, 2, 4], [0, 1, 1, 1, 4], [0, 0, 0, 3, 3])
    drawn = lambda: rng.random((D, P, X)) + 0.1  # noqa: E731
    arms = rng.random((D, K, P, X) if seed % 3 else (K, P, X))
    places = Places(rng.integers(0, 7, (P, X)), rng.integers(0, 2, (P, X)), 7, 2)
    return sums, Factors(arms, (drawn(), drawn()), (drawn(), drawn())), places, rng


@pytest.mark.parametrize("seed", range(6))
def test_term_after_term_is_all_at_once(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sums, factors, *_ = random_case(seed)
    once = sums.weights(factors)
    monkeypatch.setattr(world_laws, "LARGE", 1)
    np.testing.assert_allclose(sums.weights(factors), once, rtol=1e-13)


@pytest.mark.parametrize("seed", range(6))
def test_means_are_laws_times_theta(seed: int) -> None:
    sums, factors, places, rng = random_case(seed)
    h, theta = rng.random((40, 2)), rng.random((40, 7))
    means = sums.means(factors, h, theta, places)
    for d in range(40):
        one = Factors(
            factors.arms[d] if factors.arms.ndim == 4 else factors.arms,
            tuple(part[d] for part in factors.children),
            tuple(part[d] for part in factors.own),
        )
        np.testing.assert_allclose(means[d], sums.laws(one, h[d], places) @ theta[d], rtol=1e-10)
