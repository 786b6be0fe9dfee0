"""Bets on the rows of a log that is read one by one: the first pass keeps a pilot, the second sums how the others score.

A row belongs to the pilot by its id alone, so that what is learned from it is independent of the other rows. Without ids
there is none: a row is never put aside by what it holds, or by where it stands.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.core.posterior.regression import Regression, cross_fit
from fairarm.core.proof.log_bets import PilotScores, ScoreSums, SumBets, cut_at
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import LoggedRows, groups_of, scaled_outcomes

ONE_OF = 5
"""The pilot is one row of so many."""

MOST_KEPT = 1 << 14
"""Rows of the pilot that are kept, those with the smallest tickets."""


@dataclass
class RowPilot:
    """What the first pass leaves: rows of the pilot, and how many others each arm made."""

    problem: Problem
    ticket: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    outcome: FloatArray = field(default_factory=lambda: np.zeros(0))
    propensity: FloatArray | None = None
    without_id: bool = False
    """Some row has no id: there is no pilot."""

    def __post_init__(self) -> None:
        self.made = np.zeros((len(self.problem.arms), len(self.problem.groups)), dtype=np.int64)
        self.rows = np.zeros(len(self.problem.groups))

    @property
    def usable(self) -> bool:
        """Every group has a row to bet on, and every row an id."""
        return not self.without_id and bool(self.rows.all()) and len(self.ticket) > 0

    def watch(self, chunks: Iterable[LoggedRows]) -> Iterator[LoggedRows]:
        """The same chunks, looked at as they pass."""
        for part in chunks:
            self._add(part)
            yield part

    def _add(self, part: LoggedRows) -> None:
        self.without_id |= part.ticket is None and part.batch.size > 0
        if self.without_id or part.ticket is None:
            return
        mine = in_pilot(part.ticket)
        group = groups_of(self.problem, part.batch)
        np.add.at(self.rows, group[~mine], 1.0)
        if part.propensity is None:
            np.add.at(self.made, (part.batch.arm[~mine], group[~mine]), 1)
        self._keep(part, np.flatnonzero(mine))

    def _keep(self, part: LoggedRows, mine: IntArray) -> None:
        ticket = part.ticket if part.ticket is not None else self.ticket
        joined = np.concatenate([self.ticket, ticket[mine]])
        kept = np.argsort(joined, kind="stable")[:MOST_KEPT]
        for name in (self.problem.sensitive, *self.problem.cell_columns):
            fresh = np.asarray(part.batch.columns[name])[mine]
            self.columns[name] = np.concatenate([self.columns.get(name, fresh[:0]), fresh])[kept]
        self.outcome = np.concatenate([self.outcome, scaled_outcomes(self.problem, part.batch)[mine]])[kept]
        if part.propensity is not None:
            before = np.zeros(0) if self.propensity is None else self.propensity
            self.propensity = np.concatenate([before, part.propensity[mine]])[kept]
        self.ticket = joined[kept]

    def by_group(self) -> Iterator[tuple[dict[str, NDArray[Any]], FloatArray, FloatArray | None]]:
        """Columns, outcomes and propensities of each group's rows."""
        for at in self.places():
            columns = {name: values[at] for name, values in self.columns.items()}
            yield columns, self.outcome[at], None if self.propensity is None else self.propensity[at]

    def places(self) -> Iterator[IntArray]:
        """Where the rows of each group are."""
        codes = np.asarray(self.columns[self.problem.sensitive])
        return (np.flatnonzero(codes == code) for code in self.problem.compiled.group_codes)


def in_pilot(ticket: NDArray[np.uint64]) -> BoolArray:
    """Whether rows belong to the pilot, by the numbers made of their ids."""
    return np.asarray(ticket % np.uint64(ONE_OF) == 0)


@dataclass(frozen=True)
class Decided:
    """Rows of one group: every arm's chance of the logged decision, (K, I), and of each decision, (K, I, states), where the
    decision can be summed out; the logged propensity."""

    columns: dict[str, NDArray[Any]]
    outcome: FloatArray
    own: FloatArray
    law: FloatArray | None
    propensity: FloatArray | None


@dataclass
class RowBets:
    """The second pass: sums of the scores of rows that are not in the pilot."""

    problem: Problem
    pilot: RowPilot
    log_odds: float
    level: FloatArray
    """τ, (K, G)."""
    regression: Regression | None
    span: tuple[float, float]
    """What the regression says of the pilot's rows, from and to; it is cut to that elsewhere."""
    seen: ScoreSums
    known: PilotScores | None = None

    @classmethod
    def after(cls, pilot: RowPilot, groups: list[Decided], delta: float) -> RowBets:
        """From the pilot, and its rows by group with what every arm would decide."""
        problem, level = pilot.problem, cut_at(pilot.rows, delta)
        K, G = len(problem.arms), len(problem.groups)
        # the largest weight of the pilot is as good a level as any that does not look at the other rows: little lies above it
        largest = np.stack([_weights(pilot, t, rows).max(axis=1, initial=1.0) for t, rows in enumerate(groups)], axis=1)
        regression = None if groups[0].law is None or pilot.propensity is not None else _fitted(pilot)
        span = (0.0, 0.0)
        if regression is not None:
            said = regression.predict(pilot.columns)
            span = (float(said.min()), float(said.max()))
        bets = cls(
            problem, pilot, math.log(1 / delta), np.minimum(level, largest), regression, span, ScoreSums.empty(K, G)
        )
        first = ScoreSums.empty(K, G)
        for t, (at, rows) in enumerate(zip(pilot.places(), groups, strict=True)):
            first.add(bets.scores(t, rows, _halves(pilot.ticket[at])), np.full(len(at), t), np.ones(len(at)))
        bets.known = PilotScores.of(first, bets.least)
        return bets

    @property
    def least(self) -> FloatArray:
        """The least that X and X¹ can be, (2, K, G)."""
        if self.regression is None:
            return np.zeros((2, *self.level.shape))
        return np.stack([-self.level * self.span[1], -self.level * (1.0 - self.span[0])])

    def add(self, t: int, rows: Decided, count: IntArray, ticket: NDArray[np.uint64]) -> None:
        """Rows of group t; those of the pilot are not bet on, nor those that their arm cannot have made (``count`` 0)."""
        bet_on = np.where(in_pilot(ticket), 0, count).astype(np.float64)
        self.seen.add(self.scores(t, rows, np.full((1, 2), 0.5)), np.full(len(bet_on), t), bet_on)

    def scores(self, t: int, rows: Decided, halves: FloatArray) -> FloatArray:
        """X and X¹, (2, K, I); ``halves`` of the pilot that predict, as shares (I or 1, 2)."""
        c = np.minimum(_weights(self.pilot, t, rows), self.level[:, t, None])
        if self.regression is None or rows.law is None:
            return np.stack([c * rows.outcome, c * (1.0 - rows.outcome)])
        given = {name: rows.columns[name] for name in self.pilot.columns if name != self.problem.decision}
        surface = np.clip(self.regression.predict_surface(given, np.arange(rows.law.shape[2]), halves), *self.span)
        q = np.tensordot(self._shares(t), rows.law, axes=1)
        taken = np.minimum(rows.law, q * self.level[:, t, None, None])  # q c, also where q is 0
        own = np.einsum("kis,is->ki", taken, surface)
        at = surface[np.arange(len(rows.outcome)), rows.columns[self.problem.decision]]
        moved = c * (rows.outcome - at)
        return np.stack([moved + own, taken.sum(axis=2) - own - moved])  # (W3)

    def _shares(self, t: int) -> FloatArray:
        return np.asarray(self.pilot.made[:, t] / self.pilot.rows[t])

    def bets(self) -> SumBets | None:
        """What there is to bound means with."""
        return None if self.known is None else SumBets(self.seen, self.known, self.log_odds)


def _weights(pilot: RowPilot, t: int, rows: Decided) -> FloatArray:
    """w_k of rows, (K, I): against the mixture of the arms that made the group's rows outside the pilot, or the propensity."""
    q = rows.propensity
    if q is None:
        q = pilot.made[:, t] / pilot.rows[t] @ rows.own
    return np.asarray(np.where(q > 0, rows.own / np.where(q > 0, q, 1.0), 0.0))  # (W1)


def _halves(ticket: NDArray[np.uint64]) -> FloatArray:
    """The fold that each row of the pilot is in, and that does not predict it, as shares (I, 2)."""
    return np.eye(2)[(ticket // np.uint64(ONE_OF) % np.uint64(2)).astype(np.int64)]


def _fitted(pilot: RowPilot) -> Regression:
    """m from the pilot, in two halves that predict each other's rows."""
    variables = pilot.problem.variables
    sizes = {name: variables[name].size if variables[name].finite else None for name in pilot.columns}
    folds = _halves(pilot.ticket).astype(np.int64)
    return cross_fit(pilot.columns, sizes, pilot.problem.decision, pilot.outcome, folds, quick=True)
