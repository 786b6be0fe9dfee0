"""What is known of a row, in a sentence: who would get how much more or less, as whom, and what is allowed.

Of an attribute without causes, with nothing kept, what people of group b would get as a is the mean with everybody in group a: it is the
same for the people of every group, and a difference can be told either way. Else it is told of the people that it is about.
"""

from __future__ import annotations

from fairarm.problem.fairness import Row, named_group, reads_first, tells_either_way
from fairarm.problem.problem import Problem
from fairarm.reports.known import Ends, KnownRow, read_ends
from fairarm.reports.words.numbers import between_ends, digits_of, limits, names, plain_number, value

QUOTIENT = ".3f"
"""The digits of one mean as a share of another."""
MOST_KEPT = 8


def row_digits(problem: Problem, signed: bool = False) -> str:
    """How values of rows are written: by the outcome's range, and two digits of the tolerances."""
    return digits_of(problem.outcome, [row.below for row in problem.rows if row.is_gap], signed)


def shown_digits(problem: Problem, row: Row) -> str:
    """How what is shown of a row is written: a quotient, a difference with its sign, or a mean."""
    if row.ratio is not None:
        return QUOTIENT
    return row_digits(problem, signed=row.as_group is None or row.people is not None or bool(row.everyone))


def row_text(problem: Problem, known: KnownRow) -> str:
    """A row in words, with what is allowed: people of group b would get 0.11 more as a (allowed: less than 0.05)."""
    row, x = known.row, known.value
    if x is None:
        return f"{row.name} is not known"
    if row.ratio is not None:
        return f"{_quotient(problem, known)} ({norm(row)})"
    if row.as_group is None:
        return f"{row.name} is {value(x, row_digits(problem, signed=True))} ({norm(row)})"
    t, amount = named_group(problem, row, row.as_group), value(abs(x), row_digits(problem))
    more = f"{amount} {'less' if x < 0 else 'more'}"
    if row.everyone:
        return f"{_everyone(problem, row)} {more} than the mean over everybody ({norm(row)})"
    if row.people is None:
        return f"group {t} gets {value(x, row_digits(problem))} ({norm(row)})"
    u = named_group(problem, row, row.people)
    if row.effect == "spurious":
        return f"people of group {u}, as {t}, would get {more} than people of group {t} get ({norm(row)})"
    if row.effect == "indirect":
        kept = names(row.keep, MOST_KEPT)
        return f"people of group {u}, as {t}, would get {more} with {kept} unchanged than if it followed ({norm(row)})"
    return _gain(problem, row, x)


def row_limits(problem: Problem, known: KnownRow, ends: Ends | None) -> str:
    """The ends of an interval of what is shown, turned as `row_text` speaks of it: of how much more, or how much less."""
    row, x = known.row, known.value or 0.0
    difference = row.ratio is None and (row.people is not None or bool(row.everyone))
    if ends is not None and x < 0 and difference:
        ends = -ends[1], -ends[0]
    return limits(ends, shown_digits(problem, row).removeprefix("+"))


def norm(row: Row) -> str:
    """What is asked of a row: allowed: less than 0.05; asked: more than 0.8."""
    low, high = read_ends(row)
    if row.is_gap or ((row.people is not None or row.everyone) and row.ratio is None and (low is None or high is None)):
        return _allowed(low, high)
    return f"asked: {between_ends(low, high)}"


def _gain(problem: Problem, row: Row, x: float) -> str:
    """A difference of two groups, as what people of one would gain as the other. If it can be told either way, people are the worse off
    where both ends count, else those whose gain has a largest value."""
    turn = reads_first(problem, row)
    people, like, gain = row.people, row.as_group, turn * x
    ends = (row.above, row.below) if turn > 0 else _opposite(row.above, row.below)
    if tells_either_way(problem, row) and (ends[1] is None or (ends[0] is not None and gain < 0)):
        people, like, gain, ends = like, people, -gain, _opposite(*ends)
    u, t = (named_group(problem, row, group) for group in (people, like))
    more = f"{value(abs(gain), row_digits(problem))} {'less' if gain < 0 else 'more'}"
    return f"people of group {u} would get {more} as {t}{_unchanged(row)} ({_allowed(*ends)})"


def _opposite(low: float | None, high: float | None) -> tuple[float | None, float | None]:
    """The ends of a number with the opposite sign."""
    return None if high is None else -high, None if low is None else -low


def _allowed(low: float | None, high: float | None) -> str:
    """How much more or less, or both, a difference may be."""
    if low is None:
        return f"allowed: less than {plain_number(high)} more"
    return f"allowed: less than {plain_number(-low)}{' less' if high is None else ''}"


def _unchanged(row: Row) -> str:
    return f", with {names(row.keep, MOST_KEPT)} unchanged" if row.keep else ""


def _everyone(problem: Problem, row: Row) -> str:
    """Of a row beside the mean: everyone as a group, which plainly is that group."""
    group = named_group(problem, row, row.as_group or row.people)
    if problem.plain:
        return f"group {group} gets"
    return f"everyone as {group}{_unchanged(row)}{',' if row.keep else ''} would get"


def _quotient(problem: Problem, known: KnownRow) -> str:
    """One mean as a share of another; where the share itself is not known, on which side of the asked one it is."""
    row = known.row
    share = value(known.shown, QUOTIENT)
    if known.shown is None:
        share = f"{'more' if known.inside else 'not more'} than {plain_number(row.ratio)}"
    t, u = (named_group(problem, row, group) for group in (row.as_group, row.people))
    if u is None:
        return f"{_everyone(problem, row)} {share} of the mean over everybody"
    if t is None:
        return f"the mean over everybody is {share} of what {_everyone(problem, row)}"
    if tells_either_way(problem, row):
        return f"people of group {t} get {share} of what they would as {u}"
    if reads_first(problem, row) > 0:
        return f"people of group {u} would get, as {t}{_unchanged(row)}, {share} of what they get"
    return f"people of group {u} get {share} of what they would as {t}{_unchanged(row)}"
