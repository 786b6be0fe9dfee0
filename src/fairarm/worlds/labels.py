"""Worlds given cell by cell where the problem is not plain: attributes with causes, several of them, or nodes that are kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.beliefs.draws import Draws
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.problem import Problem
from fairarm.problem.world_laws import Factors


@dataclass(frozen=True, eq=False)
class LabelWorlds:
    """N worlds of one finite problem, pulled together: replicate i is pulled in world i, natural, recruited or set.

    ``outcome_law`` P(y | x, label) (N, P, X, states of Y). ``factors``, each with a leading axis of N or without, and ``h``, (N, Z) or
    (1, Z), are what the law of rows is made of (`world_laws.py`).
    """

    problem: Problem
    outcome_law: FloatArray
    factors: Factors
    h: FloatArray

    def outcomes(self) -> Draws:
        """Each arm's mean scaled outcome in every world, (N, K), and the means of the worlds that are asked about, (N, K, W)."""
        cells = self.problem.compiled.world_cells
        theta = self.outcome_law @ self.problem.outcome.scaled_values
        by_cell = np.zeros((len(theta), cells.cells))
        by_cell[:, cells.cell_of.ravel()] = theta.reshape(len(theta), -1)  # labels that share a cell have the same
        h = np.broadcast_to(self.h, (len(theta), cells.contexts))
        means = cells.worlds.means(self.factors, h, by_cell, cells)
        return Draws(np.ascontiguousarray(means[..., -1]), np.ascontiguousarray(means[..., :-1]))

    def draw(self, counts: IntArray, rng: np.random.Generator) -> IntArray:
        """Counts of (label, x, y) for pulls (N, R, K): (N, R, K, P, X · states of Y)."""
        N, R, K = counts.shape
        P, X, states = self.outcome_law.shape[1:]
        cells, of_outcomes = self.problem.compiled.world_cells, self.outcome_law.reshape(N, P * X, states)
        out = np.zeros((N, R, K, P, X * states), dtype=np.int64)
        for r in np.flatnonzero(counts.any(axis=(0, 2))).tolist():
            law = cells.rows_law(r, self.factors, self.h)
            for k in np.flatnonzero(counts[:, r].any(axis=0)).tolist():
                points = rng.multinomial(counts[:, r, k], law[..., k, :, :].reshape(*law.shape[:-3], P * X))
                out[:, r, k] = rng.multinomial(points, of_outcomes).reshape(N, P, X * states)
        return out
