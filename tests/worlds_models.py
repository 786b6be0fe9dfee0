"""Random models, worlds and questions for `worlds_truth`: every structure that the method answers, and some that it refuses.

A kind of structure is drawn with each seed, so that rare ones (two attributes below a hidden node, a cause of such a pair) are as
frequent as the others. Tables are positive, so that every value of every node is met, unless ``zeros`` is asked for. Imports nothing of fairarm.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

import worlds_graphs
from structural import Function
from worlds_graphs import Graph
from worlds_truth import Model, World, mediators, world

MAX_ASSIGNMENTS, MAX_POINTS = 20_000, 600
"""Most assignments of all noises, and most values of the attributes and C together."""

KINDS = (
    "one attribute",
    "a cause",
    "attribute above attribute",
    "a block",
    "hidden cause of Y and a column",
    "attribute acts on Y",
    "a node between attributes",
    "a block with causes",
    "three attributes",
    "anything",
)
"""Drawn in turn. "anything" has graphs that the method refuses, too."""


def random_model(seed: int, zeros: bool = False) -> Model:
    """The model of a seed: 3 to 10 nodes, 1 to 3 attributes of 2 to 4 states, 1 or 2 arms; of kind seed % len(KINDS)."""
    kind = KINDS[seed % len(KINDS)]
    for attempt in itertools.count():
        rng = np.random.default_rng([seed, attempt])
        order, parents, arms = _edges(rng, kind)
        graph = Graph(
            {x: frozenset(p for each in arms for p in each) if x == "V" else frozenset(parents[x]) for x in order},
            tuple(sorted(x for x in order if x.startswith("A"))),  # not the causal order
            frozenset(x for x in order if x.startswith("H")),
        )
        graph = _some_hidden(rng, graph)
        if kind != "anything" and (kind not in features(graph) or worlds_graphs.refused(graph)):
            continue
        if kind == "anything" and "V" not in graph.above["Y"]:
            continue
        model = _filled(rng, order, parents, arms, graph, zeros, f"{kind} {seed}")
        if _small_enough(model, graph):
            return model
    raise AssertionError


def _some_hidden(rng: np.random.Generator, graph: Graph) -> Graph:
    """Half of the nodes that no row needs are hidden."""
    spare = set(graph.parents) - set(graph.columns) - set(graph.attributes) - {graph.outcome}
    more = [x for x in graph.parents if x in spare and rng.random() < 0.5]
    return Graph(graph.parents, graph.attributes, graph.hidden.union(more))


def _small_enough(model: Model, graph: Graph) -> bool:
    noises = [len(function.noise) for name, function in model.functions.items()]
    points = math.prod(model.sizes[x] for x in (*graph.attributes, *graph.columns))
    return math.prod(noises) * max(len(arm.noise) for arm in model.arms) <= MAX_ASSIGNMENTS and points <= MAX_POINTS


def _edges(
    rng: np.random.Generator, kind: str
) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]], list[tuple[str, ...]]]:
    """A causal order, the parents of every node but V, and what each arm uses. Names: A attributes, X others, H hidden roots."""
    m = {"one attribute": 1, "a cause": 1, "three attributes": 3}.get(kind) or int(rng.choice([1, 2, 2, 3]))
    m = max(m, 2) if "block" in kind or "between" in kind or "above" in kind else m
    roots = [f"H{i}" for i in range(1 if "block" in kind or "hidden" in kind else int(rng.integers(0, 3)))]
    some = int(rng.integers("hidden" in kind or "between" in kind, 5 - (m == 3)))
    rest = [str(x) for x in rng.permutation([*(f"A{i}" for i in range(m)), *(f"X{i}" for i in range(some)), "V"])]
    order = [*roots, *rest]
    order.insert(int(rng.integers(order.index("V") + 1, len(order) + 1)) if rng.random() < 0.2 else len(order), "Y")
    density, caused = rng.uniform(0.3, 0.7), rng.choice([0.15, 0.5])
    parents: dict[str, tuple[str, ...]] = {}
    for i, name in enumerate(order):
        chance = dict.fromkeys(order[:i], density)
        if name.startswith("A"):
            chance = {x: 0.6 if x in roots and "block" in kind else caused for x in order[:i] if x != "V"}
        elif any(x.startswith("A") for x in order[:i]) and rng.random() < 0.6:  # most children see no hidden node
            chance = {x: density for x in order[:i] if x not in roots}
        used = [x for x in order[:i] if rng.random() < chance.get(x, 0.0)]
        parents[name] = tuple(str(x) for x in rng.permutation(used)[:3]) if used else ()
    usable = [x for x in order[: order.index("V")] if x not in roots]
    arms = [tuple(x for x in usable if rng.random() < 0.5)[:3] for _ in range(int(rng.integers(1, 3)))]
    _add(kind, order, parents, arms)
    return tuple(order), parents, arms


def _add(kind: str, order: list[str], parents: dict[str, tuple[str, ...]], arms: list[tuple[str, ...]]) -> None:
    """What chance alone would seldom draw."""
    below = lambda x, names: [name for name in names if order.index(name) > order.index(x)]  # noqa: E731
    X, A = [x for x in order if x.startswith("X")], [x for x in order if x.startswith("A")]
    if "hidden" in kind:  # H0 → Y, H0 → X, V reads X, and no attribute acts on X or Y
        for name in (X[0], "Y"):
            parents[name] = ("H0", *(x for x in parents[name] if x not in A and x != "H0"))
        arms[:] = [(X[0], *(x for x in used if x != X[0])) for used in arms if below(X[0], ["V"])] or arms
    if "between" in kind and below(A[0], X) and below(below(A[0], X)[0], A):
        x = below(A[0], X)[0]
        parents[x] = tuple(dict.fromkeys((*parents[x][:2], A[0])))
        last = below(x, A)[0]
        parents[last] = tuple(dict.fromkeys((*parents[last][:2], x)))


def _filled(
    rng: np.random.Generator,
    order: tuple[str, ...],
    parents: dict[str, tuple[str, ...]],
    arms: list[tuple[str, ...]],
    graph: Graph,
    zeros: bool,
    name: str,
) -> Model:
    sizes = {x: 2 + int(rng.random() < (0.4 if x.startswith("A") else 0.15)) for x in order}
    if len(graph.attributes) == 1 and rng.random() < 0.3:
        sizes[graph.attributes[0]] = 4
    values = [0.0, 0.5, 1.0, 4.0, 10.0, *([-3.0] if rng.random() < 0.3 else [])]
    return Model(
        order=order,
        sizes=sizes,
        functions={x: _function(rng, sizes, parents[x], x, zeros) for x in order if x != "V"},
        arms=tuple(_function(rng, sizes, used, "V", zeros) for used in arms),
        attributes=graph.attributes,
        values=tuple(float(v) for v in rng.choice(values, sizes["Y"], replace=False)),
        hidden=graph.hidden,
        name=name,
    )


def _function(
    rng: np.random.Generator, sizes: dict[str, int], parents: tuple[str, ...], node: str, zeros: bool
) -> Function:
    """Any function of the parents and the noise; for each value of the parents every state is reached, unless ``zeros``."""
    states = sizes[node]
    levels = states + int(rng.integers(0, 2)) if parents else states
    shape = tuple(sizes[x] for x in parents)
    values = np.empty((*shape, levels), dtype=np.int64)
    for index in np.ndindex(*shape):
        free = rng.integers(states, size=levels)
        if not (zeros and rng.random() < 0.2):
            free[:states] = np.arange(states)
        values[index] = rng.permutation(free) if parents else free
    return Function(parents, values, rng.dirichlet(np.full(levels, 4.0)))


# ---- what a graph has ----


def features(graph: Graph) -> set[str]:
    """Which of the structures that matter this graph has."""
    A, Y, above = set(graph.attributes), graph.outcome, graph.above
    causes = {x: graph.causes([x]) for x in A}
    columns = set(graph.columns)
    below = {h: {x for x in graph.parents if h in graph.parents[x]} for h in graph.hidden}
    between = {x for x in set(graph.parents) - A if above[x] & A and any(x in above[a] for a in A)}
    blocks = [block for block in graph.blocks if len(block) > 1]
    tests = {
        "one attribute": len(A) == 1,
        "two attributes": len(A) == 2,
        "three attributes": len(A) == 3,
        "plain": all(not z for z in causes.values()) and not blocks,
        "a cause": any(z - A for z in causes.values()),
        "attribute above attribute": any(above[x] & A for x in A),
        "attribute parent of attribute": any(z & A for z in causes.values()),
        "a node between attributes": bool(between),
        "a block": bool(blocks),
        "a block with causes": any(graph.causes(block) for block in blocks),
        "edge inside a block": any(graph.parents[x] & set(block) for block in blocks for x in block),
        "a block and one more": bool(blocks) and len(graph.blocks) > 1,
        "attribute acts on Y": bool(graph.read_by_outcome),
        "V reads an attribute": bool(graph.parents["V"] & A),
        "child above V": any(x in above["V"] for x in graph.relevant),
        "child below V": any("V" in above[x] for x in graph.relevant - {Y}),
        "cause is a column of V": any(z & graph.parents["V"] - A for z in causes.values()),
        "hidden cause of Y and a column": any(Y in c and c & (columns | A) for c in below.values()),
        "hidden cause of two columns": any(len(c & columns) > 1 for c in below.values()),
        "hidden cause of an attribute": any(graph.parents[x] & graph.hidden for x in A),
        "hidden node below an attribute": any(above[h] & A for h in graph.hidden),
        "node that is no column": bool(set(graph.parents) - columns - A - {Y}),
    }
    return {name for name, holds in tests.items() if holds}


# ---- worlds and questions ----


def random_world(model: Model, rng: np.random.Generator) -> World:
    """Any attributes read as anything, among any people, with nothing, something, all mediators or all other attributes kept."""
    A = model.attributes
    pick = lambda chance: [x for x in A if rng.random() < chance]  # noqa: E731
    read = pick(0.5) or [str(rng.choice(A))] if rng.random() < 0.95 else []
    of = {"same": read, "nobody": [], "all": list(A), "any": pick(0.5)}[
        str(rng.choice(["same", "nobody", "all", "any"]))
    ]
    free = [x for x in model.order if x not in read and x != model.outcome]
    kept = {
        "nothing": (),
        "some": [x for x in free if rng.random() < 0.3],
        "one": [str(rng.choice(free))],
        "mediators": mediators(model, read),
        "others": [x for x in A if x not in read],
    }[str(rng.choice(["nothing", "nothing", "some", "one", "mediators", "others"]))]
    code = lambda x: int(rng.integers(model.sizes[x]))  # noqa: E731
    return world({x: code(x) for x in read}, {x: code(x) for x in of}, kept)


def random_question(model: Model, rng: np.random.Generator) -> dict[str, Any]:
    """The keys of a constraint in a problem file, states as codes; groups are tuples of codes, one for each of ``attributes``."""
    A, width = model.attributes, model.width
    joint = [x for x in A if rng.random() < 0.8]
    names = tuple(joint) if len(joint) > 1 and rng.random() < 0.4 else (str(rng.choice(A)),)
    how = str(rng.choice(["total", "total", "held", "keep", "mediators", "direct", "indirect", "spurious"]))
    effect = how in ("direct", "indirect", "spurious")
    compare = str(rng.choice(["pairs", "reference"] if effect else ["pairs", "reference", "mean", "floor", "weights"]))
    asked: dict[str, Any] = {"attributes": names, "compare": compare}
    graph, groups = worlds_graphs.of(model), profiles(model, names)
    if compare == "weights":
        if len(names) > 1 or graph.causes(names) or names not in graph.blocks:
            return random_question(model, rng)
        return asked | {"weights": {g: float(rng.normal()) for g in groups}, "tolerance": float(width)}
    if len(groups) > 2 and rng.random() < 0.3:
        some = sorted(rng.choice(len(groups), int(rng.integers(2, len(groups))), replace=False))
        asked["groups"] = groups = [groups[i] for i in some]
    if compare == "floor":
        return asked | {"at_least": float(min(model.values) + width * rng.uniform(0.1, 0.6))}
    if compare == "reference":
        asked["reference"] = groups[int(rng.integers(len(groups)))]
    if compare != "pairs" and not effect:
        asked["direction"] = str(rng.choice(["both", "not_below", "not_above"]))
    by_ratio = min(model.values) >= 0 and not effect and rng.random() < 0.4
    asked |= (
        {"ratio": float(rng.uniform(0.4, 0.95))} if by_ratio else {"tolerance": float(width * rng.uniform(0.01, 0.4))}
    )
    free = [x for x in model.order if x not in names and x not in (model.outcome, *model.hidden)]
    more = {"held": {"others": "held"}, "mediators": {"keep": "mediators"}, "total": {}}
    return asked | more.get(how, {"effect": how} if effect else {"keep": tuple(x for x in free if rng.random() < 0.4)})


def profiles(model: Model, attributes: tuple[str, ...]) -> list[tuple[int, ...]]:
    """Groups of these attributes together, the last changing fastest."""
    return list(itertools.product(*(range(model.sizes[x]) for x in attributes)))
