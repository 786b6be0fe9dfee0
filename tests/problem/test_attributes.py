"""Attributes with causes: d-separation against networkx, blocks and refusals by hand."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from fairarm.errors import ProblemError
from fairarm.problem.attributes import Block, d_separated, find_blocks
from fairarm.problem.graph import Graph, Roles, find_roles


def roles(edges: str, attributes: str, hidden: str = "", sees: str = "") -> Roles:
    """Edges such as "A>V V>Y", the decision V, the outcome Y."""
    pairs = [tuple(edge.split(">")) for edge in edges.split()]
    used = tuple(a for a, b in pairs if b == "V") if not sees else tuple(sees.split())
    return find_roles(Graph.of(pairs), tuple(attributes.split()), "V", "Y", used, hidden.split())


def some_graph(rng: np.random.Generator) -> Graph:
    """Up to 7 nodes; forward edges alone, in any order of the names."""
    nodes = rng.permutation([f"n{i}" for i in range(rng.integers(2, 8))]).tolist()
    edges = [(a, b) for i, a in enumerate(nodes) for b in nodes[i + 1 :] if rng.random() < rng.choice([0.2, 0.4, 0.6])]
    return Graph(tuple(sorted(nodes)), tuple(edges))


@pytest.mark.parametrize("seed", range(300))
def test_d_separation_is_that_of_networkx(seed: int) -> None:
    """Every two nodes given some of the others, and with the edges of one to three attributes left out."""
    rng = np.random.default_rng(seed)
    graph = some_graph(rng)
    attributes = rng.choice(graph.nodes, size=min(len(graph.nodes), rng.integers(1, 4)), replace=False).tolist()
    for drawn in (graph, graph.without(edge for edge in graph.edges if edge[0] in attributes)):
        theirs = nx.DiGraph(list(drawn.edges))
        theirs.add_nodes_from(drawn.nodes)
        for first in attributes:
            for second in drawn.nodes:
                given = {n for n in drawn.nodes if n not in (first, second) and rng.random() < 0.4}
                if first != second:
                    assert d_separated(drawn, first, second, given) == nx.is_d_separator(
                        theirs, {first}, {second}, given
                    )


@pytest.mark.parametrize(
    ("edges", "attributes", "hidden", "expected"),
    [
        ("S>V V>Y", "S", "", [Block(("S",), ())]),
        ("Z>S S>V V>Y Z>Y", "S", "", [Block(("S",), ("Z",))]),  # W2
        ("H>S S>V V>Y", "S", "H", [Block(("S",), ())]),  # a cause that nothing else has need not be observed
        ("region>race region>V race>V V>Y", "region race", "", [Block(("region",), ()), Block(("race",), ("region",))]),
        ("H>race H>sex race>V sex>V V>Y", "race sex", "H", [Block(("race", "sex"), ())]),
        ("H>a H>b b>c a>V b>V c>V V>Y", "a b c", "H", [Block(("a", "b"), ()), Block(("c",), ("b",))]),
        ("H>a H>b Z>b a>V b>V V>Y Z>Y", "b c a", "H", None),
        ("H>a H>b Z>b a>V b>V V>Y Z>Y", "b a", "H", [Block(("b", "a"), ("Z",))]),
        ("G>a G>b H>b H>c a>V b>V c>V d>V V>Y", "a d c b", "G H", [Block(("a", "c", "b"), ()), Block(("d",), ())]),
        ("a>M M>b a>V b>V V>Y M>Y", "a b", "", [Block(("a",), ()), Block(("b",), ("M",))]),
        ("H>a H>Z Z>a a>V V>Y Z>Y", "a", "H", [Block(("a",), ("Z",))]),  # what Z and the attribute share, Z tells
    ],
)  # fmt: skip
def test_blocks(edges: str, attributes: str, hidden: str, expected: list[Block] | None) -> None:
    if expected is None:
        with pytest.raises(ProblemError, match="The sensitive node 'c' is not in the graph"):
            roles(edges, attributes, hidden)
        return
    found = roles(edges, attributes, hidden)
    assert list(found.blocks) == expected and found.attributes == tuple(attributes.split())


@pytest.mark.parametrize(
    ("edges", "attributes", "hidden", "message"),
    [
        ("W>S W>Y S>V V>Y", "S", "W", "'S' and 'Y' have the hidden common cause 'W': observe it."),
        ("W>S W>N S>V N>V V>Y", "S", "W", "'S' and 'N' have the hidden common cause 'W': observe it."),
        ("W>H H>S W>Y S>V V>Y", "S", "H W", "'S' and 'Y' have a common cause behind the hidden 'H': observe it."),
        ("Z>H H>S Z>V S>V V>Y", "S", "H", "'Z' acts on 'S' through the hidden 'H': observe it."),
        ("a>X X>H H>b X>V b>V V>Y", "a b", "H", "'X' acts on 'b' through the hidden 'H': observe it."),
        ("b>N N>X H>X H>a X>a a>V b>V V>Y", "b a", "H", "'a' and 'X' have the hidden common cause 'H': observe it."),
        ("H>S H>T S>M M>T S>V T>V V>Y", "S T", "H", "'S' and 'T' have the hidden common cause 'H': observe it."),
        ("W>a W>b W>Y a>V b>V V>Y", "a b", "W", "'a' and 'Y' have the hidden common cause 'W': observe it."),
        ("H>a H>X X>b a>V b>V V>Y", "a b", "H", "'a' and 'X' have the hidden common cause 'H': observe it."),
        ("V>Y Z>S S>X Z>V", "S", "", "'S' has no path to 'Y': every arm meets this constraint."),
        ("V>Y S>V R>X", "S R", "", "'R' has no path to 'Y': every arm meets this constraint."),
        ("V>S S>Y V>Y", "S", "", "The decision 'V' is a cause of 'S'."),
        ("V>M M>R R>Y V>Y S>Y", "S R", "", "The decision 'V' is a cause of 'R'."),
        ("S>V V>Y", "S S", "", "must be four nodes; got S, S, V, Y"),
        ("S>X X>V V>Y", "S", "X", "Node 'X' is declared hidden but must be observed"),
        ("Z>X R>X R>V V>Y X>Y", "R", "Z", "Node 'Z' is declared hidden but must be observed: it is a parent of 'X'"),
    ],
)  # fmt: skip
def test_refused(edges: str, attributes: str, hidden: str, message: str) -> None:
    with pytest.raises(ProblemError) as caught:
        roles(edges, attributes, hidden)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_names_of_the_sentence_as_the_page_has_them() -> None:
    edges = (("wealth", "race"), ("wealth", "visit"), ("race", "V"), ("V", "visit"))
    with pytest.raises(ProblemError) as caught:
        find_blocks(Graph.of(edges), ("race",), {"V"}, "visit", ("wealth",))
    assert str(caught.value) == "'race' and 'visit' have the hidden common cause 'wealth': observe it."
