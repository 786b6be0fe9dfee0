"""Beliefs where the cells of some rows are not known: "not reported" means a state of the outcome, but nobody said who the person was.

Multiple imputation: each of several copies of the evidence gets its own cells for these rows, drawn by Gibbs sampling from P(cell | arm,
group, outcome), and the draws of all copies are pooled. So intervals include the uncertainty about the cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.beliefs.cells import CellBeliefs
from fairarm.beliefs.draws import Draws
from fairarm.beliefs.evidence import CellEvidence
from fairarm.core.types import FloatArray, IntArray

COPIES, SWEEPS = 16, 60
"""Imputations, and the sweeps of Gibbs sampling that each one takes."""

PRIOR = 0.5
"""Rows of each outcome state in each cell before any was seen, while cells are imputed."""


@dataclass(frozen=True)
class ImputedBeliefs(CellBeliefs):
    """What is said of the rows is that of the first copy of each study; draws are of all copies."""

    copies: CellBeliefs | None = None

    @classmethod
    def imputed(cls, evidence: CellEvidence, unplaced: IntArray, estimated: bool, seed: int) -> ImputedBeliefs:
        """``unplaced`` (n, K, G + 1, O): rows whose cell is not known by arm, group (last: not known either) and state."""
        made = _imputed(evidence, unplaced, estimated, np.random.default_rng([seed, int(unplaced.sum())]))
        copies = CellBeliefs.of(made, estimated)
        first = CellBeliefs.of(CellEvidence(evidence.problem, made.counts[::COPIES]), estimated)
        return cls(first.problem, first.cells, first.seen, estimated, copies=copies)

    def draw(self, rng: np.random.Generator, draws: int) -> Draws:
        """The same number from every copy, in turn."""
        if self.copies is None:
            return super().draw(rng, draws)
        drawn = self.copies.draw(rng, -(-draws // COPIES))
        return Draws(_in_turn(drawn.outcomes)[:, :draws], _in_turn(drawn.means)[:, :draws])


def _in_turn(drawn: FloatArray) -> FloatArray:
    """(n · COPIES, D, …) as (n, D · COPIES, …)."""
    by_copy = drawn.reshape(-1, COPIES, *drawn.shape[1:])
    return np.asarray(by_copy.swapaxes(1, 2).reshape(len(by_copy), -1, *drawn.shape[2:]))


def _imputed(evidence: CellEvidence, unplaced: IntArray, estimated: bool, rng: np.random.Generator) -> CellEvidence:
    """Copies of the evidence in which every row has a cell, those of one study together."""
    base, rows = np.repeat(evidence.counts, COPIES, axis=0), np.repeat(unplaced, COPIES, axis=0)
    made = CellEvidence(evidence.problem, base)
    for _ in range(SWEEPS):
        counts = base.copy()
        counts[:, 0] += _placed(CellBeliefs.of(made, estimated), rows, rng)
        made = CellEvidence(evidence.problem, counts)
    return made


def _placed(beliefs: CellBeliefs, rows: IntArray, rng: np.random.Generator) -> IntArray:
    """Cells drawn for all rows, (N, K, G, X · O), given what the completed rows say."""
    N, K, G, O = rows.shape[0], rows.shape[1], rows.shape[2] - 1, rows.shape[3]  # noqa: E741
    cells = beliefs.cells
    states = rng.standard_gamma((0 if beliefs.seen.states is None else beliefs.seen.states) + PRIOR)
    outcome = (states / states.sum(axis=2, keepdims=True))[:, cells.cell_of]  # P(y | x, group), (N, G, X, O)
    h, shares = beliefs.draw_laws(rng, 1)
    law = cells.law_by_columns(h[:, 0])  # P(x | arm, group), (N, K, G, X)
    placed = np.zeros((N, K, G, law.shape[3], O), dtype=np.int64)
    for y in np.flatnonzero(rows.any(axis=(0, 1, 2))):
        weight = law * outcome[:, None, :, :, y]
        placed[..., y] = rng.multinomial(rows[:, :, :G, y], _normal(weight))
        if rows[:, :, G, y].any():
            joint = _normal((weight * shares[:, 0, None, :, None]).reshape(N, K, -1))
            placed[..., y] += rng.multinomial(rows[:, :, G, y], joint).reshape(weight.shape)
    return np.asarray(placed.reshape(N, K, G, -1))


def _normal(weight: FloatArray) -> FloatArray:
    total = weight.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(weight, total, out=np.full(weight.shape, 1 / weight.shape[-1]), where=total > 0))
