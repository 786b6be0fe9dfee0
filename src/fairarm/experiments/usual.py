"""Usual intervals of a log: draws from what is believed, and the values that are shown with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.beliefs.beliefs import WEAKLY, Beliefs
from fairarm.beliefs.draws import Draws
from fairarm.core.fairness import Rows
from fairarm.core.types import FloatArray

DRAWS = 4000


@dataclass(frozen=True, eq=False)
class Drawn:
    """Draws of outcomes (1, DRAWS, K) and of the rows of fairness (1, DRAWS, K, J), and what is shown of every arm, scaled."""

    outcomes: FloatArray
    rows: FloatArray
    shown: Draws
    """Outcomes (1, K) and means by group (1, K, G)."""
    asked: Rows

    def usual(self, confidence: float) -> Usual:
        """Values, and intervals that hold them."""
        values = self.shown.outcomes[0], self.shown.rows(self.asked)[0]
        limits = ((1.0 - confidence) / 2, (1.0 + confidence) / 2)
        made = []
        for value, draws in zip(values, (self.outcomes[0], self.rows[0]), strict=True):
            low, high = np.quantile(draws, limits, axis=0)
            made += [value, np.stack([np.minimum(low, value), np.maximum(high, value)])]
        return Usual(*made)


@dataclass(frozen=True, eq=False)
class Usual:
    """Values and usual intervals of every arm's outcome, (K,) and (2, K), and of its rows of fairness, (K, J) and (2, K, J), scaled."""

    outcome_values: FloatArray
    outcomes: FloatArray
    row_values: FloatArray
    rows: FloatArray


def drawn(beliefs: Beliefs, asked: Rows, seed: int) -> Drawn:
    """Draws, and the values shown with them. Where much of an arm is unseen, cells without a row are not taken as independent of each
    other: all of it may be high, or low."""
    draws = beliefs.draw(np.random.default_rng(seed), DRAWS)
    shown, values = beliefs.values(draws.outcomes, draws.means), draws.rows(asked)
    unseen = beliefs.diagnostics().unseen[0]
    much = np.where(unseen > WEAKLY[0], unseen, 0.0)
    if beliefs.draws_unseen or not much.any():
        return Drawn(draws.outcomes, values, shown, asked)
    normal = np.random.default_rng([seed, DRAWS]).standard_normal((asked.groups, 1, DRAWS, len(much)))
    moved_by = beliefs.unseen_sd * much * normal
    shared, apart = moved_by[0], moved_by[1:]
    outcomes, moved = draws.outcomes + shared, values + _moves(asked, shared, apart)
    if beliefs.problem.outcome.values is not None:
        outcomes, moved = np.clip(outcomes, 0.0, 1.0), np.clip(moved, *asked.possible)
    return Drawn(outcomes, moved, shown, asked)


def _moves(asked: Rows, shared: FloatArray, apart: FloatArray) -> FloatArray:
    """How far each row moves, (1, D, K, J), where all groups move by ``shared`` (1, D, K) and against each other by ``apart``
    (G − 1, 1, D, K): those sum to 0 over the groups, and any two differ by √2 standard normals."""
    together = asked.by_group.sum(axis=1) + asked.everyone
    return np.asarray(
        shared[..., None] * together + np.einsum("mndk,jm->ndkj", apart, asked.by_group @ _contrasts(asked.groups))
    )


def _contrasts(groups: int) -> FloatArray:
    """Helmert's: each group against all before it, (G, G − 1) with columns of length 1."""
    made = np.zeros((groups, groups - 1))
    for m in range(1, groups):
        made[:m, m - 1], made[m, m - 1] = 1.0, -float(m)
    return made * np.sqrt([1.0 / (m * (m + 1.0)) for m in range(1, groups)])
