"""Values of some ranks, without putting the others in order: values are counted by bucket, and only buckets with a rank in them are sorted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.core.types import IntArray

BITS = 12
"""Of a bucket: 4 096 of them over the range of the values."""

PIECE = 1 << 15
"""Values worked on at once, so that they stay in the processor's cache."""


def ranked(values: NDArray[Any], at: IntArray) -> NDArray[Any]:
    """What ``np.sort(values)[at]`` is; numbers or times that are finite, or text."""
    if values.dtype.kind not in "iM":
        return np.asarray(np.partition(values, np.unique(at))[at])
    bucket, rows = _buckets(values.view(np.int64))
    upto = np.cumsum(rows)
    home = np.searchsorted(upto, at, side="right")
    wanted = np.zeros(len(rows), dtype=bool)
    wanted[home] = True
    few = values[wanted[bucket]]
    kept = np.where(wanted, rows, 0)
    skipped = (upto - rows) - (np.cumsum(kept) - kept)  # values of lower buckets that are not among the few
    among = at - skipped[home]
    few.partition(np.unique(among))
    return np.asarray(few[among])


def _buckets(values: NDArray[np.int64]) -> tuple[NDArray[np.uint16], IntArray]:
    """The bucket of each value, which is larger the larger the value is, and how many values each bucket has."""
    low, high = values.min(), values.max()
    shift = np.uint64(max(0, (int(high) - int(low)).bit_length() - BITS))
    bucket, rows = np.empty(len(values), dtype=np.uint16), np.zeros(1 << BITS, dtype=np.int64)
    for start in range(0, len(values), PIECE):
        # without a sign, a difference of two integers of 64 bits always fits
        above = values[start : start + PIECE].view(np.uint64) - low.view(np.uint64)
        bucket[start : start + PIECE] = above >> shift
        rows += np.bincount(bucket[start : start + PIECE], minlength=1 << BITS)
    return bucket, rows
