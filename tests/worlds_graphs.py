"""What the method asks of a graph before it answers, read off the definitions: columns, causes, blocks, and which version is needed.

Sets and loops only, for graphs of ten nodes. d-separation is that of the moral graph of ancestors. Imports nothing of fairarm.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from worlds_truth import Model, World

Parents = Mapping[str, frozenset[str]]
Blocks = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Graph:
    """Parents of every node, those of the decision being what any arm uses. ``given_blocks``: in place of the ones that are found."""

    parents: Parents
    attributes: tuple[str, ...]
    hidden: frozenset[str] = frozenset()
    decision: str = "V"
    outcome: str = "Y"
    given_blocks: Blocks | None = None

    @cached_property
    def above(self) -> dict[str, frozenset[str]]:
        """Ancestors of every node, without itself."""
        return {name: ancestors(self.parents, [name]) - {name} for name in self.parents}

    def below(self, nodes: Iterable[str]) -> frozenset[str]:
        """Descendants of any of these nodes, without themselves."""
        start = set(nodes)
        return frozenset(name for name in self.parents if name not in start and self.above[name] & start)

    @cached_property
    def leading(self) -> frozenset[str]:
        """Y and its ancestors."""
        return self.above[self.outcome] | {self.outcome}

    @cached_property
    def relevant(self) -> frozenset[str]:
        """Children of some attribute, not attributes, that are Y or lead to it."""
        return frozenset(x for x in self.leading - set(self.attributes) if self.parents[x] & set(self.attributes))

    def causes(self, block: Iterable[str]) -> frozenset[str]:
        """z_B: observed parents of any of the block, outside of it."""
        members = set(block)
        return frozenset().union(*(self.parents[x] for x in members)) - members - self.hidden

    @cached_property
    def needed(self) -> frozenset[str]:
        """V and the relevant children, with their parents: all must be observed."""
        read = self.relevant | {self.decision}
        return read.union(*(self.parents[x] for x in read))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """C in a fixed order: what a row has besides the attributes and Y."""
        found = self.needed.union(*(self.causes([x]) for x in self.attributes))
        return tuple(x for x in self.parents if x in found - set(self.attributes) - {self.outcome})

    @cached_property
    def read_by_outcome(self) -> tuple[str, ...]:
        """Attributes with an edge to Y: they belong to a cell."""
        return tuple(x for x in self.attributes if x in self.parents[self.outcome])

    @cached_property
    def blocks(self) -> Blocks:
        """Attributes that are not separated from each other, whichever of the two is asked, and those so connected with them."""
        if self.given_blocks is not None:
            return self.given_blocks
        found = [{x} for x in self.attributes]
        for x in self.attributes:
            for y in set(self.attributes) - {x} - self.causes([x]):
                if not self._separated([x], x, {y}):
                    joined = [part for part in found if part & {x, y}]
                    found = [part for part in found if not part & {x, y}] + [set().union(*joined)]
        return tuple(sorted(tuple(x for x in self.attributes if x in part) for part in found))

    def unseparated(self, block: tuple[str, ...]) -> frozenset[str]:
        """Of C, the attributes and Y: what some member of the block is not separated from, given the block's causes."""
        asked = {*self.columns, *self.attributes, self.outcome} - set(block) - self.causes(block)
        return frozenset(y for y in asked for x in block if not self._separated(block, x, {y}))

    def _separated(self, block: Iterable[str], x: str, others: set[str]) -> bool:
        """With the block's edges into ancestors of Y removed, x from the others given the block's causes."""
        cut = {name: above - set(block) if name in self.leading else above for name, above in self.parents.items()}
        return separated(cut, x, others, self.causes(block))


def of(model: Model) -> Graph:
    """The model's graph."""
    above = {
        name: frozenset(parent for k in range(len(model.arms)) for parent in model.function(k, name).parents)
        for name in model.order
    }
    return Graph(above, model.attributes, model.hidden, model.decision, model.outcome)


def ancestors(parents: Parents, nodes: Iterable[str]) -> frozenset[str]:
    """These nodes and everything above them."""
    found: set[str] = set()
    waiting = list(nodes)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(parents[name])
    return frozenset(found)


def separated(parents: Parents, x: str, others: set[str], given: frozenset[str]) -> bool:
    """d-separation: no path in the moral graph of the ancestors that avoids what is given."""
    inside = ancestors(parents, {x, *others, *given})
    beside: dict[str, set[str]] = {name: set() for name in inside}
    for name in inside:
        family = {name, *parents[name]}
        for one in family:
            beside[one] |= family
    reached, waiting = {x}, [x]
    while waiting:
        for name in beside[waiting.pop()] - reached - given:
            reached.add(name)
            waiting.append(name)
    return not reached & others


# ---- refusals ----


def refused(graph: Graph) -> str | None:
    """Why no world of this graph is answered; None if the columns and the causes are as the method needs them."""
    V, Y = graph.decision, graph.outcome
    for x in graph.attributes:
        if x not in graph.above[Y]:
            return f"no path: {x} to {Y}"
        if V in graph.above[x]:
            return f"decision above {x}"
        if x in graph.hidden:
            return f"hidden attribute {x}"
    if V not in graph.above[Y]:
        return f"no path: {V} to {Y}"
    if graph.needed & graph.hidden:
        return f"hidden column {min(graph.needed & graph.hidden)}"
    for block in graph.blocks:
        if graph.causes(block) & graph.below(block):
            return f"block {block} acts on its own cause"
        if graph.unseparated(block):
            return f"hidden confounding: {block} with {sorted(graph.unseparated(block))}"
    return None


@dataclass(frozen=True)
class Versions:
    """Nodes that are needed as in fact, and as the world has them."""

    changed: frozenset[str]
    factual: frozenset[str]
    counterfactual: frozenset[str]


def versions(graph: Graph, asked: World) -> Versions:
    """The walk upwards from Y and from the attributes that tell who is asked about."""
    read, kept = {name for name, _ in asked.read}, asked.kept
    passed = {name: above for name, above in graph.parents.items() if name not in kept}  # no path enters a kept node
    changed: set[str] = set()
    while more := {x for x, above in passed.items() if above & (read | changed)} - read - changed:
        changed |= more
    found: set[tuple[str, bool]] = set()
    waiting = [(graph.outcome, True), *((name, False) for name, _ in asked.people)]
    while waiting:
        name, imagined = waiting.pop()
        imagined = imagined and name in changed
        if (name, imagined) in found:
            continue
        found.add((name, imagined))
        if imagined:
            waiting += [(x, x not in kept) for x in graph.parents[name] if x not in read]
        else:
            waiting += [(x, False) for x in graph.parents[name]]
    return Versions(
        frozenset(changed), frozenset(x for x, now in found if not now), frozenset(x for x, now in found if now)
    )


def refused_world(graph: Graph, asked: World) -> str | None:
    """Why this world is not answered although others may be; None if it is."""
    needed = versions(graph, asked)
    twice = needed.factual & needed.counterfactual
    if twice:
        return f"recanting witness: {sorted(twice)}"
    read = {name for name, _ in asked.read}
    for block in graph.blocks:
        members = set(block)
        if len(block) > 1 and members & needed.counterfactual and (members & read or members - needed.counterfactual):
            return f"part of a block: {block}"
    return None


def answered(graph: Graph, asked: World) -> bool:
    """By the blocks as they are found."""
    return refused(graph) is None and refused_world(graph, asked) is None


def refused_set(graph: Graph, names: Iterable[str]) -> str | None:
    """Why the law of rows with these attributes set does not follow from natural rows; None if it does.

    A block's factor summed over what is set is the law of the rest of the block only if nothing that is set acts on the rest.
    """
    done = set(names)
    for block in graph.blocks:
        acts = [x for x in block if x in done and any(x in graph.above[y] for y in set(block) - done)]
        if acts:
            return f"acts inside its block: {acts[0]}"
    return None


# ---- other blocks than those that are found ----


def readings(graph: Graph) -> list[Graph]:
    """The graph with each division of its attributes into blocks that separates as it must, the most blocks first.

    The blocks that are found may be larger than needed (H → A, H → B, B → D: D need not be in the block of A and B), or be none that
    separate where larger ones do. Formulas hold with any of these.
    """
    divided = sorted(_divisions(graph.attributes), key=lambda blocks: (-len(blocks), blocks))
    found = [dataclasses.replace(graph, given_blocks=blocks) for blocks in divided]
    return [each for each in found if refused(each) is None]


def _divisions(names: tuple[str, ...]) -> Iterator[Blocks]:
    if not names:
        yield ()
        return
    for rest in _divisions(names[1:]):
        yield ((names[0],), *rest)
        for i, block in enumerate(rest):
            yield (*rest[:i], (names[0], *block), *rest[i + 1 :])


def answerable(graph: Graph, asked: World) -> bool:
    """By any division into blocks: what a careful reading may answer, and no more."""
    return any(refused_world(each, asked) is None for each in readings(graph))
