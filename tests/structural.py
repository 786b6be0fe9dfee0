"""Structural models with explicit noise, and every question of fairness by abduction, action and prediction.

A model gives each node a noise of a few values and a function of its parents and its noise. Nothing is summed in advance: what a
person would have got is computed for every assignment of all noises, once for each value that S is set to.

    abduction   the noises of people of group u: those with S = u, at their probabilities
    action      S is set to t; nothing else is touched
    prediction  every other node anew, in order, from its parents and the same noise

Imports nothing of fairarm. `as_case` writes the same model down with tables, for `oracle.as_fairarm`.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

import oracle

MAX_WORLDS = 20_000
"""Most assignments of all noises of a random model."""


@dataclass(frozen=True)
class Function:
    """x = values[parents..., noise]; ``noise`` holds the probabilities of the noise's values."""

    parents: tuple[str, ...]
    values: np.ndarray
    noise: np.ndarray


@dataclass(frozen=True)
class Model:
    """``order`` has parents before children, S first; ``nodes`` is the declared order; ``groups`` are codes of S."""

    order: tuple[str, ...]
    nodes: tuple[str, ...]
    sizes: dict[str, int]
    functions: dict[str, Function]
    arms: tuple[Function, ...]
    groups: tuple[int, ...]
    outcomes: tuple[float, ...]
    low: float
    high: float
    seed: int


# ---- random models ----


def random_model(seed: int, groups: int) -> Model:
    """3 to 7 nodes, some of them hidden by what the arms use, S → Y in some, states of S in any order."""
    for attempt in itertools.count():
        model = _candidate(np.random.default_rng([seed, groups, attempt]), seed, groups)
        sizes = [len(function.noise) for name, function in model.functions.items() if name != "V"]
        if math.prod(sizes) * max(len(arm.noise) for arm in model.arms) <= MAX_WORLDS:
            return model
    raise AssertionError


def _candidate(rng: np.random.Generator, seed: int, G: int) -> Model:
    others = [str(name) for name in rng.permutation(["V", *(f"X{i}" for i in range(int(rng.integers(1, 5))))])]
    others.insert(int(rng.integers(others.index("V") + 1, len(others) + 1)), "Y")
    sizes = {"S": G, **{name: 2 if rng.random() < 0.7 else 3 for name in others}}
    # in half of the models the first node is a hidden cause: no arm sees it, no child of S depends on it
    cause = others[0] if others[0] != "V" and rng.random() < 0.5 else None
    density, of_S = rng.uniform(0.3, 0.7), rng.choice([0.25, 0.6])
    parents: dict[str, list[str]] = {}
    for i, name in enumerate(others):
        child = name != cause and rng.random() < (0.3 if name == "Y" else of_S)
        parents[name] = [x for x in others[:i] if rng.random() < (density if x != cause else 0.0 if child else 0.8)][:3]
        parents[name] += ["S"] if child else []
    if "V" not in _above(parents, "Y"):
        parents["Y"].append("V")
    functions = {name: _function(rng, sizes, tuple(parents[name]), name) for name in others}
    before = [name for name in others[: others.index("V")] if name != cause]
    used = [[x for x in [*before, "S"] if rng.random() < 0.5][:3] for _ in range(int(rng.integers(1, 4)))]
    shares = rng.dirichlet(np.full(G, 3.0))
    levels = rng.choice([0.0, 0.5, 1.0, 4.0, 10.0, *(() if rng.random() < 0.7 else (-3.0,))], sizes["Y"], replace=False)
    wider = float(rng.uniform(0.1, 2)) if rng.random() < 0.3 else 0.0
    return Model(
        order=("S", *others),
        nodes=tuple(str(name) for name in rng.permutation(["S", *others])),
        sizes=sizes,
        functions={"S": Function((), np.arange(G), shares), **functions},
        arms=tuple(_function(rng, sizes, tuple(above), "V") for above in used),
        groups=tuple(int(code) for code in rng.permutation(G)),
        outcomes=tuple(float(v) for v in levels),
        low=min(levels) - min(wider, max(min(levels), 0.0)),
        high=max(levels) + wider,
        seed=seed,
    )


def _above(parents: dict[str, list[str]], node: str) -> set[str]:
    found = set(parents.get(node, ()))
    return found.union(*(_above(parents, name) for name in found))


def _function(rng: np.random.Generator, sizes: dict[str, int], parents: tuple[str, ...], node: str) -> Function:
    """Any function: its noise decides, differently for every value of the parents."""
    levels = int(rng.integers(2, 5))
    shape = (*(sizes[name] for name in parents), levels)
    return Function(parents, rng.integers(0, sizes[node], shape), rng.dirichlet(np.full(levels, 2.0)))


# ---- abduction, action, prediction ----


@dataclass(frozen=True)
class Means:
    """Of one arm, in the outcome's units: μ(t|u) (G, G), μ(t) (G,) of everyone as t, and μ; groups in the model's order."""

    as_of: np.ndarray
    as_group: np.ndarray
    everyone: float


def means(model: Model, k: int) -> Means:
    """By every assignment of all noises."""
    laws = [(model.arms[k] if name == "V" else model.functions[name]).noise for name in model.order]
    noises = np.indices([len(law) for law in laws]).reshape(len(laws), -1)
    chance = np.prod([law[noise] for law, noise in zip(laws, noises, strict=True)], axis=0)
    factual = _predicted(model, k, noises, None)
    S = model.functions["S"].values[noises[0]]
    imagined = [_predicted(model, k, noises, code) for code in model.groups]
    as_of = np.empty((len(model.groups), len(model.groups)))
    for j, code in enumerate(model.groups):
        people = np.where(code == S, chance, 0.0)  # abduction
        for i, outcome in enumerate(imagined):
            as_of[i, j] = math.fsum(people * outcome) / math.fsum(people)
    as_group = np.array([math.fsum(chance * outcome) for outcome in imagined])
    return Means(as_of, as_group, math.fsum(chance * factual))


def _predicted(model: Model, k: int, noises: np.ndarray, action: int | None) -> np.ndarray:
    """The outcome's value in every assignment, with S set to ``action`` where that is given."""
    found: dict[str, np.ndarray] = {}
    for name, noise in zip(model.order, noises, strict=True):
        function = model.arms[k] if name == "V" else model.functions[name]
        found[name] = function.values[(*(found[above] for above in function.parents), noise)]
        if name == "S" and action is not None:
            found[name] = np.full_like(noise, action)
    return np.array(model.outcomes)[found["Y"]]


# ---- the same model with tables ----


def as_case(model: Model) -> oracle.Case:
    """P(x | parents) = Σ of the noise's probabilities that lead to x."""
    return oracle.Case(
        nodes=model.nodes,
        sizes=model.sizes,
        tables={name: table(function, model.sizes[name]) for name, function in model.functions.items()},
        arms=tuple(table(function, model.sizes["V"]) for function in model.arms),
        sensitive="S",
        decision="V",
        outcome="Y",
        groups=model.groups,
        values=model.outcomes,
        low=model.low,
        high=model.high,
        seed=model.seed,
    )


def table(function: Function, states: int) -> oracle.Mechanism:
    """Parents and P(x | parents) of a function of parents and noise."""
    leads = function.values[..., None] == np.arange(states)
    return function.parents, (leads * function.noise[:, None]).sum(axis=-2)
