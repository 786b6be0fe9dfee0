"""Tipping points: by hand, and against a search over a grid."""

from __future__ import annotations

import numpy as np
import pytest

from fairarm.core.doubt.box import Box
from fairarm.core.doubt.sensitivity import hidden_box, others_two_valued
from fairarm.core.doubt.tipping import fair_margin, sure_until, tipping, unfair_margin
from fairarm.core.fairness import Rows


def test_where_a_line_crosses() -> None:
    at = np.array([1.5, 2.0, 0.5, 99.0])
    found = tipping(lambda strength: at - strength, 1.0, 10.0, (4,))
    assert found[:3] == pytest.approx([1.5, 2.0, 1.0], abs=1e-7) and found[3] == np.inf


def test_margins() -> None:
    asked = Rows.gap(0.1)
    low, high = np.array([[-0.05], [0.05], [0.12]]), np.array([[0.02], [0.15], [0.2]])
    assert fair_margin(low, high, asked) == pytest.approx([0.05, -0.05, -0.1])
    assert unfair_margin(low, high, asked) == pytest.approx([-0.12, -0.05, 0.02])


def test_what_a_share_of_the_draws_reaches() -> None:
    assert sure_until(np.array([3.0, 1.0, np.inf, 2.0]), 0.75) == 2.0
    assert sure_until(np.array([3.0, 1.0, np.inf, 2.0]), 1.0) == 1.0


def test_the_tipping_strength_is_monotone_and_that_of_a_grid() -> None:
    """100 problems of a gap between two laws: the tip grows with the tolerance, and halving finds what a fine grid finds."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        cells = int(rng.integers(2, 6))
        theta, chance = rng.uniform(size=cells), rng.uniform(0.1, 0.9, size=cells)
        row = rng.dirichlet(np.ones(cells)) - rng.dirichlet(np.ones(cells))

        def margin(strength: np.ndarray, tolerance: float) -> np.ndarray:
            box = hidden_box(chance, Box(theta, theta), others_two_valued(theta, strength[:, None]))  # noqa: B023
            low, high = box.least(row[None, None]), box.most(row[None, None])  # noqa: B023
            return fair_margin(low, high, Rows.gap(tolerance))

        value = abs(float(row @ theta))
        tips = [float(tipping(lambda s, e=e: margin(s, e), 1.0, 20.0, (1,))[0]) for e in (value + 0.02, value + 0.05)]
        assert tips[0] <= tips[1]
        grid = np.linspace(1.0, 20.0, 4001)
        holds = margin(grid, value + 0.02) > 0
        assert np.all(np.diff(holds.astype(int)) <= 0)
        last = grid[holds][-1]
        assert tips[0] == np.inf if holds.all() else last <= tips[0] <= last + 0.01
