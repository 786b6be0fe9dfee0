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
    _sorted: bool = field(init=False, default=True)

    def add(self, key: Key, columns: Mapping[str, NDArray[Any]]) -> None:
        """More rows: their keys, and columns that hold ``count`` or ``tie`` besides what is kept."""
        rows: Arrays = {"key": key, **columns}
        if len(low := self.within_reach(key)) < len(key):
            rows = {name: values[low] for name, values in rows.items()}
        if not len(low):
            return
        self._held.append(rows)
        self._waiting += len(low)
        self._sorted = False
        if self._waiting >= 2 * self.most:
            self._shrink()

    def within_reach(self, key: Key) -> IntArray:
        """Where rows are that may be among the smallest, by what has come so far."""
        return np.arange(len(key)) if self._bound is None else np.flatnonzero(key <= self._bound)

    def merge(self, other: SmallestRows) -> None:
        """With the rows of another."""
        for part in other._held:
            self.add(part["key"], {name: values for name, values in part.items() if name != "key"})

    def _cut(self) -> None:
        """Only the smallest, in the order of their keys."""
        if self._sorted:
            return
        rows = {name: np.concatenate([part[name] for part in self._held]) for name in self._held[0]}
        if self.distinct:
            order = np.argsort(rows["key"])
            key = rows["key"][order]
            first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
            chosen = order[first[: self.most]]
            made = {name: values[chosen] for name, values in rows.items()}
            made["count"] = np.add.reduceat(rows["count"][order], first)[: self.most]
        else:
            chosen = np.lexsort((rows["tie"], rows["key"]))[: self.most]
            made = {name: values[chosen] for name, values in rows.items()}
        self._held, self._waiting, self._sorted = [made], len(chosen), True
        self._bound = made["key"][-1] if len(chosen) == self.most else None

    def _shrink(self) -> None:
        """Only the smallest, in any order; rows are sorted only where keys repeat."""
        key = np.concatenate([part["key"] for part in self._held])
        low = np.sort(np.partition(key, self.most - 1)[: self.most])
        if self.distinct and np.any(low[1:] == low[:-1]):
            self._cut()
            return
        self._bound = np.uint64(low[-1])
        at = [self.within_reach(part["key"]) for part in self._held]
        self._held = [{name: v[low] for name, v in part.items()} for part, low in zip(self._held, at, strict=True)]
        self._waiting = sum(len(low) for low in at)

    @property
    def rows(self) -> Arrays:
        """The rows, by ``key``; empty where none came."""
        self._cut()
        return self._held[0] if self._held else {}
