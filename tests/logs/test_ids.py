"""Ids as numbers: one id, one number, however it is held; and no pattern of ids is a pattern of numbers."""

from __future__ import annotations

import numpy as np
import pytest

from fairarm.logs.ids import tickets


def test_an_id_has_one_number_however_it_is_held() -> None:
    whole = tickets(np.array([0, 7, -12, 2**40]))
    assert whole is not None
    for held in ([0.0, 7.0, -12.0, float(2**40)], ["0", "7", "-12", str(2**40)], [0, "7", -12.0, 2**40]):
        values = np.array(held, dtype=object if not isinstance(held[0], float) else None)
        assert np.array_equal(tickets(values), whole)  # type: ignore[arg-type]
    text = tickets(np.array(["u-1", "u-2", "u-1 "], dtype=object))
    assert text is not None and text[0] == text[2] != text[1]


@pytest.mark.parametrize("held", [[1, None], ["a", ""], [1.0, np.nan]])
def test_a_missing_id_leaves_none(held: list[object]) -> None:
    assert tickets(np.array(held, dtype=object)) is None
    assert tickets(np.array([1.0, np.nan])) is None


@pytest.mark.parametrize("step", [1, 2, 5, 10, 1 << 20])
def test_numbers_of_ids_in_a_pattern_are_spread_evenly(step: int) -> None:
    """Over the remainders by 5, which choose the pilot, and by 2 of a fifth, which halve it: within 5 standard errors."""
    found = tickets(step * np.arange(50_000))
    assert found is not None
    for part in (found % np.uint64(5), found // np.uint64(5) % np.uint64(2)):
        counts = np.bincount(part.astype(np.int64))
        assert np.all(np.abs(counts - 50_000 / len(counts)) < 5 * np.sqrt(50_000 / len(counts)))
