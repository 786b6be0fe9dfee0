"""The two-row projection against a general solver, by hand, and at its edges.

The oracle is told the rows themselves, not their inner products: scipy's SLSQP on  min ½ Σ n δ²/v  s.t.  a_1·δ ≥ g_1,
a_2·δ ≥ g_2.  The conditions of optimality (feasible, λ ≥ 0, λ_i > 0 only on a row met exactly, δ = (v/n) Σ λ_i a_i) are
checked besides, and need no solver.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from fairarm.core.design.projection import project

INF = math.inf


def gram(a: np.ndarray, v: np.ndarray, n: np.ndarray) -> np.ndarray:
    return np.array([[sum(a[i] * a[j] * v / n) for j in range(2)] for i in range(2)])


def solver(a: np.ndarray, g: np.ndarray, v: np.ndarray, n: np.ndarray) -> float:
    """In x = δ √(n/v), so that the objective is ½|x|²."""
    rows = a * np.sqrt(v / n)
    scale = np.linalg.norm(rows, axis=1)
    limits = [
        {"type": "ineq", "fun": lambda x, r=r, b=b: r @ x - b, "jac": lambda x, r=r: r}
        for r, b in zip(rows / scale[:, None], g / scale, strict=True)
    ]
    answer = minimize(
        lambda x: 0.5 * x @ x,
        np.linalg.pinv(rows) @ g,
        jac=lambda x: x,
        constraints=limits,
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 300},
    )
    assert answer.success or answer.status == 8, answer.message
    return float(answer.fun)


def check_optimal(a: np.ndarray, g: np.ndarray, v: np.ndarray, n: np.ndarray, found: tuple[np.ndarray, ...]) -> None:
    value, *lam = (float(x) for x in found)
    assert min(lam) >= 0
    move = v / n * (lam[0] * a[0] + lam[1] * a[1])
    slack = a @ move - g
    size = np.abs(g).max() + np.abs(a @ move).max()
    assert np.all(slack >= -1e-8 * size)
    assert np.all(np.abs(slack[np.array(lam) > 0]) <= 1e-8 * size)
    assert value == pytest.approx(0.5 * np.sum(n * move**2 / v), rel=1e-8, abs=1e-14)


@pytest.mark.parametrize("cells", [2, 3, 8])
def test_random_rows_against_a_solver(cells: int) -> None:
    rng = np.random.default_rng(cells)
    seen = set()
    for _ in range(150):
        a = rng.normal(size=(2, cells))
        a[1] += rng.choice([-2.0, 0.0, 2.0]) * a[0]
        g, v, n = rng.normal(size=2), rng.uniform(0.05, 0.25, cells), rng.uniform(0.5, 50, cells)
        G = gram(a, v, n)
        found = project(G[0, 0], G[0, 1], G[1, 1], g[0], g[1])
        check_optimal(a, g, v, n, found)
        assert float(found[0]) == pytest.approx(solver(a, g, v, n), rel=1e-6, abs=1e-9)
        seen.add((bool(found[1] > 0), bool(found[2] > 0), bool(g[0] > 0), bool(g[1] > 0)))
    # every pattern was met: none, one, both rows active, and both active though one of them held at the start
    assert {(False, False, False, False), (True, False, True, True), (True, True, True, True)} <= seen
    assert {(True, True, True, False), (True, True, False, True), (False, True, True, True)} <= seen


def test_by_hand() -> None:
    """Unit cells. Orthogonal rows: ½(g1² + g2²). Rows (1, 0) and (1, 1): δ = (1, 1) meets (1, 2), λ = (0, 1)."""
    np.testing.assert_allclose(project(1, 0, 1, 3, 4), (12.5, 3, 4), rtol=1e-15)
    np.testing.assert_allclose(project(1, 1, 2, 1, 2), (1, 0, 1), rtol=1e-15, atol=1e-15)
    # (1, 0)·δ ≥ 3 and (1, 1)·δ ≥ 2: the first alone, since it brings the second to 3
    np.testing.assert_allclose(project(1, 1, 2, 3, 2), (4.5, 3, 0), rtol=1e-15)
    # (1, 0)·δ ≥ 1 and (−1, 1)·δ ≥ 0, which held at the start: δ = (1, 1), λ = (2, 1)
    np.testing.assert_allclose(project(1, -1, 2, 1, 0), (1, 2, 1), rtol=1e-15)
    # ... ≥ −1 leaves it met by δ = (1, 0)
    np.testing.assert_allclose(project(1, -1, 2, 1, -1), (0.5, 1, 0), rtol=1e-15)


def test_one_row_is_the_squared_distance() -> None:
    """Γ = g² / 2G, λ = g/G; nothing at g ≤ 0."""
    np.testing.assert_allclose(project(0.5, 0, 0, [3.0, 0.0, -1.0], 0), [[9, 0, 0], [6, 0, 0], [0, 0, 0]])
    np.testing.assert_allclose(project(0, 0, 0.5, 0, [3.0, 0.0, -1.0]), [[9, 0, 0], [0, 0, 0], [6, 0, 0]])


def test_rows_exchanged() -> None:
    rng = np.random.default_rng(3)
    a = rng.normal(size=(2, 500, 4))
    G11, G12, G22 = (np.sum(x * y, axis=-1) for x, y in ((a[0], a[0]), (a[0], a[1]), (a[1], a[1])))
    g1, g2 = rng.normal(size=(2, 500))
    value, lam1, lam2 = project(G11, G12, G22, g1, g2)
    other, back2, back1 = project(G22, G12, G11, g2, g1)
    np.testing.assert_allclose([value, lam1, lam2], [other, back1, back2], rtol=1e-12)


def test_shapes_broadcast() -> None:
    value, lam1, lam2 = project(np.ones((4, 1)), 0.0, np.ones(3), 1.0, np.arange(3.0))
    assert value.shape == lam1.shape == lam2.shape == (4, 3)
    np.testing.assert_allclose(value[2], [0.5, 1.0, 2.5])
    assert all(np.shape(x) == () for x in project(1, 0, 1, 1, 1))
    assert project(np.ones((0, 2)), 0, 1, 1, 1)[0].shape == (0, 2)


# ---- edges ----


@pytest.mark.parametrize(
    ("G", "g", "expected"),
    [
        ((0, 0, 0), (0, 0), (0, 0, 0)),
        ((0, 0, 0), (-1, -2), (0, 0, 0)),
        ((0, 0, 0), (1, -2), (INF, INF, 0)),  # a row of zeros that should move
        ((0, 0, 2), (1, 1), (INF, INF, 0)),
        ((2, 0, 0), (1, 1), (INF, 0, INF)),
        ((0, 0, 2), (-1, 2), (1, 0, 1)),  # a row of zeros that holds: the other alone
        ((0, 0, 2), (0, 2), (1, 0, 1)),
        ((INF, 1, 2), (5, 2), (1, 0, 1)),  # the first is met in a cell never seen
        ((INF, math.nan, 2), (5, 2), (1, 0, 1)),  # 0 · inf in the caller's sum
        ((2, INF, INF), (2, 5), (1, 1, 0)),
        ((INF, -INF, INF), (5, 5), (0, 0, 0)),
        ((INF, 0, 0), (5, 1), (INF, 0, INF)),
        ((INF, 0, INF), (-1, -1), (0, 0, 0)),
    ],
)
def test_rows_that_cannot_move_or_move_at_no_cost(G, g, expected) -> None:
    np.testing.assert_allclose([float(x) for x in project(*G, *g)], expected, rtol=1e-15)


@pytest.mark.parametrize("factor", [1.0, 0.3, 7.0])
def test_collinear_rows(factor: float) -> None:
    """a_2 = ±f a_1, |a_1|² = 2."""
    f = factor
    same = project(2, 2 * f, 2 * f * f, 1.0, [0.5 * f, f, 2 * f, -f])
    np.testing.assert_allclose(same[0], [0.25, 0.25, 1.0, 0.25], rtol=1e-12)  # a_1·δ ≥ max(1, g2/f)
    opposite = project(2, -2 * f, 2 * f * f, 1.0, [-2 * f, -f, -0.5 * f, f])  # 1 ≤ a_1·δ ≤ −g2/f
    np.testing.assert_allclose(opposite[0], [0.25, 0.25, INF, INF], rtol=1e-12)
    assert np.all(np.isinf(opposite[1][2:]) & np.isinf(opposite[2][2:]))
    np.testing.assert_allclose(project(2, -2 * f, 2 * f * f, -1.0, -f)[0], 0.0)


def test_nearly_opposite_rows_keep_their_digits() -> None:
    """(1, 0)·δ ≥ 1 and (−1, ε)·δ ≥ 0: δ = (1, 1/ε), Γ = ½(1 + 1/ε²)."""
    for eps in (1e-1, 1e-2, 1e-4):
        value, lam1, lam2 = project(1, -1, 1 + eps**2, 1, 0)
        assert float(value) == pytest.approx(0.5 * (1 + eps**-2), rel=1e-6)
        assert float(lam2) == pytest.approx(eps**-2, rel=1e-6)
        assert float(lam1) == pytest.approx(1 + eps**-2, rel=1e-6)


def test_sizes_far_from_one() -> None:
    """Γ does not change when a row and its g are scaled together; counts scale it."""
    plain = np.array(project(2.0, 0.5, 1.0, 0.7, 0.9))
    for up, down in ((1e150, 1e-150), (1e-150, 1e-150), (1e-9, 1e12)):
        scaled = project(2.0 * up * up, 0.5 * up * down, down * down, 0.7 * up, 0.9 * down)
        np.testing.assert_allclose([scaled[0], scaled[1] * up, scaled[2] * down], plain, rtol=1e-12)
    assert np.all(np.array(project(1e-300, -0.9e-150, 1, 1e200, -1)) > 1e100)
    np.testing.assert_allclose(project(2.0 / 5, 0.5 / 5, 1.0 / 5, 0.7, 0.9), plain * 5, rtol=1e-12)
