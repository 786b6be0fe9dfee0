"""What a column of a log looks like, from what was counted in it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fairarm.logs import values as plain
from fairarm.logs.values import LINES, MISSING_WORDS


@dataclass(frozen=True)
class Profile:
    """What a column looks like. Text that is all numbers or times counts as such; its ``values`` stay text."""

    column: str
    kind: str
    """"integer", "real", "text", "boolean", "time" or "other"."""
    distinct: int | None
    """Number of values, missing ones aside; None where no values are asked for."""
    values: tuple[Any, ...] | None
    """The values, sorted; None if there are more than asked for."""
    low: Any
    """Smallest value: a number, a datetime (UTC if it has a zone), or text."""
    high: Any
    nulls: int
    strays: int = 0
    """Rows of text that are neither of this kind nor missing, where some may be."""


def profile_of(
    column: str,
    kind: str,
    rows: int,
    seen: dict[str, Any],
    values: tuple[Any, ...] | None,
    counted: bool,
    stray: float,
) -> Profile:
    """A column whose text is all numbers or times, words for missing and few strays aside, counts as one of those."""
    filled, distinct, strays = int(seen["filled"] or 0), int(seen[LINES]), 0
    if kind == "text" and filled:
        said = filled - int(seen["words"])
        most = max(seen[k] for k in ("integer", "real", "time"))
        looks = [k for k in ("integer", "real", "time") if seen[k] == most > 0 and said - most <= stray * filled]
        kind = looks[0] if looks else "text"
        strays = said - int(most) if looks else 0
        filled -= int(seen["words"]) if looks else 0
        if looks and values is not None:
            values = tuple(value for value in values if value.strip().lower() not in MISSING_WORDS)
            distinct = len(values)
    low, high = (_bound(kind, seen, end) for end in ("low", "high"))
    return Profile(column, kind, distinct if counted else None, values, low, high, rows - filled, strays)


def _bound(kind: str, seen: dict[str, Any], end: str) -> Any:
    name = {"text": "text", "time": "moment"}.get(kind, "number")
    value = seen.get(f"{end}_{name}")
    if kind == "time" and value is not None:
        return plain.naive(datetime.fromisoformat(value[:26]) if isinstance(value, str) else value)
    as_kind = {"integer": int, "boolean": bool, "real": float}.get(kind)
    return value if value is None or as_kind is None else as_kind(value)
