"""The sets F (safely fair) and R (not yet rejected) of successive rejection (paper, algorithm 1).

All arrays have any leading axes and K last; gaps have the P ordered pairs of groups (t, u) just before K: for two groups
s and s' both directions of their one gap. Each pair has its ends, above < ζ^{t,u} < below, as numbers (P,) or one for all
of them; where only ``below`` is given, that is the tolerance: |ζ| < below. Radii are 3/2^l for gaps and 5/2^l for outcomes,
on the scale of Y' in [0, 1]. Undefined estimates are nan: such an arm is not in F, is not rejected by them, and cannot set
the highest outcome.
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


def safely_fair(
    gaps: FloatArray, phase: int, below: FloatArray | float, above: FloatArray | float | None = None
) -> BoolArray:
    """F: every ζ̂ lies inside its ends, 3/2^l away from them; |ζ̂| + 3/2^l < E where they are ∓E. (..., P, K) -> (..., K)."""
    low, high = _ends(below, above)
    # (A13)
    return np.asarray(np.all((gaps - gap_radius(phase) > low) & (gaps + gap_radius(phase) < high), axis=-2))


def surely_unfair(
    gaps: FloatArray, phase: int, below: FloatArray | float, above: FloatArray | float | None = None
) -> BoolArray:
    """Some ζ̂ is more than 3/2^l beyond an end; |ζ̂| − 3/2^l > E where they are ∓E. (..., P, K) -> (..., K)."""
    low, high = _ends(below, above)
    # (A15)
    return np.asarray(np.any((gaps - gap_radius(phase) > high) | (gaps + gap_radius(phase) < low), axis=-2))


def _ends(below: FloatArray | float, above: FloatArray | float | None) -> tuple[FloatArray, FloatArray]:
    """Above and below, (P, 1) or (1,)."""
    high = np.asarray(below, dtype=np.float64)
    low = -high if above is None else np.asarray(above, dtype=np.float64)
    return low[..., None], high[..., None]


def highest(outcomes: FloatArray, candidates: BoolArray) -> FloatArray:
    """Ŷ_H: the largest defined outcome among the candidates, (..., K) -> (...,); −inf where there is none."""
    return np.asarray(np.max(np.where(candidates & ~np.isnan(outcomes), outcomes, -np.inf), axis=-1))


def surely_worse(outcomes: FloatArray, candidates: BoolArray, phase: int) -> BoolArray:
    """Ŷ_H > Ŷ_k + 5/2^l, with Ŷ_H over the candidates. (..., K) -> (..., K)."""
    return highest(outcomes, candidates)[..., None] > outcomes + outcome_radius(phase)  # (A14)
