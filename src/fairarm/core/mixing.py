"""Numbers that look drawn at random and are the same wherever they are computed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One step of splitmix64: a bijection of 64-bit numbers after which any bit depends on all bits."""
    x = np.asarray(x + np.uint64(0x9E3779B97F4A7C15))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x ^= x >> np.uint64(shift)
        x *= np.uint64(factor)
    x ^= x >> np.uint64(31)
    return x
