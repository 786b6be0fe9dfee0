"""Random small graphs with a world that the method refuses, by kind of reason, and such that it answers. For `worlds_equivalence`.

At most seven binary nodes; a hidden node is a root H with two children, so that a model's noises may be anything below it.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

import worlds_graphs
from worlds_equivalence import MAX_JOINT, MAX_PEOPLE, MAX_RESPONSES
from worlds_graphs import Graph
from worlds_truth import World, world


class Question(NamedTuple):
    """A graph, a world, and why it is refused by `worlds_graphs`; None if it is not."""

    kind: str
    graph: Graph
    asked: World
    why: str | None


UNANSWERABLE = ("kept witness", "joint witness", "witness V", "hidden cause of attribute and child", "edge in a block", "block in two worlds")  # fmt: skip
"""Kinds where two models are expected to differ."""

STRICT = ("hidden cause of attribute and other", "part of a block")
"""Kinds that the method refuses although other ways of answering exist: front doors, adjustment for more columns, one half of a block."""


def random_refused(seed: int, kinds: tuple[str, ...] = UNANSWERABLE + STRICT) -> Question:
    """Of kind seed % len(kinds)."""
    return _drawn(seed, kinds[seed % len(kinds)])


def random_answered(seed: int) -> Question:
    """A world that the method answers; with a hidden node if the seed is odd, with something kept in most."""
    return _drawn(seed, "answered, hidden" if seed % 2 else "answered")


def _drawn(seed: int, kind: str) -> Question:
    for attempt in itertools.count():
        rng = np.random.default_rng([seed, attempt])
        graph = _graph(rng, kind)
        if _people(graph) > MAX_PEOPLE:
            continue
        asked = _asked(rng, kind, graph)
        why = worlds_graphs.refused(graph) or worlds_graphs.refused_world(graph, asked)
        if _fits(kind, graph, asked, why):
            return Question(kind, graph, asked, why)
    raise AssertionError


def _people(graph: Graph) -> int:
    """Assignments of all noises of a model of responses."""
    alone = [x for x in graph.parents if x not in graph.hidden and not graph.parents[x] & graph.hidden]
    responses = [min(2 ** (2 ** len(graph.parents[x])), MAX_RESPONSES) for x in alone]
    return int(np.prod([MAX_JOINT] * len(graph.hidden) + responses))


def _graph(rng: np.random.Generator, kind: str) -> Graph:
    attributes = {"joint witness": 2, "edge in a block": 2, "part of a block": 3, "block in two worlds": 3}.get(kind, 1)
    attributes = int(rng.integers(1, 4)) if "answered" in kind else attributes
    some = int(rng.integers(0 if "block" in kind else 1, 3 if attributes < 3 else 2))
    names = [*(f"A{i}" for i in range(attributes)), *(f"X{i}" for i in range(some)), "V"]
    order = [*(str(x) for x in rng.permutation(names)), "Y"]
    density = rng.uniform(0.4, 0.8)
    parents = {x: [p for p in order[:i] if rng.random() < density][-3:] for i, x in enumerate(order)}
    below = _below_hidden(rng, kind, order, parents)
    for x in below:
        parents[x] = ["H", *sorted(parents[x], key=lambda p: p not in below)[:2]]  # an edge between the two stays
    return Graph(
        {x: frozenset(parents.get(x, ())) for x in [*(["H"] if below else []), *order]},
        tuple(f"A{i}" for i in range(attributes)),
        frozenset(["H"] if below else []),
    )


def _below_hidden(rng: np.random.Generator, kind: str, order: list[str], parents: dict[str, list[str]]) -> list[str]:
    """The two children of H; none where the kind has no hidden node, or no such pair is there."""
    attributes = [x for x in order if x.startswith("A")]
    first = str(rng.choice(attributes))
    if "block" in kind:
        others = [x for x in attributes if x != first]
    elif kind == "hidden cause of attribute and child":
        others = [x for x in order if first in parents[x] and x != "V"]
    elif kind == "hidden cause of attribute and other":
        others = [x for x in order if first not in parents[x] and x not in (first, "V")]
    elif kind == "answered, hidden":
        first, others = str(rng.choice([x for x in order if x != "V"])), [x for x in order if x != "V"]
    else:
        others = []
    others = [x for x in others if x != first]
    return [first, str(rng.choice(others))] if others else []


def _asked(rng: np.random.Generator, kind: str, graph: Graph) -> World:
    read = list(graph.attributes) if kind == "joint witness" else [str(rng.choice(graph.attributes))]
    free = [x for x in graph.parents if x not in read and x not in (graph.outcome, *graph.hidden)]
    keeps = "answered" in kind or kind in ("kept witness", "witness V", "block in two worlds")
    kept = [x for x in free if rng.random() < 0.4] if keeps else []
    t = {x: int(rng.integers(2)) for x in read}
    return world(t, {x: 1 - t[x] for x in read}, kept)


def _fits(kind: str, graph: Graph, asked: World, why: str | None) -> bool:
    """The reason is that of the kind, and no other."""
    if why is None or "answered" in kind:
        return why is None and "answered" in kind and bool(graph.hidden) == ("hidden" in kind)
    if "witness" in kind:
        return why.startswith("recanting") and ("'V'" in why or kind != "witness V")
    if kind == "hidden cause of attribute and child":
        return (
            why.startswith(("hidden column", "hidden confounding"))
            and worlds_graphs.refused_world(graph, asked) is None
        )
    if kind == "hidden cause of attribute and other":
        return why.startswith("hidden confounding") and worlds_graphs.refused_world(graph, asked) is None
    read = {x for x, _ in asked.read}
    inside = any(len(block) > 1 and read & set(block) for block in graph.blocks)
    if kind == "edge in a block":
        return why.startswith("part of a block") and inside
    needed = worlds_graphs.versions(graph, asked)
    twice = any(
        any(x in needed.counterfactual and graph.parents[x] & read for x in block)
        and any(x in asked.kept & needed.factual and graph.parents[x] & read for x in block)
        for block in graph.blocks
    )
    return why.startswith("part of a block") and not inside and twice == (kind == "block in two worlds")
