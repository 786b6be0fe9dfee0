"""ALLOCATE: the linear programme that divides the pulls among arms and regimes (paper, algorithm 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from fairarm.core.types import BoolArray, FloatArray
from fairarm.errors import BudgetError

_SMALL_VALUE = 1e-3
"""Below this v*, the programme is solved again in units of v*: HiGHS keeps rows only to 1e-7."""


@dataclass(frozen=True)
class Leakage:
    """One block of rows: pulls of ``regime`` inform every arm k at rate ``matrix[k, j]`` (1/M_kj or 1/D_kj)."""

    regime: int
    matrix: FloatArray


@dataclass(frozen=True)
class Allocation:
    """``shares`` (R, K) sum to 1; ``value`` is v* = 1/σ*, the worst rate of information over the arms still in R.

    v* is unique, the shares are not: keep them rather than solve again.
    """

    shares: FloatArray
    value: float


def allocate(leakages: Sequence[Leakage], costs: FloatArray, budget: float | None, alive: BoolArray) -> Allocation:
    """Maximise v subject to, for every block and every arm k in R,  Σ_j ν_{regime, j} · matrix[k, j] ≥ v,
    Σ cost · ν ≤ B, Σ ν = 1, ν ≥ 0.

    ``costs`` (R, K); ν ranges over all K arms of the regimes that have a block (a rejected arm may still be the best
    one to pull), only the rows run over ``alive`` (K,). ``budget`` None: no limit on cost.
    """
    regimes = sorted({block.regime for block in leakages})
    unit_costs = costs[regimes]
    cheapest = float(unit_costs.min())
    if budget is not None and cheapest > budget:
        raise BudgetError(
            f"The budget allows an average cost of {budget:.6g} a pull, but the cheapest pull that this algorithm can "
            f"use costs {cheapest:.6g}. Raise the budget to at least that, or make some arm cheaper."
        )
    solution = _solve(leakages, regimes, unit_costs, budget, alive, unit=1.0)
    if 0.0 < solution.value < _SMALL_VALUE:
        solution = _solve(leakages, regimes, unit_costs, budget, alive, unit=solution.value)
    shares = np.zeros_like(costs)
    shares[regimes] = solution.shares
    return Allocation(shares, solution.value)


def _solve(
    leakages: Sequence[Leakage],
    regimes: list[int],
    costs: FloatArray,
    budget: float | None,
    alive: BoolArray,
    unit: float,
) -> Allocation:
    """One call of HiGHS, with v measured in ``unit``; shares (len(regimes), K) with v recomputed from them."""
    K = costs.shape[1]
    n = costs.size
    blocks = [
        sparse.hstack([block.matrix[alive] / -unit if block.regime == regime else sparse.csr_array((int(alive.sum()), K))
                       for regime in regimes])
        for block in leakages
    ]  # fmt: skip
    rows = sparse.vstack(blocks, format="csr")
    A_ub = sparse.hstack([rows, np.ones((rows.shape[0], 1))], format="csr")
    b_ub = np.zeros(rows.shape[0])
    if budget is not None and costs.max() > budget:
        A_ub = sparse.vstack([A_ub, np.append(costs.ravel(), 0.0)[None, :]], format="csr")
        b_ub = np.append(b_ub, budget)
    objective = np.zeros(n + 1)
    objective[-1] = -1.0
    A_eq = np.append(np.ones(n), 0.0)[None, :]
    answer = linprog(objective, A_ub, b_ub, A_eq, [1.0], bounds=(0, None), method="highs-ds")
    if answer.status != 0:
        raise BudgetError(f"The allocation programme has no solution at budget {budget}: {answer.message}")
    shares = np.clip(np.asarray(answer.x[:-1]), 0.0, None)
    shares = (shares / shares.sum()).reshape(costs.shape)
    rates = [shares[regimes.index(b.regime)] @ b.matrix[alive].T for b in leakages]
    return Allocation(shares, float(np.min(rates)))
