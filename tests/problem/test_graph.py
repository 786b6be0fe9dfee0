"""What can be reached in a graph, and cycles, against networkx."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from fairarm.problem.graph import Graph
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
