"""Random worlds with a real input, whose logs are read row by row: one kind for each difficulty of ordinary data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.logs.rows import heavy_weights
from benchmarks.logs.tables import GROUPS, Logged
from fairarm import Arm, Code, LogMap, Outcome, Problem, Variable
from fairarm.core.types import FloatArray

GRID = np.linspace(-4.0, 4.0, 2001)
SHIFT = 0.4
"""X is normal around 0 in the first group, around this in the second, cut to [-4, 4]."""

Rule = Callable[[int, FloatArray], FloatArray]
"""The law of the decision in a group at inputs x, (n, decisions)."""
Surface = Callable[[int, FloatArray], FloatArray]
"""The mean outcome of every decision in a group at inputs x, (n, decisions)."""


@dataclass(frozen=True)
class RowWorld:
    """P(S), the arms, the first of which makes the log, the mean outcome, and how an outcome falls around its mean."""

    share: float
    """Of the second group."""
    rules: tuple[Rule, ...]
    mean: Surface
    noise: Callable[[FloatArray, Any, np.random.Generator], FloatArray]
    """Outcomes by their means and decisions."""
    outcome: Outcome
    tolerance: float

    def truth(self) -> tuple[FloatArray, FloatArray]:
        """By the trapezium rule; the tails that are cut off are point masses at the ends."""
        means = np.array([[self._integral(rule, t) for t in (0, 1)] for rule in self.rules])
        return means @ np.array([1 - self.share, self.share]), means[:, 0] - means[:, 1]

    def _integral(self, rule: Rule, t: int) -> float:
        density = np.exp(-0.5 * (GRID - SHIFT * t) ** 2) / math.sqrt(2 * math.pi)
        value = (rule(t, GRID) * self.mean(t, GRID)).sum(axis=1)
        tails = [0.5 * math.erfc((4 + sign * SHIFT * t) / math.sqrt(2)) for sign in (1, -1)]
        return float(np.trapezoid(density * value, GRID) + tails[0] * value[0] + tails[1] * value[-1])

    def log(self, n: int, rng: np.random.Generator) -> Logged:
        """Natural rows of the first arm, with their propensities."""
        s = (rng.random(n) < self.share).astype(np.int64)
        x = np.clip(rng.normal(SHIFT * s, 1.0), -4, 4)
        law, mean = self._by_row(self.rules[0], s, x), self._by_row(self.mean, s, x)
        v = (rng.random(len(law))[:, None] > np.cumsum(law, axis=1)[:, :-1]).sum(axis=1)
        at = np.arange(n), v
        columns = {
            "S": np.array(GROUPS, dtype=object)[s],
            "X": x,
            "V": v,
            "Y": self.noise(mean[at], v, rng),
            "p": law[at],
        }
        return Logged(self._problem(law.shape[1]), columns, *self.truth(), where=LogMap(propensity="p"))

    @staticmethod
    def _by_row(surface: Surface, s: Any, x: FloatArray) -> FloatArray:
        return np.where((s == 0)[:, None], surface(0, x), surface(1, x))

    def _problem(self, decisions: int) -> Problem:
        states = tuple(map(str, range(decisions)))
        two = [Variable("Y", ("0", "1"))] if self.outcome.values else []
        return Problem(
            name="drawn",
            variables=[Variable("S", GROUPS), Variable("X", low=-4, high=4), Variable("V", states), *two],
            graph=[("S", "X"), ("S", "V"), ("X", "V"), ("X", "Y"), ("V", "Y"), ("S", "Y")],
            sensitive="S",
            decision="V",
            outcome=self.outcome,
            tolerance=self.tolerance,
            shares=(1 - self.share, self.share),
            arms=[_arm(f"arm-{k}", rule) for k, rule in enumerate(self.rules)],
        )  # fmt: skip


def _arm(name: str, rule: Rule) -> Arm:
    def log_prob(columns: Any) -> Any:
        s, x, v = (np.asarray(columns[n]) for n in ("S", "X", "V"))
        law = np.where((s == 0)[:, None], rule(0, x), rule(1, x))
        with np.errstate(divide="ignore"):
            return np.log(law[np.arange(len(v)), v])

    return Arm(name, Code("V", ("S", "X"), log_prob))


# ---- what worlds are made of ----


def _softmax(rng: np.random.Generator, decisions: int, floor: float, scale: float = 1.0) -> Rule:
    """A drawn rule that looks at group and input, and gives every decision at least ``floor``."""
    base, slope, own = rng.normal(0, scale, (3, decisions))

    def rule(t: int, x: FloatArray) -> FloatArray:
        logit = base + np.multiply.outer(x, slope) + t * own
        made = np.exp(logit - logit.max(axis=1, keepdims=True))
        return np.asarray((1 - decisions * floor) * made / made.sum(axis=1, keepdims=True) + floor)

    return rule


def _always(v: int, decisions: int) -> Rule:
    return lambda t, x: np.tile(np.eye(decisions)[v], (len(x), 1))


def _best_guess(rng: np.random.Generator, decisions: int) -> Rule:
    """A fixed rule: one decision below a threshold of the input, another above."""
    low, high = rng.choice(decisions, 2, replace=False)
    cut = rng.normal(0, 0.5)
    return lambda t, x: np.eye(decisions)[np.where(x < cut, low, high)]


def _rules(rng: np.random.Generator, decisions: int, floor: float) -> tuple[Rule, ...]:
    return (
        _softmax(rng, decisions, floor), _softmax(rng, decisions, floor), _best_guess(rng, decisions),
        _always(decisions - 1, decisions),
    )  # fmt: skip


def _smooth(rng: np.random.Generator, decisions: int, scale: float) -> Surface:
    """A drawn function of input, decision and group."""
    base, slope, bend, own = rng.normal(0, scale, (4, decisions))
    return lambda t, x: base + np.multiply.outer(x, slope) + np.multiply.outer(np.sin(1.5 * x), bend) + t * own


def _coin(mean: FloatArray, v: Any, rng: np.random.Generator) -> FloatArray:
    return (rng.random(len(mean)) < mean).astype(np.int64)


TWO = Outcome("Y", values=(0, 1))


def _rates(rng: np.random.Generator, decisions: int, rate: float, scale: float) -> Surface:
    """Rates around ``rate``: the logistic of a smooth function."""
    inner, centre = _smooth(rng, decisions, scale), math.log(rate / (1 - rate))
    return lambda t, x: 1 / (1 + np.exp(-np.clip(centre + inner(t, x), -12, 12)))


# ---- kinds ----


def benign(rng: np.random.Generator) -> Logged:
    """Three decisions, each made at least once in ten times, outcomes near one half: 2 000 rows."""
    return RowWorld(0.5, _rules(rng, 3, 0.1), _rates(rng, 3, 0.5, 0.5), _coin, TWO, 0.1).log(2000, rng)


def clicks(rng: np.random.Generator) -> Logged:
    """Ten decisions, rates around 0.5 %: 10 000 rows."""
    return RowWorld(0.5, _rules(rng, 10, 0.05), _rates(rng, 10, 0.005, 0.3), _coin, TWO, 0.003).log(10_000, rng)


def rare_small(rng: np.random.Generator) -> Logged:
    """Rates around 1 %, and 3 % of the rows in the second group: 10 000 rows."""
    return RowWorld(0.03, _rules(rng, 3, 0.1), _rates(rng, 3, 0.01, 0.3), _coin, TWO, 0.01).log(10_000, rng)


def small_group(rng: np.random.Generator) -> Logged:
    """Outcomes near one half, and 3 % of the rows in the second group: 3 000 rows."""
    return RowWorld(0.03, _rules(rng, 3, 0.1), _rates(rng, 3, 0.5, 0.5), _coin, TWO, 0.1).log(3000, rng)


MONEY = Outcome("Y", low=-2000.0, high=2000.0)


def _money(noise: Any, n: int, rng: np.random.Generator) -> Logged:
    mean = _smooth(rng, 3, 10.0)
    world = RowWorld(0.5, _rules(rng, 3, 0.1), lambda t, x: mean(t, x) * np.array([0.0, 1.0, 3.0]), noise, MONEY, 10.0)
    return world.log(n, rng)


def unequal_money(rng: np.random.Generator) -> Logged:
    """Money with noise of 0, 48 and 160 by decision: 3 000 rows."""
    sd = np.array([0.0, 48.0, 160.0])
    return _money(lambda m, v, r: np.clip(m + sd[v] * r.standard_normal(len(m)), -2000, 2000), 3000, rng)


def skewed_money(rng: np.random.Generator) -> Logged:
    """Money: gains, and losses that are rare and large (gamma of shape 0.25 with sd 120): 3 000 rows."""

    def noise(mean: FloatArray, v: Any, r: np.random.Generator) -> FloatArray:
        loss = 120.0 * (r.gamma(0.25, 2.0, len(mean)) - 0.5) * (v > 0)
        return np.asarray(np.clip(mean - loss, -2000, 2000))

    return _money(noise, 3000, rng)


def rough(rng: np.random.Generator) -> Logged:
    """A mean that jumps with input and decision, which no smooth regression finds: 2 000 rows."""
    level = rng.random((10, 3))

    def mean(t: int, x: FloatArray) -> FloatArray:
        return np.asarray(level[np.clip(np.floor(2 * x + 4.5), 0, 8).astype(int) ^ t])

    return RowWorld(0.5, _rules(rng, 3, 0.05), mean, _coin, TWO, 0.1).log(2000, rng)


def rare_where_hardly_tried(rng: np.random.Generator) -> Logged:
    """Rates of 2 %, ten times that for the one decision that is made once in 50 times: 5 000 rows."""
    rules = (_softmax(rng, 3, 0.02, 0.3), _always(0, 3), _best_guess(rng, 3), _always(2, 3))

    def logger(t: int, x: FloatArray) -> FloatArray:
        made = rules[0](t, x) * np.array([1.0, 1.0, 0.05])
        return np.asarray(0.94 * made / made.sum(axis=1, keepdims=True) + 0.02)

    return RowWorld(
        0.5, (logger, *rules[1:]), lambda t, x: np.tile([0.02, 0.03, 0.2], (len(x), 1)), _coin, TWO, 0.02
    ).log(5000, rng)


def hidden_region(rng: np.random.Generator) -> Logged:
    """A decision that is made once in 50 times where the input is high, and does there what it does nowhere else: 2 000 rows."""
    high, rate, there = 0.02, rng.uniform(0.2, 0.4), rng.uniform(0.6, 0.95)

    def logger(t: int, x: FloatArray) -> FloatArray:
        p = np.where(x > 1.0, high, 0.5)
        return np.stack([1 - p, p], axis=1)

    def mean(t: int, x: FloatArray) -> FloatArray:
        return np.stack([np.full(len(x), rate), np.where(x > 1.0, there, rate)], axis=1)

    rules = (logger, _always(1, 2), _softmax(rng, 2, 0.2), _best_guess(rng, 2))
    return RowWorld(0.5, rules, mean, _coin, TWO, 0.1).log(2000, rng)


ROW_KINDS: dict[str, Callable[[np.random.Generator], Logged]] = {
    "benign": benign,
    "clicks of 0.5 %": clicks,
    "rates of 1 %, a group of 3 %": rare_small,
    "a group of 3 %": small_group,
    "money, unequal noise": unequal_money,
    "money, skewed noise": skewed_money,
    "heavy weights": heavy_weights,
    "rough outcomes": rough,
    "high where hardly tried": rare_where_hardly_tried,
    "another outcome where hardly tried": hidden_region,
}
