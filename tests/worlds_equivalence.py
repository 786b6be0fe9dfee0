"""Two models with the same laws of rows, in every regime that is asked for, and different answers: why a world must be refused.

All nodes are binary. A node's noise says how it responds to all values of its parents; nodes below one hidden root respond together, in any
way (the root is the pair of their responses). With all other noises fixed, the laws of rows and the mean of a world are linear in one
noise's probabilities, so that the largest and the smallest mean with the same laws are two linear programmes. They are solved
for one noise after the other, which keeps the laws and widens the gap; what is found is checked by `worlds_truth`, as any two models.
A gap proves that no method can answer. No gap proves nothing: the search is not exhaustive, and the method may be stricter than needed.
"""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

import worlds_truth
from structural import Function
from worlds_graphs import Graph
from worlds_truth import Codes, Model, World

MAX_RESPONSES, MAX_JOINT, MAX_PEOPLE = 16, 64, 40_000
GAP = 1e-6
"""Smaller gaps count as none: the programmes meet the laws to about 1e-12."""


class Regime(NamedTuple):
    """Values of attributes that people are recruited with, or set to; neither: natural."""

    people: Codes
    do: Codes


@dataclass(frozen=True, eq=False)
class Pair:
    """Two models with equal laws, and their means of the world."""

    low: Model
    high: Model
    means: tuple[float, float]

    @property
    def gap(self) -> float:
        return self.means[1] - self.means[0]

    @property
    def found(self) -> bool:
        return self.gap > GAP


def regimes(model: Model, kind: str) -> list[Regime]:
    """Natural, and for "set" every attribute alone set to every state. Recruited regimes are parts of the natural law."""
    if kind == "recruited":
        return [Regime({}, {})]
    return [Regime({}, {}), *(Regime({}, {x: code}) for x in model.attributes for code in range(model.sizes[x]))]


def observed(model: Model) -> tuple[str, ...]:
    return tuple(x for x in model.order if x not in model.hidden)


# ---- models whose noises are responses ----


def response_model(graph: Graph, rng: np.random.Generator) -> Model:
    """Every response has a positive probability, as far as there are at most `MAX_RESPONSES`; two arms with the same parents."""
    order = tuple(graph.parents)
    functions: dict[str, Function] = {}
    for x in order:
        shared = sorted(graph.parents[x] & graph.hidden)
        above = tuple(sorted(graph.parents[x] - graph.hidden))
        if x in graph.hidden:
            functions[x] = Function((), np.arange(MAX_JOINT), _positive(rng, MAX_JOINT))
        elif shared:
            responses = _responses(rng, len(above))
            drawn = responses[..., rng.permutation(np.resize(np.arange(responses.shape[-1]), MAX_JOINT))]
            functions[x] = Function((*above, *shared), drawn[..., None], np.ones(1))
        else:
            responses = _responses(rng, len(above))
            functions[x] = Function(above, responses, _positive(rng, responses.shape[-1]))
    arm = functions.pop(graph.decision)
    other = Function(arm.parents, arm.values, _positive(rng, len(arm.noise)))
    sizes = {x: MAX_JOINT if x in graph.hidden else 2 for x in order}
    return Model(order, sizes, functions, (arm, other), graph.attributes, (0.0, 1.0), graph.hidden)


def _positive(rng: np.random.Generator, size: int) -> np.ndarray:
    return np.asarray(rng.dirichlet(np.full(size, 0.3)) * 0.95 + 0.05 / size)


def _responses(rng: np.random.Generator, parents: int) -> np.ndarray:
    """Functions of binary parents: all of them, or as many at random; (2, ..., 2, functions)."""
    cells = 2**parents
    if 2**cells <= MAX_RESPONSES:
        found = np.array(list(itertools.product((0, 1), repeat=cells))).T
    else:
        found = rng.integers(0, 2, (cells, MAX_RESPONSES))
        found[:, :2] = [0, 1]
    return found.reshape(*(2,) * parents, -1)


# ---- the linear programmes ----


def search(base: Model, asked: World, kind: str = "recruited") -> Pair:
    """The widest pair that was found for arm 0. ``kind``: which forced regimes must have equal laws, too."""
    ends = [_pushed(base, asked, kind, sign) for sign in (1.0, -1.0)]
    low, high = (worlds_truth.mean(model, 0, asked) for model in ends)
    return Pair(ends[0], ends[1], (low, high))


def _pushed(model: Model, asked: World, kind: str, sign: float) -> Model:
    """The model with its noises changed one after the other, so that the mean falls (sign 1) or rises (−1) and no law changes."""
    laws = _laws(model, kind)
    for node in [x for x in model.order if len(model.function(0, x).noise) > 1] * 2:
        model = _moved(model, node, asked, kind, sign, laws)
    return model


def _laws(model: Model, kind: str) -> list[np.ndarray]:
    columns = observed(model)
    arms = range(len(model.arms))
    return [worlds_truth.law(model, k, columns, *regime).ravel() for k in arms for regime in regimes(model, kind)]


def _moved(model: Model, node: str, asked: World, kind: str, sign: float, laws: list[np.ndarray]) -> Model:
    n = len(model.function(0, node).noise)
    arms = [0] if node == model.decision else range(len(model.arms))
    left, right = [np.ones((1, n))], [np.ones(1)]
    for k, (i, regime) in itertools.product(arms, enumerate(regimes(model, kind))):
        left.append(_law_matrix(model, k, node, regime))
        right.append(laws[k * len(regimes(model, kind)) + i])
    A, b = np.concatenate(left), np.concatenate(right)
    some = np.abs(A).max(axis=1) > 0
    solved = linprog(sign * _mean_row(model, node, asked), A_eq=A[some], b_eq=b[some], bounds=(0, 1), method="highs")
    if solved.status != 0:
        return model
    q = np.clip(solved.x, 0, None)
    return with_noise(model, node, q / q.sum())


def _rest(model: Model, k: int, node: str) -> tuple[np.ndarray, np.ndarray]:
    """For everyone: the value of the node's noise, and the probability of all other noises."""
    noises = worlds_truth.everyone(model, k).noises
    laws = [model.function(k, x).noise[noises[x]] for x in model.order if x != node]
    return noises[node], np.prod(laws, axis=0)


def _law_matrix(model: Model, k: int, node: str, regime: Regime) -> np.ndarray:
    """(cells of rows, values of the noise): the law of rows is this times the noise's probabilities."""
    noise, rest = _rest(model, k, node)
    columns, n = observed(model), len(model.function(k, node).noise)
    found = worlds_truth.run(model, k, regime.do)
    sizes = [model.sizes[x] for x in columns]
    cell = np.ravel_multi_index([found[x] for x in columns], sizes)
    size = int(np.prod(sizes)) * n
    return np.bincount(cell * n + noise, rest, minlength=size).reshape(-1, n)


def _mean_row(model: Model, node: str, asked: World) -> np.ndarray:
    """(values of the noise): the mean of the world, times P(u), is this times the noise's probabilities."""
    noise, rest = _rest(model, 0, node)
    inside = worlds_truth.are(model, 0, dict(asked.people))
    outcome = worlds_truth.outcomes(model, 0, asked)
    return np.bincount(noise, rest * inside * outcome, minlength=len(model.function(0, node).noise))


def with_noise(model: Model, node: str, q: np.ndarray) -> Model:
    """The same functions, other probabilities; of V: of arm 0."""
    if node == model.decision:
        return dataclasses.replace(model, arms=(dataclasses.replace(model.arms[0], noise=q), *model.arms[1:]))
    return dataclasses.replace(
        model, functions=model.functions | {node: dataclasses.replace(model.functions[node], noise=q)}
    )


def difference(pair: Pair, kind: str) -> float:
    """The largest difference of the two models' laws of rows, over arms, natural rows, recruited ones, and set ones if so asked."""
    columns, worst = observed(pair.low), 0.0
    recruited = [
        Regime({x: code}, {})
        for x in pair.low.attributes
        for code in range(2)
        if worlds_truth.share(pair.low, {x: code})
    ]
    for k, regime in itertools.product(range(len(pair.low.arms)), [*regimes(pair.low, kind), *recruited]):
        one, other = (worlds_truth.law(model, k, columns, *regime) for model in (pair.low, pair.high))
        worst = max(worst, float(np.abs(one - other).max()))
    return worst
