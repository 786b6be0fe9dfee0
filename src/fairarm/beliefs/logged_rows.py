"""Beliefs from a log that is read row by row, in two passes and bounded memory.

The first pass keeps a sample and counts; a regression m̂ is fitted on the sample. The second weighs every row:

    μ̂_{k,t} = (1/n_t) Σ_{rows with S = t} [ Σ_v P_k(v | x, t) m̂(x, v) + min(w_k, τ) (Y − m̂(x, V)) ],    w_k = P_k(V | x, t) / q

q is the logged propensity, or the mixture of the arms that made the group's rows; τ is chosen for the least error. Each
group speaks for itself, so no mechanism of a child is needed. Where V cannot be summed out (it is real-valued, or
something observed comes after it) m̂ is a constant and the estimate is the self-normalised weighted mean. Which rows are sampled, and which half of the sample predicts a
row, depends on the row's content alone: the result is the same in any order and on any engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.beliefs.beliefs import Diagnostics, point_values
from fairarm.beliefs.draws import Draws
from fairarm.beliefs.row_bets import Decided, RowBets, RowPilot
from fairarm.beliefs.row_model import RowModel
from fairarm.beliefs.row_sample import fingerprints, sampled
from fairarm.core.fairness import draw_shares, expected_shares
from fairarm.core.posterior.disagreement import Disagreement, WeightedSums, of_rows
from fairarm.core.posterior.weighted_rows import MeanError, RowSums
from fairarm.core.proof.log_bets import SumBets
from fairarm.core.proof.log_intervals import CutSums, bound_delta, cut_level
from fairarm.core.types import FloatArray, IntArray
from fairarm.errors import DataError
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import LoggedRows, groups_of, scaled_outcomes

Chunks = Callable[[], Iterable[LoggedRows]]


@dataclass(frozen=True)
class LoggedBeliefs:
    """Beliefs about K arms from the rows of a log; see the module's docstring."""

    problem: Problem
    rows: FloatArray
    """(G,)."""
    natural: IntArray
    natural_sums: FloatArray
    natural_squares: FloatArray
    """Natural rows by group, their Σ Y' and Σ Y'², (G,)."""
    made: IntArray
    """Rows by arm and group, (K, G); of no arm where they have propensities."""
    means: FloatArray
    """μ̂_{k,t}, (K, G)."""
    errors: tuple[MeanError, ...]
    """Of each group's means by chance."""
    unknown: FloatArray
    """The sd of what the rows do not speak for, (K, G)."""
    cut: CutSums
    """What is certified is made of these, not of the estimate."""
    seen: Diagnostics
    weighted: WeightedSums
    """Rows with their weights as they are."""
    noise: float
    """The variance of an outcome around its prediction."""
    unseen: FloatArray
    """The share of the arm's mass that no row speaks for, (K, G)."""
    impossible: int
    mean_weight: FloatArray
    """Mean weight, its standard error, and the least it should be, (3, K, G): what a logging arm can decide."""
    misfit: float
    """How far decisions are from the law that made them, among rows alike in one column, in standard errors."""
    method: str = "doubly robust"
    draws_unseen: bool = True
    bets: SumBets | None = None
    """What certified intervals are made of where rows have ids; else of ``cut``."""

    @property
    def shares(self) -> FloatArray:
        """P(S) as declared, else by natural rows, (G,)."""
        if self.problem.shares is not None:
            return np.array(self.problem.shares)
        return expected_shares(self.natural)

    def draw(self, rng: np.random.Generator, draws: int) -> Draws:
        """Draws of every arm's mean in every group, as skewed as its rows are, with what is unseen on top.

        Whether the groups share what is unseen is not known: outcomes are drawn as if they did, gaps as if they did not.
        """
        means = []
        # all groups move by ``shared``, which mostly cancels in a gap, and against each other by ``apart``, which does in an outcome
        shared, *apart = rng.standard_normal((len(self.errors), draws, len(self.means)))
        for t, error in enumerate(self.errors):
            moved = error.draw(rng, draws, max(float(self.rows[t]) - 1.0, 2.0))
            unknown = self.unknown[:, t] * (shared + _apart(t, apart))
            means.append(np.clip(self.means[:, t] + moved + unknown, 0.0, 1.0))
        by_group = np.stack(means, axis=-1)
        if self.problem.shares is not None:
            shares = np.broadcast_to(self.problem.shares, (draws, len(means)))
        else:
            shares = draw_shares(self.natural, draws, rng)
        # the last share is 1 less the others, whatever the declared ones sum to
        shares = np.concatenate([shares[:, :-1], 1.0 - shares[:, :-1].sum(axis=1, keepdims=True)], axis=1)
        return Draws((by_group * shares[:, None]).sum(axis=2)[None], by_group[None])

    def values(self, outcomes: FloatArray, means: FloatArray) -> Draws:
        """The estimates themselves."""
        return point_values(self.means[None], self.shares[None])

    def diagnostics(self) -> Diagnostics:
        """Of the weights, summed while the log was read."""
        return self.seen

    def self_check(self) -> Disagreement:
        """The estimates against plain weighted means."""
        asked = self.problem.compiled.rows
        return of_rows(self.weighted, self.noise, self.means, self.shares, self.unseen, asked)

    def design(self) -> None:
        """Sums over rows are no basis to plan pulls by."""


def _apart(t: int, normal: list[FloatArray]) -> FloatArray:
    """What group t moves by apart from the others, of G − 1 standard normal arrays: I − 11'/G is the groups' covariance.

    Helmert's contrasts: each group against all before it. Two groups move by ± ``normal`` / √2.
    """
    parts = [
        (1.0 if t < m else -float(m)) * z / np.sqrt(m * (m + 1.0)) for m, z in enumerate(normal, start=1) if t <= m
    ]
    return np.asarray(sum(parts[1:], parts[0]))


class NoRowsError(DataError):
    """A group has no usable row."""


def believe_rows(problem: Problem, chunks: Chunks, delta: float) -> LoggedBeliefs:
    """Read a log twice and weigh it. ``delta``: the error of the certified intervals, which sets where weights are cut."""
    pilot = RowPilot(problem)
    sample = sampled(problem, pilot.watch(chunks()))
    if not sample.rows.all():
        raise NoRowsError(
            f"No usable rows of the group '{problem.groups[int(np.argmin(sample.rows))]}' are in the log."
        )
    known, K = problem.shares is not None, len(problem.arms)
    by_group = bound_delta(delta, K, known, len(problem.groups))
    each = bound_delta(delta, K, known, 1 + len(problem.rows))
    work = _Weighing(RowModel(problem, sample), cut_level(sample.rows, by_group))
    if pilot.usable:
        work.bet(pilot, each)
    for part in chunks():
        work.add(part)
    return work.beliefs()


@dataclass
class _Sums:
    """Sums over the rows of one group, (K,) or (K, K)."""

    own: RowSums
    """What the usual estimate is made of."""
    overlap: FloatArray
    """Σ min(w, 1)."""
    cut: FloatArray
    """What the certified bounds are made of, with their own cut (`CutSums`)."""
    unseen: FloatArray
    surprise: FloatArray | None = None
    """By stratum and decision: how many more rows than the law says, and the variance of that, (2, strata, states)."""
    two_sided: bool = True
    """False for propensities: a decision that is never made in a stratum is no surprise."""

    def misfit(self) -> float:
        """The largest surprise in standard errors, where some 20 rows or more are expected to vary."""
        if self.surprise is None:
            return 0.0
        more, variance = self.surprise
        enough = variance > 20.0
        size = np.where(enough, more / np.sqrt(np.where(enough, variance, 1.0)), 0.0)
        return float((np.abs(size) if self.two_sided else size).max(initial=0.0))

    @classmethod
    def none(cls, arms: int) -> _Sums:
        """Of no rows."""
        return cls(RowSums.none(arms), np.zeros(arms), np.zeros((5, arms)), np.zeros(arms))


@dataclass
class _Weighing:
    """The second pass: sums over weighted rows."""

    model: RowModel
    level: FloatArray
    """Where weights are cut for the certified bounds, (G,)."""
    impossible: int = 0
    bets: RowBets | None = None

    def __post_init__(self) -> None:
        self.sums = [_Sums.none(len(self.model.problem.arms)) for _ in self.model.problem.groups]

    def bet(self, pilot: RowPilot, delta: float) -> None:
        """Sum the scores of rows that are not in the pilot, too; ``delta``: the error of each certified bound."""
        self.bets = RowBets.after(pilot, [self._decided(*rows) for rows in pilot.by_group()], delta)

    def _decided(self, columns: dict[str, NDArray[Any]], outcome: FloatArray, propensity: FloatArray | None) -> Decided:
        return Decided(columns, outcome, *self.model.probabilities(columns, len(outcome)), propensity)

    def add(self, part: LoggedRows) -> None:
        batch = part.batch
        group, outcome = groups_of(self.model.problem, batch), scaled_outcomes(self.model.problem, batch)
        shares = (
            self.model.sample.half_of(fingerprints(self.model.problem, part))
            if self.model.regression is not None
            else None
        )
        for t in range(len(self.model.problem.groups)):
            rows = np.flatnonzero(group == t)
            if len(rows):
                columns = {name: np.asarray(values)[rows] for name, values in batch.columns.items()}
                propensity = None if part.propensity is None else part.propensity[rows]
                halves = None if shares is None else shares[rows]
                made = self._decided(columns, outcome[rows], propensity)
                self._add_group(t, made, batch.count[rows], halves)
                if self.bets is not None and part.ticket is not None:
                    self.bets.add(t, made, batch.count[rows], part.ticket[rows])

    def _add_group(
        self,
        t: int,
        rows: Decided,
        count: IntArray,
        halves: FloatArray | None,
    ) -> None:
        sums, made = self.sums[t], self.model.sample.made[:, t] / self.model.sample.rows[t]
        columns, outcome, own, law, propensity = rows.columns, rows.outcome, rows.own, rows.law, rows.propensity
        q = made @ own if propensity is None else propensity
        possible = q > 0
        self.impossible += int(count[~possible].sum())
        count = np.where(possible, count, 0)
        # (W1): against the mixture of the arms that made the group's rows, or the logged propensity
        w = own / np.where(possible, q, 1.0)
        direct, at_row = self.model.predicted(t, columns, law, halves, len(outcome))
        c = np.minimum(w, self.model.own_level[:, t, None])
        # (R2), a term per row; sums over them are all that is kept, so a log of any length fits
        psi = direct + c * (outcome - at_row) - self.model.constant
        sums.own = sums.own.plus(RowSums.of(psi, w, c, outcome, count))
        sums.overlap = sums.overlap + np.minimum(w, 1.0) @ count
        c = np.minimum(w, self.level[t])
        cut = c**2
        sums.cut += np.stack(
            [c @ count, c @ (count * outcome), cut @ count, cut @ (count * outcome), cut @ (count * outcome**2)]
        )
        if law is None:
            return
        if propensity is None:
            # decisions that no arm of the log makes for such a person: what the arm does there no row can tell
            mixed = np.tensordot(made, law, axes=1)
            sums.unseen += (law * (mixed == 0)).sum(axis=2) @ count
        sums.two_sided = propensity is None
        surprise = self._surprise(columns, count, None if propensity is not None else mixed, q)
        sums.surprise = surprise if sums.surprise is None else sums.surprise + surprise

    def _surprise(
        self, columns: dict[str, NDArray[Any]], count: IntArray, law: FloatArray | None, q: FloatArray
    ) -> FloatArray:
        """1{V = v} − P(v | x), or 1{V = v}/p − 1, and its variance, summed over strata of rows: (2, strata, states)."""
        chosen = np.eye(self.model.states or 0)[columns[self.model.problem.decision]]
        # of mean 0 if the declared law, or the propensity, is the one that made the rows: a check that no outcome enters
        more = chosen / np.where(q > 0, q, 1.0)[:, None] - 1.0 if law is None else chosen - law
        variance = more**2 if law is None else law * (1.0 - law)
        strata = np.stack([np.ones(len(q)), *(part(columns) for part in self.model.strata)]) * count
        return np.stack([strata @ more, strata @ variance])

    def beliefs(self) -> LoggedBeliefs:
        own = [sums.own for sums in self.sums]
        n = np.array([sums.rows for sums in own])
        if not n.all():
            raise DataError(
                f"Every row of the group '{self.model.problem.groups[int(np.argmin(n))]}' has a decision that its arm cannot make."
            )
        weight = np.stack([sums.plain[:2] for sums in own], axis=2)  # (2, K, G)
        mean = weight[0] / n
        error = np.sqrt(np.maximum(weight[1] / n - mean**2, 0.0) / n)
        # what no arm of the log can decide, or what the weights lack to 1 beyond chance
        never = np.stack([sums.unseen for sums in self.sums], axis=1) / n
        known = self.model.states is not None and self.model.sample.made.any()
        least = 1.0 - never if known else np.zeros_like(never)
        unseen = np.clip(np.maximum(never, 1.0 - mean - 3.0 * error), 0.0, 1.0)
        left = np.stack([sums.cut[0] for sums in own], axis=1) / n
        missed = np.stack([sums.missed(self.model.jump) for sums in own], axis=1)
        return LoggedBeliefs(
            problem=self.model.problem,
            rows=n,
            natural=self.model.sample.natural,
            natural_sums=self.model.sample.natural_sums,
            natural_squares=self.model.sample.natural_squares,
            made=self.model.sample.made,
            means=np.stack([sums.mean for sums in own], axis=1) + self.model.constant,
            errors=tuple(sums.error(self.model.jump) for sums in own),
            unknown=np.hypot(self.model.unseen_sd * unseen, missed),
            cut=CutSums(n, np.stack([sums.cut for sums in self.sums], axis=2), np.broadcast_to(self.level, mean.shape)),
            seen=self._diagnostics(weight, n, np.minimum(unseen + left, 1.0)),
            weighted=_weighted(own),
            noise=self.model.jump.variance,
            unseen=unseen,
            impossible=self.impossible,
            mean_weight=np.stack([mean, error, least]),
            misfit=max(sums.misfit() for sums in self.sums),
            method="weighted mean" if self.model.regression is None else "doubly robust",
            bets=None if self.bets is None else self.bets.bets(),
        )

    def _diagnostics(self, weight: FloatArray, n: FloatArray, unseen: FloatArray) -> Diagnostics:
        total = n / n.sum()
        square = weight[1].sum(axis=1)
        effective = np.divide(weight[0].sum(axis=1) ** 2, square, out=np.zeros(len(square)), where=square > 0)
        return Diagnostics(
            effective=effective[None],
            largest_weight=np.max([sums.own.largest for sums in self.sums], axis=0)[None],
            overlap=(np.stack([sums.overlap for sums in self.sums], axis=1) / n @ total)[None],
            unseen=(unseen @ total)[None],
        )


def _weighted(own: list[RowSums]) -> WeightedSums:
    """By group, each over its rows: no row is weighted to both."""
    n = np.array([sums.rows for sums in own])
    w, square, wy, wwy, wwyy = np.stack([sums.plain for sums in own], axis=2)  # (K, G) each
    second = np.stack([square, wwy, wwyy])[..., None] * np.eye(len(n)) / n[:, None] ** 2
    return WeightedSums(np.stack([w, wy]) / n, second, np.stack([sums.largest for sums in own], axis=1) / n)
