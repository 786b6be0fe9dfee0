"""What is summed or integrated out of a row, over which points, and the contexts that are left."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.beliefs.lines import Columns, Lines, distinct
from fairarm.core.posterior.regression import FOLDS
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.context import ContextLaw
from fairarm.problem.likelihood import likelihood
from fairarm.problem.problem import Problem
from fairarm.problem.shared_cells import missing_children, summable
from fairarm.problem.space import CellSpace
from fairarm.problem.summing import summed_values

MAX_VALUES = 1 << 26
"""Most likelihood values (K × G × points) computed for one estimate; of more contexts a part is used."""
MAX_KEPT = 1 << 23
"""Most integrals (K × G × contexts) kept."""
MAX_GRID = 1 << 15
"""Most points summed out of one context."""
DESIGN_POINTS = 4000

PANELS = (8, 16, 32, 64)
DESIGN_PANELS = (8, 4, 2, 1)
GOOD_TOTAL, FAIR_TOTAL = 1e-4, 2e-2
"""How far arms' densities may be from 1 by quadrature: below the first no finer nodes are tried, above the second the
columns are not integrated out at all."""
CHECKED_CONTEXTS = 8


@dataclass(frozen=True)
class Layout:
    """How the first term is summed: the columns of a context, and the points of the others given a context.

    Nothing observed that is left in the context may come after a column that is summed out (docs/pool.md, When no law is
    known). Where even V has such a descendant, or its density cannot be integrated, a row is its own context and nothing
    is summed.
    """

    problem: Problem
    free: tuple[str, ...]
    grid: Columns
    """Columns summed out besides V, one entry for each combination."""
    grid_volume: FloatArray
    nodes: NDArray[Any] | None
    """Values of V, or None where V is left in the context."""
    node_volume: FloatArray
    law: FloatArray | None
    """h of every combination of the free columns, where known."""

    @property
    def by_group(self) -> bool:
        """Only rows of group t speak for group t."""
        return self.own_law or self.own_cells

    @cached_property
    def own_law(self) -> bool:
        """A child's mechanism is not declared: contexts have a law in each group."""
        return bool(missing_children(self.problem))

    @cached_property
    def own_cells(self) -> bool:
        """S → Y: the outcome's mean depends on S too."""
        return self.problem.outcome.node in self.problem.relevant_children

    @property
    def points(self) -> int:
        """P: points of each context."""
        return len(self.grid_volume) * len(self.node_volume)

    @classmethod
    def of(cls, problem: Problem, lines: Lines, estimated: bool = False) -> Layout:
        """The sharpest sum that the graph and the densities allow; ``estimated`` ignores a declared law."""
        context = problem.context
        if isinstance(context, ContextLaw) and not estimated and not missing_children(problem):
            summed = _others(problem, context.variables)
            made = cls._summing(problem, summed, PANELS[-1], context.weights.ravel(), context.variables)
            if made is not None:
                return made
        for summed in summable(problem):
            rest = _others(problem, summed)
            sample = {name: lines.columns[name][_spaced(len(lines.group), CHECKED_CONTEXTS)] for name in rest}
            made = cls._integrating(problem, summed, sample)
            if made is not None:
                return made
        one = np.ones(1)
        return cls(problem, problem.cell_columns, {}, one, None, one, None)

    @classmethod
    def _integrating(cls, problem: Problem, summed: tuple[str, ...], sample: Columns) -> Layout | None:
        """The coarsest nodes that integrate every density to 1, None if none does."""
        rest = _others(problem, summed)
        known = None if rest or missing_children(problem) else np.ones(1)
        best: tuple[float, Layout] | None = None
        for panels in PANELS if any(not problem.variables[name].finite for name in summed) else PANELS[:1]:
            made = cls._summing(problem, summed, panels, known)
            if made is None:
                break
            error = made.quadrature_error(sample)
            if best is None or error < best[0]:
                best = error, made
            if error < GOOD_TOTAL:
                break
        return None if best is None or best[0] > FAIR_TOTAL else best[1]

    @classmethod
    def _summing(
        cls,
        problem: Problem,
        summed: tuple[str, ...],
        panels: int,
        law: FloatArray | None,
        free: tuple[str, ...] | None = None,
    ) -> Layout | None:
        """None where the points of a context, or those of a known law, are too many. ``free``: the law's own order."""
        axes = {name: summed_values(problem.variables[name], panels) for name in summed}
        size = math.prod(len(values) for values, _ in axes.values())
        contexts = 1 if law is None else len(law)
        if size > MAX_GRID or size * contexts * len(problem.arms) * len(problem.groups) > MAX_VALUES:
            return None
        nodes, node_volume = axes.pop(problem.decision, (None, np.ones(1)))
        shape = tuple(len(values) for values, _ in axes.values())
        at = np.unravel_index(np.arange(math.prod(shape)), shape) if shape else ()
        grid = {name: values[i] for (name, (values, _)), i in zip(axes.items(), at, strict=True)}
        volume = np.ones(math.prod(shape))
        for (_, weights), i in zip(axes.values(), at, strict=True):
            volume = volume * weights[i]
        free = _others(problem, summed) if free is None else free
        return cls(problem, free, grid, volume, nodes, node_volume, law)

    def coarse(self) -> Layout:
        """The same with fewer nodes, for planning; itself where no column that is summed is real."""
        summed = _others(self.problem, self.free)
        if all(self.problem.variables[name].finite for name in summed):
            return self
        for panels in DESIGN_PANELS:
            made = Layout._summing(self.problem, summed, panels, self.law, self.free)
            if made is not None and made.points <= DESIGN_POINTS // 20:
                return made
        return self

    def known_contexts(self) -> Columns:
        """Every combination of the free columns, in the order of ``law``."""
        space = CellSpace.of(self.free, self.problem.variables)
        return dict(space.codes())

    def expand(self, contexts: Columns, length: int) -> Columns:
        """Contexts × grid: every column but V's nodes, (length · grid)."""
        size = len(self.grid_volume)
        out = {name: np.repeat(values, size) for name, values in contexts.items()}
        return {**out, **{name: np.tile(values, length) for name, values in self.grid.items()}}

    def density(self, contexts: Columns, length: int) -> FloatArray:
        """L[k, t] × volume at the points of contexts, (K, G, length, points); without what is not declared."""
        columns = self.expand(contexts, length)
        if self.nodes is not None:
            columns = {name: np.repeat(values, len(self.nodes)) for name, values in columns.items()}
            columns[self.problem.decision] = np.tile(self.nodes, length * len(self.grid_volume))
        found = likelihood(self.problem, columns, length * self.points, without_outcome=True)
        values = np.exp(found.as_declared)
        # the likelihood of a point times the volume that it stands for: sums over points are then integrals
        volume = np.multiply.outer(self.grid_volume, self.node_volume).ravel()
        return np.asarray(values.reshape(*values.shape[:2], length, -1) * volume)

    def quadrature_error(self, sample: Columns) -> float:
        """How far the densities are from 1 at the worst, apart from children left in the context."""
        length = len(next(iter(sample.values()))) if sample else 1
        if not length:
            return 0.0
        mass = self.density(sample, length).sum(axis=3)
        if not self.own_law and (left := [x for x in self.problem.relevant_children if x in self.free]):
            columns = {name: sample[name] for name in self.free}
            # such a child's own factor is part of L and no density over what is summed: it is divided out again
            for t, code in enumerate(self.problem.compiled.group_codes):
                given = {**columns, self.problem.sensitive: np.full(length, code)}
                chance = sum(self.problem.mechanisms[x].log_prob(given) for x in left)
                mass[:, t] = np.where(np.isneginf(chance), 1.0, mass[:, t] * np.exp(-np.maximum(chance, -700.0)))
        return float(np.abs(mass - 1.0).max())


def _others(problem: Problem, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in problem.cell_columns if name not in names)


def _spaced(length: int, most: int) -> IntArray:
    """At most ``most`` positions, evenly spaced."""
    return (
        np.unique(np.linspace(0, length - 1, min(length, most)).astype(np.int64)) if length else np.zeros(0, np.int64)
    )


@dataclass(frozen=True)
class Contexts:
    """The contexts over which the first term runs."""

    columns: Columns
    length: int
    law: FloatArray
    """h, (1 or G, Z); of an estimated law before its division by the exposure."""
    rows: IntArray | None
    """Rows of each group in each context, (G, Z); None where the law is known."""
    folds: FloatArray
    """Shares of the folds among the rows of a context, (Z or 1, F)."""

    @classmethod
    def of(cls, layout: Layout, lines: Lines, folds: IntArray, rng: np.random.Generator) -> Contexts:
        """The contexts of a known law, or those that rows were seen in, with the folds that may predict each."""
        everyone = (folds.sum(axis=0, keepdims=True) + 1.0 / FOLDS) / (lines.rows + 1.0)
        if layout.law is not None:
            columns = layout.known_contexts()
            return cls(columns, len(layout.law), layout.law[None], None, everyone)
        G = len(layout.problem.groups)
        first, at = distinct([lines.columns[name] for name in layout.free])
        rows = np.zeros((G, len(first)), dtype=np.int64)
        np.add.at(rows, (lines.group, at), lines.count)
        by_fold = np.zeros((len(first), folds.shape[1]))
        np.add.at(by_fold, at, folds)
        kept = _some(len(first), _most_contexts(layout), rng)
        rows, by_fold, first = rows[:, kept], by_fold[kept], first[kept]
        total = rows.sum(axis=1, keepdims=True)
        # a group without a row borrows the law of all rows: there is nothing better, and it counts as unseen
        law = np.where(total > 0, rows / np.maximum(total, 1), rows.sum(axis=0) / max(int(total.sum()), 1))
        law = law if layout.own_law else rows.sum(axis=0)[None] / max(int(total.sum()), 1)
        columns = {name: lines.columns[name][first] for name in layout.free}
        return cls(columns, len(first), law, rows, by_fold / np.maximum(by_fold.sum(axis=1, keepdims=True), 1))

    def blocks(self, size: int) -> Iterator[tuple[slice, Columns, int]]:
        """Some contexts at a time: where they are, their columns, and how many."""
        for start in range(0, self.length, size):
            part = slice(start, min(start + size, self.length))
            yield part, {name: values[part] for name, values in self.columns.items()}, part.stop - part.start


def _most_contexts(layout: Layout) -> int:
    values = len(layout.problem.arms) * len(layout.problem.groups)
    return max(1, min(MAX_VALUES // (values * layout.points), MAX_KEPT // values))


def _some(length: int, most: int, rng: np.random.Generator) -> IntArray:
    return np.arange(length) if length <= most else np.sort(rng.choice(length, most, replace=False))


def few_contexts(contexts: Contexts, most: int) -> Contexts:
    """At most so many contexts, taken in proportion to their rows, or the likeliest of a known law."""
    if contexts.length <= most:
        return contexts
    if contexts.rows is None:
        kept = np.sort(np.argsort(-contexts.law[0], kind="stable")[:most])
        return Contexts(
            {n: v[kept] for n, v in contexts.columns.items()}, most, contexts.law[:, kept], None, contexts.folds
        )
    reached = np.cumsum(contexts.rows.sum(axis=0))
    kept = np.unique(np.searchsorted(reached, (np.arange(most) + 0.5) / most * reached[-1]))
    rows = np.minimum(contexts.rows[:, kept], 1)
    columns = {name: values[kept] for name, values in contexts.columns.items()}
    law = contexts.law[:, kept]
    law = law / np.where(law.sum(axis=1, keepdims=True) > 0, law.sum(axis=1, keepdims=True), 1.0)
    return Contexts(columns, len(kept), law, rows, contexts.folds[kept])
