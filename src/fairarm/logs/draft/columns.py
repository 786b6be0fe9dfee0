"""What the columns of a log hold: values with their rows, and how a column can serve as a node.

Spellings of one value become labels, strays and missing values are left out on purpose, except of the decision and the
outcome; both are only proposed. What a column cannot be is said in words, for the one who asks why it was not chosen.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal
from unicodedata import normalize

from fairarm.logs.coding import COMMA, PERCENTAGE, texts
from fairarm.logs.draft.naming import plain_name, shown
from fairarm.logs.table import LogTable
from fairarm.logs.values import MISSING_WORDS
from fairarm.problem.fairness import MAX_GROUPS
from fairarm.problem.mechanism import reads_as_no_fair_arm
from fairarm.problem.regimes import NATURAL

MOST_LISTED = 1000
"""Values of a column that are looked at, and states of a decision."""

MOST_COUNTS = 100_000
"""The same of a column with a count's name: each of its values must be a number of rows."""

MOST_STATES = 12
MOST_STRAYS = 50
"""Different texts beside the numbers of a column; with more it is text."""

RARE = 0.05
"""Strays are at most this share of a column's rows."""

TINY = 0.001
"""A value this rare may be left out where a column has too many."""

LONGEST = 200
"""Characters of a value that can be a state."""

COUNT = ("count", "counts", "n", "n_rows", "num", "number", "applicants", "people", "persons", "students", "patients", "customers", "freq", "frequency", "weight", "weights")  # fmt: skip
"""Names of a column that says how many rows a line stands for."""

UNKNOWN = {*MISSING_WORDS, *["?", "-", "--", ".", "unk", "unknown", "missing", "n.a.", "#n/a", "nil", "undefined", "undisclosed"], "not known", "not stated", "not available", "prefer not to say"}  # fmt: skip
"""Words for a value that is not known, in lower case."""
PENDING = {"pending", "tbd", "tba", "in progress", "not yet"}
"""Words for a decision or an outcome that is not known yet."""

Spelt = dict[str, dict[str, int]]
"""What is one value to a reader -> its spellings and their rows."""

Role = Literal["sensitive", "decision", "outcome", "input", "arm"]


@dataclass(frozen=True)
class Column:
    """One column of a log."""

    name: str
    kind: str
    """"integer", "real", "text", "boolean", "time" or "other"."""
    rows: int
    """Of the log."""
    missing: int
    """Rows without a value."""
    distinct: int
    values: tuple[tuple[str, int], ...]
    """The values as text and their rows, most rows first; all of them if they are ``distinct``."""
    low: Any
    high: Any
    strays: tuple[tuple[str, int], ...] = ()
    """Texts beside numbers, words for missing among them."""

    @property
    def filled(self) -> int:
        """Rows that have a value."""
        return self.rows - self.missing


@dataclass(frozen=True)
class States:
    """A column as a node with states."""

    rows: dict[str, int]
    """State -> its rows, in the order of the states."""
    labels: dict[str, str] = field(default_factory=dict)
    """Value in the log -> state, where they differ."""
    drop: dict[str, int] = field(default_factory=dict)
    """Value whose rows are left out -> their number; "" is a missing one."""
    unusable: dict[str, int] = field(default_factory=dict)
    """The same of a decision or an outcome. Leaving rows out by either on purpose would make answers wrong: `evaluate`
    leaves them out, and says so."""


@dataclass(frozen=True)
class Numbers:
    """A column as a real-valued outcome or input."""

    low: float
    high: float
    unusable: dict[str, int] = field(default_factory=dict)

    @property
    def drop(self) -> dict[str, int]:
        """Nothing: a range leaves no value out, where states may."""
        return {}


# ---- a look at every column ----


def survey(table: LogTable) -> dict[str, Column]:
    """Every column by name."""
    rows = table.rows()
    return {name: _looked_at(table, name, rows) for name in table.columns}


def _looked_at(table: LogTable, name: str, rows: int) -> Column:
    seen = table.profile(name, 1, RARE)
    if seen.kind == "other" or not rows:
        return Column(name, seen.kind, rows, seen.nulls, seen.distinct or 0, (), seen.low, seen.high)
    most = MOST_COUNTS if has_count_name(name) else MOST_LISTED
    listed = table.common(name, most)
    strays = _strays(table, name, listed, most) if seen.kind in ("integer", "real") else ()
    if len(strays) > MOST_STRAYS:
        seen, strays = table.profile(name, 1), ()
    odd = {text for text, _ in strays}
    held = _added((texts(value)[0], count) for value, count in listed if value not in odd)
    values = tuple(each for each in held if each[0].strip())
    worded = sum(count for text, count in strays if _is_missing(text))  # a column of numbers counts these as missing
    blank = sum(count for text, count in (*held, *strays) if not text.strip())
    return Column(
        name=name,
        kind=seen.kind,
        rows=rows,
        missing=seen.nulls - worded + blank,
        distinct=len(values) if len(listed) < most else (seen.distinct or 0) - len(strays),
        values=values,
        low=seen.low,
        high=seen.high,
        strays=tuple(each for each in strays if each[0].strip()),
    )


def _strays(table: LogTable, name: str, listed: tuple[tuple[Any, int], ...], most: int) -> tuple[tuple[str, int], ...]:
    """Texts of a column of numbers that are none; asked for again only where not all values are listed."""
    from fairarm.logs.values import NUMBER

    if not any(isinstance(value, str) for value, _ in listed):
        return ()
    if len(listed) == most:
        return table.common(name, MOST_STRAYS + 1, numbers=False)
    return tuple(each for each in listed if not re.match(NUMBER, each[0].strip()))


def _added(values: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Values that are written alike together, most rows first."""
    total: dict[str, int] = defaultdict(int)
    for text, count in values:
        total[text] += count
    return sorted(total.items(), key=lambda each: -each[1])


# ---- a column as a node ----


def as_states(column: Column, role: Role) -> States | str:
    """The column as a node with states, or why it cannot be one."""
    if trouble := _not_finite(column):
        return trouble
    if role == "input" and column.missing > RARE * column.rows:
        return f"it is missing in {column.missing / column.rows:.0%} of the rows"
    spelt, most = _spellings(column), MOST_LISTED if role == "decision" else MOST_STATES
    drop = dict(column.strays)
    if role == "sensitive":  # a rare group is a group
        for text, _ in column.strays:
            spelt.setdefault(_folded(text), {})[text] = drop.pop(text)
    unknown = [key for key in spelt if is_unknown(key, role) and not (key == "-" and "+" in spelt)]
    if role not in ("input", "arm") or sum(_rows(spelt[key]) for key in unknown) <= RARE * column.filled:
        drop |= _removed(spelt, unknown)
    if role == "sensitive" and len(spelt) > 2:
        _join_abbreviations(spelt)
    if role == "outcome" and len(spelt) > 2 and not _numeric(column):
        _join_abbreviations(spelt)
        once = [key for key in spelt if _rows(spelt[key]) == 1]  # a typing error; every other value is an outcome
        drop |= _removed(spelt, once) if len(spelt) - len(once) > 1 else {}
    if role == "sensitive" and len(spelt) > MAX_GROUPS:
        return f"it has {len(spelt)} groups ({_listed(spelt)}), and at most {MAX_GROUPS} are compared"
    if role not in ("sensitive", "outcome") and len(spelt) > most:
        drop |= _without_tiny(spelt, column)
    if role != "sensitive" and len(spelt) > most:
        return f"it has {len(spelt)} different values, and a table takes at most {most}"
    if len(spelt) < (1 if role == "arm" else 2):
        return f"it has {'one value only' if spelt else 'no values'}{_beside(drop)}"
    drop |= {"": column.missing} if column.missing else {}
    rows, labels = _stated(
        spelt,
        _numeric(column) and not (role == "sensitive" and column.strays),
        {NATURAL} if role == "sensitive" else _no_fair_arm(spelt),
    )
    return States(rows, labels, unusable=drop) if role in ("decision", "outcome") else States(rows, labels, drop)


def is_unknown(text: str, role: str) -> bool:
    """Whether it is a word for a value that is not known; ``none`` may be one that is."""
    return _folded(text) in (UNKNOWN | PENDING if role in ("decision", "outcome") else UNKNOWN) - {"none"}


def _without_tiny(spelt: Spelt, column: Column) -> dict[str, int]:
    """Very rare values, left out if that brings a column to few states."""
    tiny = [key for key in spelt if _rows(spelt[key]) <= TINY * column.filled]
    few = sum(_rows(spelt[key]) for key in tiny) <= RARE * column.filled
    return _removed(spelt, tiny) if few and len(spelt) - len(tiny) <= MOST_STATES else {}


def as_numbers(column: Column) -> Numbers | str:
    """The column as a real-valued outcome, or why it cannot be one."""
    if not _numeric(column):
        return _no_number(column)
    if column.low is None:
        return "it has no values"
    low, high = float(column.low), float(column.high)
    if not (math.isfinite(low) and math.isfinite(high)):
        return "it holds infinite numbers"
    if not math.isfinite(high - low):
        return f"its numbers are too far apart, from {low:g} to {high:g}"
    if low == high:
        return "it has one value only"
    return Numbers(low, high, dict(column.strays) | ({"": column.missing} if column.missing else {}))


def has_count_name(name: str) -> bool:
    """Whether a column is called as one that says how often a line occurred."""
    return name.lower().strip() in COUNT


def as_counts(column: Column) -> dict[str, int] | str:
    """The lines whose count is none, by value; or why the column cannot hold counts. Few may be none."""
    if not _numeric(column) or column.low is None:
        return "its values are not whole numbers"
    if column.distinct > len(column.values) and (column.kind == "real" or column.low < 0):
        return f"it has more than {MOST_COUNTS:,} different values, which cannot all be looked at"
    if "weight" in column.name.lower() and column.low > 1:  # a person's, more likely
        return f"its least value is {column.low:g}: it may be a measurement"
    bad = {text: rows for text, rows in column.values if not _is_whole(text)} | dict(column.strays)
    bad |= {"": column.missing} if column.missing else {}
    if _rows(bad) > max(1, RARE * column.rows) or len(bad) > MOST_STRAYS:
        return f"{_rows(bad):,} of its {column.rows:,} lines hold no whole number of 0 or more"
    return bad


def _is_whole(text: str) -> bool:
    number = float(text)
    return number >= 0 and number.is_integer()


def as_outcome(column: Column) -> States | Numbers | str:
    """States where they are few, else a range; or why it can be neither."""
    states = as_states(column, "outcome")
    if isinstance(states, States) and not (column.kind == "real" and len(states.rows) > 2):
        return states
    numbers = as_numbers(column)
    wordy = column.kind == "text" and column.distinct > MOST_STATES
    return (
        states
        if isinstance(states, str) and not (isinstance(numbers, Numbers) or wordy or _numeric(column))
        else numbers
    )


def looks_like(values: Iterable[str]) -> str:
    """What texts that are no numbers probably are, in words; empty where nothing fits."""
    held = [text.strip() for text in values]
    for pattern, what in _ALMOST:
        if held and sum(bool(re.match(pattern, text)) for text in held) > 0.9 * len(held):
            return what
    return ""


_ALMOST = (
    (PERCENTAGE, "percentages"),
    (r"^[-+]?[1-9]\d{0,2}(?:[,' ]\d{3})+(?:\.\d+)?$", "numbers with signs between thousands"),
    (COMMA, "numbers with a decimal comma"),
    (r"^[-+]?\s?(?:[$€£¥]|[A-Z]{3})\s?-?\d[\d.,' ]*$|^-?\d[\d.,' ]*\s?(?:[$€£¥]|[A-Z]{3})$", "amounts with a currency"),
    (r"^\d{1,2}[./-]\d{1,2}[./-]\d{2,4}(?:\s.*)?$", "dates that are not written as 2030-01-31"),
)


def _not_finite(column: Column) -> str:
    if column.missing == column.rows:
        return "it has no values"
    if column.kind in ("time", "other"):
        return "it holds times" if column.kind == "time" else "its values are neither text nor numbers"
    if column.distinct > len(column.values):
        return _too_many(column)
    if any(len(text) > LONGEST for text, _ in column.values):
        return f"it holds text of more than {LONGEST} characters"
    return ""


def _too_many(column: Column) -> str:
    what = looks_like(text for text, _ in column.values) if column.kind == "text" else ""
    return f"it has {column.distinct:,} different values{what and f', which look like {what}'}"


def _no_number(column: Column) -> str:
    trouble = _not_finite(column)
    example = f", such as {shown(column.values[0][0])}" if column.values else ""
    what = looks_like(text for text, _ in column.values)
    look = f"; they look like {what}, which are not read as numbers" if what else ""
    return trouble if not column.values else f"it holds {column.distinct:,} different texts{example}{look}"


def _numeric(column: Column) -> bool:
    return column.kind in ("integer", "real")


def _is_missing(text: str) -> bool:
    return text.strip().lower() in MISSING_WORDS


def _spellings(column: Column) -> Spelt:
    found: Spelt = defaultdict(dict)
    key: Callable[[str], str] = _as_number if _numeric(column) else _folded
    for text, count in column.values:
        found[key(text)][text] = count
    return dict(found)


def _folded(text: str) -> str:
    return " ".join(normalize("NFKC", text).casefold().split()) or text


def _as_number(text: str) -> str:
    """The same for all spellings of one number, however long it is."""
    try:
        return str(Fraction(Decimal(text.strip())))
    except (ValueError, ArithmeticError):  # a word; an infinite number
        return _folded(text)


def _rows(spellings: Mapping[str, int]) -> int:
    return sum(spellings.values())


def _removed(spelt: Spelt, keys: Iterable[str]) -> dict[str, int]:
    """Their spellings and rows, which are no longer among the values."""
    return {text: count for key in keys for text, count in spelt.pop(key).items()}


def _join_abbreviations(spelt: Spelt) -> None:
    """F joins Female where nothing else begins with it."""
    for key in [key for key in spelt if len(key) == 1]:
        longer = [other for other in spelt if len(other) > 1 and other.startswith(key)]
        if len(longer) == 1:
            spelt[longer[0]] |= spelt.pop(key)


def _stated(spelt: Spelt, numeric: bool, reserved: set[str]) -> tuple[dict[str, int], dict[str, str]]:
    """States with their rows, and labels: each value's commonest spelling is its state, made fit to be a name."""
    rows: dict[str, int] = {}
    labels: dict[str, str] = {}
    commonest = {max(sorted(each), key=each.__getitem__): each for each in spelt.values()}
    for text in sorted(commonest, key=lambda text: (float(text), text) if numeric else (0.0, text)):
        state = plain_name(text, {*rows, *reserved}, "value")
        rows[state] = _rows(commonest[text])
        labels |= {other: state for other in sorted(commonest[text]) if other != state}
    return rows, labels


def _no_fair_arm(spelt: Spelt) -> set[str]:
    """Names that an arm cannot have."""
    return {plain_name(text, (), "value") for each in spelt.values() for text in each if reads_as_no_fair_arm(text)}


def _listed(spelt: Spelt) -> str:
    """The largest groups, for a message."""
    total = sum(_rows(each) for each in spelt.values())
    ordered = sorted(spelt.values(), key=lambda each: -_rows(each))
    parts = [f"{shown(max(each, key=each.__getitem__))} {_rows(each) / total:.0%}" for each in ordered[:4]]
    return ", ".join(parts) + (", …" if len(spelt) > 4 else "")


def _beside(drop: Mapping[str, int]) -> str:
    return f" beside {', '.join(shown(text) for text in [*drop][:3])}" if drop else ""
