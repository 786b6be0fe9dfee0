"""Rows as the doubly robust estimate takes them: distinct lines with a count, from cells or from rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.core.types import FloatArray, IntArray

Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Lines:
    """Rows of one replicate: equal ones are one line. Arms are told apart in ``made`` only: no estimate needs more."""

    group: IntArray
    """(I,), position among the groups."""
    columns: Columns
    """The cell's columns and S, (I,) each."""
    outcome: FloatArray
    count: IntArray
    arms: FloatArray
    """log P_k(v | pa(V), S := t), (K, G, I)."""
    children: FloatArray | None
    """log Π P(x | pa(X), S := t), (G, I); None where a mechanism is not declared."""
    made: IntArray
    """n_{j,t}: rows of arm j with S = t, any regime, (K, G)."""
    natural: IntArray
    """Natural rows by group, (G,)."""

    @property
    def rows(self) -> int:
        """All rows that the lines stand for."""
        return int(self.made.sum())


def distinct(keys: list[NDArray[Any]]) -> tuple[IntArray, IntArray]:
    """The first place of each combination of values, in their order, and the number of every entry's combination."""
    order = np.lexsort(keys)
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)[: max(len(order) - 1, 0)]
    at = np.empty(len(order), dtype=np.int64)
    at[order] = np.cumsum(fresh) - 1
    return order[fresh], at
