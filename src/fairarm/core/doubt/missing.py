"""Unknown outcomes: what a cell's mean can be, whatever they are, and how many are missing in the long run.

    (1 − π) θ + π l  ≤  E[Y' | c]  ≤  (1 − π) θ + π u,      θ the mean of the outcomes that came, π the share of unknown ones

A missing outcome lies between l = 0 and u = 1. Where a decision was avoided π = 1, and the mean lies where those of other cells do.

Axes: D draws, C cells.
"""

from __future__ import annotations

import numpy as np

from fairarm.core.doubt.box import Box
from fairarm.core.types import FloatArray, IntArray

ANY = Box(np.zeros(1), np.ones(1))
"""The range of outcomes."""

PRIOR_ROWS = 1.0
"""Rows that the prior of a cell's missing share counts; its mean is the share in all cells."""


def missing_box(theta: FloatArray, share: FloatArray, ends: Box = ANY) -> Box:
    """Of means θ and unknown shares π, (..., C) each, on the scale of Y'; ``ends`` l and u, (C,)."""
    came = (1.0 - share) * theta
    return Box(came + share * ends.low, came + share * ends.high)  # (D1)


def draw_missing(missing: IntArray, rows: IntArray, draws: int, rng: np.random.Generator) -> FloatArray:
    """π of every cell, (D, C), from rows without an outcome and all rows, (C,) each; exactly 0 where no row at all lacks one."""
    if not missing.any():
        return np.zeros((draws, len(missing)))
    overall = missing.sum() / rows.sum()
    a, b = missing + PRIOR_ROWS * overall, rows - missing + PRIOR_ROWS * (1.0 - overall)
    return np.asarray(rng.beta(a, np.maximum(b, 1e-12), (draws, len(missing))))
