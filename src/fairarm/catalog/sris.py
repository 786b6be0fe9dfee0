"""The setting of SRIS's own experiments (Sen et al. 2017), as far as it is published: no fairness, V without parents.

Y is the parity of v written in binary, flipped with probability 0.01; arm 1 is nearly uniform, deployed and free. The
arms' laws are not published: here arm k puts mass q_k on the values of odd parity, spread within each parity by a
Dirichlet law, with the best arm ahead of the second by exactly Δ = 0.15 in outcome.
"""

from __future__ import annotations

import numpy as np

from fairarm.core.types import FloatArray, IntArray
from fairarm.errors import OptionError
from fairarm.problem.graph import Graph
from fairarm.problem.mechanism import Arm, table
from fairarm.problem.network import Network
from fairarm.problem.outcome import Outcome
from fairarm.problem.parts import ROOT_BUDGET
from fairarm.problem.problem import Problem
from fairarm.problem.variables import Variable

FLIP = 0.01
GAP = 0.15
BEST = 0.8
"""Outcome of the best arm."""
NEAR_UNIFORM = 200.0
SPREAD = 2.0
"""Dirichlet concentrations of arm 1 and of the other arms within a parity."""


def sris(*, K: int = 20, m: int = 10, seed: int = 0) -> tuple[Problem, Network]:
    """One instance: S is there, as every problem needs one, but nothing depends on it."""
    if not 3 <= K <= 1000 or not 2 <= m <= 200:
        raise OptionError(f"sris needs K from 3 to 1000 and m from 2 to 200; got K={K}, m={m}.")
    rng = np.random.default_rng([0x5215, seed, K, m])
    parity = np.array([v.bit_count() % 2 for v in range(m)])
    wins = np.where(parity == 1, 1 - FLIP, FLIP)
    others = rng.uniform(0.1, BEST - GAP, size=K - 3)
    outcomes = np.array([BEST, BEST - GAP, *others])
    laws: list[FloatArray] = [
        rng.dirichlet(np.full(m, NEAR_UNIFORM)),
        *(_law(rng, parity, (mu - FLIP) / (1 - 2 * FLIP)) for mu in outcomes),
    ]
    order = [0, *(1 + rng.permutation(K - 1))]
    arms = [Arm(f"arm-{i + 1}", table("V", [], laws[k])) for i, k in enumerate(order)]
    variables = [
        Variable("S", ("a", "b")),
        Variable("V", tuple(str(v) for v in range(m)), ordered=False),
        Variable("Y", ("0", "1")),
    ]
    tables = [
        table("S", [], [0.5, 0.5]),
        table("V", [], laws[0]),
        table("Y", ["V"], np.stack([1 - wins, wins], axis=1)),
    ]
    problem = Problem(
        name=f"sris:K={K},m={m},seed={seed}",
        description="SRIS's own setting: parity of v, no fairness (every arm is fair).",
        variables=variables,
        graph=Graph(("S", "V", "Y"), (("V", "Y"),)),
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        arms=arms,
        tolerance=2.0,
        costs=[[0, 0, 0], *([[1, 1, 1]] * (K - 1))],
        budget=ROOT_BUDGET,
        deployed="arm-1",
        shares=(0.5, 0.5),
    )
    return problem, Network.of(variables, tables)


def _law(rng: np.random.Generator, parity: IntArray, odd: float) -> FloatArray:
    """Mass ``odd`` on the values of odd parity."""
    law = np.zeros(len(parity))
    for value, mass in ((1, odd), (0, 1 - odd)):
        law[parity == value] = mass * rng.dirichlet(np.full(int((parity == value).sum()), SPREAD))
    return law
