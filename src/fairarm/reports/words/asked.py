"""What is asked of the groups' means, question by question, and what is known of a row, in plain sentences.

What people of group b would get as a is the mean with everybody in group a: the attribute has no causes, so that it is the same
for the people of every group.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairarm.problem.constraint import Constraint, weighted_sum
from fairarm.problem.fairness import Row
from fairarm.problem.problem import Problem
from fairarm.reports.known import Ends, KnownRow, read_ends
from fairarm.reports.words.numbers import digits_of, limits, names, plain_number, value

QUOTIENT = ".3f"
"""The digits of one mean as a share of another."""
MOST_GROUPS = 8


def clause(problem: Problem, asked: Constraint, it: str = "it", sensitive: str | None = None) -> str:
    """One question as a part of a sentence; ``it`` is the outcome, ``sensitive`` what stands for the attribute's name."""
    sensitive = problem.sensitive if sensitive is None else sensitive
    if asked.compare == "weights":
        return _weights(problem, asked, it, sensitive)
    among = tuple(group for group in problem.groups if not asked.groups or group in asked.groups)
    each = f"group of {sensitive} ({names(among, MOST_GROUPS)})"
    if asked.compare == "floor":
        return f"each {each} gets more than {plain_number(asked.at_least)}"
    if asked.compare == "mean":
        return _mean(asked, each)
    if asked.compare == "reference":
        others = [group for group in among if group != asked.reference]
        return _reference(sensitive, asked, _either(others), str(asked.reference), it)
    if asked.ratio is not None:
        return f"people of each {each} get more than {plain_number(asked.ratio)} of what they would as any other"
    listed = names(among, MOST_GROUPS)
    return f"changing {sensitive} from one group to another ({listed}) changes {it} by less than {plain_number(asked.tolerance)}"


def _either(groups: Sequence[str]) -> str:
    """b, c or d."""
    if len(groups) > MOST_GROUPS:
        return f"any other ({names(groups, MOST_GROUPS)})"
    *first, last = groups
    return f"{', '.join(first)} or {last}" if first else last


def _reference(sensitive: str, asked: Constraint, others: str, own: str, it: str) -> str:
    if asked.tolerance is not None:
        by = f"less than {plain_number(asked.tolerance)}"
        if asked.direction == "both":
            return f"changing {sensitive} from {others} to {own} changes {it} by {by}"
        who, like = (others, own) if asked.direction == "not_below" else (own, others)
        return f"people of group {who} would get {by} more as {like}"
    who, like = (own, others) if asked.direction == "not_above" else (others, own)
    back = ", and the other way round" if asked.direction == "both" else ""
    return f"people of group {who} get more than {plain_number(asked.ratio)} of what they would as {like}{back}"


def _mean(asked: Constraint, each: str) -> str:
    if asked.tolerance is not None:
        by = f"{plain_number(asked.tolerance)}"
        if asked.direction == "both":
            return f"what each {each} gets differs from the mean over everybody by less than {by}"
        return f"no {each} gets {by} or more {asked.direction.removeprefix('not_')} the mean over everybody"
    above = f"each {each} gets more than {plain_number(asked.ratio)} of the mean over everybody"
    if asked.direction == "not_below":
        return above
    if asked.direction == "not_above":
        return f"the mean over everybody is more than {plain_number(asked.ratio)} of what each {each} gets"
    return f"{above}, and this mean is more than {plain_number(asked.ratio)} of what each group gets"


def _weights(problem: Problem, asked: Constraint, it: str, sensitive: str) -> str:
    if asked.is_gap:
        first, second = (group for group in problem.groups if dict(asked.weights).get(group))
        return f"changing {sensitive} between {first} and {second} changes {it} by less than {plain_number(asked.tolerance)}"
    ends = (asked.at_least, asked.at_most) if asked.tolerance is None else (-asked.tolerance, asked.tolerance)
    return f"the means by {sensitive}, added as {weighted_sum(asked)}, give {_between(*ends)}"


def _between(low: float | None, high: float | None) -> str:
    """More than 0.2, less than 0.3, a number between both."""
    if low is None or high is None:
        return f"more than {plain_number(low)}" if low is not None else f"less than {plain_number(high)}"
    return f"a number between {plain_number(low)} and {plain_number(high)}"


# ---- one row ----


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
    digits = row_digits(problem)
    if row.ratio is not None:
        return _quotient(row, value(known.shown, QUOTIENT))
    if row.as_group is None:
        return f"{row.name} is {value(x, row_digits(problem, signed=True))} ({norm(row)})"
    if row.everyone:
        word = "less" if x < 0 else "more"
        return f"group {row.as_group} gets {value(abs(x), digits)} {word} than the mean over everybody ({norm(row)})"
    if row.people is None:
        return f"group {row.as_group} gets {value(x, digits)} ({norm(row)})"
    return _gain(row, x, digits)


def row_limits(problem: Problem, known: KnownRow, ends: Ends | None) -> str:
    """The ends of an interval of what is shown, turned as `row_text` speaks of it."""
    row, x = known.row, known.value or 0.0
    if ends is not None and x < 0 and row.ratio is None and (row.people is not None or row.everyone):
        ends = -ends[1], -ends[0]
    return limits(ends, shown_digits(problem, row).removeprefix("+"))


def _gain(row: Row, x: float, digits: str) -> str:
    """A difference of two groups, as what the worse off would gain; with one end, as what is bounded."""
    people, like, gain = row.people, row.as_group, x
    if row.below is None or (row.above is not None and x < 0):
        people, like, gain = like, people, -x
    word = "less" if gain < 0 else "more"
    one_sided = " more" if row.above is None or row.below is None else ""
    most = row.below if row.below is not None else -(row.above or 0.0)
    gained = f"would get {value(abs(gain), digits)} {word} as {like}"
    return f"people of group {people} {gained} (allowed: less than {plain_number(most)}{one_sided})"


def _quotient(row: Row, share: str) -> str:
    if row.people is None:
        return f"group {row.as_group} gets {share} of the mean over everybody ({norm(row)})"
    if row.as_group is None:
        return f"the mean over everybody is {share} of what group {row.people} gets ({norm(row)})"
    return f"people of group {row.as_group} get {share} of what they would as {row.people} ({norm(row)})"


def norm(row: Row) -> str:
    """What is asked of a row: allowed: less than 0.05; asked: more than 0.8."""
    low, high = read_ends(row)
    if row.is_gap:
        return f"allowed: less than {plain_number(row.below)}"
    if (row.people is not None or row.everyone) and row.ratio is None and (low is None or high is None):
        return (
            f"allowed: less than {plain_number(high)} more"
            if low is None
            else f"allowed: less than {plain_number(-low)} less"
        )
    return f"asked: {_between(low, high)}"
