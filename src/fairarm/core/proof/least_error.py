"""How wrong a declared law would have to be for its tests to have shown it by now (docs/certified.md, part 4).

Shapes: N replicates, K arms, G groups, B combinations of what an arm is given, V decisions.
"""

from __future__ import annotations

import math

import numpy as np

from fairarm.core import special
from fairarm.core.proof.law_test import PRIOR
from fairarm.core.special import log_gamma
from fairarm.core.types import BoolArray, FloatArray

SHOWN_IN = 0.95
"""An error "would have shown" if it is found in this share of runs."""

NORMAL = 1.645
"""The quantile of the normal law at `SHOWN_IN`."""

STEPS = 10
"""Halvings: the answer is exact to 1/1 000."""

_EDGE = 1e-12


def least_error(p: FloatArray, rows: FloatArray, log_least: float) -> FloatArray:
    """The least error in how often an arm takes a decision in a group that would have shown by now, (N, K, G).

    ``p`` (K, G, B, V) are the declared probabilities, ``rows`` (N, K, G, B) the tested rows; an e-value is enough from
    ``log_least`` on. nan: an error of any size could have stayed unseen. It is the largest over the decisions and over "more
    often" and "less often"; the other decisions keep their proportions, which is the error that shows the least. A decision
    of probability 0 shows at once, when it is taken.
    """
    needed = log_least + _regret(p, rows)
    at = [_shift(p, rows, needed, sign) for sign in (1.0, -1.0)]
    size, shown = (np.concatenate(parts, axis=-1) for parts in zip(*at, strict=True))
    largest = size.argmax(axis=-1)[..., None]
    found = np.where(np.take_along_axis(shown, largest, -1), np.take_along_axis(size, largest, -1), np.nan)[..., 0]
    total = rows.sum(axis=-1)
    impossible = 1 - (1 - SHOWN_IN) ** (1 / np.maximum(total, 1))
    return np.asarray(np.where(total > 0, np.maximum(found, impossible), np.nan))


def _regret(p: FloatArray, rows: FloatArray) -> FloatArray:
    """What the bettor loses, in logs, against one who knows the law, (N, K, G): for rows as the declared law expects them."""
    n, states = rows[..., None] * p, (p > 0).sum(axis=-1)
    own = np.where(p > 0, special.xlogy(n, p) - log_gamma(n + PRIOR) + math.lgamma(PRIOR), 0.0).sum(axis=-1)
    return np.asarray((own + log_gamma(rows + PRIOR * states) - log_gamma(PRIOR * states)).sum(axis=-1))


def _shift(p: FloatArray, rows: FloatArray, needed: FloatArray, sign: float) -> tuple[FloatArray, BoolArray]:
    """The least d for which P(v) off by ``sign`` · d shows, and whether any does; (N, K, G, V) each.

    Where none does, d is the largest error that there can be.
    """
    open_ = (p > 0) & (p < 1) & (rows > 0)[..., None]
    room = np.where(open_, 1 - p if sign > 0 else p, 0.0).max(axis=-2)
    low, high = np.zeros_like(room), room
    shown = _shows(p, rows, needed, sign * room, open_)
    for _ in range(STEPS):
        middle = (low + high) / 2
        enough = _shows(p, rows, needed, sign * middle, open_)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where(shown, high, room), shown | (room == 0)


def _shows(p: FloatArray, rows: FloatArray, needed: FloatArray, shift: FloatArray, open_: BoolArray) -> BoolArray:
    """Whether log e is enough in `SHOWN_IN` of runs where every P(v | b) is off by the shift (N, K, G, V)."""
    declared = np.clip(p, _EDGE, 1 - _EDGE)
    true = np.where(open_, np.clip(p + shift[..., None, :], _EDGE, 1 - _EDGE), declared)
    up, down = np.log(true / declared), np.log((1 - true) / (1 - declared))
    gain = (rows[..., None] * (true * up + (1 - true) * down)).sum(axis=-2)
    spread = (rows[..., None] * true * (1 - true) * (up - down) ** 2).sum(axis=-2)
    return np.asarray(gain - NORMAL * np.sqrt(spread) >= needed[..., None])  # (L4)
