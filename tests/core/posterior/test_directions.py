"""Directions of the prior's mean, against sums by loops, numpy's own factors and scipy's splines."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from fairarm.core.posterior import directions as module
from fairarm.core.posterior.directions import (
    Directions,
    arm_columns,
    law_of_rows,
    main_effects,
    smooth_functions,
)


def some_law(rng: np.random.Generator, N: int = 2, K: int = 3, C: int = 6) -> np.ndarray:
    return rng.dirichlet(np.ones(C), (N, K, 2))


def test_rows_fall_as_the_pulls_made_and_a_tenth_as_all_arms_would() -> None:
    law = some_law(np.random.default_rng(0))
    made = np.array([[[3, 1], [0, 0], [6, 0]], [[0, 0], [0, 0], [0, 0]]])
    q = law_of_rows(law, made)
    even = law.mean(axis=(1, 2))
    pulled = (3 * law[0, 0, 0] + law[0, 0, 1] + 6 * law[0, 2, 0]) / 10
    np.testing.assert_allclose(q[0], 0.9 * pulled + 0.1 * even[0])
    np.testing.assert_allclose(q[1], even[1])  # no row yet
    np.testing.assert_allclose(law_of_rows(law[:1], made)[1], even[0])  # one law for all replicates


@pytest.mark.parametrize("noisy", [False, True])
def test_columns_are_coefficients_over_q_of_one_size(noisy: bool) -> None:
    rng = np.random.default_rng(1)
    coefficients, q = rng.normal(size=(1, 4, 6)), rng.dirichlet(np.ones(6), 2)
    coefficients[:, 3] = 0.0  # an arm that treats the groups alike
    noise = rng.random((2, 6)) if noisy else np.ones((2, 6))
    found = arm_columns(coefficients, q, noise if noisy else None)
    for n in range(2):
        for j in range(3):
            w = [coefficients[0, j, c] / q[n, c] * noise[n, c] for c in range(6)]
            size = sum(q[n, c] * w[c] ** 2 for c in range(6)) ** 0.5
            np.testing.assert_allclose(found[n, j], np.array(w) / size / 2)  # √4 columns
    assert not found[:, 3].any()


def test_a_difference_that_is_only_rounding_is_no_direction() -> None:
    law = np.full((1, 1, 5), 0.2)
    coefficients = np.concatenate([law, 1e-17 * np.arange(5).reshape(1, 1, 5)], axis=1)
    assert not arm_columns(coefficients, law[:, 0])[:, 1].any()


def test_cells_that_no_pull_can_meet_have_no_part() -> None:
    q = np.array([[0.5, 0.5, 0.0]])
    found = arm_columns(np.array([[[0.2, 0.8, 0.0]]]), q)
    assert np.isfinite(found).all()
    assert found[0, 0, 2] == 0


def test_rare_states_share_one_effect() -> None:
    """Of 300 states the 256 with most rows have an effect each."""
    a, rows = np.repeat(np.arange(300), 2), np.repeat(np.random.default_rng(0).permutation(300), 2)
    found = main_effects([a, np.tile([0, 1], 300)], rows)
    assert len(found) == 257 + 2
    assert np.count_nonzero(found[:256], axis=1).tolist() == [2] * 256
    assert set(np.flatnonzero(found[256])) == set(np.flatnonzero(rows < 44))


def test_main_effects() -> None:
    a, b = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 0, 1])
    found = main_effects([a, b, np.zeros(6, dtype=int)], np.ones(6, dtype=int))
    expected = [a == 0, a == 1, a == 2, b == 0, b == 1]
    np.testing.assert_allclose(found, 0.7 / np.sqrt(2) * np.array(expected))
    assert main_effects([a], np.ones(6, dtype=int)).shape == (0, 6)
    assert main_effects([], np.ones(1, dtype=int)).shape == (0, 1)


@pytest.mark.parametrize(("J", "C"), [(4, 9), (9, 4), (5, 5), (1, 3), (3, 1)])
def test_the_span_has_the_prior_covariance_of_the_columns(J: int, C: int) -> None:
    """Φ Φ' without the constant is A A', replicate by replicate, also where one has fewer directions."""
    rng = np.random.default_rng([J, C])
    columns, effects = rng.normal(size=(3, J, C)), 0.3 * rng.normal(size=(2, C))
    columns[1, 1:] = columns[1, :1]
    found = Directions.of(columns, effects, np.zeros((3, 0, C)))
    assert found.basis[:, :, 0].min() == found.basis[:, :, 0].max() == 1
    rest = found.basis[:, :, 1:]
    expected = columns.transpose(0, 2, 1) @ columns + effects.T @ effects
    np.testing.assert_allclose(rest @ rest.transpose(0, 2, 1), expected, atol=1e-5 * expected.max())
    assert rest.shape[2] <= min(J, C) + min(2, C)
    assert (np.abs(rest[1]).sum(axis=0) > 1e-9).sum() <= 3
    assert found.effects == min(2, C)


@pytest.mark.parametrize(("J", "C"), [(90, 80), (80, 90)])
def test_many_columns_are_cut_to_the_largest(J: int, C: int) -> None:
    """Of singular values 1, 0.9, 0.9², … the first 64 are kept: what is lost is the 65th and those after it."""
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.normal(size=(n, n)))[0][:, :80] for n in (J, C))
    columns = ((U * 0.9 ** np.arange(80)) @ V.T)[None]
    rest = Directions.of(columns, np.zeros((0, C)), np.zeros((1, 0, C))).basis[0, :, 1:]
    assert rest.shape[1] <= module.MOST
    lost = np.linalg.norm(columns[0].T @ columns[0] - rest @ rest.T, 2)
    assert lost < 2 * 0.9 ** (2 * 64)


@pytest.mark.parametrize(("J", "added"), [(64, 0), (100, 36), (200, 64)])
def test_columns_that_the_largest_leave_out_have_directions_of_their_own(J: int, added: int) -> None:
    """Columns that have nothing in common: 64 directions hold 64 of them, or parts of all."""
    rng, C = np.random.default_rng(J), 250
    q = rng.dirichlet(np.ones(C), 2)
    columns = np.linalg.qr(rng.normal(size=(2, C, J)))[0].transpose(0, 2, 1) / np.sqrt(q)[:, None]
    columns[1, 70:] = 0.0  # a replicate whose arms span less
    basis = Directions.of(columns, np.zeros((0, C)), np.zeros((2, 0, C)), q).basis[:, :, 1:]
    assert basis.shape == (2, C, 64 + added)
    for n, few in ((0, J), (1, min(J, 70))):
        weighted, root = columns[n] * np.sqrt(q[n]), np.sqrt(q[n])[:, None]
        U, s, _ = np.linalg.svd(basis[n] * root, full_matrices=False)
        U = U[:, s > 1e-9 * s[0]]
        left = np.linalg.norm(weighted - weighted @ U @ U.T, axis=1)
        assert U.shape[1] == min(few, 64 + added) and ((left > 0.05).sum() == 0 or few > 64 + added)


def test_equal_columns_are_taken_in_a_fixed_order() -> None:
    """Singular vectors of equal singular values are anybody's choice. Rounding must not choose: draws would differ."""
    columns = np.eye(6)[None] * 0.4
    found = Directions.of(columns, np.zeros((0, 6)), np.zeros((1, 0, 6))).basis
    again = Directions.of(columns * (1 + 1e-13 * np.arange(6)), np.zeros((0, 6)), np.zeros((1, 0, 6))).basis
    np.testing.assert_allclose(found, again, atol=1e-9)


def test_smooth_functions_are_natural_cubic_splines() -> None:
    """Each is reproduced at every level by scipy's natural spline through its values at the knots."""
    rng = np.random.default_rng(2)
    levels = 30
    q = rng.dirichlet(np.full(levels, 3.0), 2)
    found = smooth_functions(np.arange(levels), q)
    assert found.shape == (2, 8, levels)
    for n in range(2):
        knots = module._knots(q[n], 9).astype(int)
        assert knots[0] == 0 and knots[-1] == levels - 1 and np.all(np.diff(knots) > 0)
        for f in found[n]:
            spline = CubicSpline(knots, f[knots], bc_type="natural")
            np.testing.assert_allclose(spline(np.arange(levels)), f, atol=1e-8 * np.abs(f).max())
        weight = 0.9 * q[n] + 0.1 / levels
        np.testing.assert_allclose(found[n] @ weight, 0.0, atol=1e-12)
        np.testing.assert_allclose(found[n] ** 2 @ weight, 0.49, rtol=1e-9)


@pytest.mark.parametrize("levels", [5, 6, 11, 100])
def test_a_line_and_a_curve_are_among_the_smooth_functions(levels: int) -> None:
    q = np.full((1, 2 * levels), 0.5 / levels)
    level = np.tile(np.arange(levels), 2)
    found = smooth_functions(level, q)
    assert found.shape == (1, min(8, levels - 2), 2 * levels)
    np.testing.assert_array_equal(found[0, :, :levels], found[0, :, levels:])
    basis = np.column_stack([np.ones(levels), *found[0, :, :levels]])
    for target in (np.arange(levels), np.sin(np.linspace(0, 3, levels))):
        fit = basis @ np.linalg.lstsq(basis, target, rcond=None)[0]
        assert np.abs(fit - target).max() < 0.02 * np.ptp(target)


def test_few_levels_have_no_smooth_functions() -> None:
    assert smooth_functions(np.arange(4), np.full((2, 4), 0.25)).shape == (2, 0, 4)


def test_levels_without_mass_do_no_harm() -> None:
    q = np.zeros((1, 12))
    q[0, 3] = 1.0
    found = smooth_functions(np.arange(12), q)
    assert np.isfinite(found).all()
    assert np.abs(found).max() < 100
