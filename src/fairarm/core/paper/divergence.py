"""Divergences between arms: how much a pull of arm j tells about arm k (paper, section 4).

Both of the paper's divergences are one function of three arrays: a law over cells, a numerator and a denominator.
Arrays are linear, not logarithms, but may carry any positive factor per cell: only ratios at a cell count, so
callers scale each cell by its largest likelihood and nothing underflows before its ratio passes 1e300.
"""

from __future__ import annotations

import numpy as np

from fairarm.core.types import BoolArray, FloatArray

BLOCK = 1 << 16
"""Elements of the K × J × C product held at once: half a megabyte, so that it stays in cache."""

_EXP_SAFE = 700.0
_RATIO_LIMIT = 1e300


def exponential_divergence(law: FloatArray, numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """log Σ_c law_k(c) · exp( |numerator_k(c)| / denominator_j(c) ), shape (K, J).

    ``law`` (K, C), ``numerator`` (K, C), ``denominator`` (J, C). Cells with law 0 (or below 1e-308) do not count. 0/0 is 0;
    anything else over 0 makes the entry +inf (no overlap). One logsumexp: the literal formula overflows at ratio 700.

    M_kj        = log E_k exp(r_kj):                 law = arm k with natural S,      numerator L[k, t], denominator L[j, t]
    D_kj^{t,u}  = log(E_{k,t} + E_{k,u}) exp|g_kj|:  law = p_{k,t} + p_{k,u},         numerator L[k, t] − L[k, u], denominator L[j, u]
    """
    # (A6) and (A7): a cell outside of the law's support must not count, whatever its ratio
    numerator = np.where(law > 0, np.abs(numerator), 0.0)
    zero: BoolArray = denominator <= 0
    with np.errstate(divide="ignore", over="ignore"):
        inverse = np.where(zero, 0.0, np.minimum(1.0 / denominator, np.finfo(np.float64).max))  # 0 times it is 0
    out = np.empty((len(law), len(denominator)))
    wide = max(1, BLOCK // max(1, law.shape[1]))
    tall = max(1, wide // len(denominator))
    for k in range(0, len(law), tall):
        for j in range(0, len(denominator), wide):
            out[k : k + tall, j : j + wide] = _log_weighted_exp(
                law[k : k + tall], numerator[k : k + tall, None, :] * inverse[None, j : j + wide]
            )
    out[no_overlap(law, numerator, denominator)] = np.inf
    return out


def _log_weighted_exp(law: FloatArray, exponent: FloatArray) -> FloatArray:
    """log Σ_c law[k, c] exp(exponent[k, j, c]); overwrites ``exponent``."""
    # the shift costs a pass over K × J × C numbers: it is made only where exp would overflow without it
    peak = exponent.max(axis=2)
    shift = np.zeros_like(peak) if peak.max() <= _EXP_SAFE else peak
    with np.errstate(invalid="ignore", divide="ignore"):
        if peak.max() > _EXP_SAFE:
            exponent -= shift[:, :, None]
        np.exp(exponent, out=exponent)
        value = shift + np.log(np.matmul(exponent, law[:, :, None])[:, :, 0])
    return np.where(peak > _RATIO_LIMIT, np.inf, value)


def no_overlap(law: FloatArray, numerator: FloatArray, denominator: FloatArray) -> BoolArray:
    """(K, J): some cell with law_k > 0 has a numerator that is not 0 over a denominator that is."""
    # "some cell where both hold" as a product of matrices: no array of K × J × C, and float32 is quick and exact in its sign
    needs = ((law > 0) & (numerator != 0)).astype(np.float32)
    lacks = (denominator <= 0).astype(np.float32)
    return np.asarray(needs @ lacks.T > 0)
