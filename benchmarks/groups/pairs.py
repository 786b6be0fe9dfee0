"""The naive way to compare G groups: one run with two groups for each pair, each with its part of the pulls."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from fairarm.algorithms import make_procedure
from fairarm.core.answer import Code
from fairarm.core.types import IntArray
from fairarm.experiments.simulate import replicate
from fairarm.problem.mechanism import Arm, Mechanism, Table
from fairarm.problem.network import Network
from fairarm.problem.problem import Problem
from fairarm.worlds.network import NetworkWorld

GATE = 0.8
"""An arm counts as fair if each run finds it fair with this probability: Pool's own gate."""


def pair_world(world: NetworkWorld, t: int, u: int) -> NetworkWorld:
    """The world in which there are two groups only, with the shares that they have of both."""
    problem = world.problem
    two, S = (problem.groups[t], problem.groups[u]), problem.sensitive
    codes = [problem.compiled.group_codes[t], problem.compiled.group_codes[u]]
    shares = world.shares[[t, u]] / world.shares[[t, u]].sum()
    variables = {**problem.variables, S: replace(problem.variables[S], states=two)}
    costs = [(row[0], row[1 + t], row[1 + u]) for row in problem.costs]
    made = Problem(
        name=f"{problem.name}, {two[0]} and {two[1]}",
        variables=variables,
        graph=problem.graph,
        sensitive=S,
        decision=problem.decision,
        outcome=problem.outcome,
        arms=[Arm(arm.name, _of_two(arm.mechanism, S, codes)) for arm in problem.arms],
        tolerance=problem.rows[0].below,
        mechanisms={name: _of_two(known, S, codes) for name, known in problem.mechanisms.items()},
        costs=costs,
        budget=problem.budget,
        deployed=problem.deployed,
        hidden=problem.hidden,
        shares=tuple(shares),
        context=problem.context,
    )
    tables = [
        Table(S, (), shares) if node == S else _of_two(known, S, codes) for node, known in world.network.tables.items()
    ]
    named = {**world.network.variables, S: variables[S]}
    return NetworkWorld(made, Network.of(named.values(), tables))  # type: ignore[arg-type]


def _of_two(known: Mechanism, sensitive: str, codes: list[int]) -> Mechanism:
    """The table with two of the states of S."""
    if not isinstance(known, Table):
        raise TypeError(f"{type(known).__name__} of {known.node}")
    if sensitive not in known.parents:
        return known
    axis = known.parents.index(sensitive)
    return Table(known.node, known.parents, np.take(known.probabilities, codes, axis=axis))


def one_by_one(world: NetworkWorld, pulls: int, runs: int, rng: np.random.Generator) -> IntArray:
    """The answers of ``runs`` such experiments, (runs,): fair is what every run finds fair, the outcome what they find together."""
    pairs = list(combinations(range(len(world.problem.groups)), 2))
    fair = np.ones((runs, len(world.problem.arms)), dtype=bool)
    outcome = np.zeros(fair.shape)
    for at, (t, u) in enumerate(pairs):
        own = pair_world(world, t, u)
        part = pulls // len(pairs) + (at < pulls % len(pairs))
        ran = replicate(make_procedure("pool", own.problem, part), own, runs, rng, int(rng.integers(1 << 62)))
        standing = ran.info.standing
        if standing is None:
            raise TypeError("pool has beliefs")
        fair &= standing.fair >= GATE
        # each group is in G − 1 pairs: together they weigh every group by its share
        outcome += world.shares[[t, u]].sum() / (len(world.problem.groups) - 1) * np.nan_to_num(ran.info.outcomes)
    best = np.argmax(np.where(fair, outcome, -np.inf), axis=1)
    return np.where(fair.any(axis=1), best, Code.NONE)
