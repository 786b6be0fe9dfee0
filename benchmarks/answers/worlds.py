"""Worlds made of finite tables, logs drawn from them, and their truths: by enumeration that shares no code with the package."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from fairarm import Arm, Constraint, LogMap, Outcome, Problem, Unknown, Variable, table
from fairarm.core.types import BoolArray, FloatArray, IntArray

NAMES = "abcdefghij"
"""Of groups."""


@dataclass(frozen=True, eq=False)
class Truth:
    """Of each arm: its mean outcome, whether it is fair, and the differences that fairness is about; (K,), (K,), (K, J)."""

    names: tuple[str, ...]
    outcomes: FloatArray
    fair: BoolArray
    gaps: FloatArray

    @property
    def best(self) -> float:
        """The mean outcome of the best fair arm; -inf if no arm is fair."""
        return float(np.max(self.outcomes, where=self.fair, initial=-math.inf))

    def is_wrong(self, arm: str | None, margin: float) -> bool:
        """Whether an answer is wrong: an arm that is unfair or worse than the best fair arm by more than the margin, or None (no arm is fair) although one is."""
        if arm is None:
            return bool(self.fair.any())
        k = self.names.index(arm)
        return not self.fair[k] or float(self.outcomes[k]) < self.best - margin - 1e-12


@dataclass(frozen=True, eq=False)
class Log:
    """A problem, a log of it and the truth."""

    problem: Problem
    rows: Mapping[str, Any]
    truth: Truth
    columns: LogMap = field(default_factory=LogMap)


class Law(Protocol):
    """Of the outcome, given cells of shape (Z, G, M, V)."""

    @property
    def means(self) -> FloatArray: ...

    def outcome(self) -> Outcome: ...

    def variable(self) -> Variable: ...

    def draw(self, cell: IntArray, rng: np.random.Generator) -> Any:
        """The outcome of each row, as it is logged; ``cell`` has the rows' positions in the flat array of cells."""
        ...


@dataclass(frozen=True, eq=False)
class States:
    """P(state | cell), (Z, G, M, V, states)."""

    chances: FloatArray
    values: tuple[float, ...]

    @property
    def means(self) -> FloatArray:
        return np.asarray(self.chances @ np.array(self.values))

    def outcome(self) -> Outcome:
        return Outcome("Y", values=self.values)

    def variable(self) -> Variable:
        return Variable("Y", tuple(f"y{i}" for i in range(len(self.values))))

    def draw(self, cell: IntArray, rng: np.random.Generator) -> Any:
        upper = np.cumsum(self.chances.reshape(-1, len(self.values)), axis=1)[cell, :-1]
        state = (rng.random(len(cell))[:, None] >= upper).sum(axis=1)
        return np.array(self.variable().states, dtype=object)[state]


Noise = Callable[[np.random.Generator, int], FloatArray]
"""Draws with mean 0."""


@dataclass(frozen=True, eq=False)
class Real:
    """Means (Z, G, M, V) plus noise; the declared range is not reached."""

    means: FloatArray
    noise: Noise
    low: float
    high: float

    def outcome(self) -> Outcome:
        return Outcome("Y", low=self.low, high=self.high)

    def variable(self) -> Variable:
        return Variable("Y", low=self.low, high=self.high)

    def draw(self, cell: IntArray, rng: np.random.Generator) -> Any:
        return np.clip(self.means.ravel()[cell] + self.noise(rng, len(cell)), self.low, self.high)


@dataclass(frozen=True, eq=False)
class World:
    """A cause of S with Z states (1: none), S with G groups, context columns with M combinations of states, a decision with V states."""

    causes: FloatArray
    """P(z), (Z,)."""
    groups: FloatArray
    """P(s | z), (Z, G)."""
    child: FloatArray
    """P(x0 | z, s), (Z, G, m0): a column that follows from S."""
    others: tuple[FloatArray, ...]
    """P(x1), …: columns that are independent of all others."""
    arms: dict[str, FloatArray]
    """P(v | s, x) of each arm, (G, M, V); the first one made the log."""
    law: Law
    tolerance: float = math.inf
    """Of every pair of groups."""
    floor: float | None = None
    ratio: float | None = None
    """Each group's mean is above the first; the lowest is more than this share of the highest."""
    direct: bool = True
    """S acts on Y directly."""
    declared: bool = True
    """P(x0 | s) and P(s) are declared."""

    # ---- the truth ----

    @cached_property
    def contexts(self) -> FloatArray:
        """P(x | z, s), (Z, G, M)."""
        joint = self.child
        for law in self.others:
            joint = (joint[..., None] * law).reshape(*joint.shape[:2], -1)
        return joint

    @cached_property
    def shares(self) -> FloatArray:
        """P(s), (G,)."""
        return self.causes @ self.groups

    def truth(self) -> Truth:
        """People of group u as group t, for each arm: everything summed out."""
        given = self.causes[:, None] * self.groups / self.shares  # P(z | u)
        arms = np.stack(list(self.arms.values()))
        as_group = np.einsum("zu,ztx,ktxv,ztxv->ktu", given, self.contexts, arms, self.law.means)
        of_group = np.einsum("kuu->ku", as_group)
        G = len(self.shares)
        pairs = [(t, u) for u in range(G) for t in range(G) if (t != u if len(self.causes) > 1 else t < u)]
        gaps = np.stack([as_group[:, t, u] - of_group[:, u] for t, u in pairs], axis=1)
        fair = (np.abs(gaps) < self.tolerance).all(axis=1)
        if self.floor is not None:
            fair &= of_group.min(axis=1) > self.floor
        if self.ratio is not None:
            fair &= of_group.min(axis=1) > self.ratio * of_group.max(axis=1)
        return Truth(tuple(self.arms), of_group @ self.shares, fair, gaps)

    # ---- the problem ----

    @property
    def inputs(self) -> dict[str, int]:
        """Context columns and how many states they have."""
        return {f"X{i}": n for i, n in enumerate((self.child.shape[2], *(len(law) for law in self.others)))}

    def problem(self, fitted: bool = False) -> Problem:
        """``fitted``: the rule that made the log is not declared."""
        inputs, caused = ["S", *self.inputs], len(self.causes) > 1
        sizes = (len(self.shares), *self.inputs.values())
        arms = [Arm(name, table("V", inputs, law.reshape(*sizes, -1))) for name, law in self.arms.items()]
        if fitted:
            arms[0] = Arm(arms[0].name, Unknown("V", tuple(inputs)))
        edges = [("S", "X0"), *((x, "V") for x in inputs), ("V", "Y")]
        edges += [(x, "Y") for x in (inputs if self.direct else list(self.inputs))]
        if caused:
            edges += [("Z", "S"), ("Z", "X0"), ("Z", "Y")]
        asked = [Constraint(tolerance=self.tolerance)] if math.isfinite(self.tolerance) else []
        asked += [] if self.floor is None else [Constraint(compare="floor", at_least=self.floor)]
        asked += [] if self.ratio is None else [Constraint(compare="pairs", ratio=self.ratio)]
        laws = [table("X0", ["Z", "S"], self.child), table("S", ["Z"], self.groups)] if caused else [table("X0", ["S"], self.child[0])]  # fmt: skip
        return Problem(
            name="drawn",
            variables=self._variables(),
            graph=edges,
            sensitive="S",
            decision="V",
            outcome=self.law.outcome(),
            constraints=asked,
            arms=arms,
            mechanisms=laws if self.declared else [],
            shares=tuple(self.shares.tolist()) if self.declared and not caused else None,
            deployed=arms[0].name,
        )

    def _variables(self) -> list[Variable]:
        decisions = next(iter(self.arms.values())).shape[2]
        named = [Variable(x, tuple(f"x{j}" for j in range(n))) for x, n in self.inputs.items()]
        made = [Variable("S", tuple(NAMES[: len(self.shares)])), *named, Variable("V", tuple(f"v{j}" for j in range(decisions)))]  # fmt: skip
        if len(self.causes) > 1:
            made.insert(0, Variable("Z", tuple(f"z{j}" for j in range(len(self.causes)))))
        return [*made, self.law.variable()]

    # ---- the log ----

    def log(self, rows: int, rng: np.random.Generator, fitted: bool = False, propensity: bool = False) -> Log:
        """People as they come, served by the first arm. ``propensity``: with the probability of the decision in a column."""
        rule = next(iter(self.arms.values()))
        people = self.causes[:, None, None, None] * self.groups[:, :, None, None] * self.contexts[..., None]
        joint = (people * rule).ravel()
        cell = rng.choice(joint.size, size=rows, p=joint / joint.sum())
        z, s, x, v = np.unravel_index(cell, self.law.means.shape)
        finite = dict(zip(self.inputs, np.unravel_index(x, tuple(self.inputs.values())), strict=True))
        codes = {"Z": z, "S": s, **finite, "V": v}
        named = {w.name: w.states for w in self._variables() if w.name in codes and w.states is not None}
        columns = {name: np.array(states, dtype=object)[codes[name]] for name, states in named.items()}
        columns["Y"] = self.law.draw(cell, rng)
        where = LogMap(propensity="p") if propensity else LogMap()
        if propensity:
            columns["p"] = rule[s, x, v]
        return Log(self.problem(fitted), columns, self.truth(), where)


# ---- parts that worlds are drawn from ----


def simplex(rng: np.random.Generator, shape: Sequence[int], concentration: float, floor: float = 0.0) -> FloatArray:
    """Dirichlet laws along the last axis, each probability at least ``floor``."""
    *front, n = shape
    return np.asarray(floor + (1.0 - n * floor) * rng.dirichlet(np.full(n, concentration), tuple(front)))


def scores(
    rng: np.random.Generator, shape: Sequence[int], main: Sequence[float], interaction: float, direct: bool = True
) -> FloatArray:
    """Normal main effects of each axis, with these standard deviations, and an interaction of each cell, t with 3 degrees of freedom. Axis 1 is the group."""
    total = interaction * rng.standard_t(3, tuple(shape))
    for axis, sd in enumerate(main):
        effect = sd * rng.standard_normal(shape[axis])
        total = total + effect.reshape([-1 if a == axis else 1 for a in range(len(shape))])
    return np.asarray(total if direct else np.broadcast_to(total[:, :1], tuple(shape)))


def logistic(z: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-z))


def binary(score: FloatArray) -> States:
    """0 or 1, by log odds."""
    p = logistic(score)
    return States(np.stack([1.0 - p, p], axis=-1), (0.0, 1.0))


def four_states(score: FloatArray) -> States:
    """0, 1, 2 or 5: the higher the score, the more of the higher ones."""
    weights = np.exp(np.array([0.8, 0.3, 0.0, -0.5]) + score[..., None] * np.array([0.0, 0.4, 0.8, 1.3]))
    return States(weights / weights.sum(axis=-1, keepdims=True), (0.0, 1.0, 2.0, 5.0))


def exponential(scale: float) -> Noise:
    return lambda rng, n: scale * (rng.exponential(1.0, n) - 1.0)
