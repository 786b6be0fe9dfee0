"""A wrong table: closed form by hand, and against linear programmes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from fairarm.core.doubt.wrong_table import largest_fall, largest_rise


def test_by_hand() -> None:
    """One row (0.2, 0.3, 0.5) of what follows 0, 1, 0.5: ε = 0.1 moves from the first to the second; ε = 0.4 takes 0.2 of the third."""
    table, follows = np.array([[0.2, 0.3, 0.5]]), np.array([[0.0, 1.0, 0.5]])
    assert largest_rise(table, follows, 0.1) == pytest.approx(0.1)
    assert largest_rise(table, follows, 0.4) == pytest.approx(0.2 + 0.2 * 0.5)
    assert largest_rise(table, follows, 1.0) == pytest.approx(0.2 + 0.5 * 0.5)
    assert largest_fall(table, follows, 0.1) == pytest.approx(0.1)


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
    """500 problems, errors of every size."""
    rng = np.random.default_rng(7)
    for _ in range(500):
        rows, states = int(rng.integers(1, 4)), int(rng.integers(2, 5))
        table, follows = rng.dirichlet(np.full(states, 0.7), size=rows), rng.normal(size=(rows, states))
        error = float(rng.beta(1, 3))
        assert largest_rise(table, follows, error) == pytest.approx(programme(table, follows, error), abs=1e-9)
        assert largest_fall(table, follows, error) == pytest.approx(programme(table, -follows, error), abs=1e-9)
