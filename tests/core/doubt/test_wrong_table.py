"""A wrong table: closed form by hand, and against linear programmes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from fairarm.core.doubt.wrong_table import Fraction, largest_rise


def test_by_hand() -> None:
    """One row (0.2, 0.3, 0.5) of what follows 0, 1, 0.5: ε = 0.1 moves from the first to the second; ε = 0.4 takes 0.2 of the third."""
    table, follows = np.array([[0.2, 0.3, 0.5]]), np.array([[0.0, 1.0, 0.5]])
    assert largest_rise(table, follows, 0.1) == pytest.approx(0.1)
    assert largest_rise(table, follows, 0.4) == pytest.approx(0.2 + 0.2 * 0.5)
    assert largest_rise(table, follows, 1.0) == pytest.approx(0.2 + 0.5 * 0.5)
    assert largest_rise(table, -follows, 0.1) == pytest.approx(0.1)


def test_small_errors_move_by_the_error_times_the_range() -> None:
    rng = np.random.default_rng(0)
    table, follows = rng.dirichlet(np.full(4, 20.0), size=6), rng.normal(size=(3, 6, 4))
    most = 0.01 * (follows.max(axis=2) - follows.min(axis=2)).sum(axis=1)
    assert largest_rise(table, follows, 0.01) == pytest.approx(most)
    assert largest_rise(table, follows, 0.0) == pytest.approx(0.0)


def programme(table: np.ndarray, follows: np.ndarray, error: float) -> float:
    """P' and |P' − P| as unknowns, row by row."""
    total = 0.0
    for p, g in zip(table, follows, strict=True):
        v = len(p)
        size = np.concatenate([np.zeros((1, v)), np.ones((1, v))], axis=1)
        ahead = np.concatenate([np.eye(v), -np.eye(v)], axis=1)
        behind = np.concatenate([-np.eye(v), -np.eye(v)], axis=1)
        found = linprog(
            np.concatenate([-g, np.zeros(v)]),
            np.concatenate([size, ahead, behind]),
            np.concatenate([[2 * error], p, -p]),
            np.concatenate([np.ones((1, v)), np.zeros((1, v))], axis=1),
            [1.0],
        )
        total += -found.fun - p @ g
    return total


def test_against_linear_programmes() -> None:
    """150 problems, errors of every size."""
    rng = np.random.default_rng(7)
    for _ in range(150):
        rows, states = int(rng.integers(1, 4)), int(rng.integers(2, 5))
        table, follows = rng.dirichlet(np.full(states, 0.7), size=rows), rng.normal(size=(rows, states))
        error = float(rng.beta(1, 3))
        assert largest_rise(table, follows, error) == pytest.approx(programme(table, follows, error), abs=1e-9)
        assert largest_rise(table, -follows, error) == pytest.approx(programme(table, -follows, error), abs=1e-9)


def fraction_programme(p: np.ndarray, n: np.ndarray, d: np.ndarray, error: float) -> float:
    """max Σ P' n / Σ P' d by Charnes and Cooper: y = P'/D, t = 1/D, and |P' − P|/D as unknowns; all rows of the table at once."""
    rows, v = p.shape
    size, last = p.size, 2 * p.size
    limits, ends = [], []
    for i in range(size):
        for sign in (1.0, -1.0):  # ±(y − t p) ≤ a
            row = np.zeros(last + 1)
            row[i], row[size + i], row[last] = sign, -1.0, -sign * p.flat[i]
            limits.append(row), ends.append(0.0)
    sums = []
    for r in range(rows):
        within = slice(r * v, (r + 1) * v)
        far, whole = np.zeros(last + 1), np.zeros(last + 1)
        far[size:last][within], far[last] = 1.0, -2 * error
        whole[:size][within], whole[last] = 1.0, -1.0
        limits.append(far), ends.append(0.0), sums.append(whole)
    scale = np.concatenate([d.ravel(), np.zeros(size + 1)])
    gain = np.concatenate([-n.ravel(), np.zeros(size + 1)])
    found = linprog(gain, np.array(limits), ends, np.array([*sums, scale]), [*[0.0] * rows, 1.0])
    assert found.status == 0
    return float(-found.fun)


def test_fractions_against_linear_programmes() -> None:
    """150 problems: what people's own table does to their mean."""
    rng = np.random.default_rng(9)
    for _ in range(150):
        rows, states = int(rng.integers(1, 4)), int(rng.integers(2, 4))
        table, weight = rng.dirichlet(np.full(states, 2.0), size=rows), rng.uniform(0.1, 1.0, size=rows)
        below = np.zeros((rows, states))
        below[:, 0] = weight  # the people of the first state
        above = below * rng.uniform(-1, 1, size=(rows, 1)) + rng.normal(0, 0.05, size=(rows, states))
        error = float(rng.uniform(0.0, 0.5) * table[:, 0].min())
        made = Fraction(table, above, below)
        rise = made.rise_at(error, np.array(50.0))
        assert made.value + rise == pytest.approx(fraction_programme(table, above, below, error), abs=1e-6)
