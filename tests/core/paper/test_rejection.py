"""F and R: strict inequalities at the very edge, undefined estimates, and plain loops as the oracle."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairarm.core.paper.rejection import gap_radius, highest, outcome_radius, safely_fair, surely_unfair, surely_worse

NAN = math.nan


def test_radii() -> None:
    assert [gap_radius(l) for l in (1, 2, 5)] == [1.5, 0.75, 0.09375]  # noqa: E741
    assert [outcome_radius(l) for l in (1, 2, 5)] == [2.5, 1.25, 0.15625]  # noqa: E741


def test_the_edges_are_strict() -> None:
    """l = 4: 3/16 = 0.1875 and 5/16 = 0.3125; dyadic numbers, so equality is equality."""
    E = 0.5
    edge, inside, beyond = 0.3125, np.nextafter(0.3125, 0), 0.6875
    gaps = np.array([[edge, -edge, inside, 0.0, beyond, np.nextafter(0.6875, 1), 0.0], [0.0] * 6 + [-0.75]])
    assert safely_fair(gaps, 4, E).tolist() == [False, False, True, True, False, False, False]
    assert surely_unfair(gaps, 4, E).tolist() == [False, False, False, False, False, True, True]
    outcomes = np.array([0.75, 0.4375, 0.4375 - 2**-40])
    assert surely_worse(outcomes, np.array([True, True, True]), 4).tolist() == [False, False, True]


def test_both_directions_count() -> None:
    gaps = np.array([[0.0, 0.9, 0.0], [0.0, 0.0, 0.9]])
    assert safely_fair(gaps, 5, 0.5).tolist() == [True, False, False]
    assert surely_unfair(gaps, 5, 0.5).tolist() == [False, True, True]


def test_an_undefined_estimate_neither_certifies_nor_rejects() -> None:
    gaps = np.array([[NAN, 0.0, NAN, NAN], [0.0, NAN, NAN, 0.9]])
    assert safely_fair(gaps, 6, 0.5).tolist() == [False, False, False, False]
    # one direction known to be too large is enough to reject
    assert surely_unfair(gaps, 6, 0.5).tolist() == [False, False, False, True]
    outcomes = np.array([NAN, 0.1, 0.9, NAN])
    everyone = np.ones(4, bool)
    assert highest(outcomes, everyone) == 0.9
    assert surely_worse(outcomes, everyone, 6).tolist() == [False, True, False, False]


def test_no_candidate_with_an_outcome_rejects_nobody() -> None:
    outcomes = np.array([NAN, 0.1, 0.9])
    for candidates in ([False, False, False], [True, False, False]):
        assert highest(outcomes, np.array(candidates)) == -math.inf
        assert not surely_worse(outcomes, np.array(candidates), 9).any()


def test_only_candidates_set_the_highest_outcome() -> None:
    outcomes = np.array([0.2, 0.5, 0.9])
    assert highest(outcomes, np.array([True, True, False])) == 0.5
    assert surely_worse(outcomes, np.array([True, True, False]), 6).tolist() == [True, False, False]


@pytest.mark.parametrize("phase", [1, 3, 6])
def test_against_plain_loops(phase: int) -> None:
    rng = np.random.default_rng(phase)
    n, K, E = 50, 5, 0.3
    gaps = np.where(rng.random((n, 2, K)) < 0.15, NAN, rng.uniform(-2.5, 2.5, (n, 2, K)) / phase)
    outcomes = np.where(rng.random((n, K)) < 0.15, NAN, rng.random((n, K)) * 4 / phase)
    candidates = rng.random((n, K)) < 0.5
    fair, unfair = safely_fair(gaps, phase, E), surely_unfair(gaps, phase, E)
    top, worse = highest(outcomes, candidates), surely_worse(outcomes, candidates, phase)
    assert fair.shape == unfair.shape == worse.shape == (n, K)
    for i in range(n):
        known = [outcomes[i, k] for k in range(K) if candidates[i, k] and not math.isnan(outcomes[i, k])]
        assert top[i] == max(known, default=-math.inf)
        for k in range(K):
            a, b = abs(float(gaps[i, 0, k])), abs(float(gaps[i, 1, k]))
            assert fair[i, k] == (a + 3 / 2**phase < E and b + 3 / 2**phase < E)
            assert unfair[i, k] == (a - 3 / 2**phase > E or b - 3 / 2**phase > E)
            assert worse[i, k] == (max(known, default=-math.inf) > outcomes[i, k] + 5 / 2**phase)


# ---- ends of their own for every pair ----


def test_each_pair_has_its_ends() -> None:
    """Phase 5, radius 3/32 = .09375. Pair 0 in (−.5, .25), pair 1 above −.25 alone."""
    above, below = np.array([-0.5, -0.25]), np.array([0.25, np.inf])
    first = np.array([0.0, 0.15, 0.16, -0.40, -0.41, 0.30, 0.35, -0.60, 0.0, 0.0, 0.0, np.nan, np.nan])
    second = np.array([0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.15, -0.16, -0.35, 0.0, -0.35])
    gaps = np.stack([first, second])
    fair = [True, True, False, True, False, False, False, False, True, False, False, False, False]
    unfair = [False, False, False, False, False, False, True, True, False, False, True, False, True]
    assert safely_fair(gaps, 5, below, above).tolist() == fair
    assert surely_unfair(gaps, 5, below, above).tolist() == unfair


@pytest.mark.parametrize("seed", range(5))
def test_ends_that_are_a_tolerance_mean_the_tolerance(seed: int) -> None:
    """One number, one for each pair, both ends: the same, bit for bit, also where a sum falls on the tolerance."""
    rng = np.random.default_rng(seed)
    gaps = rng.choice([0.1, 0.3, -0.3, 0.7, -0.1, np.nan, 0.4, 0.05], (4, 6, 30)) + 0.0
    for phase in (3, 4, 6):
        for E in (0.1 + 3 / 2**phase, 0.3, 0.7 - 3 / 2**phase):
            ends = np.full(6, E)
            for test, page in (
                (safely_fair, lambda z, r, E=E: np.all(np.abs(z) + r < E, axis=-2)),
                (surely_unfair, lambda z, r, E=E: np.any(np.abs(z) - r > E, axis=-2)),
            ):
                expected = page(gaps, 3 / 2**phase)
                for found in (test(gaps, phase, E), test(gaps, phase, ends), test(gaps, phase, ends, -ends)):
                    np.testing.assert_array_equal(found, expected)
