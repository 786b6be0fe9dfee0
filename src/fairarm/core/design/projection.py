"""The shortest move of the cell means that meets two linear conditions at once, from inner products alone.

It is how far the truth must move before an answer changes: one row where an arm overtakes another or crosses the
tolerance, two where a worse and unfair arm has to do both (the alternatives of the limit, the events of a design).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fairarm.core.types import FloatArray

_COLLINEAR = 1e-12
"""Rows with 1 − ρ² below this are collinear: G carries 16 digits, and 1 − ρ² has lost all but a few of them there."""
_FAR = 1e140


def project(
    G11: ArrayLike, G12: ArrayLike, G22: ArrayLike, g1: ArrayLike, g2: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Γ, λ1, λ2 of  min ½ Σ_c n_c δ_c²/v_c  subject to  a_1·δ ≥ g_1  and  a_2·δ ≥ g_2,
    with G_ij = Σ_c a_ic a_jc v_c / n_c.

        Γ = max over λ ≥ 0 of  λ·g − ½ λᵀGλ,        the move itself is  δ_c = (v_c / n_c)(λ_1 a_1c + λ_2 a_2c)

    Five arrays that broadcast, three of the common shape; one row alone: G12 = G22 = 0, g2 = 0. A row with g ≤ 0 holds
    already and binds only if the other one would break it. In units of each row's length, h_i = g_i / √G_ii and
    ρ = G_12 / √(G_11 G_22), both rows bind exactly where h_1 > ρ h_2 and h_2 > ρ h_1.

    Edges. No way to meet the rows: Γ = +inf (G = 0 with g > 0; opposite rows that exclude each other), and so is λ of
    the rows that cannot be met, 0 the other. G_ii = inf: some cell that the row uses was never seen, the row is met at
    no cost, λ_i = 0 and G12 is not looked at. With both infinite Γ = 0, which is exact unless the two rows pull the
    unseen cells in opposite directions: G does not tell, so leave such cells out first. Collinear rows
    (1 − ρ² < 1e-12): the stricter one alone.
    """
    G11, G12, G22, g1, g2 = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (G11, G12, G22, g1, g2)))
    # rows are measured in their own lengths: products of raw entries of G would over- and underflow long before Γ does
    length1, length2 = _length(G11), _length(G22)
    stuck1, stuck2 = (G11 == 0) & (g1 > 0), (G22 == 0) & (g2 > 0)
    h1, h2 = _in_lengths(g1, length1), _in_lengths(g2, length2)
    rho = np.clip(_divide(_divide(G12, length1), length2), -1.0, 1.0)
    det = (1.0 - rho) * (1.0 + rho)  # not 1 − ρ²: that cancels where the rows are nearly collinear
    collinear = det < _COLLINEAR
    both = ~collinear & (h1 > rho * h2) & (h2 > rho * h1)
    det = np.where(both, det, 1.0)
    # both bind: G λ = g solved for both; else the row that asks for more binds alone, and meets the other on its way
    l1 = np.where(both, (h1 - rho * h2) / det, np.where(h1 >= h2, h1, 0.0).clip(0.0))
    l2 = np.where(both, (h2 - rho * h1) / det, np.where(h2 > h1, h2, 0.0).clip(0.0))
    value = 0.5 * (l1 * h1 + l2 * h2)  # (P4): λ·g = λᵀGλ at the optimum
    # opposite rows ask for a·δ ≥ h1 and a·δ ≤ −h2: impossible where h1 > −h2
    exclude = collinear & (rho < 0) & (h1 + h2 > _COLLINEAR * (np.abs(h1) + np.abs(h2)))
    nowhere = exclude | stuck1 | stuck2
    lam1 = np.where(exclude | stuck1, np.inf, np.where(nowhere, 0.0, _divide(l1, length1)))
    lam2 = np.where(exclude | stuck2, np.inf, np.where(nowhere, 0.0, _divide(l2, length2)))
    return np.where(nowhere, np.inf, value), lam1, lam2


def _length(G: FloatArray) -> FloatArray:
    """√G; 0 for a row that takes no part, since it cannot move (G = 0) or is met at no cost (G = inf)."""
    return np.sqrt(np.where(np.isfinite(G), G, 0.0))


def _in_lengths(g: FloatArray, length: FloatArray) -> FloatArray:
    """g / √G, kept below 1e140: a move so long is as good as impossible, and its square is still a number."""
    with np.errstate(over="ignore"):
        return np.clip(_divide(g, length), -_FAR, _FAR)


def _divide(x: FloatArray, length: FloatArray) -> FloatArray:
    """x / length, 0 where the row takes no part."""
    return np.divide(x, length, out=np.zeros(x.shape), where=length > 0)
