"""Exposure by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fairarm.algorithms.exposure import exposure


def test_two_cohorts_by_hand():
    """Arm 1 was doubted when the second cohort opened, arm 2 is doubted now; people would have had arm 0."""
    cohorts = np.array([[[10, 10], [5, 0], [1, 2]], [[20, 20], [3, 1], [0, 4]]])
    then, now = np.array([[np.nan] * 3, [0.9, 0.4, 0.8]]), np.array([0.9, 0.6, 0.1])
    means = np.array([[0.5, 0.5], [0.4, 0.6], [0.7, 0.1]])
    found = exposure(cohorts, then, now, means, 0)
    assert found.people.tolist() == [[30, 30], [8, 1], [1, 6]] and found.total == 76
    assert found.doubted_then == 4 and found.doubted_now == 7
    assert found.given_up == pytest.approx(8 * 0.1 - 1 * 0.1 - 1 * 0.2 + 6 * 0.4)
    assert exposure(cohorts, then, np.full(3, np.nan), means, 1).doubted_now == 0
