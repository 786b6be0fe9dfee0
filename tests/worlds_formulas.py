"""The same means and laws by the method's formulas, in loops over dictionaries: likelihoods, own factors, one h and one θ.

    L_ω[k](a, c)     P_k(v | pa(V)) · Π P(x | pa(X)) over the relevant children but V and Y
    π_ω(a, c)        Π_B P(a_B | z_B)
    p_{k,ω}(cell)  ∝ Σ_{a fits u} L_ω π_ω h(c),   μ_k(ω) = Σ p_{k,ω} θ

Written apart from `worlds_truth`: of the model it takes the tables of nodes, and the natural law of its rows, from which P(a_B | z_B), h and
θ are read. Which edge reads what comes from `worlds_graphs`. Imports nothing of fairarm.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import worlds_graphs
import worlds_truth
from structural import Function, table
from worlds_truth import Codes, Model, World

Key = tuple[int, ...]
SAME = 1e-9
"""h and θ found from two groups or two arms may differ by so much, relative to the larger."""


class NotSharedError(Exception):
    """Two arms or two groups of people have not the same h, or not the same θ."""


@dataclass
class Formulas:
    """A model's graph, tables, own factors, h and θ."""

    model: Model
    graph: worlds_graphs.Graph
    tables: dict[str, dict[Key, float]]
    arms: list[dict[Key, float]]
    own: dict[tuple[str, ...], dict[tuple[Key, Key], float]]
    h: dict[Key, float] = field(default_factory=dict)
    theta: dict[tuple[Key, Key], float] = field(default_factory=dict)

    def values(self, names: Iterable[str]) -> Iterator[dict[str, int]]:
        """Every combination of values of these nodes."""
        names = tuple(names)
        for codes in itertools.product(*(range(self.model.sizes[name]) for name in names)):
            yield dict(zip(names, codes, strict=True))

    def points(self) -> Iterator[dict[str, int]]:
        return self.values((*self.graph.attributes, *self.graph.columns))

    def cell(self, c: Codes, as_read: Codes) -> tuple[Key, Key]:
        """c, and the attributes with an edge to Y as Y reads them."""
        return key(c, self.graph.columns), key(as_read, self.graph.read_by_outcome)


def key(codes: Codes, names: Iterable[str]) -> Key:
    return tuple(codes[name] for name in names)


# ---- factors ----


def likelihood(f: Formulas, k: int, point: Codes, read: Codes, imagined: frozenset[str]) -> float:
    """L_ω[k](a, c): a counterfactual child reads t, any other reads a."""
    value = 1.0
    for x in {f.model.decision} | (f.graph.relevant - {f.model.outcome}):
        above = f.model.function(k, x).parents
        seen = {**point, **read} if x in imagined else point
        law = f.arms[k] if x == f.model.decision else f.tables[x]
        value *= law[(*key(seen, above), point[x])]
    return value


def own_factor(f: Formulas, point: Codes, read: Codes, imagined: frozenset[str], without: Iterable[str] = ()) -> float:
    """π_ω(a, c), edges between attributes by the same rule; ``without``: these attributes are set, and have no factor."""
    value = 1.0
    for block in f.graph.blocks:
        z = tuple(sorted(f.graph.causes(block)))
        seen = {**point, **read} if set(block) & imagined else point
        total = 0.0
        for summed in f.values(x for x in block if x in set(without)):
            total += f.own[block].get((key({**point, **summed}, block), key(seen, z)), 0.0)
        value *= total
    return value


def fits(point: Codes, people: Codes) -> bool:
    return all(point[name] == x for name, x in people.items())


# ---- from the natural law ----


def of(model: Model, graph: worlds_graphs.Graph | None = None) -> Formulas:
    """Everything the formulas need. NotSharedError if h or θ is not one and the same for all arms and attributes.

    ``graph``: the model's, with other blocks.
    """
    graph = graph or worlds_graphs.of(model)
    names = (*model.attributes, *graph.columns, model.outcome)
    natural = [worlds_truth.law(model, k, names) for k in range(len(model.arms))]
    tables = {name: _dictionary(model, model.functions[name], name) for name in graph.relevant - {model.decision}}
    arms = [_dictionary(model, arm, model.decision) for arm in model.arms]
    own = {block: _own(model, graph, block, dict(_items(natural[0]))) for block in graph.blocks}
    f = Formulas(model, graph, tables, arms, own)
    for k, joint in enumerate(natural):
        _learn(f, k, dict(_items(joint)))
    return f


def _items(joint: np.ndarray) -> Iterator[tuple[Key, float]]:
    """The entries of an array, by their index."""
    yield from zip(itertools.product(*(range(n) for n in joint.shape)), joint.ravel().tolist(), strict=True)


def _dictionary(model: Model, function: Function, node: str) -> dict[Key, float]:
    return dict(_items(table(function, model.sizes[node])[1]))


def _own(
    model: Model, graph: worlds_graphs.Graph, block: tuple[str, ...], natural: dict[Key, float]
) -> dict[tuple[Key, Key], float]:
    """P(a_B | z_B): shares of the rows."""
    names = (*model.attributes, *graph.columns, model.outcome)
    at_block = [names.index(x) for x in block]
    at_causes = [names.index(x) for x in sorted(graph.causes(block))]
    both: dict[tuple[Key, Key], list[float]] = {}
    causes: dict[Key, list[float]] = {}
    for row, p in natural.items():
        z = tuple(row[i] for i in at_causes)
        both.setdefault((tuple(row[i] for i in at_block), z), []).append(p)
        causes.setdefault(z, []).append(p)
    total = {z: math.fsum(terms) for z, terms in causes.items()}
    return {(a, z): math.fsum(terms) / total[z] for (a, z), terms in both.items() if total[z] > 0}


def _learn(f: Formulas, k: int, natural: dict[Key, float]) -> None:
    """h and θ wherever this arm's natural rows reach."""
    for point in f.points():
        mass = likelihood(f, k, point, {}, frozenset()) * own_factor(f, point, {}, frozenset())
        given = [natural[(*point.values(), y)] for y in range(f.model.sizes[f.model.outcome])]
        total = math.fsum(given)
        if mass <= 0:
            if total > 0:
                raise NotSharedError(f"{point}: in no likelihood")
            continue
        _agree(f.h, key(point, f.graph.columns), total / mass)
        if total > 0:
            mean = math.fsum(p * v for p, v in zip(given, f.model.values, strict=True)) / total
            _agree(f.theta, f.cell(point, point), mean)


def _agree(known: dict[Any, float], where: object, value: float) -> None:
    first = known.setdefault(where, value)
    if abs(first - value) > SAME * max(abs(first), abs(value), 1.0):
        raise NotSharedError(f"{where}: {first} and {value}")


# ---- worlds and regimes ----


def cells(f: Formulas, k: int, asked: World) -> dict[tuple[Key, Key], float]:
    """p_{k,ω}, normalised."""
    read, people = dict(asked.read), dict(asked.people)
    imagined = worlds_graphs.versions(f.graph, asked).counterfactual
    found: dict[tuple[Key, Key], float] = {}
    for point in f.points():
        if fits(point, people):
            p = likelihood(f, k, point, read, imagined) * own_factor(f, point, read, imagined)
            if p > 0:
                where = f.cell(point, {**point, **read} if f.model.outcome in imagined else point)
                found[where] = found.get(where, 0.0) + p * f.h[key(point, f.graph.columns)]
    total = math.fsum(found.values())
    return {where: p / total for where, p in found.items() if p > 0}


def mean(f: Formulas, k: int, asked: World) -> float:
    """μ_k(ω) in the outcome's units."""
    return math.fsum(p * f.theta[where] for where, p in cells(f, k, asked).items())


def law(f: Formulas, k: int, people: Codes | None = None, do: Codes | None = None) -> dict[Key, float]:
    """P_k of points (attributes, then C), as `worlds_truth.law` without Y. Only with ``people`` is there a constant, 1/P(u)."""
    found: dict[Key, float] = {}
    for point in f.points():
        if fits(point, people or {}) and fits(point, do or {}):
            p = likelihood(f, k, point, {}, frozenset()) * own_factor(f, point, {}, frozenset(), do or ())
            found[tuple(point.values())] = p * f.h[key(point, f.graph.columns)] if p > 0 else 0.0
    total = math.fsum(found.values()) if people else 1.0
    return {point: p / total for point, p in found.items()}


# ---- one attribute, with mechanisms of children unknown ----


def from_rows_of_t(f: Formulas, k: int, t: int, u: int) -> float:
    """μ_k(t|u), nothing kept, from arm k's natural rows of group t: each counts ∝ P(u|z)/P(t|z)."""
    block = f.model.attributes
    z = tuple(sorted(f.graph.causes(block)))
    own = f.own[block]
    return _weighted(f, k, t, lambda row: own[(u,), key(row, z)] / own[(t,), key(row, z)])


def from_rows_of_u(f: Formulas, k: int, j: int, t: int, u: int) -> float:
    """μ_k of people of u, where V alone reads t, from arm j's natural rows of group u: each counts P_k(v | t)/P_j(v | u)."""
    (name,), V = f.model.attributes, f.model.decision
    chance = lambda arm, row: f.arms[arm][(*key(row, f.model.arms[arm].parents), row[V])]  # noqa: E731
    return _weighted(f, j, u, lambda row: chance(k, row | {name: t}) / chance(j, row))


def _weighted(f: Formulas, k: int, group: int, weight: Callable[[dict[str, int]], float]) -> float:
    """The weighted mean outcome of an arm's natural rows of one group."""
    names = (*f.model.attributes, *f.graph.columns, f.model.outcome)
    total = size = 0.0
    for index, p in _items(worlds_truth.law(f.model, k, names)):
        row = dict(zip(names, index, strict=True))
        if index[0] == group and p > 0:
            w = p * weight(row)
            total, size = total + w * f.model.values[row[f.model.outcome]], size + w
    return total / size
