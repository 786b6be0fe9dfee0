"""Exact means of worlds, where a world's law of rows is known: what rows would say if there were infinitely many of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairarm.core.grouping import sum_by_group
from fairarm.core.types import FloatArray
from fairarm.problem.problem import Problem
from fairarm.problem.world_cells import WorldCells
from fairarm.problem.world_laws import Factors, WorldSums
from fairarm.problem.worlds import Reading


@dataclass(frozen=True, eq=False)
class ExactWorlds:
    """``law`` P(x, y | arm, label) over points and outcome states, (K, P, X, O), ``shares`` P(label), (P,)."""

    problem: Problem
    law: FloatArray
    shares: FloatArray

    @property
    def cells(self) -> WorldCells:
        """Of the problem."""
        return self.problem.compiled.world_cells

    @cached_property
    def _natural(self) -> FloatArray:
        """P_k(label, x), (K, P, X)."""
        return np.asarray(self.law.sum(axis=3) * self.shares[:, None])

    @cached_property
    def factors(self) -> Factors:
        """With every block's own law as the world has it: the same under every arm, as no decision comes before an attribute."""
        natural, own = self._natural[0], []
        for factor in self.cells.own:
            rows = factor.counted(natural)
            total = rows.sum(axis=-1, keepdims=True)
            own.append(factor.spread(np.divide(rows, total, out=np.zeros_like(rows), where=total > 0)))
        return Factors(self.cells.arms, self.cells.children, tuple(own))

    @cached_property
    def contexts(self) -> FloatArray:
        """h, (Z,): what rows in a context are more than the arms', children's and attributes' laws say."""
        cells, labels = self.cells, self.cells.made[0].labels
        reached = cells.exposure(labels, self.factors).sum(axis=0)
        rows = self.law.sum(axis=3).sum(axis=0) if cells.apart else self._natural.sum(axis=0)
        found = np.zeros(cells.contexts)
        np.add.at(found, cells.context_of.ravel(), rows.ravel())
        total = reached.sum(axis=0)
        return np.asarray(np.divide(found, total, out=np.zeros_like(found), where=total > 0))

    @cached_property
    def theta(self) -> FloatArray:
        """E[Y' | c], (C,); ½ where no arm and label lead."""
        return self._moments[0]

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray]:
        values = self.problem.outcome.scaled_values
        rows = (self.law * self.shares[:, None, None]).sum(axis=0)  # (P, X, O)
        at, C = self.cells.cell_of.ravel(), self.cells.cells
        mass, first, second = (sum_by_group((rows @ values**power).ravel(), at, C) for power in range(3))
        theta = np.divide(first, mass, out=np.full(C, 0.5), where=mass > 0)
        square = np.divide(second, mass, out=np.zeros(C), where=mass > 0)
        return theta, np.maximum(square - theta**2, 0.0)

    @property
    def variance(self) -> FloatArray:
        """Var(Y' | c), (C,)."""
        return self._moments[1]

    def laws(self, sums: WorldSums) -> FloatArray:
        """p_{k,ω}(c) of these worlds, labels or regimes, (K, W, C)."""
        return sums.laws(self.factors, self.contexts, self.cells)

    def means(self, readings: Sequence[Reading] | None = None) -> tuple[FloatArray, FloatArray]:
        """Every arm's outcome (K,), and its mean in the problem's worlds or in these (K, W), in the outcome's own units."""
        sums = self.cells.worlds if readings is None else self.cells.with_worlds(self.problem, readings)
        found = self.problem.outcome.unscale(self.laws(sums) @ self.theta)
        return found[:, -1], found[:, :-1]
