"""Is an arm fair to those whom it serves? Its gap as served, by pairs of rows, while the study runs (docs/certified.md, part 5).

The rows of two groups that an arm served in one cohort are paired at random. While an end of a row of fairness is kept, the difference
of a pair is not expected to lie beyond it, so a bet that it does is not expected to win. No model of the cells is used.

Shapes: N studies, K arms, J₁ ends, L bets, O states of the outcome.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fairarm.core.fairness import Rows
from fairarm.core.types import BoolArray, FloatArray, IntArray

ALPHA = 0.01
"""Over all arms and ends."""

STAKES = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Parts of the largest stake that cannot lose everything; the wealth is their average."""


@dataclass(frozen=True, eq=False)
class Guarded:
    """The ends that are guarded: of rows that compare two groups and nothing else. ``first`` and ``second`` (J₁,) are the groups whose
    difference reaches ``level`` (J₁,) where the end is broken."""

    first: IntArray
    second: IntArray
    level: FloatArray

    @classmethod
    def of(cls, rows: Rows) -> Guarded:
        """Ends of pairs and of reference rows; an upper end by (t, u), a lower one by (u, t)."""
        found: list[tuple[int, int, float]] = []
        for j, a in enumerate(rows.by_group):
            up, down = np.flatnonzero(a == 1), np.flatnonzero(a == -1)
            if rows.everyone[j] != 0 or len(up) != 1 or len(down) != 1 or np.count_nonzero(a) != 2:
                continue
            t, u = int(up[0]), int(down[0])
            if np.isfinite(rows.high[j]):
                found.append((t, u, float(rows.high[j])))
            if np.isfinite(rows.low[j]):
                found.append((u, t, -float(rows.low[j])))
        first, second, level = (np.array(part) for part in zip(*found, strict=True)) if found else (np.zeros(0),) * 3
        return cls(first.astype(np.int64), second.astype(np.int64), level.astype(np.float64))

    def start(self, studies: int, arms: int) -> FloatArray:
        """Log wealth of every bet before the first row, (N, K, J₁, L)."""
        return np.zeros((studies, arms, len(self.level), len(STAKES)))

    def after(self, wealth: FloatArray, seen: IntArray, values: FloatArray, rng: np.random.Generator) -> FloatArray:
        """With the rows of a whole cohort by arm, group and outcome state, (N, K, G, O); ``values`` (O,) of the states, in [0, 1]."""
        made = wealth.copy()
        difference = values[:, None] - values
        for j, (t, u, level) in enumerate(zip(self.first, self.second, self.level, strict=True)):
            most = 1.0 / (1.0 + level)  # 1 + λ (difference − level) stays above 0 below it
            gain = np.log1p(np.array(STAKES)[:, None, None] * most * (difference - level))
            for i, k in np.ndindex(*seen.shape[:2]):
                made[i, k, j] += (gain * paired(seen[i, k, t], seen[i, k, u], rng)).sum(axis=(1, 2))  # (M4)
        return made

    def alarm(self, wealth: FloatArray) -> BoolArray:
        """(N, K): arms whose gap as served lies beyond an end."""
        if not len(self.level):
            return np.zeros(wealth.shape[:2], dtype=np.bool_)
        log_mean = np.logaddexp.reduce(wealth, axis=3) - math.log(len(STAKES))
        return np.asarray((log_mean >= math.log(wealth.shape[1] * len(self.level) / ALPHA)).any(axis=2))


def paired(first: IntArray, second: IntArray, rng: np.random.Generator) -> IntArray:
    """Pairs of rows by their states, (O, O), of two groups with so many rows in each, (O,): at random, until one has no more."""
    one, other = (rng.permutation(np.repeat(np.arange(len(part)), part)) for part in (first, second))
    pairs = min(len(one), len(other))
    joint = np.zeros((len(first), len(second)), dtype=np.int64)
    np.add.at(joint, (one[:pairs], other[:pairs]), 1)
    return joint
