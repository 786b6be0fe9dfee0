"""Sums over groups of the last axis."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fairarm.core.types import IntArray

Number = TypeVar("Number", np.float64, np.int64)


def sum_by_group(values: NDArray[Number], group: IntArray, groups: int) -> NDArray[Number]:
    """Σ over the entries i of the last axis with group[i] = g, (..., groups) for values (..., I)."""
    if groups == len(group) and np.array_equal(group, np.arange(groups)):
        return values
    out = np.zeros((groups, *values.shape[:-1]), dtype=values.dtype)
    np.add.at(out, group, np.moveaxis(values, -1, 0))
    return np.ascontiguousarray(np.moveaxis(out, 0, -1))
