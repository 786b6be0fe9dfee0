"""Beliefs by cell means where the problem is not plain: attributes with causes, several of them, or nodes that are kept.

θ is learned as ever (`cells.py`): every row of any arm, label and regime informs the cell it lands in. What differs is what is
asked of it: the means of worlds (`problem/world_laws.py`), whose laws rest on P(a | causes) and on the law of contexts h besides the
declared mechanisms. What is not declared of these is learned from natural rows, and drawn with θ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairarm.beliefs.beliefs import DesignBasis, unseen_worlds
from fairarm.beliefs.cells import CONTEXT_ROWS, CellBeliefs
from fairarm.beliefs.draws import Draws, in_blocks
from fairarm.beliefs.evidence import Evidence, Summary
from fairarm.core.design.events import Laws
from fairarm.core.fairness import expected_shares
from fairarm.core.posterior.disagreement import Disagreement, of_laws
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.world_cells import WorldCells
from fairarm.problem.world_laws import Factors, WorldSums
from fairarm.problem.worlds import Reading

BLOCK = 1 << 22
"""Numbers by draw, term and point held at once: 32 MiB."""


@dataclass(frozen=True)
class WorldBeliefs(CellBeliefs):
    """θ by a learned prior and the cells' rows; worlds by what is declared, and by natural rows."""

    cells: WorldCells  # type: ignore[assignment]
    natural_rows: IntArray = None  # type: ignore[assignment]
    """By label and point, a context sample's included, (N, P, X)."""
    made: tuple[FloatArray, ...] = ()
    """Rows by arm and label, of each kind of ``cells.made``, (N, K, P)."""

    @classmethod
    def of(cls, evidence: Evidence, estimated: bool = False) -> WorldBeliefs:
        """From all rows so far; ``estimated``: every law from the rows, even where it is declared."""
        problem = evidence.problem
        cells = problem.compiled.world_cells
        if estimated:
            cells = cells.estimated()
        made = [evidence.rows_by_cell(kind.regimes).sum(axis=3).astype(np.float64) for kind in cells.made]
        made[0] += cells.sampled.sum(axis=2)
        natural = evidence.rows_by_cell((0,)).sum(axis=1) + cells.sampled.sum(axis=0)
        return cls(problem, cells, evidence.summary(cells), estimated, natural_rows=natural, made=tuple(made))

    # ---- what is known of the attributes and the contexts ----

    @property
    def _natural(self) -> IntArray:
        return np.asarray(self.natural_rows.sum(axis=2))

    @property
    def known_shares(self) -> None:
        """P(label) is part of the worlds' laws here."""
        return None

    @cached_property
    def shares(self) -> FloatArray:
        """P(label), declared or from natural rows: (N, P)."""
        if self.problem.shares is not None and not self.estimated:
            return np.broadcast_to(np.array(self.problem.shares), self._natural.shape)
        return expected_shares(self._natural)

    @property
    def known_law(self) -> FloatArray | None:
        """h, (Z,); None where it is estimated."""
        return self.cells.law

    @cached_property
    def expected_factors(self) -> Factors:
        """With a leading axis of N where a law is learned."""
        natural = self.natural_rows[:1] if self.cells.certain else self.natural_rows
        return self.cells.expected(natural.astype(np.float64))

    @cached_property
    def _scaled_rows(self) -> list[FloatArray]:
        """n_{j,a} / P(a) of each kind of rows, with the prior's among the first: (N, K, P) each."""
        K, P = self.made[0].shape[1:]
        rows = [self.made[0] + CONTEXT_ROWS / (K * P), *self.made[1:]]
        if self.cells.apart:
            return rows
        were_set = zip(self.made[1:], self.cells.made[1:], strict=True)
        shares = [self.shares, *(_shares_within(part, kind.same) for part, kind in were_set)]
        return [part / np.maximum(share[:, None], 1e-12) for part, share in zip(rows, shares, strict=True)]

    def _exposure_of(self, factors: Factors, replicate: int | None = None) -> FloatArray:
        """Σ n_{j,a} F_{j,a} over each context, (N, Z), or (D, Z) of one replicate's drawn factors; inf where no arm can reach it."""
        total: FloatArray = np.zeros(())
        for rows, kind in zip(self._scaled_rows, self.cells.made, strict=True):
            reached = self.cells.exposure(kind.labels, factors)
            of = rows if replicate is None else rows[replicate]
            total = total + np.einsum("...ja,...jaz->...z", of, reached)
        return np.where(total > 0, total, np.inf)

    @cached_property
    def _context_rows(self) -> FloatArray:
        sampled = np.zeros(self.cells.contexts)
        np.add.at(sampled, self.cells.context_of.ravel(), self.cells.sampled.sum(axis=0).ravel())
        return np.asarray(self.seen.contexts + sampled + CONTEXT_ROWS / self.cells.contexts)

    @cached_property
    def context_weights(self) -> FloatArray:
        """h or its estimate, (N or 1, Z)."""
        if self.known_law is not None:
            return self.known_law[None]
        return np.asarray(self._context_rows / self._exposure_of(self.expected_factors))

    # ---- laws ----

    def expected_laws(self) -> tuple[Factors, FloatArray]:
        """The factors and h, (N or 1, Z), as they are on average."""
        return self.expected_factors, self.context_weights

    def _laws(self, sums: WorldSums) -> FloatArray:
        return sums.laws(self.expected_factors, self.context_weights, self.cells)

    @cached_property
    def law(self) -> FloatArray:
        """p_{k,a}(c) of each label as it is, (N or 1, K, P, C)."""
        return self._laws(self.cells.labels)

    @cached_property
    def worlds(self) -> FloatArray:
        """p_{k,ω}(c), (N or 1, K, W, C)."""
        return self._laws(self.cells.worlds)[..., :-1, :]

    @cached_property
    def _units(self) -> FloatArray:
        """The law of the cells in each regime and arm, (N or 1, R, K, C)."""
        return np.ascontiguousarray(self._laws(self.cells.units).swapaxes(1, 2))

    @cached_property
    def mixture(self) -> FloatArray:
        """q(c): the law of the cells under all pulls made, (N, C)."""
        total = np.maximum(sum(part.sum(axis=(1, 2)) for part in self.made), 1.0)
        found: FloatArray = np.zeros((len(total), self.cells.cells))
        for rows, kind in zip(self.made, self.cells.made, strict=True):
            law = self._laws(kind.labels)
            found = found + np.einsum("nka,nkac->nc", rows, np.broadcast_to(law, (len(rows), *law.shape[1:])))
        return np.asarray(found / total[:, None])

    # ---- the interface ----

    def draw(self, rng: np.random.Generator, draws: int) -> Draws:
        """θ, then the laws that are not known; all arms and worlds of a draw share them."""
        return self.draw_worlds(self.cells.worlds, rng, draws)

    def means_of(self, readings: Sequence[Reading], theta: FloatArray | None = None) -> FloatArray:
        """Means of other worlds at the expected laws and cell means, of the first replicate, (K, W): what is shown and not asked about.
        ``theta``: other cell means, (C,)."""
        size = max(1, BLOCK // (self.cells.arms.size * len(self.cells.cell_of)))
        parts = [self.cells.with_worlds(self.problem, readings[i : i + size]) for i in range(0, len(readings), size)]
        theta = self.posterior.mean[0] if theta is None else theta
        found = [self._laws(sums)[0, :, :-1] @ theta for sums in parts]
        return np.concatenate([np.zeros((len(self.cells.arms), 0)), *found], axis=1)

    def draw_worlds(self, sums: WorldSums, rng: np.random.Generator, draws: int) -> Draws:
        """Means of these worlds, the last of which is everybody as they are."""
        size = max(1, BLOCK // self.cells.cells)
        return in_blocks(lambda part: self._draw_worlds(sums, rng, part), draws, size)

    def _draw_worlds(self, sums: WorldSums, rng: np.random.Generator, draws: int) -> Draws:
        theta = self.posterior.draw(rng, draws)
        if self.cells.certain and self.known_law is not None:
            law = self._laws(sums)
            means = (theta @ law.reshape(-1, law.shape[-1]).T).reshape(*theta.shape[:2], *law.shape[1:3])
        else:
            means = np.stack([self._drawn_means(n, sums, drawn, rng) for n, drawn in enumerate(theta)])
        return Draws(np.ascontiguousarray(means[..., -1]), np.ascontiguousarray(means[..., :-1]))

    def _drawn_means(self, n: int, sums: WorldSums, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        """μ_k(ω) of one replicate's draws of θ, (D, K, W)."""
        widest = max(len(sums.slot), self.cells.arms[:, :, 0].size) * self.cells.arms.shape[2]
        size = max(1, BLOCK // widest)
        parts = [theta[start : start + size] for start in range(0, len(theta), size)]
        return np.concatenate([sums.means(*self.drawn_laws(n, len(part), rng), part, self.cells) for part in parts])

    def drawn_laws(self, n: int, draws: int, rng: np.random.Generator) -> tuple[Factors, FloatArray]:
        """The factors and h of one replicate, as many times as draws."""
        factors = self.cells.drawn(self.natural_rows[n].astype(np.float64), draws, rng)
        if self.known_law is not None:
            return factors, np.broadcast_to(self.known_law, (draws, self.cells.contexts))
        # rows were met by the laws as drawn, so the exposure that they are held against is drawn with them
        exposure = np.broadcast_to(self._exposure_of(factors, n), (draws, self.cells.contexts))
        return factors, rng.standard_gamma(self._context_rows[n], exposure.shape) / exposure

    def draw_coefficients(self, rng: np.random.Generator, draws: int) -> tuple[FloatArray, FloatArray]:
        """p_{k,ω} and w_k under drawn laws, (D, K, W, C) and (D, K, C), of one replicate; D is 1 where all laws are known."""
        sums, cells = self.cells.worlds, self.cells
        if cells.certain and self.known_law is not None:
            law = self._laws(sums)
        else:
            size = max(1, BLOCK // (len(sums.slot_world) * cells.arms.shape[0] * cells.arms.shape[2]))
            parts = [min(size, draws - start) for start in range(0, draws, size)]
            law = np.concatenate([sums.laws(*self.drawn_laws(0, part, rng), cells) for part in parts])
        return law[..., :-1, :], law[..., -1, :]

    def with_rows(self, counts: IntArray, seen: Summary) -> WorldBeliefs:
        """With rows (R, K, P, X) that count for who they are alone; ``seen`` has them."""
        made = tuple(
            part + counts[list(kind.regimes)].sum(axis=(0, 3))
            for part, kind in zip(self.made, self.cells.made, strict=True)
        )
        return replace(self, seen=seen, natural_rows=self.natural_rows + counts[0].sum(axis=0), made=made)

    def design(self) -> DesignBasis:
        """Cells as they are, with the prior's rows. What is not known of the attributes' laws is left to the draws."""
        counts, noise = self.seen.rows + self.posterior.strength, self.posterior.noise
        return DesignBasis(counts, noise, Laws(self._units, self.problem.compiled.rows, self.worlds))

    def self_check(self) -> Disagreement:
        """The cells' means by the model against the rows, weighted to every arm and row of fairness."""
        seen, posterior = self.seen, self.posterior
        rows = (seen.rows, seen.sums, seen.within)
        model = (posterior.mean, posterior.noise, posterior.strength, self.unseen_sd)
        return of_laws(self._units[:, 0], self._rows, self.mixture, rows, *model)

    def _unseen(self) -> FloatArray:
        missing = self.seen.rows[:, None, None] == 0
        natural = (self._units[:, 0] * missing[:, 0]).sum(axis=2)
        return unseen_worlds(natural, (self.worlds * missing).sum(axis=3), *self._people)

    @cached_property
    def _people(self) -> tuple[FloatArray, FloatArray]:
        """Of the people of each world, their share among all and their rows, (N, W) each."""
        fits = self.cells.people
        rows: FloatArray = sum((part.sum(axis=1) for part in self.made), np.zeros(()))
        return self.shares @ fits.T, rows @ fits.T


def _shares_within(made: FloatArray, same: IntArray) -> FloatArray:
    """The share of each label among the rows with the same states set, (N, P), from rows by arm and label (N, K, P)."""
    rows = made.sum(axis=1) + 0.5
    total = np.zeros_like(rows)
    for each in np.unique(same):
        total[:, same == each] = rows[:, same == each].sum(axis=1, keepdims=True)
    return np.asarray(rows / total)
