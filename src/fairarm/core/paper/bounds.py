"""The paper's two theorems as numbers (paper, section 4.2 and appendix; logarithms of base 2).

Both bounds are loose: theorem 1 reaches 0.1 only at 10^12 pulls or more in the paper's own settings. They are there
to be shown next to a simulated error, not to plan with.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from fairarm.core.paper.schedule import log_bar, phase_count
from fairarm.core.types import BoolArray, FloatArray

Value = Callable[[BoolArray], float]
"""v*(B, R) of a set of arms R, given as a mask (K,)."""


def _ceil_log(x: float) -> float:
    return float(math.ceil(math.log2(x)))


def _floor_log(x: float) -> float:
    return float(math.floor(math.log2(x)))


def beyond_ends(gaps: FloatArray, below: FloatArray | float, above: FloatArray | float | None = None) -> FloatArray:
    """How far the worst gap of each arm is beyond its end, (K,); below 0 where all are inside: the arm is fair.

        max_j max( ζ_kj − below_j, above_j − ζ_kj ),      |ζ_k| − E for one gap with the ends ∓E

    ``gaps`` ζ' (K, J), or (K,) where there is one; ends (J,) or one for all, ``above`` −below where it is not given.
    """
    values = gaps.reshape(len(gaps), -1)
    low = -np.asarray(below) if above is None else np.asarray(above)
    return np.asarray(np.maximum(values - below, low - values).max(axis=1))


def fair_from_phase(tolerance: float, best_gap: float, printed: bool = False) -> float:
    """l_0 = ⌊log(6/(E − |ζ_*|))⌋ + 1: from this phase on the best fair arm should be in F.

    ``printed``: with 5 in place of 6, as in the paper, where the lemma's exponent is not proved.
    """
    return _floor_log((5.0 if printed else 6.0) / (tolerance - abs(best_gap))) + 1  # (A17)


def rejection_phases(
    outcomes: FloatArray,
    gaps: FloatArray,
    below: FloatArray | float,
    best: int,
    printed: bool = False,
    above: FloatArray | float | None = None,
) -> FloatArray:
    """ρ_k: the phase by which each arm should have been rejected, (K,); +inf for the best fair arm.

        SO_k = ⌈log(10/Δ_k)⌉ (Δ_k > 0),  F_k = ⌊log(6/(|ζ_k| − E))⌋ + 1 (|ζ_k| > E)
        ρ_k = min{ max(SO_k, l_0), F_k }

    ``outcomes`` μ' (K,), gaps and ends as `beyond_ends` takes them, on the scale of Y' in [0, 1].
    """
    beyond = beyond_ends(gaps, below, above)
    l_0 = fair_from_phase(-float(beyond[best]), 0.0, printed)
    rho = np.full(len(outcomes), np.inf)
    for k in range(len(outcomes)):
        if k == best:
            continue
        delta = float(outcomes[best] - outcomes[k])
        excess = float(beyond[k])
        # (A18); SO_k waits for l_0, since nothing is rejected as worse before * is in F
        worse = max(_ceil_log(10.0 / delta), l_0) if delta > 0 else np.inf
        unfair = _floor_log(6.0 / excess) + 1 if excess > 0 else np.inf
        rho[k] = min(worse, unfair)  # (A19)
    return rho


def error_bound(
    outcomes: FloatArray,
    gaps: FloatArray,
    below: FloatArray | float,
    best: int,
    pulls: int,
    value: Value,
    above: FloatArray | float | None = None,
) -> float:
    """Theorem 1: P(error of CSR-V1) ≤ 8 K² ρ* exp(−T / (8 H̄ loḡ(n(T)))), clipped to 1.

    H̄ = max_{k≠*} ρ_k³ / (2^{−2ρ_k} v*(B, R*(k))²),  R*(k) = {a : ρ_a ≥ ρ_k}. Reports 1 where the theorem does
    not apply: K = 1, a gap at or below 10/√T, or an arm exactly on the tolerance. It is about two estimators an arm, both
    directions of one gap: with more the caller has no bound.
    """
    K = len(outcomes)
    others = np.arange(K) != best
    delta = outcomes[best] - outcomes
    excess = beyond_ends(gaps, below, above)
    worse, unfair = others & (delta > 0), excess > 0
    needed = np.concatenate([delta[worse], excess[unfair], [-excess[best]]])
    if K == 1 or np.any(needed <= 10.0 / math.sqrt(pulls)) or np.any(others & ~worse & ~unfair):
        return 1.0
    rho = rejection_phases(outcomes, gaps, below, best, above=above)
    logs = [fair_from_phase(-float(excess[best]), 0.0)]
    logs += [math.log2(20.0 / float(delta[worse].min()))] if worse.any() else []
    logs += [math.log2(12.0 / float(excess[unfair].min()))] if unfair.any() else []
    # v* of the arms still there when k should go: R*(k)
    values = {k: value(rho >= rho[k]) for k in range(K) if k != best}
    if min(values.values()) <= 0:
        return 1.0
    # (A20): H̄, and the bound with it
    hardness = max(rho[k] ** 3 * 2.0 ** (2 * rho[k]) / v**2 for k, v in values.items())
    exponent = -pulls / (8.0 * hardness * log_bar(phase_count(pulls)))
    return float(min(1.0, 8.0 * K * K * max(logs) * math.exp(exponent)))


def no_fair_arm_bound(
    gaps: FloatArray,
    below: FloatArray | float,
    pulls: int,
    value: float,
    above: FloatArray | float | None = None,
    estimators: int = 2,
) -> float:
    """Theorem 2: where no arm is fair, P(declare none) ≥ 1 − 2 e K n exp(−ξ*² T v*² / (32 n³ loḡ(n))), clipped to [0, 1].

    e is the number of ``estimators`` an arm, 2 for both directions of one gap; ξ* = min_k max_j of what the gaps are beyond
    their ends, n = n(T), and ``value`` = v*(B, all arms), the smallest over subsets since v* falls as R grows. 0 where some
    arm is fair: the theorem says nothing then. Gaps and ends as `beyond_ends` takes them.
    """
    xi = float(np.min(beyond_ends(gaps, below, above)))
    if xi < 0:
        return 0.0
    n = phase_count(pulls)
    # (A21)
    exponent = -(xi**2) * pulls * value**2 / (32.0 * n**3 * log_bar(n))
    return float(np.clip(1.0 - 2.0 * estimators * len(gaps) * n * math.exp(exponent), 0.0, 1.0))
