"""From what the first pass over a log leaves to how the second weighs: a regression, where weights are cut, and how outcomes
vary."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.beliefs.lines import distinct
from fairarm.beliefs.row_bets import Decided, RowBets, at_decision, mixture
from fairarm.beliefs.row_pilot import RowPilot
from fairarm.beliefs.row_sample import Sample, halves_of
from fairarm.beliefs.row_sums import Stratum, Weigher, probabilities
from fairarm.core.exact_sums import power_of_two
from fairarm.core.posterior.doubly_robust import prior_sd
from fairarm.core.posterior.regression import Regression, cross_fit
from fairarm.core.posterior.row_totals import MOST_STATES, Units
from fairarm.core.posterior.weighted_rows import Jump, least_error_cut
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.problem import Problem

MOST_RULES, ROWS_EACH = 8, 5
"""More propensities of one decision for people alike, or fewer rows of each, do not say that several rules made the log."""


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
        shares = halves_of(self.sample.print, self.sample.repeated)
        odd = shares[:, 0] == 0.5
        folds = np.where(odd[:, None], 0.0, shares) * self.sample.count[:, None]
        folds[odd, 0] = self.sample.count[odd] // 2
        folds[odd, 1] = self.sample.count[odd] - self.sample.count[odd] // 2
        real = self.problem.outcome.values is None
        outcome, rows = self.sample.outcome, folds.astype(np.int64)
        return cross_fit(columns, sizes, self.problem.decision, outcome, rows, quick=True, real=real)

    @cached_property
    def rules(self) -> int:
        """Rules that made the rows, by the propensities that a decision has for people alike in every column; 1 where these do not tell."""
        sample, finite = self.sample, all(self.problem.variables[name].finite for name in self.problem.cell_columns)
        first = distinct([*sample.columns.values(), sample.propensity])[0]
        seen = np.bincount(distinct([values[first] for values in sample.columns.values()])[1])
        few = finite and seen.max() <= MOST_RULES and ROWS_EACH * len(first) <= sample.count.sum()
        return int(seen.max()) if few and not np.isnan(sample.propensity).any() else 1

    @cached_property
    def constant(self) -> float:
        """The mean outcome of the sample."""
        return float(np.average(self.sample.outcome, weights=self.sample.count))

    @cached_property
    def unseen_sd(self) -> float:
        """Of what no row speaks for: that of a uniform number, or of the outcomes if they vary less."""
        return prior_sd(self.sample.outcome, self.sample.count, self.problem.outcome.values is None)

    @cached_property
    def _sampled(self) -> list[_SampledGroup]:
        """The sample by group, with its weights."""
        problem, sample, found = self.problem, self.sample, []
        codes = np.asarray(sample.columns[problem.sensitive])
        for t, code in enumerate(problem.compiled.group_codes):
            at = np.flatnonzero(codes == code)
            columns = {name: values[at] for name, values in sample.columns.items()}
            chances = probabilities(problem, self.states, columns, len(at))
            own = chances if self.states is None else at_decision(chances, columns[problem.decision])
            made = sample.made[:, t] / sample.rows[t]
            q = np.where(np.isnan(sample.propensity[at]), mixture(made, own), sample.propensity[at])
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
        sample = self.sample
        predicted: FloatArray | float = self.constant
        if self.regression is not None:
            given = {name: sample.columns[name] for name in self._names}
            halves = halves_of(sample.print, sample.repeated)
            surface = self.regression.predict_states(given, self.states or 0, halves)
            predicted = at_decision(surface, sample.columns[self.problem.decision])
        return Jump.of(sample.outcome - predicted, sample.count)

    @cached_property
    def strata(self) -> tuple[Stratum, ...]:
        """Halves of the rows by each column that came before the decision: above the sample's median, or the commonest state."""
        below = self.problem.roles.graph.descendants(self.problem.decision) | {self.problem.decision}
        parts: list[Stratum] = []
        for name in self.problem.cell_columns:
            if name in below:
                continue
            values = self.sample.columns[name]
            if self.problem.variables[name].finite:
                parts.append(partial(_is, name, int(np.argmax(np.bincount(values)))))
            else:
                parts.append(partial(_above, name, float(np.median(values))))
        return tuple(parts)

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(name for name in self.sample.columns if name != self.problem.decision)

    @cached_property
    def units(self) -> Units:
        """How large what is summed is, by the sample."""
        values, sample = self.problem.outcome.values, self.sample
        spread = np.sqrt(np.average((sample.outcome - self.constant) ** 2, weights=sample.count))
        size = np.sqrt(np.average(sample.outcome**2, weights=sample.count))
        few = values is not None and len({*self.problem.outcome.scaled_values.tolist()}) <= MOST_STATES
        apart = np.unique(self.problem.outcome.scaled_values) if few else None
        return Units(apart, power_of_two(float(spread)), power_of_two(float(size)))

    def weigher(self, level: FloatArray, pilot: RowPilot, delta: float) -> Weigher:
        """How the second pass weighs. ``level``: where weights are cut for certified bounds, (G,); ``delta``: the error of each bound
        by bets, where there is a pilot."""
        work = Weigher(
            self.problem,
            self.states,
            self.regression,
            self._names,
            self.sample.repeated,
            self.sample.made / self.sample.rows,
            self.own_level,
            level,
            self.centres,
            self.constant,
            self.strata if self.states is not None else (),
            self.units,
        )
        if not pilot.usable:
            return work
        groups: list[Decided] = [work.decided(*rows) for rows in pilot.by_group()]
        return replace(work, bets=RowBets.after(pilot, groups, delta))


def _is(name: str, state: int, columns: dict[str, NDArray[Any]]) -> NDArray[Any]:
    return np.asarray(columns[name] == state)


def _above(name: str, value: float, columns: dict[str, NDArray[Any]]) -> NDArray[Any]:
    return np.asarray(columns[name] > value)
