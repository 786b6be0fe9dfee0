"""Missing outcomes: what a cell's mean can be, whatever the missing ones are, and how many are missing in the long run.

    (1 − π) θ  ≤  E[Y' | c]  ≤  (1 − π) θ + π,      θ the mean of the outcomes that came, π the share of those that did not

Axes: D draws, C cells.
"""

from __future__ import annotations

import numpy as np

from fairarm.core.doubt.box import Box
from fairarm.core.types import FloatArray, IntArray

PRIOR_ROWS = 1.0
"""Rows that the prior of a cell's missing share counts; its mean is the share in all cells."""


def missing_box(theta: FloatArray, share: FloatArray) -> Box:
    """Of means θ and missing shares π, (..., C) each, on the scale of Y'."""
    came = (1.0 - share) * theta
    return Box(came, came + share)  # (D1)


def draw_missing(missing: IntArray, rows: IntArray, draws: int, rng: np.random.Generator) -> FloatArray:
    """π of every cell, (D, C), from rows without an outcome and all rows, (C,) each; exactly 0 where no row at all lacks one."""
    if not missing.any():
        return np.zeros((draws, len(missing)))
    overall = missing.sum() / rows.sum()
    a, b = missing + PRIOR_ROWS * overall, rows - missing + PRIOR_ROWS * (1.0 - overall)
    return np.asarray(rng.beta(a, np.maximum(b, 1e-12), (draws, len(missing))))
