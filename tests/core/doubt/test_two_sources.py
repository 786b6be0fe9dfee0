"""How much of a mean is taken from rows that no hidden cause moved."""

from __future__ import annotations

import numpy as np
import pytest

from fairarm.core.doubt.two_sources import share_of_known


def draws(sd: float, width: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    low = 0.5 + sd * np.random.default_rng(seed).standard_normal((20_000, 1))
    return low, low + width


def test_without_a_box_weights_go_by_precision() -> None:
    found = share_of_known(draws(0.01, 0.0, 1), draws(0.02, 0.0, 2))
    assert found == pytest.approx([0.8], abs=0.02)


@pytest.mark.parametrize(("width", "least", "most"), [(0.001, 0.5, 0.8), (0.5, 1.0, 1.0)])
def test_the_wider_the_box_the_more_is_taken_from_known_rows(width: float, least: float, most: float) -> None:
    found = share_of_known(draws(0.02, 0.0, 1), draws(0.02, width, 2))
    assert least <= found[0] <= most


def test_few_known_rows_leave_a_narrow_box() -> None:
    assert share_of_known(draws(0.3, 0.0, 1), draws(0.01, 0.02, 2))[0] < 0.05
