"""The naive way: every attribute is taken for one without causes and every path counts, so that plain group differences are compared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairarm import Constraint
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.mechanism import Arm, Table
from fairarm.problem.network import Network
from fairarm.problem.problem import Problem
from fairarm.problem.variables import Variable
from fairarm.worlds.network import NetworkWorld

PEOPLE = "people"
"""The one attribute of the naive problem with two attributes: its groups are the combinations of their states."""


def naive(world: NetworkWorld) -> NetworkWorld:
    """The same arms, rows and tolerances, and plain differences."""
    problem = world.problem
    if len(problem.attributes) == 1:
        asked = tuple(Constraint(tolerance=constraint.tolerance) for constraint in problem.constraints)
        return NetworkWorld(replace(problem, constraints=asked), world.network)
    return _of_combinations(world)


def plain_weights(shares: FloatArray, codes: IntArray) -> FloatArray:
    """Of each combination of states, (P,): its part in the first group's mean minus that in the second's, where ``codes`` are the groups'."""
    first, second = (np.where(codes == group, shares, 0.0) for group in (0, 1))
    return np.asarray(first / first.sum() - second / second.sum())


def _of_combinations(world: NetworkWorld) -> NetworkWorld:
    """One attribute whose groups are the combinations: the plain difference of each attribute is a weighted sum of their means."""
    problem, network = world.problem, world.network
    groups, shares, codes = problem.groups, world.shares, problem.compiled.profile_codes
    names = [group.replace("=", " ").replace(",", " and ") for group in groups]
    asked = []
    for constraint in problem.constraints:
        weights = plain_weights(shares, codes[:, problem.attributes.index(constraint.attribute or "")])
        asked.append(Constraint(weights=dict(zip(names, weights, strict=True)), tolerance=constraint.tolerance))  # type: ignore[arg-type]
    children = [_by_combination(network.tables[node], problem) for node in problem.relevant_children]
    variables = [Variable(PEOPLE, tuple(names)), *(problem.variables[node] for node in problem.observed if node not in problem.attributes)]  # fmt: skip
    own = Table(PEOPLE, (), shares)
    made = Problem(
        name=f"{problem.name}, naive",
        variables=variables,
        graph=[*((PEOPLE, child.node) for child in children), *(e for e in problem.graph.edges if not {*e} & {*problem.attributes})],
        sensitive=PEOPLE,
        decision=problem.decision,
        outcome=problem.outcome,
        arms=[Arm(arm.name, arm.mechanism) for arm in problem.arms],
        constraints=asked,
        mechanisms=children,
        shares=tuple(shares),
        deployed=problem.deployed,
    )  # fmt: skip
    rest = [network.tables[node] for node in (problem.decision, problem.outcome.node)]
    return NetworkWorld(made, Network.of(variables, [own, *children, *rest]))


def _by_combination(known: Table, problem: Problem) -> Table:
    """P(child | combination), where the child has one parent and that is an attribute."""
    (parent,) = known.parents
    codes = problem.compiled.profile_codes[:, problem.attributes.index(parent)]
    return Table(known.node, (PEOPLE,), known.probabilities[codes])
