"""Usual intervals of a log: draws from what is believed, and the values that are shown with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.beliefs.beliefs import WEAKLY, Beliefs
from fairarm.core.posterior.doubly_robust import PRIOR_SD
from fairarm.core.types import FloatArray

DRAWS = 4000


def drawn(beliefs: Beliefs, seed: int) -> tuple[FloatArray, FloatArray, tuple[FloatArray, FloatArray]]:
    """Draws of outcomes and gaps, (1, DRAWS, K), and their values (K,). Where much of an arm is unseen, cells without a row
    are not taken as independent of each other: all of it may be high, or low."""
    outcomes, gaps = beliefs.draw(np.random.default_rng(seed), DRAWS)
    outcome, gap = beliefs.values(outcomes, gaps)
    unseen = beliefs.diagnostics().unseen[0]
    much = np.where(unseen > WEAKLY[0], unseen, 0.0)
    if beliefs.draws_unseen or not much.any():
        return outcomes, gaps, (outcome[0], gap[0])
    shared, apart = PRIOR_SD * much * np.random.default_rng([seed, DRAWS]).standard_normal((2, 1, DRAWS, len(much)))
    moved = np.clip(outcomes + shared, 0.0, 1.0), np.clip(gaps + np.sqrt(2.0) * apart, -1.0, 1.0)
    return *moved, (outcome[0], gap[0])


@dataclass(frozen=True)
class Usual:
    """Values (K,) and usual intervals (2, K) of every arm's outcome and gap, scaled."""

    outcome_values: FloatArray
    outcomes: FloatArray
    gap_values: FloatArray
    gaps: FloatArray

    @classmethod
    def of(
        cls, values: tuple[FloatArray, FloatArray], draws: tuple[FloatArray, FloatArray], confidence: float
    ) -> Usual:
        """From values (K,) and draws (D, K) of outcomes and gaps; an interval holds its value."""
        limits = ((1.0 - confidence) / 2, (1.0 + confidence) / 2)
        made = []
        for value, drawn in zip(values, draws, strict=True):
            low, high = np.quantile(drawn, limits, axis=0)
            made += [value, np.stack([np.minimum(low, value), np.maximum(high, value)])]
        return cls(*made)
