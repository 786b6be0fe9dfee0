"""Lengths of time as people write them, 10s, 30m, 12h, 7d: in days."""

from __future__ import annotations

import math
import re

from fairarm.errors import OptionError

UNITS = {"s": 1 / 86_400, "m": 1 / 1_440, "h": 1 / 24, "d": 1.0}
"""Days of each."""

LONGEST = 3_660.0
"""Ten years."""


def days_of(text: str | float, what: str) -> float:
    """The days of a text like 7d or 12h, or of a number of days; ``what`` names it where it is none."""
    if isinstance(text, bool) or not isinstance(text, int | float | str):
        raise _wrong(text, what)
    days = _parsed(text) if isinstance(text, str) else float(text)
    if days is None or not math.isfinite(days) or not 0 < days <= LONGEST:
        raise _wrong(text, what)
    return days


def _parsed(text: str) -> float | None:
    found = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*([smhd])\s*", text)
    return None if found is None else float(found[1]) * UNITS[found[2]]


def shown_days(days: float) -> str:
    """As `days_of` reads it back, in the largest unit that it is a whole number of, to the second."""
    seconds = round(days * 86_400)
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def _wrong(text: object, what: str) -> OptionError:
    return OptionError(
        f"The {what} is {text!r:.40}. It is a number with s, m, h or d, more than 0 and at most ten years, e.g. 12h or 7d."
    )
