"""Numbers and names in plain words, and parts of a sentence that stand out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from fairarm.problem.outcome import Outcome
from fairarm.problem.pair import pair_of
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Pulls

LARGE = 1000.0
MOST_DECIMALS = 10
"""Numbers that need more are written with a power of ten."""
UNKNOWN = "?"

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def value(x: float | None, digits: str = ".4f") -> str:
    """0.5076, 12345.7, ? where it is not known, inf."""
    if x is None or math.isnan(x):
        return UNKNOWN
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    return format(x, digits.replace(".4f", ".6g") if digits in (".4f", "+.4f") and abs(x) >= LARGE else digits)


def digits_of(outcome: Outcome | None, lengths: Iterable[float | None] = (), signed: bool = False) -> str:
    """How `value` writes a column of numbers in the outcome's units: the same decimals for all its rows.

    They tell apart a ten-thousandth of the outcome's range, and two digits of the median of ``lengths``, the widths of the
    intervals or whatever else must be told from 0: 0.5076 for a share, 48,214 for money up to 100,000, 0.00431 for a rate
    known to 0.0002.
    """
    known = [x for x in lengths if x is not None and math.isfinite(x) and x > 0]
    steps = [*([1e-4 * outcome.width] if outcome else []), *([0.1 * median(known)] if known else [])]
    decimals = max(0, -math.floor(math.log10(min(steps, default=1e-4)) + 1e-9))
    shape = f"z,.{decimals}f" if decimals <= MOST_DECIMALS else ".6g"
    return f"+{shape}" if signed else shape


def interval_digits(
    outcome: Outcome | None, intervals: Iterable[tuple[float, float] | None], signed: bool = False
) -> str:
    """`digits_of` a column of numbers with these intervals."""
    return digits_of(outcome, [None if ends is None else ends[1] - ends[0] for ends in intervals], signed)


def unit_of(outcome: Outcome) -> str:
    """What the numbers of an outcome are: click (from 0 to 1)."""
    return f"{outcome.node} (from {value(outcome.low, ',.10g')} to {value(outcome.high, ',.10g')})"


def gap_unit_of(problem: Problem) -> str:
    """What a gap is: gap woman - man, in click (from 0 to 1)."""
    return f"gap {' - '.join(pair_of(problem))}, in {unit_of(problem.outcome)}"


def plain_number(x: float | None) -> str:
    """A number that was declared: 0.05, 1.2, 3,000,000."""
    if x is None:
        return UNKNOWN
    return f"{x:,.6g}" if abs(x) < LARGE**2 else f"{x:,.0f}"


def between(low: float | None, high: float | None, digits: str = ".4f") -> str:
    """An interval in words: "low to high"."""
    return f"{value(low, digits)} to {value(high, digits)}"


def between_ends(low: float | None, high: float | None) -> str:
    """More than 0.2, less than 0.3, a number between both: ends that were declared."""
    if low is None or high is None:
        return f"more than {plain_number(low)}" if low is not None else f"less than {plain_number(high)}"
    return f"a number between {plain_number(low)} and {plain_number(high)}"


def limits(ends: tuple[float, float] | None, digits: str = ".4f") -> str:
    """The same of a pair, unknown at both ends where there is none."""
    low, high = ends or (None, None)
    return between(low, high, digits)


def whole(number: float) -> str:
    """12,345."""
    return f"{number:,.0f}" if math.isfinite(number) else value(number)


def weight(number: float) -> str:
    """2.51, 810, 12,345."""
    return value(number, ".3g") if not number >= LARGE else whole(number)


def percent(share: float) -> str:
    """95 %, 97.5 %."""
    return f"{100 * share:.4g} %"


def names(given: Sequence[str], most: int = 8) -> str:
    """The first few of a list, and how many more there are."""
    shown = ", ".join(given[:most])
    return (shown or "none") + (f" and {len(given) - most} more" if len(given) > most else "")


def count(number: int, noun: str) -> str:
    """A number with its noun, in the plural but for 1."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def plan_text(plan: Sequence[Pulls], most: int = 4) -> str:
    """The largest units of a plan, and how many others there are."""
    largest = sorted(plan, key=lambda p: -p.count)
    shown = ", ".join(f"{p.count} x {p.arm} ({p.regime})" for p in largest[:most])
    return shown + (f" and {count(len(plan) - most, 'other unit')}" if len(plan) > most else "") if plan else "nothing"


def pulls_text(T: int) -> str:
    """1 000, 31 623, 10⁸, 3.3·10¹⁴."""
    if T < 10**6:
        return f"{T:,}".replace(",", " ")
    lead, _, power = f"{T:.1e}".partition("e+")
    raised = "10" + str(int(power)).translate(_RAISED)
    return raised if float(lead) == 1 else f"{lead}·{raised}"


@dataclass(frozen=True)
class Marked:
    """A part of a sentence that stands out where there are styles."""

    text: str


def unmarked(parts: Iterable[str | Marked]) -> str:
    """A sentence where there are no styles."""
    return "".join(part.text if isinstance(part, Marked) else part for part in parts)
