"""What the first pass over a log leaves for the second: a regression, where weights are cut, and how outcomes vary.

Nothing in it changes while rows are weighed, so that parts of a log may be weighed apart and their sums added.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.beliefs.row_sample import Sample
from fairarm.core.posterior.doubly_robust import prior_sd
from fairarm.core.posterior.regression import Regression, cross_fit
from fairarm.core.posterior.weighted_rows import Jump, least_error_cut
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.problem import Problem


@dataclass(frozen=True)
class _SampledGroup:
    """Rows of the sample that are of one group: where they are, (I,), how often each came, and their weights, (K, I)."""

    at: IntArray
    count: IntArray
    weights: FloatArray


@dataclass(frozen=True)
class RowModel:
    """Made of the sample alone."""

    problem: Problem
    sample: Sample

    @cached_property
    def states(self) -> int | None:
        """States of V where it can be summed out of a row, else None."""
        problem = self.problem
        variable = problem.variables[problem.decision]
        below = problem.roles.graph.descendants(problem.decision) & {*problem.cell_columns}
        return variable.size if variable.finite and not below else None

    @cached_property
    def regression(self) -> Regression | None:
        """m̂, fitted on each half of the sample without the other; None where decisions cannot be summed out."""
        if self.states is None:
            return None
        columns = self.sample.columns
        sizes = {n: self.problem.variables[n].size if self.problem.variables[n].finite else None for n in columns}
        shares = self.sample.half_of(self.sample.print)
        odd = shares[:, 0] == 0.5
        folds = np.where(odd[:, None], 0.0, shares) * self.sample.count[:, None]
        folds[odd, 0] = self.sample.count[odd] // 2
        folds[odd, 1] = self.sample.count[odd] - self.sample.count[odd] // 2
        return cross_fit(columns, sizes, self.problem.decision, self.sample.outcome, folds.astype(np.int64), quick=True)

    @cached_property
    def constant(self) -> float:
        """The mean outcome of the sample."""
        return float(np.average(self.sample.outcome, weights=self.sample.count))

    @cached_property
    def unseen_sd(self) -> float:
        """Of what no row speaks for: that of a uniform number, or of the outcomes if they vary less."""
        return prior_sd(self.sample.outcome, self.sample.count)

    @cached_property
    def _sampled(self) -> list[_SampledGroup]:
        """The sample by group, with its weights."""
        problem, sample, found = self.problem, self.sample, []
        codes = np.asarray(sample.columns[problem.sensitive])
        for t, code in enumerate(problem.compiled.group_codes):
            at = np.flatnonzero(codes == code)
            columns = {name: values[at] for name, values in sample.columns.items()}
            own, _ = self.probabilities(columns, len(at))
            made = sample.made[:, t] / sample.rows[t]
            q = np.where(np.isnan(sample.propensity[at]), made @ own, sample.propensity[at])
            possible = q > 0
            w = np.where(possible, own / np.where(possible, q, 1.0), 0.0)
            found.append(_SampledGroup(at, sample.count[at], w))
        return found

    @cached_property
    def own_level(self) -> FloatArray:
        """Where weights are cut for the usual estimate, (K, G)."""
        both = zip(self._sampled, self.sample.rows, strict=True)
        return np.stack([least_error_cut(group.weights, group.count, float(rows)) for group, rows in both], axis=1)

    @cached_property
    def centres(self) -> FloatArray:
        """Self-normalised weighted means of the sample, (K, G): what rows are held against without a regression."""
        out = np.full((len(self.problem.arms), len(self.problem.groups)), self.constant)
        for t, group in enumerate(self._sampled):
            total = group.weights @ group.count
            sums = group.weights @ (group.count * self.sample.outcome[group.at])
            np.divide(sums, total, out=out[:, t], where=total > 0)
        return out

    @cached_property
    def jump(self) -> Jump:
        """Of the sample's residuals."""
        sample, predicted = self.sample, self.constant
        if self.regression is not None:
            surface = self._surface(sample.columns, sample.half_of(sample.print))
            predicted = surface[np.arange(len(surface)), sample.columns[self.problem.decision]]
        return Jump.of(sample.outcome - predicted, sample.count)

    @cached_property
    def strata(self) -> list[Callable[[dict[str, NDArray[Any]]], NDArray[Any]]]:
        """Halves of the rows by each column that came before the decision: above the sample's median, or the commonest state."""
        below = self.problem.roles.graph.descendants(self.problem.decision) | {self.problem.decision}
        parts: list[Callable[[dict[str, NDArray[Any]]], NDArray[Any]]] = []
        for name in self.problem.cell_columns:
            if name in below:
                continue
            values = self.sample.columns[name]
            if self.problem.variables[name].finite:
                parts.append(partial(_is, name, int(np.argmax(np.bincount(values)))))
            else:
                parts.append(partial(_above, name, float(np.median(values))))
        return parts

    def probabilities(self, columns: dict[str, NDArray[Any]], length: int) -> tuple[FloatArray, FloatArray | None]:
        """P_k of each row's decision, (K, I), and of every decision, (K, I, states), where V is summed out."""
        arms, V = self.problem.arms, self.problem.decision
        if self.states is None:
            return np.exp(np.stack([arm.mechanism.log_prob(columns) for arm in arms])), None
        law = np.stack([arm.mechanism.distribution(columns, self.states, length) for arm in arms])
        return law[:, np.arange(length), columns[V]], law

    def predicted(
        self, t: int, columns: dict[str, NDArray[Any]], law: FloatArray | None, halves: FloatArray | None, length: int
    ) -> tuple[FloatArray, FloatArray]:
        """Σ_v P_k(v) m̂(x, v), (K, I), and m̂ at each row, (K or 1, I): without a regression, the centre of each arm."""
        if self.regression is None or law is None or halves is None:
            centre = np.repeat(self.centres[:, t, None], length, axis=1)
            return centre, centre
        surface = self._surface(columns, halves)
        return np.einsum("kis,is->ki", law, surface), surface[None, np.arange(length), columns[self.problem.decision]]

    def _surface(self, columns: dict[str, NDArray[Any]], halves: FloatArray) -> FloatArray:
        """m̂ of every decision, (I, states), each row by the half of the sample that did not see it."""
        if self.regression is None or self.states is None:
            raise TypeError("There is no regression where decisions cannot be summed out.")
        given = {name: columns[name] for name in self.sample.columns if name != self.problem.decision}
        return self.regression.predict_surface(given, np.arange(self.states), halves)


def _is(name: str, state: int, columns: dict[str, NDArray[Any]]) -> NDArray[Any]:
    return np.asarray(columns[name] == state)


def _above(name: str, value: float, columns: dict[str, NDArray[Any]]) -> NDArray[Any]:
    return np.asarray(columns[name] > value)
