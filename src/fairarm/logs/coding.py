"""Values of a log as codes of states, or as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.core.types import FloatArray, IntArray
from fairarm.logs.values import MISSING_WORDS

UNDECLARED, ABSENT = -1, -2
"""Codes of a value that is no declared state, and of a missing one."""


def texts(value: Any) -> tuple[str, ...]:
    """The ways in which a value may be written as a state: 1.0 is '1' and '1.0', True is 'true', 'True' and '1'. A double
    that is one of 32 bits may be written as that: 0.1."""
    if isinstance(value, bool | np.bool_):
        return (str(bool(value)).lower(), str(bool(value)), str(int(value)))
    if isinstance(value, float | np.floating):
        whole = (str(int(value)),) if float(value).is_integer() else ()
        with np.errstate(over="ignore"):
            short = np.float32(value)
        return (*whole, repr(float(value)), *([str(short)] if float(short) == value else []))
    return (str(value), str(value).strip())


@dataclass
class Coder:
    """Values -> codes of states, remembered once found. ``labels``: values of the log that name a state otherwise."""

    states: tuple[str, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    known: dict[Any, int] = field(default_factory=dict)

    def code(self, value: Any) -> int:
        """UNDECLARED or ABSENT where it is no state."""
        key = (type(value), value)
        if key not in self.known:
            self.known[key] = self._find(value)
        return self.known[key]

    def _find(self, value: Any) -> int:
        if value is None or value != value:
            return ABSENT
        for text in texts(value):
            state = self.labels.get(text, text)
            if state in self.states:
                return self.states.index(state)
        return ABSENT if isinstance(value, str) and value.strip().lower() in MISSING_WORDS else UNDECLARED

    def codes(self, values: NDArray[Any]) -> IntArray:
        """Of a column, (I,)."""
        if values.dtype.kind == "O":
            listed = values.tolist()
            lookup = {value: self.code(value) for value in set(listed)}
            return np.fromiter((lookup[value] for value in listed), dtype=np.int64, count=len(listed))
        if values.dtype.kind in "iub" and len(values):
            return self._codes_of_whole(values)
        unique, at = np.unique(values, return_inverse=True)
        return np.array([self.code(value) for value in unique.tolist()], dtype=np.int64)[at]

    def _codes_of_whole(self, values: NDArray[Any]) -> IntArray:
        """By a table over their range where that is short."""
        low, high = int(values.min()), int(values.max())
        if high - low > len(values) + 1024:
            unique, at = np.unique(values, return_inverse=True)
            return np.array([self.code(value) for value in unique.tolist()], dtype=np.int64)[at]
        kind = bool if values.dtype.kind == "b" else int
        table = np.array([self.code(kind(value)) for value in range(low, high + 1)], dtype=np.int64)
        return np.asarray(table[values.astype(np.int64) - low])


def numbers(values: NDArray[Any]) -> FloatArray:
    """A column as float64; nan where a value is missing or no number."""
    if values.dtype.kind in "fiub":
        return values.astype(np.float64)
    return np.array([_number(value) for value in values.tolist()], dtype=np.float64)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
