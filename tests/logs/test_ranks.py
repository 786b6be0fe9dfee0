"""Values of given ranks are those of a full sort, whatever the values are like."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairarm.logs.ranks import PIECE, ranked

RNG = np.random.default_rng(3)
N = 2 * PIECE + 77
KINDS: dict[str, Any] = {
    "by hand": np.array([5, 1, 4]),
    "one": np.array([7]),
    "all the same": np.full(100, -3),
    "spread": RNG.integers(0, 10**9, N),
    "ties": RNG.integers(-5, 5, N),
    "an outlier": np.append(RNG.integers(0, 50, N), 1 << 60),
    "the whole range": np.append(RNG.integers(-100, 100, 500), [-(1 << 63), (1 << 63) - 1]),
    "in order": np.arange(N),
    "times": RNG.integers(0, 10**15, N).astype("datetime64[us]"),
    "doubles": RNG.normal(size=N),
    "text": RNG.integers(0, 10**6, 500).astype(str),
}


@pytest.mark.parametrize("kind", KINDS)
def test_ranks_are_those_of_a_sort(kind: str) -> None:
    values = KINDS[kind]
    n = len(values)
    at = np.unique(np.array([0, n // 7, n // 2, n // 2 + 1 if n > 2 else 0, n - 1]))
    at = np.append(at, [n - 1, 0])  # twice, and in no order
    before = values.copy()
    assert ranked(values, at).tolist() == np.sort(values)[at].tolist()
    assert np.array_equal(values, before)
    some = values[:400]
    assert ranked(some, np.arange(len(some))).tolist() == np.sort(some).tolist()
