"""The law of rows of a network whose sensitive attributes have causes, or of which there are several.

    P_k(a, c, y) = P_k(v | pa(V)) · Π_X P(x | pa(X)) · Π_B P(a_B | z_B) · h(c, y)              X relevant children, B blocks

Each factor is taken from the network once; where an attribute is set, its own factor is left out. Means of worlds are made of these laws by
`exact_worlds.py`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairarm.core.types import FloatArray
from fairarm.problem.inference import own_law, shared_factor
from fairarm.problem.likelihood import at_label
from fairarm.problem.mechanism import Columns
from fairarm.problem.network import Network
from fairarm.problem.problem import Problem
from fairarm.problem.space import check_points


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

    def joint(self, setting: Collection[str] = ()) -> FloatArray:
        """P_k(label, cell, y), (K, P, O): as it is, or where the attributes of ``setting`` are set, each value of which then has all of
        the probability."""
        problem, space = self.problem, self.problem.compiled.row_space
        check_points(problem, space.count)
        law = np.empty((len(problem.arms), len(problem.groups), space.count))
        for label in range(len(problem.groups)):
            columns = at_label(problem, label, space.codes(), space.count)
            common = self._shared * self._own_factors(columns, setting)
            for child in problem.relevant_children:
                common *= np.exp(self.network.tables[child].log_prob(columns))
            for k, arm in enumerate(problem.arms):
                law[k, label] = np.exp(arm.mechanism.log_prob(columns)) * common
        return law

    def _own_factors(self, columns: Columns, setting: Collection[str]) -> FloatArray:
        """Π_B P(a_B | z_B), where what is set is summed over: it has no causes."""
        made = np.ones(len(self._shared))
        for block, law in zip(self.problem.roles.blocks, self._own, strict=True):
            names = (*block.causes, *block.members)
            left_out = tuple(i for i, name in enumerate(names) if name in block.members and name in setting)
            kept = tuple(columns[name] for i, name in enumerate(names) if i not in left_out)
            made = made * law.sum(axis=left_out)[kept]
        return made
