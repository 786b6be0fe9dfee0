"""Beliefs by cell means: one posterior for the θ of every cell, shared by all arms, groups and regimes (docs/pool.md)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np

from fairarm.beliefs.beliefs import (
    DesignBasis,
    Diagnostics,
    Smoothness,
    share_contrasts,
    unseen_mass,
    with_unknown_shares,
)
from fairarm.beliefs.draws import Averaged, Draws, in_blocks
from fairarm.beliefs.evidence import Evidence, Summary
from fairarm.core.design.events import Laws
from fairarm.core.fairness import draw_shares, expected_shares
from fairarm.core.grouping import sum_by_group
from fairarm.core.posterior.directions import (
    LEAST_LEVELS,
    MOST,
    Directions,
    arm_columns,
    law_of_rows,
    main_effects,
    smooth_functions,
)
from fairarm.core.posterior.disagreement import Disagreement, of_cells
from fairarm.core.posterior.doubly_robust import PRIOR_SD
from fairarm.core.posterior.prior import Posterior, Scales
from fairarm.core.posterior.real import LEAST_VARIANCE, CellRows, RealPosterior
from fairarm.core.posterior.states import LOG_SCALES, SCALES, StatesPosterior
from fairarm.core.types import FloatArray, IntArray
from fairarm.errors import DataError
from fairarm.problem.problem import Problem
from fairarm.problem.shared_cells import SharedCells

CONTEXT_ROWS = 1.0
"""Prior rows of the law of contexts, spread evenly over them; also how many rows no arm in particular has made."""

BLOCK = 1 << 22
"""Draws × cells held at once, and drawn likelihoods (draws × K × G × points) where a mechanism was fitted: 32 MiB."""

MOST_BYTES = 4e9
"""Of memory for one replicate's cells."""


@dataclass(frozen=True)
class CellBeliefs:
    """θ by a learned prior and the cells' rows; P(S) and the law of contexts declared, or estimated and uncertain."""

    problem: Problem
    cells: SharedCells
    seen: Summary
    estimated: bool
    """Take P(S) and the law of contexts from the rows, even where they are declared."""
    method: str = "cell means"
    draws_unseen: bool = False
    scales: Scales = field(default_factory=lambda: SCALES)
    """Of an outcome with states: the prior's scales and their odds, those of runs unless a log is evaluated."""

    @classmethod
    def of(cls, evidence: Evidence, estimated: bool = False) -> CellBeliefs:
        """From all rows so far; ``estimated``: P(S) and the law of contexts from the rows, even where declared."""
        cells = evidence.problem.compiled.shared_cells
        return cls(evidence.problem, cells, evidence.summary(cells), estimated)

    def of_log(self) -> Self:
        """With the prior of logs. Two states keep that of runs: the wider one makes intervals of rare events half as wide again."""
        return replace(self, scales=LOG_SCALES) if len(self.problem.outcome.values or ()) > 2 else self

    @cached_property
    def _natural(self) -> IntArray:
        """Natural rows by group, a context sample's included, (N, G)."""
        return np.asarray(self.seen.natural + self.cells.sample.by_arm.sum(axis=0))

    @cached_property
    def posterior(self) -> Posterior:
        """Of every θ."""
        if self.posterior_of_states is not None:
            return self.posterior_of_states
        rows = self._real_rows
        return RealPosterior.of(rows, self._directions(rows.variance))

    @cached_property
    def _real_rows(self) -> CellRows:
        return CellRows.of(self.seen.rows, self.seen.sums, self.seen.within)

    @property
    def unseen_sd(self) -> float:
        """The sd of a mean that no row speaks for: that of a uniform number between the states' values, or of the rows' outcomes."""
        return PRIOR_SD if self.seen.states is not None else float(self._real_rows.spread.max())

    @cached_property
    def posterior_of_states(self) -> StatesPosterior | None:
        """That of the outcome's law in every cell; None where the outcome is real."""
        states = self.seen.states
        if states is None:
            return None
        columns = list(self.cells.columns.values())
        values = self.problem.outcome.scaled_values
        return StatesPosterior.of(states, values, self._directions(), columns, self.scales)

    def _directions(self, noise: FloatArray | None = None) -> Directions:
        """Along what the prior's mean moves: each arm's outcome and rows of fairness, the cell's columns, and the order of those that
        have one. ``noise``: Var(Y | c) where it differs between cells, (N, C)."""
        self._require_memory()
        law, columns = self.law, self.cells.columns
        q = law_of_rows(law, self.seen.by_arm)
        # one column for the outcome, one for each row that fairness asks for
        rows = self._rows
        rows = rows.reshape(len(rows), -1, rows.shape[-1])
        asked = np.concatenate([np.broadcast_to(law.mean(axis=2), (len(rows), *law.shape[1::2])), rows], axis=1)
        smooth = [smooth_functions(levels[columns[name]], q) for name, levels in self._ordered.items()]
        none = np.zeros((len(q), 0, q.shape[1]))
        effects = main_effects(list(columns.values()), self.seen.rows[0])
        return Directions.of(arm_columns(asked, q, noise), effects, np.concatenate([none, *smooth], axis=1), q)

    def _require_memory(self) -> None:
        """Refuse cells whose directions and laws would not fit."""
        problem, cells = self.problem, self.cells.cells
        laws = len(problem.arms) * (len(problem.groups) + len(problem.rows))
        size = 8.0 * (5 * BLOCK + 4 * cells * (3 * MOST + laws))
        if size > MOST_BYTES:
            raise DataError(
                f"Problem '{problem.name}' has {cells} cells, which would take some {size / 1e9:.1f} GB of memory; at most "
                f"{MOST_BYTES / 1e9:g} GB are taken. Merge states, or use fewer columns or rules."
            )

    @property
    def worlds(self) -> FloatArray:
        """The laws of the worlds that rows of fairness are about, (N or 1, K, W, C): the groups', each as they are."""
        return self.law

    @cached_property
    def _rows(self) -> FloatArray:
        """α_kj(c) with α_kj·θ the value of row j, (N or 1, K, J, C)."""
        return self.problem.compiled.rows.coefficients(self.worlds, self._units[:, 0])

    @property
    def _ordered(self) -> dict[str, IntArray]:
        """The place of each state in its order, of the cell's ordered columns that have levels enough."""
        variables = self.problem.variables
        found = {name: variables[name].levels or () for name in self.cells.columns}
        return {name: np.array(levels) for name, levels in found.items() if len(levels) >= LEAST_LEVELS}

    # ---- what is known of S and the contexts ----

    @property
    def known_shares(self) -> FloatArray | None:
        """P(S), (G,); None where it is to be estimated."""
        return None if self.estimated or self.problem.shares is None else np.array(self.problem.shares)

    @property
    def known_law(self) -> FloatArray | None:
        """h, (Z,); always known where the arms and the children's mechanisms alone make up the cell."""
        return None if self.estimated and self.cells.contexts > 1 else self.cells.law

    @cached_property
    def shares(self) -> FloatArray:
        """P(S), or its mean after n_t + ½ natural rows of each group: (N, G)."""
        if self.known_shares is not None:
            return np.broadcast_to(self.known_shares, self._natural.shape)
        return expected_shares(self._natural)

    @cached_property
    def _exposure(self) -> FloatArray:
        """Σ_{j,t} n_{j,t} Σ_{i in z} L[j, t](i), (N, Z): ĥ(z) is the rows in z over this; inf where no arm can reach z."""
        found = np.einsum("njt,jtz->nz", self._made, self.cells.exposure)
        return np.where(found > 0, found, np.inf)

    @cached_property
    def _made(self) -> FloatArray:
        """n_{j,t}, with the prior's rows made evenly by all, (N, K, G)."""
        made = self.seen.by_arm + self.cells.sample.by_arm
        return np.asarray(made + CONTEXT_ROWS / (made.shape[1] * made.shape[2]))

    @cached_property
    def _context_rows(self) -> FloatArray:
        return np.asarray(self.seen.contexts + self.cells.sample.contexts + CONTEXT_ROWS / self.cells.contexts)

    @cached_property
    def law(self) -> FloatArray:
        """p_{k,t}(c), (N or 1, K, G, C)."""
        return self.cells.law_of_cells(self.context_weights)

    @cached_property
    def context_weights(self) -> FloatArray:
        """h or its estimate, (N or 1, Z)."""
        # (P7), with the prior's rows on both sides
        return np.asarray(self._context_rows / self._exposure) if self.known_law is None else self.known_law[None]

    # ---- the interface ----

    def draw(self, rng: np.random.Generator, draws: int) -> Draws:
        """θ, then the laws that are not known: all arms of a draw share both, so that they can be compared. In blocks of draws, so that
        memory does not grow with the cells."""
        size = max(1, BLOCK // self.cells.cells)
        return in_blocks(lambda part: self._draw_block(rng, part), draws, size)

    def _draw_block(self, rng: np.random.Generator, draws: int) -> Draws:
        theta = self.posterior.draw(rng, draws)
        means = self._group_means(theta, rng)
        shares = self._drawn_shares(rng, draws)
        # group by group: sums over a last axis of two numbers are slow
        outcomes = means[..., 0] * shares[:, :, None, 0]
        for t in range(1, means.shape[3]):
            outcomes += means[..., t] * shares[:, :, None, t]
        return Draws(outcomes, means)

    def _group_means(self, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        """μ_{k,t} of each drawn θ, (N, D, K, G), under the known law of contexts or one drawn for each θ."""
        K, G, points = self.cells.likelihood.shape
        if self.cells.fitted:
            return np.stack([self._fitted_means(n, drawn, rng) for n, drawn in enumerate(theta)])
        if self.known_law is not None:
            # (P1), a matrix product over all draws; weights of a known law sum to 1 by themselves
            means = theta @ self.law.reshape(K * G, -1).T
        else:
            weight = self._drawn_contexts(rng, theta.shape[1])[:, :, self.cells.context]
            L = self.cells.likelihood.reshape(K * G, points).T
            # a drawn h need not give every arm and group a mass of 1: means are divided by it; those of all cells where there is none
            total = weight @ L
            sums = (weight * theta[:, :, self.cells.cell]) @ L
            means = np.where(total > 0, sums / np.where(total > 0, total, 1.0), theta.mean(axis=2, keepdims=True))
        return np.asarray(means.reshape(*theta.shape[:2], K, G))

    def _fitted_means(self, replicate: int, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        """The same of one replicate where a mechanism was fitted from rows: it is drawn for each θ, (D, K, G)."""
        size = max(1, BLOCK // self.cells.likelihood.size)
        parts = [theta[start : start + size] for start in range(0, len(theta), size)]
        return np.concatenate([self._fitted_block(replicate, part, rng) for part in parts])

    def _fitted_block(self, replicate: int, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        cells, K, G = self.cells, *self.cells.likelihood.shape[:2]
        L = cells.drawn_likelihood(rng, len(theta))
        if self.known_law is not None:
            h = np.broadcast_to(self.known_law, (len(theta), cells.contexts))
        else:
            of_points = np.einsum("jt,djti->di", self._made[replicate], L)
            # rows were met by the mechanisms as drawn, so the exposure that they are held against is drawn with them
            exposure = sum_by_group(of_points, cells.context, cells.contexts)
            rows = rng.standard_gamma(self._context_rows[replicate], exposure.shape)
            h = np.divide(rows, exposure, out=np.zeros_like(rows), where=exposure > 0)
        weight = h[:, cells.context]
        both = np.stack([weight, weight * theta[:, cells.cell]], axis=2)
        total, sums = np.moveaxis(L.reshape(len(theta), K * G, -1) @ both, 2, 0)
        means = np.where(total > 0, sums / np.where(total > 0, total, 1.0), theta.mean(axis=1, keepdims=True))
        return np.asarray(means.reshape(len(theta), K, G))

    def draw_laws(self, rng: np.random.Generator, draws: int) -> tuple[FloatArray, FloatArray]:
        """The law of contexts h, (N, D, Z), and P(S), (N, D, G): declared, or as `draw` draws them."""
        if self.known_law is None:
            h = self._drawn_contexts(rng, draws)
        else:
            h = np.broadcast_to(self.known_law, (len(self._natural), draws, self.cells.contexts))
        return h, self._drawn_shares(rng, draws)

    def draw_coefficients(self, rng: np.random.Generator, draws: int) -> tuple[FloatArray, FloatArray]:
        """p_{k,ω} of the worlds that rows are about and w_k under drawn laws, (D, K, W, C) and (D, K, C), of one replicate: everything
        asked is linear in θ by them. D is 1 where all laws are known."""
        h, shares = self.draw_laws(rng, draws)
        if self.cells.fitted:
            drawn = self.cells.drawn_likelihood(rng, draws)
            law = np.concatenate(
                [replace(self.cells, likelihood=L).law_of_cells(of[None]) for L, of in zip(drawn, h[0], strict=True)]
            )
        else:
            law = self.law if self.known_law is not None else self.cells.law_of_cells(h[0])
        mix = shares[0][:1] if self.known_shares is not None else shares[0]
        size = max(len(law), len(mix))
        law = np.broadcast_to(law, (size, *law.shape[1:]))
        return law, np.einsum("dktc,dt->dkc", law, np.broadcast_to(mix, (size, mix.shape[1])))

    def _drawn_contexts(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """h by the Bayesian bootstrap of the contexts' rows, (N, D, Z)."""
        rows = self._context_rows[:, None]
        size = (len(rows), draws, self.cells.contexts)
        return np.asarray(rng.standard_gamma(rows, size) / self._exposure[:, None])

    def _drawn_shares(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """P(S) ~ Dirichlet(n_t + ½) over natural rows, (N, D, G)."""
        if self.known_shares is not None:
            return np.broadcast_to(self.known_shares, (len(self._natural), draws, len(self.known_shares)))
        return draw_shares(self._natural, draws, rng)

    @property
    def everybody(self) -> FloatArray:
        """w_k(c), (N or 1, K, C)."""
        return self._units[:, 0]

    @cached_property
    def _units(self) -> FloatArray:
        """The law of the cells in each regime and arm, (N or 1, R, K, C)."""
        law, shares = self.law, self.shares[:1] if self.known_shares is not None else self.shares
        natural = np.einsum("nktc,nt->nkc", np.broadcast_to(law, (max(len(law), len(shares)), *law.shape[1:])), shares)
        forced = np.broadcast_to(law.transpose(2, 0, 1, 3), (law.shape[2], *natural.shape))
        return np.stack([natural, *forced], axis=1)

    def design(self) -> DesignBasis:
        """Cells as they are, with the prior's rows; P(S) unknown too where it is estimated."""
        counts, noise = self.seen.rows + self.posterior.strength, self.posterior.noise
        laws = Laws(self._units, self.problem.compiled.rows)
        if self.known_shares is not None:
            return DesignBasis(counts, noise, laws)
        units = np.broadcast_to(self._units, (len(counts), *self._units.shape[1:]))
        parts = share_contrasts(np.moveaxis(units[:, 1:], 1, 0), units[:, 0])
        slopes = np.stack([np.einsum("nkc,nc->nk", part, self.posterior.mean) for part in parts], axis=2)
        return with_unknown_shares(counts, noise, laws, slopes, self._natural)

    def values(self, outcomes: FloatArray, means: FloatArray) -> Draws:
        """The posterior means, as the draws have them."""
        return Averaged.of_draws(Draws(outcomes, means))

    @cached_property
    def mixture(self) -> FloatArray:
        """q(c): the law of the cells under all pulls made, (N, C)."""
        made, law = self.seen.by_arm, self.law
        shares = made / np.maximum(made.sum(axis=(1, 2), keepdims=True), 1)
        return np.asarray(np.einsum("njt,njtc->nc", shares, np.broadcast_to(law, (len(made), *law.shape[1:]))))

    def self_check(self) -> Disagreement:
        """The cells' means by the model against the rows, weighted to every arm."""
        seen, posterior = self.seen, self.posterior
        shares = self.shares if self.known_shares is None else self.shares[:1]
        rows = (seen.rows, seen.sums, seen.within)
        model = (posterior.mean, posterior.noise, posterior.strength, self.unseen_sd)
        return of_cells(self.law, self.mixture, shares, rows, *model, asked=self.problem.compiled.rows)

    def diagnostics(self) -> Diagnostics:
        """From the balance heuristic's weights w_k(c) / q(c), q the law of the cells under all pulls made."""
        # weights are only for people to look at: nothing is estimated with them here
        natural, mixture = self._units[:, 0], self.mixture
        shape = (len(mixture), *natural.shape[1:])
        weight = np.divide(natural, mixture[:, None], out=np.zeros(shape), where=mixture[:, None] > 0)
        rows = self.seen.rows[:, None]
        square = (rows * weight**2).sum(axis=2)
        effective = np.divide((rows * weight).sum(axis=2) ** 2, square, out=np.zeros(square.shape), where=square > 0)
        return Diagnostics(
            effective=effective,
            largest_weight=np.max(np.where(rows > 0, weight, 0.0), axis=2),
            overlap=np.minimum(natural, mixture[:, None]).sum(axis=2),
            unseen=self._unseen(),
            smooth=self._smooth(),
            skewness=self._skewness(),
        )

    def _skewness(self) -> FloatArray | None:
        """Of the residuals, weighted to every arm and group."""
        if self.seen.third is None:
            return None
        mixture = self.mixture[:, None, None]
        weight = np.divide(self.law, mixture, out=np.zeros_like(self.law), where=mixture > 0)
        second, third = (
            np.einsum("nktc,nc->nkt", weight**p, part) for p, part in ((2, self.seen.within), (3, self.seen.third))
        )
        varied = second > LEAST_VARIANCE
        found = np.divide(np.abs(third), second**1.5, out=np.full(second.shape, np.inf), where=varied)
        return np.asarray(found.max(axis=2))

    def _smooth(self) -> Smoothness | None:
        weight = self.posterior.smooth
        return None if weight is None else Smoothness(tuple(self._ordered), weight)

    def _unseen(self) -> FloatArray:
        by_group = (self.law * (self.seen.rows[:, None, None] == 0)).sum(axis=3)
        rows = (self.seen.by_arm + self.cells.sample.by_arm).sum(axis=1)
        return unseen_mass(
            self.problem, by_group, np.broadcast_to(self.shares, (len(by_group), self.shares.shape[1])), rows
        )
