"""What can be reached in a graph, and cycles, against networkx; what the named nodes make of a graph, by hand."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from fairarm.problem.attributes import Block
from fairarm.problem.graph import Graph, find_roles
from fairarm.problem.network import find_cycle


def some_edges(seed: int, acyclic: bool) -> list[tuple[str, str]]:
    """Up to 20 edges among 8 nodes, forward ones only if there may be no cycle."""
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, 8, size=(rng.integers(1, 20), 2)).tolist()
    return [(f"n{a}", f"n{b}") for a, b in pairs if a < b or not acyclic]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize(("ours", "theirs"), [(Graph.ancestors, nx.ancestors), (Graph.descendants, nx.descendants)])
def test_what_is_above_and_below_a_node(
    seed: int, ours: Callable[[Graph, str], frozenset[str]], theirs: Callable[[nx.DiGraph, str], set[str]]
) -> None:
    nodes, edges = tuple(f"n{i}" for i in range(8)), some_edges(seed, acyclic=True)
    drawn = nx.DiGraph(edges)
    drawn.add_nodes_from(nodes)
    for node in nodes:
        assert ours(Graph(nodes, tuple(edges)), node) == theirs(drawn, node)


@pytest.mark.parametrize("seed", range(40))
def test_a_cycle_is_found_where_there_is_one_and_follows_the_edges(seed: int) -> None:
    edges = some_edges(seed, acyclic=False)
    found = find_cycle(edges)
    assert bool(found) != nx.is_directed_acyclic_graph(nx.DiGraph(edges))
    if found:
        assert found[0] == found[-1] and len(set(found)) == len(found) - 1
        assert set(pairwise(found)) <= set(edges)


def test_an_edge_to_itself_is_a_cycle() -> None:
    assert find_cycle([("a", "b"), ("b", "b")]) == ["b", "b"] and find_cycle([]) == []


def test_edges_are_left_out_and_nodes_stay() -> None:
    graph = Graph.of([("a", "b"), ("b", "c")]).without([("a", "b"), ("c", "a")])
    assert graph.nodes == ("a", "b", "c") and graph.edges == (("b", "c"),)


def test_columns_are_those_that_are_needed() -> None:
    """A cause of an attribute is a column (Z), what acts on that alone is not (Q); an attribute is no child of another (T)."""
    edges = [("Q", "Z"), ("Z", "S"), ("S", "X"), ("X", "Y"), ("V", "Y"), ("N", "X"), ("Q", "V"), ("S", "T")]
    found = find_roles(Graph.of(edges), ("S", "T"), "V", "Y", ["T"], ())
    assert found.observed == ("Z", "S", "X", "Y", "V", "N", "T")
    assert found.relevant_children == ("X",) and found.decision_is_child and found.decision_parents == ("T",)
    assert found.blocks == (Block(("S",), ("Z",)), Block(("T",), ("S",))) and found.attributes == ("S", "T")


def test_relevant_children_of_several_are_named_once_in_the_order_of_the_attributes() -> None:
    edges = [("S", "X"), ("T", "W"), ("T", "X"), ("X", "Y"), ("W", "Y"), ("T", "Q"), ("V", "Y")]
    assert find_roles(Graph.of(edges), ("T", "S"), "V", "Y", (), ()).relevant_children == ("W", "X")


def test_an_attribute_that_no_arm_sees_is_still_a_question_where_it_is_one_root() -> None:
    """Its groups do not differ: every arm is fair, and that is the answer."""
    assert find_roles(Graph.of([("S", "V"), ("V", "Y")]), ("S",), "V", "Y", (), ()).observed == ("S", "V", "Y")
