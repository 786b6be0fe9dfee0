"""Importance weights and the paper's dropped-weight means (paper, eqs. 1, 3 and 4).

An *observation* is a row, or a cell with a multiplicity: nothing here knows which. Observation i was made by
pulling arm ``arm[i]``; its weight for every arm k comes from the likelihoods L[k, t] of ``fairarm.problem.likelihood``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fairarm.core.types import FloatArray, IntArray

ClipBase = Literal["2", "e"]


def outcome_weights(log_L_own: FloatArray, log_L_pulled: FloatArray) -> FloatArray:
    """r_kj = L[k, t] / L[j, t] of each observation.

    ``log_L_own`` (K, I) is log L[k, t_i], ``log_L_pulled`` (I,) is log L[j_i, t_i]. A numerator of 0 gives 0
    (also 0/0); an observation that its own arm cannot produce gives 0 as well (its pair is skipped by the
    divergence, which is +inf there).
    """
    with np.errstate(over="ignore", invalid="ignore"):
        ratio = np.exp(log_L_own - log_L_pulled)  # (A4)
    if np.isneginf(log_L_pulled).any():
        ratio = np.where(np.isneginf(log_L_pulled), 0.0, ratio)
    return np.asarray(ratio)


def gap_weights(log_L_to: FloatArray, log_L_from: FloatArray, log_L_pulled: FloatArray) -> FloatArray:
    """g_kj^{t,u} = (L[k, t] − L[k, u]) / L[j, u] of each observation made with S = u.

    ``log_L_to`` (K, I) is log L[k, t], ``log_L_from`` (K, I) is log L[k, u], ``log_L_pulled`` (I,) is log L[j_i, u].
    Right also where V is a child of S, unlike (P_k/P_j)(P_t/P_u − 1).
    """
    to, given = outcome_weights(log_L_to, log_L_pulled), outcome_weights(log_L_from, log_L_pulled)
    with np.errstate(invalid="ignore"):
        weight = to - given  # (A5)
    beyond = np.isnan(weight)
    if beyond.any():  # both ratios are past 1e308: only their order is known
        order = np.where(log_L_to > log_L_from, np.inf, -np.inf)
        weight[beyond] = np.where(log_L_to == log_L_from, 0.0, order)[beyond]
    return weight


def drop_threshold(divergence: FloatArray, phase: int, base: ClipBase = "2") -> FloatArray:
    """2 log(2/ε) M with ε = 2^{−(l−1)}: 2 l M for logarithms of base 2, 2 l ln 2 · M for base e."""
    return 2.0 * phase * (1.0 if base == "2" else math.log(2.0)) * divergence


@dataclass(frozen=True)
class Terms:
    """Observations with their weights: ``weight`` (K, I), ``arm`` (I,) that was pulled, ``outcome_sum`` (..., I).

    ``outcome_sum`` is the sum of the scaled outcomes Y' over the rows that an observation stands for.
    """

    weight: FloatArray
    arm: IntArray
    outcome_sum: FloatArray


def dropped_mean(
    blocks: Iterable[Terms], pulls: IntArray, divergence: FloatArray, phase: int, base: ClipBase = "2"
) -> FloatArray:
    """The paper's estimator of an outcome (weights r, divergence M) or of a gap (weights g, divergence D).

        (1/Z_k) Σ_i (1/M_kj) y_i w_ki · 1{ |w_ki| ≤ 2 l M_kj },     Z_k = Σ_j pulls_j / M_kj,     j = arm[i]

    Weights beyond the threshold are dropped, not capped. ``pulls`` (..., K) counts every pull, usable or not;
    ``divergence`` (K, K). Returns (..., K); nan where Z_k = 0: an estimate that is *undefined*, never 0.
    """
    total = np.zeros((*pulls.shape[:-1], len(divergence)))
    for block in blocks:
        pair = divergence[:, block.arm]
        kept = np.abs(block.weight) <= drop_threshold(pair, phase, base)  # the indicator of (A11) and (A12)
        if np.isinf(pair).any():  # pairs without overlap are skipped
            kept &= np.isfinite(pair)
        total += block.outcome_sum @ (np.where(kept, block.weight, 0.0) / pair).T
    # Z_k of (A11), O_k of (A12): every pull counts, also one whose weight was dropped: it counts as 0
    size = pulls @ (1.0 / divergence).T
    return np.divide(total, size, out=np.full_like(total, np.nan), where=size > 0)
