"""The estimate of one replicate: a cross-fitted regression, its mean under every arm and group, and the residuals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from fairarm.beliefs.lines import Columns, Lines
from fairarm.beliefs.robust.layout import Contexts, Layout
from fairarm.core.fairness import expected_shares
from fairarm.core.posterior.disagreement import WeightedSums
from fairarm.core.posterior.doubly_robust import (
    PRIOR_SD,
    ContextTerm,
    Spread,
    clip_levels,
    clipped_weights,
    kept_share,
    mixture,
    prior_sd,
    unknown_apart,
    unknown_by_region,
)
from fairarm.core.posterior.regression import FOLDS, Regression, cross_fit
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.problem import Problem

BLOCK = 1 << 21
"""Likelihood values (K × G × points) held at once: 16 MiB."""
VARIANCE_VALUES = 1 << 23
"""Most likelihood values used for a variance."""

REGIONS = 16
"""Into so many regions the range of V is divided, to say where an arm's mass is unseen."""
LARGEST_LOG = 300.0
"""Of a ratio of likelihoods at a row; its square is still a number."""
FEW_ROWS = 8.0
"""Sampling variances are taken (1 + 8/rows) times as large: m̂ is then poor, and its own error is in no formula."""


@dataclass(frozen=True)
class Fit:
    """What one replicate's rows say; K arms, G groups."""

    means: FloatArray
    """μ̂_{k,t}, (K, G)."""
    sampled: FloatArray
    """Rows ψ with Σ ψψᵀ the covariance of the means from sampling, (m, K·G)."""
    unknown: FloatArray
    """The same for what no row has spoken of."""
    lines: Lines
    layout: Layout
    contexts: Contexts
    regression: Regression | None
    lost: FloatArray
    """The share of the arm's mass that the rows do not speak for, (K, G)."""
    by_weight: FloatArray
    """Σ w, Σ w² and max w over rows, with w_k = Σ_t P(t) w_{k,t}: (3, K)."""
    overlap: FloatArray
    shares: FloatArray
    """P(S), declared or estimated, (G,)."""
    weighted: WeightedSums
    """The rows weighted to each arm and group, over their number."""


def fit_lines(lines: Lines, layout: Layout, seed: int, estimated: bool) -> Fit:
    """The estimate from the rows of one replicate; before any row, what is believed without one."""
    rng = np.random.default_rng([seed, 0xD0])
    # a line that stands for many rows has some in every fold, as if they had come one by one
    folds = rng.multinomial(lines.count, np.full(FOLDS, 1.0 / FOLDS))
    contexts = Contexts.of(layout, lines, folds, rng)
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
    real = layout.problem.outcome.values is None
    regression = cross_fit(columns, states, layout.problem.decision, lines.outcome, folds, real=real)
    return Work(lines, layout, contexts, regression, folds, shares, seed).fit(columns)


def _shares(problem: Problem, lines: Lines, estimated: bool) -> FloatArray:
    if problem.shares is not None and not estimated:
        return np.array(problem.shares)
    return expected_shares(lines.natural)


def _states(problem: Problem, name: str) -> int | None:
    return problem.variables[name].size if problem.variables[name].finite else None


def _nothing(lines: Lines, layout: Layout, contexts: Contexts, shares: FloatArray) -> Fit:
    """Before any row."""
    K, G = len(layout.problem.arms), len(layout.problem.groups)
    unknown = unknown_apart(np.ones((K, G)), np.ones(K), 1.0)
    none = np.zeros((0, K * G))
    return Fit(
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
        WeightedSums(np.zeros((2, K, G)), np.zeros((3, K, G, G)), np.zeros((K, G))),
    )


@dataclass(frozen=True)
class _RowSums:
    """Sums over rows of the weights, (K, G), and of w_k = Σ_t P(t) w_{k,t}, (K,).

    ``differ``: of the two groups that differ most.
    """

    residual: FloatArray
    weight: FloatArray
    square: FloatArray
    differ: FloatArray
    by_weight: FloatArray
    weighted: WeightedSums


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
class Work:
    """One estimate from the rows of one replicate."""

    lines: Lines
    layout: Layout
    contexts: Contexts
    regression: Regression
    folds: IntArray
    shares: FloatArray
    seed: int

    @property
    def shape(self) -> tuple[int, int]:
        """(K, G)."""
        return len(self.layout.problem.arms), len(self.layout.problem.groups)

    @cached_property
    def levels(self) -> FloatArray:
        """τ of each group, (G,)."""
        return clip_levels(self.lines.made.sum(axis=0), self.layout.by_group)

    def fit(self, columns: Columns) -> Fit:
        """Both terms of the estimate, its error by sampling, and what no row has spoken of."""
        rows = self._row_sums(columns)
        spread = Spread(math.prod(self.shape), self.seed)
        points = self._point_sums(spread)
        term = ContextTerm(points.integral, points.mass, points.law)
        self._add_contexts(spread, term)
        real = self.layout.problem.outcome.values is None
        scale = prior_sd(self.lines.outcome, self.lines.count, real) / PRIOR_SD
        # where V cannot be summed out the points are the rows themselves, which cannot show what they miss: the weights do, by
        # how much less than 1 they are on average, beyond what chance explains
        if self.contexts.rows is not None and self.layout.nodes is None:
            N = self.lines.rows
            error = np.sqrt(np.maximum(rows.square - rows.weight**2 / N, 0.0)) / N
            lost = np.clip(1.0 - rows.weight / N - error, 0.0, 1.0)
            unknown = unknown_apart(lost, np.minimum(rows.differ / N + lost.max(axis=1), 1.0), scale)
        else:
            by_region = points.lost / term.total[:, :, None]
            lost, unknown = by_region.sum(axis=2), unknown_by_region(by_region, self.layout.own_cells, scale)
        means = term.mean + rows.residual / self.lines.rows  # (P9)
        root = spread.root() * math.sqrt(1.0 + FEW_ROWS / self.lines.rows)
        return Fit(
            means, root, unknown, self.lines, self.layout, self.contexts, self.regression,
            lost, rows.by_weight, points.overlap, self.shares, rows.weighted,
        )  # fmt: skip

    def _row_sums(self, columns: Columns) -> _RowSums:
        lines, (K, G) = self.lines, self.shape
        fitted = self.regression.predict(columns)
        # Y − m̂ of each line's rows, every row by the fit that did not see it
        left = (self.folds * (lines.outcome[:, None] - fitted.T)).sum(axis=1)
        residual, weight, square = np.zeros((K, G)), np.zeros((K, G)), np.zeros((K, G))
        pairs = list(combinations(range(G), 2))
        differ = np.zeros((len(pairs), K))
        by_weight = np.zeros((3, K))
        first, second, largest = np.zeros((2, K, G)), np.zeros((3, K, G, G)), np.zeros((K, G))
        size = max(1, BLOCK // (K * G))
        for start in range(0, len(lines.group), size):
            part = slice(start, start + size)
            full, clipped = self._weights_of_lines(part)
            count = lines.count[part]
            residual += clipped @ left[part]
            weight += clipped @ count
            square += clipped**2 @ count
            # how far apart two groups' laws are under an arm: what is unknown of both is shared as far as they are alike
            for i, (t, u) in enumerate(pairs):
                differ[i] += 0.5 * np.abs(clipped[:, t] - clipped[:, u]) @ count
            mixed = np.einsum("kti,t->ki", full, self.shares)
            by_weight[:2] += np.stack([mixed @ count, mixed**2 @ count])
            by_weight[2] = np.maximum(by_weight[2], mixed.max(axis=1))
            y = lines.outcome[part]
            first += np.stack([full @ count, full @ (count * y)])
            second += np.stack([np.matmul(full * (count * y**p), full.swapaxes(1, 2)) for p in (0, 1, 2)])
            largest = np.maximum(largest, full.max(axis=2))
        N = lines.rows
        weighted = WeightedSums(first / N, second / N**2, largest / N)
        return _RowSums(residual, weight, square, differ.max(axis=0), by_weight, weighted)

    def _weights_of_lines(self, part: slice) -> tuple[FloatArray, FloatArray]:
        """w_{k,t} of lines, (K, G, I), as they are and clipped; 0 for rows of a group that do not speak for t."""
        lines = self.lines
        log_L = lines.arms[:, :, part]
        if not self.layout.by_group and lines.children is not None:
            log_L = log_L + lines.children[:, part]
        # ratios alone count: each row in units of the likeliest arm that was pulled, so that the mixture cannot underflow
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
        # means need every context, a variance does not: where points are too many every stride-th stands for its neighbours
        stride = -(-K * G * Z * self.layout.points // VARIANCE_VALUES)
        share = self.contexts.law.sum(axis=1, keepdims=True) / self.contexts.law[:, ::stride].sum(axis=1, keepdims=True)
        size = max(1, BLOCK // (K * G * self.layout.points))
        for part, columns, length in self.contexts.blocks(size):
            density = self.layout.density(columns, length)
            out.mass[:, :, part] = density.sum(axis=3)
            exposure = self.exposure(out.mass[:, :, part])
            # (P7)
            out.law[:, part] = self.contexts.law[:, part] / np.where(exposure > 0, exposure, 1.0)
            out.integral[:, :, part] = (density * self._predicted(columns, length, part)).sum(axis=3)
            some = slice(-part.start % stride, None, stride)
            shown = {name: values[some] for name, values in columns.items()}
            if density[:, :, some].size:
                self._add_points(spread, out, density[:, :, some], shown, out.law[:, part][:, some] * share)
        return out

    def exposure(self, mass: FloatArray) -> FloatArray:
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
        # the variance as it is on average over rows, not Σ of squared residuals: with few rows those miss the large weights
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
        made = [surface({problem.sensitive: np.full(size, code), **rest}) for code in problem.compiled.group_codes]
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
        exposure = self.exposure(term.mass)
        if self.layout.own_law:
            exposure = exposure * np.maximum(rows.sum(axis=1, keepdims=True), 1) / total
        for g in range(len(rows)):
            spread.add(term.influence(exposure, rows, g) * np.sqrt(rows[g])[:, None] / total)
