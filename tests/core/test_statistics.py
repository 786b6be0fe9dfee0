"""Wilson's interval against scipy's."""

from __future__ import annotations

import pytest
from scipy.stats import binomtest, norm

from fairarm.core.statistics import wilson_interval


@pytest.mark.parametrize("trials", [1, 2, 3, 10, 97, 300, 10**6])
def test_against_scipy(trials: int) -> None:
    for successes in sorted({0, 1, trials // 3, trials // 2, trials - 1, trials}):
        expected = binomtest(successes, trials).proportion_ci(0.95, method="wilson")
        low, high = wilson_interval(successes, trials)
        assert low == pytest.approx(expected.low, abs=1e-12)
        assert high == pytest.approx(expected.high, abs=1e-12)
        assert 0 <= low <= successes / trials <= high <= 1


@pytest.mark.parametrize("level", [0.5, 0.9, 0.999])
def test_other_levels(level: float) -> None:
    expected = binomtest(7, 40).proportion_ci(level, method="wilson")
    assert wilson_interval(7, 40, z=norm.ppf(0.5 + level / 2)) == pytest.approx(
        (expected.low, expected.high), abs=1e-12
    )


def test_by_hand() -> None:
    """1 of 1 with z = 1: centre 1 + 1/2, half √(1/4), scale 2: (0.5, 1)."""
    assert wilson_interval(1, 1, z=1.0) == (0.5, 1.0)
    assert wilson_interval(0, 1, z=1.0) == (0.0, 0.5)


def test_all_or_nothing_reaches_the_end_exactly() -> None:
    for trials in range(1, 400):
        assert wilson_interval(0, trials)[0] == 0.0
        assert wilson_interval(trials, trials)[1] == 1.0


def test_without_trials_nothing_is_known() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)
