"""Scales of figures: from a number to its pixel, where the ticks stand, and what is written at them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from fairarm.reports.svg import text_width
from fairarm.reports.words import pulls_text

STEPS = (1.0, 2.0, 5.0, 10.0)
"""A tick every one of these, times a power of ten."""
TICK_SIZE = 11.0
"""Of the letters at ticks."""
APART = 10.0
"""Pixels between two texts."""
MOST_DECIMALS, MOST_WHOLE = 7, 8
"""Numbers of more digits are written with a power of ten."""

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Scale:
    """From ``low`` at the pixel ``start`` to ``high`` at the pixel ``end``."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, x: float) -> float:
        low, high, x = (math.log(v) for v in (self.low, self.high, x)) if self.log else (self.low, self.high, x)
        # halves: the distance of two finite numbers may be none
        share = (x / 2 - low / 2) / (high / 2 - low / 2) if high > low else 0.5
        return self.start + share * (self.end - self.start)


def ticks(low: float, high: float, most: int = 7, whole: bool = False) -> list[float]:
    """Round numbers from ``low`` to ``high``, every 1, 2 or 5 times a power of ten: at most ``most``, as many as there can be.

    Where the two are equal, or no two round numbers can be told apart, that number alone. ``whole`` numbers only, if asked for.
    """
    if not low < high:
        return [low]
    power = math.floor(math.log10(max(high / most - low / most, 5e-324)))
    for exponent in range(power - 1, power + 3):
        for base in STEPS[:-1]:
            found = _multiples(low, high, base, exponent, most)
            if found is not None and not (whole and exponent < 0):
                return found or [low]
    return [low]


def _multiples(low: float, high: float, base: float, exponent: int, most: int) -> list[float] | None:
    """The multiples of base · 10^exponent from low to high; None if there are more than ``most``."""
    if not -308 < exponent < 308:
        return None
    step = base * 10.0**exponent
    slack = 1e-9  # of a step: ends that are round numbers are not lost to rounding
    first, last = math.ceil(low / step - slack), math.floor(high / step + slack)
    if last - first >= most:
        return None
    # k · base is whole; a division by a power of ten is exact to the last digit, a product with 0.1 is not
    tens = 10.0 ** abs(exponent)
    found = [k * base / tens if exponent < 0 else k * base * tens for k in range(first, last + 1)]
    return sorted({min(max(x, low), high) for x in found})


def log_ticks(low: float, high: float, most: int = 7) -> list[float]:
    """Powers of ten from ``low`` to ``high``, both above 0; where there are few also 2 and 5 times these, where there are
    many every second, third ... of them; where there are none, the two ends."""
    if not 0 < low < high:
        return [low]
    slack = 1e-12
    first, last = math.ceil(math.log10(low) - slack), math.floor(math.log10(high) + slack)
    for bases in ((1, 2, 5), (1,)):
        inside = [b * 10.0**e for e in range(first - 1, last + 1) for b in bases]
        inside = [x for x in inside if low * (1 - slack) <= x <= high * (1 + slack)]
        if 2 <= len(inside) <= most:
            return inside
    powers = list(range(first, last + 1))
    if len(powers) < 2:
        return [low, high]
    return [10.0**e for e in powers[:: math.ceil(len(powers) / most)]]


def tick_texts(at: Sequence[float]) -> list[str]:
    """What is written at ticks: all with the same decimals, as many as tell them apart."""
    step = min((b - a for a, b in pairwise(at) if b > a), default=0.0)
    largest = max((abs(x) for x in at), default=0.0)
    if not step:
        return [format(x, ",.6g") for x in at]
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    if decimals <= MOST_DECIMALS and largest < 10**MOST_WHOLE:
        return [format(x, f"z,.{decimals}f") for x in at]
    digits = max(0, math.floor(math.log10(largest)) - math.floor(math.log10(step) + 1e-9))
    return [_with_power(x, digits) for x in at]


def _with_power(x: float, digits: int) -> str:
    """1.5·10¹²."""
    if not x:
        return "0"
    lead, _, power = f"{x:.{digits}e}".partition("e")
    return f"{lead}·10{str(int(power)).translate(_RAISED)}" if int(power) else lead


def fitting_ticks(scale: Scale, most: int, whole: bool = False) -> tuple[list[float], list[str]]:
    """Ticks of a horizontal scale and their texts, as many as have room beside each other."""
    for number in range(most, 1, -1):
        at = ticks(scale.low, scale.high, number, whole)
        texts = tick_texts(at)
        if _apart(scale, at, texts):
            return at, texts
    return at[:1], texts[:1]


def _apart(scale: Scale, at: Sequence[float], texts: Sequence[str]) -> bool:
    ends = [(scale(x), text_width(text, TICK_SIZE) / 2) for x, text in zip(at, texts, strict=True)]
    return all(a + half + APART <= b - other for (a, half), (b, other) in pairwise(ends))


def pull_ticks(scale: Scale, pulls: Sequence[int], most: int = 12) -> tuple[list[float], list[str]]:
    """A tick at every number of pulls, with its number where there is room; of many numbers, at powers of ten."""
    at = [float(T) for T in pulls] if len(pulls) <= most else log_ticks(scale.low, scale.high, most)
    texts, last = [], -math.inf
    for T in at:
        text = pulls_text(round(T))
        half = text_width(text, TICK_SIZE) / 2
        clear = scale(T) - half >= last
        texts.append(text if clear else "")
        last = scale(T) + half + APART if clear else last
    return at, texts
