"""Truths in which a planned experiment is simulated where a log has been made already: drawn from what its rows say."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairarm.beliefs.cells import CellBeliefs
from fairarm.beliefs.evidence import RunEvidence
from fairarm.beliefs.from_log import earlier_evidence
from fairarm.beliefs.lines import distinct
from fairarm.errors import ProblemError
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch, check_batch
from fairarm.worlds.cells import CellWorlds


@dataclass(frozen=True)
class LogTruths:
    """Worlds from the posterior of the cell means given a log; P(S) and the law of contexts as declared, else drawn too."""

    problem: Problem
    earlier: RunEvidence

    @cached_property
    def _beliefs(self) -> CellBeliefs:
        return CellBeliefs.of(self.earlier)

    def draw(self, count: int, rng: np.random.Generator) -> CellWorlds:
        """Worlds to pull in: the outcome's law in each cell and the laws not declared, from the posterior."""
        beliefs, posterior = self._beliefs, self._beliefs.posterior_of_states
        if posterior is None:
            raise ProblemError(
                f"A plan from a log needs an outcome with states; '{self.problem.outcome.node}' has none."
            )
        outcomes = posterior.draw_laws(rng, count)[0]
        h, shares = (drawn[0] for drawn in beliefs.draw_laws(rng, count))
        if beliefs.known_law is not None:
            h = h[:1]
        law = beliefs.cells.law_by_columns(h)
        known = beliefs.known_shares
        return CellWorlds(
            self.problem,
            law[0] if len(law) == 1 else law,
            outcomes[:, beliefs.cells.cell_of],
            shares if known is None else known,
        )


def evidence_for_truths(problem: Problem, simple: Problem, rows: Batch | None) -> RunEvidence | None:
    """Rows of a log as counts; ``simple`` is the problem with an outcome that has states, two if it was real."""
    if rows is not None and simple is not problem:
        check_batch(problem, rows)
        low, high = simple.outcome.values or (0.0, 1.0)
        rows = _all_or_nothing(problem, rows, low, high)
    return earlier_evidence(simple, rows)


def _all_or_nothing(problem: Problem, log: Batch, low: float, high: float) -> Batch:
    """The log with a real outcome as one of two values, so that the sums of cells whose mean lies between them are kept.

    Lines that differ in the outcome alone become two; their sums are rounded one after the other, each taking over what
    the one before left, cell by cell, so that the sum of a cell is off by at most 1 row.
    """
    node = problem.outcome.node
    others = {name: np.asarray(log.columns[name]) for name in (*problem.attributes, *problem.cell_columns)}
    first, at = distinct([log.arm, log.regime, *others.values()])
    rows = np.bincount(at, weights=log.count, minlength=len(first))
    share = (np.asarray(log.columns[node], dtype=np.float64) - low) / (high - low)
    highest = np.clip(np.bincount(at, weights=log.count * share, minlength=len(first)), 0.0, rows)
    reached = np.round(np.cumsum(highest))
    tops = np.clip(np.diff(reached, prepend=0.0), 0.0, rows)
    columns: dict[str, Any] = {name: np.tile(values[first], 2) for name, values in others.items()}
    columns[node] = np.repeat([0, 1], len(first))
    counts = np.concatenate([rows - tops, tops]).astype(np.int64)
    return Batch(np.tile(log.arm[first], 2), np.tile(log.regime[first], 2), columns, counts)
