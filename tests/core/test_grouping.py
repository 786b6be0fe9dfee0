"""Sums over groups, against a loop."""

from __future__ import annotations

import numpy as np
import pytest

from fairarm.core.grouping import sum_by_group


@pytest.mark.parametrize("kind", [np.int64, np.float64])
@pytest.mark.parametrize("lead", [(), (3,), (2, 4)])
def test_sums_are_those_of_a_loop(kind: type, lead: tuple[int, ...]) -> None:
    """Groups in any order, some repeated, some empty."""
    rng = np.random.default_rng(1)
    values = rng.integers(-5, 9, size=(*lead, 7)).astype(kind)
    group = np.array([4, 0, 4, 2, 0, 4, 5])
    found = sum_by_group(values, group, 7)
    expected = np.zeros((*lead, 7), dtype=kind)
    for i, g in enumerate(group):
        expected[..., g] += values[..., i]
    assert found.dtype == kind
    assert found.flags.c_contiguous
    assert np.array_equal(found, expected)
    assert np.all(found[..., [1, 3, 6]] == 0)


@pytest.mark.parametrize("group", [[0, 1, 2], [2, 1, 0], [0, 0, 0], [1, 2, 0]])
def test_as_many_groups_as_entries(group: list[int]) -> None:
    """One group an entry in order is the values themselves; any other order moves them."""
    values = np.array([[1, 10, 100]])
    expected = [[sum(v for v, g in zip((1, 10, 100), group, strict=True) if g == at) for at in range(3)]]
    assert sum_by_group(values, np.array(group), 3).tolist() == expected


def test_more_groups_than_entries_and_none() -> None:
    assert sum_by_group(np.array([[1, 2]]), np.array([0, 1]), 4).tolist() == [[1, 2, 0, 0]]
    nothing = sum_by_group(np.zeros((2, 0)), np.zeros(0, dtype=np.int64), 3)
    assert nothing.tolist() == [[0.0] * 3] * 2


def test_the_callers_values_are_left_alone() -> None:
    values = np.array([[1, 2, 3]])
    sum_by_group(values, np.array([0, 0, 1]), 2)
    assert values.tolist() == [[1, 2, 3]]
