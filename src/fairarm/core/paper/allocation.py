"""ALLOCATE: the linear programme that divides the pulls among arms and regimes (paper, algorithm 3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairarm.core.types import BoolArray, FloatArray
from fairarm.errors import BudgetError, OptionError

_SMALL, _LARGEST_ENTRY = 1e-3, 1e12
"""HiGHS keeps rows only to 1e-7: v is measured in a unit near v*, and the programme solved again if it was far off."""


MOST_ENTRIES = 9_000_000
"""Of the programme's matrix, units × rows. Solving takes some 78 bytes for each: 0.7 GB, for three blocks of 1 000 arms."""


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


def require_affordable(costs: FloatArray, budget: float | None) -> None:
    """An error that names the cheapest plan, where even that one is over the budget (average cost a pull)."""
    cheapest = float(costs.min())
    if budget is not None and cheapest > budget:
        raise BudgetError(
            f"The budget allows an average cost of {budget:.6g} a pull, but the cheapest pull that this algorithm can "
            f"use costs {cheapest:.6g}. Raise the budget to at least that, or make some arm cheaper."
        )


def require_room(arms: int, regimes: int, blocks: int) -> None:
    """An error before memory is taken for a programme over so many arms, in the regimes that feed its blocks."""
    if (entries := regimes * arms * blocks * arms) > MOST_ENTRIES:
        raise OptionError(
            f"The allocation programme of {arms} arms would take some {78e-9 * entries:.1f} GB of memory; at most "
            f"{math.isqrt(MOST_ENTRIES // (regimes * blocks))} arms are taken. Use pool, which needs no programme, or fewer arms."
        )


def allocate(leakages: Sequence[Leakage], costs: FloatArray, budget: float | None, alive: BoolArray) -> Allocation:
    """Maximise v subject to, for every block and every arm k in R,  Σ_j ν_{regime, j} · matrix[k, j] ≥ v,
    Σ cost · ν ≤ B, Σ ν = 1, ν ≥ 0.

    ``costs`` (R, K); ν ranges over all K arms of the regimes that have a block (a rejected arm may still be the best
    one to pull), only the rows run over ``alive`` (K,). ``budget`` None: no limit on cost.
    """
    regimes = sorted({block.regime for block in leakages})
    unit_costs = costs[regimes]
    require_affordable(unit_costs, budget)
    # no v can be larger than this: the best single arm for the arm that is hardest to inform
    unit = min(float(block.matrix[alive].max(axis=1).min()) for block in leakages) or 1.0
    solution = _solve(leakages, regimes, unit_costs, budget, alive, unit)
    smallest = max(float(block.matrix.max()) for block in leakages) / _LARGEST_ENTRY
    while solution.value < _SMALL * unit:
        unit = solution.value or unit * _SMALL
        if unit < smallest:  # v* is 0 as far as numbers go
            break
        solution = _solve(leakages, regimes, unit_costs, budget, alive, unit)
    shares = np.zeros(costs.shape)
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
    """One call of HiGHS, with v measured in ``unit``; shares (len(regimes), K) with v recomputed from them.

    The dual is what is solved, and the shares are its multipliers: minimise μ + B λ subject to
    Σ_rows y · matrix[row, u] ≤ μ + λ cost_u for every unit u, Σ y = 1, y, λ ≥ 0. It takes the same time at K = 30,
    a tenth at K = 300 and less than a thirtieth at K = 1 000.
    """
    from scipy.optimize import linprog

    # (A10). The dual's variables: y of each (block, arm in R), then μ, the price of a pull, and λ, the price of cost
    K, n, count = costs.shape[1], costs.size, int(alive.sum())
    rows = len(leakages) * count
    A_ub = np.zeros((n, rows + 2))
    for i, block in enumerate(leakages):
        first = regimes.index(block.regime) * K
        # a rate that many times v* never binds, and the solver refuses larger numbers
        A_ub[first : first + K, i * count : (i + 1) * count] = np.minimum(block.matrix[alive].T / unit, _LARGEST_ENTRY)
    A_ub[:, -2] = -1.0
    A_ub[:, -1] = -costs.ravel()
    # without a budget the dearest unit stands in for it: Σ cost · ν ≤ B then holds whatever ν is
    objective = np.append(np.zeros(rows), [1.0, costs.max() if budget is None else budget])
    total = np.append(np.ones(rows), [0.0, 0.0])[None, :]
    bounds = [(0, None)] * rows + [(None, None), (0, None)]
    answer = linprog(objective, A_ub, np.zeros(n), total, [1.0], bounds=bounds, method="highs-ds")
    if answer.status != 0:
        raise BudgetError(f"The allocation programme has no solution at budget {budget}: {answer.message}")
    # multipliers of a minimum with ≤ rows are at most 0; what is above is rounding
    shares = np.clip(-np.asarray(answer.ineqlin.marginals), 0.0, None)
    shares = (shares / shares.sum()).reshape(costs.shape)
    # the value that these very shares have, not the one the solver reports to 1e-7
    rates = [shares[regimes.index(b.regime)] @ b.matrix[alive].T for b in leakages]
    return Allocation(shares, float(np.min(rates)))
