"""The laws of a problem that is not plain, where a proof can have them exactly: what is declared, and what is lacking.

A proof takes numbers for the laws of rows and of worlds (docs/certified.md, worlds). P(label) and P(attribute | causes) are parts of
them, so they have to be declared; so has the law of contexts h where attributes have columns for causes, as P(people) then rests on it.
Without such causes h may be unknown: a world's law is then known up to h, as the rows' own laws are.

Axes: K arms, T places of rows (`RowKinds`), P labels, W worlds, C cells, X points, Z contexts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairarm.beliefs.row_kinds import RowKinds, causes_are_attributes
from fairarm.core.grouping import sum_by_group
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.attributes import Block
from fairarm.problem.context import ContextLaw
from fairarm.problem.problem import Problem
from fairarm.problem.shared_cells import missing_children
from fairarm.problem.world_cells import WorldCells
from fairarm.problem.world_laws import Factors, WorldSums


@dataclass(frozen=True)
class Lack:
    """What a proof needs and does not have, and why not; ``way``: what to do about it, "" where nothing helps."""

    what: str
    why: str = "is not declared"
    way: str = ""


def lacking(problem: Problem, estimated: bool, contexts: bool = False) -> tuple[Lack, ...]:
    """All that is missing for a proof about the worlds of a problem that is not plain; ``contexts``: their law has to be known in any case."""
    found = [Lack("the laws of the attributes", "are not used (law=estimated)", "use the declared ones")] * estimated
    found += [Lack(f"P({x} | its parents)", way="declare it as a mechanism") for x in missing_children(problem)]
    fitted = [name for name in problem.mechanisms if name in problem.fitted]
    found += [Lack(f"P({name} | its parents)", "was fitted from rows", "declare its table") for name in fitted]
    if not estimated:
        found += [_of_block(block) for block in problem.roles.blocks if problem.own_factor(block) is None]
    context = {*problem.cell_columns} - {problem.decision, *problem.relevant_children}
    if context and not isinstance(problem.context, ContextLaw) and (contexts or not causes_are_attributes(problem)):
        found.append(Lack("the law of contexts", way="declare problem.context"))
    return tuple(found)


def _of_block(block: Block) -> Lack:
    names, several = ", ".join(block.members), len(block.members) > 1
    if not block.causes:
        return Lack(f"P({names})", way="declare joint_shares" if several else "declare the shares")
    what = f"P({names} | {', '.join(block.causes)})"
    return Lack(what, "cannot be declared") if several else Lack(what, way="declare it as a mechanism")


@dataclass(frozen=True, eq=False)
class KnownWorlds:
    """All that a proof has to know of a problem of which nothing is `lacking`."""

    problem: Problem

    @cached_property
    def cells(self) -> WorldCells:
        """Labels, points, cells and contexts."""
        return self.problem.compiled.world_cells

    @cached_property
    def kinds(self) -> RowKinds:
        """What rows are counted by."""
        return RowKinds.of(self.problem)

    @property
    def context(self) -> IntArray | None:
        """The context of each cell, (C,), where h is not known."""
        if self.cells.law is not None:
            return None
        found = np.zeros(self.cells.cells, dtype=np.int64)
        found[self.cells.cell_of] = self.cells.context_of
        return found

    @cached_property
    def _factors(self) -> Factors:
        return Factors(self.cells.arms, self.cells.children, tuple(own.known() for own in self.cells.own))

    @property
    def _h(self) -> FloatArray:
        """h at the contexts, (Z,); 1 where it is not known and left out."""
        return np.ones(self.cells.contexts) if self.cells.law is None else self.cells.law

    @cached_property
    def _by_label(self) -> bool:
        """Own factors depend on the label alone, so that they cancel in the law of its rows."""
        return causes_are_attributes(self.problem)

    @cached_property
    def law(self) -> FloatArray:
        """The law of the rows of each arm and place, (K, T, C): p, or L where h is not known."""
        if not self._by_label:
            kinds = [*self.cells.made[1:], self.cells.made[0]] if len(self.kinds.regimes) > 1 else self.cells.made[:1]
            return self._of_somebody(np.concatenate([self._laws(kind.labels) for kind in kinds], axis=1))
        alone = replace(self._factors, own=tuple(np.ones_like(own) for own in self._factors.own))
        made = self.cells.labels.masses if self.cells.law is None else self.cells.labels.laws
        return made(alone, self._h, self.cells)  # (C17), where π(a)/P(a) is 1

    def _of_somebody(self, laws: FloatArray) -> FloatArray:
        """A place that nobody has takes the law of everybody: no row is there, and averages over places stay laws."""
        everybody = self._laws(self.cells.worlds)[:, -1:]
        return np.where(laws.sum(axis=2, keepdims=True) > 0, laws, everybody)

    @cached_property
    def worlds(self) -> FloatArray:
        """The laws that the rows of fairness are about, (K, W, C), in the same form."""
        sums, cells = self.cells.worlds, self.cells
        if cells.law is not None:
            return self._laws(sums)[:, :-1]
        people = cells.people @ self.label_shares  # none is 0: problems that ask about nobody are refused
        return sums.masses(self._factors, self._h, cells)[:, :-1] / people[:, None]  # (C18)

    def _laws(self, sums: WorldSums) -> FloatArray:
        return sums.laws(self._factors, self._h, self.cells)

    @cached_property
    def label_shares(self) -> FloatArray:
        """P(label), (P,)."""
        found = self._mass_of_labels(self.cells.labels)
        return np.asarray(found / found.sum())

    def _mass_of_labels(self, sums: WorldSums) -> FloatArray:
        """Σ over a label's rows of what its law is made of, (P,): P(label), of people as they are or with attributes set."""
        if self._by_label:
            own = sums.weights(replace(self._factors, children=()))[:, 0]
            return sum_by_group(own, sums.slot_world, sums.worlds)
        return np.asarray((self.cells.exposure(sums, self._factors) @ self._h)[0])

    @cached_property
    def shares(self) -> FloatArray:
        """P(place) of natural rows, (T,): 0 where attributes were set."""
        return np.concatenate([np.zeros(self.kinds.places - self.kinds.labels), self.label_shares])

    @cached_property
    def regimes(self) -> FloatArray:
        """P(place) of the rows of each forced regime, (R − 1, T)."""
        found = np.zeros(self.kinds.fits.shape)
        for kind in self.cells.made:
            mass = self._mass_of_labels(kind.labels)
            for r in kind.regimes:
                fitting = mass * self.problem.compiled.regime_fits[r]
                found[r, self.kinds.place_of[r]] = fitting / max(fitting.sum(), np.finfo(np.float64).tiny)
        return found[1:]

    @property
    def by_point(self) -> FloatArray | None:
        """``law`` at points, (K, T, X); None where h is not known."""
        if self.cells.law is None:
            return None
        at = np.tile(self.cells.cell_of, (len(self.kinds.regimes), 1))
        return np.take_along_axis(self.law, at[None], axis=2)
