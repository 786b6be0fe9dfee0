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
from fairarm.problem.attributes import Block
from fairarm.problem.context import ContextLaw
from fairarm.problem.graph import Graph, find_roles
from fairarm.problem.inference import completed, own_law, shared_factor, without_noise
from fairarm.problem.mechanism import Table
from fairarm.problem.network import Network
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch, Request
from fairarm.problem.regimes import values_of_regime
from fairarm.problem.space import check_points
from fairarm.worlds.base import Truth, World
from fairarm.worlds.exact_worlds import ExactWorlds
from fairarm.worlds.profile_laws import ProfileLaws


@dataclass(frozen=True)
class NetworkWorld:
    """The world of a full network: what a pull of any arm in any regime returns, by exact inference."""

    problem: Problem
    network: Network

    def __post_init__(self) -> None:
        object.__setattr__(self, "network", without_noise(self.network, self.problem))
        check_agreement(self.problem, self.network)

    @cached_property
    def _alone(self) -> bool:
        """There is one attribute, and nothing acts on it: its groups' laws are the network's own factors alone."""
        p = self.problem
        return len(p.attributes) == 1 and not self.network.tables[p.attribute].parents

    @cached_property
    def _laws(self) -> ProfileLaws:
        return ProfileLaws(self.problem, self.network)

    @cached_property
    def shares(self) -> FloatArray:
        """P(S) in the order of the groups; of several attributes, P(label)."""
        if self._alone:
            return self.network.tables[self.problem.attribute].probabilities[list(self.problem.compiled.group_codes)]
        return np.asarray(self._joint[0].sum(axis=1))

    @cached_property
    def _joint(self) -> FloatArray:
        """P(label, cell, y | arm k), (K, P, O), of natural pulls."""
        return self._laws.joint()

    @cached_property
    def law(self) -> FloatArray:
        """P(cell, y | arm k, S = t), (K, G, O), from the network with V's mechanism replaced by the arm's; by label of several attributes."""
        if not self._alone:
            return given_label(self._joint)
        law = self._law_of_groups()
        self._check_declared_law(law)
        return law

    def _law_of_groups(self) -> FloatArray:
        p, space = self.problem, self.problem.compiled.row_space
        check_points(p, space.count)
        shared = shared_factor(self.network, p, space.columns)
        columns = dict(space.codes())
        law = np.empty((len(p.arms), len(p.groups), space.count))
        for t, code in enumerate(p.compiled.group_codes):
            columns[p.attribute] = np.full(space.count, code)
            log_children = sum(
                (self.network.tables[child].log_prob(columns) for child in p.relevant_children),
                np.zeros(space.count),
            )
            for k, arm in enumerate(p.arms):
                law[k, t] = np.exp(arm.mechanism.log_prob(columns) + log_children) * shared
        law /= law.sum(axis=2, keepdims=True)
        return law

    def _check_declared_law(self, law: FloatArray) -> None:
        """The context law that the problem declares is the world's."""
        p = self.problem
        if isinstance(p.context, ContextLaw) and p.plain and not p.missing_mechanisms:
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
        """By exact inference, in the outcome's own units. Where attributes have causes, something is kept, or there are several, means are
        those of the problem's worlds."""
        if not self.problem.plain:
            return Truth.of(self.problem, *self.exact.means())
        means = self.law @ self.outcome_values
        return Truth.of(self.problem, means @ self.shares, means)

    @cached_property
    def exact(self) -> ExactWorlds:
        """The means of any worlds of the problem, with all that it leaves open taken from the network."""
        by_state = self.law.reshape(*self.law.shape[:2], -1, len(self.problem.outcome.values or ()))
        return ExactWorlds(completed(self.problem, self.network), by_state, self.shares)

    def draw(self, counts: IntArray, rng: np.random.Generator) -> IntArray:
        """Counts of (S, cell, y) for pulls (..., R, K): (..., R, K, G, O)."""
        regime, arm, group, drawn = self._draw_units(counts, rng)
        out = np.zeros((*counts.shape, *self.law.shape[1:]), dtype=np.int64)
        out[..., regime, arm, group, :] = drawn
        return out

    def _draw_units(self, counts: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Only the (regime, arm, group) that were pulled, U of them, and their counts (..., U, O). Pulls draw the label first; of
        one attribute on which nothing acts, forced ones have it already."""
        by_group = np.zeros((*counts.shape, self.law.shape[1]), dtype=np.int64)
        for r, fits in enumerate(self.problem.compiled.regime_fits):
            if self._alone and r > 0:
                by_group[..., r, :, np.argmax(fits)] = counts[..., r, :]
            elif r == 0 or counts[..., r, :].any():
                by_group[..., r, :, :] = rng.multinomial(counts[..., r, :], self._labels_of_regime(r))
        regime, arm, group = np.nonzero(by_group.reshape(-1, *by_group.shape[-3:]).any(axis=0))
        law = self.law[arm, group]
        for r in np.unique(regime):
            if self._sets(r):
                law[regime == r] = given_label(self._joint_of_set(r))[arm[regime == r], group[regime == r]]
        return regime, arm, group, rng.multinomial(by_group[..., regime, arm, group], law)

    def _labels_of_regime(self, regime: int) -> FloatArray:
        """P(label) of the pulls of a regime, (P,): natural, recruited or set."""
        if regime == 0:
            return self.shares
        shares = self._joint_of_set(regime)[0].sum(axis=1) if self._sets(regime) else self.shares
        fitting = np.where(self.problem.compiled.regime_fits[regime], shares, 0.0)
        if not fitting.sum() > 0:
            raise ProblemError(
                f"Nobody in the world has the states of the regime '{self.problem.regimes[regime]}': it cannot be pulled. Do not offer it."
            )
        return np.asarray(fitting / fitting.sum())

    def _sets(self, regime: int) -> bool:
        """Pulls of this regime set attributes, and that is not the same as recruiting."""
        return regime > 0 and self.problem.regime_kind == "set" and not self._alone

    def _joint_of_set(self, regime: int) -> FloatArray:
        """P(label, cell, y | arm k), (K, P, O), where the attributes of a regime are set; for each of their values."""
        setting = tuple(values_of_regime(self.problem.regimes[regime], self.problem.attribute_states))
        if setting not in self._joints_of_set:
            self._joints_of_set[setting] = self._laws.joint(setting=setting)
        return self._joints_of_set[setting]

    @cached_property
    def _joints_of_set(self) -> dict[tuple[str, ...], FloatArray]:
        """Those that were asked for, by the attributes that are set."""
        return {}

    def pull(self, plan: Request, rng: np.random.Generator) -> Batch:
        """Counts by cell, drawn at once: rows that are equal come as one line with a count."""
        regime, arm, group, drawn = self._draw_units(plan.counts, rng)
        unit, cell = np.nonzero(drawn)
        columns: dict[str, Any] = dict(self.problem.compiled.row_space.codes(cell))
        codes = self.problem.compiled.profile_codes[group[unit]]
        columns |= {attribute: codes[:, i] for i, attribute in enumerate(self.problem.attributes)}
        return Batch(arm[unit], regime[unit], columns, drawn[unit, cell])


def given_label(joint: FloatArray) -> FloatArray:
    """P(cell, y | arm, label) from P(label, cell, y | arm), (K, P, O); 0 of labels that nobody has."""
    total = joint.sum(axis=2, keepdims=True)
    return np.asarray(np.divide(joint, total, out=np.zeros_like(joint), where=total > 0))


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
        if (
            name not in problem.attributes
            and isinstance(mechanism, Table)
            and not _same_law(mechanism, network.tables[name])
        ):
            raise ProblemError(
                f"The mechanism of '{name}' in the problem is not the one of the world: other parents, or entries that differ by "
                f"more than 1e-6. Make the two tables equal, or take it from the world (from_world)."
            )
    for attribute in problem.attributes:
        if sorted(network.tables[attribute].parents) != sorted(problem.graph.parents(attribute)):
            raise ProblemError(
                f"The sensitive attribute '{attribute}' has parents in the world ({', '.join(network.tables[attribute].parents) or 'none'}) that "
                f"are not those of the problem's graph ({', '.join(problem.graph.parents(attribute)) or 'none'}). Declare the same edges."
            )
    for child in problem.relevant_children:
        if sorted(network.tables[child].parents) != sorted(problem.roles.graph.parents(child)):
            raise ProblemError(f"Node '{child}' has other parents in the problem's graph than in the world.")
    _check_roles(problem, network)
    for block in problem.roles.blocks:
        _check_own(problem, network, block)


def _check_own(problem: Problem, network: Network, block: Block) -> None:
    """The law of attributes that the problem declares is the world's."""
    declared = problem.own_factor(block)
    if declared is None:
        return
    world = own_law(network, block)
    order = [*map(declared.parents.index, block.causes), len(block.causes)]
    if np.allclose(declared.probabilities.transpose(order).reshape(world.shape), world, rtol=0, atol=1e-6):
        return
    names = " and ".join(f"'{member}'" for member in block.members)
    what = f"The mechanism of {names}" if block.causes else f"The shares of the groups of {names}"
    raise ProblemError(
        f"{what} in the problem {'is' if block.causes else 'are'} not {'that' if block.causes else 'those'} of the world."
    )


def _check_roles(problem: Problem, network: Network) -> None:
    """The world's own edges make the same nodes relevant and observed: no path from S that the problem's graph lacks."""
    used = [parent for arm in problem.arms for parent in arm.parents]
    world = Graph(tuple(network.variables), tuple(network.edges()))
    roles = find_roles(world, problem.attributes, problem.decision, problem.outcome.node, used, problem.hidden)
    if other := sorted(set(roles.relevant_children) ^ set(problem.relevant_children)):
        attributes = "' or '".join(problem.attributes)
        raise ProblemError(
            f"Node '{other[0]}' is a child of '{attributes}' on the way to '{problem.outcome.node}' in the world or in the "
            f"problem's graph, but not in both. Declare the same edges."
        )
    if {*map(_as_sets, roles.blocks)} != {*map(_as_sets, problem.roles.blocks)}:
        raise ProblemError(
            f"The sensitive attributes {', '.join(problem.attributes)} have other hidden common causes in the world than in the problem's "
            f"graph. Declare the same edges."
        )


def _as_sets(block: Block) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(block.members), frozenset(block.causes)


def _same_law(first: Table, second: Table) -> bool:
    if sorted(first.parents) != sorted(second.parents):
        return False
    order = [*(first.parents.index(p) for p in second.parents), len(first.parents)]
    return bool(np.allclose(first.probabilities.transpose(order), second.probabilities, rtol=0, atol=1e-6))
