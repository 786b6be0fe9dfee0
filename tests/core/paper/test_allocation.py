"""ALLOCATE against its dual, certificates on both sides, and closed forms for one and two arms.

The primal. Units u = (regime r, arm j) with cost c_u; blocks b, each fed by one regime r(b), with leakage A^b (K, K):

    max v   s.t.   v − Σ_j A^b_kj ν_{r(b), j} ≤ 0   (every b, every k in R)     multiplier y_bk ≥ 0
                   Σ_u c_u ν_u ≤ B                                              multiplier λ ≥ 0
                   Σ_u ν_u = 1                                                  multiplier μ, free
                   ν ≥ 0, v free

The Lagrangian  v + Σ y_bk (Σ_j A^b_kj ν_{r(b), j} − v) + λ (B − Σ c_u ν_u) + μ (1 − Σ ν_u)  is bounded above in v only if
Σ y = 1 and in ν_u ≥ 0 only if  Σ_{b: r(b) = r} Σ_k y_bk A^b_kj ≤ λ c_u + μ.  What is left is λ B + μ, so the dual is

    min λ B + μ   s.t.   Σ_bk y_bk = 1,   Σ_{b: r(b) = r} Σ_k y_bk A^b_kj ≤ λ c_rj + μ  (every unit),   y ≥ 0, λ ≥ 0, μ free

(no budget: λ = 0). Whatever solved it, any y in the simplex and λ ≥ 0 *prove*  v* ≤ λ B + max_u (Σ y A − λ c_u),  and any
shares prove v* ≥ their own worst row: the tests compare these two certificates and trust no solver's tolerance.
The dual is solved with every row divided by its largest entry, so that leakages of 1e-7 are numbers of size one.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linprog

from fairarm.core.paper.allocation import Allocation, Leakage, allocate, require_affordable
from fairarm.errors import BudgetError

BLOCKS = {"M and D": (0, 2, 1), "M only": (0,), "D only": (2, 1)}


def dual_bound(blocks: list[Leakage], costs: np.ndarray, budget: float | None, alive: np.ndarray) -> float:
    """A proven upper bound of v*, tight at the optimum of the dual: the best that two methods and two scales of λ find."""
    rows = [(b.regime, b.matrix[k]) for b in blocks for k in np.flatnonzero(alive)]
    peak = np.array([row.max() for _, row in rows])
    if np.any(peak == 0):
        return 0.0
    regimes = sorted({b.regime for b in blocks})
    loads = np.array([[row * (regime == r) for r in regimes] for regime, row in rows]).reshape(len(rows), -1)
    paid = costs[regimes].ravel()
    found = []
    for unit in {1.0, budget or 1.0}:
        for method in ("highs-ds", "highs-ipm"):
            y, price = solve_dual(loads, paid, budget, peak, unit, method)
            found.append((0.0 if budget is None else price * budget) + float(np.max(y @ loads - price * paid)))
    return min(found)


def solve_dual(
    loads: np.ndarray, paid: np.ndarray, budget: float | None, peak: np.ndarray, unit: float, method: str
) -> tuple[np.ndarray, float]:
    """y and λ. Variables w = y peak / m, λ' = λ unit / m and μ' = μ / m with m the smallest peak: all of size one."""
    m, n = peak.min(), len(loads)
    A_ub = np.hstack([(loads / peak[:, None]).T, -paid[:, None] / unit, -np.ones((len(paid), 1))])
    A_eq = np.append(m / peak, [0.0, 0.0])[None]
    objective = np.append(np.zeros(n), [0.0 if budget is None else budget / unit, 1.0])
    bounds = [(0, None)] * n + [(0, 0 if budget is None else None), (None, None)]
    answer = linprog(objective, A_ub, np.zeros(len(paid)), A_eq, [1.0], bounds=bounds, method=method)
    assert answer.status == 0, answer.message
    y = np.clip(answer.x[:n], 0, None) * m / peak
    return y / y.sum(), max(float(answer.x[-2]), 0.0) * m / unit


def primal_bound(blocks: list[Leakage], shares: np.ndarray, alive: np.ndarray) -> float:
    """What the shares themselves reach, row by row."""
    K = shares.shape[1]
    return min(
        sum(shares[b.regime, j] * b.matrix[k, j] for j in range(K)) for b in blocks for k in range(K) if alive[k]
    )


def divergences(rng: np.random.Generator, K: int, kind: str) -> list[np.ndarray]:
    """M, D^{s,s'}, D^{s',s} of a made-up problem: M_kk = 1, M ≥ 1, D ≥ log 2."""
    M = 1 + rng.gamma(1.0, 5.0, (K, K))
    D = np.log(2) + rng.gamma(1.0, 9.0, (2, K, K))
    if kind == "no overlap":
        M[rng.random((K, K)) < 0.4] = np.inf
        D[rng.random((2, K, K)) < 0.4] = np.inf
        D[:, range(K), range(K)] = np.log(2) + rng.random((2, K))
    if kind == "huge":
        D = np.log(2) + 10.0 ** rng.uniform(0, 7, (2, K, K))
    if kind == "all huge":
        D = 10.0 ** rng.uniform(6.5, 7, (2, K, K))
    np.fill_diagonal(M, 1.0)
    return [M, D[0], D[1]]


def make_blocks(rng: np.random.Generator, K: int, which: str, kind: str) -> list[Leakage]:
    found = dict(zip((0, 2, 1), divergences(rng, K, kind), strict=True))
    return [Leakage(regime, 1.0 / found[regime]) for regime in BLOCKS[which]]


def make_budget(rng: np.random.Generator, costs: np.ndarray, blocks: list[Leakage], how: str) -> float | None:
    used = costs[sorted({b.regime for b in blocks})]
    return {
        "cheapest": float(used.min()),
        "tight": float(used.min() + 0.03 * np.ptp(used)),
        "middle": float(rng.uniform(used.min(), used.max())),
        "loose": float(used.max()),
        "none": None,
    }[how]


def check_feasible(found: Allocation, blocks: list[Leakage], costs: np.ndarray, budget: float | None) -> None:
    used = sorted({b.regime for b in blocks})
    assert found.shares.shape == costs.shape
    assert np.all(found.shares >= 0)
    assert found.shares.sum() == pytest.approx(1.0, abs=1e-12)
    assert not np.delete(found.shares, used, axis=0).any()
    if budget is not None:
        assert np.sum(found.shares * costs) <= budget + 1e-7 * max(1.0, costs.max())


@pytest.mark.parametrize("how", ["cheapest", "tight", "middle", "loose", "none"])
@pytest.mark.parametrize("kind", ["plain", "no overlap", "huge", "all huge"])
@pytest.mark.parametrize("which", list(BLOCKS))
def test_value_is_the_dual_optimum(which: str, kind: str, how: str) -> None:
    rng = np.random.default_rng([list(BLOCKS).index(which), len(kind), len(how)])
    for K in (1, 2, 3, 5, 8, 12):
        blocks = make_blocks(rng, K, which, kind)
        costs = rng.choice([0.0, 0.25, 1.0, 3.0], (3, K)) if rng.random() < 0.5 else rng.random((3, K))
        alive = np.ones(K, bool) if rng.random() < 0.5 else rng.random(K) < 0.5
        alive[rng.integers(K)] = True
        budget = make_budget(rng, costs, blocks, how)
        found = allocate(blocks, costs, budget, alive)
        check_feasible(found, blocks, costs, budget)
        reached = primal_bound(blocks, found.shares, alive)
        assert found.value == pytest.approx(reached, rel=1e-12, abs=0)
        assert found.value == pytest.approx(dual_bound(blocks, costs, budget, alive), rel=1e-6, abs=1e-15), (K, budget)


@pytest.mark.parametrize("seed", range(10))
def test_tiny_value_with_a_free_arm_and_the_papers_budget(seed: int) -> None:
    """D up to 1e7 for pulls of the deployed arm: v* near 1e-7, which HiGHS's own row tolerance would call zero."""
    rng = np.random.default_rng(seed)
    K = 6
    M, *D = divergences(rng, K, "plain")
    for d in D:
        d[:, 0] = 10.0 ** rng.uniform(5, 7, K)
    blocks = [Leakage(0, 1 / M), Leakage(2, 1 / D[0]), Leakage(1, 1 / D[1])]
    costs = np.ones((3, K))
    costs[:, 0] = 0
    for budget in (0.0, 1e-9, 1e-6, 1e-3):
        found = allocate(blocks, costs, budget, np.ones(K, bool))
        check_feasible(found, blocks, costs, budget)
        assert found.value == pytest.approx(dual_bound(blocks, costs, budget, np.ones(K, bool)), rel=1e-6, abs=0)


def test_value_falls_as_the_set_of_arms_grows() -> None:
    rng = np.random.default_rng(5)
    for kind in ("plain", "no overlap"):
        for _ in range(5):
            K = 6
            blocks = make_blocks(rng, K, "M and D", kind)
            costs = rng.random((3, K))
            budget = make_budget(rng, costs, blocks, "middle")
            order = rng.permutation(K)
            values = []
            for size in range(1, K + 1):
                alive = np.zeros(K, bool)
                alive[order[:size]] = True
                values.append(allocate(blocks, costs, budget, alive).value)
            assert all(small >= large - 1e-9 for small, large in pairwise(values))
            assert values[0] > values[-1]


def test_value_rises_with_the_budget() -> None:
    rng = np.random.default_rng(6)
    blocks = make_blocks(rng, 5, "M and D", "plain")
    costs = rng.random((3, 5))
    everyone = np.ones(5, bool)
    budgets = [*np.linspace(costs.min(), costs.max(), 9), None]
    values = [allocate(blocks, costs, budget, everyone).value for budget in budgets]
    assert all(a <= b + 1e-9 for a, b in pairwise(values))
    assert values[-2] == pytest.approx(values[-1], rel=1e-9)
    assert values[0] < values[-1]


# ---- closed forms ----


def test_one_arm_without_limit() -> None:
    """v = ν_Y/m = ν_s'/d = ν_s/d' with Σν = 1: shares m : d' : d, v* = 1/(m + d + d')."""
    m, d, d_back = 1.0, 3.0, 4.0
    blocks = [Leakage(0, np.array([[1 / m]])), Leakage(2, np.array([[1 / d]])), Leakage(1, np.array([[1 / d_back]]))]
    found = allocate(blocks, np.ones((3, 1)), None, np.ones(1, bool))
    assert found.value == pytest.approx(1 / 8, rel=1e-9)
    np.testing.assert_allclose(found.shares[:, 0], [1 / 8, 4 / 8, 3 / 8], rtol=1e-9)


def test_one_arm_with_a_binding_budget() -> None:
    """Every regime its least share v·d_u, the rest to the cheapest: v* = (B − c_min) / Σ d_u (c_u − c_min)."""
    blocks = [Leakage(0, np.array([[1.0]])), Leakage(2, np.array([[1 / 3]])), Leakage(1, np.array([[1 / 4]]))]
    costs = np.array([[1.0], [3.0], [2.0]])  # natural, s (4), s' (3)
    found = allocate(blocks, costs, 1.5, np.ones(1, bool))
    v = 0.5 / (4 * 2 + 3 * 1)
    assert found.value == pytest.approx(v, rel=1e-9)
    np.testing.assert_allclose(found.shares[:, 0], [1 - 7 * v, 4 * v, 3 * v], rtol=1e-9)


def test_two_symmetric_arms() -> None:
    """M = [[1, a], [a, 1]]: half each, v* = (1 + 1/a)/2."""
    found = allocate([Leakage(0, 1 / np.array([[1.0, 4.0], [4.0, 1.0]]))], np.ones((3, 2)), None, np.ones(2, bool))
    assert found.value == pytest.approx(0.625, rel=1e-9)
    np.testing.assert_allclose(found.shares, [[0.5, 0.5], [0, 0], [0, 0]], rtol=1e-9)


def test_two_arms_one_free() -> None:
    """Arm 0 free, arm 1 costs 1: the budget goes to arm 1 whole, v* = (1 − B)/M_10 + B while arm 1 is the worse known."""
    M = np.array([[1.0, 2.0], [10.0, 1.0]])
    costs = np.array([[0.0, 1.0]] * 3)
    found = allocate([Leakage(0, 1 / M)], costs, 0.2, np.ones(2, bool))
    assert found.value == pytest.approx(0.8 / 10 + 0.2, rel=1e-9)
    np.testing.assert_allclose(found.shares[0], [0.8, 0.2], rtol=1e-9)


def test_a_rejected_arm_may_be_the_best_to_pull() -> None:
    """Only arm 1 is left, but pulls of arm 0 tell more about it: everything goes to arm 0."""
    D = np.array([[5.0, 5.0], [2.0, 4.0]])
    blocks = [Leakage(2, 1 / D), Leakage(1, 1 / D)]
    found = allocate(blocks, np.ones((3, 2)), None, np.array([False, True]))
    assert found.value == pytest.approx(0.25, rel=1e-9)
    np.testing.assert_allclose(found.shares, [[0, 0], [0.5, 0], [0.5, 0]], atol=1e-9)


def test_value_is_zero_where_the_budget_reaches_no_usable_pull() -> None:
    """Arm 1 can only be learned from itself and costs 1; at budget 0 nothing is left to optimise, and that is an answer."""
    costs = np.array([[0.0, 1.0]] * 3)
    found = allocate([Leakage(0, np.eye(2))], costs, 0.0, np.ones(2, bool))
    assert found.value == 0.0
    np.testing.assert_allclose(found.shares[0], [1.0, 0.0], atol=1e-12)


# ---- errors ----


@pytest.mark.parametrize("which", list(BLOCKS))
def test_budget_below_the_cheapest_pull_names_both_numbers(which: str) -> None:
    rng = np.random.default_rng(0)
    blocks = make_blocks(rng, 3, which, "plain")
    costs = np.array([[0.75, 2, 2], [0.625, 2, 2], [0.875, 2, 2]])
    cheapest = {"M and D": "0.625", "M only": "0.75", "D only": "0.625"}[which]
    with pytest.raises(BudgetError) as caught:
        allocate(blocks, costs, 0.3125, np.ones(3, bool))
    assert "0.3125" in str(caught.value)
    assert cheapest in str(caught.value)


def test_budget_of_exactly_the_cheapest_pull_is_enough() -> None:
    costs = np.array([[0.75, 2.0]])
    require_affordable(costs, 0.75)
    require_affordable(costs, None)
    with pytest.raises(BudgetError):
        require_affordable(costs, np.nextafter(0.75, 0))
