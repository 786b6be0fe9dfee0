"""Truths in which a planned experiment is simulated: from a prior or from what a log says, of plain problems and of all others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from fairarm.beliefs.evidence import CellEvidence, RunEvidence
from fairarm.beliefs.worlds import WorldBeliefs
from fairarm.core.types import FloatArray
from fairarm.errors import ProblemError
from fairarm.experiments.truths_from_log import LogTruths
from fairarm.experiments.truths_from_prior import PriorTruths, outcomes_by_cell
from fairarm.problem.context import ContextSample
from fairarm.problem.problem import Problem
from fairarm.problem.world_laws import Factors
from fairarm.worlds.cells import CellWorlds
from fairarm.worlds.labels import LabelWorlds


class Truths(Protocol):
    """Where truths come from."""

    @property
    def earlier(self) -> RunEvidence | None:
        """What every run starts from."""
        ...

    def draw(self, count: int, rng: np.random.Generator) -> CellWorlds | LabelWorlds:
        """Worlds to pull in."""
        ...


def truths_of(problem: Problem, earlier: RunEvidence | None, mean: float, strength: float) -> Truths:
    """From what a log says where there is one, else from the prior."""
    if problem.plain:
        return PriorTruths.of(problem, mean, strength) if earlier is None else LogTruths(problem, earlier)
    return PriorLabelTruths.of(problem, mean, strength) if earlier is None else LogLabelTruths(problem, earlier)


@dataclass(frozen=True, eq=False)
class PriorLabelTruths:
    """Of a problem that is not plain: outcomes by cell from a Beta prior, laws of attributes and contexts that are known."""

    problem: Problem
    factors: Factors
    h: FloatArray
    mean: float
    strength: float
    earlier: None = None

    @classmethod
    def of(cls, problem: Problem, mean: float, strength: float) -> PriorLabelTruths:
        """With what is declared of the problem, or in a context sample."""
        cells = problem.compiled.world_cells
        lacking = () if isinstance(problem.context, ContextSample) else cells.undeclared
        if cells.fitted:
            lacking = ("every table, as some were fitted from rows",)
        if lacking:
            raise ProblemError(
                f"A plan simulates the experiment, and needs {' and '.join(lacking)}. Declare what is missing, or give a log, or a sample of its "
                f"rows as the context."
            )
        factors, h = WorldBeliefs.of(CellEvidence.empty(problem)).expected_laws()
        return cls(problem, factors, h, mean, strength)

    def draw(self, count: int, rng: np.random.Generator) -> LabelWorlds:
        """Worlds to pull in."""
        cells = self.problem.compiled.world_cells
        by_cell = outcomes_by_cell(self.problem, cells.cells, count, self.mean, self.strength, rng)
        return LabelWorlds(self.problem, by_cell[:, cells.cell_of], self.factors, self.h)


@dataclass(frozen=True)
class LogLabelTruths:
    """Of a problem that is not plain: outcomes by cell, and laws that are not declared, from the posterior given a log. Fitted tables are
    taken as they are, as in the runs."""

    problem: Problem
    earlier: RunEvidence

    @cached_property
    def _beliefs(self) -> WorldBeliefs:
        beliefs = WorldBeliefs.of(self.earlier)
        return replace(beliefs, cells=replace(beliefs.cells, fitted=(), fitted_children=()))

    def draw(self, count: int, rng: np.random.Generator) -> LabelWorlds:
        """Worlds to pull in."""
        beliefs, posterior = self._beliefs, self._beliefs.posterior_of_states
        if posterior is None:
            raise ProblemError(
                f"A plan from a log needs an outcome with states; '{self.problem.outcome.node}' has none."
            )
        outcomes = posterior.draw_laws(rng, count)[0]
        factors, h = beliefs.drawn_laws(0, count, rng)
        return LabelWorlds(self.problem, outcomes[:, beliefs.cells.cell_of], factors, h)
