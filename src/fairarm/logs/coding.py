"""Values of a log as codes of states, or as numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.logs.values import MISSING_WORDS, NUMBER

_NUMBER = re.compile(NUMBER)

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
        if np.array_equal(table, np.arange(low, high + 1)):  # written as their codes
            return values.astype(np.int64, copy=False)
        return np.asarray(table[values.astype(np.int64) - low])


def all_within(values: NDArray[Any], low: float, high: float) -> bool:
    """Whether every value is, and none is nan: then there is nothing to look for one by one."""
    return bool(len(values) and low <= values.min() and values.max() <= high)


def numbers(values: NDArray[Any]) -> FloatArray:
    """A column as float64; nan where a value is missing or no number."""
    return read_numbers(values)[0]


def read_numbers(values: NDArray[Any]) -> tuple[FloatArray, BoolArray]:
    """A column as float64, nan where there is no number, and where something is written that is none, (I,) each."""
    if values.dtype.kind in "fiub":
        return values.astype(np.float64, copy=False), np.zeros(len(values), dtype=bool)
    read = [_number(value) for value in values.tolist()]
    found = np.array([math.nan if value is None else value for value in read], dtype=np.float64)
    return found, np.array([value is None for value in read], dtype=bool)


def _number(value: Any) -> float | None:
    """A number, nan for a missing one, None for what is no number: the same as the engines' own (``expressions.number``)."""
    if isinstance(value, str):
        text = value.strip()
        if _NUMBER.fullmatch(text):
            return float(text)
        return math.nan if text.lower() in MISSING_WORDS else None
    try:
        return math.nan if value is None else float(value)
    except (TypeError, ValueError):
        return None


PERCENTAGE, COMMA = r"^.*[0-9]\s*%$", r"^[+-]?[0-9]+(?:[.,' ][0-9]{3})*,[0-9]+(?:[.][0-9]+)?$"
"""Text that is a percentage, and a number with a comma: neither is read as a number."""


def cause(text: str) -> str:
    """Why text that looks like a number is none, and the way out; "" where it does not look like one."""
    if re.match(PERCENTAGE, text):
        return f"'{text}' is a percentage: divide by 100 and write 0.12 for 12 %."
    if re.match(COMMA, text):
        return f"'{text}' has a comma: write numbers with a decimal point and without a sign between thousands."
    return ""
