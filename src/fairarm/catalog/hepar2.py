"""HEPAR-II: a published network of liver disorders as a problem (paper, section 6).

Decision fibrosis, sensitive attribute sex, outcome carcinoma. The arms are random mechanisms of fibrosis given
ChHepatitis, as in the paper, which does not publish its own: arm k gives each state of ChHepatitis a probability of
fibrosis drawn uniformly from [0, 1] by ``numpy.random.default_rng(seed)``, arm after arm.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib.resources import as_file, files

import numpy as np

from fairarm.errors import OptionError
from fairarm.problem.graph import Graph
from fairarm.problem.inference import completed
from fairarm.problem.mechanism import Arm, Table
from fairarm.problem.network import Network
from fairarm.problem.outcome import Outcome
from fairarm.problem.parts import ROOT_BUDGET
from fairarm.problem.problem import Problem
from fairarm.readers.bif import read_bif
from fairarm.worlds.network import NetworkWorld

PRINTED_TOLERANCE = 0.2
MAX_ARMS = 1000


@cache
def network() -> Network:
    """The published network (70 nodes, 123 arcs), read once."""
    with as_file(files("fairarm") / "data" / "hepar2.bif") as path:
        return read_bif(path)


def hepar2(*, K: int = 10, seed: int = 0) -> tuple[Problem, Network]:
    """The problem as printed: E = 0.2, at which every arm is fair, since all gaps lie in [−0.0440, −0.0363]."""
    if not 1 <= K <= MAX_ARMS:
        raise OptionError(f"hepar2 needs K from 1 to {MAX_ARMS}; got K={K}.")
    world = network()
    rng = np.random.default_rng(seed)
    present = rng.random((K, 3))
    arms = [
        Arm(f"arm-{k + 1}", Table("fibrosis", ("ChHepatitis",), np.stack([p, 1 - p], axis=1)))
        for k, p in enumerate(present)
    ]
    problem = Problem(
        name=f"hepar2:K={K},seed={seed}",
        description="HEPAR-II: random mechanisms of fibrosis; carcinoma must not depend on sex (E as in the paper).",
        variables=world.variables,
        graph=Graph(tuple(world.variables), tuple(world.edges())),
        sensitive="sex",
        groups=("male", "female"),
        decision="fibrosis",
        outcome=Outcome("carcinoma", values=(1, 0)),
        arms=arms,
        tolerance=PRINTED_TOLERANCE,
        costs=[[0, 0, 0], *([[1, 1, 1]] * (K - 1))],
        budget=ROOT_BUDGET,
        deployed="arm-1",
    )
    return completed(problem, world), world


def hepar2_binding(*, K: int = 10, seed: int = 0) -> tuple[Problem, Network]:
    """A tolerance half-way between the two middle gaps, so that it splits the arms.

    Margins are then about 0.001, and the paper's method, whose radius is 3/2^l after l phases, can only tell such
    arms apart from 10^7 pulls on.
    """
    if not 2 <= K <= MAX_ARMS:
        raise OptionError(f"hepar2-binding needs K from 2 to {MAX_ARMS}, as it splits the arms; got K={K}.")
    problem, world = hepar2(K=K, seed=seed)
    sizes = np.sort(np.abs(NetworkWorld(problem, world).truth().gaps))
    middle = float(sizes[K // 2 - 1] + sizes[K // 2]) / 2
    split = replace(
        problem,
        name=f"hepar2-binding:K={K},seed={seed}",
        description="HEPAR-II with a tolerance that splits the arms.",
        tolerance=middle,
    )
    return split, world
