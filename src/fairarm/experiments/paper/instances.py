"""What the instances are: their gaps, divergences and the first plan, so that others can judge and reuse them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairarm.algorithms import make_procedure
from fairarm.catalog import load_problem
from fairarm.core.types import FloatArray
from fairarm.errors import OptionError
from fairarm.experiments.paper.plan import PaperPoint
from fairarm.readers.problem_writer import write_problem
from fairarm.worlds.base import Truth
from fairarm.worlds.network import NetworkWorld, as_network

PROGRAMME_PULLS = 10_000
"""The first programme depends on T through the budget 1/√T; its shares are listed for this one."""


@dataclass(frozen=True)
class Instance:
    """One line of the listing. Divergences are those of the other arms against the deployed one."""

    instance: str
    nodes: int
    arcs: int
    observed: int
    """Nodes that must be observed."""
    arms: int
    tolerance: float
    fair_arms: int
    better_but_unfair: int
    best_fair_arm: str | None
    outcome_gap: float | None
    """Best minus second-best fair arm."""
    fairness_gap: float
    """The smallest distance of an arm's |gap| to the tolerance."""
    M_low: float
    M_high: float
    D_low: float
    """Direction (s, s'), learned from pulls forced to s'."""
    D_high: float
    D_back_low: float
    """Direction (s', s)."""
    D_back_high: float
    share_natural: float
    """Shares of CSR's first programme at `PROGRAMME_PULLS`, by regime."""
    share_s: float
    share_s_prime: float

    @property
    def setting(self) -> str:
        """The name without its parameters, as the paper calls it."""
        return self.instance.partition(":")[0].removeprefix("synthetic-")

    @property
    def file(self) -> str:
        """The name of its problem file."""
        return self.instance.replace(":", "-").replace("=", "-").replace(",", "-") + ".toml"

    def row(self) -> dict[str, Any]:
        """One line of the table."""
        return {**asdict(self), "file": self.file}


def describe_instances(points: Iterable[PaperPoint]) -> list[Instance]:
    """Every instance of a plan, once, in the plan's order."""
    return [describe(name) for name in dict.fromkeys(name for point in points for name in point.instances)]


def describe(name: str) -> Instance:
    """An instance by its numbers: margins, divergences from the deployed arm, and what the programme pulls."""
    world = instance_world(name)
    problem, truth = world.problem, world.truth()
    deployed = problem.arm_index(problem.deployed) if problem.deployed else 0
    others = np.arange(len(problem.arms)) != deployed
    M, D = problem.compiled.tables.M[others, deployed], problem.compiled.tables.D[:, others, deployed]
    shares = make_procedure("csr-v1", problem, PROGRAMME_PULLS).start(1).memory.shares[0].sum(axis=1)
    best = truth.best_fair_arm
    better = truth.outcomes > truth.outcomes[best] if best is not None else np.zeros(len(problem.arms), dtype=np.bool_)
    return Instance(
        instance=name,
        nodes=len(world.network.tables),
        arcs=len(list(world.network.edges())),
        observed=len(problem.observed),
        arms=len(problem.arms),
        tolerance=problem.gap_tolerance,
        fair_arms=int(truth.fair.sum()),
        better_but_unfair=int((better & ~truth.fair).sum()),
        best_fair_arm=None if best is None else problem.arm_names[best],
        outcome_gap=_outcome_gap(truth),
        fairness_gap=float(np.min(np.abs(np.abs(truth.gaps) - problem.gap_tolerance))),
        **_range("M", M),
        **_range("D", D[0]),
        **_range("D_back", D[1]),
        share_natural=float(shares[0]),
        share_s=float(shares[1]),
        share_s_prime=float(shares[2]),
    )


def save_instances(instances: Iterable[Instance], folder: Path) -> None:
    """Each as a problem file with its network: `fairarm inspect FILE` reads it."""
    folder.mkdir(parents=True, exist_ok=True)
    for instance in instances:
        world = instance_world(instance.instance)
        write_problem(world.problem, folder / instance.file, world.network)


def instance_world(name: str) -> NetworkWorld:
    """The network of a bundled problem."""
    world = as_network(load_problem(name).world)
    if world is None:
        raise OptionError(f"'{name}' has no network: it can be neither described nor simulated.")
    return world


def _outcome_gap(truth: Truth) -> float | None:
    fair = np.sort(truth.outcomes[truth.fair])
    return float(fair[-1] - fair[-2]) if len(fair) > 1 else None


def _range(name: str, values: FloatArray) -> dict[str, float]:
    return {f"{name}_low": float(values.min()), f"{name}_high": float(values.max())}
