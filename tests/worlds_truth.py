"""Any world of any small model, by running every person twice: as they are, and as the world has it.

A model gives each node a noise of a few values and a function of its parents and its noise. Several attributes, causes of attributes,
hidden nodes and blocks are nothing special here: they are nodes. A *world* says which attributes are read by their children as another
value, among whom, and which nodes are kept.

    abduction   the factual run of every assignment of all noises; people of the world are those with the attributes' values in fact
    action      every edge out of an attribute that is read otherwise carries that value
    prediction  a kept node has its factual value, every other node is computed anew from its parents and the same noise

No question about a graph is asked, and no likelihood, weight or table is used; nothing of fairarm is imported.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from structural import Function

Codes = Mapping[str, int]
"""Values of nodes, by name."""

DECISION_MEDIATES = False
"""Whether the decision and what follows from it are mediators: with those kept, only an edge from the attribute to Y would be left."""

Run = dict[str, np.ndarray]
"""The value of every node in every assignment of the noises."""


@dataclass(frozen=True, eq=False)
class Model:
    """``order`` is causal; ``functions`` of all nodes but the decision V, of which each arm is one; ``values`` are those of Y's states."""

    order: tuple[str, ...]
    sizes: dict[str, int]
    functions: dict[str, Function]
    arms: tuple[Function, ...]
    attributes: tuple[str, ...]
    values: tuple[float, ...]
    hidden: frozenset[str] = frozenset()
    decision: str = "V"
    outcome: str = "Y"
    name: str = ""

    def function(self, k: int, node: str) -> Function:
        return self.arms[k] if node == self.decision else self.functions[node]

    @property
    def width(self) -> float:
        return max(self.values) - min(self.values)


@dataclass(frozen=True)
class World:
    """ω = (t, u, W): ``read`` is t, ``people`` is u (none: everyone), ``kept`` is W. By `world`."""

    read: tuple[tuple[str, int], ...] = ()
    people: tuple[tuple[str, int], ...] = ()
    kept: frozenset[str] = frozenset()

    def __str__(self) -> str:
        told = [f"{name}:={x}" for name, x in self.read] + [f"| {name}={x}" for name, x in self.people]
        return " ".join([*told, *([f"keep {','.join(sorted(self.kept))}"] if self.kept else [])]) or "as it is"


def world(read: Codes | None = None, people: Codes | None = None, kept: Iterable[str] = ()) -> World:
    """The world in which the attributes of ``read`` are read so, among people with the attributes of ``people``."""
    return World(tuple(sorted((read or {}).items())), tuple(sorted((people or {}).items())), frozenset(kept))


# ---- everyone ----


@dataclass(frozen=True)
class People:
    """Every assignment of all noises with its probability, and what happens to it in fact."""

    noises: Run
    chance: np.ndarray
    factual: Run


@functools.lru_cache(maxsize=32)
def everyone(model: Model, k: int) -> People:
    """All people under arm k."""
    laws = [model.function(k, name).noise for name in model.order]
    noises = np.indices([len(law) for law in laws]).reshape(len(laws), -1)
    chance = np.prod([law[noise] for law, noise in zip(laws, noises, strict=True)], axis=0)
    by_name = dict(zip(model.order, noises, strict=True))
    return People(by_name, chance, _run(model, k, by_name))


def _run(model: Model, k: int, noises: Run, done: Run | None = None, read: Codes | None = None) -> Run:
    """Every node in order; those of ``done`` have that value, and the children of a node of ``read`` read that value."""
    found: Run = {}
    for name in model.order:
        function = model.function(k, name)
        above = [
            np.full_like(noises[name], read[parent]) if read and parent in read else found[parent]
            for parent in function.parents
        ]
        found[name] = done[name] if done and name in done else function.values[(*above, noises[name])]
    return found


def assignments(model: Model) -> int:
    """How many people there are, under the arm with most noise."""
    sizes = [[len(model.function(k, name).noise) for name in model.order] for k in range(len(model.arms))]
    return max(int(np.prod(each)) for each in sizes)


# ---- means of worlds ----


def mean(model: Model, k: int, asked: World) -> float:
    """μ_k(ω), in the outcome's units. Of a group that nobody is in there is none."""
    weight = everyone(model, k).chance * are(model, k, dict(asked.people))
    if not weight.any():
        raise ValueError(f"{model.name}: nobody has {dict(asked.people)}")
    return float((weight * outcomes(model, k, asked)).sum() / weight.sum())


def outcomes(model: Model, k: int, asked: World) -> np.ndarray:
    """What everyone would get in this world, whoever is asked about."""
    people = everyone(model, k)
    kept = {name: people.factual[name] for name in asked.kept}
    imagined = _run(model, k, people.noises, kept, dict(asked.read))
    return np.array(model.values)[imagined[model.outcome]]


def are(model: Model, k: int, given: Codes) -> np.ndarray:
    """Who has these values in fact."""
    factual = everyone(model, k).factual
    return np.logical_and.reduce([factual[name] == x for name, x in given.items()] or [np.array(True)])


def share(model: Model, given: Codes) -> float:
    """P(u), the same under every arm where the decision is no cause of an attribute."""
    return float((everyone(model, 0).chance * are(model, 0, given)).sum())


# ---- laws of rows ----


def run(model: Model, k: int, do: Codes) -> Run:
    """Every node of everyone, with these attributes set."""
    people = everyone(model, k)
    return _run(
        model, k, people.noises, {name: np.full_like(people.chance, x, dtype=np.int64) for name, x in do.items()}
    )


def law(
    model: Model, k: int, columns: tuple[str, ...], people: Codes | None = None, do: Codes | None = None
) -> np.ndarray:
    """P_k(columns), one axis per column: natural; ``people``: recruited with these values; ``do``: attributes set to these."""
    weight = everyone(model, k).chance * are(model, k, people or {})
    found = run(model, k, do or {})
    sizes = [model.sizes[name] for name in columns]
    cell = np.ravel_multi_index([found[name] for name in columns], sizes)
    return np.bincount(cell, weight / weight.sum(), minlength=int(np.prod(sizes))).reshape(sizes)


# ---- effects ----


def mediators(model: Model, read: Iterable[str], decision: bool = DECISION_MEDIATES) -> frozenset[str]:
    """Observed descendants of these attributes, attributes among them, without Y and without themselves."""
    below, after = _reached(model, read), _reached(model, [model.decision])
    left_out = {model.outcome, *([] if decision else after)}
    return frozenset(below - set(read) - model.hidden - left_out)


def _reached(model: Model, start: Iterable[str]) -> set[str]:
    """These nodes and all that follow from them, under some arm."""
    reached = set(start)
    for name in model.order:
        above = {parent for k in range(len(model.arms)) for parent in model.function(k, name).parents}
        reached |= {name} if above & reached else set()
    return reached


@dataclass(frozen=True)
class Effects:
    """Of t against u: ``plain`` is μ(t|t) − μ(u|u), ``total`` is μ(t|u) − μ(u|u); direct − indirect − spurious = plain."""

    plain: float
    total: float
    direct: float
    indirect: float
    spurious: float


def effects(model: Model, k: int, attribute: str, t: int, u: int, decision: bool = DECISION_MEDIATES) -> Effects:
    """DE, IE and SE of people of u, as t. ``decision``: whether V and what follows from it are mediators."""
    own, other = mean(model, k, world(people={attribute: u})), mean(model, k, world(people={attribute: t}))
    imagined = mean(model, k, world({attribute: t}, {attribute: u}))
    kept = mediators(model, [attribute], decision)
    direct = mean(model, k, world({attribute: t}, {attribute: u}, kept))
    return Effects(other - own, imagined - own, direct - own, direct - imagined, imagined - other)
