"""Sensitive attributes with causes: which of them go together, and whether what they have in common with the rest is observed.

An attribute may have causes. What is learned about people as if they were of another group then rests on the observed causes being all
that the attribute shares with the other columns: no hidden confounding, checked by d-separation. Attributes that share something hidden with each other
alone form a *block*, whose values are told together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairarm.errors import ProblemError

if TYPE_CHECKING:
    from fairarm.problem.graph import Graph

_Step = tuple[str, bool]
"""A node on a path, and whether the path came to it against an arrow, from one of its children."""


@dataclass(frozen=True)
class Block:
    """Attributes that share a hidden cause, or one alone, with their observed causes outside of it: P(a_B | z_B) is one factor."""

    members: tuple[str, ...]
    """In the order of the attributes."""
    causes: tuple[str, ...]
    """z_B, in the order of the graph."""

    @property
    def simple(self) -> bool:
        """One attribute without causes: it is independent of everything that it does not act on."""
        return len(self.members) == 1 and not self.causes


@dataclass(frozen=True)
class _Shared:
    """Something that an attribute has in common with another node, other than by its causes, and what to do about it."""

    attribute: str
    other: str
    message: str


def d_separated(graph: Graph, first: str, second: str, given: Collection[str]) -> bool:
    """No path between the two nodes is open where the given ones are known."""
    return second not in {node for node, _ in _open_paths(graph, first, given)}


def find_blocks(
    graph: Graph, attributes: tuple[str, ...], columns: Collection[str], outcome: str, hidden: Collection[str]
) -> tuple[Block, ...]:
    """The blocks of the attributes, in their order; refuses what shares a hidden cause with a column or with the outcome.

    ``columns`` are those that are needed besides; the causes of the attributes are added to them.
    """
    causes = {name: tuple(p for p in graph.parents(name) if p not in hidden) for name in attributes}
    targets = {*columns, *attributes, outcome, *(cause for some in causes.values() for cause in some)}
    relevant = {*graph.ancestors(outcome), outcome}
    joined: dict[str, _Shared] = {}
    groups: list[tuple[str, ...]] = [(name,) for name in attributes]
    for shared in _shared_by(graph, relevant, attributes, [((a,), causes[a]) for a in attributes], targets):
        if shared.other not in attributes:
            raise ProblemError(shared.message)
        groups = _join(groups, shared, joined)
    while found := next(_still_shared(graph, relevant, attributes, groups, causes, targets), None):
        if found.other not in attributes:
            raise ProblemError(found.message)
        groups = _join(groups, found, joined)
    return tuple(_block(graph, members, causes, joined) for members in groups)


def _still_shared(
    graph: Graph,
    relevant: set[str],
    attributes: tuple[str, ...],
    groups: Iterable[tuple[str, ...]],
    causes: dict[str, tuple[str, ...]],
    targets: set[str],
) -> Iterator[_Shared]:
    """What is shared where only a block's own edges are left out; with other attributes first, since these can join it."""
    found = [
        shared
        for members in groups
        for shared in _shared_by(graph, relevant, members, [(members, _outside(members, causes))], targets)
    ]
    yield from sorted(found, key=lambda shared: shared.other not in attributes)


def _shared_by(
    graph: Graph,
    relevant: set[str],
    without: Collection[str],
    blocks: Iterable[tuple[tuple[str, ...], tuple[str, ...]]],
    targets: set[str],
) -> Iterator[_Shared]:
    """What members of blocks (members, z_B) share with targets outside, where edges from ``without`` on the way to the outcome
    are left out: what these attributes act on is no common cause."""
    cut = graph.without((a, b) for a, b in graph.edges if a in without and b in relevant)
    for members, given in blocks:
        for attribute in members:
            paths = _open_paths(cut, attribute, given)
            for step in paths:
                if step[0] in targets.difference(members, given):
                    yield _Shared(attribute, step[0], _told(paths, step))


def _open_paths(graph: Graph, start: str, given: Collection[str]) -> dict[_Step, _Step | None]:
    """Every step that open paths from ``start`` lead to, the nearest first, with the step before it.

    A path goes on through a node that is not given, unless two arrows meet there; where they meet, only if the node or something below
    it is given.
    """
    opened = {*given, *(node for known in given for node in graph.ancestors(known))}
    first: _Step = (start, True)
    before: dict[_Step, _Step | None] = {first: None}
    waiting = [first]
    for step in waiting:
        node, from_below = step
        onward: list[_Step] = []
        if (from_below and node not in given) or (not from_below and node in opened):
            onward += [(parent, True) for parent in graph.parents(node)]
        if node not in given:
            onward += [(child, False) for child in graph.children(node)]
        new = [each for each in dict.fromkeys(onward) if each not in before]
        before.update(dict.fromkeys(new, step))
        waiting += new
    return before


def _told(paths: dict[_Step, _Step | None], end: _Step) -> str:
    """What is hidden on the path to ``end``. It leaves the attribute by a cause that is not observed."""
    path = [end]
    while (before := paths[path[-1]]) is not None:
        path.append(before)
    (attribute, _), (cause, _), *rest = reversed(path)
    if end[1]:
        return f"'{end[0]}' acts on '{attribute}' through the hidden '{cause}': observe it."
    if not rest[0][1]:
        return f"'{attribute}' and '{end[0]}' have the hidden common cause '{cause}': observe it."
    return f"'{attribute}' and '{end[0]}' have a common cause behind the hidden '{cause}': observe it."


def _join(groups: list[tuple[str, ...]], shared: _Shared, joined: dict[str, _Shared]) -> list[tuple[str, ...]]:
    """The groups, those of the two attributes made one, in the order of the attributes."""
    order = [name for members in groups for name in members]
    both = [members for members in groups if {shared.attribute, shared.other} & {*members}]
    if len(both) == 1:
        return groups
    joined.setdefault(shared.attribute, shared)
    one = tuple(name for members in both for name in members)
    kept = [one if members is both[0] else members for members in groups if members is both[0] or members not in both]
    return sorted(kept, key=lambda members: order.index(members[0]))


def _outside(members: tuple[str, ...], causes: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """z_B: what causes the members and is none of them."""
    return tuple(dict.fromkeys(cause for name in members for cause in causes[name] if cause not in members))


def _block(
    graph: Graph, members: tuple[str, ...], causes: dict[str, tuple[str, ...]], joined: dict[str, _Shared]
) -> Block:
    """A block whose causes come before all of it: else its values cannot be told from them."""
    outside = {*_outside(members, causes)}
    if len(members) > 1 and any(outside & graph.descendants(name) for name in members):
        raise ProblemError(next(joined[name].message for name in members if name in joined))
    return Block(members, tuple(node for node in graph.nodes if node in outside))
