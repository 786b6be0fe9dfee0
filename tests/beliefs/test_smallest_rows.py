"""The rows with the smallest keys: against sorting all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairarm.beliefs.smallest_rows import SmallestRows


@pytest.mark.parametrize("distinct", [True, False])
@settings(max_examples=100, deadline=None)
@given(
    most=st.integers(1, 12),
    keys=st.lists(st.integers(0, 60) | st.integers(0, 2**64 - 1), max_size=80),
    parts=st.integers(1, 6),
    merged=st.booleans(),
)
def test_the_smallest_of_all_are_kept(distinct: bool, most: int, keys: list[int], parts: int, merged: bool) -> None:
    """Keys that come often, and those that come once; added part by part, or merged."""
    rows = [(key, i, 1 + i % 3) for i, key in enumerate(keys)]
    found = SmallestRows(most, distinct)
    for at in np.array_split(np.arange(len(rows)), parts):
        key = np.array([rows[i][0] for i in at], dtype=np.uint64)
        more = {"value": key % np.uint64(7), "count": np.array([rows[i][2] for i in at], dtype=np.int64), "tie": at}
        if merged:
            part = SmallestRows(most, distinct)
            part.add(key, more)
            found.merge(part)
        else:
            found.add(key, more)
    kept = found.rows
    if not rows:
        assert kept == {}
    elif distinct:
        smallest = sorted({*keys})[:most]
        assert kept["key"].tolist() == smallest
        assert kept["count"].tolist() == [sum(n for other, _, n in rows if other == key) for key in smallest]
        assert kept["value"].tolist() == [key % 7 for key in smallest]
    else:
        assert (
            list(zip(kept["key"].tolist(), kept["tie"].tolist(), strict=True))
            == [(k, i) for k, i, _ in sorted(rows)][:most]
        )
