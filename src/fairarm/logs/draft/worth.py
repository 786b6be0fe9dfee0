"""What the states of an outcome are worth, and what speaks against it: more is better, and some outcomes are bad."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from math import isfinite

from fairarm.logs.draft.columns import Column, Numbers, States
from fairarm.logs.draft.naming import shown
from fairarm.logs.table import LogTable

YES = ("1", "yes", "y", "true", "t")
"""Words that say that the outcome named by the column came about."""

GOOD = ("success", "won", "win", "paid", "repaid", "approved", "admitted", "present", "sale")
"""Words for the better of two outcomes."""

BAD = ("default", "loss", "lost", "churn", "arrear", "fraud", "complain", "dropout", "dropped", "delinquen", "attrition", "chargeoff", "charged", "writeoff", "bankrupt", "cancel", "refund", "relapse", "readmi", "recidiv", "reoffend", "rearrest", "death", "dead", "died", "mortality", "injur", "accident", "error", "fail", "overdue", "unpaid", "absent", "cost", "bad")  # fmt: skip
"""How words begin that name a bad outcome."""

NOT = ("no", "not", "non", "never", "without")

APART = 0.1
"""A repeated end of a range is notable where it is this share of the other values' range away from them."""


def sounds_bad(text: str) -> bool:
    """Whether a name, or a value, speaks of something bad: "churned", "loan_default", "drop out"; not "no default"."""
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).lower())
    pairs = ["".join(pair) for pair in pairwise(words)]
    return not set(words) & set(NOT) and any(word.startswith(BAD) for word in (*words, *pairs))


def worth(states: list[str], column: str) -> dict[str, float]:
    """What each state is worth: numbers as they are, turned where the column's name sounds bad; words by position, one that
    sounds bad first and one that sounds good last."""
    bad = sounds_bad(column)
    if values := _numbers(states):
        if not bad:
            return values
        return {state: (1.0 if set(values.values()) == {0.0, 1.0} else 0.0) - value for state, value in values.items()}
    ordered = sorted(states, key=lambda state: _sound(state, bad))
    return {state: float(ordered.index(state)) for state in states}


def doubts(column: Column, made: States | Numbers | None, table: LogTable) -> list[str]:
    """What speaks against the worth or the range of an outcome, the most important first."""
    name, bad = shown(column.name), sounds_bad(column.name)
    if isinstance(made, Numbers):
        said = [f"more is better: by its name, more {name} is worse. If so, turn its sign in the log"] if bad else []
        return said + _odd_ends(name, made.low, made.high, column, _without_ends(column, table))
    states = list(made.rows) if made else []
    if values := sorted(_numbers(states).values()):
        said = (
            [f"the worth of {name} was turned: by its name, more of it is worse. Means and gaps are of its worth"]
            if bad
            else []
        )
        return said + (_odd_states(name, values, column) if len(values) > 2 else [])
    if len(states) > 2 or len({_sound(state, bad) for state in states}) < len(states):
        return [
            f"what each {name} is worth: its states were only put in an order, by how they sound or by the alphabet. Fill in the values"
        ]
    return (
        [f"the worth of {name} was turned: by its name, {name} is bad. Means and gaps are of its worth"] if bad else []
    )


def _numbers(states: list[str]) -> dict[str, float]:
    """The states as numbers; none where they are not."""
    try:
        values = {state: float(state) for state in states}
    except ValueError:
        return {}
    return values if len(set(values.values())) > 1 and all(map(isfinite, values.values())) else {}


def _sound(state: str, bad: bool) -> int:
    """1 for a state that sounds good, -1 for one that sounds bad, else 0."""
    if state.lower() in YES:
        return -1 if bad else 1
    return -1 if sounds_bad(state) else int(state.lower() in GOOD)


# ---- the ends of a range ----


def _without_ends(column: Column, table: LogTable) -> list[float]:
    """The least and the greatest of the values that are neither end."""
    ends = (float(column.low), float(column.high))
    spelt = [text for text, _ in column.values if _same(text, ends)] + [repr(end) for end in ends]
    inner = table.without([(column.name, text) for text in spelt]).profile(column.name, 1, 1.0)
    return [float(inner.low), float(inner.high)] if inner.kind in ("integer", "real") and inner.low is not None else []


def _same(text: str, ends: Iterable[float]) -> bool:
    try:
        return float(text) in ends
    except ValueError:  # a word beside the numbers
        return False


def _odd_ends(name: str, low: float, high: float, column: Column, inner: list[float]) -> list[str]:
    """Ends that stand apart from the values between them: codes for a missing one, or slips."""
    if not inner:
        return []
    far = {low: inner[0] - low, high: high - inner[-1]}
    limit = {end: (APART if _lines(column, end) > 1 else 1.0) * (inner[-1] - inner[0]) for end in far}
    return [_stands_apart(name, end, column, inner) for end in far if end != 0 and far[end] > limit[end]]


def _odd_states(name: str, values: list[float], column: Column) -> list[str]:
    """The same of a few numbers, each of which has many lines: an end is compared with all others."""
    ends = ((values[0], values[1:], values[1] - values[0]), (values[-1], values[:-1], values[-1] - values[-2]))
    return [_stands_apart(name, end, column, rest) for end, rest, far in ends if end != 0 and far > rest[-1] - rest[0]]


def _lines(column: Column, end: float) -> int:
    return sum(count for text, count in column.values if _same(text, [end]))


def _stands_apart(name: str, end: float, column: Column, others: list[float]) -> str:
    rows = _lines(column, end)
    lines = f" ({rows:,} line{'' if rows == 1 else 's'})" if rows else ""
    return (
        f"the range of {name}: {end:.10g}{lines} stands apart from its other values, {others[0]:.10g} to {others[-1]:.10g}. If it is a code "
        f"for a missing value, or a slip, mend the log or narrow the range"
    )
