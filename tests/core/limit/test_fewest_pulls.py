"""T* against closed forms, brute force over shares, a general solver for the moves, and its symmetries.

Nothing here uses the projection or the cuts of the source. The inner minimum is found from the primal side: of all
points where some set of at most two rows is met exactly at least cost, the cheapest that meets every row (three rows an
arm, both sides of the tolerance at once). The outer maximum is a grid: T* depends on q_ν alone, a point of C − 1
dimensions that C units reach (C + 1 with a cost), so all sets of so many units are tried on a grid of their weights.
"""

from __future__ import annotations

import math
import time
from decimal import Decimal, getcontext
from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.optimize import brentq, linprog, minimize
from scipy.special import rel_entr

from fairarm.catalog.bundled import load_problem
from fairarm.core.limit import two_valued as limit_binary
from fairarm.core.limit.fewest_pulls import Limit, limit
from fairarm.core.limit.two_valued import BinaryMoves
from fairarm.errors import BudgetError
from fairarm.experiments.limit import find_limit, known_cells
from quick import quick

INF = math.inf
HALF = np.array([0.5, 0.5])


# ---- the page, alternative by alternative ----


def page_rows(law, shares, theta, E) -> tuple[int | None, dict[int, tuple[np.ndarray, np.ndarray]]]:
    """best, {arm: (rows (m, C), bounds (m,))} with rows·δ ≥ bounds."""
    K = len(law)
    w = [shares[0] * law[k, 0] + shares[1] * law[k, 1] for k in range(K)]
    d = [law[k, 0] - law[k, 1] for k in range(K)]
    mu, zeta = [x @ theta for x in w], [x @ theta for x in d]
    fair = [k for k in range(K) if abs(zeta[k]) < E]
    if not fair:
        return None, {k: (-np.sign(zeta[k]) * d[k][None], np.array([abs(zeta[k]) - E])) for k in range(K)}
    best = max(fair, key=lambda k: mu[k])
    out = {best: (np.sign(zeta[best]) * d[best][None], np.array([E - abs(zeta[best])]))}
    for k in range(K):
        if k != best:
            rows = np.array([w[k] - w[best], -d[k], d[k]])
            out[k] = rows, np.array([mu[best] - mu[k], zeta[k] - E, -E - zeta[k]])
    return best, out


def page_value(rows: np.ndarray, bounds: np.ndarray, q: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """min ½ Σ q δ²/σ² s.t. rows·δ ≥ bounds, for many q (n, C) -> (n,)."""
    best = np.where(np.all(bounds <= 0), 0.0, np.full(len(q), INF))
    for size in (1, 2):
        for active in combinations(range(len(rows)), size):
            r = rows[list(active)]
            gram = np.einsum("ic,jc,nc->nij", r, r, variance / q)
            usable = np.linalg.det(gram) > 1e-13 * np.prod(np.diagonal(gram, axis1=1, axis2=2), axis=1)
            gram[~usable] = np.eye(size)
            lam = np.linalg.solve(gram, np.tile(bounds[list(active)], (len(q), 1))[:, :, None])[:, :, 0]
            move = (lam @ r) * variance / q
            met = np.all(move @ rows.T >= bounds - 1e-9 * np.abs(bounds) - 1e-12, axis=1)
            cost = 0.5 * np.sum((lam @ r) * move, axis=1)
            best = np.where(usable & met, np.minimum(best, cost), best)
    return best


def units(law: np.ndarray, shares: np.ndarray) -> np.ndarray:
    return np.concatenate([shares[0] * law[:, 0] + shares[1] * law[:, 1], law[:, 0], law[:, 1]])


def worst(alternatives, q: np.ndarray, variance: np.ndarray) -> np.ndarray:
    return np.min([page_value(rows, bounds, q, variance) for rows, bounds in alternatives.values()], axis=0)


def grid(n: int, steps: int) -> np.ndarray:
    """All weights of n units in multiples of 1/steps."""
    if n == 1:
        return np.ones((1, 1))
    axes = np.meshgrid(*[np.arange(steps + 1)] * (n - 1), indexing="ij")
    inner = np.stack([a.ravel() for a in axes], axis=1)
    inner = inner[inner.sum(axis=1) <= steps]
    return np.hstack([inner, steps - inner.sum(axis=1, keepdims=True)]) / steps


def brute_force(law, shares, theta, variance, E, costs=None, budget=None, steps=40) -> float:
    """The largest value on the grid: a lower bound of 1/T*, low by the grid's coarseness alone."""
    _, alternatives = page_rows(law, shares, theta, E)
    P, found = units(law, shares), 0.0
    size = P.shape[1] + (costs is not None)
    weights = grid(size, steps)
    for chosen in combinations(range(len(P)), size):
        nu = weights if costs is None else weights[weights @ costs.ravel()[list(chosen)] <= budget + 1e-12]
        q = nu @ P[list(chosen)]
        q = q[q.min(axis=1) > 1e-9]
        if len(q):
            found = max(found, float(worst(alternatives, q, variance).max()))
    return found


def instance(rng: np.random.Generator, K: int, C: int, spread: float = 0.5):
    """Laws Dirichlet, half common to the two groups; θ uniform; binary outcomes' variances."""
    common = rng.dirichlet(np.ones(C), (K, 1))
    law = (1 - spread) * common + spread * rng.dirichlet(np.ones(C), (K, 2))
    theta, p = rng.uniform(0.05, 0.95, C), rng.uniform(0.2, 0.8)
    return law, np.array([p, 1 - p]), theta, theta * (1 - theta)


def tolerance_for(rng: np.random.Generator, law, theta) -> float:
    """Often between the arms' gaps, so that every kind of alternative occurs."""
    gaps = np.abs((law[:, 0] - law[:, 1]) @ theta)
    return float(rng.choice([gaps.min() * 0.8, rng.uniform(gaps.min(), gaps.max()), gaps.max() * 1.3]))


def check_shares(found: Limit, costs=None, budget=None) -> None:
    assert np.all(found.shares >= 0)
    assert found.shares.sum() == pytest.approx(1, abs=1e-12)
    if costs is not None:
        assert np.sum(costs * found.shares) <= budget * (1 + 1e-12)


# ---- brute force ----


@pytest.mark.parametrize("seed", quick(range(12), 4))
def test_two_cells_against_a_grid(seed: int) -> None:
    rng = np.random.default_rng(seed)
    law, shares, theta, variance = instance(rng, 2 + seed % 2, 2)
    E = tolerance_for(rng, law, theta)
    found = limit(law, shares, theta, variance, E)
    reached = brute_force(law, shares, theta, variance, E, steps=400)
    assert reached <= found.upper * (1 + 1e-9)
    assert found.lower == pytest.approx(reached, rel=2e-3)
    assert found.lower <= found.upper <= found.lower * (1 + 1e-4)
    check_shares(found)


@pytest.mark.parametrize("seed", quick(range(6), 4))
def test_three_cells_against_a_grid(seed: int) -> None:
    rng = np.random.default_rng([3, seed])
    law, shares, theta, variance = instance(rng, 2, 3)
    E = tolerance_for(rng, law, theta)
    found = limit(law, shares, theta, variance, E)
    reached = brute_force(law, shares, theta, variance, E, steps=50)
    assert reached <= found.upper * (1 + 1e-9)
    assert found.lower == pytest.approx(reached, rel=0.01)


@pytest.mark.parametrize("seed", quick(range(8), 4))
def test_costs_against_a_grid(seed: int) -> None:
    rng = np.random.default_rng([4, seed])
    law, shares, theta, variance = instance(rng, 2, 2)
    E = tolerance_for(rng, law, theta)
    costs = rng.choice([0.0, 0.5, 1.0, 2.0], (3, 2))
    costs[0, 0] = 0.0
    budget = float(rng.choice([0.1, 0.3]))
    found = limit(law, shares, theta, variance, E, costs, budget)
    reached = brute_force(law, shares, theta, variance, E, costs, budget, steps=60)
    assert reached <= found.upper * (1 + 1e-9)
    assert found.lower == pytest.approx(reached, rel=0.02)
    assert found.upper <= found.lower * (1 + 1e-4)
    check_shares(found, costs, budget)
    assert found.pulls >= limit(law, shares, theta, variance, E).pulls * (1 - 1e-4)


# ---- the values and kinds of the alternatives ----


def solver(rows: np.ndarray, bounds: np.ndarray, q: np.ndarray, variance: np.ndarray) -> float:
    scaled = rows * np.sqrt(variance / q)
    limits = {"type": "ineq", "fun": lambda x: scaled @ x - bounds, "jac": lambda x: scaled}
    start = np.linalg.pinv(scaled[:1]) @ bounds[:1]
    answer = minimize(
        lambda x: 50 * x @ x, start, jac=lambda x: 100 * x, constraints=limits, method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    return float(answer.fun) / 100


@pytest.mark.parametrize("seed", quick(range(8), 4))
def test_every_alternative_at_the_shares_found(seed: int) -> None:
    rng = np.random.default_rng([5, seed])
    law, shares, theta, variance = instance(rng, 6, 5)
    E = tolerance_for(rng, law, theta)
    found = limit(law, shares, theta, variance, E)
    best, alternatives = page_rows(law, shares, theta, E)
    assert found.best == best
    q = found.shares.ravel() @ units(law, shares)
    by_arm = {a.arm: a for a in found.alternatives}
    assert by_arm.keys() == alternatives.keys()
    mu = shares @ (law @ theta).T
    fair = np.abs((law[:, 0] - law[:, 1]) @ theta) < E
    for arm, (rows, bounds) in alternatives.items():
        assert by_arm[arm].value == pytest.approx(float(page_value(rows, bounds, q[None], variance)[0]), rel=1e-9)
        assert by_arm[arm].value == pytest.approx(solver(rows, bounds, q, variance), rel=1e-4)
        if best is None:
            assert by_arm[arm].kind == "becomes fair"
        elif arm == best:
            assert by_arm[arm].kind == "best arm unfair"
        else:
            words = [w for w, said in (("overtakes", mu[arm] < mu[best]), ("becomes fair", not fair[arm])) if said]
            assert by_arm[arm].kind == " and ".join(words)
    values = [a.value for a in found.alternatives]
    assert values == sorted(values)
    assert values[0] == found.lower
    assert sum(a.weight for a in found.alternatives) == pytest.approx(1)
    # what binds is what is smallest
    assert found.binding
    assert max(a.value for a in found.binding) <= found.upper * 1.02


def test_all_four_kinds_occur() -> None:
    """So the test above cannot pass for want of cases."""
    kinds = set()
    for seed in range(8):
        rng = np.random.default_rng([5, seed])
        law, shares, theta, variance = instance(rng, 6, 5)
        kinds |= {a.kind for a in limit(law, shares, theta, variance, tolerance_for(rng, law, theta)).alternatives}
    assert kinds == {"best arm unfair", "overtakes", "becomes fair", "overtakes and becomes fair"}


@pytest.mark.parametrize("seed", range(4))
def test_no_other_shares_do_better(seed: int) -> None:
    """Concave in ν: where no direction improves nothing does. Every unit and many mixtures are tried."""
    rng = np.random.default_rng([6, seed])
    law, shares, theta, variance = instance(rng, 8, 6)
    E = tolerance_for(rng, law, theta)
    found = limit(law, shares, theta, variance, E)
    _, alternatives = page_rows(law, shares, theta, E)
    P = units(law, shares)
    others = np.vstack([np.eye(len(P)), rng.dirichlet(np.full(len(P), 0.2), 300)])
    for step in (1e-3, 1e-2, 0.1, 0.5):
        q = ((1 - step) * found.shares.ravel() + step * others) @ P
        assert worst(alternatives, q, variance).max() <= found.upper * (1 + 1e-9)
    tighter = limit(law, shares, theta, variance, E, precision=1e-6)
    assert found.lower <= tighter.upper and tighter.lower <= found.upper
    assert tighter.upper <= tighter.lower * (1 + 1e-6)


# ---- closed forms ----


def own_cells(K: int) -> np.ndarray:
    """Arm k always lands in cell k."""
    return np.repeat(np.eye(K)[:, None], 2, axis=1)


def test_two_arms_without_constraint() -> None:
    """1/T* = Δ² / 2(σ_1 + σ_2)², pulls in the proportion of σ; d = 0, so no gap can move."""
    sigma = np.array([0.3, 0.5])
    found = limit(own_cells(2), HALF, np.array([0.7, 0.4]), sigma**2, 0.05)
    assert 1 / found.pulls == pytest.approx(0.3**2 / (2 * 0.8**2), rel=1e-4)
    np.testing.assert_allclose(found.shares.sum(axis=0), sigma / 0.8, atol=0.01)
    assert [(a.arm, a.kind) for a in found.alternatives] == [(1, "overtakes")]
    assert found.best == 0


@pytest.mark.parametrize("K", [3, 6])
def test_equal_rivals(K: int) -> None:
    """K − 1 arms that are worse by Δ, one variance: T* = 2σ² (1 + √(K−1))² / Δ² (Garivier and Kaufmann 2016)."""
    theta = np.full(K, 0.4)
    theta[2] = 0.6
    found = limit(own_cells(K), HALF, theta, np.full(K, 0.04), 1.0)
    assert found.pulls == pytest.approx(2 * 0.04 * (1 + math.sqrt(K - 1)) ** 2 / 0.04, rel=1e-4)
    assert len(found.binding) == K - 1


def split_groups() -> np.ndarray:
    """One arm, cell 0 for group s, cell 1 for s'."""
    return np.array([[[1.0, 0.0], [0.0, 1.0]]])


@pytest.mark.parametrize(("theta", "kind"), [((0.5, 0.55), "best arm unfair"), ((0.9, 0.2), "becomes fair")])
def test_one_arm_is_a_test_of_its_fairness(theta, kind) -> None:
    """1/T* = (E − |ζ|)² / 2(σ_s + σ_s')², whichever side of E the gap is on, and whatever P(S)."""
    sigma, E = np.array([0.5, 0.2]), 0.3
    found = limit(split_groups(), np.array([0.9, 0.1]), np.array(theta), sigma**2, E)
    assert 1 / found.pulls == pytest.approx((E - abs(theta[0] - theta[1])) ** 2 / (2 * 0.7**2), rel=1e-4)
    assert found.best == (0 if kind == "best arm unfair" else None)
    assert [a.kind for a in found.binding] == [kind]
    assert found.shares[1, 0] + 0.9 * found.shares[0, 0] == pytest.approx(5 / 7, abs=0.01)


def test_a_worse_and_unfair_arm_has_to_do_both() -> None:
    """* is known (variance 0). Arm 1 has a cell for each group, P(S) = ½: δ_s + δ_s' ≥ 2Δ, δ_s − δ_s' ≤ −r = E − ζ.

    One alternative, a convex set: 1/T* = min_δ max_units ½ Σ p δ²/σ² = ½ (Δ + r/2)²/σ², pulls of arm 1 with S = s'.
    """
    law = np.array([[[1.0, 0, 0], [1.0, 0, 0]], [[0, 1.0, 0], [0, 0, 1.0]]])
    theta, variance, E = np.array([0.7, 0.8, 0.4]), np.array([0.0, 0.2, 0.2]), 0.1
    found = limit(law, HALF, theta, variance, E)  # μ_1 = 0.6, ζ_1 = 0.4
    assert 1 / found.pulls == pytest.approx(0.5 * (0.1 + 0.15) ** 2 / 0.2, rel=1e-4)
    assert [(a.arm, a.kind) for a in found.alternatives] == [(1, "overtakes and becomes fair")]
    # without the second condition the move is (Δ, Δ); without the first it is (−r/2, r/2)
    assert 1 / limit(law, HALF, theta, variance, 0.5).pulls == pytest.approx(0.5 * 0.1**2 / 0.2, rel=1e-4)
    better = limit(law, HALF, np.array([0.5, 0.8, 0.4]), variance, E)
    assert 1 / better.pulls == pytest.approx(0.5 * 0.15**2 / 0.2, rel=1e-4)
    assert [a.kind for a in better.binding] == ["becomes fair"]


@pytest.mark.parametrize("flip", [False, True])
def test_a_fair_rival_must_stay_fair_while_it_overtakes(flip: bool) -> None:
    """As above with ζ_1 = 0 and E = 0.05, but σ_s' = 0: only δ_s moves, by 2Δ = 0.2, and the gap would leave the band.

    With both variances positive the move that is hardest to see is (Δ, Δ) and stays inside.
    """
    law = np.array([[[1.0, 0, 0], [1.0, 0, 0]], [[0, 1.0, 0], [0, 0, 1.0]]])
    law = law[:, ::-1] if flip else law
    theta, E = np.array([0.7, 0.6, 0.6]), 0.05
    assert limit(law, HALF, theta, np.array([0.0, 0.2, 0.0]), E).pulls == 0  # no alternative is left
    loose = limit(law, HALF, theta, np.array([0.0, 0.2, 0.0]), 0.25)
    assert 1 / loose.pulls == pytest.approx(0.5 * 0.2**2 / 0.2, rel=1e-4)
    # natural pulls only (the others are not affordable): the move is in proportion to σ², here (0.16, 0.04), gap 0.12
    costs = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    variance = np.array([0.0, 0.2, 0.05])
    inside = limit(law, HALF, theta, variance, 0.2, costs, 0.0)
    assert 1 / inside.pulls == pytest.approx(0.1**2 / (2 * 0.25 * (0.2 + 0.05) / 0.5), rel=1e-4)
    # at E = 0.05 the band allows (0.125, 0.075) at most
    banded = limit(law, HALF, theta, variance, E, costs, 0.0)
    assert 1 / banded.pulls == pytest.approx(0.5 * 0.5 * (0.125**2 / 0.2 + 0.075**2 / 0.05), rel=1e-4)


def test_a_cost_that_binds() -> None:
    """One variance, arm 1 costs 1: half each would cost ½; at B < ½ shares (1 − B, B), 1/T* = Δ² B(1 − B)/2σ²."""
    costs = np.array([[0.0, 1.0]] * 3)
    for B in (0.01, 0.2, 0.5, 0.9):
        found = limit(own_cells(2), HALF, np.array([0.7, 0.4]), np.full(2, 0.1), 1.0, costs, B)
        b = min(B, 0.5)
        assert 1 / found.pulls == pytest.approx(0.3**2 * b * (1 - b) / 0.2, rel=1e-4)
        check_shares(found, costs, B)
    with pytest.raises(BudgetError, match=r"0\.25"):
        limit(own_cells(2), HALF, np.array([0.7, 0.4]), np.full(2, 0.1), 1.0, costs + 0.5, 0.25)


@pytest.mark.parametrize("extra", [0.0, 1e-7, 1e-4])
def test_budgets_that_barely_bind(extra: float) -> None:
    """Every unit costs the same, or B is the cheapest cost and a trifle: the bounds still meet."""
    law, shares, theta, variance = instance(np.random.default_rng(11), 12, 8)
    free = limit(law, shares, theta, variance, 0.05)
    same = limit(law, shares, theta, variance, 0.05, np.ones((3, 12)), 1.0 + extra)
    assert same.pulls == pytest.approx(free.pulls, rel=1e-4)
    costs = 1 + np.random.default_rng(12).random((3, 12))
    costs[0, 3] = 1.0
    tight = limit(law, shares, theta, variance, 0.05, costs, 1.0 + extra)
    assert tight.upper <= tight.lower * (1 + 1e-4)
    check_shares(tight, costs, 1.0 + extra)
    alone = np.insert(np.zeros(35), 3, 1.0).reshape(3, 12)
    np.testing.assert_allclose(tight.shares, alone, atol=max(30 * extra, 1e-12))


def test_the_cheapest_units_alone() -> None:
    """B is the cost of arms 0 to 5: as if only they could be pulled, at no cost."""
    law, shares, theta, variance = instance(np.random.default_rng(13), 12, 8)
    costs = np.full((3, 12), 0.7)
    costs[:, 6:] = 2.0
    found = limit(law, shares, theta, variance, 0.05, costs, 0.7)
    assert found.upper <= found.lower * (1 + 1e-4)
    assert not found.shares[:, 6:].any()
    costs[:, :6] = 0.0
    assert limit(law, shares, theta, variance, 0.05, costs, 1e-9).pulls == pytest.approx(found.pulls, rel=2e-4)


def test_alternatives_of_very_different_size() -> None:
    """A gap that hardly any move changes (d = 1e-9) beside a close rival: 1e17 times as hard to bring about."""
    law = own_cells(2)
    law[0, 0] = [1 - 1e-9, 1e-9]
    found = limit(law, HALF, np.array([0.5, 0.499]), np.full(2, 0.1), 0.5)
    assert 1 / found.pulls == pytest.approx(0.001**2 / 0.8, rel=2e-4)
    assert [a.kind for a in found.alternatives] == ["overtakes", "best arm unfair"]
    assert found.alternatives[1].value > 1e15 * found.alternatives[0].value


def test_rounding_does_not_make_an_arm_depend_on_the_group() -> None:
    """0.1 + 0.2 for one group and 0.3 for the other: d = 0, and no move makes the arm unfair."""
    law = np.array([[[0.1 + 0.2, 0.7], [0.3, 0.7]], [[0.9, 0.1], [0.9, 0.1]]])
    found = limit(law, HALF, np.array([0.2, 0.8]), np.full(2, 0.1), 0.1)
    assert [a.kind for a in found.alternatives] == ["overtakes"]


# ---- where T* is infinite or nothing ----


def test_ties() -> None:
    law, variance = own_cells(3), np.full(3, 0.1)
    tied = limit(law, HALF, np.array([0.7, 0.7, 0.2]), variance, 1.0)
    assert tied.pulls == INF and tied.upper == 0 == tied.lower
    assert [(a.arm, a.kind) for a in tied.binding] == [(1, "overtakes")]
    assert tied.pulls_needed(0.1) == INF and tied.pulls_needed(0.5) == 0
    check_shares(tied)
    third = np.array([0.1, 0.1, 0.1]) * 3  # 0.30000000000000004, a tie for the arithmetic of means
    assert limit(law, HALF, np.array([third[0], 0.3, 0.2]), variance, 1.0).pulls == INF


def groups_law(K: int) -> np.ndarray:
    """Cells (arm, group)."""
    return np.eye(2 * K).reshape(K, 2, 2 * K)


def test_an_arm_exactly_on_the_tolerance() -> None:
    """Arms with cells for each group; E = 0.1 and gaps 0.1 or 0.3 − 0.2, which is 0.1 but for rounding."""
    variance = np.full(4, 0.1)
    better = limit(groups_law(2), HALF, np.array([0.5, 0.5, 0.7, 0.6]), variance, 0.1)
    assert better.pulls == INF and better.best == 0
    assert [(a.arm, a.kind) for a in better.binding] == [(1, "becomes fair")]
    rounded = limit(groups_law(2), HALF, np.array([0.1, 0.1, 0.3, 0.2]), variance, 0.1)
    assert rounded.pulls == INF and rounded.best == 0
    worse = limit(groups_law(2), HALF, np.array([0.5, 0.5, 0.3, 0.2]), variance, 0.1)
    assert 0 < worse.pulls < INF
    assert {a.kind for a in worse.alternatives} == {"best arm unfair", "overtakes and becomes fair"}
    alone = limit(groups_law(1), HALF, np.array([0.3, 0.2]), variance[:2], 0.1)
    assert alone.pulls == INF and alone.best is None
    # tied with the best, but clearly unfair: it has only to become fair
    unfair = limit(groups_law(2), HALF, np.array([0.5, 0.5, 0.75, 0.25]), variance, 0.1)
    assert 0 < unfair.pulls < INF
    assert {(a.arm, a.kind) for a in unfair.alternatives} == {(0, "best arm unfair"), (1, "becomes fair")}


def test_no_variance_at_all() -> None:
    found = limit(groups_law(2), HALF, np.array([0.5, 0.5, 0.2, 0.2]), np.zeros(4), 0.1)
    assert found.pulls == 0 == found.pulls_needed(0.01)
    assert found.alternatives == () == found.binding
    check_shares(found)


def test_cells_that_nobody_reaches_do_not_matter() -> None:
    rng = np.random.default_rng(8)
    law, shares, theta, variance = instance(rng, 4, 5)
    plain = limit(law, shares, theta, variance, 0.1)
    wide = np.insert(law, 2, 0.0, axis=2)
    same = limit(wide, shares, np.insert(theta, 2, 0.9), np.insert(variance, 2, 0.25), 0.1)
    assert same.pulls == pytest.approx(plain.pulls, rel=1e-9)


def test_a_budget_that_never_sees_a_cell() -> None:
    """Only arm 0 is affordable. Arm 1 uses a cell that arm 0 never reaches: nothing is learned about it."""
    law = np.repeat(np.array([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]])[:, None], 2, axis=1)
    theta, variance, costs = np.array([0.6, 0.4, 0.1]), np.full(3, 0.2), np.array([[0.0, 1.0]] * 3)
    never = limit(law, HALF, theta, variance, 1.0, costs, 0.0)
    assert never.pulls == INF
    assert np.all(never.shares[:, 1] == 0)
    assert 0 < limit(law, HALF, theta, variance, 1.0, costs, 1e-6).pulls < INF
    assert limit(law, HALF, theta, np.array([0.2, 0.2, 0.0]), 1.0, costs, 0.0).pulls < INF


def test_an_unseen_cell_pulled_both_ways() -> None:
    """Arm 0, free: (½, ½, 0). Arm 1: (½, 0, ½) for s, (¾, ¼, 0) for s'; w_1 − w_0 = (1, −3, 2)/8, d_1 = (−1, −1, 2)/4.

    Overtaking lifts the unseen cell, fairness lowers it: −d_1 + 2(w_1 − w_0) = (1, −1, 0)/2 is left, to rise by
    ζ_1 − E + 2Δ = g. At q = (½, ½): 1/T* = g² / (v_a + v_b).
    """
    law = np.array([[[0.5, 0.5, 0], [0.5, 0.5, 0]], [[0.5, 0, 0.5], [0.75, 0.25, 0]]])
    theta, variance, E = np.array([0.2, 0.7, 0.9]), np.array([0.16, 0.21, 0.09]), 0.05
    costs = np.ones((3, 2))
    costs[0, 0] = 0.0
    mu = np.array([0.45, 0.4375])
    zeta = 0.225
    found = limit(law, HALF, theta, variance, E, costs, 0.0)
    g = zeta - E + 2 * (mu[0] - mu[1])
    assert 1 / found.pulls == pytest.approx(g**2 / (0.16 + 0.21), rel=1e-4)
    # one millionth of the pulls elsewhere tells almost the same
    nearly = limit(law, HALF, theta, variance, E, costs, 1e-6)
    assert nearly.pulls == pytest.approx(found.pulls, rel=0.01)
    # at a tolerance where the sum of the rows holds already, nothing is learned
    assert limit(law, HALF, theta, variance, 0.26, costs, 0.0).pulls == INF


# ---- symmetries ----


@pytest.fixture(params=range(3))
def case(request):
    rng = np.random.default_rng([9, request.param])
    law, shares, theta, variance = instance(rng, 5, 4)
    E = tolerance_for(rng, law, theta)
    costs = rng.random((3, 5))
    return law, shares, theta, variance, E, costs, float(np.quantile(costs, 0.3))


def test_arms_permuted(case) -> None:
    law, shares, theta, variance, E, costs, B = case
    order = np.array([3, 0, 4, 1, 2])
    plain, moved = limit(*case), limit(law[order], shares, theta, variance, E, costs[:, order], B)
    assert moved.pulls == pytest.approx(plain.pulls, rel=1e-4)
    assert (None if moved.best is None else order[moved.best]) == plain.best
    assert {(int(order[a.arm]), a.kind) for a in moved.alternatives} == {(a.arm, a.kind) for a in plain.alternatives}


def test_groups_swapped(case) -> None:
    law, shares, theta, variance, E, costs, B = case
    swapped = limit(law[:, ::-1], shares[::-1], theta, variance, E, costs[[0, 2, 1]], B)
    plain = limit(*case)
    assert swapped.pulls == pytest.approx(plain.pulls, rel=1e-4)
    np.testing.assert_allclose(swapped.shares[[0, 2, 1]], plain.shares, atol=0.02)


def test_outcome_scaled_and_shifted(case) -> None:
    law, shares, theta, variance, E, costs, B = case
    plain = limit(*case)
    for factor, shift in ((100.0, 0.0), (1e-3, 0.0), (1.0, -0.4), (1.0, 5.0)):
        moved = limit(law, shares, factor * theta + shift, factor**2 * variance, factor * E, costs, B)
        assert moved.pulls == pytest.approx(plain.pulls, rel=1e-4)


def test_more_variance_costs_as_much_more(case) -> None:
    law, shares, theta, variance, E, costs, B = case
    assert limit(law, shares, theta, 3 * variance, E, costs, B).pulls == pytest.approx(3 * limit(*case).pulls, rel=1e-4)


def test_a_cell_split_where_no_arm_tells_the_halves_apart(case) -> None:
    law, shares, theta, variance, E, costs, B = case
    halves = np.concatenate([law[:, :, :1] * 0.3, law[:, :, :1] * 0.7, law[:, :, 1:]], axis=2)
    again = limit(halves, shares, theta[[0, 0, 1, 2, 3]], variance[[0, 0, 1, 2, 3]], E, costs, B)
    assert again.pulls == pytest.approx(limit(*case).pulls, rel=1e-4)


def test_more_budget_never_costs_more(case) -> None:
    law, shares, theta, variance, E, costs, _ = case
    budgets = [*np.linspace(costs.min(), costs.max(), 6), None]
    pulls = [limit(law, shares, theta, variance, E, costs, B).pulls for B in budgets]
    assert all(b <= a * (1 + 1e-4) for a, b in pairwise(pulls))
    assert pulls[-2] == pytest.approx(pulls[-1], rel=1e-4)
    assert pulls[0] > pulls[-1] * 1.01
    assert limit(law, shares, theta, variance, E, None, 0.3).pulls == pytest.approx(pulls[-1], rel=1e-4)


# ---- use ----


def test_pulls_needed() -> None:
    """kl(δ, 1−δ) = Σ over right and wrong of the binary divergence."""
    found = limit(own_cells(2), HALF, np.array([0.7, 0.4]), np.full(2, 0.1), 1.0)
    for delta in (0.4, 0.1, 1e-6):
        kl = delta * math.log(delta / (1 - delta)) + (1 - delta) * math.log((1 - delta) / delta)
        assert found.pulls_needed(delta) == pytest.approx(found.pulls * kl, rel=1e-12)
    assert found.pulls_needed(0.5) == 0 == found.pulls_needed(0.9)
    assert found.pulls_needed(0.0) == INF


def test_thirty_arms_and_twenty_cells_in_time() -> None:
    rng = np.random.default_rng(10)
    for spread in (0.1, 0.6):
        law, shares, theta, variance = instance(rng, 30, 20, spread)
        costs = np.ones((3, 30))
        costs[:, 0] = 0
        E = float(np.quantile(np.abs((law[:, 0] - law[:, 1]) @ theta), 0.4))
        for B in (None, 0.03):
            before = time.process_time()
            found = limit(law, shares, theta, variance, E, costs, B)
            assert time.process_time() - before < 5
            assert found.upper <= found.lower * (1 + 1e-4)


# ---- outcomes of two states: the exact form ----


def kl(p: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Of two coins, truth first; p = 0 and p = 1 included."""
    return np.asarray(rel_entr(p, x) + rel_entr(1 - np.asarray(p), 1 - np.asarray(x)))


def page_sets(law, shares, theta, E) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """(arm, rows, bounds): rows·x ≥ bounds. The best arm may become unfair on either side: two sets."""
    w, d = np.einsum("t,ktc->kc", shares, law), law[:, 0] - law[:, 1]
    fair = np.abs(d @ theta) < E
    if not fair.any():
        return [(k, np.array([d[k], -d[k]]), np.array([-E, -E])) for k in range(len(law))]
    best = int(np.argmax(np.where(fair, w @ theta, -INF)))
    sets = [(best, d[best][None], np.array([E])), (best, -d[best][None], np.array([E]))]
    for k in range(len(law)):
        if k != best:
            sets.append((k, np.array([w[k] - w[best], d[k], -d[k]]), np.array([0, -E, -E])))
    return sets


def general_value(rows: np.ndarray, bounds: np.ndarray, theta: np.ndarray, q: np.ndarray) -> float:
    """min Σ q kl(θ, x) over [0, 1]^C by a general solver, from a point inside; inf where a linear programme finds none.

    Sequential programmes may stop early, so several starts; the smallest value at a point that meets the rows.
    """
    C = len(theta)
    inside = linprog(
        np.append(np.zeros(C), -1), np.hstack([-rows, np.ones((len(rows), 1))]), -bounds, bounds=[(0, 1)] * C + [(None, 1)]
    )  # fmt: skip
    if -inside.fun <= 0:
        return INF
    middle = 0.999 * inside.x[:C] + 0.001 * 0.5
    scale = 1 / max(float(q @ kl(theta, middle)), 1e-12)
    low = np.where((theta > 0) & (q > 0), 1e-10, 0.0)
    high = np.where((theta < 1) & (q > 0), 1 - 1e-10, 1.0)

    def slope(x):
        down = np.divide(1 - theta, 1 - x, out=np.zeros(C), where=(theta < 1) & (q > 0))
        return scale * q * (down - np.divide(theta, x, out=np.zeros(C), where=(theta > 0) & (q > 0)))

    found = INF
    for part in (0.0, 0.3, 0.9):
        answer = minimize(
            lambda x: scale * float(np.where(q > 0, kl(theta, x), 0) @ q), np.clip(middle + part * (theta - middle), low, high),
            jac=slope, bounds=list(zip(low, high, strict=True)), method="SLSQP", options={"ftol": 1e-15, "maxiter": 1000},
            constraints={"type": "ineq", "fun": lambda x: rows @ x - bounds, "jac": lambda x: rows},
        )  # fmt: skip
        if np.min(rows @ answer.x - bounds) > -1e-9:
            found = min(found, float(answer.fun) / scale)
    return found


def degenerate(rng: np.random.Generator, theta: np.ndarray) -> np.ndarray:
    """Some cells settle the outcome."""
    return np.where(rng.random(len(theta)) < 0.4, rng.integers(0, 2, len(theta)).astype(float), theta)


def hard_instance(seed: int, K: int = 5, C: int = 5):
    rng = np.random.default_rng([21, seed])
    law, shares, theta, _ = instance(rng, K, C)
    theta = rng.beta(0.3, 0.3, C) if seed % 3 == 1 else degenerate(rng, theta) if seed % 3 == 2 else theta
    return law, shares, theta, tolerance_for(rng, law, theta)


@pytest.mark.parametrize("seed", quick(range(15), 4))
def test_binary_values_against_a_general_solver(seed: int) -> None:
    law, shares, theta, E = hard_instance(seed)
    costs = np.random.default_rng(seed).random((3, 5)) if seed % 2 else None
    found = limit(law, shares, theta, None, E, costs, None if costs is None else float(np.quantile(costs, 0.2)))
    assert found.form == "exact for two states"
    assert found.lower <= found.upper <= found.lower * (1 + 1e-4)
    q = found.shares.ravel() @ units(law, shares)
    expected: dict[int, float] = {}
    for arm, rows, bounds in page_sets(law, shares, theta, E):
        expected[arm] = min(expected.get(arm, INF), general_value(rows, bounds, theta, q))
    by_arm = {a.arm: a.value for a in found.alternatives}
    assert by_arm.keys() == {arm for arm, value in expected.items() if value < INF}
    for arm, value in by_arm.items():
        assert value == pytest.approx(expected[arm], rel=2e-5, abs=1e-9)
        assert value <= expected[arm] * (1 + 1e-6) + 1e-9  # it is a lower bound


def binary_moves(law, shares, theta, E, seen) -> tuple[BinaryMoves, list[tuple[np.ndarray, np.ndarray]]]:
    """The moves of every set of the page, each side of a band a pair of its own."""
    sets = [(rows, bounds) for _, rows, bounds in page_sets(law, shares, theta, E)]
    a, g, first = [], [], []
    for rows, bounds in sets:
        first.append(len(a))
        for pair in {1: [[0]], 2: [[0], [1]], 3: [[0, 1], [0, 2]]}[len(rows)]:
            extra = 2 - len(pair)
            a.append(np.vstack([np.zeros((extra, len(theta))), rows[pair]]))
            g.append(np.append(np.zeros(extra), bounds[pair] - rows[pair] @ theta))
    return BinaryMoves(np.array(a), np.array(g), np.array(first), theta, seen), sets


@pytest.mark.parametrize("seed", quick(range(12), 4))
def test_binary_bounds_meet(seed: int) -> None:
    """What the multipliers prove and what the move costs, at rates over six orders of magnitude; some cells unseen."""
    rng = np.random.default_rng([25, seed])
    law, shares, theta, E = hard_instance(seed, 6, 6)
    q = 10 ** rng.uniform(-6, 0, 6)
    q = np.where(rng.random(6) < (seed % 4 == 3) * 0.4, 0.0, q / q.sum())
    moves, _ = binary_moves(law, shares, theta, E, q > 0)
    smooth = np.all((q > 0) & (theta > 0) & (theta < 1))
    for again in (1, 2, 3):
        values, rates = moves.evaluate(q)
        known = np.isfinite(values) & (values > 1e-9)
        np.testing.assert_allclose(rates[known] @ q, values[known], rtol=1e-7 if smooth else 1e-4)
        q = q * rng.uniform(0.3, 3, 6) / again


@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("seed", quick(range(6), 4))
def test_binary_bounds_hold_when_the_search_is_cut_short(seed: int, steps: int, monkeypatch) -> None:
    monkeypatch.setattr(limit_binary, "_STEPS", steps)
    monkeypatch.setattr(limit_binary, "_FLOOR", (1e-8,))
    law, shares, theta, E = hard_instance(seed)
    rng = np.random.default_rng([26, seed])
    moves, sets = binary_moves(law, shares, theta, E, np.ones(5, dtype=bool))
    apart = 0.0
    for q in rng.dirichlet(np.full(5, 0.7), 2):
        values, rates = moves.evaluate(q)
        for value, rate, (rows, bounds) in zip(values, rates, sets, strict=True):
            if value < INF:
                truth = general_value(rows, bounds, theta, q)
                assert value <= truth * (1 + 1e-6) + 1e-10
                assert rate @ q >= truth * (1 - 1e-5) - 1e-8
                apart = max(apart, rate @ q - value)
    assert steps > 1 or apart > 1e-4  # it was cut short


def test_divergence_keeps_its_digits() -> None:
    """Against fifty digits: moves from 1e-12 up to the very edge."""
    getcontext().prec = 50
    one = Decimal(1)
    for theta in (0.5, 0.01, 1 - 2**-20, 2**-30):
        for u in (1e-12, 1e-6, 9e-4, 1.1e-3, 0.02, 0.6, 0.999):
            for move in (-u * theta, u * (1 - theta)):
                p, m = Decimal(theta), Decimal(move)
                true = p * (p / (p + m)).ln() + (one - p) * ((one - p) / (one - p - m)).ln()
                x, rest = np.array([float(p + m)]), np.array([float(one - p - m)])
                found = limit_binary.divergence(np.array([theta]), x, rest, np.array([move]))[0]
                assert found == pytest.approx(float(true), rel=1e-11)


@pytest.mark.parametrize("seed", quick(range(6), 4))
def test_no_other_shares_do_better_for_binary_outcomes(seed: int) -> None:
    law, shares, theta, E = hard_instance(seed, 3, 3)
    found = limit(law, shares, theta, None, E)
    P, sets = units(law, shares), page_sets(law, shares, theta, E)
    rng = np.random.default_rng(seed)
    for step, other in [(0.02, np.eye(len(P))), (0.3, rng.dirichlet(np.full(len(P), 0.3), 12))]:
        for nu in (1 - step) * found.shares.ravel() + step * other:
            assert min(general_value(r, b, theta, nu @ P) for _, r, b in sets) <= found.upper * (1 + 1e-5)


@pytest.mark.parametrize("seed", quick(range(9), 4))
def test_binary_two_cells_as_a_matrix_game(seed: int) -> None:
    """All x on a fine grid that have another answer, against the units: one linear programme. The grid leaves hard x out."""
    rng = np.random.default_rng([22, seed])
    law, shares, theta, _ = instance(rng, 2 + seed % 2, 2)
    theta = degenerate(rng, theta) if seed % 3 == 2 else theta
    E = tolerance_for(rng, law, theta)
    costs = np.ones((3, len(law)))
    costs[0, 0] = 0
    B = 0.3 if seed % 2 else None
    points = np.linspace(0, 1, 1501)
    x = np.stack(np.meshgrid(points, points, indexing="ij"), axis=-1).reshape(-1, 2)
    other = np.zeros(len(x), dtype=bool)
    for _, rows, bounds in page_sets(law, shares, theta, E):
        other |= np.all(x @ rows.T >= bounds, axis=1)
    rates = kl(theta, x[other])
    rates = rates[np.isfinite(rates).all(axis=1)]
    rates = rates[np.lexsort(rates.T[::-1])]
    rates = rates[np.append(True, rates[1:, 1] < np.minimum.accumulate(rates[:, 1])[:-1])]  # those no other x dominates
    values = rates @ units(law, shares).T
    found = limit(law, shares, theta, None, E, costs, B)
    A_ub = np.hstack([-values, np.ones((len(values), 1))])
    b_ub = np.zeros(len(values))
    if B is not None:
        A_ub, b_ub = np.vstack([A_ub, np.append(costs.ravel(), 0)]), np.append(b_ub, B)
    n = values.shape[1]
    game = -linprog(
        np.append(np.zeros(n), -1), A_ub, b_ub, np.append(np.ones(n), 0)[None], [1.0], bounds=[(0, None)] * (n + 1)
    ).fun  # fmt: skip
    assert found.lower <= game * (1 + 1e-9)
    step = 3e-3 / min(
        abs(b - r @ theta)
        for _, rows, bounds in page_sets(law, shares, theta, E)
        for r, b in zip(rows, bounds, strict=True)
    )
    assert game == pytest.approx(found.upper, rel=max(0.01, step))


def bernoulli_bandit(mu: list[float]) -> tuple[float, np.ndarray]:
    """T* and the shares of Garivier and Kaufmann (2016, Theorem 5): one root of one equation, arm 0 the best."""
    best, others = mu[0], mu[1:]

    def mixed(a: float, x: float) -> tuple[float, float]:
        m = (best + x * a) / (1 + x)
        return float(kl(best, m)), float(kl(a, m))

    def shares_at(y: float) -> list[float]:
        return [
            brentq(lambda x, a=a: sum(k * t for k, t in zip(mixed(a, x), (1, x), strict=True)) - y, 0, 1e7)
            for a in others
        ]

    def excess(y: float) -> float:
        return sum(k1 / k2 for k1, k2 in (mixed(a, x) for a, x in zip(others, shares_at(y), strict=True))) - 1

    top = min(float(kl(best, a)) for a in others)
    y = brentq(excess, 1e-3 * top, top * (1 - 1e-4), xtol=1e-15)
    x = np.array([1.0, *shares_at(y)])
    return float(x.sum() / y), x / x.sum()


@pytest.mark.parametrize(
    "mu", [[0.7, 0.4], [0.99, 0.9], [0.02, 0.01], [0.6, 0.5, 0.3, 0.1], [0.3, 0.21, 0.2, 0.19, 0.18]]
)
def test_bernoulli_bandit(mu: list[float]) -> None:
    found = limit(own_cells(len(mu)), HALF, np.array(mu), None, 1.0)
    pulls, shares = bernoulli_bandit(mu)
    assert found.pulls == pytest.approx(pulls, rel=1e-4)
    np.testing.assert_allclose(found.shares.sum(axis=0), shares, atol=0.02)


def test_two_coins() -> None:
    """max_w min_x w kl(p, x) + (1 − w) kl(r, x); x = w p + (1 − w) r is the minimiser. Also for a coin that always shows 1."""
    for p, r in ((0.7, 0.4), (1.0, 0.6), (0.3, 0.0), (1.0, 0.0)):
        w = np.linspace(0, 1, 200001)[1:-1]
        x = w * p + (1 - w) * r
        best = np.max(w * kl(p, x) + (1 - w) * kl(r, x))
        found = limit(own_cells(2), HALF, np.array([p, r]), None, 0.3)
        assert 1 / found.pulls == pytest.approx(best, rel=1e-4)
    assert found.pulls == pytest.approx(1 / math.log(2), rel=1e-4)


def test_published_shares_of_bernoulli_bandits() -> None:
    """Garivier and Kaufmann (2016), section 6."""
    for mu, shares in (
        ([0.5, 0.45, 0.43, 0.4], [0.417, 0.390, 0.136, 0.057]),
        ([0.3, 0.21, 0.2, 0.19, 0.18], [0.336, 0.251, 0.177, 0.132, 0.104]),
    ):
        found = limit(own_cells(len(mu)), HALF, np.array(mu), None, 1.0, precision=1e-6)
        np.testing.assert_allclose(found.shares.sum(axis=0), shares, atol=2e-3)


@pytest.mark.parametrize("seed", range(4))
def test_small_gaps_are_as_good_as_normal(seed: int) -> None:
    rng = np.random.default_rng([23, seed])
    law, shares, theta, _ = instance(rng, 4, 4)
    E = tolerance_for(rng, law, theta)
    off = []
    for size in (0.1, 0.01, 1e-4):
        near = 0.3 + size * (theta - 0.5)
        exact, normal = (limit(law, shares, near, v, size * E, precision=1e-6) for v in (None, near * (1 - near)))
        assert exact.best == normal.best
        off.append(abs(exact.pulls / normal.pulls - 1))
    assert off[2] < 3e-4 and off[2] < off[0]
    assert off[1] < 0.05


@pytest.mark.parametrize("seed", quick(range(6), 4))
def test_outcome_turned_around(seed: int) -> None:
    """1 − Y with the order of the arms turned is the same problem where only fairness counts: μ takes no part."""
    law, shares, theta, _ = hard_instance(seed, 1, 4)
    E = 0.7 * float(np.abs((law[:, 0] - law[:, 1]) @ theta).min())
    one, two = limit(law, shares, theta, None, E), limit(law, shares, 1 - theta, None, E)
    swapped = limit(law[:, ::-1], shares[::-1], theta, None, E)
    assert one.pulls == pytest.approx(two.pulls, rel=1e-4)
    assert one.pulls == pytest.approx(swapped.pulls, rel=1e-4)


def test_the_farther_side_of_the_tolerance_can_be_the_nearer() -> None:
    """θ = (0.97, 0.95), E = 0.3: up by 0.28 is impossible for s, so s' falls to 0.68, or lower; or s falls, by 0.32."""
    theta, E = np.array([0.97, 0.95]), 0.3
    found = limit(split_groups(), HALF, theta, None, E)
    w = np.linspace(0, 1, 2001)[1:-1, None]
    values = []
    for sign in (1, -1):
        x = np.linspace(0, 1, 4001)[1:-1][None]
        y = x - sign * E
        inside = (y > 0) & (y < 1)
        y = np.where(inside, y, 0.5)
        values.append(np.where(inside, w * kl(0.97, x) + (1 - w) * kl(0.95, y), INF).min(axis=1))
    assert 1 / found.pulls == pytest.approx(np.minimum(*values).max(), rel=1e-3)
    assert len(found.alternatives) == 1
    assert found.alternatives[0].value == found.lower
    assert sum(a.weight for a in found.alternatives) == pytest.approx(1)
    # pulls that inform about s alone make the farther side the harder one
    one_sided = limit(split_groups(), np.array([0.999, 0.001]), theta, None, E, np.array([[0.0], [1.0], [1.0]]), 0.0)
    x = np.linspace(1e-3, 1 - E - 1e-3, 200001)
    down = 0.999 * kl(0.97, x) + 0.001 * kl(0.95, x + E)
    x = np.linspace(E + 1e-3, 1 - 1e-6, 200001)
    up = 0.999 * kl(0.97, x) + 0.001 * kl(0.95, x - E)
    assert one_sided.lower == pytest.approx(min(down.min(), up.min()), rel=1e-4)


def test_what_cannot_happen() -> None:
    """No mean outcome leaves [0, 1]: the gap of an arm whose groups share half of their law is at most ½."""
    law = np.array([[[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]])
    theta = np.array([0.5, 0.5, 0.4])
    for E in (0.5, 0.6):
        never = limit(law, HALF, theta, None, E)
        assert never.pulls == 0 and never.alternatives == ()
    near = limit(law, HALF, theta, None, 0.4999)
    assert 0 < near.pulls < INF
    assert limit(law, HALF, theta, np.full(3, 0.25), 0.6).pulls > 0  # the normal form does not know it


def test_binary_edges() -> None:
    law = own_cells(2)
    tied = limit(law, HALF, np.array([0.4, 0.4]), None, 1.0)
    assert tied.pulls == INF and tied.lower == 0
    on_the_edge = limit(split_groups(), HALF, np.array([0.75, 0.5]), None, 0.25)
    assert on_the_edge.pulls == INF
    rounding = limit(law, HALF, np.array([1.0 + 1e-15, -1e-15]), None, 1.0)
    assert rounding.pulls == pytest.approx(1 / math.log(2), rel=1e-4)
    with pytest.raises(ValueError, match=r"1\.5"):
        limit(law, HALF, np.array([1.5, 0.2]), None, 1.0)


def test_a_cell_that_is_never_seen_moves_no_farther_than_0_or_1() -> None:
    """Only arm 0 is affordable, and cell 2 belongs to arm 1 alone: it can be worth 1, not more.

    Arm 0: (½, ½, 0), μ = ½; arm 1: (1 − p, 0, p), μ_1 = 0.2 (1 − p) + p x_2. p = 0.1: cell 2 at 1 gives 0.28; the rest is up
    to cells 0 and 1, x_0 (0.9 − 0.5) − x_1/2 ≥ −0.1.
    """
    theta, costs = np.array([0.2, 0.8, 0.3]), np.array([[0.0, 1.0]] * 3)
    for p, free in ((0.1, False), (0.6, True)):
        law = np.repeat(np.array([[0.5, 0.5, 0.0], [1 - p, 0.0, p]])[:, None], 2, axis=1)
        found = limit(law, HALF, theta, None, 1.0, costs, 0.0)
        if free:  # 0.08 + 0.6 > 0.5
            assert found.pulls == INF
            continue
        x0 = np.linspace(1e-4, 1 - 1e-4, 200001)
        x1 = np.minimum((0.4 * x0 + 0.1) / 0.5, 0.8)
        assert found.lower == pytest.approx(np.min(0.5 * kl(0.2, x0) + 0.5 * kl(0.8, x1)), rel=1e-4)
        assert found.upper <= found.lower * (1 + 1e-4)
        nearly = limit(law, HALF, theta, None, 1.0, costs, 1e-7)
        assert nearly.pulls == pytest.approx(found.pulls, rel=0.01)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_unseen_cells_against_a_general_solver(seed: int) -> None:
    """Arm 0 alone is affordable and never reaches the last two cells."""
    rng = np.random.default_rng([24, seed])
    law, shares, theta, _ = instance(rng, 4, 5)
    law[0, :, 3:] = 0
    law[0] /= law[0].sum(axis=1, keepdims=True)
    theta[:3] = np.array([0.9, 0.95, 0.85]) if seed == 0 else theta[:3]
    law[1:, :, 3:] *= 0.05
    law /= law.sum(axis=2, keepdims=True)
    costs = np.ones((3, 4))
    costs[:, 0] = 0
    E = 1.3 * float(np.abs((law[:, 0] - law[:, 1]) @ theta).max())
    found = limit(law, shares, theta, None, E, costs, 0.0)
    q = found.shares.ravel() @ units(law, shares)
    values = [general_value(r, b, theta, q) for _, r, b in page_sets(law, shares, theta, E)]
    assert found.lower == pytest.approx(min(values), rel=1e-4, abs=1e-9)
    assert found.upper <= found.lower * (1 + 1e-4)


def test_a_binary_cell_split_or_added(case) -> None:
    law, shares, theta, _, E, costs, B = case
    plain = limit(law, shares, theta, None, E, costs, B).pulls
    halves = np.concatenate([law[:, :, :1] * 0.3, law[:, :, :1] * 0.7, law[:, :, 1:]], axis=2)
    assert limit(halves, shares, theta[[0, 0, 1, 2, 3]], None, E, costs, B).pulls == pytest.approx(plain, rel=1e-4)
    wide = np.insert(law, 2, 0.0, axis=2)
    assert limit(wide, shares, np.insert(theta, 2, 0.9), None, E, costs, B).pulls == pytest.approx(plain, rel=1e-4)


def test_binary_arms_permuted_and_more_budget(case) -> None:
    law, shares, theta, _, E, costs, B = case
    order = np.array([3, 0, 4, 1, 2])
    plain = limit(law, shares, theta, None, E, costs, B)
    moved = limit(law[order], shares, theta, None, E, costs[:, order], B)
    assert moved.pulls == pytest.approx(plain.pulls, rel=1e-4)
    check_shares(plain, costs, B)
    more = [limit(law, shares, theta, None, E, costs, b).pulls for b in (costs.min(), B, costs.max(), None)]
    assert all(b <= a * (1 + 1e-4) for a, b in pairwise(more))


def test_binary_thirty_arms_and_twenty_cells_in_time() -> None:
    rng = np.random.default_rng(10)
    for settled in (False, True):
        law, shares, theta, _ = instance(rng, 30, 20, 0.3)
        theta = degenerate(rng, theta) if settled else theta
        E = float(np.quantile(np.abs((law[:, 0] - law[:, 1]) @ theta), 0.4))
        before = time.process_time()
        found = limit(law, shares, theta, None, E)
        assert time.process_time() - before < 6
        assert found.upper <= found.lower * (1 + 1e-4)


def test_which_form_a_problem_gets() -> None:
    """coin, two values: the exact form. Between its coins at ¼ and ¾ nothing else than page_sets is asked."""
    scenario = load_problem("coin")
    found = find_limit(scenario.problem, scenario.world)
    assert found.form == "exact for two states"
    cells = known_cells(scenario.problem, scenario.world)
    same = limit(cells.law, cells.shares, cells.theta, None, scenario.problem.compiled.scaled_tolerance)
    assert found.pulls == same.pulls
    normal = limit(cells.law, cells.shares, cells.theta, cells.variance, scenario.problem.compiled.scaled_tolerance)
    assert normal.form == "normal approximation"
    assert normal.pulls == pytest.approx(150, rel=1e-3)
