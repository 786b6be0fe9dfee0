"""Random small worlds whose truths are known exactly, and the logs they leave: one kind for each difficulty."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairarm import Arm, Code, LogMap, Outcome, Problem, Unknown, Variable, table
from fairarm.core.types import FloatArray

GROUPS, STATES = ("a", "b"), ("0", "1", "2")


@dataclass(frozen=True)
class Logged:
    """A problem, a log of it, and what every arm's outcome and gap really are."""

    problem: Problem
    columns: dict[str, Any]
    outcomes: FloatArray
    gaps: FloatArray
    where: LogMap = field(default_factory=LogMap)


@dataclass(frozen=True)
class _World:
    """P(S), P(X | S), arms P_k(V | S, X) and E[Y | X, V, S], all tables."""

    shares: FloatArray
    contexts: FloatArray
    arms: FloatArray
    theta: FloatArray

    def truth(self) -> tuple[FloatArray, FloatArray]:
        """By summing over everything."""
        means = np.einsum("sx,ksxv,sxv->ks", self.contexts, self.arms, self.theta)
        return means @ self.shares, means[:, 0] - means[:, 1]

    def rows(self, n: int, rng: np.random.Generator) -> dict[str, Any]:
        """Natural rows of the first arm."""
        s = rng.choice(2, n, p=self.shares)
        x = drawn(self.contexts[s], rng)
        v = drawn(self.arms[0][s, x], rng)
        y = (rng.random(n) < self.theta[s, x, v]).astype(np.int64)
        return {"S": np.array(GROUPS, dtype=object)[s], "X": x, "V": v, "Y": y}

    def problem(self, unknown: bool, direct: bool) -> Problem:
        """``unknown``: the logging arm and what S does to X are to be fitted. ``direct``: S → Y is an edge."""
        m = self.contexts.shape[1]
        variables = [
            Variable("S", GROUPS), Variable("X", tuple(map(str, range(m)))), Variable("V", STATES), Variable("Y", ("0", "1")),
        ]  # fmt: skip
        arms = [Arm(f"arm-{k}", table("V", ["S", "X"], rows)) for k, rows in enumerate(self.arms)]
        if unknown:
            arms[0] = Arm("arm-0", Unknown("V", ("S", "X")))
        child = [] if unknown else [table("X", ["S"], self.contexts)]
        return Problem(
            name="drawn",
            variables=variables,
            graph=[("S", "X"), ("S", "V"), ("X", "V"), ("X", "Y"), ("V", "Y"), *([("S", "Y")] if direct else [])],
            sensitive="S",
            decision="V",
            outcome=Outcome("Y", values=(0, 1)),
            tolerance=0.1,
            arms=arms,
            mechanisms=child,
            deployed="arm-0",
        )


def drawn(chances: FloatArray, rng: np.random.Generator) -> Any:
    return (rng.random(len(chances))[:, None] > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1)


def _drawn_world(rng: np.random.Generator, m: int, arms: int, floor: float, direct: bool) -> _World:
    theta = rng.beta(0.7, 0.7, (2, m, len(STATES)))
    if not direct:
        theta[1] = theta[0]
    laws = rng.dirichlet(np.ones(len(STATES)), (arms, 2, m))
    laws[1::2] = laws[1::2, :1]  # every other arm does not look at the group
    laws = (1 - 3 * floor) * laws + floor
    contexts = np.stack([rng.dirichlet(np.full(m, 2.0)) for _ in range(2)])
    return _World(np.array([0.5, 0.5]), contexts, laws, theta)


def benign(rng: np.random.Generator) -> Logged:
    """Six contexts, a logging arm that gives every decision at least 10 %, 2 000 rows."""
    world = _drawn_world(rng, 6, 4, 0.1, direct=False)
    return Logged(world.problem(False, False), world.rows(2000, rng), *world.truth())


def rare_cells(rng: np.random.Generator) -> Logged:
    """Twelve contexts and decisions that the logging arm makes once in 200 times: 400 rows, many cells with none."""
    world = _drawn_world(rng, 12, 4, 0.005, direct=False)
    return Logged(world.problem(False, False), world.rows(400, rng), *world.truth())


def fitted(rng: np.random.Generator) -> Logged:
    """Neither the logging arm nor what S does to X is declared; S acts on Y directly too: 400 rows."""
    world = _drawn_world(rng, 6, 4, 0.1, direct=True)
    return Logged(world.problem(True, True), world.rows(400, rng), *world.truth())


def heavy_weights(rng: np.random.Generator) -> Logged:
    """A real input, logged propensities down to 0.01 and candidates that like what was rare: 1 000 rows."""
    slope, base, twist = rng.normal(0, 2), rng.normal(), rng.normal(0, 1, 4)
    rules: list[Callable[[Any, Any], Any]] = [
        lambda s, x: np.clip(_logistic(slope * x), 0.01, 0.99),
        lambda s, x: np.clip(_logistic(-slope * x), 0.01, 0.99),
        lambda s, x: 0.5 + 0.0 * x,
        lambda s, x: np.clip(_logistic(2 * s - 1 + x), 0.05, 0.95),
    ]

    def chance(s: Any, x: Any, v: Any) -> Any:
        return _logistic(base + twist[0] * x + v * (twist[1] + twist[2] * x) + twist[3] * s * v)

    n = 1000
    s = rng.integers(0, 2, n)
    x = np.clip(rng.normal(0.4 * s, 1.0), -4, 4)
    p = rules[0](s, x)
    v = (rng.random(n) < p).astype(np.int64)
    y = (rng.random(n) < chance(s, x, v)).astype(np.int64)
    columns = {"S": np.array(GROUPS, dtype=object)[s], "X": x, "V": v, "Y": y, "p": np.where(v == 1, p, 1 - p)}
    means = np.array([[_mean(rule, chance, t) for t in (0, 1)] for rule in rules])
    truth = (means.mean(axis=1), means[:, 0] - means[:, 1])
    return Logged(_real_problem(rules), columns, *truth, where=LogMap(propensity="p"))


def _logistic(z: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-z))


def _mean(rule: Callable[[Any, Any], Any], chance: Callable[[Any, Any, Any], Any], t: int) -> float:
    """E[Y | arm, S = t] by the trapezium rule; the clipped tails are point masses."""
    x = np.linspace(-4, 4, 4001)
    density = np.exp(-0.5 * (x - 0.4 * t) ** 2) / math.sqrt(2 * math.pi)
    p = rule(t, x)
    value = p * chance(t, x, 1) + (1 - p) * chance(t, x, 0)
    tails = [0.5 * math.erfc((4 + 0.4 * t) / math.sqrt(2)), 0.5 * math.erfc((4 - 0.4 * t) / math.sqrt(2))]
    return float(np.trapezoid(density * value, x) + tails[0] * value[0] + tails[1] * value[-1])


def _real_problem(rules: list[Callable[[Any, Any], Any]]) -> Problem:
    def arm(k: int) -> Arm:
        def log_prob(columns: Any) -> Any:
            p = rules[k](columns["S"], columns["X"])
            return np.log(np.where(columns["V"] == 1, p, 1 - p))

        return Arm(f"arm-{k}", Code("V", ("S", "X"), log_prob))

    two = ("0", "1")
    return Problem(
        name="drawn",
        variables=[Variable("S", GROUPS), Variable("X", low=-4, high=4), Variable("V", two), Variable("Y", two)],
        graph=[("S", "X"), ("S", "V"), ("X", "V"), ("X", "Y"), ("V", "Y"), ("S", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.1,
        arms=[arm(k) for k in range(len(rules))],
    )


KINDS: dict[str, Callable[[np.random.Generator], Logged]] = {
    "benign": benign,
    "rare cells": rare_cells,
    "heavy weights": heavy_weights,
    "fitted mechanisms": fitted,
}
