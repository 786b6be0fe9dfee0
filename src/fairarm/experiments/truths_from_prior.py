"""Truths in which a planned experiment is simulated where nothing has been seen yet: drawn from a prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fairarm.beliefs.cells import CellBeliefs
from fairarm.beliefs.evidence import CellEvidence, RunEvidence
from fairarm.core.types import FloatArray
from fairarm.errors import OptionError, ProblemError
from fairarm.experiments.truths_from_log import law_by_columns
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


class Truths(Protocol):
    """Where truths come from."""

    @property
    def earlier(self) -> RunEvidence | None:
        """What every run starts from."""
        ...

    def draw(self, count: int, rng: np.random.Generator) -> CellWorlds:
        """Worlds to pull in."""
        ...


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
        compiled, values = self.problem.compiled, self.problem.outcome.scaled_values
        cells = compiled.shared_cells if self.problem.plain else compiled.world_cells
        low, high = int(np.argmin(values)), int(np.argmax(values))
        base = np.full(len(values), 1.0 / len(values))
        even = float(base @ values)
        # move weight to one end until the mean is the one asked for
        end = np.zeros(len(values))
        end[high if self.mean > even else low] = 1.0
        share = (self.mean - even) / (float(end @ values) - even)
        alpha = self.strength * ((1.0 - share) * base + share * end)
        gamma = np.maximum(rng.standard_gamma(alpha, (count, cells.cells, len(values))), np.finfo(float).tiny)
        by_cell = gamma / gamma.sum(axis=2, keepdims=True)
        return CellWorlds(self.problem, self.law, by_cell[:, cells.cell_of], self.shares)


def known_law(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """P(x | arm, group) (K, G, X) and P(S), declared or from a context sample."""
    if not problem.plain:
        return _known_worlds(problem)
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
    return law_by_columns(beliefs.cells, beliefs.context_weights)[0], beliefs.shares[0]


def _known_worlds(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """The same by label, where all laws are declared."""
    cells = problem.compiled.world_cells
    if cells.undeclared or cells.fitted:
        lacking = cells.undeclared or ("every table, as some were fitted from rows",)
        raise ProblemError(
            f"A plan simulates the experiment, and needs {' and '.join(lacking)}. Declare what is missing."
        )
    if len(cells.made) > 1:
        raise ProblemError(
            "A plan simulates natural and recruited pulls; here attributes are set, and some have causes. Use regime_kind = 'recruited'."
        )
    return cells.known_points(), cells.known_labels()[0]
