"""One shared unknown: the cells in which every arm, group and regime informs the same θ_c = E[Y | c].

    μ_{k,t} = Σ_i L[k, t](i) h(z(i)) θ(c(i)) / Σ_i L[k, t](i) h(z(i))

A *point* i is what a row can be besides Y, as far as it has a likelihood; c(i) its cell, z(i) the part of it that the
shared law h depends on. Where S → Y is an edge, S belongs to the cell. Where a child's mechanism is not declared, h
differs between the groups and S belongs to z, so that gaps rest on S-labelled rows alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fairarm.core.grouping import sum_by_group
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.context import ContextLaw, ContextSample
from fairarm.problem.fairness import require_small
from fairarm.problem.likelihood import at_label, likelihood
from fairarm.problem.mechanism import Columns, Mechanism, Table
from fairarm.problem.space import CellSpace, check_points

if TYPE_CHECKING:
    from fairarm.problem.problem import Problem


@dataclass(frozen=True)
class SampledContexts:
    """A context sample as rows without an outcome: by arm and group (K, G), by context (Z,)."""

    by_arm: IntArray
    contexts: IntArray


@dataclass(frozen=True)
class FittedFactor:
    """A factor of L that is a table fitted from rows: what it is divided by, drawn and multiplied with."""

    arm: int | None
    """The arm whose factor it is; None for a child's, which all arms share."""
    concentration: FloatArray
    """Of the Dirichlet law of each row of the table, (rows, states)."""
    at: IntArray
    """The entry of the table that each point has, (G, I)."""

    def drawn(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """Drawn tables over their mean, at every point, (D, G, I)."""
        mean = self.concentration / self.concentration.sum(axis=1, keepdims=True)
        gamma = rng.standard_gamma(self.concentration, (draws, *self.concentration.shape))
        table = gamma / np.maximum(gamma.sum(axis=2, keepdims=True), np.finfo(np.float64).tiny)
        return np.asarray((table / mean).reshape(draws, -1)[:, self.at])


@dataclass(frozen=True)
class SharedCells:
    """The points of a finite problem: L (K, G, I), and for each the cell (C of them) and the context (Z of them)."""

    likelihood: FloatArray
    cell: IntArray
    context: IntArray
    cells: int
    contexts: int
    law: FloatArray | None
    """h at the contexts, (Z,), where declared; else it is estimated."""
    cell_of: IntArray
    context_of: IntArray
    """Where a row of group t with observed columns x belongs, (G, X)."""
    columns: Mapping[str, IntArray]
    """The code of each column at the cells, (C,) each; S among them where it belongs to the cell."""
    sample: SampledContexts
    fitted: tuple[FittedFactor, ...] = ()

    @cached_property
    def exposure(self) -> FloatArray:
        """Σ_{i in z} L[k, t](i), (K, G, Z): h(z) times this is the chance that a row of arm k and group t lies in z."""
        return sum_by_group(self.likelihood, self.context, self.contexts)

    def drawn_likelihood(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """L with every fitted table drawn from its posterior, (D, K, G, I)."""
        L = np.repeat(self.likelihood[None], draws, axis=0)
        for factor in self.fitted:
            L[:, slice(None) if factor.arm is None else slice(factor.arm, factor.arm + 1)] *= factor.drawn(rng, draws)[
                :, None
            ]
        return L

    def apart(self) -> SharedCells:
        """The same with every point a cell of its own: what holds where nothing is assumed shared between the groups."""
        points = len(self.cell)
        if points == self.cells:
            return self
        return replace(
            self,
            cell=np.arange(points),
            cells=points,
            cell_of=np.arange(points).reshape(self.cell_of.shape),
            columns={name: codes[self.cell] for name, codes in self.columns.items()},
        )

    def law_of_cells(self, h: FloatArray) -> FloatArray:
        """p_{k,t}(c) of laws h (N, Z), normalised for each arm and group: (N, K, G, C)."""
        weighted = np.asarray(self.likelihood * h[:, None, None, self.context])
        by_cell = sum_by_group(weighted, self.cell, self.cells)
        total = by_cell.sum(axis=3, keepdims=True)
        return np.asarray(np.divide(by_cell, total, out=np.zeros_like(by_cell), where=total > 0))

    def law_by_columns(self, h: FloatArray) -> FloatArray:
        """P(x | arm, group) over the observed columns without S and Y, (N, K, G, X), of laws of contexts h (N, Z)."""
        by_cell = self.apart().law_of_cells(h)
        if by_cell.shape[3] == self.cell_of.shape[1]:
            return by_cell
        by_group = by_cell.reshape(*by_cell.shape[:3], *self.cell_of.shape)  # points of both groups: each has its own
        return np.stack([by_group[:, :, t, t] for t in range(by_cell.shape[2])], axis=2)


def summable(problem: Problem) -> list[tuple[str, ...]]:
    """What may be summed out of a cell, most first: V with the children, V alone; only where nothing observed that is left
    descends from it."""
    children = tuple(x for x in problem.relevant_children if x not in (problem.outcome.node, problem.decision))
    alone = missing_children(problem) or not children
    tries = [(problem.decision,)] if alone else [(*children, problem.decision), (problem.decision,)]
    graph, left = problem.roles.graph, {*problem.cell_columns, *problem.attributes}
    return [summed for summed in tries if not any((left - {*summed}) & graph.descendants(name) for name in summed)]


def free_columns(problem: Problem) -> tuple[str, ...]:
    """The columns that h can depend on: the cell without what may be summed out of it."""
    summed = next(iter(summable(problem)), ())
    return tuple(name for name in problem.cell_columns if name not in summed)


def shared_cells(problem: Problem) -> SharedCells:
    """The points of a problem whose columns other than Y are finite."""
    space = CellSpace.of(problem.cell_columns, problem.variables)
    G, C = len(problem.groups), space.count
    own_law = bool(missing_children(problem))
    own_cells = problem.outcome.node in problem.relevant_children
    check_points(problem, C * (G if own_law or own_cells else 1))
    require_small(problem, C * (G if own_cells else 1))
    codes = space.codes()
    values = likelihood(problem, codes, C, without_outcome=True)
    L = np.exp(values.as_declared)
    declared = problem.context if isinstance(problem.context, ContextLaw) and not own_law else None
    free = CellSpace.of(declared.variables if declared else free_columns(problem), problem.variables)
    law = declared.weights.ravel() if declared else None if own_law or free.columns else np.ones(1)
    context = free.number(codes) if free.columns else np.zeros(C, dtype=np.int64)
    cell = np.arange(C)
    by_group = np.arange(G)[:, None]
    cell_of = cell + C * by_group * own_cells
    context_of = context + free.count * by_group * own_law
    contexts = free.count * (G if own_law else 1)
    if own_law or own_cells:
        apart = np.zeros((*L.shape[:2], G, C))
        for t in range(G):
            apart[:, t, t] = L[:, t]
        L, cell, context = apart.reshape(*L.shape[:2], G * C), cell_of.ravel(), context_of.ravel()
    copies = L.shape[2] // C
    given = [at_label(problem, t, codes, C) for t in range(G)]
    factors = tuple(
        replace(f, at=np.tile(f.at, (1, copies))) for f in fitted_factors(problem, given, values.known_children is None)
    )
    return SharedCells(
        likelihood=L,
        cell=cell,
        context=context,
        cells=C * (G if own_cells else 1),
        contexts=contexts,
        law=law,
        cell_of=cell_of,
        context_of=context_of,
        columns=_columns(problem, codes, C) if own_cells else codes,
        sample=_sampled(problem, space, context_of, contexts),
        fitted=factors,
    )


def _columns(problem: Problem, codes: Mapping[str, IntArray], points: int) -> dict[str, IntArray]:
    """The columns of cells that the groups have each to itself, the sensitive one included."""
    by_group = {name: np.tile(column, len(problem.groups)) for name, column in codes.items()}
    return {problem.sensitive: np.repeat(np.array(problem.compiled.group_codes), points), **by_group}


def fitted_factors(problem: Problem, given: Sequence[Columns], arms_only: bool) -> Iterator[FittedFactor]:
    """The fitted tables among the factors of L, children's only where L has them. Y's own is no factor here.

    ``given``: the points with each label's attributes.
    """
    named: list[tuple[int | None, Mechanism]] = [(k, arm.mechanism) for k, arm in enumerate(problem.arms)]
    if not arms_only:
        children = (x for x in problem.relevant_children if x != problem.outcome.node)
        named += [(None, problem.mechanisms[x]) for x in children]
    for arm, table in named:
        if isinstance(table, Table) and table.concentration is not None:
            space = CellSpace.of((*table.parents, table.node), problem.variables)
            at = np.stack([space.number(columns) for columns in given])
            yield FittedFactor(arm, table.concentration.reshape(-1, space.sizes[-1]), at)


def _sampled(problem: Problem, space: CellSpace, context_of: IntArray, contexts: int) -> SampledContexts:
    by_arm = np.zeros((len(problem.arms), len(problem.groups)), dtype=np.int64)
    by_context = np.zeros(contexts, dtype=np.int64)
    sample = problem.context
    if isinstance(sample, ContextSample):
        group = np.argsort(np.array(problem.compiled.group_codes))[np.asarray(sample.columns[problem.sensitive])]
        np.add.at(by_arm[problem.arm_index(sample.arm)], group, 1)
        np.add.at(by_context, context_of[group, space.number(sample.columns)], 1)
    return SampledContexts(by_arm, by_context)


def undeclared(problem: Problem) -> tuple[int, ...]:
    """Arms of which only the rows of a group itself tell what they do in it, as a mechanism there is not declared."""
    if missing_children(problem):
        return tuple(range(len(problem.arms)))
    learned = {*problem.unknown_arms, *problem.fitted}
    seen = [not {*problem.attributes}.isdisjoint(arm.parents) for arm in problem.arms]
    return tuple(k for k, arm in enumerate(problem.arms) if arm.name in learned and seen[k])


def missing_children(problem: Problem) -> tuple[str, ...]:
    """Children whose mechanism is needed and not declared; Y's own never is."""
    return tuple(x for x in problem.missing_mechanisms if x != problem.outcome.node)
