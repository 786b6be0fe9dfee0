"""What the pulls so far say, in the form the estimators take: counts of cells, or rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fairarm.core.estimators import Terms, gap_weights, outcome_weights
from fairarm.core.types import FloatArray, IntArray
from fairarm.errors import DataError
from fairarm.problem.likelihood import Likelihood, likelihood
from fairarm.problem.model import Problem
from fairarm.problem.pulls import Batch

BLOCK = 1 << 22
"""Weights (K × observations) held at once: 32 MiB."""


class Evidence(Protocol):
    """Pulls and their weighted observations. Direction 0 is ζ^{s,s'} from forced s', 1 is ζ^{s',s} from forced s."""

    def pulls(self) -> IntArray:
        """(n, R, K)."""
        ...

    def outcome_terms(self, regimes: tuple[int, ...]) -> Iterator[Terms]: ...

    def gap_terms(self, direction: int) -> Iterator[Terms]: ...

    def group_sums(self) -> tuple[IntArray, FloatArray]:
        """Rows and sums of scaled outcomes of natural pulls by arm and group, each (n, K, G)."""
        ...


@dataclass(frozen=True)
class CellEvidence:
    """Counts of (regime, arm, group, cell and outcome state), (n, R, K, G, O), of a finite problem."""

    problem: Problem
    counts: IntArray

    @classmethod
    def empty(cls, problem: Problem, n: int = 1) -> CellEvidence:
        shape = (n, len(problem.regimes), len(problem.arms), len(problem.groups), problem.row_space.count)
        return cls(problem, np.zeros(shape, dtype=np.int64))

    def add(self, batch: Batch) -> CellEvidence:
        """The evidence with a checked batch added to its only replicate."""
        require_possible(self.problem, batch)
        counts = self.counts.copy()
        group = _group_of(self.problem, batch)
        np.add.at(
            counts[0], (batch.regime, batch.arm, group, self.problem.row_space.number(batch.columns)), batch.count
        )
        return CellEvidence(self.problem, counts)

    def to_json(self) -> Any:
        """Positions and counts that are not zero."""
        at = np.flatnonzero(self.counts[0])
        return {"cells": at.tolist(), "counts": self.counts[0].ravel()[at].tolist()}

    @classmethod
    def from_json(cls, problem: Problem, document: Any) -> CellEvidence:
        made = cls.empty(problem)
        made.counts[0].reshape(-1)[np.array(document["cells"], dtype=np.int64)] = document["counts"]
        return made

    def since(self, earlier: CellEvidence) -> CellEvidence:
        return CellEvidence(self.problem, self.counts - earlier.counts)

    def pulls(self) -> IntArray:
        return np.asarray(self.counts.sum(axis=(3, 4)))

    def _sums(self, regimes: tuple[int, ...]) -> FloatArray:
        """Scaled outcome sums by arm, group and cell of L, (n, K, G, C)."""
        outcome = self.problem.outcome
        values = outcome.scale(np.array(outcome.values))
        split = (
            self.counts[:, regimes]
            .sum(axis=1)
            .reshape(*self.counts.shape[:1], *self.counts.shape[2:4], -1, len(values))
        )
        if outcome.node in self.problem.relevant_children:
            return np.asarray((split * values).reshape(*split.shape[:3], -1))
        return np.asarray(split @ values)

    def _blocks(self, sums: FloatArray) -> Iterator[IntArray]:
        """Arms that were pulled, in blocks whose weights fit in memory; ``sums`` (n, K, ...)."""
        pulled = np.flatnonzero(np.any(sums != 0, axis=(0, *range(2, sums.ndim))))
        size = max(1, BLOCK // (len(self.problem.arms) * int(np.prod(sums.shape[2:]))))
        for start in range(0, len(pulled), size):
            yield pulled[start : start + size]

    def outcome_terms(self, regimes: tuple[int, ...]) -> Iterator[Terms]:
        arms = self.problem.tables.likelihood.arms
        sums = self._sums(regimes)
        for block in self._blocks(sums):
            weight = outcome_weights(arms[:, None], arms[block])
            yield _terms(weight, block, sums[:, block])

    def gap_terms(self, direction: int) -> Iterator[Terms]:
        log_L = self.problem.tables.likelihood.log_L
        to, given = (0, 1) if direction == 0 else (1, 0)
        sums = self._sums((1 + given,))[:, :, given]
        for block in self._blocks(sums):
            weight = gap_weights(log_L[:, None, to], log_L[:, None, given], log_L[block, given])
            yield _terms(weight, block, sums[:, block])

    def group_sums(self) -> tuple[IntArray, FloatArray]:
        return self.counts[:, 0].sum(axis=-1), self._sums((0,)).sum(axis=-1)


def _terms(weight: FloatArray, block: IntArray, sums: FloatArray) -> Terms:
    """Flatten (K, J, ...) weights and (n, J, ...) sums to observations."""
    arm = np.repeat(block, int(np.prod(weight.shape[2:])))
    return Terms(weight.reshape(len(weight), -1), arm, sums.reshape(len(sums), -1))


@dataclass(frozen=True)
class RowEvidence:
    """Rows kept one by one, for problems with a real-valued column; one replicate."""

    problem: Problem
    batch: Batch
    likelihood: Likelihood

    @classmethod
    def empty(cls, problem: Problem) -> RowEvidence:
        none = np.zeros(0, dtype=np.int64)
        columns = {name: typed_column(problem, name, []) for name in problem.observed}
        return cls(problem, Batch(none, none, columns, none), likelihood(problem, columns, 0))

    def add(self, batch: Batch) -> RowEvidence:
        values = require_possible(self.problem, batch)
        joined = Batch(
            np.append(self.batch.arm, batch.arm),
            np.append(self.batch.regime, batch.regime),
            {name: np.append(old, batch.columns[name]) for name, old in self.batch.columns.items()},
            np.append(self.batch.count, batch.count),
        )
        return RowEvidence(self.problem, joined, self.likelihood.joined(values))

    def to_json(self) -> Any:
        """The rows, by column."""
        plain = {"arm": self.batch.arm, "regime": self.batch.regime, "count": self.batch.count}
        columns = {name: values.tolist() for name, values in self.batch.columns.items()}
        return {**{name: values.tolist() for name, values in plain.items()}, "columns": columns}

    @classmethod
    def from_json(cls, problem: Problem, document: Any) -> RowEvidence:
        arm, regime, count = (np.array(document[name], dtype=np.int64) for name in ("arm", "regime", "count"))
        columns = {name: typed_column(problem, name, values) for name, values in document["columns"].items()}
        return cls.empty(problem).add(Batch(arm, regime, columns, count))

    def since(self, earlier: RowEvidence) -> RowEvidence:
        return self._rows(np.arange(earlier.batch.size, self.batch.size))

    def _rows(self, rows: IntArray) -> RowEvidence:
        kept = Batch(
            self.batch.arm[rows],
            self.batch.regime[rows],
            {name: values[rows] for name, values in self.batch.columns.items()},
            self.batch.count[rows],
        )
        return RowEvidence(self.problem, kept, self.likelihood.of(rows))

    def pulls(self) -> IntArray:
        out = np.zeros((1, len(self.problem.regimes), len(self.problem.arms)), dtype=np.int64)
        np.add.at(out[0], (self.batch.regime, self.batch.arm), self.batch.count)
        return out

    def _outcome_sum(self) -> FloatArray:
        return scaled_outcomes(self.problem, self.batch) * self.batch.count

    def _blocks(self, rows: IntArray) -> Iterator[IntArray]:
        size = max(1, BLOCK // len(self.problem.arms))
        for start in range(0, len(rows), size):
            yield rows[start : start + size]

    def outcome_terms(self, regimes: tuple[int, ...]) -> Iterator[Terms]:
        group, sums, arms = _group_of(self.problem, self.batch), self._outcome_sum(), self.likelihood.arms
        for rows in self._blocks(np.flatnonzero(np.isin(self.batch.regime, regimes))):
            pulled, t = self.batch.arm[rows], group[rows]
            yield Terms(outcome_weights(arms[:, t, rows], arms[pulled, t, rows]), pulled, sums[None, rows])

    def gap_terms(self, direction: int) -> Iterator[Terms]:
        sums, log_L = self._outcome_sum(), self.likelihood.log_L
        to, given = (0, 1) if direction == 0 else (1, 0)
        for rows in self._blocks(np.flatnonzero(self.batch.regime == 1 + given)):
            pulled = self.batch.arm[rows]
            weight = gap_weights(log_L[:, to, rows], log_L[:, given, rows], log_L[pulled, given, rows])
            yield Terms(weight, pulled, sums[None, rows])

    def group_sums(self) -> tuple[IntArray, FloatArray]:
        natural = self._rows(np.flatnonzero(self.batch.regime == 0))
        shape = (1, len(self.problem.arms), len(self.problem.groups))
        rows, sums = np.zeros(shape, dtype=np.int64), np.zeros(shape)
        at = (natural.batch.arm, _group_of(self.problem, natural.batch))
        np.add.at(rows[0], at, natural.batch.count)
        np.add.at(sums[0], at, natural._outcome_sum())
        return rows, sums


def empty_evidence(problem: Problem) -> CellEvidence | RowEvidence:
    return CellEvidence.empty(problem) if problem.finite else RowEvidence.empty(problem)


def typed_column(problem: Problem, name: str, values: Any) -> NDArray[Any]:
    """Codes as int64, real values as float64."""
    finite = name in problem.variables and problem.variables[name].finite
    return np.array(values, dtype=np.int64 if finite else np.float64)


def scaled_outcomes(problem: Problem, batch: Batch) -> FloatArray:
    """Y' of each line."""
    raw = batch.columns[problem.outcome.node]
    values = raw if problem.outcome.values is None else np.array(problem.outcome.values)[raw]
    return problem.outcome.scale(np.asarray(values, dtype=np.float64))


def _group_of(problem: Problem, batch: Batch) -> IntArray:
    """The position among the groups of each line's S."""
    position = np.argsort(np.array(problem.group_codes))
    return np.asarray(position[batch.columns[problem.sensitive]])


def require_possible(problem: Problem, batch: Batch) -> Likelihood:
    """The likelihood of the rows; an error if an arm is told to have done what its mechanism gives probability 0."""
    values = likelihood(problem, batch.columns, batch.size)
    own = values.arms[batch.arm, _group_of(problem, batch), np.arange(batch.size)]
    impossible = np.isneginf(own) & (batch.count > 0)
    if np.any(impossible):
        arm = problem.arm_names[int(batch.arm[np.argmax(impossible)])]
        raise DataError(
            f"A row of arm '{arm}' has a '{problem.decision}' that its declared mechanism gives probability 0. "
            f"The row is from another arm, or the declared mechanism is not the one that ran."
        )
    return values
