"""Beliefs from a log that is read row by row, in two passes and bounded memory.

The first pass keeps a sample and counts; a regression m̂ is fitted on the sample. The second weighs every row:

    μ̂_{k,t} = (1/n_t) Σ_{rows with S = t} [ Σ_v P_k(v | x, t) m̂(x, v) + min(w_k, τ) (Y − m̂(x, V)) ],    w_k = P_k(V | x, t) / q

q is the logged propensity, or the mixture of the arms that made the group's rows; τ is chosen for the least error. Each
group speaks for itself, so no mechanism of a child is needed. Where V cannot be summed out (it is real-valued, or
something observed comes after it) m̂ is a constant and the estimate is the self-normalised weighted mean. Which rows are sampled, and which half of the sample predicts a
row, depends on the row's content alone, and sums are exact: the result is the same in any split and order, and on any engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar

import numpy as np

from fairarm.beliefs.beliefs import Diagnostics, point_values
from fairarm.beliefs.draws import Draws
from fairarm.beliefs.row_bets import joined_sums
from fairarm.beliefs.row_model import RowModel
from fairarm.beliefs.row_sample import FirstPass
from fairarm.beliefs.row_sums import WeighedRows
from fairarm.core.fairness import draw_shares, expected_shares
from fairarm.core.packed import Arrays
from fairarm.core.posterior.disagreement import Disagreement, WeightedSums, of_rows
from fairarm.core.posterior.doubly_robust import PRIOR_SD
from fairarm.core.posterior.weighted_rows import MeanError, RowSums
from fairarm.core.proof.log_bets import SumBets
from fairarm.core.proof.log_intervals import CutSums, bound_delta, cut_level
from fairarm.core.types import FloatArray, IntArray
from fairarm.errors import DataError
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import LoggedRows


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
    unseen_sd: float
    """The sd of a mean that no row speaks for."""
    impossible: int
    mean_weight: FloatArray
    """Mean weight, its standard error, and the least it should be, (3, K, G): what a logging arm can decide."""
    misfit: float
    """How far decisions are from the law that made them, among rows alike in one column, in standard errors."""
    method: str = "doubly robust"
    draws_unseen: bool = True
    rules: int = 1
    """That made the rows, as far as propensities tell."""
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
            means.append(np.clip(self.means[:, t] + moved + unknown, *self.problem.outcome.possible))
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
        return point_values(self.problem, self.means[None], self.shares[None])

    def diagnostics(self) -> Diagnostics:
        """Of the weights, summed while the log was read."""
        return self.seen

    def self_check(self) -> Disagreement:
        """The estimates against plain weighted means."""
        asked = self.problem.compiled.rows
        return of_rows(self.weighted, self.noise, self.means, self.shares, self.unseen, self.unseen_sd, asked)

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


class Pass(Protocol):
    """What is gathered in one pass over a log. It takes more rows, and what was gathered from other parts of the log."""

    def add(self, part: LoggedRows, /) -> None:
        """More rows."""

    def merge_arrays(self, sent: Arrays, /) -> None:
        """What another part of the log has sent."""

    def arrays(self) -> Arrays:
        """What is sent of this part."""


P = TypeVar("P", bound=Pass)


class Passes(Protocol):
    """A log that can be passed over: wherever its rows are, ``start`` makes what gathers them, and all that was gathered comes back."""

    def __call__(self, start: Callable[[], P], /) -> P:
        """One pass."""


def believe_rows(problem: Problem, rows: Passes, delta: float) -> LoggedBeliefs:
    """Pass over a log twice and weigh it. ``delta``: the error of the certified intervals, which sets where weights are cut."""
    first = rows(partial(FirstPass, problem))
    sample = first.sample()
    if not sample.rows.all():
        raise NoRowsError(
            f"No usable rows of the group '{problem.groups[int(np.argmin(sample.rows))]}' are in the log."
        )
    known, K = problem.shares is not None, len(problem.arms)
    by_group = bound_delta(delta, K, known, len(problem.groups))
    each = bound_delta(delta, K, known, 1 + len(problem.rows))
    model = RowModel(problem, sample)
    weigher = model.weigher(cut_level(sample.rows, by_group), first.pilot, each)
    return _beliefs(model, rows(partial(WeighedRows, weigher)))


def _beliefs(model: RowModel, found: WeighedRows) -> LoggedBeliefs:
    """What the sums of the second pass say."""
    problem, sample, work = model.problem, model.sample, found.weigher
    own, cut, overlap, never = zip(*(held.totals.sums_of() for held in found.groups), strict=True)
    n = np.array([sums.rows for sums in own])
    if not n.all():
        raise DataError(
            f"Every row of the group '{problem.groups[int(np.argmin(n))]}' has a decision that its arm cannot make."
        )
    weight = np.stack([sums.plain[:2] for sums in own], axis=2)  # (2, K, G)
    mean = weight[0] / n
    error = np.sqrt(np.maximum(weight[1] / n - mean**2, 0.0) / n)
    # what no arm of the log can decide, or what the weights lack to 1 beyond chance
    lacking = np.stack(never, axis=1) / n
    known = model.states is not None and sample.made.any()
    unseen = np.clip(np.maximum(lacking, np.where(1.0 - mean > 3.0 * error, 1.0 - mean, 0.0)), 0.0, 1.0)
    left = np.stack([sums.cut[0] for sums in own], axis=1) / n
    missed = np.stack([sums.missed(model.jump) for sums in own], axis=1)
    errors = tuple(sums.error(model.jump) for sums in own)
    return LoggedBeliefs(
        problem=problem,
        rows=n,
        natural=sample.natural,
        natural_sums=sample.natural_sums,
        natural_squares=sample.natural_squares,
        made=sample.made,
        means=np.stack([sums.mean for sums in own], axis=1) + model.constant,
        errors=errors,
        unknown=np.hypot(model.unseen_sd * unseen, missed),
        cut=CutSums(n, np.stack(cut, axis=2), np.broadcast_to(work.level, mean.shape)),
        seen=replace(
            _diagnostics(own, np.stack(overlap, axis=1), np.minimum(unseen + left, 1.0)),
            skewness=_skewness(errors) if problem.outcome.values is None else None,
        ),
        weighted=_weighted(own),
        noise=model.jump.variance,
        unseen=unseen,
        unseen_sd=PRIOR_SD if problem.outcome.values is not None else model.unseen_sd,
        impossible=found.impossible,
        mean_weight=np.stack([mean, error, 1.0 - lacking if known else np.zeros_like(lacking)]),
        misfit=max(held.misfit() for held in found.groups),
        method="weighted mean" if model.regression is None else "doubly robust",
        rules=model.rules,
        bets=None if work.bets is None else joined_sums([held.bets for held in found.groups if held.bets is not None]),
    )


def _diagnostics(own: tuple[RowSums, ...], overlap: FloatArray, unseen: FloatArray) -> Diagnostics:
    n = np.array([sums.rows for sums in own])
    total = n / n.sum()
    first, square = (np.stack([sums.plain[i] for sums in own], axis=1).sum(axis=1) for i in (0, 1))
    effective = np.divide(first**2, square, out=np.zeros(len(square)), where=square > 0)
    return Diagnostics(
        effective=effective[None],
        largest_weight=np.max([sums.largest for sums in own], axis=0)[None],
        overlap=(overlap / n @ total)[None],
        unseen=(unseen @ total)[None],
    )


def _skewness(errors: tuple[MeanError, ...]) -> FloatArray:
    """Of every arm in the group where it is largest, (1, K)."""
    by_group = [np.where(each.sd > 0, np.abs(each.skew), np.inf) for each in errors]
    return np.asarray(np.max(by_group, axis=0)[None])


def _weighted(own: tuple[RowSums, ...]) -> WeightedSums:
    """By group, each over its rows: no row is weighted to both."""
    n = np.array([sums.rows for sums in own])
    w, square, wy, wwy, wwyy = np.stack([sums.plain for sums in own], axis=2)  # (K, G) each
    second = np.stack([square, wwy, wwyy])[..., None] * np.eye(len(n)) / n[:, None] ** 2
    return WeightedSums(np.stack([w, wy]) / n, second, np.stack([sums.largest for sums in own], axis=1) / n)
