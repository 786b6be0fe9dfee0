"""The shares of the pulls that are best against the hardest alternative: a game, solved between proved bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fairarm.core.types import BoolArray, FloatArray

_INSIDE = 1e-6
"""Shares are moved this far inside, so that no cell that can be seen has probability 0. It costs as little of 1/T*."""
_NEAR, _ROUNDS = 3.0, 500


class Moves(Protocol):
    def evaluate(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """For rates q (C,) of the cells: the value of each alternative (A,), what its move is worth by cell (A, C)."""
        ...


def inside(costs: FloatArray, budget: float) -> tuple[FloatArray, BoolArray]:
    """Shares (X,) within the budget that use every unit that any such shares can use, and those units; never one that costs inf."""
    cheapest = float(costs.min())
    usable = costs <= budget if budget <= cheapest else np.isfinite(costs)
    start = usable / usable.sum()
    if budget > cheapest:
        start[usable] = within(start[usable], costs[usable], budget)
    return start, usable


def within(nu: FloatArray, costs: FloatArray, budget: float) -> FloatArray:
    """Shares over the budget, moved toward the cheapest unit until they meet it."""
    over = float(costs @ nu) - budget
    if over <= 0:
        return nu
    cheapest = int(np.argmin(costs))
    step = min(1.0, over / (over + budget - float(costs[cheapest])) * (1 + 1e-12))
    moved = nu * (1 - step)
    moved[cheapest] += step
    return moved


@dataclass(frozen=True)
class Found:
    nu: FloatArray
    values: FloatArray
    weights: FloatArray
    lower: float
    upper: float


class Game:
    """max over ν of the min over alternatives. A fixed move δ has a value linear in ν, so each δ met so far is a cut.

    The programme of all cuts bounds 1/T* from above, any shares bound it from below. New moves are sought halfway
    between the best shares so far and those of the programme: either the move cuts the programme's shares off, or the
    halfway point is itself better by half of the gap.
    """

    def __init__(self, moves: Moves, units: FloatArray, costs: FloatArray, budget: float) -> None:
        self.moves, self.units, self.costs, self.budget = moves, units, costs, budget

    def evaluate(self, nu: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The value of each alternative at ν (A,), and what its move is worth in one pull of each unit (A, X)."""
        values, rates = self.moves.evaluate(nu @ self.units)
        return values, rates @ self.units.T

    def solve(self, start: FloatArray, precision: float) -> Found:
        nu, (values, cuts) = start, self.evaluate(start)
        lower, upper = float(values.min()), np.inf
        weights = (values == lower).astype(np.float64)
        weights /= weights.sum()
        if not 0 < lower < np.inf:  # the truth is on the edge, or no other answer can be reached
            return Found(nu, values, weights, lower, lower)
        # only moves that are nearly the hardest are kept as cuts: the others would not bind, and the programme grows with them
        owners = np.flatnonzero(values <= _NEAR * lower)
        pool = cuts[owners]
        for _ in range(_ROUNDS):
            target, y, bound = self._programme(pool / lower)
            if bound * lower < upper:
                upper, weights = bound * lower, np.bincount(owners, y, minlength=len(values))
            if upper <= lower * (1 + precision):
                break
            # a little toward the start, which pulls everything: at a vertex some cells are never met, and values there are 0
            target = target + _INSIDE * (start - target)
            point = within(nu + 0.5 * (target - nu), self.costs, self.budget)
            found, cuts = self.evaluate(point)
            near = np.flatnonzero(found <= _NEAR * found.min())
            pool, owners = np.concatenate([pool, cuts[near]]), np.append(owners, near)
            if found.min() > lower:
                nu, values, lower = point, found, float(found.min())
        return Found(nu, values, weights, lower, max(lower, upper))

    def _programme(self, cuts: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Shares (X,) that are best against the cuts, the weights y of the cuts, and the bound y and λ prove.

        The dual is solved:  min m + B λ  s.t.  Σ y·cut_u ≤ m + λ cost_u for every unit u,  Σ y = 1,  y, λ ≥ 0.
        Whatever the solver's tolerance, any such y and λ prove  1/T* ≤ max_u (Σ y·cut_u − λ cost_u) + B λ.
        """
        from scipy.optimize import linprog

        n, X = cuts.shape
        A_ub = np.hstack([cuts.T, -np.ones((X, 1)), -self.costs[:, None]])
        objective = np.append(np.zeros(n), [1.0, self.budget])
        total = np.append(np.ones(n), [0.0, 0.0])[None]
        bounds = [(0, None)] * n + [(None, None), (0, None)]
        answer = linprog(objective, A_ub, np.zeros(X), total, [1.0], bounds=bounds, method="highs-ds")
        if answer.status != 0:
            raise ArithmeticError(f"The programme of {n} cuts was not solved: {answer.message}")
        y, price = np.clip(answer.x[:n], 0.0, None), max(float(answer.x[-1]), 0.0)
        # the bound is computed from y and the price as they are, so that the solver's tolerance cannot make it too low
        y = y / y.sum()
        nu = np.clip(-np.asarray(answer.ineqlin.marginals), 0.0, None)
        return nu / nu.sum(), y, float(np.max(y @ cuts - price * self.costs)) + price * self.budget
