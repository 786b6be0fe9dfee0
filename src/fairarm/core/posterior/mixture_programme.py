"""The best mixture of arms under several rows at once: a linear programme that keeps each row some standard deviations inside.

    max Σ_k x_k μ̄_k   subject to  Σ_k x_k (s̄_ke − κ sd_ke) ≥ 0 for every end e,  Σ_k x_k = 1,  x ≥ 0

s is the distance inside an end, s̄ and sd its mean and standard deviation over the draws. A vertex of the programme uses at most one
arm more than rows that bind. κ = 0 asks the means alone; the larger κ, the surer the rows. It is chosen by what the draws say of the
mixture that it leads to, so that nothing rests on their being normal. The sd of a mixture is at most the mixture of the sd's: the
programme is careful where arms' rows vary apart, and κ makes up for it.
"""

from __future__ import annotations

import numpy as np

from fairarm.core.fairness import Rows
from fairarm.core.types import FloatArray

Shares = tuple[tuple[int, float], ...]
"""Arms and their weights, which sum to 1."""

MOST_SD, BISECTIONS = 6.0, 20
_STEP = 1e-7
"""Rows are kept this far inside in units of the largest coefficient: an end itself is not fair."""
_NO_SHARE = 1e-9


def best_of_programmes(
    means: FloatArray, values: FloatArray, rows: Rows, needed: int, single: int | None
) -> Shares | None:
    """The best mixture of those that κ leads to in which all rows hold in at least ``needed`` draws; never below ``single``.

    ``means`` μ̄ (K,), ``values`` of rows (D, K, J), ``single``: the best arm alone that has so many. None: nothing has.
    """
    found: Shares | None = None if single is None else ((single, 1.0),)
    best = -np.inf if single is None else float(means[single])
    inside, spread = _ends(values, rows)
    low, high = 0.0, MOST_SD
    for _ in range(BISECTIONS):
        kappa = 0.5 * (low + high)
        x = _vertex(means, inside - kappa * spread)
        if x is None:  # nothing is so far inside
            high = kappa
            continue
        enough = int(rows.fair(np.einsum("k,dkj->dj", x, values)).sum()) >= needed
        low, high = (low, kappa) if enough else (kappa, high)
        if enough and float(means @ x) > best:
            used = sorted(np.flatnonzero(x), key=lambda k: -means[k])
            found, best = tuple((int(k), float(x[k])) for k in used), float(means @ x)
        if not spread.any():  # no κ changes anything
            break
    return found


def _ends(values: FloatArray, rows: Rows) -> tuple[FloatArray, FloatArray]:
    """How far inside each end every arm is on average, and the sd of it: (K, E) each."""
    mean, sd = values.mean(axis=0), values.std(axis=0)
    below, above = np.isfinite(rows.low), np.isfinite(rows.high)
    inside = np.concatenate([(mean - rows.low)[:, below], (rows.high - mean)[:, above]], axis=1)
    return inside, np.concatenate([sd[:, below], sd[:, above]], axis=1)


def _vertex(means: FloatArray, inside: FloatArray) -> FloatArray | None:
    """x (K,) of the programme, whose coefficients are ``inside`` (K, E); None where no mixture is inside all ends."""
    from scipy.optimize import linprog

    size = np.abs(inside).max(axis=0)
    scaled = inside / np.where(size > 0, size, 1.0)
    answer = linprog(
        -means, -scaled.T, np.full(scaled.shape[1], -_STEP), np.ones((1, len(means))), [1.0], method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )  # fmt: skip
    if answer.status == 2:
        return None
    if answer.status != 0:
        raise ArithmeticError(
            f"The programme of {len(means)} arms and {scaled.shape[1]} ends was not solved: {answer.message}"
        )
    x = np.where(answer.x > _NO_SHARE, answer.x, 0.0)
    return np.asarray(x / x.sum())
