"""Special functions without scipy.special at the start: loading it takes a third of a cold command's time.

log Γ, which every run needs, is computed here. The others are scipy's, imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairarm.core.types import FloatArray
from fairarm.late import late_names

if TYPE_CHECKING:
    from scipy.special import betaln, logsumexp, stdtrit, xlogy

__all__ = ["betaln", "log_gamma", "logsumexp", "stdtrit", "xlogy"]

__getattr__ = late_names(__name__, {"scipy.special": ("betaln", "logsumexp", "stdtrit", "xlogy")})

SHIFT = 8
"""Stirling's series is used from here on; below, Γ(x) = Γ(x + 8) / (x (x + 1) … (x + 7))."""

STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
"""B_2j / (2j (2j − 1)), j = 1 …: the first term left out is below 1e-15 at 8."""


def log_gamma(x: FloatArray) -> FloatArray:
    """log Γ(x) for finite x > 0, off by at most 2e-14 or 2e-14 of itself; +inf at 0."""
    low = x < SHIFT
    # the product is made everywhere, which is faster, and taken where x is small
    with np.errstate(over="ignore"):
        product, factor = x * (x + 1.0), x + 1.0
        for _ in range(2, SHIFT):
            factor += 1.0
            product *= factor
    z = np.where(low, x + SHIFT, x)
    square = 1.0 / z**2
    series = np.full_like(z, STIRLING[-1])
    for term in reversed(STIRLING[:-1]):
        series *= square
        series += term
    with np.errstate(divide="ignore"):
        return np.asarray(
            (z - 0.5) * np.log(z) - z + 0.5 * np.log(2 * np.pi) + series / z - np.log(np.where(low, product, 1.0))
        )
