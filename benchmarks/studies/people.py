"""Simulated people: who they are, what an arm does to them, and when that is told. Drawn node by node from the network of a world,
with numbers of their own for each person, so that nothing depends on who asks, when, or how often."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from fairarm.catalog import Scenario
from fairarm.problem.mechanism import Table
from fairarm.problem.network import Network
from fairarm.problem.problem import Problem
from fairarm.worlds.network import NetworkWorld


@dataclass(frozen=True)
class Person:
    """As they arrive."""

    number: int
    unit: str
    states: dict[str, str]
    """Of every node but the decision and what comes of it."""
    chances: dict[str, float]
    """The number in [0, 1) that decides each node."""


@dataclass(frozen=True)
class People:
    """Of one scenario. ``lost``: the part whose outcome is never told; ``late``: the part that is told after the window."""

    problem: Problem
    network: Network = field(repr=False)
    seed: int = 0
    lost: float = 0.0
    late: float = 0.0
    window: float = 7.0
    """Days; outcomes that are told in time come evenly over it."""

    @classmethod
    def of(cls, scenario: Scenario, **how: Any) -> People:
        """Of a scenario whose world is a network."""
        assert isinstance(scenario.world, NetworkWorld)
        return cls(scenario.problem, scenario.world.network, **how)

    @cached_property
    def _order(self) -> list[str]:
        """Parents first."""
        done: list[str] = []
        while len(done) < len(self.network.tables):
            done += [
                node
                for node, table in self.network.tables.items()
                if node not in done and all(p in done for p in table.parents)
            ]
        return done

    @cached_property
    def _after(self) -> set[str]:
        """The decision and everything that it may change."""
        after = {self.problem.decision}
        for node in self._order:
            if after & set(self.network.tables[node].parents):
                after.add(node)
        return after

    def person(self, number: int) -> Person:
        """The same for the same number."""
        rng = np.random.default_rng([self.seed, number])
        chances = {node: float(rng.random()) for node in [*self._order, "told", "when"]}
        states: dict[str, str] = {}
        for node in self._order:
            if node not in self._after:
                states[node] = self._state(self.network.tables[node], states, chances[node])
        return Person(number, f"person-{self.seed}-{number}", states, chances)

    def group(self, person: Person) -> str:
        """Of the one sensitive attribute."""
        return person.states[self.problem.attributes[0]]

    def known(self, person: Person) -> dict[str, str]:
        """What can be known at arrival beside the group."""
        seen = set(self.problem.observed) - set(self.problem.attributes)
        return {node: state for node, state in person.states.items() if node in seen}

    def row(
        self, person: Person, arm: str, decision: str | None = None, given: Mapping[str, str] = {}
    ) -> dict[str, str]:
        """What is to be told: everything observed that was not ``given``, the decision too where it was not drawn for us."""
        states = dict(person.states)
        mechanism = next(each.mechanism for each in self.problem.arms if each.name == arm)
        assert isinstance(mechanism, Table)
        node = self.problem.decision
        states[node] = decision if decision is not None else self._state(mechanism, states, person.chances[node])
        for after in self._order:
            if after in self._after and after != node:
                states[after] = self._state(self.network.tables[after], states, person.chances[after])
        left_out = {*self.problem.attributes, *given, *([node] if decision is not None else [])}
        return {name: states[name] for name in self.problem.observed if name not in left_out}

    def told_after(self, person: Person) -> float | None:
        """Days after the assignment; None where never."""
        if person.chances["told"] < self.lost:
            return None
        if person.chances["told"] < self.lost + self.late:
            return self.window * (1.05 + person.chances["when"])
        return self.window * 0.98 * person.chances["when"]

    def _state(self, table: Table, states: Mapping[str, str], chance: float) -> str:
        at = tuple(self.network.variables[parent].states.index(states[parent]) for parent in table.parents)  # type: ignore[union-attr]
        law = np.cumsum(table.probabilities[at])
        named = self.network.variables[table.node].states
        assert named is not None
        return named[min(int(np.searchsorted(law, chance, side="right")), len(named) - 1)]
