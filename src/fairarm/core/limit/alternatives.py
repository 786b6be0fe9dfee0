"""What both kinds of alternatives have in common, those of one gap and those of any rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fairarm.core.limit.shares import Moves
from fairarm.core.types import BoolArray, FloatArray, IntArray

Kind = Literal["best arm unfair", "overtakes", "becomes fair", "overtakes and becomes fair"]

TIE = 1e-12
"""Gaps below this part of the outcome's size are rounding: the arms are tied, or exactly on the tolerance."""
NO_ROW = -1
"""In place of a row: the alternative is about outcomes alone."""


@dataclass(frozen=True)
class Alternatives:
    """The other answers, and the moves to them: ``arm`` (A,) and ``kind`` of each; ``best``: the best fair arm, None if none is.

    ``cells`` (C,): those that the moves are measured in, whose rates q (C',) they are asked for. ``rows`` says of such rates which row each turns on, (A,): the one that the best arm would break, or that another arm
    would have to meet; of several the one that adds most to the value. NO_ROW where an arm only has to overtake.
    """

    best: int | None
    arm: IntArray
    kind: tuple[Kind, ...]
    cells: BoolArray
    moves: Moves
    rows: Callable[[FloatArray], IntArray]


def difference(x: FloatArray, y: FloatArray) -> FloatArray:
    """x − y of two laws, with rounding taken for what it is: it must not turn an arm that ignores S into one that does not."""
    return without_rounding(x - y, x + y)


def without_rounding(values: FloatArray, size: FloatArray) -> FloatArray:
    """Sums of terms whose absolute values add up to ``size``: 0 where they cancel but for rounding."""
    return np.where(np.abs(values) <= 1e-13 * size, 0.0, values)
