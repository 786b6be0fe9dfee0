"""Truths in which a planned experiment is simulated where nothing has been seen yet: drawn from a prior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.beliefs.cells import CellBeliefs
from fairarm.beliefs.evidence import CellEvidence
from fairarm.core.types import FloatArray
from fairarm.errors import OptionError, ProblemError
from fairarm.problem.context import ContextSample
from fairarm.problem.problem import Problem
from fairarm.worlds.cells import CellWorlds

LEAST_STRENGTH, MOST_STRENGTH = 1e-6, 1e9
"""Limits of the prior strength; beyond them every cell is all or nothing, or all cells are the same."""


def require_prior(mean: float, strength: float) -> None:
    """An error where these are none of a prior; not a number and infinity are refused too."""
    if not 0 < mean < 1:
        raise OptionError(f"The prior mean is {mean}. It lies between 0 and 1.")
    if not LEAST_STRENGTH <= strength <= MOST_STRENGTH:
        raise OptionError(
            f"The prior strength is {strength}. It is a number from {LEAST_STRENGTH:g} to {MOST_STRENGTH:g}."
        )


@dataclass(frozen=True)
class PriorTruths:
    """Worlds with the outcome of each cell from a Beta prior, and laws of contexts and groups that are known."""

    problem: Problem
    law: FloatArray
    shares: FloatArray
    mean: float
    strength: float
    earlier: None = None

    @classmethod
    def of(cls, problem: Problem, mean: float, strength: float) -> PriorTruths:
        """With what is declared of the problem, or in a context sample."""
        return cls(problem, *known_law(problem), mean, strength)

    def draw(self, count: int, rng: np.random.Generator) -> CellWorlds:
        """Worlds with each cell's outcome drawn from the prior: a Dirichlet law whose mean, on the scale, is the prior's."""
        cells = self.problem.compiled.shared_cells
        by_cell = outcomes_by_cell(self.problem, cells.cells, count, self.mean, self.strength, rng)
        return CellWorlds(self.problem, self.law, by_cell[:, cells.cell_of], self.shares)


def outcomes_by_cell(
    problem: Problem, cells: int, count: int, mean: float, strength: float, rng: np.random.Generator
) -> FloatArray:
    """The outcome's law in each cell, drawn from the prior, (N, C, states of Y)."""
    values = problem.outcome.scaled_values
    low, high = int(np.argmin(values)), int(np.argmax(values))
    base = np.full(len(values), 1.0 / len(values))
    even = float(base @ values)
    # move weight to one end until the mean is the one asked for
    end = np.zeros(len(values))
    end[high if mean > even else low] = 1.0
    share = (mean - even) / (float(end @ values) - even)
    alpha = strength * ((1.0 - share) * base + share * end)
    gamma = np.maximum(rng.standard_gamma(alpha, (count, cells, len(values))), np.finfo(float).tiny)
    return np.asarray(gamma / gamma.sum(axis=2, keepdims=True))


def known_law(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """P(x | arm, group) (K, G, X) and P(S), declared or from a context sample."""
    beliefs = CellBeliefs.of(CellEvidence.empty(problem))
    sampled = isinstance(problem.context, ContextSample)
    lacking = []
    if beliefs.known_shares is None and not sampled:
        lacking.append(f"the shares of the groups of '{problem.attribute}'")
    if beliefs.known_law is None and not sampled:
        lacking.append("the law of what the arms see (context)")
    if lacking:
        raise ProblemError(
            f"A plan simulates the experiment, and {' and '.join(lacking)} are not declared. Declare them, or give a log, or "
            f"a sample of its rows as the context."
        )
    return beliefs.cells.law_by_columns(beliefs.context_weights)[0], beliefs.shares[0]
