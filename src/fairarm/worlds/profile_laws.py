"""The law of rows of a network whose sensitive attributes have causes, or of which there are several.

    P_k(a, c, y) = P_k(v | pa(V)) · Π_X P(x | pa(X)) · Π_B P(a_B | z_B) · h(c, y)              X relevant children, B blocks

Each factor is taken from the network once. In a world (`fairarm.problem.worlds`) some factors read attributes otherwise than they are; where an attribute is
set, its own factor is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairarm.core.types import FloatArray
from fairarm.problem.inference import own_law, shared_factor
from fairarm.problem.mechanism import Columns
from fairarm.problem.network import Network
from fairarm.problem.problem import Problem
from fairarm.problem.space import check_points
from fairarm.problem.worlds import Reading


@dataclass(frozen=True)
class ProfileLaws:
    """Exact laws over labels (P) and the cells of the row space (O), of every arm (K)."""

    problem: Problem
    network: Network

    @cached_property
    def _shared(self) -> FloatArray:
        """h(c, y), (O,)."""
        return shared_factor(self.network, self.problem, self.problem.compiled.row_space.columns)

    @cached_property
    def _own(self) -> tuple[FloatArray, ...]:
        """P(a_B | z_B) of each block: causes first, then its attributes."""
        return tuple(own_law(self.network, block) for block in self.problem.roles.blocks)

    def joint(self, reading: Reading | None = None, setting: Collection[str] = ()) -> FloatArray:
        """P_k(label, cell, y), (K, P, O): as it is, in a world, or where the attributes of ``setting`` are set.

        Of the latter, each value of what is set has all of the probability.
        """
        problem, space = self.problem, self.problem.compiled.row_space
        check_points(problem, space.count)
        law = np.empty((len(problem.arms), len(problem.groups), space.count))
        for label, columns in enumerate(self._columns()):
            read = _read_otherwise(problem, columns, reading)
            changed = reading.counterfactual if reading else frozenset[str]()
            common = self._shared * self._own_factors(columns, read, changed, setting)
            for child in problem.relevant_children:
                common *= np.exp(self.network.tables[child].log_prob(read if child in changed else columns))
            seen = read if problem.decision in changed else columns
            for k, arm in enumerate(problem.arms):
                law[k, label] = np.exp(arm.mechanism.log_prob(seen)) * common
        return law

    def means(self, values: FloatArray) -> FloatArray:
        """Every arm's mean of ``values`` (O,) in each of the problem's worlds, (K, W)."""
        return np.stack([self._mean(reading, values) for reading in self.problem.readings], axis=1)

    def _mean(self, reading: Reading, values: FloatArray) -> FloatArray:
        law = self.joint(reading)[:, self._are(reading)].sum(axis=1)
        return np.asarray(law @ values / law.sum(axis=1))

    def _are(self, reading: Reading) -> list[int]:
        """The labels of the people that a world is about."""
        problem, codes = self.problem, self.problem.compiled.profile_codes
        told = [(problem.attributes.index(a), problem.variables[a].code(s)) for a, s in reading.world.people]
        return [label for label, own in enumerate(codes) if all(own[i] == code for i, code in told)]

    def _columns(self) -> Iterator[dict[str, np.ndarray]]:
        """The columns of all cells, with the attributes of each label in turn."""
        codes, count = self.problem.compiled.row_space.codes(), self.problem.compiled.row_space.count
        for own in self.problem.compiled.profile_codes:
            named = zip(self.problem.attributes, own, strict=True)
            yield {**codes, **{name: np.full(count, code) for name, code in named}}

    def _own_factors(
        self, columns: Columns, read: Columns, changed: Collection[str], setting: Collection[str]
    ) -> FloatArray:
        """Π_B P(a_B | z_B), where what is set is summed over: it has no causes."""
        made = np.ones(len(self._shared))
        for block, law in zip(self.problem.roles.blocks, self._own, strict=True):
            left_out = [
                i for i, name in enumerate((*block.causes, *block.members)) if name in {*block.members} & {*setting}
            ]
            causes = read if {*block.members} & {*changed} else columns
            names = [(name, causes) for name in block.causes] + [
                (name, columns) for name in block.members if name not in setting
            ]
            made = made * law.sum(axis=tuple(left_out))[tuple(given[name] for name, given in names)]
        return made


def _read_otherwise(problem: Problem, columns: Columns, reading: Reading | None) -> Columns:
    """The columns as the children of attributes read them in a world."""
    if reading is None:
        return columns
    length = problem.compiled.row_space.count
    return {**columns, **{a: np.full(length, problem.variables[a].code(state)) for a, state in reading.world.read}}
