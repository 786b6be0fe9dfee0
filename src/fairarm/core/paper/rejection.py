"""The sets F (safely fair) and R (not yet rejected) of successive rejection (paper, algorithm 1).

All arrays have any leading axes and K last; gaps have the two directions just before K. Radii are 3/2^l for gaps
and 5/2^l for outcomes, on the scale of Y' in [0, 1]. Undefined estimates are nan: such an arm is not in F,
is not rejected, and cannot set the highest outcome.
"""

from __future__ import annotations

import numpy as np

from fairarm.core.types import BoolArray, FloatArray


def gap_radius(phase: int) -> float:
    """3 / 2^l."""
    return 3.0 / 2.0**phase


def first_phase_below(tolerance: float) -> int:
    """The smallest l with 3/2^l < E: an arm whose estimated gap is 0 is in F from this phase on."""
    phase = 1
    while gap_radius(phase) >= tolerance:
        phase += 1
    return phase


def outcome_radius(phase: int) -> float:
    """5 / 2^l."""
    return 5.0 / 2.0**phase


def safely_fair(gaps: FloatArray, phase: int, tolerance: float) -> BoolArray:
    """F: |ζ̂| + 3/2^l < E in both directions. ``gaps`` (..., 2, K) -> (..., K)."""
    return np.asarray(np.all(np.abs(gaps) + gap_radius(phase) < tolerance, axis=-2))  # (A13)


def surely_unfair(gaps: FloatArray, phase: int, tolerance: float) -> BoolArray:
    """|ζ̂| − 3/2^l > E in either direction. ``gaps`` (..., 2, K) -> (..., K)."""
    return np.asarray(np.any(np.abs(gaps) - gap_radius(phase) > tolerance, axis=-2))  # (A15)


def highest(outcomes: FloatArray, candidates: BoolArray) -> FloatArray:
    """Ŷ_H: the largest defined outcome among the candidates, (..., K) -> (...,); −inf where there is none."""
    return np.asarray(np.max(np.where(candidates & ~np.isnan(outcomes), outcomes, -np.inf), axis=-1))


def surely_worse(outcomes: FloatArray, candidates: BoolArray, phase: int) -> BoolArray:
    """Ŷ_H > Ŷ_k + 5/2^l, with Ŷ_H over the candidates. (..., K) -> (..., K)."""
    return highest(outcomes, candidates)[..., None] > outcomes + outcome_radius(phase)  # (A14)
