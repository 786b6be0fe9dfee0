"""What is asked of every arm, question by question, in plain sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairarm.problem.constraint import MEDIATORS, Constraint, weighted_sum
from fairarm.problem.fairness import tells_either_way
from fairarm.problem.problem import Problem
from fairarm.problem.profiles import labels_of
from fairarm.reports.words.numbers import between_ends, names, plain_number

MOST_GROUPS = 8


def clause(problem: Problem, asked: Constraint, it: str = "it", mark: str = "") -> str:
    """One question as a part of a sentence; ``it`` is the outcome, ``mark`` goes before and after each attribute's name."""
    asked_about = [asked.about] if asked.about else [(name,) for name in problem.attributes]
    return "; ".join(_clause(problem, asked, about, it, mark) for about in asked_about)


def _clause(problem: Problem, asked: Constraint, about: tuple[str, ...], it: str, mark: str) -> str:
    """The question about one attribute, or about several jointly."""
    sensitive = " and ".join(f"{mark}{name}{mark}" for name in about)
    groups = labels_of({name: problem.attribute_states[name] for name in problem.attributes if name in about})
    ordered = any(
        row.constraint == asked.label and row.attributes == about and not tells_either_way(problem, row)
        for row in problem.rows
    )
    return _comparison(_Words(asked, sensitive, it, ordered, problem.plain), groups) + _kept(asked)


@dataclass(frozen=True)
class _Words:
    """A question, and how what it is about is called."""

    asked: Constraint
    sensitive: str
    it: str
    ordered: bool
    """People of each group are compared with themselves: the two ways differ."""
    plain: bool


def _kept(asked: Constraint) -> str:
    """What stays as it is meanwhile."""
    kept = "everything else before the decision" if asked.keep == MEDIATORS else names(asked.keep, MOST_GROUPS) if asked.keep else ""
    held = "the other attributes" if asked.others == "held" else ""
    stays = " and ".join(part for part in (kept, held) if part)
    return f", with {stays} unchanged" if stays else ""


def _comparison(words: _Words, groups: tuple[str, ...]) -> str:
    asked, sensitive = words.asked, words.sensitive
    if asked.compare == "weights":
        return _weights(groups, words)
    among = tuple(group for group in groups if not asked.groups or group in asked.groups)
    each = f"group of {sensitive} ({names(among, MOST_GROUPS)})"
    if asked.compare == "floor":
        return f"each {each} gets more than {plain_number(asked.at_least)}"
    if asked.compare == "mean":
        return _mean(asked, each) if words.plain else _mean_of_everyone(asked, each)
    if asked.compare == "reference":
        others = [group for group in among if group != asked.reference]
        return _reference(words, _either(others), str(asked.reference))
    if asked.ratio is not None:
        ratio = plain_number(asked.ratio)
        back = f", and would get, as any other, more than {ratio} of what they get" if words.ordered else ""
        return f"people of each {each} get more than {ratio} of what they would as any other{back}"
    listed = names(among, MOST_GROUPS)
    if asked.effect != "total":
        return _part(words, f"any two groups of {sensitive} ({listed})")
    return f"changing {sensitive} from one group to another ({listed}) changes {words.it} by less than {plain_number(asked.tolerance)}"


def _part(words: _Words, groups: str) -> str:
    """Of the gap between groups: by what the decision makes of the attribute itself, by what lies between, or by common causes."""
    return f"the {words.asked.effect} part of the gap between {groups} is less than {plain_number(words.asked.tolerance)}"


def _either(groups: Sequence[str]) -> str:
    """b, c or d."""
    if len(groups) > MOST_GROUPS:
        return f"any other ({names(groups, MOST_GROUPS)})"
    *first, last = groups
    return f"{', '.join(first)} or {last}" if first else last


def _reference(words: _Words, others: str, own: str) -> str:
    asked, sensitive = words.asked, words.sensitive
    if asked.tolerance is not None and asked.direction == "both":
        if asked.effect != "total":
            return _part(words, f"{others} and {own} of {sensitive}")
        way = "between {} and {}" if words.ordered else "from {} to {}"
        return f"changing {sensitive} {way.format(others, own)} changes {words.it} by less than {plain_number(asked.tolerance)}"
    who, like = (own, others) if asked.direction == "not_above" else (others, own)
    if asked.tolerance is not None:
        by = f"less than {plain_number(asked.tolerance)}"
        back = f", and people of group {like} {by} less as {who}" if words.ordered else ""
        return f"people of group {who} would get {by} more as {like}{back}"
    more = f"more than {plain_number(asked.ratio)} of what they"
    back = f", and people of group {like} would get, as {who}, {more} get" if words.ordered else ""
    back += ", and the other way round" if asked.direction == "both" else ""
    return f"people of group {who} get {more} would as {like}{back}"


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


def _mean_of_everyone(asked: Constraint, each: str) -> str:
    """The same where the mean with everybody as a group is not what its own people get."""
    gets = f"what everyone would get as any {each}"
    if asked.tolerance is not None:
        by = plain_number(asked.tolerance)
        if asked.direction == "both":
            return f"{gets} differs from the mean over everybody by less than {by}"
        return f"{gets} is less than {by} {asked.direction.removeprefix('not_')} the mean over everybody"
    ratio = plain_number(asked.ratio)
    above, below = f"more than {ratio} of the mean over everybody", f"this mean is more than {ratio} of it"
    if asked.direction == "not_above":
        return f"the mean over everybody is more than {ratio} of {gets}"
    return f"{gets} is {above}" + ("" if asked.direction == "not_below" else f", and {below}")


def _weights(groups: tuple[str, ...], words: _Words) -> str:
    asked, sensitive = words.asked, words.sensitive
    if asked.is_gap:
        first, second = (group for group in groups if dict(asked.weights).get(group))
        return f"changing {sensitive} between {first} and {second} changes {words.it} by less than {plain_number(asked.tolerance)}"
    ends = (asked.at_least, asked.at_most) if asked.tolerance is None else (-asked.tolerance, asked.tolerance)
    return f"the means by {sensitive}, added as {weighted_sum(asked)}, give {between_ends(*ends)}"
