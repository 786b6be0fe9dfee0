"""The box: ends by hand, and a rival that must be fair against a linear programme."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from fairarm.core.doubt.box import Box, exact_most_if_fair, most_if_fair, most_within
from fairarm.core.fairness import Rows


def test_each_cell_takes_the_end_that_its_coefficient_calls_for() -> None:
    box = Box(np.array([[0.1, 0.2, 0.3]]), np.array([[0.4, 0.6, 0.3]]))
    coefficients = np.array([[[1.0, -2.0, 5.0]]])
    assert box.least(coefficients)[0, 0] == pytest.approx(0.1 - 1.2 + 1.5)
    assert box.most(coefficients)[0, 0] == pytest.approx(0.4 - 0.4 + 1.5)


def test_boxes_of_draws_meet_the_coefficients_of_arms_shared_or_drawn_with_them() -> None:
    box = Box(np.zeros((3, 2)), np.arange(6.0).reshape(3, 2))
    arms = np.array([[[1.0, 1.0], [1.0, -1.0]]])
    assert box.most(arms).tolist() == box.most(np.repeat(arms, 3, axis=0)).tolist() == [[1, 0], [5, 2], [9, 4]]


def test_a_row_by_hand() -> None:
    """Two cells in [0, 1]: the best point (1, 1) breaks the row θ_1 − θ_2 ≥ 0.5, and θ_2 pays for it."""
    box = Box(np.zeros(2), np.ones(2))
    gain, row = np.array([2.0, 1.0]), np.array([1.0, -1.0])
    assert most_within(gain, row, (0.5, np.inf), box) == pytest.approx(2.5)
    assert most_within(gain, row, (-1.0, -0.25), box) == pytest.approx(2.5)  # θ_1 down to 0.75
    assert most_within(gain, row, (1.5, np.inf), box) == -np.inf


def test_a_cell_without_gain_gives_way_first() -> None:
    box = Box(np.zeros(2), np.ones(2))
    assert most_within(np.array([1.0, 0.0]), np.array([1.0, 1.0]), (-np.inf, 1.0), box) == pytest.approx(1.0)
    assert most_within(np.array([1.0, 0.0]), np.array([-1.0, 1.0]), (0.0, 1.0), box) == pytest.approx(1.0)


def programme(gain: np.ndarray, rows: np.ndarray, asked: Rows, box: Box) -> float:
    """By scipy; −inf where no point of the box meets the rows."""
    ends = [(rows, asked.high), (-rows, -asked.low)]
    A, b = (np.concatenate(parts) for parts in zip(*ends, strict=True))
    kept = np.isfinite(b)
    found = linprog(-gain, A[kept], b[kept], bounds=np.stack([box.low, box.high], axis=1))
    return -np.inf if found.status == 2 else float(-found.fun)


@pytest.mark.parametrize("rows", [1, 3])
def test_a_rival_that_must_be_fair_against_a_linear_programme(rows: int) -> None:
    """250 problems each: one row is exact; with several the rival is never thought weaker than it is."""
    rng = np.random.default_rng(15 + rows)
    slack = []
    for _ in range(250):
        cells = int(rng.integers(2, 9))
        low = rng.uniform(size=cells)
        box = Box(low, low + rng.uniform(size=cells) * (1 - low))
        gain, alpha = rng.normal(size=cells) * (rng.uniform(size=cells) > 0.2), rng.normal(size=(rows, cells))
        middle = alpha @ low + rng.normal(size=rows) * 0.3
        asked = Rows(np.zeros((rows, 2)), np.zeros(rows), middle - rng.uniform(size=rows), middle)
        asked.high[rng.uniform(size=rows) < 0.3] = np.inf
        exact, found = programme(gain, alpha, asked, box), float(most_if_fair(gain, alpha, asked, box))
        assert exact_most_if_fair(gain, alpha, asked, box) == pytest.approx(exact, abs=1e-9)
        if rows == 1:
            assert found == pytest.approx(exact, abs=1e-9)
        else:
            assert found >= exact - 1e-9
            slack.append(found - exact if np.isfinite(exact) else 0.0)
    assert rows == 1 or np.median(slack) < 1e-9
