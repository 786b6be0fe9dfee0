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
    """Rows of a batch without an outcome. Any outcome is possible for those in ``cells`` (N, C), and for those of which only the arm is
    known, ``anywhere`` (N, K). ``stated`` (N, K) have ``outcome``, y' in [0, 1], by definition, in a cell that is not known.
    """

    cells: FloatArray
    anywhere: FloatArray
    stated: FloatArray | None = None
    outcome: float | None = None

    @property
    def by_kind(self) -> FloatArray:
        """How many may have any outcome, and how many have the stated one, (N, 2)."""
        free = self.cells.sum(axis=1) + self.anywhere.sum(axis=1)
        return np.stack([free, np.zeros_like(free) if self.stated is None else self.stated.sum(axis=1)], axis=1)

    @property
    def rows(self) -> FloatArray:
        """How many, (N,)."""
        return np.asarray(self.by_kind.sum(axis=1))


def kept_payoffs(
    raw: tuple[FloatArray, FloatArray],
    weight: FloatArray,
    theta: FloatArray,
    loss_share: FloatArray | None,
    outcome: float | None = None,
) -> tuple[FloatArray, FloatArray]:
    """log(1 − f + f S) of payoffs given by log S, (B, C) each: f = KEPT, or the best where ``loss_share`` ε (B, 2), of rows that may have
    any outcome and of those that have the stated ``outcome``, is above 0. ``weight`` (B, C) is the law of the cells that the best is
    found for.
    """
    if loss_share is None or not loss_share.any():
        return _shrunk(raw, np.full(len(weight), KEPT))
    best, f = np.full(len(weight), -np.inf), np.full(len(weight), KEPT)
    for kept in KEPT_WITH_LOSSES:
        up, down = _shrunk(raw, np.full(len(weight), kept))
        growth = _growth(up, down, weight, theta, loss_share, outcome)
        better = (growth > best) & loss_share.any(axis=1)
        best, f = np.where(better, growth, best), np.where(better, kept, f)
    return _shrunk(raw, f)


def _growth(
    up: FloatArray, down: FloatArray, weight: FloatArray, theta: FloatArray, share: FloatArray, outcome: float | None
) -> FloatArray:
    """What a bet is expected to gain per row, (B,), where parts ``share`` (B, 2) of the rows are lost."""
    free, stated, y = share[:, :1], share[:, 1:], 0.0 if outcome is None else outcome
    # stated rows are some of those with this outcome; they pay the least over the cells that they can be in
    told = np.maximum(theta - stated * y, 0) * up + np.maximum(1 - theta - stated * (1 - y), 0) * down
    least = np.where(weight > 0, y * up + (1 - y) * down, np.inf).min(axis=1)
    least = np.where(np.isinf(least), 0.0, least)  # a batch without rows
    seen = (weight * ((1 - free) * told + free * np.minimum(up, down))).sum(axis=1)
    return np.asarray(seen + stated[:, 0] * least)


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
    least = np.minimum(log_up, log_down)
    won += np.einsum("bc,bc->b", lost.cells[r], least)
    won += _least_reached(rule, lost.anywhere, r, least)
    if lost.stated is not None and lost.outcome is not None:
        won += _least_reached(rule, lost.stated, r, lost.outcome * log_up + (1 - lost.outcome) * log_down)
    return np.asarray(won)


def _least_reached(rule: Rule, by_arm: FloatArray, r: IntArray, pay: FloatArray) -> FloatArray:
    """What rows (N, K) of which only the arm is known pay each bet at least, (B,): the least of ``pay`` (B, C) over the arm's cells."""
    found = np.zeros(len(r))
    for arm, reached in enumerate(_reached(rule)):
        if by_arm[:, arm].any():
            found += by_arm[r, arm] * pay[:, reached].min(axis=1)
    return found


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
