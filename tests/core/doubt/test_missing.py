"""Missing outcomes: ends by hand, against linear programmes, and shares that are drawn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from fairarm.core.doubt.box import Box, most_within
from fairarm.core.doubt.missing import draw_missing, missing_box


def least(weight: np.ndarray, box: Box) -> float:
    return float(Box(box.low[None], box.high[None]).least(weight[None, None])[0, 0])


def most(weight: np.ndarray, box: Box) -> float:
    return float(Box(box.low[None], box.high[None]).most(weight[None, None])[0, 0])


def test_by_hand() -> None:
    """Of ten rows two lack an outcome, and six of the eight others are 1: the mean of all is 0.6 to 0.8."""
    box = missing_box(np.array([0.75]), np.array([0.2]))
    assert (box.low[0], box.high[0]) == (pytest.approx(0.6), pytest.approx(0.8))


def test_against_linear_programmes() -> None:
    """150 problems: the unknowns are the means of the missing outcomes, in every cell anything from 0 to 1."""
    rng = np.random.default_rng(3)
    for _ in range(150):
        cells = int(rng.integers(1, 8))
        theta, share = rng.uniform(size=cells), rng.beta(0.5, 2.0, size=cells)
        weight, row = rng.normal(size=(2, cells))
        came = (1 - share) * theta
        box = missing_box(theta, share)
        for sign, found in ((1, least(weight, box)), (-1, most(weight, box))):
            exact = linprog(sign * weight * share, bounds=(0, 1)).fun * sign + weight @ came
            assert found == pytest.approx(exact, abs=1e-6)
        end = float(row @ came + rng.normal() * 0.1)
        exact = linprog(-weight * share, (row * share)[None], [end - row @ came], bounds=(0, 1))
        found = float(most_within(weight, row, (-np.inf, end), box))
        assert found == pytest.approx(-np.inf if exact.status == 2 else weight @ came - exact.fun, abs=1e-6)


def test_nothing_is_drawn_where_nothing_is_missing() -> None:
    rng = np.random.default_rng(0)
    assert not draw_missing(np.zeros(3, dtype=int), np.array([5, 0, 2]), 10, rng).any()
    assert rng.bit_generator.state == np.random.default_rng(0).bit_generator.state


def test_drawn_shares_are_those_of_the_rows_and_of_all_cells_where_there_is_none() -> None:
    missing, rows = np.array([300, 0, 0]), np.array([1000, 2000, 0])
    drawn = draw_missing(missing, rows, 4000, np.random.default_rng(1))
    assert drawn.shape == (4000, 3) and drawn.mean(axis=0) == pytest.approx([0.3, 0.0, 0.1], abs=0.02)
    assert drawn[:, 0].std() == pytest.approx(np.sqrt(0.3 * 0.7 / 1000), rel=0.1)
