"""Worlds that are tables: a group, a few context columns, a decision, and an outcome of any kind, with exact truths.

The law of the outcome in a cell has its mean in one array and its shape in an `OutcomeLaw`, so that truths are sums of
means whatever the shape.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.special import ndtr

from fairarm import Arm, LogMap, Outcome, Problem, Unknown, Variable, table
from fairarm.core.types import FloatArray, IntArray

GROUPS = ("a", "b")
COUNT = "rows"


SPOKEN_FOR = 0.99
"""The least mass of cells with rows for which Σ p ȳ is anything to compare with."""


@dataclass(frozen=True)
class Plain:
    """What the logging arm's own rows say without any model: their mean and its error, and with the laws as declared (Σ p ȳ)
    the mean and the gap; nan where too many cells have no row."""

    rows_mean: float
    error: float
    mean: float
    gap: float


@dataclass(frozen=True)
class Logged:
    """A problem, a log of it, and what every arm's outcome and gap really are."""

    problem: Problem
    columns: dict[str, Any]
    outcomes: FloatArray
    gaps: FloatArray
    where: LogMap = field(default_factory=LogMap)
    plain: Plain | None = None
    """Where nothing is shared between groups: S is in the cell."""


class OutcomeLaw(Protocol):
    """The shape of Y in a cell whose mean is known."""

    def outcome(self) -> Outcome: ...

    def variable(self) -> Variable: ...

    def draw(self, means: FloatArray, decisions: IntArray, counts: IntArray, rng: np.random.Generator) -> Drawn:
        """Outcomes of each cell's rows: means, decisions and numbers of rows are (C,)."""
        ...


@dataclass(frozen=True)
class Drawn:
    """Lines of a log: the cell of each, its outcome as the log has it and as a number, and the rows it stands for."""

    cell: IntArray
    logged: Any
    value: FloatArray
    count: IntArray


@dataclass(frozen=True)
class States:
    """An outcome with states. ``spread``: the law of the states above the lowest one, which has what is left."""

    values: tuple[float, ...] = (0.0, 1.0)
    spread: tuple[float, ...] = (1.0,)

    def outcome(self) -> Outcome:
        return Outcome("Y", values=self.values)

    def variable(self) -> Variable:
        return Variable("Y", tuple(f"y{i}" for i in range(len(self.values))))

    def chances(self, means: FloatArray) -> FloatArray:
        """P(state | cell), (C, states): the upper states share what the mean needs."""
        upper = means[:, None] / float(np.dot(self.spread, self.values[1:])) * np.array(self.spread)
        return np.concatenate([1.0 - upper.sum(axis=1, keepdims=True), upper], axis=1)

    def draw(self, means: FloatArray, decisions: IntArray, counts: IntArray, rng: np.random.Generator) -> Drawn:
        seen = rng.multinomial(counts, self.chances(means))
        cell, state = np.nonzero(seen)
        logged = np.array(self.variable().states, dtype=object)[state]
        return Drawn(cell, logged, np.array(self.values)[state], seen[cell, state])


@dataclass(frozen=True)
class Money:
    """A real outcome: its mean plus noise, of another size for each decision."""

    low: float
    high: float
    sd: tuple[float, ...]
    skewed: bool = False

    def outcome(self) -> Outcome:
        return Outcome("Y", low=self.low, high=self.high)

    def variable(self) -> Variable:
        return Variable("Y", low=self.low, high=self.high)

    def draw(self, means: FloatArray, decisions: IntArray, counts: IntArray, rng: np.random.Generator) -> Drawn:
        cell = np.repeat(np.arange(len(counts)), counts)
        noise = skewed_noise(rng, len(cell)) if self.skewed else np.clip(rng.standard_normal(len(cell)), -4, 4)
        y = means[cell] + np.array(self.sd)[decisions[cell]] * noise
        return Drawn(cell, y, y, np.ones(len(cell), dtype=np.int64))


PAID, SIGMA, CUT = 0.2, 0.8, 3.0
"""Of the skewed noise: the share of rows with an amount, and its logarithm's sd and cut."""


def skewed_noise(rng: np.random.Generator, n: int) -> FloatArray:
    """Mean 0 and sd 1: nothing in four rows of five, else an amount whose logarithm is normal and cut at ± 3 sd."""
    mean, square = (_cut_moment(power * SIGMA, CUT) for power in (1, 2))
    amount = np.exp(SIGMA * np.clip(rng.standard_normal(n), -CUT, CUT)) * (rng.random(n) < PAID)
    return (amount - PAID * mean) / math.sqrt(PAID * square - (PAID * mean) ** 2)


def _cut_moment(sigma: float, cut: float) -> float:
    """E exp(σ z), z standard normal and cut at ± ``cut``: the middle, then the two point masses."""
    middle = math.exp(sigma**2 / 2) * float(ndtr(cut - sigma) - ndtr(-cut - sigma))
    return middle + 2 * math.cosh(sigma * cut) * float(ndtr(-cut))


@dataclass(frozen=True)
class TableWorld:
    """P(S) (2,); P(X_i | S) (2, m_i) of each context column; arms P_k(V | S, X…); E[Y | S, X…, V]; and Y's shape.

    A column whose law is the same in both groups is no child of S. ``direct``: S → Y is an edge.
    """

    shares: FloatArray
    contexts: tuple[FloatArray, ...]
    arms: dict[str, FloatArray]
    """Each (2, m_1, …, decisions); the first one logs."""
    means: FloatArray
    """(2, m_1, …, decisions)."""
    law: OutcomeLaw
    tolerance: float
    direct: bool = True
    numbers: bool = False
    """The decision's states are numbers, in order; else names."""

    @cached_property
    def given_group(self) -> FloatArray:
        """P(x | s), (2, m_1, …, 1)."""
        return joint_law(self.contexts)

    def truth(self) -> tuple[FloatArray, FloatArray]:
        """Outcomes and gaps (K,), by summing over everything."""
        of_group = np.stack(
            [(self.given_group * arm * self.means).reshape(2, -1).sum(axis=1) for arm in self.arms.values()]
        )
        return of_group @ self.shares, of_group[:, 0] - of_group[:, 1]

    # ---- the problem ----

    @property
    def columns(self) -> list[str]:
        return [f"X{i}" for i in range(len(self.contexts))]

    def _children(self) -> list[int]:
        return [i for i, law in enumerate(self.contexts) if not np.array_equal(law[0], law[1])]

    def variables(self) -> list[Variable]:
        decisions = range(self.means.shape[-1])
        named = [Variable(x, tuple(f"x{j}" for j in range(law.shape[1]))) for x, law in zip(self.columns, self.contexts, strict=True)]  # fmt: skip
        states = tuple(str(v) if self.numbers else f"v{v}" for v in decisions)
        return [Variable("S", GROUPS), *named, Variable("V", states), self.law.variable()]

    def problem(self, fitted: bool = False) -> Problem:
        """``fitted``: the logging arm and what S does to its children are to be learned from the log."""
        inputs = ["S", *self.columns]
        made = [Arm(name, table("V", inputs, rows)) for name, rows in self.arms.items()]
        children = [table(f"X{i}", ["S"], self.contexts[i]) for i in self._children()]
        if fitted:
            made[0], children = Arm(made[0].name, Unknown("V", tuple(inputs))), []
        edges = [("S", f"X{i}") for i in self._children()] + [(x, "V") for x in inputs] + [("V", "Y")]
        edges += [(x, "Y") for x in (inputs if self.direct else self.columns)]
        return Problem(
            name="drawn",
            variables=self.variables(),
            graph=edges,
            sensitive="S",
            decision="V",
            outcome=self.law.outcome(),
            tolerance=self.tolerance,
            arms=made,
            mechanisms=children,
            deployed=made[0].name,
        )

    # ---- the log ----

    def log(self, rows: int, rng: np.random.Generator, fitted: bool = False, propensity: bool = False) -> Logged:
        """Natural rows of the first arm. ``propensity``: with the decision's probability in a column, so that rows are not counted."""
        logging = next(iter(self.arms.values()))
        joint = self.shares.reshape(2, *[1] * (self.means.ndim - 1)) * self.given_group * logging
        counts = rng.multinomial(rows, joint.ravel() / joint.sum()).reshape(self.means.shape)
        decisions = np.broadcast_to(np.arange(self.means.shape[-1]), self.means.shape)
        drawn = self.law.draw(self.means.ravel(), decisions.ravel(), counts.ravel(), rng)
        plain = self._plain(counts, drawn, fitted) if self.direct else None
        lines, where = self._lines(drawn), LogMap(count=COUNT)
        if propensity:
            lines, where = {**lines, "p": logging.ravel()[drawn.cell]}, LogMap(count=COUNT, propensity="p")
        return Logged(self.problem(fitted), lines, *self.truth(), where, plain)

    def _lines(self, drawn: Drawn) -> dict[str, Any]:
        codes = np.unravel_index(drawn.cell, self.means.shape)
        finite = [v for v in self.variables() if v.name != "Y"]
        named = {v.name: np.array(v.states, dtype=object)[code] for v, code in zip(finite, codes, strict=True)}
        return {**named, "Y": drawn.logged, COUNT: drawn.count}

    def _plain(self, counts: IntArray, drawn: Drawn, fitted: bool) -> Plain:
        """P(S) as seen. What is fitted is as seen too, so that the rows' own means are the ones to compare with."""
        size, n = self.means.size, counts.sum()
        sums = np.bincount(drawn.cell, drawn.count * drawn.value, size).reshape(2, -1)
        rows = counts.reshape(2, -1)
        weights = counts if fitted else self._seen_contexts(counts) * next(iter(self.arms.values()))
        weights = weights.reshape(2, -1) / weights.reshape(2, -1).sum(axis=1, keepdims=True)
        seen = np.where(rows > 0, weights, 0.0).sum(axis=1)
        of_group = (weights * sums / np.maximum(rows, 1)).sum(axis=1) / np.where(seen >= SPOKEN_FOR, seen, np.nan)
        mean = float(np.dot(drawn.count, drawn.value) / n)
        error = math.sqrt(np.dot(drawn.count, (drawn.value - mean) ** 2) / (n - 1) / n)
        error = max(error, self.law.outcome().width / n)  # where no row differs, one that does could be the next
        return Plain(mean, error, float(of_group @ rows.sum(axis=1) / n), float(of_group[0] - of_group[1]))

    def _seen_contexts(self, counts: IntArray) -> FloatArray:
        """P(x | s) as an estimate has it, (2, m_1, …, 1): children of S as declared, the others by all rows together."""
        children = self._children()
        away = (0, *(i + 1 for i in children), counts.ndim - 1)
        declared = tuple(law if i in children else np.ones_like(law) for i, law in enumerate(self.contexts))
        return np.asarray(joint_law(declared) * counts.sum(axis=away, keepdims=True) / counts.sum())


def joint_law(contexts: Sequence[FloatArray]) -> FloatArray:
    """P(x_1 | s) P(x_2 | s) …, (2, m_1, …, 1), of laws (2, m_i)."""
    joint = np.ones((2, 1))
    for i, law in enumerate(contexts):
        joint = joint[..., None, :] * law.reshape(2, *[1] * i, -1, 1)
    return joint


# ---- parts of which worlds are drawn ----


def effects(rng: np.random.Generator, shape: Sequence[int], main: Sequence[float], own: float) -> FloatArray:
    """Main effects of each axis (their sd in ``main``) plus an effect of each cell's own (sd ``own``)."""
    total = own * rng.standard_normal(tuple(shape))
    for axis, sd in enumerate(main):
        total = total + sd * rng.standard_normal(shape[axis]).reshape(
            [-1 if a == axis else 1 for a in range(len(shape))]
        )
    return np.asarray(total)


def logistic(z: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-z))


def simplex(rng: np.random.Generator, shape: Sequence[int], concentration: float, floor: float = 0.0) -> FloatArray:
    """Dirichlet laws along the last axis, each probability at least ``floor``."""
    *front, m = shape
    return np.asarray((1.0 - m * floor) * rng.dirichlet(np.full(m, concentration), tuple(front)) + floor)
