"""Random structural models with explicit noise and G groups, and what follows from them by running every person.

A node is a function of its parents and of its own noise, a fair die. A person is S and one value of every die, nothing else:
what would have happened to people of group u as t is their own dice, S := t, and the functions run again. There are no
likelihoods, weights or conditional tables in any of the arithmetic, and nothing of fairarm: laws are counts of people, and the
ratio of two likelihoods is the ratio of two laws. Only `as_fairarm` at the end knows the package.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from fairarm.problem.network import Network
    from fairarm.problem.problem import Problem

FACES = 4
"""Of every die: probabilities are quarters, and all laws exact in doubles."""

Function = tuple[tuple[str, ...], np.ndarray]
"""Parents, and the node's state by theirs and by the face of its die, last."""


@dataclass(frozen=True)
class Model:
    """``order`` is causal, S first; ``functions`` of all nodes but S; ``arms`` are functions of V. ``shares`` is P(S)."""

    order: tuple[str, ...]
    sizes: dict[str, int]
    functions: dict[str, Function]
    arms: tuple[Function, ...]
    shares: np.ndarray
    values: tuple[float, ...]

    @property
    def groups(self) -> int:
        return self.sizes["S"]

    @cached_property
    def dice(self) -> dict[str, np.ndarray]:
        """Every combination of faces, once: people alike in S, (I,) for each node."""
        nodes = self.order[1:]
        faces = np.indices((FACES,) * len(nodes)).reshape(len(nodes), -1)
        return dict(zip(nodes, faces, strict=True))

    def run(self, k: int, t: int) -> dict[str, np.ndarray]:
        """What happens to everybody under arm k with S := t, (I,) for each node."""
        found = {"S": np.full(len(next(iter(self.dice.values()))), t)}
        for node in self.order[1:]:
            above, function = self.arms[k] if node == "V" else self.functions[node]
            found[node] = function[(*(found[name] for name in above), self.dice[node])]
        return found

    def mean(self, k: int, t: int, u: int) -> float:
        """μ_k(t|u): of all people (S, dice) those with S = u; then S := t, and the functions run."""
        outcome = np.array(self.values)[self.run(k, t)["Y"]]
        weight = np.outer(self.shares, np.full(len(outcome), 1 / len(outcome)))
        weight[np.arange(self.groups) != u] = 0.0
        return float((weight * outcome).sum() / weight.sum())

    def outcome(self, k: int) -> float:
        """μ_k: nobody's group is changed."""
        return math.fsum(self.shares[t] * self.mean(k, t, t) for t in range(self.groups))

    def law(self, columns: tuple[str, ...]) -> np.ndarray:
        """P(columns | arm k, S = t), (K, G, cells in the order of the columns): counts of people."""
        sizes = [self.sizes[name] for name in columns]
        out = np.empty((len(self.arms), self.groups, math.prod(sizes)))
        for k, t in np.ndindex(*out.shape[:2]):
            found = self.run(k, t)
            cell = np.ravel_multi_index([found[name] for name in columns], sizes)
            out[k, t] = np.bincount(cell, minlength=out.shape[2]) / len(cell)
        return out


def random_model(seed: int, groups: int) -> Model:
    """S → …, V and Y among up to four others; hidden causes, S → Y, children of S above, below and beside V as they fall."""
    rng = np.random.default_rng([seed, groups])
    others = [f"X{i}" for i in range(int(rng.integers(0, 4)))]  # four nodes between S and Y at most
    order = [str(name) for name in rng.permutation(["V", *others])]
    order.insert(int(rng.integers(order.index("V") + 1, len(order) + 1)) if rng.random() < 0.3 else len(order), "Y")
    sizes = {"S": groups} | {name: int(rng.integers(2, 4)) if name == "V" else 2 for name in order}
    sizes["Y"] = int(rng.integers(2, 4))
    hidden = order[0] if order[0].startswith("X") and rng.random() < 0.5 else None
    above: dict[str, list[str]] = {}
    for i, name in enumerate(order):
        child = name != hidden and rng.random() < (0.3 if name == "Y" else 0.5)
        above[name] = [x for x in order[:i] if rng.random() < (0.0 if x == hidden and child else 0.5)]
        above[name] += ["S"] if child else []
    if "V" not in _ancestors(above, "Y"):
        above["Y"].append("V")
    functions = {n: (tuple(p), _function(rng, [sizes[x] for x in p], sizes[n])) for n, p in above.items() if n != "V"}
    seen = 0.8 if rng.random() < 0.75 else 0.0  # in a quarter of the models no arm looks at S
    usable = ["S", *(x for x in order[: order.index("V")] if x != hidden)]
    arms = []
    for _ in range(int(rng.integers(2, 4))):
        used = tuple(x for x in usable if rng.random() < (seen if x == "S" else 0.4))
        arms.append((used, _function(rng, [sizes[x] for x in used], sizes["V"])))
    shares = 1.0 + rng.multinomial(16 - groups, np.full(groups, 1 / groups))
    values = tuple(float(v) for v in rng.permutation([-3.0, 0.5, 10.0])[: sizes["Y"]])
    return Model(("S", *order), sizes, functions, tuple(arms), shares / shares.sum(), values)


def _function(rng: np.random.Generator, above: list[int], states: int) -> np.ndarray:
    """For each value of the parents the state by face: all states mostly, so that few laws have zeros."""
    out = np.empty((*above, FACES), dtype=np.int64)
    for index in np.ndindex(*above):
        out[index] = rng.integers(states, size=FACES)
        if rng.random() < 0.9:
            out[index][:states] = np.arange(states)
    return out


def _ancestors(above: dict[str, list[str]], node: str) -> set[str]:
    found = set(above.get(node, ()))
    return found.union(*(_ancestors(above, name) for name in found))


# ---- the paper's numbers, cell by cell ----


def log_mean_exp(terms: list[tuple[float, float]]) -> float:
    """log Σ p exp(x) of (p, x) with p > 0."""
    return math.log(math.fsum(p * math.exp(x) for p, x in terms)) if all(x < math.inf for _, x in terms) else math.inf


def ratio(numerator: float, denominator: float) -> float:
    """0 over anything is 0; anything else over 0 is infinite."""
    return 0.0 if numerator == 0 else numerator / denominator if denominator else math.copysign(math.inf, numerator)


def outcome_divergence(law: np.ndarray, shares: np.ndarray, k: int, j: int) -> float:
    """M_kj = log E_k exp(p_{k,t}/p_{j,t}), over all groups t."""
    cells = [(t, c) for t in range(law.shape[1]) for c in range(law.shape[2]) if law[k, t, c] > 0]
    return log_mean_exp([(shares[t] * law[k, t, c], ratio(law[k, t, c], law[j, t, c])) for t, c in cells])


def gap_weight(law: np.ndarray, k: int, j: int, t: int, u: int, c: int) -> float:
    """g_kj^{t,u} = (p_{k,t} − p_{k,u}) / p_{j,u} at a cell."""
    return ratio(float(law[k, t, c] - law[k, u, c]), float(law[j, u, c]))


def gap_divergence(law: np.ndarray, k: int, j: int, t: int, u: int) -> float:
    """D_kj^{t,u} = log( E_{k,t|u} exp|g| + E_{k,u|u} exp|g| ); S has no causes, so that people of u as t have the law of t."""
    terms = []
    for who in (t, u):
        for c in range(law.shape[2]):
            if law[k, who, c] > 0:
                terms.append((float(law[k, who, c]), abs(gap_weight(law, k, j, t, u, c))))
    return log_mean_exp(terms)


# ---- the same model for the package ----


def as_fairarm(model: Model, **options: Any) -> tuple[Problem, Network]:
    """As a Problem, context law included, and its Network: functions of dice become tables of quarters."""
    import dataclasses

    from fairarm.problem.mechanism import Arm
    from fairarm.problem.network import Network
    from fairarm.problem.outcome import Outcome
    from fairarm.problem.problem import Problem
    from fairarm.problem.variables import Variable
    from fairarm.worlds import context_law

    variables = [Variable(n, tuple(f"{n.lower()}{i}" for i in range(model.sizes[n]))) for n in model.order]
    tables = {n: _table(model, n, *model.functions[n]) for n in model.order[1:] if n != "V"}
    tables["V"] = _table(model, "V", *model.arms[0])
    tables["S"] = _share_table(model)
    network = Network.of(variables, [tables[n] for n in model.order])
    edges = list(dict.fromkeys([*network.edges(), *((p, "V") for above, _ in model.arms for p in above)]))
    children = [n for n, (above, _) in model.functions.items() if "S" in above]
    problem = Problem(
        **{
            "name": "structural",
            "variables": variables,
            "graph": SimpleNamespace(nodes=model.order, edges=edges),
            "sensitive": "S",
            "decision": "V",
            "outcome": Outcome("Y", values=model.values),
            "tolerance": 0.5,
            "arms": [Arm(f"arm {k}", _table(model, "V", *arm)) for k, arm in enumerate(model.arms)],
            "mechanisms": [tables[n] for n in children],
            "shares": model.shares,
            **options,
        }
    )
    context = set(problem.cell_columns) - {"V"} - set(problem.relevant_children)
    if context:  # without any, h is 1
        problem = dataclasses.replace(problem, context=context_law(network, problem))
    return problem, network


def _share_table(model: Model) -> Any:
    from fairarm.problem.mechanism import Table

    return Table("S", (), model.shares)


def _table(model: Model, node: str, above: tuple[str, ...], function: np.ndarray) -> Any:
    from fairarm.problem.mechanism import Table

    return Table(node, above, np.stack([(function == x).mean(axis=-1) for x in range(model.sizes[node])], axis=-1))
