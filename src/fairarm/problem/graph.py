"""The causal graph, and what of it matters: relevant children of the attributes, their blocks, nodes that must be observed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from fairarm.errors import ProblemError
from fairarm.problem.attributes import Block, find_blocks
from fairarm.problem.network import find_cycle


@dataclass(frozen=True)
class Graph:
    """Nodes and directed edges, in declared order, acyclic."""

    nodes: tuple[str, ...]
    edges: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", tuple(self.nodes))
        object.__setattr__(self, "edges", tuple((str(a), str(b)) for a, b in self.edges))
        known = set(self.nodes)
        if len(known) < len(self.nodes):
            twice = next(n for n in self.nodes if self.nodes.count(n) > 1)
            raise ProblemError(f"The graph names the node '{twice}' twice.")
        for edge in self.edges:
            if missing := set(edge) - known:
                raise ProblemError(f"The edge {edge[0]} -> {edge[1]} uses '{min(missing)}', which is not a node.")
        if cycle := find_cycle(self.edges):
            raise ProblemError(f"The graph has a cycle: {' -> '.join(cycle)}. Remove one of these edges.")

    @classmethod
    def of(cls, source: Any) -> Graph:
        """From a Graph, a list of edges, or anything with ``nodes`` and ``edges`` (networkx, pgmpy, DoWhy)."""
        if isinstance(source, cls):
            return source
        if hasattr(source, "nodes") and hasattr(source, "edges"):
            nodes = source.nodes() if callable(source.nodes) else source.nodes
            edges = source.edges() if callable(source.edges) else source.edges
            return cls(tuple(str(n) for n in nodes), tuple((str(e[0]), str(e[1])) for e in edges))
        pairs = [(str(a), str(b)) for a, b in source]
        return cls(tuple(dict.fromkeys(node for pair in pairs for node in pair)), tuple(pairs))

    def parents(self, node: str) -> tuple[str, ...]:
        """Nodes with an edge into this one, in the order of the edges."""
        return tuple(a for a, b in self.edges if b == node)

    def children(self, node: str) -> tuple[str, ...]:
        """Nodes that this one has an edge to, in the order of the edges."""
        return tuple(b for a, b in self.edges if a == node)

    def ancestors(self, node: str) -> frozenset[str]:
        """All nodes from which this one can be reached, itself left out."""
        return _reached([node], ((b, a) for a, b in self.edges)) - {node}

    def descendants(self, node: str) -> frozenset[str]:
        """All nodes that can be reached from this one, itself left out."""
        return _reached([node], self.edges) - {node}

    def above(self, nodes: Iterable[str]) -> frozenset[str]:
        """These nodes, and all from which one of them can be reached."""
        return _reached(nodes, ((b, a) for a, b in self.edges))

    def below(self, nodes: Iterable[str]) -> frozenset[str]:
        """These nodes, and all that can be reached from one of them."""
        return _reached(nodes, self.edges)

    def with_parents(self, node: str, parents: Iterable[str]) -> Graph:
        """The same graph with the edges into ``node`` replaced."""
        kept = tuple(edge for edge in self.edges if edge[1] != node)
        return Graph(self.nodes, (*kept, *((parent, node) for parent in parents)))

    def without(self, edges: Iterable[tuple[str, str]]) -> Graph:
        """The same nodes, and the edges that are not among these."""
        left_out = {*edges}
        return Graph(self.nodes, tuple(edge for edge in self.edges if edge not in left_out))


def _reached(starts: Iterable[str], edges: Iterable[tuple[str, str]]) -> frozenset[str]:
    """The nodes that edges lead to from ``starts``, with these."""
    onward: dict[str, list[str]] = defaultdict(list)
    for tail, head in edges:
        onward[tail].append(head)
    waiting = [*starts]
    found = {*waiting}
    while waiting:
        new = set(onward[waiting.pop()]) - found
        found |= new
        waiting += new
    return frozenset(found)


@dataclass(frozen=True)
class Roles:
    """What the named nodes make of a graph whose edges into V are those that some arm uses."""

    graph: Graph
    decision_parents: tuple[str, ...]
    relevant_children: tuple[str, ...]
    """Children of an attribute, other than V and attributes, that are Y or an ancestor of Y. Others only add noise and must be left out."""
    observed: tuple[str, ...]
    """Attributes, Y, and every column that is needed: V, relevant children, the parents of these, causes of attributes."""
    decision_is_child: bool
    """Some attribute is a parent of V."""
    attributes: tuple[str, ...]
    blocks: tuple[Block, ...]
    decision: str


def find_roles(
    graph: Graph,
    attributes: tuple[str, ...],
    decision: str,
    outcome: str,
    arm_parents: Iterable[str],
    hidden: Collection[str],
) -> Roles:
    """The roles of the nodes; refuses a graph on which the question cannot be answered."""
    _check_named(graph, attributes, decision, outcome)
    parents = _decision_parents(graph, decision, outcome, arm_parents)
    graph = graph.with_parents(decision, parents)
    above = graph.ancestors(outcome)
    _check_ways(graph, attributes, decision, outcome)
    children = dict.fromkeys(x for attribute in attributes for x in graph.children(attribute))
    relevant = tuple(x for x in children if x not in (decision, *attributes) and (x == outcome or x in above))
    needed = {*attributes, decision, outcome, *parents, *relevant, *(p for x in relevant for p in graph.parents(x))}
    noise = _noise(graph, needed, hidden, outcome)
    graph, needed = graph.without((node, outcome) for node in noise), needed - noise
    _refuse_hidden(graph, needed, hidden, decision, relevant, {*attributes, decision, outcome})
    blocks = find_blocks(graph, attributes, needed, outcome, hidden)
    needed |= {cause for block in blocks for cause in block.causes}
    observed = tuple(node for node in graph.nodes if node in needed)
    is_child = not {*attributes}.isdisjoint(parents)
    return Roles(graph, parents, relevant, observed, is_child, attributes, blocks, decision)


def _check_named(graph: Graph, attributes: tuple[str, ...], decision: str, outcome: str) -> None:
    """The nodes that have a role are in the graph, and each has one."""
    roles = [*(("sensitive", name) for name in attributes), ("decision", decision), ("outcome", outcome)]
    for role, node in roles:
        if node not in graph.nodes:
            raise ProblemError(
                f"The {role} node '{node}' is not in the graph. Its nodes: {', '.join(graph.nodes[:12])}."
            )
    if len({node for _, node in roles}) < len(roles):
        count = {3: "three", 4: "four"}.get(len(roles), len(roles))
        raise ProblemError(
            f"Sensitive, decision and outcome must be {count} nodes; got {', '.join(node for _, node in roles)}."
        )


def _check_ways(graph: Graph, attributes: tuple[str, ...], decision: str, outcome: str) -> None:
    """The decision changes the outcome and no attribute, and every attribute that has causes acts on the outcome."""
    above = graph.ancestors(outcome)
    if decision not in above:
        raise ProblemError(
            f"The decision '{decision}' is not an ancestor of the outcome '{outcome}': no arm could change the outcome. "
            f"Add the missing edges between them."
        )
    for attribute in attributes:
        if decision in graph.ancestors(attribute):
            raise ProblemError(f"The decision '{decision}' is a cause of '{attribute}'.")
        one_root = len(attributes) == 1 and not graph.parents(
            attribute
        )  # arms that do not see it: its gap is 0, and known
        if attribute not in above and not one_root:
            raise ProblemError(f"'{attribute}' has no path to '{outcome}': every arm meets this constraint.")


def _decision_parents(graph: Graph, decision: str, outcome: str, used: Iterable[str]) -> tuple[str, ...]:
    below = graph.descendants(decision)
    parents = tuple(dict.fromkeys(used))
    for parent in parents:
        if parent not in graph.nodes:
            raise ProblemError(f"An arm uses '{parent}' as an input of '{decision}', which is not a node of the graph.")
        if parent in below or parent in (decision, outcome):
            raise ProblemError(
                f"An arm uses '{parent}' as an input of '{decision}', but '{parent}' comes after it in the graph. "
                f"An arm can only use what is known when it decides."
            )
    return tuple(node for node in graph.nodes if node in parents)


def _noise(graph: Graph, needed: set[str], hidden: Collection[str], outcome: str) -> set[str]:
    """Hidden parents of Y, needed only if S -> Y, that share no cause with any other column: summed out, they are noise of Y alone."""
    rest = graph.above(needed.difference(hidden, [outcome]))
    parents = needed.intersection(hidden, graph.parents(outcome))
    return {node for node in parents if rest.isdisjoint(graph.above([node]))}


def _refuse_hidden(
    graph: Graph, needed: set[str], hidden: Collection[str], decision: str, relevant: tuple[str, ...], named: set[str]
) -> None:
    for node in graph.nodes:
        if node not in needed or node not in hidden:
            continue
        if node in named:
            why = "it is the sensitive attribute, the decision or the outcome"
        elif node in relevant:
            why = "it is a child of the sensitive attribute on the way to the outcome"
        else:
            child = next(c for c in graph.children(node) if c == decision or c in relevant)
            why = f"it is a parent of '{child}'"
        raise ProblemError(
            f"Node '{node}' is declared hidden but must be observed: {why}. Observe it, choose arms that do not need it, or, if it acts on "
            f"one node alone, leave the node out and draw the edges from its causes to that one."
        )
