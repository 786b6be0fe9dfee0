"""Random worlds with a real input, whose logs are read row by row: one kind for each difficulty of ordinary data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.logs.rows import RowWorld, Surface, coded, heavy_weights
from benchmarks.logs.tables import Drawn, Logged, Money, OutcomeLaw, States
from fairarm import Outcome, Variable
from fairarm.core.types import FloatArray, IntArray


def _log(
    rng: np.random.Generator, n: int, rules: tuple[Surface, ...], mean: Surface, law: OutcomeLaw, tolerance: float,
    share: float = 0.5,
) -> Logged:  # fmt: skip
    """A log of ``n`` rows that the first arm makes; P(S) is declared."""
    arms = coded({f"arm-{k}": rule for k, rule in enumerate(rules)})
    return RowWorld(rules[0], arms, mean, law, tolerance, share).log(n, rng)


# ---- what worlds are made of ----


def _softmax(rng: np.random.Generator, decisions: int, floor: float, scale: float = 1.0) -> Surface:
    """A drawn rule that looks at group and input, and gives every decision at least ``floor``."""
    base, slope, own = rng.normal(0, scale, (3, decisions))

    def rule(s: Any, x: FloatArray) -> FloatArray:
        logit = base + np.multiply.outer(x, slope) + np.multiply.outer(s, own)
        made = np.exp(logit - logit.max(axis=1, keepdims=True))
        return np.asarray((1 - decisions * floor) * made / made.sum(axis=1, keepdims=True) + floor)

    return rule


def _always(v: int, decisions: int) -> Surface:
    return lambda s, x: np.tile(np.eye(decisions)[v], (len(x), 1))


def _best_guess(rng: np.random.Generator, decisions: int) -> Surface:
    """A fixed rule: one decision below a threshold of the input, another above."""
    low, high = rng.choice(decisions, 2, replace=False)
    cut = rng.normal(0, 0.5)
    return lambda s, x: np.eye(decisions)[np.where(x < cut, low, high)]


def _rules(rng: np.random.Generator, decisions: int, floor: float) -> tuple[Surface, ...]:
    return (
        _softmax(rng, decisions, floor), _softmax(rng, decisions, floor), _best_guess(rng, decisions),
        _always(decisions - 1, decisions),
    )  # fmt: skip


def _smooth(rng: np.random.Generator, decisions: int, scale: float) -> Surface:
    """A drawn function of input, decision and group."""
    base, slope, bend, own = rng.normal(0, scale, (4, decisions))

    def value(s: Any, x: FloatArray) -> FloatArray:
        bent = np.multiply.outer(x, slope) + np.multiply.outer(np.sin(1.5 * x), bend)
        return np.asarray(base + bent + np.multiply.outer(s, own))

    return value


def _rates(rng: np.random.Generator, decisions: int, rate: float, scale: float) -> Surface:
    """Rates around ``rate``: the logistic of a smooth function."""
    inner, centre = _smooth(rng, decisions, scale), math.log(rate / (1 - rate))
    return lambda s, x: 1 / (1 + np.exp(-np.clip(centre + inner(s, x), -12, 12)))


# ---- kinds ----


def benign(rng: np.random.Generator) -> Logged:
    """Three decisions, each made at least once in ten times, outcomes near one half: 2 000 rows."""
    return _log(rng, 2000, _rules(rng, 3, 0.1), _rates(rng, 3, 0.5, 0.5), States(), 0.1)


def clicks(rng: np.random.Generator) -> Logged:
    """Ten decisions, rates around 0.5 %: 10 000 rows."""
    return _log(rng, 10_000, _rules(rng, 10, 0.05), _rates(rng, 10, 0.005, 0.3), States(), 0.003)


def rare_small(rng: np.random.Generator) -> Logged:
    """Rates around 1 %, and 3 % of the rows in the second group: 10 000 rows."""
    return _log(rng, 10_000, _rules(rng, 3, 0.1), _rates(rng, 3, 0.01, 0.3), States(), 0.01, share=0.03)


def small_group(rng: np.random.Generator) -> Logged:
    """Outcomes near one half, and 3 % of the rows in the second group: 3 000 rows."""
    return _log(rng, 3000, _rules(rng, 3, 0.1), _rates(rng, 3, 0.5, 0.5), States(), 0.1, share=0.03)


LIMIT = 2000.0


@dataclass(frozen=True)
class Losses:
    """Money: gains, and losses that are rare and large, a gamma of shape 0.25 with sd 120; none with the first decision."""

    def outcome(self) -> Outcome:
        return Outcome("Y", low=-LIMIT, high=LIMIT)

    def variable(self) -> Variable:
        return Variable("Y", low=-LIMIT, high=LIMIT)

    def draw(self, means: FloatArray, decisions: IntArray, counts: IntArray, rng: np.random.Generator) -> Drawn:
        cell = np.repeat(np.arange(len(counts)), counts)
        loss = 120.0 * (rng.gamma(0.25, 2.0, len(cell)) - 0.5) * (decisions[cell] > 0)
        y = np.clip(means[cell] - loss, -LIMIT, LIMIT)
        return Drawn(cell, y, y, np.ones(len(cell), dtype=np.int64))


def _money(law: OutcomeLaw, rng: np.random.Generator) -> Logged:
    mean, size = _smooth(rng, 3, 10.0), np.array([0.0, 1.0, 3.0])
    return _log(rng, 3000, _rules(rng, 3, 0.1), lambda s, x: mean(s, x) * size, law, 10.0)


def unequal_money(rng: np.random.Generator) -> Logged:
    """Money with noise of 0, 48 and 160 by decision: 3 000 rows."""
    return _money(Money(-LIMIT, LIMIT, (0.0, 48.0, 160.0)), rng)


def skewed_money(rng: np.random.Generator) -> Logged:
    """Gains, and losses that are rare and large: 3 000 rows."""
    return _money(Losses(), rng)


def rough(rng: np.random.Generator) -> Logged:
    """A mean that jumps with input and decision, which no smooth regression finds: 2 000 rows."""
    level = rng.random((10, 3))

    def mean(s: Any, x: FloatArray) -> FloatArray:
        return np.asarray(level[np.clip(np.floor(2 * x + 4.5), 0, 8).astype(int) ^ s])

    return _log(rng, 2000, _rules(rng, 3, 0.05), mean, States(), 0.1)


def rare_where_hardly_tried(rng: np.random.Generator) -> Logged:
    """Rates of 2 %, ten times that for the one decision that is made once in 50 times: 5 000 rows."""
    rules = (_softmax(rng, 3, 0.02, 0.3), _always(0, 3), _best_guess(rng, 3), _always(2, 3))

    def logger(s: Any, x: FloatArray) -> FloatArray:
        made = rules[0](s, x) * np.array([1.0, 1.0, 0.05])
        return np.asarray(0.94 * made / made.sum(axis=1, keepdims=True) + 0.02)

    rates = np.array([0.02, 0.03, 0.2])
    return _log(rng, 5000, (logger, *rules[1:]), lambda s, x: np.tile(rates, (len(x), 1)), States(), 0.02)


def hidden_region(rng: np.random.Generator) -> Logged:
    """A decision that is made once in 50 times where the input is high, and does there what it does nowhere else: 2 000 rows."""
    high, rate, there = 0.02, rng.uniform(0.2, 0.4), rng.uniform(0.6, 0.95)

    def logger(s: Any, x: FloatArray) -> FloatArray:
        p = np.where(x > 1.0, high, 0.5)
        return np.stack([1 - p, p], axis=1)

    def mean(s: Any, x: FloatArray) -> FloatArray:
        return np.stack([np.full(len(x), rate), np.where(x > 1.0, there, rate)], axis=1)

    rules = (logger, _always(1, 2), _softmax(rng, 2, 0.2), _best_guess(rng, 2))
    return _log(rng, 2000, rules, mean, States(), 0.1)


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
