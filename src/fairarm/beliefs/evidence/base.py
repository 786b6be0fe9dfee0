"""What the pulls so far say, in the form the estimators take: counts of cells, or rows, weighted the same way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from fairarm.beliefs.lines import Lines
from fairarm.core.paper.estimators import Terms, gap_weights, outcome_weights
from fairarm.core.proof.log_intervals import GroupCells
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.errors import DataError
from fairarm.problem.likelihood import Likelihood
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch
from fairarm.problem.shared_cells import SharedCells
from fairarm.problem.world_laws import Places

BLOCK = 1 << 22
"""Weights (K × observations) held at once: 32 MiB."""


@dataclass(frozen=True)
class Observations:
    """Rows, or cells with a multiplicity: the arm pulled, the position of S among the groups, the place in the
    likelihood, each (I,), and the sum of scaled outcomes, (n, I)."""

    arm: IntArray
    group: IntArray
    at: IntArray
    outcome_sum: FloatArray

    def blocks(self, arms: int) -> Iterator[Observations]:
        """Parts whose weights fit in memory."""
        size = max(1, BLOCK // arms)
        for start in range(0, len(self.arm), size):
            part = slice(start, start + size)
            yield Observations(self.arm[part], self.group[part], self.at[part], self.outcome_sum[:, part])


@dataclass(frozen=True)
class Summary:
    """Everything the pooled estimates need of the rows, pooled over arms and regimes; N replicates."""

    rows: IntArray
    """n_c, (N, C)."""
    sums: FloatArray
    """Σ Y' in the cell, (N, C)."""
    within: FloatArray
    """Σ (Y' − Ȳ'_c)² in the cell, (N, C)."""
    states: IntArray | None
    """Rows by cell and outcome state, (N, C, O); None for a real outcome."""
    by_arm: IntArray
    """n_{j,t}: rows of arm j with S = t in any regime, (N, K, G)."""
    contexts: IntArray
    """Rows in each context, (N, Z)."""
    natural: IntArray
    """Natural rows by group, (N, G)."""
    third: FloatArray | None = None
    """Σ (Y' − Ȳ'_c)³ in the cell, (N, C), of a log with a real outcome."""


class Evidence(ABC):
    """What was pulled and what came back, of one or more replicates (n)."""

    problem: Problem
    summed: ClassVar[bool] = False
    """Only sums of the outcome by cell are kept: there are no rows to regress on."""

    @property
    def replicates(self) -> int:
        """n."""
        return 1

    @property
    @abstractmethod
    def likelihood(self) -> Likelihood:
        """What ``Observations.at`` points into."""

    @abstractmethod
    def observations(self, regimes: tuple[int, ...]) -> Observations:
        """What the pulls in these regimes returned."""

    @abstractmethod
    def pulls(self) -> IntArray:
        """(n, R, K)."""

    @property
    def every_regime(self) -> tuple[int, ...]:
        """Natural, and forced to each of the groups: what ``regimes`` is where all pulls count."""
        return tuple(range(len(self.problem.regimes)))

    @abstractmethod
    def group_sums(self, regimes: tuple[int, ...]) -> tuple[IntArray, FloatArray]:
        """Rows and sums of scaled outcomes of the pulls in these regimes by arm and group, each (n, K, G).

        ``(0,)`` are natural pulls alone, where the groups come as they are; `every_regime` counts forced ones too.
        """

    @abstractmethod
    def of_replicates(self, which: BoolArray) -> Evidence:
        """Only these replicates."""

    @abstractmethod
    def summary(self, cells: SharedCells | Places) -> Summary:
        """Counts by cell and context; every column but the outcome must be finite."""

    @abstractmethod
    def rows_by_cell(self, regimes: tuple[int, ...] | None = None) -> IntArray:
        """Rows by arm, group and cell, in these regimes or in any, (n, K, G, X); every column but the outcome must be finite."""

    @abstractmethod
    def lines(self, replicate: int = 0) -> Lines:
        """Equal rows as one line, in an order that depends on their content only, not on how they arrived or on the arms'
        order; not of evidence that is ``summed``."""

    def outcome_terms(self, regimes: tuple[int, ...]) -> Iterator[Terms]:
        """Weights r_kj of the pulls in these regimes."""
        for seen in self.observations(regimes).blocks(len(self.problem.arms)):
            yield Terms(self._outcome_weight(seen), seen.arm, seen.outcome_sum)

    def gap_terms(self, direction: int) -> Iterator[Terms]:
        """Weights g_kj of ζ^{t,u} from pulls forced to u, where (t, u) is the pair of groups at this place of
        ``problem.compared``: of two groups 0 is ζ^{s,s'} from pulls forced to s', 1 is ζ^{s',s} from pulls forced to s."""
        _, given = self.problem.compared[direction]
        for seen in self.observations((1 + given,)).blocks(len(self.problem.arms)):
            yield Terms(self._gap_weight(seen, direction), seen.arm, seen.outcome_sum)

    def _outcome_weight(self, seen: Observations) -> FloatArray:
        arms = self.likelihood.arms
        return outcome_weights(arms[:, seen.group, seen.at], arms[seen.arm, seen.group, seen.at])

    def _gap_weight(self, seen: Observations, direction: int) -> FloatArray:
        log_L, (to, given) = self.likelihood.log_L, self.problem.compared[direction]
        return gap_weights(log_L[:, to, seen.at], log_L[:, given, seen.at], log_L[seen.arm, given, seen.at])


class CountedEvidence(Evidence):
    """Rows counted by cell: what a log with finite columns comes to."""

    @abstractmethod
    def of_arms(self, which: BoolArray) -> Self:
        """The rows of these arms (K,) alone."""

    @abstractmethod
    def by_group(self) -> GroupCells:
        """The first replicate's rows by group and cell, the groups apart."""

    @abstractmethod
    def by_state(self) -> IntArray | None:
        """The first replicate's rows by arm, group, cell and outcome state, (K, G, X, O); None for a real outcome."""

    def pilot_by_group(self) -> GroupCells | None:
        """Of the rows that are chosen by their ids, by group and cell, where only sums of the outcome are kept."""
        return None

    @abstractmethod
    def natural_squares(self) -> FloatArray:
        """Σ Y'² of the first replicate's natural rows by group, (G,)."""


class RunEvidence(Evidence):
    """Evidence that a run can be told, part by part, and saved with it."""

    @abstractmethod
    def add(self, batch: Batch) -> Self:
        """With a checked batch added to its only replicate."""

    @abstractmethod
    def plus(self, later: Self) -> Self:
        """These rows and others of the same problem."""

    @abstractmethod
    def since(self, earlier: Self) -> Self:
        """Without the rows that were there earlier."""

    @property
    @abstractmethod
    def multiplicities(self) -> IntArray:
        """How many rows each place stands for: what `recounted` takes."""

    @abstractmethod
    def recounted(self, multiplicities: IntArray) -> Self:
        """The same places with other numbers of rows."""

    @abstractmethod
    def to_json(self) -> Any:
        """What `from_json` takes back."""

    @classmethod
    @abstractmethod
    def from_json(cls, problem: Problem, document: Any) -> Self:
        """Saved evidence, checked against the problem."""


def whole_numbers(values: Any) -> IntArray:
    """A saved list of whole numbers, 0 or more."""
    if not isinstance(values, list) or any(type(v) is not int or v < 0 for v in values):
        raise TypeError("a list of whole numbers is needed")
    return np.array(values, dtype=np.int64)


def require_possible(problem: Problem, batch: Batch, own: FloatArray) -> None:
    """An error if a row has probability 0 under its own arm and group; ``own`` is its log-likelihood."""
    impossible = np.isneginf(own) & (batch.count > 0)
    if np.any(impossible):
        row = int(np.argmax(impossible))
        names = (problem.decision, *problem.relevant_children)
        values = ", ".join(f"{name}='{_label(problem, name, batch.columns[name][row])}'" for name in names)
        raise DataError(
            f"A row of arm '{problem.arm_names[int(batch.arm[row])]}' has {values}, which the declared mechanisms give "
            f"probability 0. The row is from another arm, or a declared mechanism is not the one that ran."
        )


def _label(problem: Problem, name: str, value: Any) -> str:
    states = problem.variables[name].states if name in problem.variables else None
    return str(value) if states is None else states[int(value)]
