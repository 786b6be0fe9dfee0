"""Sensitive attributes with causes: which of them go together, and whether what they have in common with the rest is observed.

An attribute may have causes. What is learned about people as if they were of another group then rests on the observed causes being all
that the attribute shares with the other columns: no hidden confounding, checked by d-separation. Attributes that share something hidden
with each other alone form a *block*, whose values are told together.
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
_NEXT_BUT_ONE = 2


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
    joined: list[_Shared] = []
    for shared in _shared_by(graph, relevant, attributes, [Block((a,), causes[a]) for a in attributes], targets):
        if shared.other not in attributes:
            raise ProblemError(shared.message)
        joined.append(shared)
    blocks = tuple(_block(graph, members, causes, joined) for members in _components(attributes, joined))
    for block in blocks:
        for shared in _shared_by(graph, relevant, block.members, [block], targets):
            raise ProblemError(shared.message)
    return blocks


def _shared_by(
    graph: Graph,
    relevant: set[str],
    without: Collection[str],
    blocks: Iterable[Block],
    targets: set[str],
) -> Iterator[_Shared]:
    """What members of blocks share with targets outside, other than by their causes, where edges from ``without`` on the way to the
    outcome are left out: what these attributes act on is no common cause."""
    cut = graph.without((a, b) for a, b in graph.edges if a in without and b in relevant)
    for block in blocks:
        others = targets.difference(block.members, block.causes)
        for attribute in block.members:
            paths = _open_paths(cut, attribute, block.causes)
            for step in paths:
                if step[0] in others:
                    yield _Shared(attribute, step[0], _told(paths, step))


def _open_paths(graph: Graph, start: str, given: Collection[str]) -> dict[_Step, _Step | None]:
    """Every step that open paths from ``start`` lead to, the nearest first, with the step before it.

    A path goes on through a node that is not given, unless two arrows meet there; where they meet, only if the node is given, or something
    below it: it then goes down to that and back.
    """
    first: _Step = (start, True)
    before: dict[_Step, _Step | None] = {first: None}
    waiting = [first]
    for step in waiting:
        node, from_below = step
        onward: list[_Step] = []
        if from_below != (node in given):
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
    path.reverse()
    attribute, cause = path[0][0], path[1][0]
    if all(from_below for _, from_below in path):
        return f"'{end[0]}' acts on '{attribute}' through the hidden '{cause}': observe it."
    turn = next(i for i, (_, from_below) in enumerate(path) if not from_below)
    lowest = next((i for i in range(turn, len(path) - 1) if path[i + 1][1]), len(path) - 1)  # where two arrows meet
    what = "the hidden common cause" if turn == _NEXT_BUT_ONE else "a common cause behind the hidden"
    return f"'{attribute}' and '{path[lowest][0]}' have {what} '{cause}': observe it."


def _components(attributes: tuple[str, ...], joined: Iterable[_Shared]) -> list[tuple[str, ...]]:
    """The attributes that are joined by what they share, in their order."""
    together = {name: {name} for name in attributes}
    for shared in joined:
        both = together[shared.attribute] | together[shared.other]
        together.update(dict.fromkeys(both, both))
    return list(dict.fromkeys(tuple(name for name in attributes if name in together[first]) for first in attributes))


def _block(
    graph: Graph, members: tuple[str, ...], causes: dict[str, tuple[str, ...]], joined: Iterable[_Shared]
) -> Block:
    """A block whose causes come before all of it: else its values cannot be told from them."""
    outside = {cause for name in members for cause in causes[name] if cause not in members}
    if len(members) > 1 and any(outside & graph.descendants(name) for name in members):
        raise ProblemError(next(shared.message for shared in joined if shared.attribute in members))
    return Block(members, tuple(node for node in graph.nodes if node in outside))
