"""Beliefs where the decision or another column is real-valued, or where finite cells are too many for the data.

Arms' means are estimated doubly robustly (`fairarm.core.doubly_robust`) with a cross-fitted regression of the outcome
(`fairarm.core.regression`), and believed as jointly normal. Where few rows speak for an arm the belief is as wide as
before any row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairarm.algorithms.beliefs import DesignBasis, Diagnostics
from fairarm.algorithms.evidence import CellEvidence, Evidence, RowEvidence
from fairarm.core.design import Laws
from fairarm.core.doubly_robust import (
    PRIOR_SD,
    ContextTerm,
    Spread,
    clip_levels,
    clipped_weights,
    kept_share,
    legendre_panels,
    mixture,
    unknown_apart,
    unknown_by_region,
)
from fairarm.core.prior import NOISE_FLOOR
from fairarm.core.regression import FOLDS, Regression, cross_fit
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.context import ContextLaw
from fairarm.problem.likelihood import likelihood
from fairarm.problem.model import Problem
from fairarm.problem.space import CellSpace

Method = Literal["cell means", "doubly robust"]
Columns = dict[str, NDArray[Any]]

BLOCK = 1 << 21
"""Likelihood values (K × G × points) held at once: 16 MiB."""
MAX_VALUES, VARIANCE_VALUES = 1 << 26, 1 << 23
"""Most likelihood values computed for one estimate, and used for its variance; of more contexts a part is used."""
MAX_KEPT = 1 << 23
"""Most integrals (K × G × contexts) kept."""
MAX_GRID = 1 << 15
"""Most points summed out of one context."""
DESIGN_POINTS, DESIGN_VALUES = 4000, 1 << 23

PANELS = (8, 16, 32, 64)
DESIGN_PANELS = (8, 4, 2, 1)
GOOD_TOTAL, FAIR_TOTAL = 1e-4, 2e-2
"""How far arms' densities may be from 1 by quadrature: below the first no finer nodes are tried, above the second the
columns are not integrated out at all."""
CHECKED_CONTEXTS = 8

REGIONS = 16
"""Into so many regions the range of V is divided, to say where an arm's mass is unseen."""
PRIOR_ROWS = 4.0
"""Rows of a uniform outcome with which the outcomes' variance is pooled."""
LARGEST_LOG = 300.0
"""Of a ratio of likelihoods at a row; its square is still a number."""
FEW_ROWS = 8.0
"""Sampling variances are taken (1 + 8/rows) times as large: m̂ is then poor, and its own error is in no formula."""


@dataclass(frozen=True)
class Lines:
    """Rows of one replicate: equal ones are one line. Arms are told apart in ``made`` only: no estimate needs more."""

    group: IntArray
    """(I,), position among the groups."""
    columns: Columns
    """The cell's columns and S, (I,) each."""
    outcome: FloatArray
    count: IntArray
    arms: FloatArray
    """log P_k(v | pa(V), S := t), (K, G, I)."""
    children: FloatArray | None
    """log Π P(x | pa(X), S := t), (G, I); None where a mechanism is not declared."""
    made: IntArray
    """n_{j,t}: rows of arm j with S = t, any regime, (K, G)."""
    natural: IntArray
    """Natural rows by group, (G,)."""

    @property
    def rows(self) -> int:
        return int(self.made.sum())


def lines_of(evidence: Evidence, replicate: int = 0) -> Lines:
    """The lines in an order that depends on their content only, not on how they arrived or on the arms' order."""
    if isinstance(evidence, RowEvidence):
        return _from_rows(evidence)
    if isinstance(evidence, CellEvidence):
        return _from_cells(evidence, replicate)
    raise TypeError(f"Rows or counts of cells are needed, not {type(evidence).__name__}.")


def _from_rows(evidence: RowEvidence) -> Lines:
    problem, batch = evidence.problem, evidence.batch
    K, G = len(problem.arms), len(problem.groups)
    codes = np.asarray(batch.columns[problem.sensitive])
    group = np.argsort(np.array(problem.group_codes))[codes]
    made, natural = np.zeros((K, G), dtype=np.int64), np.zeros(G, dtype=np.int64)
    np.add.at(made, (batch.arm, group), batch.count)
    np.add.at(natural, group, np.where(batch.regime == 0, batch.count, 0))
    keys = [
        np.asarray(batch.columns[name]) for name in (problem.sensitive, *problem.cell_columns, problem.outcome.node)
    ]
    used = np.flatnonzero(batch.count)
    first, at = _distinct([key[used] for key in keys])
    first, count = used[first], np.zeros(len(first), dtype=np.int64)
    np.add.at(count, at, batch.count[used])
    raw = np.asarray(batch.columns[problem.outcome.node])[first]
    outcome = problem.outcome.scaled_values[raw] if problem.outcome.values else problem.outcome.scale(raw)
    columns = {name: np.asarray(batch.columns[name])[first] for name in (problem.sensitive, *problem.cell_columns)}
    found = evidence.rows.of(first)
    children = None if isinstance(found.children, str) else found.children
    return Lines(group[first], columns, outcome, count, found.arms, children, made, natural)


def _distinct(keys: list[NDArray[Any]]) -> tuple[IntArray, IntArray]:
    """The first place of each combination of values, in their order, and the number of every entry's combination."""
    order = np.lexsort(keys)
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)[: max(len(order) - 1, 0)]
    at = np.empty(len(order), dtype=np.int64)
    at[order] = np.cumsum(fresh) - 1
    return order[fresh], at


def _from_cells(evidence: CellEvidence, replicate: int) -> Lines:
    problem, counts = evidence.problem, evidence.counts[replicate]
    by_code = np.zeros(counts.shape[2:], dtype=np.int64)  # (states of S, O): the order of the groups plays no part
    by_code[list(problem.group_codes)] = counts.sum(axis=(0, 1))
    code, row = np.nonzero(by_code)
    group = np.argsort(np.array(problem.group_codes))[code]
    codes = problem.row_space.codes(row)
    outcome = problem.row_outcomes[row]
    labelled = problem.outcome.node in problem.relevant_children
    found = evidence.likelihood.of(row if labelled else row // len(problem.outcome.values or ()))
    children = None if isinstance(found.children, str) else found.children
    columns: Columns = {problem.sensitive: code, **{name: codes[name] for name in problem.cell_columns}}
    made, natural = counts.sum(axis=(0, 3)), counts[0].sum(axis=(0, 2))
    return Lines(group, columns, outcome, by_code[code, row], found.arms, children, made, natural)


@dataclass(frozen=True)
class Layout:
    """How the first term is summed: the columns of a context, and the points of the others given a context.

    Nothing observed that is left in the context may come after a column that is summed out (math.md §11). Where even V
    has such a descendant, or its density cannot be integrated, a row is its own context and nothing is summed.
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
        return bool(_missing(self.problem))

    @cached_property
    def own_cells(self) -> bool:
        """S → Y: the outcome's mean depends on S too."""
        return self.problem.outcome.node in self.problem.relevant_children

    @property
    def points(self) -> int:
        return len(self.grid_volume) * len(self.node_volume)

    @classmethod
    def of(cls, problem: Problem, lines: Lines, estimated: bool = False) -> Layout:
        """The sharpest sum that the graph and the densities allow; ``estimated`` ignores a declared law."""
        context = problem.context
        if isinstance(context, ContextLaw) and not estimated and not _missing(problem):
            summed = _others(problem, context.variables)
            made = cls._summing(problem, summed, PANELS[-1], context.weights.ravel(), context.variables)
            if made is not None:
                return made
        for summed in _summable(problem):
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
        known = None if rest or _missing(problem) else np.ones(1)
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
        axes = {name: _nodes(problem, name, panels) for name in summed}
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
        values = np.exp(found.arms if isinstance(found.children, str) else found.log_L)
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
            for t, code in enumerate(self.problem.group_codes):
                given = {**columns, self.problem.sensitive: np.full(length, code)}
                chance = sum(self.problem.mechanisms[x].log_prob(given) for x in left)
                mass[:, t] = np.where(np.isneginf(chance), 1.0, mass[:, t] * np.exp(-np.maximum(chance, -700.0)))
        return float(np.abs(mass - 1.0).max())


def _missing(problem: Problem) -> tuple[str, ...]:
    """Children whose mechanism is needed and not declared; Y's own never is."""
    return tuple(x for x in problem.missing_mechanisms if x != problem.outcome.node)


def _others(problem: Problem, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in problem.cell_columns if name not in names)


def _summable(problem: Problem) -> list[tuple[str, ...]]:
    """What may be summed out, most first: V with the children, V alone; empty where something observed is below V."""
    children = tuple(x for x in problem.relevant_children if x != problem.outcome.node)
    tries = (
        [(problem.decision,)]
        if _missing(problem) or not children
        else [(*children, problem.decision), (problem.decision,)]
    )
    graph = problem.roles.graph
    return [
        summed
        for summed in tries
        if not any(set(_others(problem, summed)) & graph.descendants(name) for name in summed)
    ]


def _nodes(problem: Problem, name: str, panels: int) -> tuple[NDArray[Any], FloatArray]:
    """States with weight 1, or Gauss–Legendre panels over the range."""
    variable = problem.variables[name]
    if variable.finite:
        return np.arange(variable.size), np.ones(variable.size)
    return legendre_panels(variable.low or 0.0, variable.high or 0.0, panels)


def _spaced(length: int, most: int) -> IntArray:
    """At most ``most`` positions, evenly spaced."""
    return (
        np.unique(np.linspace(0, length - 1, min(length, most)).astype(np.int64)) if length else np.zeros(0, np.int64)
    )


@dataclass(frozen=True)
class _Contexts:
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
    def of(cls, layout: Layout, lines: Lines, folds: IntArray, rng: np.random.Generator) -> _Contexts:
        everyone = (folds.sum(axis=0, keepdims=True) + 1.0 / FOLDS) / (lines.rows + 1.0)
        if layout.law is not None:
            columns = layout.known_contexts()
            return cls(columns, len(layout.law), layout.law[None], None, everyone)
        G = len(layout.problem.groups)
        first, at = _distinct([lines.columns[name] for name in layout.free])
        rows = np.zeros((G, len(first)), dtype=np.int64)
        np.add.at(rows, (lines.group, at), lines.count)
        by_fold = np.zeros((len(first), folds.shape[1]))
        np.add.at(by_fold, at, folds)
        kept = _some(len(first), _most_contexts(layout), rng)
        rows, by_fold, first = rows[:, kept], by_fold[kept], first[kept]
        total = rows.sum(axis=1, keepdims=True)
        law = np.where(total > 0, rows / np.maximum(total, 1), rows.sum(axis=0) / max(int(total.sum()), 1))
        law = law if layout.own_law else rows.sum(axis=0)[None] / max(int(total.sum()), 1)
        columns = {name: lines.columns[name][first] for name in layout.free}
        return cls(columns, len(first), law, rows, by_fold / np.maximum(by_fold.sum(axis=1, keepdims=True), 1))

    def blocks(self, size: int) -> Iterator[tuple[slice, Columns, int]]:
        for start in range(0, self.length, size):
            part = slice(start, min(start + size, self.length))
            yield part, {name: values[part] for name, values in self.columns.items()}, part.stop - part.start


def _most_contexts(layout: Layout) -> int:
    values = len(layout.problem.arms) * len(layout.problem.groups)
    return max(1, min(MAX_VALUES // (values * layout.points), MAX_KEPT // values))


def _some(length: int, most: int, rng: np.random.Generator) -> IntArray:
    return np.arange(length) if length <= most else np.sort(rng.choice(length, most, replace=False))


@dataclass(frozen=True)
class _Fit:
    """What one replicate's rows say; K arms, G groups."""

    means: FloatArray
    """μ̂_{k,t}, (K, G)."""
    sampled: FloatArray
    """Rows ψ with Σ ψψᵀ the covariance of the means from sampling, (m, K·G)."""
    unknown: FloatArray
    """The same for what no row has spoken of."""
    lines: Lines
    layout: Layout
    contexts: _Contexts
    regression: Regression | None
    lost: FloatArray
    """The share of the arm's mass that the rows do not speak for, (K, G)."""
    by_weight: FloatArray
    """Σ w, Σ w² and max w over rows, with w_k = Σ_t P(t) w_{k,t}: (3, K)."""
    overlap: FloatArray
    shares: FloatArray
    """P(S), declared or estimated, (G,)."""


def _fit(lines: Lines, layout: Layout, seed: int, estimated: bool) -> _Fit:
    rng = np.random.default_rng([seed, 0xD0])
    folds = rng.multinomial(lines.count, np.full(FOLDS, 1.0 / FOLDS))
    contexts = _Contexts.of(layout, lines, folds, rng)
    shares = _shares(layout.problem, lines, estimated)
    if not lines.rows:
        return _nothing(lines, layout, contexts, shares)
    features = (
        layout.problem.cell_columns
        if not layout.own_cells
        else (layout.problem.sensitive, *layout.problem.cell_columns)
    )
    states = {name: _states(layout.problem, name) for name in features}
    columns = {name: lines.columns[name] for name in features}
    regression = cross_fit(columns, states, layout.problem.decision, lines.outcome, folds)
    return _Work(lines, layout, contexts, regression, folds, shares, seed).fit(columns)


def _shares(problem: Problem, lines: Lines, estimated: bool) -> FloatArray:
    if problem.shares is not None and not estimated:
        return np.array(problem.shares)
    return np.asarray((lines.natural + 0.5) / (lines.natural.sum() + 1.0))


def _states(problem: Problem, name: str) -> int | None:
    return problem.variables[name].size if problem.variables[name].finite else None


def _nothing(lines: Lines, layout: Layout, contexts: _Contexts, shares: FloatArray) -> _Fit:
    """Before any row."""
    K, G = len(layout.problem.arms), len(layout.problem.groups)
    unknown = unknown_apart(np.ones((K, G)), np.ones(K), 1.0)
    none = np.zeros((0, K * G))
    return _Fit(
        np.full((K, G), 0.5),
        none,
        unknown,
        lines,
        layout,
        contexts,
        None,
        np.ones((K, G)),
        np.zeros((3, K)),
        np.zeros(K),
        shares,
    )


@dataclass(frozen=True)
class _RowSums:
    """Sums over rows of the weights, (K, G), and of w_k = Σ_t P(t) w_{k,t}, (K,)."""

    residual: FloatArray
    weight: FloatArray
    square: FloatArray
    differ: FloatArray
    by_weight: FloatArray


@dataclass
class _PointSums:
    """Sums over points: the integrals of each context, (K, G, Z), and what they say of weights."""

    integral: FloatArray
    mass: FloatArray
    law: FloatArray
    lost: FloatArray
    """By region of V, (K, G, regions)."""
    overlap: FloatArray


@dataclass(frozen=True)
class _Work:
    """One estimate from the rows of one replicate."""

    lines: Lines
    layout: Layout
    contexts: _Contexts
    regression: Regression
    folds: IntArray
    shares: FloatArray
    seed: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.layout.problem.arms), len(self.layout.problem.groups)

    @cached_property
    def levels(self) -> FloatArray:
        return clip_levels(self.lines.made.sum(axis=0), self.layout.by_group)

    def fit(self, columns: Columns) -> _Fit:
        rows = self._row_sums(columns)
        spread = Spread(math.prod(self.shape), self.seed)
        points = self._point_sums(spread)
        term = ContextTerm(points.integral, points.mass, points.law)
        self._add_contexts(spread, term)
        scale = self._prior_scale()
        if self.contexts.rows is not None and self.layout.nodes is None:
            N = self.lines.rows
            error = np.sqrt(np.maximum(rows.square - rows.weight**2 / N, 0.0)) / N
            lost = np.clip(1.0 - rows.weight / N - error, 0.0, 1.0)
            unknown = unknown_apart(lost, np.minimum(rows.differ / N + lost.max(axis=1), 1.0), scale)
        else:
            by_region = points.lost / term.total[:, :, None]
            lost, unknown = by_region.sum(axis=2), unknown_by_region(by_region, self.layout.own_cells, scale)
        means = term.mean + rows.residual / self.lines.rows
        root = spread.root() * math.sqrt(1.0 + FEW_ROWS / self.lines.rows)
        return _Fit(
            means, root, unknown, self.lines, self.layout, self.contexts, self.regression,
            lost, rows.by_weight, points.overlap, self.shares,
        )  # fmt: skip

    def _prior_scale(self) -> float:
        """The sd of what is unknown relative to a uniform number's: no more than the outcomes themselves vary."""
        N, y = self.lines.rows, self.lines.outcome
        mean = (self.lines.count @ y) / N
        variance = (self.lines.count @ (y - mean) ** 2 + PRIOR_ROWS * PRIOR_SD**2) / (N + PRIOR_ROWS)
        return min(1.0, math.sqrt(variance) / PRIOR_SD)

    def _row_sums(self, columns: Columns) -> _RowSums:
        lines, (K, G) = self.lines, self.shape
        fitted = self.regression.predict(columns)
        left = (self.folds * (lines.outcome[:, None] - fitted.T)).sum(axis=1)
        residual, weight, square, differ = np.zeros((K, G)), np.zeros((K, G)), np.zeros((K, G)), np.zeros(K)
        by_weight = np.zeros((3, K))
        size = max(1, BLOCK // (K * G))
        for start in range(0, len(lines.group), size):
            part = slice(start, start + size)
            full, clipped = self._weights_of_lines(part)
            count = lines.count[part]
            residual += clipped @ left[part]
            weight += clipped @ count
            square += clipped**2 @ count
            differ += 0.5 * np.abs(clipped[:, 0] - clipped[:, 1]) @ count
            mixed = np.einsum("kti,t->ki", full, self.shares)
            by_weight[:2] += np.stack([mixed @ count, mixed**2 @ count])
            by_weight[2] = np.maximum(by_weight[2], mixed.max(axis=1))
        return _RowSums(residual, weight, square, differ, by_weight)

    def _weights_of_lines(self, part: slice) -> tuple[FloatArray, FloatArray]:
        """w_{k,t} of lines, (K, G, I), as they are and clipped; 0 for rows of a group that do not speak for t."""
        lines = self.lines
        log_L = lines.arms[:, :, part]
        if not self.layout.by_group and lines.children is not None:
            log_L = log_L + lines.children[:, part]
        seen = np.where(lines.made[:, :, None] > 0, log_L, -np.inf)
        peak = seen.max(axis=0) if self.layout.by_group else seen.max(axis=(0, 1))
        density = np.exp(np.minimum(log_L - np.where(np.isfinite(peak), peak, 0.0), LARGEST_LOG))
        mixed = mixture(density, lines.made, self.layout.by_group)
        full, clipped = clipped_weights(density, mixed, self.levels)
        if self.layout.by_group:
            own = lines.group[part] == np.arange(self.shape[1])[:, None]
            full, clipped = np.where(own, full, 0.0), np.where(own, clipped, 0.0)
        return full, clipped

    def _point_sums(self, spread: Spread) -> _PointSums:
        (K, G), Z = self.shape, self.contexts.length
        laws = G if self.layout.own_law else 1
        out = _PointSums(
            np.zeros((K, G, Z)), np.zeros((K, G, Z)), np.zeros((laws, Z)), np.zeros((K, G, REGIONS)), np.zeros(K)
        )
        stride = -(-K * G * Z * self.layout.points // VARIANCE_VALUES)
        share = self.contexts.law.sum(axis=1, keepdims=True) / self.contexts.law[:, ::stride].sum(axis=1, keepdims=True)
        size = max(1, BLOCK // (K * G * self.layout.points))
        for part, columns, length in self.contexts.blocks(size):
            density = self.layout.density(columns, length)
            out.mass[:, :, part] = density.sum(axis=3)
            exposure = self._exposure(out.mass[:, :, part])
            out.law[:, part] = self.contexts.law[:, part] / np.where(exposure > 0, exposure, 1.0)
            out.integral[:, :, part] = (density * self._predicted(columns, length, part)).sum(axis=3)
            some = slice(-part.start % stride, None, stride)
            shown = {name: values[some] for name, values in columns.items()}
            if density[:, :, some].size:
                self._add_points(spread, out, density[:, :, some], shown, out.law[:, part][:, some] * share)
        return out

    def _exposure(self, mass: FloatArray) -> FloatArray:
        """How likely the pulls made were to meet each context, (1 or G, Z); the law of contexts is n_z/N over this.

        1 for a known law; with a law by group, among the rows of each group.
        """
        G = self.shape[1]
        if self.contexts.rows is None:
            return np.ones((1, mass.shape[2]))
        if not self.layout.own_law:
            return mixture(mass, self.lines.made, by_group=False)
        rows = self.lines.made.sum(axis=0)
        among = mixture(mass, self.lines.made, by_group=True) * self.lines.rows / np.maximum(rows, 1)[:, None]
        return np.where((rows > 0)[:, None], among, np.ones((G, 1)))

    def _add_points(
        self, spread: Spread, out: _PointSums, density: FloatArray, columns: Columns, law: FloatArray
    ) -> None:
        """The variance (1/N) Σ_x q(x) min(w, τ)² σ²(x) of the second term, as on average over rows; the mass lost."""
        K, G = self.shape
        mixed = mixture(density, self.lines.made, self.layout.by_group)  # (1 or G, Z, P)
        full, clipped = clipped_weights(density, mixed, self.levels)
        q = mixed * law[:, :, None]
        lost = density * law[:, :, None] * (1.0 - kept_share(full, clipped))
        out.lost += lost.reshape(K, G, -1) @ self._regions(columns, density.shape[2])
        shares = self.shares[:, None, None]
        if self.layout.by_group:
            out.overlap += np.minimum(np.where(q > 0, full, 0.0) * shares, 1.0).reshape(K, -1) @ q.ravel()
        else:
            out.overlap += np.minimum((np.where(q > 0, full, 0.0) * shares).sum(axis=1), 1.0).reshape(K, -1) @ q.ravel()
        noise = self.variance(columns, density.shape[2])
        scale = np.broadcast_to(np.sqrt(q * noise / self.lines.rows), (G, *density.shape[2:]))
        vectors = (clipped * scale).reshape(K * G, -1)
        if not self.layout.by_group:
            spread.add(vectors.T)
            return
        for t in range(G):  # rows of different groups: no covariance
            spread.add(np.where(np.arange(K * G)[:, None] % G == t, vectors, 0.0).T)

    def _predicted(self, columns: Columns, length: int, part: slice) -> FloatArray:
        """m̂ at points, (1 or G, length, points), each context by the fits that did not see its rows."""
        folds = self.contexts.folds if len(self.contexts.folds) == 1 else self.contexts.folds[part]
        shares = np.repeat(folds, len(self.layout.grid_volume), axis=0) if len(folds) > 1 else folds

        def surface(given: Columns) -> FloatArray:
            if self.layout.nodes is None:
                return np.asarray((shares.T * self.regression.predict(given)).sum(axis=0))
            return self.regression.predict_surface(given, self.layout.nodes, shares)

        return self._by_group(surface, columns, length)

    def variance(self, columns: Columns, length: int) -> FloatArray:
        """E[(Y − m̂)²] at points, (1 or G, length, points)."""

        def surface(given: Columns) -> FloatArray:
            if self.layout.nodes is None:
                return self.regression.variance(given)
            return self.regression.variance_surface(given, self.layout.nodes)

        return self._by_group(surface, columns, length)

    def _by_group(self, surface: Callable[[Columns], FloatArray], columns: Columns, length: int) -> FloatArray:
        rest = self.layout.expand(columns, length)
        if not self.layout.own_cells:
            return surface(rest).reshape(1, length, -1)
        problem, size = self.layout.problem, length * len(self.layout.grid_volume)
        made = [surface({problem.sensitive: np.full(size, code), **rest}) for code in problem.group_codes]
        return np.stack(made).reshape(len(made), length, -1)

    def _regions(self, columns: Columns, length: int) -> FloatArray:
        """Which region of V each point lies in, (points, regions), 0 or 1."""
        variable = self.layout.problem.variables[self.layout.problem.decision]
        if self.layout.nodes is None:
            values = np.repeat(columns[variable.name], len(self.layout.grid_volume))
        else:
            values = np.tile(self.layout.nodes, length * len(self.layout.grid_volume))
        low, high = (0.0, float(variable.size)) if variable.finite else (variable.low or 0.0, variable.high or 1.0)
        at = np.clip((values - low) / (high - low) * REGIONS, 0, REGIONS - 1).astype(np.int64)
        return np.eye(REGIONS)[at]

    def _add_contexts(self, spread: Spread, term: ContextTerm) -> None:
        """The variance of the first term, where the law of the contexts is not known."""
        rows = self.contexts.rows
        if rows is None:
            return
        total = int(rows.sum())
        exposure = self._exposure(term.mass)
        if self.layout.own_law:
            exposure = exposure * np.maximum(rows.sum(axis=1, keepdims=True), 1) / total
        for g in range(len(rows)):
            spread.add(term.influence(exposure, rows, g) * np.sqrt(rows[g])[:, None] / total)


@dataclass(frozen=True)
class RobustBeliefs:
    """Doubly robust beliefs of one or more replicates."""

    problem: Problem
    estimated: bool
    fits: tuple[_Fit, ...]
    method: str = "doubly robust"

    @classmethod
    def of(cls, evidence: Evidence, estimated: bool = False, seed: int = 0) -> RobustBeliefs:
        """From all rows so far. P(S) and the context law are the declared ones unless ``estimated``. ``seed`` divides
        the rows into folds."""
        problem = evidence.problem
        replicates = len(evidence.counts) if isinstance(evidence, CellEvidence) else 1
        fits: list[_Fit] = []
        for i in range(replicates):
            lines = lines_of(evidence, i)
            same = fits and problem.finite
            layout = fits[0].layout if same else Layout.of(problem, lines, estimated)
            fits.append(_fit(lines, layout, seed, estimated))
        return cls(problem, estimated, tuple(fits))

    @property
    def means(self) -> FloatArray:
        """μ̂_{k,t}, (N, K, G), before anything is cut to [0, 1]."""
        return np.stack([fit.means for fit in self.fits])

    @property
    def outcomes(self) -> FloatArray:
        """μ̂_k, (N, K)."""
        return np.stack([fit.means @ fit.shares for fit in self.fits])

    @property
    def gaps(self) -> FloatArray:
        """ζ̂_k, (N, K)."""
        return self.means[..., 0] - self.means[..., 1]

    def standard_errors(self) -> tuple[FloatArray, FloatArray]:
        """Of outcomes and gaps, (N, K) each, with what is unknown and what P(S) adds."""
        outcome, gap = [], []
        for fit in self.fits:
            roots = np.concatenate([fit.sampled, fit.unknown]).reshape(-1, *fit.means.shape)
            of_shares = 0.0 if self._known_shares else fit.shares.prod() / (fit.lines.natural.sum() + 2.0)
            between = (fit.means[:, 0] - fit.means[:, 1]) ** 2 * of_shares
            outcome.append(np.sqrt(((roots @ fit.shares) ** 2).sum(axis=0) + between))
            gap.append(np.sqrt(((roots[..., 0] - roots[..., 1]) ** 2).sum(axis=0)))
        return np.stack(outcome), np.stack(gap)

    @property
    def _known_shares(self) -> bool:
        return self.problem.shares is not None and not self.estimated

    def draw(self, rng: np.random.Generator, draws: int) -> tuple[FloatArray, FloatArray]:
        """Normal draws of every arm's mean in every group, cut to [0, 1], with P(S) ~ Beta where it is not declared.

        Sampling errors are drawn wider by √(ν/χ²_ν), ν = rows − 1, as their variance is itself estimated.
        """
        outcomes, gaps = [], []
        for fit in self.fits:
            freedom = max(fit.lines.rows - 1, 2)
            wider = np.sqrt(freedom / rng.chisquare(freedom, (draws, 1)))
            moved = wider * (rng.standard_normal((draws, len(fit.sampled))) @ fit.sampled)
            moved += rng.standard_normal((draws, len(fit.unknown))) @ fit.unknown
            means = np.clip(fit.means + moved.reshape(draws, *fit.means.shape), 0.0, 1.0)
            outcomes.append((means * self._draw_shares(fit, rng, draws)[:, None]).sum(axis=2))
            gaps.append(means[..., 0] - means[..., 1])
        return np.stack(outcomes), np.stack(gaps)

    def _draw_shares(self, fit: _Fit, rng: np.random.Generator, draws: int) -> FloatArray:
        if self._known_shares:
            return np.broadcast_to(fit.shares, (draws, len(fit.shares)))
        first = rng.beta(fit.lines.natural[0] + 0.5, fit.lines.natural[1] + 0.5, draws)
        return np.stack([first, 1.0 - first], axis=1)

    def diagnostics(self) -> Diagnostics:
        """``overlap`` is summed over points; ``unseen`` is the mass lost to clipping: where weights are so large that
        fewer than 10 rows would stand for all of an arm's mass."""
        sums = np.stack([fit.by_weight for fit in self.fits])
        square = np.where(sums[:, 1] > 0, sums[:, 1], 1.0)
        unseen = np.stack([fit.lost @ fit.shares for fit in self.fits])
        overlap = np.stack([fit.overlap for fit in self.fits])
        return Diagnostics(sums[:, 0] ** 2 / square, sums[:, 2], np.clip(overlap, 0.0, 1.0), np.clip(unseen, 0.0, 1.0))

    def design(self) -> DesignBasis:
        """Points as cells: the expected counts of the pulls made, the residual variance, and the units' laws."""
        made = [_design(fit) for fit in self.fits]
        C = max(counts.shape[0] for counts, _, _ in made)
        counts = np.stack([np.pad(n, (0, C - len(n)), constant_values=1.0) for n, _, _ in made])
        noise = np.stack([np.pad(v, (0, C - len(v)), constant_values=PRIOR_SD**2) for _, v, _ in made])
        units = np.stack([np.pad(u, ((0, 0), (0, 0), (0, C - u.shape[2]))) for _, _, u in made])
        return DesignBasis(counts, noise, Laws(units))


def _design(fit: _Fit) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Counts (C,), noise (C,) and units (R, K, C) of one replicate."""
    K, G = fit.means.shape
    if fit.regression is None or not fit.contexts.length:
        return np.ones(1), np.full(1, PRIOR_SD**2), np.ones((1 + G, K, 1))
    layout = fit.layout.coarse()
    contexts = _few(fit.contexts, max(1, DESIGN_POINTS // layout.points))
    work = _Work(fit.lines, layout, contexts, fit.regression, np.zeros((0, FOLDS), np.int64), fit.shares, 0)
    density = layout.density(contexts.columns, contexts.length)
    law = contexts.law / work._exposure(density.sum(axis=3))
    p = (density * law[:, :, None]).reshape(K, G, -1)
    noise = np.broadcast_to(work.variance(contexts.columns, contexts.length), (G, contexts.length, layout.points))
    if layout.own_cells:
        apart = np.zeros((K, G, G, p.shape[2]))
        apart[:, np.arange(G), np.arange(G)] = p
        p, noise = apart.reshape(K, G, -1), noise.reshape(1, -1)
    v = noise.reshape(-1, p.shape[2])[0]
    kept = _heaviest(p, DESIGN_VALUES // ((1 + G) * K))
    p, v = p[:, :, kept], v[kept]
    total = p.sum(axis=2, keepdims=True)
    p = np.divide(p, total, out=np.zeros_like(p), where=total > 0)
    counts = np.tensordot(fit.lines.made, p, axes=2) + 1.0 / p.shape[2]
    units = np.concatenate([np.einsum("ktc,t->kc", p, fit.shares)[None], np.moveaxis(p, 1, 0)])
    return counts, np.maximum(v, NOISE_FLOOR), units


def _few(contexts: _Contexts, most: int) -> _Contexts:
    """At most so many contexts, taken in proportion to their rows, or the likeliest of a known law."""
    if contexts.length <= most:
        return contexts
    if contexts.rows is None:
        kept = np.sort(np.argsort(-contexts.law[0], kind="stable")[:most])
        return _Contexts(
            {n: v[kept] for n, v in contexts.columns.items()}, most, contexts.law[:, kept], None, contexts.folds
        )
    reached = np.cumsum(contexts.rows.sum(axis=0))
    kept = np.unique(np.searchsorted(reached, (np.arange(most) + 0.5) / most * reached[-1]))
    rows = np.minimum(contexts.rows[:, kept], 1)
    columns = {name: values[kept] for name, values in contexts.columns.items()}
    law = contexts.law[:, kept]
    law = law / np.where(law.sum(axis=1, keepdims=True) > 0, law.sum(axis=1, keepdims=True), 1.0)
    return _Contexts(columns, len(kept), law, rows, contexts.folds[kept])


def _heaviest(p: FloatArray, most: int) -> IntArray:
    """The points with the most mass under any arm and group."""
    if p.shape[2] <= most:
        return np.arange(p.shape[2])
    return np.sort(np.argsort(-p.max(axis=(0, 1)), kind="stable")[:most])


SPARSE_CELLS, SPARSE_ROWS = 100, 5.0
"""Cell means are kept up to so many cells, and with so many rows a cell."""


def choose_method(problem: Problem, evidence: Evidence) -> Method:
    """How to estimate: doubly robust where a column of the cell is real-valued, or where there are more than 100 cells
    and most of the arms' mass lies in cells in which fewer than 5 rows are expected.

    The prior of the cell means takes cells as exchangeable. With many cells and few rows in each that is all they say,
    and where outcomes follow the order of the states they are sure and wrong (gaps off by 10 to 30 of their own sds at
    2 000 cells). Depends on the rows by their number only, so that replicates of one run choose alike.
    """
    if any(not problem.variables[name].finite for name in problem.cell_columns):
        return "doubly robust"
    cells = problem.shared_cells
    if cells.cells <= SPARSE_CELLS:
        return "cell means"
    law = np.full(cells.contexts, 1.0 / cells.contexts) if cells.law is None else cells.law
    mass = cells.law_of_cells(law[None])[0].mean(axis=(0, 1))
    rows = int(evidence.pulls().sum(axis=(1, 2)).max(initial=0))
    return "doubly robust" if mass[rows * mass < SPARSE_ROWS].sum() > 0.5 else "cell means"
