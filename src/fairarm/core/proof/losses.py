"""What a batch pays to a bet, rows that never came included (docs/certified.md, part 1, late, lost and surplus rows).

A row that is missing counts at the least payoff that it could have had, so that the wealth is at most what it would be had all
rows been seen. Where rows get lost, bets are made smaller.

Shapes: N replicates, K arms, C cells, B bets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.core.proof.claims import Rule
from fairarm.core.types import BoolArray, FloatArray, IntArray

KEPT = 0.8
"""f: of a payoff S this part is kept, S ← 1 − f + f S. So no row costs a bet more than the factor 1 − f."""

KEPT_WITH_LOSSES = (0.8, 0.6, 0.45, 0.3, 0.2, 0.1, 0.05, 0.0)
"""Of which the best is taken where rows get lost."""


@dataclass(frozen=True, eq=False)
class Lost:
    """Rows of a batch that never came. ``cells`` (N, C): those whose cell is known; ``anywhere`` (N, K): the others, by arm.

    ``outcome``: y' in [0, 1] of a state that a row which is not told has by definition; None where it may have any.
    """

    cells: FloatArray
    anywhere: FloatArray
    outcome: float | None = None

    @property
    def rows(self) -> FloatArray:
        """How many, (N,)."""
        return np.asarray(self.cells.sum(axis=1) + self.anywhere.sum(axis=1))


def kept_payoffs(
    raw: tuple[FloatArray, FloatArray],
    weight: FloatArray,
    theta: FloatArray,
    loss_share: FloatArray | None,
    outcome: float | None = None,
) -> tuple[FloatArray, FloatArray]:
    """log(1 − f + f S) of payoffs given by log S, (B, C) each: f = KEPT, or the best where ``loss_share`` ε (B,) is above 0.

    ``weight`` (B, C) is the law of the cells that the best is found for; ``outcome``: that of a row which is not told, where that is
    a state by definition.
    """
    if loss_share is None or not loss_share.any():
        return _shrunk(raw, np.full(len(weight), KEPT))
    best, f = np.full(len(weight), -np.inf), np.full(len(weight), KEPT)
    share = loss_share[:, None]
    for kept in KEPT_WITH_LOSSES:
        up, down = _shrunk(raw, np.full(len(weight), kept))
        growth = _growth(up, down, weight, theta, share, outcome)
        better = (growth > best) & (loss_share > 0)
        best, f = np.where(better, growth, best), np.where(better, kept, f)
    return _shrunk(raw, f)


def _growth(
    up: FloatArray, down: FloatArray, weight: FloatArray, theta: FloatArray, share: FloatArray, outcome: float | None
) -> FloatArray:
    """What a bet is expected to gain per row, (B,), where a part ``share`` (B, 1) of the rows is lost."""
    if outcome is None:
        seen = theta * up + (1 - theta) * down
        return np.asarray((weight * ((1 - share) * seen + share * np.minimum(up, down))).sum(axis=1))
    # the lost rows are some of those with this outcome; they pay the least over the cells that they can be in
    told = np.maximum(theta - share * outcome, 0) * up + np.maximum(1 - theta - share * (1 - outcome), 0) * down
    least = np.where(weight > 0, outcome * up + (1 - outcome) * down, np.inf).min(axis=1)
    return np.asarray((weight * told).sum(axis=1) + share[:, 0] * least)


def _shrunk(raw: tuple[FloatArray, FloatArray], f: FloatArray) -> tuple[FloatArray, FloatArray]:
    # (C9): at least 1 − f, and its mean under the blend stays at most 1
    up, down = (np.log1p(f[:, None] * np.expm1(log_S)) for log_S in raw)
    return up, down


def paid(
    rule: Rule, n: FloatArray, y: FloatArray, lost: Lost | None, r: IntArray, payoffs: tuple[FloatArray, FloatArray]
) -> FloatArray:
    """The log of what a batch pays to each bet, (B,), of replicate ``r`` (B,); a lost row pays the least it can."""
    log_up, log_down = payoffs
    # (C4), summed over the rows of each cell
    won = np.einsum("bc,bc->b", y[r], log_up) + np.einsum("bc,bc->b", (n - y)[r], log_down)
    if lost is None:
        return np.asarray(won)
    y_lost = lost.outcome
    least = np.minimum(log_up, log_down) if y_lost is None else y_lost * log_up + (1 - y_lost) * log_down
    won += np.einsum("bc,bc->b", lost.cells[r], least)
    for arm, reached in enumerate(_reached(rule)):
        if lost.anywhere[:, arm].any():
            won += lost.anywhere[r, arm] * least[:, reached].min(axis=1)
    return np.asarray(won)


def _reached(rule: Rule) -> BoolArray:
    """The cells that each arm reaches in any group, (K, C)."""
    return np.asarray((rule.law > 0).any(axis=1))


def with_reserve(won: FloatArray, reserve: float, cut: BoolArray | None) -> FloatArray:
    """log(1 − ρ + ρ ΠS) where ``won`` (B,) is log ΠS: a part 1 − ρ is never staked, and all that a ``cut`` batch leaves."""
    if reserve == 1.0 and cut is None:
        return won
    with np.errstate(divide="ignore"):
        left, staked = np.log1p(-reserve), np.log(reserve)
    whole = np.logaddexp(left, staked + won)  # (M1)
    return np.asarray(whole if cut is None else np.where(cut, left, whole))
