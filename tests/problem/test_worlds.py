"""Worlds and their readings: the worked graphs by hand, recanting witnesses, blocks, normal forms."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from fairarm.errors import ProblemError
from fairarm.problem.graph import Graph, Roles, find_roles
from fairarm.problem.worlds import AS_IT_IS, Profile, World, mediators, normal_form, profile_name, reading_of

W2 = "Z>S S>V V>Y Z>Y"
W3 = "S>R R>V S>V V>Y"
W4 = "region>race region>V race>V V>Y"
W5 = "A>X X>R X>Y R>Y V>Y"
W6 = "Z>S S>Y Z>Y V>Y"
W7 = "sex>department department>V sex>V V>Y"


def roles(edges: str, attributes: str, hidden: str = "") -> Roles:
    pairs = [tuple(edge.split(">")) for edge in edges.split()]
    used = tuple(a for a, b in pairs if b == "V")
    return find_roles(Graph.of(pairs), tuple(attributes.split()), "V", "Y", used, hidden.split())


def profile(text: str) -> Profile:
    return tuple((part.split("=")[0], part.split("=")[1]) for part in text.split())


def world(read: str, people: str = "", keep: str = "") -> World:
    return World(profile(read), profile(people), tuple(keep.split()))


def counterfactual(edges: str, attributes: str, asked: World, hidden: str = "") -> set[str]:
    found = roles(edges, attributes, hidden)
    reading = reading_of(asked, found.graph, found.attributes, "Y", found.blocks)
    assert reading.world == asked
    return {*reading.counterfactual}


@pytest.mark.parametrize(
    ("edges", "attributes", "asked", "hidden", "expected"),
    [
        (W2, "S", world("S=1", "S=0"), "", "V Y"),
        (W2, "S", world("", "S=0"), "", ""),
        (W3, "S", world("S=1", "S=0"), "", "R V Y"),
        (W3, "S", world("S=1", "S=0", "R"), "", "V Y"),  # V reads 1, R as it is
        (W3, "S", world("S=1", "S=0", "R V"), "", ""),
        (W4, "region race", world("region=1", "region=0"), "", "race V Y"),
        (W4, "region race", world("region=1", "region=0", "race"), "", "V Y"),
        (W4, "region race", world("race=1", "race=0"), "", "V Y"),
        (W4, "region race", world("region=1 race=0"), "", "V Y"),
        (W4, "region race", world("region=1 race=0", "region=0 race=1"), "", "V Y"),
        (W6, "S", world("S=1", "S=0"), "", "Y"),
        (W7, "sex", world("sex=m", "sex=f", "department"), "", "V Y"),
        ("S>H H>X X>V S>X V>Y", "S", world("S=1", "S=0"), "H", None),
        ("S>X X>H H>V V>Y", "S", world("S=1", "S=0"), "", "X H V Y"),
        ("S>X X>H H>Y X>V V>Y", "S", world("S=1", "S=0"), "H", "X H V Y"),  # hidden nodes are walked through
        ("H>race H>sex race>V sex>V V>Y", "race sex", world("race=1", "race=0"), "H", "V Y"),
        # both of a block are below region: as a whole they are as they would be
        ("r>a r>b H>a H>b a>V b>V V>Y", "r a b", world("r=1", "r=0"), "H", "a b V Y"),
        ("S>X X>W S>V V>Y", "S", world("S=1", "S=0", "X"), "", "V Y"),
        # X is above Y only through the attribute that is read: it is not needed
        ("a>X X>b a>V b>V V>Y", "a b", world("a=1 b=0"), "", "V Y"),
    ],
)  # fmt: skip
def test_which_nodes_are_as_they_would_be(
    edges: str, attributes: str, asked: World, hidden: str, expected: str | None
) -> None:
    if expected is None:
        with pytest.raises(ProblemError, match="must be observed"):
            roles(edges, attributes, hidden)
        return
    assert counterfactual(edges, attributes, asked, hidden) == {*expected.split()}


@pytest.mark.parametrize(
    ("edges", "attributes", "asked", "hidden", "message"),
    [
        (W5, "A", world("A=1", "A=0", "R"), "",
         "keep = ['R']: 'X' reaches the outcome through 'R' and past it. Keep 'X' too, or not 'R'."),
        (W5, "A", world("A=1", "", "R"), "", "'X' reaches the outcome through 'R' and past it"),
        ("a1>M M>a2 a2>X X>Y M>Y V>Y", "a1 a2", world("a1=1 a2=1", "", "X"), "",
         "keep = ['X']: 'M' reaches the outcome through 'X' and past it. Keep 'M' too, or not 'X'."),
        ("a1>M M>a2 a2>X X>Y M>Y V>Y", "a1 a2", world("a1=1 a2=1", "a1=0 a2=0", "X"), "",
         "joint groups of 'a1' and 'a2': 'M' lies between them and also acts on 'Y'. Use compare = 'mean'."),
        ("a>M M>b M>c a>V b>V c>V V>Y M>Y", "a b c", world("a=1 b=1 c=1", "a=0 b=0 c=0"), "",
         "joint groups of 'a', 'b' and 'c': 'M' lies between them"),
        # two witnesses: the lower one is named
        ("S>X X>Z Z>R Z>Y R>Y V>Y", "S", world("S=1", "S=0", "R"), "", "Keep 'Z' too, or not 'R'."),
        # what is kept acts through a node that nothing else changes
        ("S>X X>R R>N N>Y X>Y V>Y", "S", world("S=1", "S=0", "R"), "", "Keep 'X' too, or not 'R'."),
        # the witness is hidden
        ("S>X X>H H>R R>Y H>Y V>Y", "S", world("S=1", "S=0", "R"), "H", "Keep 'H' too, or not 'R'."),
        ("region>race H>region H>race region>V race>V V>Y", "region race", world("region=1", "region=0"), "H",
         "'region' acts on 'race' and shares a hidden cause with it. Use others = 'held'."),
        ("region>race H>sex H>race region>V race>V sex>V V>Y", "region race sex", world("region=1", "region=0"), "H",
         "'region' acts on 'race', which shares a hidden cause with 'sex'. Use others = 'held'."),
        ("region>race H>sex H>race region>V race>V sex>V V>Y", "region race sex", world("region=1 sex=1"), "H",
         "'region' acts on 'race', which shares a hidden cause with 'sex'. Use others = 'held'."),
    ],
)  # fmt: skip
def test_refused(edges: str, attributes: str, asked: World, hidden: str, message: str) -> None:
    found = roles(edges, attributes, hidden)
    with pytest.raises(ProblemError) as caught:
        reading_of(asked, found.graph, found.attributes, "Y", found.blocks)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("edges", "attributes", "asked", "hidden"),
    [
        (W5, "A", world("A=1", "A=0", "X R"), ""),
        (W5, "A", world("A=1", "A=0"), ""),
        ("a1>M M>a2 a2>X X>Y M>Y V>Y", "a1 a2", world("a1=1 a2=1"), ""),  # against the mean
        ("region>race H>region H>race region>V race>V V>Y", "region race", world("region=1", "region=0", "race"), "H"),
    ],
)
def test_the_ways_out_are_ways_out(edges: str, attributes: str, asked: World, hidden: str) -> None:
    assert counterfactual(edges, attributes, asked, hidden).isdisjoint(asked.keep)


def test_long_lists_of_kept_nodes_are_cut() -> None:
    names = [f"R{i}" for i in range(9)]
    edges = "S>X X>Y V>Y " + " ".join(f"X>{r} {r}>Y" for r in names)
    with pytest.raises(ProblemError, match=r"'R5', '\.\.\.'\]: 'X' reaches"):
        counterfactual(edges, "S", world("S=1", "S=0", " ".join(names)))


@pytest.mark.parametrize(
    ("edges", "attributes", "asked", "expected"),
    [
        (W3, "S", world("S=1", "S=0"), world("S=1")),  # plain: everybody as 1
        (W3, "S", world("S=0", "S=0"), world("S=0")),
        (W3, "S", world("", "S=0"), world("S=0")),
        (W3, "S", world("S=1", "S=0", "R"), world("S=1", "S=0", "R")),
        (W3, "S", world("S=0", "S=0", "R"), world("S=0")),  # people as they are keep everything
        (W2, "S", world("S=1", "S=0"), world("S=1", "S=0")),
        (W2, "S", world("S=0", "S=0"), world("", "S=0")),
        (W2, "S", world("S=1"), world("S=1")),
        (W2, "S", world("S=1", "S=0", "Z"), world("S=1", "S=0")),  # Z is not below S
        (W2, "S", AS_IT_IS, AS_IT_IS),
        (W2, "S", World((), (), ("V",)), AS_IT_IS),
        ("a>V b>V V>Y", "a b", world("a=1", "a=0"), world("a=1")),
        ("a>V b>V V>Y", "a b", world("a=1 b=1", "a=0 b=1"), world("a=1 b=1")),
        ("a>V b>V V>Y", "a b", world("a=1", "a=0 b=1"), world("a=1", "a=0 b=1")),  # b is told, not read
        (W4, "region race", world("region=1", "region=0"), world("region=1")),
        (W4, "region race", world("region=1", "region=1"), world("region=1")),
        (W4, "region race", world("race=1", "race=1"), world("", "race=1")),
        (W4, "region race", world("region=1 race=1", "region=0 race=1"), world("region=1 race=1", "region=0 race=1")),
        (W3, "S", world("S=1", "S=0", "V R"), world("S=1", "S=0", "R V")),  # in the order of the graph
    ],
)  # fmt: skip
def test_normal_forms(edges: str, attributes: str, asked: World, expected: World) -> None:
    found = roles(edges, attributes)
    made = normal_form(asked, found.graph, found.blocks)
    assert made == expected and normal_form(made, found.graph, found.blocks) == made


def test_normal_form_in_a_block_keeps_the_people() -> None:
    found = roles("H>a H>b a>V b>V V>Y", "a b", "H")
    assert normal_form(world("a=1", "a=0"), found.graph, found.blocks) == world("a=1", "a=0")


def test_mediators_are_the_observed_nodes_between_the_attribute_and_the_decision() -> None:
    assert mediators(roles(W3, "S"), ["S"], "Y") == ("R",)
    assert mediators(roles(W2, "S"), ["S"], "Y") == ()
    assert mediators(roles(W4, "region race"), ["region"], "Y") == ("race",)
    assert mediators(roles(W4, "region race"), ["race"], "Y") == ()
    assert mediators(roles(W4, "region race"), ["region", "race"], "Y") == ()
    assert mediators(roles("S>X X>H H>Y V>Y Y>Q X>Q", "S", "H"), ["S"], "Y") == ("X",)
    assert mediators(roles("S>X X>V V>R S>R R>Y", "S"), ["S"], "Y") == (
        "X",
    )  # what follows from the decision is no mediator


@pytest.mark.parametrize(("edges", "attributes"), [(W2, "S"), (W3, "S"), (W4, "region race"), (W5, "A"), (W7, "sex")])
def test_with_all_mediators_kept_only_the_decision_and_what_follows_read_otherwise(edges: str, attributes: str) -> None:
    """Whatever is hidden: every path leaves the attribute by a node that is kept, by the decision, or goes to the outcome at once."""
    found = roles(edges, attributes)
    for name in found.attributes:
        kept = mediators(found, [name], "Y")
        asked = World(((name, "1"),), ((name, "0"),), kept)
        reads = reading_of(asked, found.graph, found.attributes, "Y", found.blocks).counterfactual
        children = found.graph.children(name)
        assert reads == ({"V", "Y"} if "V" in children else {"Y"} if "Y" in children else set())


def test_a_profile_is_named_by_its_attributes() -> None:
    assert profile_name((("region", "north"), ("race", "b"))) == "region=north,race=b" and profile_name(()) == ""


class Model:
    """A structural model: every node is a random function of its parents and of noise with three values, all of them enumerated."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.nodes = [*(f"n{i}" for i in range(rng.integers(2, 5))), "Y"]
        self.edges = [(a, b) for i, a in enumerate(self.nodes) for b in self.nodes[i + 1 :] if rng.random() < 0.6]
        self.graph = Graph(tuple(self.nodes), tuple(self.edges))
        self.noise = np.array(list(product(range(3), repeat=len(self.nodes)))).T
        self.chance = np.prod([rng.dirichlet(np.ones(3))[noise] for noise in self.noise], axis=0)
        self.functions = [rng.integers(0, 2, size=(*(2,) * len(self.graph.parents(n)), 3)) for n in self.nodes]
        self.attributes = tuple(rng.choice(self.nodes[:-1], size=rng.integers(1, 3), replace=False).tolist())
        self.rng = rng

    def values(
        self, read: dict[str, int], in_fact: dict[str, np.ndarray], keep: tuple[str, ...]
    ) -> dict[str, np.ndarray]:
        """Of every node by noise, where children read attributes as ``read`` and kept nodes have the value that they have in fact."""
        found: dict[str, np.ndarray] = {}
        for node, noise, function in zip(self.nodes, self.noise, self.functions, strict=True):
            above = [np.full(noise.shape, read[p]) if p in read else found[p] for p in self.graph.parents(node)]
            found[node] = in_fact[node] if node in keep else function[(*above, noise)]
        return found

    def table(self, node: str) -> np.ndarray:
        """P(node | parents): of one node by its noise alone."""
        i = self.nodes.index(node)
        weights = np.array([self.chance[self.noise[i] == value].sum() for value in range(3)])
        return np.stack([((self.functions[i] == state) * weights).sum(axis=-1) for state in (0, 1)], axis=-1)

    def some_world(self) -> World:
        def states(chance: float) -> Profile:
            return tuple((a, str(self.rng.integers(0, 2))) for a in self.attributes if self.rng.random() < chance)

        read = states(0.9)
        others = [n for n in self.nodes[:-1] if n not in dict(read)]
        return World(read, states(0.7), tuple(n for n in others if self.rng.random() < 0.4))


def by_one_copy(model: Model, asked: World, counterfactual: frozenset[str]) -> float:
    """Σ Y Π P(x | parents) over those who fit the people, normalised; an edge from I carries t where its head is counterfactual."""
    read = {name: int(state) for name, state in asked.read}
    total = weight = 0.0
    for states in product((0, 1), repeat=len(model.nodes)):
        value = dict(zip(model.nodes, states, strict=True))
        if any(value[name] != int(state) for name, state in asked.people):
            continue
        chance = 1.0
        for node in model.nodes:
            above = [read[p] if p in read and node in counterfactual else value[p] for p in model.graph.parents(node)]
            chance *= model.table(node)[(*above, value[node])]
        total, weight = total + chance * value["Y"], weight + chance
    return total / weight


@pytest.mark.parametrize("seed", range(120))
def test_a_world_that_is_not_refused_has_the_mean_of_the_structural_model(seed: int) -> None:
    """Abduction, action, prediction, beside one sum in which every node has one version: exact where no node is needed in both."""
    model = Model(seed)
    fact = model.values({}, {}, ())
    for _ in range(6):
        asked = model.some_world()
        try:
            reading = reading_of(asked, model.graph, model.attributes, "Y", ())
        except ProblemError:
            continue
        fits = np.all([fact[name] == int(state) for name, state in asked.people] or [True], axis=0)
        chance = model.chance * fits
        if chance.sum() < 1e-6:
            continue
        imagined = model.values({name: int(state) for name, state in asked.read}, fact, asked.keep)["Y"]
        truth = float((chance * imagined).sum() / chance.sum())
        assert by_one_copy(model, asked, reading.counterfactual) == pytest.approx(truth, abs=1e-12)
