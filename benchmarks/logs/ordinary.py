"""Logs as people have them: rare clicks, loans in money, a decision with an order, small groups, values far apart.

Each function draws a world and its log; arms have the same names in all worlds of a kind, so that each can be judged.
"""

from __future__ import annotations

import numpy as np

from benchmarks.logs.tables import Logged, Money, OutcomeLaw, States, TableWorld, effects, logistic, simplex
from fairarm.core.types import FloatArray

ITEMS, POSITIONS = 34, 3
LEVEL = 0.005
"""The rate of clicks."""


def clicks(
    rng: np.random.Generator,
    rows: int,
    rate: float = LEVEL,
    numbers: bool = False,
    shown: str = "random",
    propensity: bool = False,
    positions: int = POSITIONS,
) -> Logged:
    """34 items in 3 positions, two groups with a law of their own: 204 cells, each with an effect of its own.

    ``shown``: the arm that logs, all items alike or half of the time a few. ``numbers``: item ids that mean no order.
    """
    shape = (2, positions, ITEMS)
    score = effects(rng, shape, (0.3, 0.3, 0.5), 0.5)
    means = np.minimum(rate * np.exp(score - 0.34), 0.5) if rate < 0.1 else logistic(np.log(rate / (1 - rate)) + score)
    few = simplex(rng, (positions, ITEMS), 0.15, 0.002)
    alike = np.full(shape, 1 / ITEMS)
    arms = {
        "random": alike,
        "few items": np.stack([few, few]),
        "half": np.stack([few, few]) / 2 + alike / 2,
        "few by group": np.stack([few, np.roll(few, ITEMS // 2, axis=-1)]),
    }
    arms = {shown: arms[shown], **arms}
    contexts = (np.full((2, positions), 1 / positions),)
    share = rng.choice([0.13, 0.5])
    world = TableWorld(np.array([share, 1 - share]), contexts, arms, means, States(), 0.3 * rate, numbers=numbers)
    return world.log(rows, rng, propensity=propensity)


DECISIONS = ("decline", "small", "large")
SD = (0.0, 48.0, 160.0)
RANGE, SKEWED_RANGE = (-1000.0, 1000.0), (-1000.0, 5000.0)


def loans(rng: np.random.Generator, rows: int, skewed: bool = False, few_cells: bool = False) -> Logged:
    """Decline, a small loan or a large one, whose outcomes are sure, noisy and very noisy. 144 cells, or 9.

    Income differs between groups; the other column does not. A large loan pays where the risk is small and costs where it
    is not; every cell of a loan has an effect of its own.
    """
    sizes = (3,) if few_cells else (6, 4)
    risk = np.linspace(-1, 1, sizes[0]).reshape(-1, *[1] * (len(sizes) - 1))
    value = effects(rng, (2, *sizes), (0.1, 0.5, 0.2)[: 1 + len(sizes)], 0.4) + 0.7 * risk
    means = np.stack([0.0 * value, 8 + 6 * value, 10 + 34 * value], axis=-1)
    if few_cells:
        means[1] = means[0]
    contexts = tuple(simplex(rng, (2, m), 3.0, 0.02) for m in sizes[:1])
    contexts += tuple(np.stack([simplex(rng, (m,), 3.0, 0.05)] * 2) for m in sizes[1:])
    law = Money(*(SKEWED_RANGE if skewed else RANGE), SD, skewed)
    return TableWorld(
        np.array([0.4, 0.6]), contexts, _loan_arms(rng, sizes), means, law, 6.0, direct=not few_cells
    ).log(rows, rng)


def _loan_arms(rng: np.random.Generator, sizes: tuple[int, ...]) -> dict[str, FloatArray]:
    """The deployed rule gives every decision at least 10 %; the others are rules without chance."""
    everywhere = (2, *sizes, 3)
    income = np.broadcast_to(np.arange(sizes[0]).reshape(1, -1, *[1] * (len(sizes) - 1)), everywhere[:-1])
    decide = np.eye(3)
    high = np.where(income >= sizes[0] / 2, 2, 0)
    tiers = np.minimum(income * 3 // sizes[0], 2)
    by_group = tiers.copy()
    by_group[1] = np.maximum(tiers[1] - 1, 0)
    return {
        "deployed": simplex(rng, everywhere, 1.0, 0.1),
        "large for all": np.broadcast_to(decide[2], everywhere).copy(),
        "large if high": decide[high],
        "tiers": decide[tiers],
        "tiers by group": decide[by_group],
    }  # fmt: skip


def ordered(rng: np.random.Generator, levels: int, rows: int, smooth: bool = True) -> Logged:
    """A dose of many levels, an outcome that is smooth in it, arms that are humps at doses of their own in each group.

    Not ``smooth``: each level by itself, though its name is a number.
    """
    at = np.linspace(0, 1, levels)
    waves = rng.normal(0, [1.5, 1.0, 0.6]) @ np.cos(np.pi * np.outer([1, 2, 3], at) + rng.uniform(0, 2 * np.pi, (3, 1)))
    score = rng.normal(0, 0.7) + (waves if smooth else rng.normal(0, 1.5, levels))
    means = np.stack([logistic(score)] * 2)

    def hump(first: float, second: float, width: float) -> FloatArray:
        law = np.exp(-0.5 * ((at - np.array([[first], [second]])) / width) ** 2)
        return np.asarray(law / law.sum(axis=1, keepdims=True))

    middle = rng.uniform(0.25, 0.75, 4)
    wide = 0.5 * hump(0.4, 0.6, 0.25) + 0.5 / levels
    arms = {
        "deployed": wide,
        "one dose": hump(middle[0], middle[0], 0.08),
        "nearly alike": hump(middle[1], middle[1] + 0.03, 0.12),
        "shifted": hump(middle[2], middle[2] + 0.15, 0.12),
        "two humps": 0.5 * hump(0.2, 0.2, 0.06) + 0.5 * hump(middle[3], 1 - middle[3], 0.06),
    }
    world = TableWorld(np.array([0.5, 0.5]), (), arms, means, States(), 0.08, direct=False, numbers=True)
    return world.log(rows, rng)


def columns_world(
    rng: np.random.Generator,
    means: FloatArray,
    law: OutcomeLaw,
    tolerance: float,
    share: float = 0.5,
    direct: bool = True,
) -> TableWorld:
    """Two context columns, the first of which depends on the group, and arms drawn at random over them."""
    _, first, second, decisions = means.shape
    contexts = (simplex(rng, (2, first), 3.0, 0.02), np.stack([simplex(rng, (second,), 3.0, 0.05)] * 2))
    own = simplex(rng, (4, *means.shape), 1.0, 0.02)
    arms = {
        "deployed": simplex(rng, means.shape, 2.0, 0.1),
        "blind": np.stack([own[0, 0]] * 2),
        "by group": own[1],
        "one decision": np.broadcast_to(np.eye(decisions)[rng.integers(decisions)], means.shape).copy(),
        "half deployed": own[2],
    }
    arms["half deployed"] = (arms["half deployed"] + arms["deployed"]) / 2
    return TableWorld(np.array([share, 1 - share]), contexts, arms, means, law, tolerance, direct)


def binary(rng: np.random.Generator, rows: int, share: float = 0.5) -> Logged:
    """Approved or not, 144 cells with main effects and one of each cell's own."""
    means = logistic(effects(rng, (2, 6, 4, 3), (0.2, 0.8, 0.5, 0.5), 0.5))
    return columns_world(rng, means, States(), 0.08, share).log(rows, rng)


def small_group(rng: np.random.Generator, rows: int) -> Logged:
    """One row in 33 is of the first group; 36 cells."""
    means = logistic(effects(rng, (2, 3, 2, 3), (0.4, 0.6, 0.3, 0.5), 0.4))
    return columns_world(rng, means, States(), 0.1, 0.03).log(rows, rng)


def far_values(rng: np.random.Generator, rows: int) -> Logged:
    """Nothing, 1 or 100: the mean is made by one row in 30. 36 cells."""
    chance = np.minimum(0.04 * np.exp(effects(rng, (2, 3, 2, 3), (0.2, 0.4, 0.2, 0.4), 0.4)), 0.4)
    law = States((0.0, 1.0, 100.0), (0.8, 0.2))
    means = 5 * chance * (0.8 + 20)  # P(1) = 4 chance, P(100) = chance
    means = means / max(1.0, float(means.max()) / (0.95 * (0.8 + 20)))
    return columns_world(rng, means, law, 1.5).log(rows, rng)


def cell_effects(rng: np.random.Generator, rows: int) -> Logged:
    """Nothing but an effect of each cell's own; 144 cells that both groups share."""
    means = np.stack([logistic(1.5 * rng.standard_normal((8, 6, 3)))] * 2)
    return columns_world(rng, means, States(), 0.08, direct=False).log(rows, rng)


def interaction(rng: np.random.Generator, rows: int) -> Logged:
    """No main effects: a decision is good where two columns agree and bad where they do not, turned in one group."""
    group, first, second, decision = np.indices((2, 6, 4, 3))
    sign = np.where((first + second + decision + group * rng.integers(0, 2)) % 2 == 0, 1.0, -1.0)
    return columns_world(rng, logistic(rng.normal(0, 0.5) + 2.0 * sign), States(), 0.08).log(rows, rng)


def bimodal(rng: np.random.Generator, rows: int) -> Logged:
    """Each cell is nearly always good or nearly never, by a coin."""
    means = np.where(rng.random((2, 6, 4, 3)) < rng.uniform(0.2, 0.8), 0.92, 0.04)
    return columns_world(rng, means, States(), 0.08).log(rows, rng)
