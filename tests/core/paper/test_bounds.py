"""Theorems 1 and 2, written again from docs/algorithms.md, and one small case worked by hand."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from fairarm.core.paper.bounds import (
    beyond_ends,
    error_bound,
    fair_from_phase,
    no_fair_arm_bound,
    rejection_phases,
)

INF = math.inf


# ---- the page, arm by arm ----


def floor_log2(x: float) -> int:
    """⌊log2 x⌋ by counting, for x > 0."""
    n = 0
    while 2.0 ** (n + 1) <= x:
        n += 1
    while 2.0**n > x:
        n -= 1
    return n


def ceil_log2(x: float) -> int:
    n = floor_log2(x)
    return n if 2.0**n == x else n + 1


def page_rho(mu, zeta, E, best) -> list[float]:
    l_0 = floor_log2(6 / (E - abs(zeta[best]))) + 1
    out = []
    for k in range(len(mu)):
        delta = mu[best] - mu[k]
        SO = ceil_log2(10 / delta) if delta > 0 else INF
        F = floor_log2(6 / (abs(zeta[k]) - E)) + 1 if abs(zeta[k]) > E else INF
        out.append(INF if k == best else min(max(SO, l_0), F))
    return out


def phases(T: int) -> tuple[int, float]:
    n = 0
    while 4**n < 100 * T:
        n += 1
    return n, sum(1 / i for i in range(1, n + 1))


def page_theorem_1(mu, zeta, E, best, T, value) -> float:
    K, limit = len(mu), 10 / math.sqrt(T)
    worse = [mu[best] - m for k, m in enumerate(mu) if k != best and m < mu[best]]
    unfair = [abs(z) - E for z in zeta if abs(z) > E]
    if K == 1 or min([*worse, *unfair, E - abs(zeta[best])]) <= limit:
        return 1.0
    rho = page_rho(mu, zeta, E, best)
    if any(rho[k] == INF for k in range(K) if k != best):
        return 1.0
    parts = [floor_log2(6 / (E - abs(zeta[best]))) + 1]
    parts += [math.log2(20 / min(worse))] if worse else []
    parts += [math.log2(12 / min(unfair))] if unfair else []
    H = 0.0
    for k in range(K):
        if k != best:
            v = value(frozenset(a for a in range(K) if rho[a] >= rho[k]))
            H = max(H, rho[k] ** 3 / (2 ** (-2 * rho[k]) * v**2))
    return min(1.0, 8 * K**2 * max(parts) * math.exp(-T / (8 * H * phases(T)[1])))


def by_size(mask: np.ndarray) -> float:
    """A made-up v*(B, R): falls as R grows."""
    return 0.9 / (1 + int(mask.sum()))


# ---- by hand ----


def test_worked_case() -> None:
    """E = 0.5. Arm 0 (best): μ .75, ζ .125. Arm 1: μ .5, ζ 0. Arm 2: μ 1, ζ .75. Arm 3: μ .25, ζ −.5625.

    l_0 = ⌊log 16⌋ + 1 = 5 (6/0.375 = 16).  Δ = (·, .25, −.25, .5).
    SO_1 = ⌈log 40⌉ = 6, ρ_1 = max(6, 5) = 6.   F_2 = ⌊log 24⌋ + 1 = 5, SO_2 = ∞, ρ_2 = 5.
    SO_3 = ⌈log 20⌉ = 5, F_3 = ⌊log 96⌋ + 1 = 7, ρ_3 = min(max(5, 5), 7) = 5.
    R*(1) = {0, 1}, R*(2) = R*(3) = all four. With v* = 1 and 1/2:  H̄ = max(6³·4⁶, 5³·4⁵·4) = max(884 736, 512 000).
    ρ* = max(log 80, log 192, 5) = log 192.  T = 2^40: 10 √T = 10·2^20, n = 24.
    """
    mu, zeta = np.array([0.75, 0.5, 1.0, 0.25]), np.array([0.125, 0.0, 0.75, -0.5625])
    assert fair_from_phase(0.5, 0.125) == 5
    assert rejection_phases(mu, zeta, 0.5, 0).tolist() == [INF, 6, 5, 5]
    asked = []

    def value(mask: np.ndarray) -> float:
        asked.append(mask.tolist())
        return {2: 1.0, 4: 0.5}[int(mask.sum())]

    T = 2**40
    harmonic = sum(1 / i for i in range(1, 25))
    expected = 8 * 16 * math.log2(192) * math.exp(-T / (8 * 884_736 * harmonic))
    assert error_bound(mu, zeta, 0.5, 0, T, value) == pytest.approx(expected, rel=1e-12)
    assert sorted(map(tuple, asked)) == [(True, True, False, False), (True, True, True, True), (True, True, True, True)]
    small = 8 * 16 * math.log2(192) * math.exp(-(2**29) / (8 * 884_736 * sum(1 / i for i in range(1, 19))))
    assert 0 < small < 1
    assert error_bound(mu, zeta, 0.5, 0, 2**29, value) == pytest.approx(small, rel=1e-12)


def test_five_as_printed() -> None:
    """E − |ζ| = 0.375: 6 gives log 16 → 5, 5 gives log 13.3 → 4; at 0.3125 both 6 (19.2) and 5 (16) give 5."""
    assert fair_from_phase(0.5, -0.125) == 5
    assert fair_from_phase(0.5, -0.125, printed=True) == 4
    assert fair_from_phase(0.5, 0.1875) == fair_from_phase(0.5, 0.1875, printed=True) == 5
    mu, zeta = np.array([0.9, 0.05]), np.array([0.125, 0.0])
    assert rejection_phases(mu, zeta, 0.5, 0).tolist() == [INF, 5]
    assert rejection_phases(mu, zeta, 0.5, 0, printed=True).tolist() == [INF, 4]


def test_tolerance_above_one() -> None:
    """The paper's E = 2: 6/2 = 3, so l_0 = 2."""
    assert fair_from_phase(2.0, 0.0) == 2


# ---- against the page ----


def random_case(rng: np.random.Generator, K: int) -> tuple[np.ndarray, np.ndarray, float, int]:
    mu, E = rng.random(K), float(rng.uniform(0.05, 0.8))
    zeta = rng.uniform(-1, 1, K)
    best = int(rng.integers(K))
    zeta[best] = rng.uniform(-0.8, 0.8) * E
    fair = np.abs(zeta) < E
    mu[best] = mu[fair].max() + rng.uniform(0.01, 0.1)
    return mu, zeta, E, best


@pytest.mark.parametrize("K", [2, 3, 7])
def test_theorem_1_against_the_page(K: int) -> None:
    rng = np.random.default_rng(K)
    informative = 0
    for _ in range(150):
        mu, zeta, E, best = random_case(rng, K)
        np.testing.assert_array_equal(rejection_phases(mu, zeta, E, best), page_rho(mu, zeta, E, best))
        for T in (10**3, 10**7, 10**10, 10**13):
            expected = page_theorem_1(mu, zeta, E, best, T, lambda R: 0.9 / (1 + len(R)))
            assert error_bound(mu, zeta, E, best, T, by_size) == pytest.approx(expected, rel=1e-9, abs=1e-300)
            informative += 0 < expected < 1
    assert informative > 20


def test_theorem_1_falls_with_the_pulls() -> None:
    mu, zeta = np.array([0.75, 0.5]), np.array([0.1, 0.0])
    bounds = [error_bound(mu, zeta, 0.5, 0, T, by_size) for T in (10**3, 10**6, 10**7, 10**8, 10**9, 10**10)]
    assert bounds[0] == 1.0
    assert all(a >= b for a, b in pairwise(bounds))
    assert bounds[-1] < 1e-6


# ---- where theorem 1 does not apply ----


def never(mask: np.ndarray) -> float:
    raise AssertionError("v* is not needed where the theorem does not apply")


def test_one_arm() -> None:
    assert error_bound(np.array([0.5]), np.array([0.0]), 0.3, 0, 10**15, never) == 1.0


@pytest.mark.parametrize(
    ("mu", "zeta"),
    [
        pytest.param([0.5, 0.495], [0.0, 0.0], id="outcome gap"),
        pytest.param([0.5, 0.1], [0.0, 0.305], id="fairness gap of an unfair arm"),
        pytest.param([0.5, 0.1], [0.295, 0.0], id="fairness gap of the best arm"),
        pytest.param([0.5, 0.5], [0.0, 0.1], id="a fair arm just as good"),
        pytest.param([0.5, 0.6], [0.0, 0.3], id="a better arm exactly on the tolerance"),
        pytest.param([0.5, 0.1], [0.4, 0.0], id="the best arm is not fair"),
    ],
)
def test_gaps_that_are_too_small(mu: list[float], zeta: list[float]) -> None:
    """T = 10^6: a gap must be above 10/√T = 0.01."""
    assert error_bound(np.array(mu), np.array(zeta), 0.3, 0, 10**6, never) == 1.0


def test_the_smallest_gap_that_counts() -> None:
    """Gaps of exactly 10/√T do not count; just above they do (v* is asked for)."""
    mu, zeta, T = np.array([0.5, 0.25]), np.array([0.0, 0.0]), 1600  # 10/40 = 0.25
    assert error_bound(mu, zeta, 0.5, 0, T, never) == 1.0
    with pytest.raises(AssertionError):
        error_bound(mu, zeta, 0.5, 0, T + 1, never)


def test_no_information_is_no_bound() -> None:
    """v* = 0 (some arm cannot be learned within the budget): the bound says nothing, that is 1."""
    mu, zeta = np.array([0.75, 0.25]), np.array([0.0, 0.0])
    assert error_bound(mu, zeta, 0.5, 0, 10**9, lambda mask: 0.0) == 1.0


# ---- theorem 2 ----


def test_theorem_2_worked() -> None:
    """Two arms with |ζ| = 0.5 and 0.75, E = 0.25: ξ* = 0.25. T = 2^40, n = 24, v* = 0.5."""
    harmonic = sum(1 / i for i in range(1, 25))
    expected = 1 - 4 * 2 * 24 * math.exp(-(2**40) / 16 / 4 / (32 * 24**3 * harmonic))
    assert expected > 0.99
    assert no_fair_arm_bound(np.array([-0.5, 0.75]), 0.25, 2**40, 0.5) == pytest.approx(expected, rel=1e-12)
    T = 2**29
    n, harmonic = phases(T)
    exponent = T / 16 / 4 / (32 * n**3 * harmonic)
    assert no_fair_arm_bound(np.array([-0.5, 0.75]), 0.25, T, 0.5) == pytest.approx(
        1 - 8 * n * math.exp(-exponent), rel=1e-12
    )


def test_theorem_2_against_the_page() -> None:
    rng = np.random.default_rng(1)
    informative = 0
    for _ in range(300):
        K, E, T = int(rng.integers(1, 9)), float(rng.uniform(0.02, 0.4)), int(10 ** rng.uniform(2, 12))
        zeta = rng.choice([-1, 1], K) * rng.uniform(E, 1, K)
        v = float(rng.uniform(0.01, 1))
        n, harmonic = phases(T)
        xi = min(abs(abs(z) - E) for z in zeta)
        raw = 1 - 4 * K * n * math.exp(-(xi**2) * T * v**2 / (32 * n**3 * harmonic))
        bound = no_fair_arm_bound(zeta, E, T, v)
        assert bound == pytest.approx(min(1.0, max(0.0, raw)), rel=1e-9, abs=1e-12)
        informative += 0 < raw < 1
    assert informative > 20


def test_theorem_2_is_clipped() -> None:
    assert no_fair_arm_bound(np.array([0.5]), 0.25, 10, 1.0) == 0.0
    assert no_fair_arm_bound(np.array([0.5]), 0.25, 10**12, 1.0) == 1.0
    assert no_fair_arm_bound(np.array([0.5]), 0.25, 10**12, 0.0) == 0.0
    assert no_fair_arm_bound(np.array([0.25]), 0.25, 10**12, 1.0) == 0.0


# ---- several gaps ----


def test_the_worst_gap_of_an_arm_counts() -> None:
    """Ends (−.5, .25) and (−.25, none): arm 0 is inside both, by .05 at the nearest; arm 1 is .15 above the first; arm 2 is .1 below
    the first and .35 below the second; arm 3 lies on an end."""
    gaps = np.array([[0.2, 7.0], [0.4, 0.0], [-0.6, -0.6], [0.25, 0.0]])
    above, below = np.array([-0.5, -0.25]), np.array([0.25, INF])
    assert beyond_ends(gaps, below, above) == pytest.approx([-0.05, 0.15, 0.35, 0.0])
    assert beyond_ends(np.array([0.3, -0.7]), 0.5) == pytest.approx([-0.2, 0.2])


def test_theorem_2_with_several_gaps() -> None:
    """ξ* = min over arms of the worst of its gaps: .15 here; e = 6 estimators an arm, so that 2 e K = 24."""
    gaps, below = np.array([[0.4, 0.0, 0.1], [0.1, -0.6, 0.3]]), np.full(3, 0.25)
    T, v = 2**30, 0.5
    n, harmonic = phases(T)
    expected = 1 - 24 * n * math.exp(-(0.15**2) * T * v**2 / (32 * n**3 * harmonic))
    assert 0 < expected < 1
    assert no_fair_arm_bound(gaps, below, T, v, -below, 6) == pytest.approx(expected, rel=1e-9)
    assert no_fair_arm_bound(np.array([[0.2, 0.0, 0.1], [0.1, -0.6, 0.3]]), below, T, v, -below, 6) == 0.0


def test_theorem_1_with_one_end() -> None:
    """ζ > −E alone: a large gap above 0 is fair. l_0 = ⌊log(6/1.4)⌋ + 1 = 3; ρ_1 = ⌈log 40⌉, ρ_2 = ⌊log 24⌋ + 1."""
    mu, zeta, E = np.array([0.75, 0.5, 1.0]), np.array([[0.9], [-0.125], [-0.75]]), 0.5
    beyond = beyond_ends(zeta, np.array([INF]), np.array([-E]))
    assert beyond == pytest.approx([-1.4, -0.375, 0.25])
    assert rejection_phases(mu, zeta, np.array([INF]), 0, above=np.array([-E])).tolist() == [INF, 6, 5]
    assert fair_from_phase(1.4, 0.0) == 3
    T = 2**34
    found = error_bound(mu, zeta, np.array([INF]), 0, T, by_size, np.array([-E]))
    H = max(6**3 * 4**6 / by_size(np.array([1, 1, 0])) ** 2, 5**3 * 4**5 / by_size(np.ones(3)) ** 2)
    rho = max(math.log2(20 / 0.25), math.log2(12 / 0.25), 3)
    assert found == pytest.approx(min(1.0, 8 * 9 * rho * math.exp(-T / (8 * H * phases(T)[1]))), rel=1e-9)
