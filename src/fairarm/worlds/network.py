"""A Bayesian network as a world: reduced exactly to the observed cells once, then multinomial counts.

A pull of 10^9 rows costs what a pull of 10^3 does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairarm.core.types import FloatArray, IntArray
from fairarm.errors import ProblemError
from fairarm.problem.context import ContextLaw
from fairarm.problem.graph import Graph, find_roles
from fairarm.problem.inference import shared_factor
from fairarm.problem.mechanism import Table
from fairarm.problem.network import Network
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch, Request
from fairarm.problem.space import check_points
from fairarm.worlds.base import Truth, World


@dataclass(frozen=True)
class NetworkWorld:
    """The world of a full network: what a pull of any arm in any regime returns, by exact inference."""

    problem: Problem
    network: Network

    def __post_init__(self) -> None:
        check_agreement(self.problem, self.network)

    @cached_property
    def shares(self) -> FloatArray:
        """P(S) in the order of the groups."""
        return self.network.tables[self.problem.sensitive].probabilities[list(self.problem.compiled.group_codes)]

    @cached_property
    def law(self) -> FloatArray:
        """P(cell, y | arm k, S = t), (K, G, O), from the network with V's mechanism replaced by the arm's."""
        p, space = self.problem, self.problem.compiled.row_space
        check_points(p, space.count)
        shared = shared_factor(self.network, p, space.columns)
        values = p.variables[p.sensitive].size
        columns = {
            **space.codes(),
            p.sensitive: np.zeros(space.count, dtype=np.int64),
        }
        law = np.empty((len(p.arms), len(p.groups), space.count))
        for t, code in enumerate(p.compiled.group_codes):
            columns[p.sensitive] = np.full(space.count, code % values)
            log_children = sum(
                (self.network.tables[child].log_prob(columns) for child in p.relevant_children),
                np.zeros(space.count),
            )
            for k, arm in enumerate(p.arms):
                law[k, t] = np.exp(arm.mechanism.log_prob(columns) + log_children) * shared
        law /= law.sum(axis=2, keepdims=True)
        self._check_declared_law(law)
        return law

    def _check_declared_law(self, law: FloatArray) -> None:
        """The context law that the problem declares is the world's."""
        p = self.problem
        if isinstance(p.context, ContextLaw) and not p.missing_mechanisms:
            cells = (
                law
                if p.outcome.node in p.relevant_children
                else law.reshape(*law.shape[:2], -1, len(p.outcome.values or ())).sum(axis=3)
            )
            if not np.allclose(cells, p.compiled.tables.law.probability, rtol=0, atol=1e-6):
                raise ProblemError("The context law declared in the problem is not the one of the world.")

    @cached_property
    def outcome_values(self) -> FloatArray:
        """The value of the outcome in each of the space's cells, (O,)."""
        values = self.problem.outcome.values or ()
        return np.array(values)[self.problem.compiled.row_space.codes()[self.problem.outcome.node]]

    def truth(self) -> Truth:
        """By exact inference, in the outcome's own units."""
        means = self.law @ self.outcome_values
        return Truth.of(self.problem, means @ self.shares, means)

    def draw(self, counts: IntArray, rng: np.random.Generator) -> IntArray:
        """Counts of (S, cell, y) for pulls (..., R, K): (..., R, K, G, O)."""
        regime, arm, group, drawn = self._draw_units(counts, rng)
        out = np.zeros((*counts.shape, *self.law.shape[1:]), dtype=np.int64)
        out[..., regime, arm, group, :] = drawn
        return out

    def _draw_units(self, counts: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Only the (regime, arm, group) that were pulled, U of them, and their counts (..., U, O). Natural pulls draw S first."""
        groups = self.law.shape[1]
        by_group = np.zeros((*counts.shape, groups), dtype=np.int64)
        by_group[..., 0, :, :] = rng.multinomial(counts[..., 0, :], self.shares)
        for t in range(groups):
            by_group[..., 1 + t, :, t] = counts[..., 1 + t, :]
        regime, arm, group = np.nonzero(by_group.reshape(-1, *by_group.shape[-3:]).any(axis=0))
        return regime, arm, group, rng.multinomial(by_group[..., regime, arm, group], self.law[arm, group])

    def pull(self, plan: Request, rng: np.random.Generator) -> Batch:
        """Counts by cell, drawn at once: rows that are equal come as one line with a count."""
        regime, arm, group, drawn = self._draw_units(plan.counts, rng)
        unit, cell = np.nonzero(drawn)
        columns: dict[str, Any] = dict(self.problem.compiled.row_space.codes(cell))
        columns[self.problem.sensitive] = np.array(self.problem.compiled.group_codes)[group[unit]]
        return Batch(arm[unit], regime[unit], columns, drawn[unit, cell])


def as_network(world: World | None) -> NetworkWorld | None:
    """The world as a network, whose law is known cell by cell, so that many runs are pulled at once; None where it is
    another one. A world of your own needs `World`'s three methods alone, so this is asked here and not of it."""
    return world if isinstance(world, NetworkWorld) else None


def check_agreement(problem: Problem, network: Network) -> None:
    """The problem's states, edges and known mechanisms are those of the network."""
    if missing := [node for node in problem.graph.nodes if node not in network.variables]:
        raise ProblemError(f"The world has no node '{missing[0]}', which is in the problem's graph. Is it misspelt?")
    for node in problem.observed:
        declared = problem.variables.get(node)
        if declared is None or declared.states != network.variables[node].states:
            raise ProblemError(f"Node '{node}' has other states in the problem than in the world.")
    if problem.outcome.values is None:
        raise ProblemError(
            f"The outcome '{problem.outcome.node}' needs a value for each state to be simulated by a network."
        )
    for name, mechanism in problem.mechanisms.items():
        if name not in network.tables:
            raise ProblemError(f"The world has no node '{name}', whose mechanism the problem declares.")
        if isinstance(mechanism, Table) and not _same_law(mechanism, network.tables[name]):
            raise ProblemError(
                f"The mechanism of '{name}' in the problem is not the one of the world: other parents, or entries that differ by "
                f"more than 1e-6. Make the two tables equal, or take it from the world (from_world)."
            )
    sensitive = network.tables[problem.sensitive]
    if sensitive.parents:
        raise ProblemError(
            f"The sensitive attribute '{problem.sensitive}' has parents in the world. It must be a root."
        )
    if problem.shares and not np.allclose(
        sensitive.probabilities[list(problem.compiled.group_codes)], problem.shares, rtol=0, atol=1e-6
    ):
        raise ProblemError(
            f"The shares of the groups of '{problem.sensitive}' in the problem are not those of the world."
        )
    for child in problem.relevant_children:
        if sorted(network.tables[child].parents) != sorted(problem.roles.graph.parents(child)):
            raise ProblemError(f"Node '{child}' has other parents in the problem's graph than in the world.")
    _check_roles(problem, network)


def _check_roles(problem: Problem, network: Network) -> None:
    """The world's own edges make the same nodes relevant and observed: no path from S that the problem's graph lacks."""
    used = [parent for arm in problem.arms for parent in arm.parents]
    world = Graph(tuple(network.variables), tuple(network.edges()))
    roles = find_roles(world, problem.attributes, problem.decision, problem.outcome.node, used, problem.hidden)
    if other := sorted(set(roles.relevant_children) ^ set(problem.relevant_children)):
        raise ProblemError(
            f"Node '{other[0]}' is a child of '{problem.sensitive}' on the way to '{problem.outcome.node}' in the world or in the "
            f"problem's graph, but not in both. Declare the same edges."
        )


def _same_law(first: Table, second: Table) -> bool:
    if sorted(first.parents) != sorted(second.parents):
        return False
    order = [*(first.parents.index(p) for p in second.parents), len(first.parents)]
    return bool(np.allclose(first.probabilities.transpose(order), second.probabilities, rtol=0, atol=1e-6))
