"""What synthetic problems on S → V → Y have in common: the law of the outcome, the problem, and the network that answers its pulls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairarm.core.types import BoolArray, FloatArray
from fairarm.errors import OptionError
from fairarm.problem.mechanism import Arm, Table
from fairarm.problem.network import Network
from fairarm.problem.outcome import Outcome
from fairarm.problem.parts import ROOT_BUDGET
from fairarm.problem.problem import Problem
from fairarm.problem.variables import Variable

FLIP = 0.01
HIGH, LOW = 0.9, 0.1
"""Decisions that arms are moved toward are at least as good, or at most as good."""
FLOOR = 0.4
"""Of the deployed arm's probabilities before its means are set, over 1/m: its pulls tell of every other arm."""
MAX_ARMS, MAX_STATES, MAX_SEED = 1000, 200, 2**63 - 1


def check_whole(what: str, **given: tuple[object, int, int]) -> None:
    """Each is a whole number within its ends; ``what`` starts the message."""
    values = ", ".join(f"{name}={value!r}" for name, (value, _, _) in given.items())
    for name, (value, low, high) in given.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not low <= value <= high:
            raise OptionError(f"{what} got {name}={value!r} ({values}). {name} is a whole number from {low} to {high}.")


def outcome_law(rng: np.random.Generator, m: int, noisy: bool) -> FloatArray:
    """θ_v = P(Y = 1 | V = v), (m,): a coin of its own for each v, or a function of v flipped with probability 0.01."""
    if noisy:
        return rng.uniform(size=m)
    f = rng.integers(0, 2, size=m)
    if f.min() == f.max():
        f[rng.integers(m)] ^= 1
    return np.where(f == 1, 1.0 - FLIP, FLIP)


def stretched(theta: FloatArray) -> FloatArray:
    """The same coins from 0.05 to 0.95, so that there are good and bad decisions."""
    return np.asarray(0.05 + 0.9 * (theta - theta.min()) / np.ptp(theta))


def law_with_means(means: FloatArray, theta: FloatArray, deployed: bool, rng: np.random.Generator) -> FloatArray:
    """P(V | S), (G, m), with these means of an outcome θ (m,) that has decisions at both ends: laws around a shared one, each moved
    toward good or bad decisions as far as is needed."""
    m, G = len(theta), len(means)
    concentration = np.exp(rng.uniform(np.log(0.5), np.log(5.0)))
    shared, own = rng.dirichlet(np.full(m, concentration)), rng.dirichlet(np.ones(m), size=G)
    laws = 0.9 * shared + 0.1 * own
    laws = FLOOR / m + (1.0 - FLOOR) * laws if deployed else laws
    up, down = (_within(cells, rng) for cells in (theta >= HIGH, theta <= LOW))
    toward = np.where((means > laws @ theta)[:, None], up, down)
    weight = (means - laws @ theta) / (toward @ theta - laws @ theta)
    return np.asarray((1.0 - weight)[:, None] * laws + weight[:, None] * toward)


def _within(cells: BoolArray, rng: np.random.Generator) -> FloatArray:
    """A law on these decisions alone, (m,)."""
    law = rng.gamma(1.0, size=len(cells)) * cells
    return np.asarray(law / law.sum())


def chain_problem(
    name: str, description: str, arms: FloatArray, groups: Sequence[str], shares: Sequence[float], tolerance: float
) -> Problem:
    """Arms P(V | S), (K, G, m). The first is deployed and free, the others cost 1 a pull, the budget is 1/√pulls a pull."""
    free, paid = ((cost,) * (1 + len(groups)) for cost in (0.0, 1.0))
    return Problem(
        name=name,
        description=description,
        variables=_variables(groups, arms.shape[2]),
        graph=[("S", "V"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=tolerance,
        arms=[Arm(f"arm-{k}", Table("V", ("S",), law)) for k, law in enumerate(arms, start=1)],
        costs=[free, *[paid] * (len(arms) - 1)],
        budget=ROOT_BUDGET,
        deployed="arm-1",
        shares=tuple(shares),
    )


def chain_network(groups: Sequence[str], shares: Sequence[float], deployed: FloatArray, theta: FloatArray) -> Network:
    """The world: P(S), the deployed arm (G, m), and θ (m,)."""
    tables = [
        Table("S", (), np.array(shares)),
        Table("V", ("S",), deployed),
        Table("Y", ("V",), np.stack([1.0 - theta, theta], axis=1)),
    ]
    return Network.of(_variables(groups, len(theta)), tables)


def _variables(groups: Sequence[str], m: int) -> list[Variable]:
    states = tuple(str(v) for v in range(1, m + 1))
    return [Variable("S", tuple(groups)), Variable("V", states, ordered=False), Variable("Y", ("0", "1"))]
