"""Worlds given cell by cell: the law of the cells is known, the outcome's law in each is drawn or chosen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.beliefs.draws import Draws
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class CellWorlds:
    """N worlds of one finite plain problem, pulled together: replicate i is pulled in world i.

    ``law`` P(x | arm, group) (K, G, X) over the observed columns without S and Y, ``outcome_law`` P(y | x, group)
    (N, G, X, states of Y), ``shares`` P(S) (G,). Law and shares may have a leading axis of N too.
    """

    problem: Problem
    law: FloatArray
    outcome_law: FloatArray
    shares: FloatArray

    def outcomes(self) -> Draws:
        """Each arm's mean scaled outcome in every world, (N, K), and by group, (N, K, G)."""
        theta = self.outcome_law @ self.problem.outcome.scaled_values
        means = np.einsum("ktx,ntx->nkt" if self.law.ndim == 3 else "nktx,ntx->nkt", self.law, theta)
        outcomes = means @ self.shares if self.shares.ndim == 1 else (means * self.shares[:, None]).sum(axis=2)
        return Draws(np.asarray(outcomes), np.asarray(means))

    def draw(self, counts: IntArray, rng: np.random.Generator) -> IntArray:
        """Counts of (S, x, y) for pulls (N, R, K): (N, R, K, G, X · states of Y)."""
        N, R, K = counts.shape
        G, X, states = self.outcome_law.shape[1:]
        by_group = np.zeros((N, R, K, G), dtype=np.int64)
        shares = self.shares if self.shares.ndim == 1 else self.shares[:, None]
        by_group[:, 0] = rng.multinomial(counts[:, 0], shares)
        for t in range(G):
            by_group[:, 1 + t, :, t] = counts[:, 1 + t]
        regime, arm, group = np.nonzero(by_group.any(axis=0))
        cells = rng.multinomial(by_group[:, regime, arm, group], self.law[..., arm, group, :])
        out = np.zeros((N, R, K, G, X * states), dtype=np.int64)
        rows = rng.multinomial(cells, self.outcome_law[:, group])
        out[:, regime, arm, group] = rows.reshape(N, len(regime), X * states)
        return out
