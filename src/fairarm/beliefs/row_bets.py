"""Bets on the rows of a log that is read one by one: the first pass keeps a pilot, the second sums how the others score."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.beliefs.row_pilot import ONE_OF, RowPilot, in_pilot
from fairarm.core.exact_sums import ExactSum, power_of_two
from fairarm.core.packed import Arrays
from fairarm.core.posterior.regression import Regression, cross_fit
from fairarm.core.proof.log_bets import PilotScores, ScoreSums, SumBets, cut_at
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.problem import Problem

FEW_STATES = 4
"""Of a decision, up to which it is quicker to choose state after state than to pick row after row."""


@dataclass(frozen=True)
class Decided:
    """Rows with every arm's chance of each decision, (K, states, I), where the decision can be summed out, else of the logged one,
    (K, I); the logged decision and its propensity."""

    columns: dict[str, NDArray[Any]]
    outcome: FloatArray
    decision: IntArray
    chances: FloatArray
    propensity: FloatArray | None

    @property
    def law(self) -> FloatArray | None:
        """Of every decision, where it can be summed out."""
        return self.chances if self.chances.ndim == 3 else None

    @cached_property
    def own(self) -> FloatArray:
        """Of the logged decision, (K, I)."""
        return at_decision(self.chances, self.decision) if self.chances.ndim == 3 else self.chances

    def take(self, at: slice) -> Decided:
        """Some of the rows."""
        columns = {name: values[at] for name, values in self.columns.items()}
        propensity = None if self.propensity is None else self.propensity[at]
        return Decided(columns, self.outcome[at], self.decision[at], self.chances[..., at], propensity)


def mixture(shares: FloatArray, law: FloatArray) -> FloatArray:
    """Σ_j shares_j law_j of laws (K, …), one arm after the other: each row by itself, whatever rows are beside it."""
    used = np.flatnonzero(shares)
    out = np.zeros(law.shape[1:]) if not len(used) else shares[used[0]] * law[used[0]]
    for j in used[1:]:
        out += shares[j] * law[j]
    return np.asarray(out)


def summed_out(law: FloatArray, surface: FloatArray) -> FloatArray:
    """Σ_v P_k(v) m(v), (K, I), of laws (K, states, I) and a surface (states, I), state after state."""
    out = law[:, 0] * surface[0]
    for s in range(1, law.shape[1]):
        out += law[:, s] * surface[s]
    return np.asarray(out)


def at_decision(values: FloatArray, decided: IntArray) -> FloatArray:
    """Of values (…, states, I), those at each row's decision: (…, I); where all decisions are one, no copy."""
    if len(decided) and (decided == decided[0]).all():
        return np.asarray(values[..., decided[0], :])
    if values.shape[-2] > FEW_STATES:
        return np.asarray(values[..., decided, np.arange(len(decided))])
    out = values[..., 0, :]
    for s in range(1, values.shape[-2]):
        out = np.where(decided == s, values[..., s, :], out)
    return np.asarray(out)


@dataclass(frozen=True, eq=False)
class RowBets:
    """How rows that are not in the pilot score. Nothing in it changes while rows are summed."""

    problem: Problem
    shares: FloatArray
    """Of the arms in the rows of each group outside the pilot, (K, G)."""
    names: tuple[str, ...]
    """The columns that the regression looks at, without the decision."""
    log_odds: float
    level: FloatArray
    """τ, (K, G)."""
    regression: Regression | None
    span: tuple[float, float]
    """What the regression says of the pilot's rows, from and to; it is cut to that elsewhere."""
    known: PilotScores | None = None
    scale: float = 1.0
    """The size of an outcome, a power of two."""

    @classmethod
    def after(cls, pilot: RowPilot, groups: list[Decided], delta: float) -> RowBets:
        """From the pilot, and its rows by group with what every arm would decide."""
        problem, level = pilot.problem, cut_at(pilot.rows, delta)
        K, G = len(problem.arms), len(problem.groups)
        shares, columns = pilot.made / pilot.rows, pilot.columns
        # the largest weight of the pilot is as good a level as any that does not look at the other rows: little lies above it
        largest = [_weights(shares[:, t], rows).max(axis=1, initial=1.0) for t, rows in enumerate(groups)]
        regression = None if groups[0].law is None or pilot.propensity is not None else _fitted(pilot)
        span = (0.0, 0.0)
        if regression is not None:
            said = regression.predict(columns)
            span = (float(said.min()), float(said.max()))
        names = tuple(name for name in columns if name != problem.decision)
        size = power_of_two(float(np.sqrt(np.mean(pilot.outcome**2))))
        bets = cls(
            problem, shares, names, math.log(1 / delta), np.minimum(level, np.stack(largest, axis=1)), regression, span, scale=size
        )  # fmt: skip
        first = ScoreSums.empty(K, G)
        for t, (at, rows) in enumerate(zip(pilot.places(), groups, strict=True)):
            first.add(bets.scores(t, rows, _halves(pilot.ticket[at])), np.full(len(at), t), np.ones(len(at)))
        return replace(bets, known=PilotScores.of(first, bets.least))

    @property
    def least(self) -> FloatArray:
        """The least that X and X¹ can be, (2, K, G)."""
        if self.regression is None:
            return np.zeros((2, *self.level.shape))
        return np.stack([-self.level * self.span[1], -self.level * (1.0 - self.span[0])])

    def scores(self, t: int, rows: Decided, halves: FloatArray) -> FloatArray:
        """X and X¹, (2, K, I); ``halves`` of the pilot that predict, as shares (I or 1, 2)."""
        c = np.minimum(_weights(self.shares[:, t], rows), self.level[:, t, None])
        if self.regression is None or rows.law is None:
            return np.stack([c * rows.outcome, c * (1.0 - rows.outcome)])
        given = {name: rows.columns[name] for name in self.names}
        surface = np.clip(self.regression.predict_states(given, rows.law.shape[1], halves), *self.span)
        q = mixture(self.shares[:, t], rows.law)
        taken = np.minimum(rows.law, q * self.level[:, t, None, None])  # q c, also where q is 0
        own = summed_out(taken, surface)
        moved = c * (rows.outcome - at_decision(surface, rows.decision))
        return np.stack([moved + own, summed_out(taken, np.ones_like(surface)) - own - moved])  # (W3)


@dataclass
class BetSums:
    """Sums of the scores of one group's rows outside the pilot. Those of two parts of a log are merged."""

    bets: RowBets
    group: int
    rows: int = 0

    def __post_init__(self) -> None:
        K = len(self.bets.problem.arms)
        self.sums = {"first": ExactSum((2, K)), "second": ExactSum((2, K))}
        """Of X and X², and of X¹ and X¹²: by the size of an outcome, and as they are."""

    def add(self, rows: Decided, count: FloatArray, ticket: NDArray[np.uint64]) -> None:
        """More rows; those of the pilot are not bet on, nor those that their arm cannot have made (``count`` 0)."""
        bet_on = np.where(in_pilot(ticket), 0.0, count)
        self.rows += int(bet_on.sum())
        x, other = self.bets.scores(self.group, rows, np.full((1, 2), 0.5))
        x = x / self.bets.scale
        self.sums["first"].add(np.stack([x, x * x]), bet_on)
        self.sums["second"].add(np.stack([other, other * other]), bet_on)

    def merge(self, other: BetSums) -> None:
        """With another part of the log."""
        self.rows += other.rows
        for name, held in other.sums.items():
            self.sums[name].merge(held)

    def arrays(self) -> Arrays:
        """To be sent."""
        return {"rows": np.array(self.rows), **{name: held.bytes for name, held in self.sums.items()}}

    def merge_arrays(self, sent: Arrays) -> None:
        """With a part that was sent."""
        self.rows += int(sent["rows"])
        for name, held in self.sums.items():
            held.merge_bytes(sent[name])

    @property
    def totals(self) -> tuple[FloatArray, FloatArray]:
        """ΣX and ΣX¹, and of their squares, (2, K) each."""
        (x, xx), (other, squares) = (held.value for held in self.sums.values())
        scale = self.bets.scale
        return np.stack([x * scale, other]), np.stack([xx * scale**2, squares])


def joined_sums(groups: list[BetSums]) -> SumBets | None:
    """What there is to bound means with, of all groups."""
    bets = groups[0].bets
    if bets.known is None:
        return None
    total, square = (np.stack(part, axis=2) for part in zip(*(each.totals for each in groups), strict=True))
    rows = np.array([each.rows for each in groups], dtype=np.float64)
    return SumBets(ScoreSums(rows, total, square), bets.known, bets.log_odds)


def _weights(shares: FloatArray, rows: Decided) -> FloatArray:
    """w_k of rows, (K, I): against the mixture of the arms that made the group's rows outside the pilot, or the propensity."""
    q = mixture(shares, rows.own) if rows.propensity is None else rows.propensity
    return np.asarray(np.where(q > 0, rows.own / np.where(q > 0, q, 1.0), 0.0))  # (W1)


def _halves(ticket: NDArray[np.uint64]) -> FloatArray:
    """The fold that each row of the pilot is in, and that does not predict it, as shares (I, 2)."""
    return np.eye(2)[(ticket // np.uint64(ONE_OF) % np.uint64(2)).astype(np.int64)]


def _fitted(pilot: RowPilot) -> Regression:
    """m from the pilot, in two halves that predict each other's rows."""
    variables, columns = pilot.problem.variables, pilot.columns
    sizes = {name: variables[name].size if variables[name].finite else None for name in columns}
    folds = _halves(pilot.ticket).astype(np.int64)
    return cross_fit(columns, sizes, pilot.problem.decision, pilot.outcome, folds, quick=True)
