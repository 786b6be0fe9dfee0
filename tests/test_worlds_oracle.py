"""The oracles of general fairness against each other: running everyone twice, and the formulas in loops. Neither knows the package.

What they share is the model. The graph's part (which columns, which blocks, which edge reads what) is used by the formulas alone, so that a
wrong reading of a graph shows as a wrong number.
"""

from __future__ import annotations

import collections
import functools
import itertools
from typing import Any

import numpy as np
import pytest

import worlds_formulas
import worlds_graphs
import worlds_models
import worlds_rows
import worlds_truth
from quick import quick
from structural import Function
from worlds_graphs import Graph
from worlds_truth import Codes, Model, mean, world

BLOCKS, BLOCK_SIZE = 10, 40
WORLDS = 6
EXACT = 1e-12


@functools.cache
def model(seed: int) -> Model:
    return worlds_models.random_model(seed)


@pytest.fixture(scope="module", params=quick(range(BLOCKS), 5))
def block(request: pytest.FixtureRequest) -> list[tuple[int, Model, worlds_formulas.Formulas]]:
    """Models that the method can answer something about; making the formulas checks that all arms and people share one h and one θ."""
    seeds = range(request.param * BLOCK_SIZE, (request.param + 1) * BLOCK_SIZE)
    asked = [(seed, model(seed)) for seed in seeds if worlds_graphs.refused(worlds_graphs.of(model(seed))) is None]
    return [(seed, m, worlds_formulas.of(m)) for seed, m in asked]


# ---- by hand ----


def by_hand() -> Model:
    """S → X → Y and S → V → Y with noise U of X: X = S or U, V = S, Y = X + V, which has three states."""
    one, coin = np.ones(1), np.array([0.75, 0.25])
    return Model(
        order=("S", "X", "V", "Y"),
        sizes={"S": 2, "X": 2, "V": 2, "Y": 3},
        functions={
            "S": Function((), np.array([0, 1]), np.array([0.5, 0.5])),
            "X": Function(("S",), np.array([[0, 1], [1, 1]]), coin),
            "Y": Function(("X", "V"), np.array([[[0], [1]], [[1], [2]]]), one),
        },
        arms=(Function(("S",), np.array([[0], [1]]), one),),
        attributes=("S",),
        values=(0.0, 1.0, 2.0),
    )


def test_worlds_by_hand() -> None:
    """People of 0 have X = 1 in a quarter of cases, and V = 0; as 1 they would have X = V = 1."""
    m = by_hand()
    assert mean(m, 0, world(people={"S": 0})) == 0.25
    assert mean(m, 0, world({"S": 1}, {"S": 0})) == 2.0
    assert mean(m, 0, world({"S": 1}, {"S": 0}, ["X"])) == 1.25
    assert mean(m, 0, world({"S": 1}, {"S": 0}, ["V"])) == 1.0
    assert mean(m, 0, world({"S": 1}, {"S": 0}, ["X", "V"])) == 0.25
    assert mean(m, 0, world({"S": 0})) == 0.25
    assert mean(m, 0, world()) == 1.125
    effects = worlds_truth.effects(m, 0, "S", 1, 0)  # X is the only mediator: it comes before the decision
    assert (effects.plain, effects.total, effects.direct) == (1.75, 1.75, 1.0)
    assert (effects.indirect, effects.spurious) == (-0.75, 0.0)


def test_laws_by_hand() -> None:
    m = by_hand()
    assert worlds_truth.law(m, 0, ("X", "Y")).tolist() == [[0.375, 0.0, 0.0], [0.0, 0.125, 0.5]]
    assert worlds_truth.law(m, 0, ("X",), people={"S": 0}).tolist() == [0.75, 0.25]
    assert worlds_truth.law(m, 0, ("S", "X"), do={"S": 1}).tolist() == [[0.0, 0.0], [0.0, 1.0]]


def graph(edges: str, attributes: str, hidden: str = "") -> Graph:
    """A graph from "a>b b>c", nodes in the order in which they are first named."""
    pairs = [edge.split(">") for edge in edges.split()]
    names = dict.fromkeys(itertools.chain.from_iterable(pairs))
    above = {x: frozenset(a for a, b in pairs if b == x) for x in names}
    return Graph(above, tuple(attributes.split()), frozenset(hidden.split()))


def test_d_separation_by_hand() -> None:
    g = graph("a>b b>c d>b b>e", "a")
    asked = [("a", "c", ""), ("a", "c", "b"), ("a", "d", ""), ("a", "d", "b"), ("a", "d", "e"), ("c", "e", "b")]
    found = [worlds_graphs.separated(g.parents, x, {y}, frozenset(z.split())) for x, y, z in asked]
    assert found == [False, True, True, False, False, True]


@pytest.mark.parametrize(
    ("edges", "attributes", "hidden", "why"),
    [
        ("S>V V>Y", "S", "", None),
        ("Z>S S>V V>Y Z>Y", "S", "", None),
        ("Z>S S>V V>Y Z>Y", "S", "Z", "hidden confounding: ('S',) with ['Y']"),
        ("Z>S S>V V>Y", "S", "Z", None),  # a hidden cause that acts on nothing else
        ("Z>S Z>X X>V S>V V>Y", "S", "Z", "hidden confounding: ('S',) with ['V', 'X', 'Y']"),
        ("S>V V>Y S>X U>X U>Y X>Y", "S", "U", "hidden column U"),
        ("U>X U>Y X>V S>V V>Y", "S", "U", None),  # a hidden cause of Y and of what V reads
        ("H>A H>B A>V B>V V>Y", "A B", "H", None),
        ("H>A H>B A>V B>V V>Y H>Y", "A B", "H", "hidden confounding: ('A', 'B') with ['Y']"),
        ("H>A H>B A>M M>B B>V V>Y", "A B", "H", "block ('A', 'B') acts on its own cause"),
        ("S>X V>Y", "S", "", "no path: S to Y"),
        ("V>S S>Y", "S", "", "decision above S"),
    ],
)
def test_refused_graphs_by_hand(edges: str, attributes: str, hidden: str, why: str | None) -> None:
    assert worlds_graphs.refused(graph(edges, attributes, hidden)) == why


@pytest.mark.parametrize(
    ("edges", "attributes", "hidden", "read", "people", "kept", "why"),
    [
        ("A>X X>R X>Y R>Y V>Y", "A", "", "A", "A", "R", "recanting witness: ['X']"),
        ("A>X X>R X>Y R>Y V>Y", "A", "", "A", "A", "X R", None),
        ("A>X X>R X>Y R>Y V>Y", "A", "", "A", "A", "", None),
        # the case that would wrongly pass if factual nodes did not need the parents of what is read
        ("A>M M>B B>X X>Y M>Y V>Y", "A B", "", "A B", "A", "X", "recanting witness: ['M']"),
        ("A>M M>B B>X X>Y M>Y V>Y", "A B", "", "A B", "", "", None),
        ("A>M M>B B>Y M>Y V>Y", "A B", "", "A B", "A B", "", "recanting witness: ['M']"),
        ("A>B A>V B>V V>Y", "A B", "", "A", "A", "", None),
        ("A>B A>V B>V V>Y", "A B", "", "A", "A B", "", "recanting witness: ['B']"),
        ("A>B A>V B>V V>Y", "A B", "", "A", "A B", "B", None),
        ("H>A H>B A>B A>V B>V V>Y", "A B", "H", "A", "A", "", "part of a block: ('A', 'B')"),
        ("H>A H>B A>B A>V B>V V>Y", "A B", "H", "A", "A", "B", None),
        ("H>A H>B A>V B>V V>Y", "A B", "H", "A", "A", "", None),
        ("D>A D>B H>A H>B A>V B>V D>V V>Y", "D A B", "H", "D", "D", "", None),
        ("D>A H>A H>B A>V B>V D>V V>Y", "D A B", "H", "D", "D", "", "part of a block: ('A', 'B')"),
    ],
)
def test_refused_worlds_by_hand(
    edges: str, attributes: str, hidden: str, read: str, people: str, kept: str, why: str | None
) -> None:
    g = graph(edges, attributes, hidden)
    asked = world(dict.fromkeys(read.split(), 1), dict.fromkeys(people.split(), 0), kept.split())
    assert worlds_graphs.refused(g) is None
    assert worlds_graphs.refused_world(g, asked) == why


# ---- one against the other ----


def test_models_cover_every_structure() -> None:
    seen: collections.Counter[str] = collections.Counter()
    for seed in range(BLOCKS * BLOCK_SIZE):
        g = worlds_graphs.of(model(seed))
        assert worlds_truth.assignments(model(seed)) <= worlds_models.MAX_ASSIGNMENTS
        seen.update(worlds_models.features(g))
        seen["refused"] += worlds_graphs.refused(g) is not None
        seen.update({f"attribute of {max(model(seed).sizes[x] for x in g.attributes)} states"})
    least = min((count, name) for name, count in seen.items())
    assert len(seen) == 26 and least[0] >= 15, least


def test_means_of_worlds(block: list[tuple[int, Model, worlds_formulas.Formulas]]) -> None:
    """Every world that is answered, for every arm, and at least two of three drawn ones are."""
    compared = 0
    for seed, m, f in block:
        rng = np.random.default_rng([seed, 1])
        for asked in (worlds_models.random_world(m, rng) for _ in range(WORLDS)):
            if worlds_graphs.refused_world(f.graph, asked) is None:
                compared += 1
                for k in range(len(m.arms)):
                    off = abs(worlds_formulas.mean(f, k, asked) - mean(m, k, asked))
                    assert off <= EXACT * m.width, (m.name, str(asked))
    assert compared >= len(block) * WORLDS * 2 / 3


def test_other_blocks_give_the_same_means() -> None:
    """Every division into blocks that separates as it must, smaller or larger than the one that is found."""
    compared = 0
    for seed in range(0, BLOCKS * BLOCK_SIZE, 3):
        m = model(seed)
        others = [g for g in worlds_graphs.readings(worlds_graphs.of(m)) if g.blocks != worlds_graphs.of(m).blocks]
        rng = np.random.default_rng([seed, 4])
        for f in (worlds_formulas.of(m, g) for g in others):
            for asked in (worlds_models.random_world(m, rng) for _ in range(WORLDS)):
                if worlds_graphs.refused_world(f.graph, asked) is None:
                    compared += 1
                    assert abs(worlds_formulas.mean(f, 0, asked) - mean(m, 0, asked)) <= EXACT * m.width, m.name
    assert compared >= 100


def test_laws_of_rows(block: list[tuple[int, Model, worlds_formulas.Formulas]]) -> None:
    """Natural, recruited with one attribute and with all, one attribute set and all set; and the mean outcome, by the one θ."""
    for seed, m, f in block:
        rng = np.random.default_rng([seed, 2])
        columns = (*m.attributes, *f.graph.columns)
        code = {x: int(rng.integers(m.sizes[x])) for x in m.attributes}
        alone = [{x: code[x]} for x in m.attributes]
        for people, do in (
            ({}, {}),
            *((each, {}) for each in [code, *alone]),
            *(({}, each) for each in [code, *alone]),
        ):
            if worlds_graphs.refused_set(f.graph, do) is not None:
                continue
            k = int(rng.integers(len(m.arms)))
            assert _off(f, k, people, do) <= EXACT, (m.name, people, do)
            outcome = worlds_truth.law(m, k, (m.outcome,), people, do) @ np.array(m.values)
            by_cells = sum(
                p * f.theta[f.cell(x, x)] for x, p in _points(columns, worlds_formulas.law(f, k, people, do))
            )
            assert abs(by_cells - outcome) <= EXACT * m.width, (m.name, people, do)


def test_an_attribute_set_that_acts_inside_its_block() -> None:
    """No law of set rows follows: the rest of the block is another one once its cause is set. So a block summed is wrong there."""
    wrong = asked = 0
    for seed in range(BLOCKS * BLOCK_SIZE):
        g = worlds_graphs.of(model(seed))
        acting = [x for x in g.attributes if worlds_graphs.refused_set(g, [x])]
        if acting and worlds_graphs.refused(g) is None:
            asked, wrong = asked + 1, wrong + (_off(worlds_formulas.of(model(seed)), 0, {}, {acting[0]: 0}) > 1e-6)
    assert asked >= 20 and wrong >= 0.9 * asked


def _off(f: worlds_formulas.Formulas, k: int, people: Codes, do: Codes) -> float:
    """The largest difference between the law of points and its formula."""
    truth = worlds_truth.law(f.model, k, (*f.model.attributes, *f.graph.columns), people, do)
    found = worlds_formulas.law(f, k, people, do)
    return max(abs(float(p) - found.get(index, 0.0)) for index, p in np.ndenumerate(truth))


def test_rows_of_one_group_without_mechanisms_of_children() -> None:
    """One attribute: rows of t where every child reads t, rows of u where only V does. No table but V's and P(S | causes) is used."""
    of_t = of_u = 0
    for seed in range(BLOCKS * BLOCK_SIZE):
        m = model(seed)
        g = worlds_graphs.of(m)
        if len(m.attributes) > 1 or worlds_graphs.refused(g) is not None:
            continue
        f, (x,), last = worlds_formulas.of(m), m.attributes, len(m.arms) - 1
        of_t += 1
        off = worlds_formulas.from_rows_of_t(f, 0, 1, 0) - mean(m, 0, world({x: 1}, {x: 0}))
        assert abs(off) <= EXACT * m.width, m.name
        if x in g.parents[m.decision] and x not in g.parents[m.outcome]:
            of_u += 1
            kept = world({x: 1}, {x: 0}, g.relevant - {m.decision})
            if worlds_graphs.refused_world(g, kept) is None:
                off = worlds_formulas.from_rows_of_u(f, 0, last, 1, 0) - mean(m, 0, kept)
                assert abs(off) <= EXACT * m.width, m.name
    assert min(of_t, of_u) >= 20


def _points(names: tuple[str, ...], law: dict[tuple[int, ...], float]) -> list[tuple[dict[str, int], float]]:
    return [(dict(zip(names, index, strict=True)), p) for index, p in law.items() if p > 0]


def test_plain_worlds_do_not_depend_on_the_people() -> None:
    """μ(t|u) = μ(t) of an attribute without causes and block, nothing kept; with causes it differs in most models."""
    differs = asked = 0
    for seed in range(100):
        m = model(seed)
        for x in m.attributes:
            g = worlds_graphs.of(m)
            off = abs(mean(m, 0, world({x: 0}, {x: 1})) - mean(m, 0, world({x: 0}))) / m.width
            if worlds_rows.plain(m, {"attributes": (x,)}) and worlds_graphs.refused(g) is None:
                assert off <= EXACT
            elif g.causes([x]):
                asked, differs = asked + 1, differs + (off > 1e-6)
    assert asked >= 20 and differs >= asked / 2


def test_effects_add_up() -> None:
    for seed in range(60):
        m = model(seed)
        for x in m.attributes:
            e = worlds_truth.effects(m, 0, x, 1, 0)
            assert abs(e.plain - (e.direct - e.indirect - e.spurious)) <= EXACT * m.width


# ---- rows of questions ----


def test_rows_of_every_kind_of_question() -> None:
    """How many rows, and which world is on which side, by counting; values by `worlds_formulas` where all worlds are answered."""
    kinds: collections.Counter[str] = collections.Counter()
    for seed in range(0, BLOCKS * BLOCK_SIZE, 2):
        m = model(seed)
        g = worlds_graphs.of(m)
        asked = worlds_models.random_question(m, np.random.default_rng([seed, 3]))
        rows = worlds_rows.rows(m, asked)
        assert len(rows) == _count(m, asked), asked
        if worlds_graphs.refused(g) is None:
            answered = [row for row in rows if all(worlds_graphs.answered(g, each) for _, each in row.terms)]
            f = worlds_formulas.of(m)
            for row in answered[:2]:
                value = sum(a * worlds_formulas.mean(f, 0, each) for a, each in row.terms)
                assert abs(value - row.value(m, 0)) <= 10 * EXACT * m.width
            kinds.update(
                [asked["compare"], asked.get("effect", "total"), asked.get("others", "follow")] * bool(answered)
            )
            kinds["joint"] += bool(answered) and len(asked["attributes"]) > 1
    assert min(kinds.values()) >= 5 and len(kinds) == 12, kinds


def _count(m: Model, asked: dict[str, Any]) -> int:
    G = len(asked.get("groups") or worlds_models.profiles(m, asked["attributes"]))
    compared = {"pairs": G * (G - 1), "reference": 2 * (G - 1), "mean": G, "floor": G, "weights": 1}[asked["compare"]]
    both = "ratio" in asked and asked.get("direction", "both") == "both"
    return compared * (2 if both else 1)


def test_directions_by_hand() -> None:
    """by_hand: people of 0 get 0.25 and would get 2 as 1; people of 1 get 2 and would get 0.25 as 0."""
    m = by_hand()
    asked = {"attributes": ("S",), "compare": "reference", "reference": (1,), "tolerance": 0.5}
    below = worlds_rows.rows(m, asked | {"direction": "not_below"})
    assert [(row.value(m, 0), row.low, row.high) for row in below] == [(-1.75, -0.5, np.inf), (-1.75, -0.5, np.inf)]
    assert worlds_rows.fair(m, 0, [asked | {"direction": "not_above"}])
    assert not worlds_rows.fair(m, 0, [asked | {"direction": "not_below"}])
    ratio = {"attributes": ("S",), "compare": "mean", "ratio": 0.5}
    found = [row.value(m, 0) for row in worlds_rows.rows(m, ratio)]
    assert found == [0.25 - 0.5 * 1.125, 1.125 - 0.5 * 0.25, 2 - 0.5 * 1.125, 1.125 - 0.5 * 2]
