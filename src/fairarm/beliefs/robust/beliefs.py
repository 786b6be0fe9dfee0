"""Jointly normal beliefs from the doubly robust estimate, and when to use them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fairarm.beliefs.beliefs import (
    DesignBasis,
    Diagnostics,
    point_values,
    share_contrasts,
    unseen_mass,
    with_unknown_shares,
)
from fairarm.beliefs.draws import Draws
from fairarm.beliefs.evidence import Evidence
from fairarm.beliefs.robust.fit import Fit, Work, fit_lines
from fairarm.beliefs.robust.layout import DESIGN_POINTS, Layout, few_contexts
from fairarm.core.design.events import Laws
from fairarm.core.fairness import draw_shares, gap_of
from fairarm.core.posterior.disagreement import Disagreement, of_rows
from fairarm.core.posterior.doubly_robust import PRIOR_SD, prior_sd
from fairarm.core.posterior.prior import NOISE_FLOOR
from fairarm.core.posterior.regression import FOLDS
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.context import ContextSample
from fairarm.problem.problem import Problem
from fairarm.problem.shared_cells import SharedCells
from fairarm.problem.world_cells import WorldCells

Method = Literal["cell means", "doubly robust"]
DESIGN_VALUES = 1 << 23


@dataclass(frozen=True)
class RobustBeliefs:
    """Doubly robust beliefs of one or more replicates."""

    problem: Problem
    estimated: bool
    fits: tuple[Fit, ...]
    method: str = "doubly robust"
    draws_unseen: bool = False

    @classmethod
    def of(cls, evidence: Evidence, estimated: bool = False, seed: int = 0) -> RobustBeliefs:
        """From all rows so far. P(S) and the context law are the declared ones unless ``estimated``. ``seed`` divides
        the rows into folds."""
        problem = evidence.problem
        fits: list[Fit] = []
        for i in range(evidence.replicates):
            lines = evidence.lines(i)
            same = fits and problem.compiled.finite
            layout = fits[0].layout if same else Layout.of(problem, lines, estimated)
            fits.append(fit_lines(lines, layout, seed, estimated))
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
        """ζ̂_k of two groups, (N, K)."""
        return gap_of(self.means)

    @property
    def _known_shares(self) -> bool:
        return self.problem.shares is not None and not self.estimated

    def draw(self, rng: np.random.Generator, draws: int) -> Draws:
        """Normal draws of every arm's mean in every group, cut to [0, 1], with P(S) ~ Dirichlet where it is not declared.

        Sampling errors are drawn wider by √(ν/χ²_ν), ν = rows − 1, as their variance is itself estimated.
        """
        outcomes, by_group = [], []
        for fit in self.fits:
            freedom = max(fit.lines.rows - 1, 2)
            wider = np.sqrt(freedom / rng.chisquare(freedom, (draws, 1)))
            moved = wider * (rng.standard_normal((draws, len(fit.sampled))) @ fit.sampled)
            moved += rng.standard_normal((draws, len(fit.unknown))) @ fit.unknown
            means = np.clip(fit.means + moved.reshape(draws, *fit.means.shape), *self.problem.outcome.possible)
            outcomes.append((means * self._draw_shares(fit, rng, draws)[:, None]).sum(axis=2))
            by_group.append(means)
        return Draws(np.stack(outcomes), np.stack(by_group))

    def values(self, outcomes: FloatArray, means: FloatArray) -> Draws:
        """The estimates themselves."""
        return point_values(self.problem, self.means, np.stack([fit.shares for fit in self.fits]))

    @property
    def unseen_sd(self) -> float:
        """That of a uniform number, or of a real outcome's own values."""
        real = self.problem.outcome.values is None
        return max(prior_sd(f.lines.outcome, f.lines.count, True) if real else PRIOR_SD for f in self.fits)

    def self_check(self) -> Disagreement:
        """The estimates against plain weighted means."""
        noise = [1.0 if fit.regression is None else fit.regression.pooled_variance for fit in self.fits]
        asked = self.problem.compiled.rows
        made = [
            of_rows(f.weighted, v, f.means, f.shares, f.lost, self.unseen_sd, asked)
            for f, v in zip(self.fits, noise, strict=True)
        ]
        return Disagreement(*(np.concatenate([getattr(d, n) for d in made], axis=1) for n in ("difference", "error")))

    def _draw_shares(self, fit: Fit, rng: np.random.Generator, draws: int) -> FloatArray:
        if self._known_shares:
            return np.broadcast_to(fit.shares, (draws, len(fit.shares)))
        return draw_shares(fit.lines.natural, draws, rng)

    def diagnostics(self) -> Diagnostics:
        """``overlap`` is summed over points; ``unseen`` is the mass lost to clipping: where weights are so large that
        fewer than 10 rows would stand for all of an arm's mass."""
        sums = np.stack([fit.by_weight for fit in self.fits])
        square = np.where(sums[:, 1] > 0, sums[:, 1], 1.0)
        lost, shares, rows = (
            np.stack(parts)
            for parts in zip(*((fit.lost, fit.shares, fit.lines.made.sum(axis=0)) for fit in self.fits), strict=True)
        )
        sampled = int(isinstance(self.problem.context, ContextSample))  # contexts of its own
        unseen = unseen_mass(self.problem, lost, shares, rows + sampled)
        overlap = np.stack([fit.overlap for fit in self.fits])
        return Diagnostics(sums[:, 0] ** 2 / square, sums[:, 2], np.clip(overlap, 0.0, 1.0), np.clip(unseen, 0.0, 1.0))

    def design(self) -> DesignBasis:
        """Points as cells: the expected counts of the pulls made, the residual variance, and the units' laws."""
        made = [_design(fit, len(self.problem.rows)) for fit in self.fits]
        C = max(counts.shape[0] for counts, _, _ in made)
        counts = np.stack([np.pad(n, (0, C - len(n)), constant_values=1.0) for n, _, _ in made])
        noise = np.stack([np.pad(v, (0, C - len(v)), constant_values=PRIOR_SD**2) for _, v, _ in made])
        units = np.stack([np.pad(u, ((0, 0), (0, 0), (0, C - u.shape[2]))) for _, _, u in made])
        laws = Laws(units, self.problem.compiled.rows)
        if self._known_shares:
            return DesignBasis(counts, noise, laws)
        natural = np.stack([fit.lines.natural for fit in self.fits])
        slopes = np.stack(share_contrasts(np.moveaxis(self.means, 2, 0), self.outcomes), axis=2)
        return with_unknown_shares(counts, noise, laws, slopes, natural)


def _design(fit: Fit, rows: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Counts (C,), noise (C,) and units (R, K, C) of one replicate; ``rows`` of fairness."""
    K, G = fit.means.shape
    if fit.regression is None or not fit.contexts.length:
        return np.ones(1), np.full(1, PRIOR_SD**2), np.ones((1 + G, K, 1))
    layout = fit.layout.coarse()
    contexts = few_contexts(fit.contexts, max(1, DESIGN_POINTS // layout.points))
    work = Work(fit.lines, layout, contexts, fit.regression, np.zeros((0, FOLDS), np.int64), fit.shares, 0)
    density = layout.density(contexts.columns, contexts.length)
    law = contexts.law / work.exposure(density.sum(axis=3))
    p = (density * law[:, :, None]).reshape(K, G, -1)
    noise = np.broadcast_to(work.variance(contexts.columns, contexts.length), (G, contexts.length, layout.points))
    if layout.own_cells:
        apart = np.zeros((K, G, G, p.shape[2]))
        apart[:, np.arange(G), np.arange(G)] = p
        p, noise = apart.reshape(K, G, -1), noise.reshape(1, -1)
    v = noise.reshape(-1, p.shape[2])[0]
    kept = _heaviest(p, DESIGN_VALUES // (max(1 + G, rows) * K))
    p, v = p[:, :, kept], v[kept]
    total = p.sum(axis=2, keepdims=True)
    p = np.divide(p, total, out=np.zeros_like(p), where=total > 0)
    # the expected rows of the pulls made, not those that came: points are no cells, and rows fall between them
    counts = np.tensordot(fit.lines.made, p, axes=2) + 1.0 / p.shape[2]
    units = np.concatenate([np.einsum("ktc,t->kc", p, fit.shares)[None], np.moveaxis(p, 1, 0)])
    return counts, np.maximum(v, NOISE_FLOOR * fit.regression.width**2), units


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

    With many cells and few rows in each, a regression says nearly what cell means say, in a tenth of the time
    (docs/decisions/0025). Depends on the rows by their number only, so that replicates of one run choose alike.
    """
    if any(not problem.variables[name].finite for name in problem.cell_columns):
        return "doubly robust"
    cells = problem.compiled.shared_cells if problem.plain else problem.compiled.world_cells
    if cells.cells <= SPARSE_CELLS:
        return "cell means"
    law = np.full(cells.contexts, 1.0 / cells.contexts) if cells.law is None else cells.law
    mass = _labels_law(cells, law, evidence).mean(axis=(0, 1))
    rows = int(evidence.pulls().sum(axis=(1, 2)).max(initial=0))
    return "doubly robust" if mass[rows * mass < SPARSE_ROWS].sum() > 0.5 else "cell means"


def _labels_law(cells: SharedCells | WorldCells, law: FloatArray, evidence: Evidence) -> FloatArray:
    """p_{k,t}(c) of every arm and group, or label, (K, G, C), with this law of contexts."""
    if isinstance(cells, SharedCells):
        return np.asarray(cells.law_of_cells(law[None])[0])
    natural = evidence.rows_by_cell((0,))[0].sum(axis=0).astype(np.float64)
    return cells.labels.laws(cells.expected(natural), law, cells)
