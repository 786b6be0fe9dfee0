"""Rows by their label and, where that makes another law of them, by which attributes were set: what a proof counts rows by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairarm.beliefs.evidence import Evidence, Summary
from fairarm.core.types import BoolArray, IntArray
from fairarm.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class RowKinds:
    """Kinds of rows, by the regimes that make them. Natural rows are in the last one: the *places* of a proof are the labels of each
    kind in order, T in all, so that the last of P(place), which is 1 less the others, is that of a natural label."""

    problem: Problem
    regimes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, problem: Problem) -> RowKinds:
        """One kind, unless attributes are set whose causes are columns: the people of a label then have other causes."""
        if problem.plain or set_is_recruited(problem):
            return cls(problem, (tuple(range(len(problem.regimes))),))
        natural, *were_set = (kind.regimes for kind in problem.compiled.world_cells.made)
        return cls(problem, (*were_set, natural))

    @property
    def labels(self) -> int:
        """P."""
        return len(self.problem.groups)

    @property
    def places(self) -> int:
        """T: labels of each kind."""
        return self.labels * len(self.regimes)

    @cached_property
    def place_of(self) -> IntArray:
        """Where rows of a regime and label are counted, (R, P)."""
        kind = np.zeros(len(self.problem.regimes), dtype=np.int64)
        for i, regimes in enumerate(self.regimes):
            kind[list(regimes)] = i
        return np.asarray(kind[:, None] * self.labels + np.arange(self.labels))

    @cached_property
    def fits(self) -> BoolArray:
        """(R, T): which places the rows of a regime can have."""
        found = np.zeros((len(self.problem.regimes), self.places), dtype=np.bool_)
        np.put_along_axis(found, self.place_of, self.problem.compiled.regime_fits, axis=1)
        return found

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the places, (T,)."""
        natural = len(self.regimes) - 1
        return tuple(
            group if i == natural else f"{group}, set" for i in range(natural + 1) for group in self.problem.groups
        )

    def by_point(self, evidence: Evidence) -> IntArray:
        """Rows by arm, place and point, (n, K, T, X)."""
        if len(self.regimes) == 1:
            return evidence.rows_by_cell()
        return np.concatenate([evidence.rows_by_cell(regimes) for regimes in self.regimes], axis=2)

    def by_arm(self, evidence: Evidence, summary: Summary) -> IntArray:
        """Rows by arm and place, (n, K, T)."""
        if len(self.regimes) == 1:
            return summary.by_arm
        return np.concatenate([evidence.group_sums(regimes)[0] for regimes in self.regimes], axis=2)

    def natural(self, summary: Summary) -> IntArray:
        """Natural rows by place, (n, T)."""
        return np.pad(summary.natural, ((0, 0), (self.places - self.labels, 0)))


def set_is_recruited(problem: Problem) -> bool:
    """Whether rows of a label have one law however they were made: no attribute is set, or none has a column among its causes."""
    return problem.regime_kind != "set" or causes_are_attributes(problem)


def causes_are_attributes(problem: Problem) -> bool:
    """Whether P(label) does not rest on the law of contexts: attributes have no causes but each other."""
    return all(cause in problem.attributes for block in problem.roles.blocks for cause in block.causes)
