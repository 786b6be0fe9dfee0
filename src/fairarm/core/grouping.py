"""Sums and moments over groups of the last axis."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fairarm.core.types import FloatArray, IntArray

Number = TypeVar("Number", np.float64, np.int64)


def sum_by_group(values: NDArray[Number], group: IntArray, groups: int) -> NDArray[Number]:
    """Σ over the entries i of the last axis with group[i] = g, (..., groups) for values (..., I)."""
    if groups == len(group) and np.array_equal(group, np.arange(groups)):
        return values
    out = np.zeros((groups, *values.shape[:-1]), dtype=values.dtype)
    np.add.at(out, group, np.moveaxis(values, -1, 0))
    return np.ascontiguousarray(np.moveaxis(out, 0, -1))


def moments_by_group(moments: FloatArray, group: IntArray, groups: int) -> FloatArray:
    """Rows n, Σ y, Σ (y − ȳ)² and Σ (y − ȳ)³ of each group, (4, ..., groups), from those of its entries, (4, ..., I).

    Moments around the mean are accurate wherever the values lie; those around 0 cancel where the mean is large.
    """
    rows, sums, within, third = moments
    total, total_sums = (sum_by_group(part, group, groups) for part in (rows, sums))
    own, of_group = (np.divide(s, n, out=np.zeros_like(s), where=n > 0) for s, n in ((sums, rows), (total_sums, total)))
    away = own - of_group[..., group]
    second = sum_by_group(within + rows * away**2, group, groups)
    return np.stack(
        [total, total_sums, second, sum_by_group(third + 3 * away * within + rows * away**3, group, groups)]
    )
