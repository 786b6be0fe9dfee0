"""What is asked of the groups' means, question by question, and what is known of a row, in plain sentences.

Of an attribute without causes, with nothing kept, what people of group b would get as a is the mean with everybody in group a: it is the
same for the people of every group, and a difference can be told either way. Else it is told of the people that it is about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fairarm.problem.constraint import MEDIATORS, Constraint, weighted_sum
from fairarm.problem.fairness import Row
from fairarm.problem.problem import Problem
from fairarm.problem.profiles import labels_of
from fairarm.reports.known import Ends, KnownRow, read_ends
from fairarm.reports.words.numbers import digits_of, limits, names, plain_number, value

QUOTIENT = ".3f"
"""The digits of one mean as a share of another."""
MOST_GROUPS = 8


def clause(problem: Problem, asked: Constraint, it: str = "it", mark: str = "") -> str:
    """One question as a part of a sentence; ``it`` is the outcome, ``mark`` goes before and after each attribute's name."""
    asked_about = [asked.about] if asked.about else [(name,) for name in problem.attributes]
    return "; ".join(_clause(problem, asked, about, it, mark) for about in asked_about)


def _clause(problem: Problem, asked: Constraint, about: tuple[str, ...], it: str, mark: str) -> str:
    """The question about one attribute, or about several jointly."""
    sensitive = " and ".join(f"{mark}{name}{mark}" for name in about)
    groups = labels_of({name: problem.attribute_states[name] for name in problem.attributes if name in about})
    return _comparison(asked, groups, sensitive, it) + _kept(asked)


def _kept(asked: Constraint) -> str:
    """What stays as it is meanwhile, and which part of a difference is meant."""
    kept = (
        "everything else below it" if asked.keep == MEDIATORS else names(asked.keep, MOST_GROUPS) if asked.keep else ""
    )
    held = "the other attributes" if asked.others == "held" else ""
    stays = " and ".join(part for part in (kept, held) if part)
    effect = "" if asked.effect == "total" else f", by its {asked.effect} effect"
    return f"{effect}{f', with {stays} unchanged' if stays else ''}"


def _comparison(asked: Constraint, groups: tuple[str, ...], sensitive: str, it: str) -> str:
    if asked.compare == "weights":
        return _weights(groups, asked, it, sensitive)
    among = tuple(group for group in groups if not asked.groups or group in asked.groups)
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


def _weights(groups: tuple[str, ...], asked: Constraint, it: str, sensitive: str) -> str:
    if asked.is_gap:
        first, second = (group for group in groups if dict(asked.weights).get(group))
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
    row, x = _with_attribute(problem, known.row), known.value
    if x is None:
        return f"{row.name} is not known"
    digits, either_way = row_digits(problem), _either_way(problem, row)
    if not either_way and (row.ratio is not None or not _is_own_gain(row)):
        shown = value(known.shown, shown_digits(problem, row))
        return f"{row.name} is {shown} ({norm(row)})"
    if row.ratio is not None:
        return _quotient(row, value(known.shown, QUOTIENT))
    if row.as_group is None:
        return f"{row.name} is {value(x, row_digits(problem, signed=True))} ({norm(row)})"
    if row.everyone:
        word, who = "less" if x < 0 else "more", "group" if problem.plain else "everyone as"
        gets = "gets" if problem.plain else "would get"
        return f"{who} {row.as_group} {gets} {value(abs(x), digits)} {word} than the mean over everybody ({norm(row)})"
    if row.people is None:
        return f"group {row.as_group} gets {value(x, digits)} ({norm(row)})"
    return _gain(row, x, digits, either_way)


def _with_attribute(problem: Problem, row: Row) -> Row:
    """With groups that say of which of several attributes they are: "race=b"."""
    if len(problem.attributes) == 1 or len(row.attributes) != 1:
        return row
    named = [None if group is None else f"{row.attributes[0]}={group}" for group in (row.as_group, row.people)]
    return replace(row, as_group=named[0], people=named[1])


def _either_way(problem: Problem, row: Row) -> bool:
    """What is compared is the same for the people of every group: none of their own is looked at, and nothing is kept."""
    used = [world for world, weight in zip(problem.worlds, row.weights, strict=True) if weight]
    return not any(world.keep or (world.read and world.people) for world in used)


def _is_own_gain(row: Row) -> bool:
    """The row is what people of one group would gain as another, in all and with both ends."""
    return row.is_gap and row.people is not None and row.effect in ("total", "direct")


def row_limits(problem: Problem, known: KnownRow, ends: Ends | None) -> str:
    """The ends of an interval of what is shown, turned as `row_text` speaks of it."""
    row, x = known.row, known.value or 0.0
    in_words = _either_way(problem, row) or _is_own_gain(row)
    if ends is not None and x < 0 and row.ratio is None and in_words and (row.people is not None or row.everyone):
        ends = -ends[1], -ends[0]
    return limits(ends, shown_digits(problem, row).removeprefix("+"))


def _gain(row: Row, x: float, digits: str, either_way: bool) -> str:
    """A difference of two groups, as what the worse off would gain, if it can be told either way; with one end, as what is bounded."""
    people, like, gain = row.people, row.as_group, x
    if either_way and (row.below is None or (row.above is not None and x < 0)):
        people, like, gain = like, people, -x
    word = "less" if gain < 0 else "more"
    one_sided = " more" if row.above is None or row.below is None else ""
    most = row.below if row.below is not None else -(row.above or 0.0)
    kept = f", with {names(row.keep, MOST_GROUPS)} unchanged" if row.keep else ""
    gained = f"would get {value(abs(gain), digits)} {word} as {like}{kept}"
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
