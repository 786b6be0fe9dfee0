"""Beliefs from a log that is read row by row, in two passes and bounded memory.

The first pass keeps a sample and counts; a regression m̂ is fitted on the sample. The second weighs every row:

    μ̂_{k,t} = (1/n_t) Σ_{rows with S = t} [ Σ_v P_k(v | x, t) m̂(x, v) + w_k (Y − m̂(x, V)) ],    w_k = P_k(V | x, t) / q

q is the logged propensity, or the mixture of the arms that made the group's rows. Each group speaks for itself, so no
mechanism of a child is needed. Where V cannot be summed out (it is real-valued, or something observed comes after
it) m̂ is a constant and the estimate is the weighted mean. Which rows are sampled, and which half of the sample predicts a
row, depends on the row's content alone: the result is the same in any order and on any engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.beliefs.beliefs import Diagnostics
from fairarm.beliefs.row_bets import Decided, RowBets, RowPilot
from fairarm.beliefs.row_sample import Sample, fingerprints, sampled
from fairarm.core.fairness import draw_shares, expected_shares
from fairarm.core.posterior.doubly_robust import PRIOR_SD
from fairarm.core.posterior.regression import Regression, cross_fit
from fairarm.core.proof.log_bets import SumBets
from fairarm.core.proof.log_intervals import CutSums, bound_delta, cut_level
from fairarm.core.types import FloatArray, IntArray
from fairarm.errors import DataError
from fairarm.problem.pair import pair_of
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import LoggedRows, groups_of, scaled_outcomes

FEW_ROWS = 8.0
"""Sampling variances are taken (1 + 8/rows) times as large: the error of m̂ is in no formula."""

Chunks = Callable[[], Iterable[LoggedRows]]


@dataclass(frozen=True)
class LoggedBeliefs:
    """Jointly normal beliefs about K arms from the rows of a log; see the module's docstring."""

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
    roots: tuple[FloatArray, ...]
    """For each group a root of the covariance over arms, (K, K)."""
    lost: FloatArray
    """The share of the arm's mass that the rows do not speak for, (K, G)."""
    cut: CutSums
    seen: Diagnostics
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

    def draw(self, rng: np.random.Generator, draws: int) -> tuple[FloatArray, FloatArray]:
        """Normal draws of every arm's mean in every group, wider by √(ν/χ²_ν), with what is unseen anywhere in [0, 1].

        Whether the groups share what is unseen is not known: outcomes are drawn as if they did, gaps as if they did not.
        """
        pair_of(self.problem)
        means = []
        # both groups move by ``shared``, which mostly cancels in a gap, and in opposite ways by ``apart``, which does in an outcome
        shared, apart = rng.standard_normal((2, draws, len(self.means)))
        for t, (root, own) in enumerate(zip(self.roots, (apart, -apart), strict=True)):
            freedom = max(float(self.rows[t]) - 1.0, 2.0)
            wider = np.sqrt(freedom / rng.chisquare(freedom, (draws, 1)))
            moved = wider * (rng.standard_normal((draws, len(root))) @ root.T)
            unknown = PRIOR_SD * self.lost[:, t] * (shared + own / np.sqrt(2.0))
            means.append(np.clip(self.means[:, t] + moved + unknown, 0.0, 1.0))
        first, second = means
        if self.problem.shares is not None:
            share = np.full((draws, 1), self.problem.shares[0])
        else:
            share = draw_shares(self.natural, draws, rng)[:, :1]
        return (share * first + (1.0 - share) * second)[None], (first - second)[None]

    def diagnostics(self) -> Diagnostics:
        """Of the weights, summed while the log was read."""
        return self.seen

    def design(self) -> None:
        """Sums over rows are no basis to plan pulls by."""


class NoRowsError(DataError):
    """A group has no usable row."""


def believe_rows(problem: Problem, chunks: Chunks, delta: float) -> LoggedBeliefs:
    """Read a log twice and weigh it. ``delta``: the error of the certified intervals, which sets where weights are cut."""
    pair_of(problem)
    pilot = RowPilot(problem)
    sample = sampled(problem, pilot.watch(chunks()))
    if not sample.rows.all():
        raise NoRowsError(
            f"No usable rows of the group '{problem.groups[int(np.argmin(sample.rows))]}' are in the log."
        )
    each = bound_delta(delta, len(problem.arms), problem.shares is not None)
    work = _Weighing(problem, sample, cut_level(sample.rows, each))
    if pilot.usable:
        work.bet(pilot, each)
    for part in chunks():
        work.add(part)
    return work.beliefs()


@dataclass
class _Sums:
    """Sums over the rows of one group, (K,) or (K, K)."""

    K: int
    rows: float = 0.0
    psi: FloatArray = field(init=False)
    psi_psi: FloatArray = field(init=False)
    weight: FloatArray = field(init=False)
    """Σw, Σw², Σ min(w, 1), Σ max(w − τ, 0), (4, K)."""
    largest: FloatArray = field(init=False)
    cut: FloatArray = field(init=False)
    unseen: FloatArray = field(init=False)
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

    def __post_init__(self) -> None:
        self.psi, self.psi_psi, self.unseen = np.zeros(self.K), np.zeros((self.K, self.K)), np.zeros(self.K)
        self.weight, self.largest, self.cut = np.zeros((4, self.K)), np.zeros(self.K), np.zeros((5, self.K))


@dataclass
class _Weighing:
    problem: Problem
    sample: Sample
    level: FloatArray
    impossible: int = 0
    bets: RowBets | None = None

    def __post_init__(self) -> None:
        self.sums = [_Sums(len(self.problem.arms)) for _ in self.problem.groups]

    def bet(self, pilot: RowPilot, delta: float) -> None:
        """Sum the scores of rows that are not in the pilot, too; ``delta``: the error of each certified bound."""
        self.bets = RowBets.after(pilot, [self._decided(*rows) for rows in pilot.by_group()], delta)

    def _decided(self, columns: dict[str, NDArray[Any]], outcome: FloatArray, propensity: FloatArray | None) -> Decided:
        return Decided(columns, outcome, *self._probabilities(columns, len(outcome)), propensity)

    @cached_property
    def states(self) -> int | None:
        """States of V where it can be summed out of a row, else None."""
        problem = self.problem
        variable = problem.variables[problem.decision]
        below = problem.roles.graph.descendants(problem.decision) & {*problem.cell_columns}
        return variable.size if variable.finite and not below else None

    @cached_property
    def regression(self) -> Regression | None:
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

    def add(self, part: LoggedRows) -> None:
        batch = part.batch
        group, outcome = groups_of(self.problem, batch), scaled_outcomes(self.problem, batch)
        shares = self.sample.half_of(fingerprints(self.problem, part)) if self.regression is not None else None
        for t in range(len(self.problem.groups)):
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
        sums, made = self.sums[t], self.sample.made[:, t] / self.sample.rows[t]
        columns, outcome, own, law, propensity = rows.columns, rows.outcome, rows.own, rows.law, rows.propensity
        q = made @ own if propensity is None else propensity
        possible = q > 0
        self.impossible += int(count[~possible].sum())
        count = np.where(possible, count, 0)
        # (B1): against the mixture of the arms that made the group's rows, or the logged propensity
        w = own / np.where(possible, q, 1.0)
        c = np.minimum(w, self.level[t])
        direct, at_row = self._predicted(columns, law, halves, len(outcome))
        # (P9), a term per row; sums of ψ and ψψᵀ are all that is kept of them, so a log of any length fits
        psi = direct + c * (outcome - at_row)
        sums.rows += float(count.sum())
        sums.psi += psi @ count
        sums.psi_psi += (psi * count) @ psi.T
        sums.weight += np.stack([w @ count, w**2 @ count, np.minimum(w, 1.0) @ count, (w - c) @ count])
        sums.largest = np.maximum(sums.largest, np.max(w * possible, axis=1))
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
        chosen = np.eye(self.states or 0)[columns[self.problem.decision]]
        # of mean 0 if the declared law, or the propensity, is the one that made the rows: a check that no outcome enters
        more = chosen / np.where(q > 0, q, 1.0)[:, None] - 1.0 if law is None else chosen - law
        variance = more**2 if law is None else law * (1.0 - law)
        strata = np.stack([np.ones(len(q)), *(part(columns) for part in self.strata)]) * count
        return np.stack([strata @ more, strata @ variance])

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

    def _probabilities(self, columns: dict[str, NDArray[Any]], length: int) -> tuple[FloatArray, FloatArray | None]:
        """P_k of each row's decision, (K, I), and of every decision, (K, I, states), where V is summed out."""
        arms, V = self.problem.arms, self.problem.decision
        if self.states is None:
            return np.exp(np.stack([arm.mechanism.log_prob(columns) for arm in arms])), None
        law = np.stack([arm.mechanism.distribution(columns, self.states, length) for arm in arms])
        return law[:, np.arange(length), columns[V]], law

    def _predicted(
        self, columns: dict[str, NDArray[Any]], law: FloatArray | None, halves: FloatArray | None, length: int
    ) -> tuple[FloatArray, FloatArray]:
        """Σ_v P_k(v) m̂(x, v), (K, I), and m̂ at each row, (I,)."""
        if self.regression is None or law is None or halves is None:
            return np.full((len(self.problem.arms), length), self.constant), np.full(length, self.constant)
        given = {name: columns[name] for name in self.sample.columns if name != self.problem.decision}
        surface = self.regression.predict_surface(given, np.arange(law.shape[2]), halves)
        return np.einsum("kis,is->ki", law, surface), surface[np.arange(length), columns[self.problem.decision]]

    def beliefs(self) -> LoggedBeliefs:
        n = np.array([sums.rows for sums in self.sums])
        if not n.all():
            raise DataError(
                f"Every row of the group '{self.problem.groups[int(np.argmin(n))]}' has a decision that its arm cannot make."
            )
        weight = np.stack([sums.weight for sums in self.sums], axis=2)  # (4, K, G)
        mean = weight[0] / n
        error = np.sqrt(np.maximum(weight[1] / n - mean**2, 0.0) / n)
        # what the weights lack to 1 beyond chance, what is cut off, and what no arm of the log can decide
        unseen = np.stack([sums.unseen for sums in self.sums], axis=1) / n
        known = self.states is not None and self.sample.made.any()
        least = 1.0 - unseen if known else np.zeros_like(unseen)
        lost = unseen + weight[3] / n
        lost = np.clip(np.maximum(lost, 1.0 - mean - 3.0 * error), 0.0, 1.0)
        cut = np.stack([sums.cut for sums in self.sums], axis=2)
        return LoggedBeliefs(
            problem=self.problem,
            rows=n,
            natural=self.sample.natural,
            natural_sums=self.sample.natural_sums,
            natural_squares=self.sample.natural_squares,
            made=self.sample.made,
            means=np.stack([sums.psi for sums in self.sums], axis=1) / n,
            roots=tuple(_root(sums) for sums in self.sums),
            lost=lost,
            cut=CutSums(n, cut, np.broadcast_to(self.level, mean.shape)),
            seen=self._diagnostics(weight, n, lost),
            impossible=self.impossible,
            mean_weight=np.stack([mean, error, least]),
            misfit=max(sums.misfit() for sums in self.sums),
            method="weighted mean" if self.regression is None else "doubly robust",
            bets=None if self.bets is None else self.bets.bets(),
        )

    def _diagnostics(self, weight: FloatArray, n: FloatArray, lost: FloatArray) -> Diagnostics:
        total = n / n.sum()
        square = weight[1].sum(axis=1)
        effective = np.divide(weight[0].sum(axis=1) ** 2, square, out=np.zeros(len(square)), where=square > 0)
        return Diagnostics(
            effective=effective[None],
            largest_weight=np.max([sums.largest for sums in self.sums], axis=0)[None],
            overlap=(weight[2] / n @ total)[None],
            unseen=(lost @ total)[None],
        )


def _is(name: str, state: int, columns: dict[str, NDArray[Any]]) -> NDArray[Any]:
    return np.asarray(columns[name] == state)


def _above(name: str, value: float, columns: dict[str, NDArray[Any]]) -> NDArray[Any]:
    return np.asarray(columns[name] > value)


def _root(sums: _Sums) -> FloatArray:
    """A root of the covariance of the mean of ψ over arms."""
    n = sums.rows
    mean = sums.psi / n
    covariance = (sums.psi_psi / n - np.outer(mean, mean)) / max(n - 1.0, 1.0) * (1.0 + FEW_ROWS / n)
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
