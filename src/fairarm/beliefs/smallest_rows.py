"""The rows with the smallest keys, gathered part by part: the same rows in any split and order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.core.packed import Arrays
from fairarm.core.types import IntArray

Key = NDArray[np.uint64]


@dataclass
class SmallestRows:
    """At most ``most`` rows. ``distinct``: rows of one key are one row, whose ``count`` is theirs together; else rows of one key
    are told apart by their ``tie``."""

    most: int
    distinct: bool
    _held: list[Arrays] = field(init=False, default_factory=list)
    _bound: np.uint64 | None = field(init=False, default=None)
    """Keys above it cannot be among the smallest."""
    _waiting: int = field(init=False, default=0)

    def add(self, key: Key, columns: Mapping[str, NDArray[Any]]) -> None:
        """More rows: their keys, and columns that hold ``count`` or ``tie`` besides what is kept."""
        rows: Arrays = {"key": key, **columns}
        if self._bound is not None:
            low = np.flatnonzero(key <= self._bound)
            if not len(low):
                return
            rows = {name: values[low] for name, values in rows.items()}
        self._held.append(rows)
        self._waiting += len(rows["key"])
        if self._waiting > 2 * self.most:
            self._cut()

    def merge(self, other: SmallestRows) -> None:
        """With the rows of another."""
        for part in other._held:
            self.add(part["key"], {name: values for name, values in part.items() if name != "key"})

    def _cut(self) -> None:
        """Only the smallest, in the order of their keys."""
        if not self._held:
            return
        rows = {name: np.concatenate([part[name] for part in self._held]) for name in self._held[0]}
        if self.distinct:
            _, first, at = np.unique(rows["key"], return_index=True, return_inverse=True)
            count = _added(rows["count"], at, len(first))
            chosen = first[: self.most]
            made = {name: values[chosen] for name, values in rows.items()}
            made["count"] = count[: self.most]
        else:
            chosen = np.lexsort((rows["tie"], rows["key"]))[: self.most]
            made = {name: values[chosen] for name, values in rows.items()}
        self._held, self._waiting = [made], len(chosen)
        self._bound = made["key"][-1] if len(chosen) == self.most else None

    @property
    def rows(self) -> Arrays:
        """The rows, by ``key``; empty where none came."""
        self._cut()
        return self._held[0] if self._held else {}


def _added(count: IntArray, at: IntArray, size: int) -> IntArray:
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, at, count)
    return total
