"""What the posteriors share: the grid, its weights, and mixtures over the points that count."""

from __future__ import annotations

import numpy as np

from fairarm.core.posterior.directions import Directions
from fairarm.core.posterior.prior import (
    NEGLIGIBLE,
    STRENGTHS,
    Grid,
    choose,
    kept,
    log_determinant,
    prior_rows,
)

SCALES = {(0.3, 0.3): 2.0, (0.3, 1.5): 3.0, (1.5, 1.5): 1.0}


def test_the_grid_has_every_strength_with_every_scale() -> None:
    plain = Grid.of(Directions(np.ones((1, 4, 3))), 3.0, SCALES)
    assert [*zip(plain.strength, plain.scale[:, 1], strict=True)] == [(s, w) for w in (0.3, 1.5) for s in STRENGTHS]
    assert set(plain.scale[:, 0]) == {3.0}
    np.testing.assert_allclose(plain.before.reshape(2, -1).sum(axis=1), [5 / 6, 1 / 6])
    effects = Grid.of(Directions(np.ones((1, 4, 4)), effects=2), 3.0, SCALES)
    assert {tuple(row) for row in effects.scale} == {(3.0, a, e, e) for a, e in SCALES}
    np.testing.assert_allclose(effects.before.reshape(3, -1).sum(axis=1), np.array([2, 3, 1]) / 6)
    smooth = Grid.of(Directions(np.ones((1, 4, 4)), smooth=2), 3.0, SCALES)
    assert len(smooth.strength) == 2 * len(plain.strength)
    assert {tuple(row) for row in smooth.scale} == {(3.0, w, a, a) for w in (0.3, 1.5) for a in (0.0, 1.5)}
    weights = np.full((1, 28), 1 / 28)
    np.testing.assert_allclose(smooth.smooth(Directions(np.ones((1, 4, 4)), smooth=2), weights), [0.5])
    assert plain.smooth(Directions(np.ones((1, 4, 3))), weights[:, :14]) is None


def test_weights_are_shares_of_the_evidence_and_none_is_tiny() -> None:
    grid = Grid(np.ones(4), np.ones((4, 1)), np.full(4, 0.25))
    weights = grid.weights(np.log(np.array([[0.2, 0.3, 0.5, 1e-9], [1e-300, 1.0, 0.0 + 1e-200, 1.0]])))
    np.testing.assert_allclose(weights, [[0.2, 0.3, 0.5, 0], [0, 0.5, 0, 0.5]], atol=1e-8)
    assert np.all((weights == 0) | (weights >= NEGLIGIBLE))
    odds = Grid(np.ones(2), np.ones((2, 1)), np.array([0.75, 0.25]))
    np.testing.assert_allclose(odds.weights(np.log([[0.1, 0.3]])), [[0.5, 0.5]])


def test_points_are_chosen_by_their_weights_and_never_without_any() -> None:
    weights = np.array([[0.0, 0.25, 0.75, 0.0], [1.0, 0.0, 0.0, 0.0]])
    at = choose(weights, np.random.default_rng(0), 40_000)
    assert set(at[0]) == {1, 2} and set(at[1]) == {0}
    assert abs((at[0] == 2).mean() - 0.75) < 5 * np.sqrt(0.75 * 0.25 / 40_000)


def test_mixtures_and_draws_over_the_points_that_count() -> None:
    rng = np.random.default_rng(1)
    weights = np.array([[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]])
    modes = rng.normal(size=(2, 3, 2))
    root = rng.normal(size=(2, 3, 2, 2))
    H = root @ root.transpose(0, 1, 3, 2) + np.eye(2)
    points = kept(weights, modes, np.linalg.cholesky(H))
    assert points.replicate.tolist() == [0, 0, 1] and points.point.tolist() == [0, 2, 1]
    values = np.array([[1.0], [3.0], [7.0]])
    np.testing.assert_allclose(points.mixed(values), [[2.0], [7.0]])
    mean, variance = points.moments(values, np.full((3, 1), 0.5))
    np.testing.assert_allclose(mean, [[2.0], [7.0]])
    np.testing.assert_allclose(variance, [[1.5], [0.5]])
    at = np.broadcast_to([[2], [1]], (2, 40_000))
    drawn = points.drawn(at, rng)
    for n, h in ((0, 2), (1, 1)):
        expected = np.linalg.inv(H[n, h])
        np.testing.assert_allclose(np.cov(drawn[n].T), expected, atol=0.04 * expected.max())
        np.testing.assert_allclose(drawn[n].mean(axis=0), modes[n, h], atol=0.03)
    np.testing.assert_allclose(log_determinant(np.linalg.cholesky(H)), np.log(np.linalg.det(H)))


def test_prior_rows_are_never_fewer_than_the_weakest_prior() -> None:
    found = prior_rows(np.array([[0.2, 0.2]]), np.array([[0.01, 0.1]]), np.array([[5, 5]]))
    np.testing.assert_allclose(found, [[15.0, STRENGTHS[0]]])
