"""The second pass over a log that is read row by row: every row is weighed, and only sums are kept.

A `Weigher` is all that is needed for it, and is sent to wherever the rows are. What rows add up to is exact in any split
and order, given the numbers of each row; those do not depend on the rows beside it, but for models that others have fitted:
their probabilities are rounded to 30 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.beliefs.row_bets import BetSums, Decided, RowBets, at_decision, mixture, summed_out
from fairarm.beliefs.row_sample import fingerprints, halves_of, second_half
from fairarm.core.exact_sums import BLOCK, LARGEST, ExactSum
from fairarm.core.packed import Arrays, named, within
from fairarm.core.posterior.regression import Regression
from fairarm.core.posterior.row_totals import RowTotals, Units, Weighted
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.mechanism import SharedColumns, Table
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import LoggedRows, groups_of, scaled_outcomes

Stratum = Callable[[dict[str, NDArray[Any]]], NDArray[Any]]

AT_ONCE = 1 << 16
"""Numbers (arms × rows) that are weighed at once: what fits into a processor's own memory."""
FEW_KINDS = 16
"""Kinds of rows up to which each is looked for by itself; more are sorted."""
LEAST_RUN = 1 << 11
"""Rows of a run, on average, for which it is worth to be apart: below that what a call costs is more than what it saves."""
ROUNDED = np.uint64(1) << np.uint64(23)
"""A double has 53 bits, of which 30 are kept."""


def thirty_bits(chances: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """Numbers, 0 or more, rounded to 30 significant bits, in place where no other place is given: what a model says of a row may
    differ in the last bits with the rows that it is asked about beside it."""
    out = chances if out is None else out
    bits = np.add(chances.view(np.uint64), ROUNDED >> np.uint64(1), out=out.view(np.uint64))
    bits &= ~(ROUNDED - np.uint64(1))
    return out


def probabilities(
    problem: Problem, states: int | None, columns: dict[str, NDArray[Any]], length: int, out: FloatArray | None = None
) -> FloatArray:
    """P_k of every decision, (K, states, I), where V is summed out, else of each row's own, (K, I); ``out``: a place for the former."""
    arms = problem.arms
    if states is None:
        return np.stack([_density(arm.mechanism, columns) for arm in arms])
    law = np.empty((len(arms), states, length)) if out is None else out
    columns = SharedColumns(columns)
    for k, arm in enumerate(arms):
        found = arm.mechanism.distribution(columns, states, length).T
        if isinstance(arm.mechanism, Table):
            law[k] = found
        else:
            thirty_bits(found, out=law[k])
    return law


def _density(mechanism: Any, columns: dict[str, NDArray[Any]]) -> FloatArray:
    found = np.exp(np.asarray(mechanism.log_prob(columns), dtype=np.float64))
    return found if isinstance(mechanism, Table) else thirty_bits(np.minimum(found, LARGEST))


@dataclass(frozen=True, eq=False)
class Weigher:
    """How rows are weighed, made of what the first pass left."""

    problem: Problem
    states: int | None
    """Of V where it can be summed out of a row."""
    regression: Regression | None
    names: tuple[str, ...]
    """The columns that the regression looks at, without the decision."""
    repeated: NDArray[np.uint64]
    """Fingerprints of rows that both halves of the sample predict."""
    made: FloatArray
    """The arms' shares of each group's rows, (K, G)."""
    own_level: FloatArray
    level: FloatArray
    """Where weights are cut: for the estimate, (K, G), and for the certified bounds, (G,)."""
    centres: FloatArray
    constant: float
    strata: tuple[Stratum, ...]
    units: Units
    bets: RowBets | None = None

    def surface(self, columns: dict[str, NDArray[Any]], part: LoggedRows, runs: Runs) -> FloatArray | None:
        """m̂ of every decision, (states, I), each row by the half of the sample that did not see it; ``columns``: in the order of
        the runs."""
        if self.regression is None or self.states is None:
            return None
        given = {name: columns[name] for name in self.names}
        if runs.turn is None:
            prints = fingerprints(self.problem, part)[runs.order]
            return self.regression.predict_states(given, self.states, halves_of(prints, self.repeated))
        both = enumerate((slice(0, runs.turn), slice(runs.turn, None)))
        parts = [self.regression.predict_fold({n: v[at] for n, v in given.items()}, self.states, f) for f, at in both]
        return np.concatenate(parts, axis=1)

    def decided(
        self,
        columns: dict[str, NDArray[Any]],
        outcome: FloatArray,
        propensity: FloatArray | None,
        room: FloatArray | None = None,
    ) -> Decided:
        """What every arm would have decided; ``room`` for the chances of every decision, (K, states, I)."""
        chances = probabilities(self.problem, self.states, columns, len(outcome), room)
        return Decided(columns, outcome, columns[self.problem.decision], chances, propensity)


@dataclass
class WeighedGroup:
    """Sums over the rows of one group."""

    weigher: Weigher
    group: int
    impossible: int = 0
    two_sided: bool = True
    """False for propensities: a decision that is never made in a stratum is no surprise."""

    def __post_init__(self) -> None:
        work = self.weigher
        self.totals = RowTotals(len(work.problem.arms), work.units)
        self.surprise = ExactSum((2 * (work.states or 0), 1 + len(work.strata)))
        """By decision and stratum: how many more rows than the law says, and the variance of that."""
        self.bets = None if work.bets is None else BetSums(work.bets, self.group)

    def add(self, rows: Decided, count: FloatArray, surface: FloatArray | None, ticket: Any) -> None:
        """More rows."""
        work, t = self.weigher, self.group
        outcome, own, law = rows.outcome, rows.own, rows.law
        q = mixture(work.made[:, t], own) if rows.propensity is None else rows.propensity
        if not q.min(initial=1.0) > 0:
            possible = q > 0
            self.impossible += int(count[~possible].sum())
            count, q = np.where(possible, count, 0.0), np.where(possible, q, 1.0)
        # (W1): against the mixture of the arms that made the group's rows, or the logged propensity
        w = own / q
        heaviest = w.max(axis=1, initial=0.0)
        if heaviest.max() > LARGEST:
            w, heaviest = np.minimum(w, LARGEST), np.minimum(heaviest, LARGEST)
        c, d = _cut(w, heaviest, work.own_level[:, t]), _cut(w, heaviest, work.level[t : t + 1])
        # (R2), a term per row; sums over them are all that is kept, so a log of any length fits
        if surface is None or law is None:
            centre = work.centres[:, t, None]
            psi = centre + c * (outcome - centre)
        else:
            psi = summed_out(law, surface)
            psi += c * (outcome - at_decision(surface, rows.decision))
        psi -= work.constant
        mixed = None if law is None or rows.propensity is not None else mixture(work.made[:, t], law)
        unseen = None
        if law is not None and mixed is not None and not mixed.all():
            # decisions that no arm of the log makes for such a person: what the arm does there no row can tell
            unseen = summed_out(law, (mixed == 0).astype(np.float64))
        self.totals.add(Weighted(w, c, d, psi, unseen, outcome, count))
        if law is not None:
            self.two_sided = rows.propensity is None
            self._compare(rows, count, mixed, q)
        if self.bets is not None and ticket is not None:
            self.bets.add(rows, count, ticket)

    def _compare(self, rows: Decided, count: FloatArray, law: FloatArray | None, q: FloatArray) -> None:
        """1{V = v} − P(v | x), or 1{V = v}/p − 1, and its variance, summed over strata of rows."""
        work = self.weigher
        states = work.states or 0
        made = np.empty((2 * states, len(q)))
        # of mean 0 if the declared law, or the propensity, is the one that made the rows: a check that no outcome enters
        if law is not None:
            top = 1.0
            for s in range(states):
                np.subtract(rows.decision == s, law[s], out=made[s])
                np.multiply(law[s], 1.0 - law[s], out=made[states + s])
        else:
            more = 1.0 / q - 1.0
            square, top = more * more, max(1.0, 1.0 / float(q.min())) ** 2
            made[:states], made[states:] = -1.0, 1.0
            for s in range(states):
                decided = rows.decision == s
                np.copyto(made[s], more, where=decided)
                np.copyto(made[states + s], square, where=decided)
        strata = np.empty((1 + len(work.strata), len(q)))
        strata[0] = 1.0
        for out, part in zip(strata[1:], work.strata, strict=True):
            out[:] = part(rows.columns)
        if not (count == 1.0).all():
            strata *= count
        self.surprise.add(made, strata.T, top, float(count.sum()))

    def misfit(self) -> float:
        """The largest surprise in standard errors, where some 20 rows or more are expected to vary."""
        states = self.weigher.states or 0
        more, variance = self.surprise.value[:states], self.surprise.value[states:]
        enough = variance > 20.0
        size = np.where(enough, more / np.sqrt(np.where(enough, variance, 1.0)), 0.0)
        return float((np.abs(size) if self.two_sided else size).max(initial=0.0))

    def merge(self, other: WeighedGroup) -> None:
        """With another part of the log."""
        self.impossible += other.impossible
        self.two_sided &= other.two_sided
        self.totals.merge(other.totals)
        self.surprise.merge(other.surprise)
        if self.bets is not None and other.bets is not None:
            self.bets.merge(other.bets)

    def arrays(self) -> Arrays:
        """To be sent."""
        counts = {"impossible": np.array(self.impossible), "two_sided": np.array(self.two_sided)}
        bets = {} if self.bets is None else named("bets", self.bets.arrays())
        return {**counts, "surprise": self.surprise.bytes, **named("totals", self.totals.arrays()), **bets}

    def merge_arrays(self, sent: Arrays) -> None:
        """With a part that was sent."""
        self.impossible += int(sent["impossible"])
        self.two_sided &= bool(sent["two_sided"])
        self.totals.merge_arrays(within("totals", sent))
        self.surprise.merge_bytes(sent["surprise"])
        if self.bets is not None:
            self.bets.merge_arrays(within("bets", sent))


@dataclass(frozen=True)
class Runs:
    """Rows in runs of one group and, where runs remain long, of one half of the sample and of one decision: then nothing needs to be
    picked out row by row."""

    order: IntArray
    ends: list[tuple[int, int, int]]
    """Group, start and end of each run."""
    turn: int | None
    """Where the rows of the second half begin; None where halves are not apart."""

    @classmethod
    def of(cls, work: Weigher, part: LoggedRows) -> Runs:
        """Of a part of the log."""
        G, rows, states = len(work.problem.groups), part.batch.size, 1
        kind, kinds = groups_of(work.problem, part.batch).astype(np.uint16), G
        by_half = work.regression is not None and not len(work.repeated) and rows >= 2 * G * LEAST_RUN
        if by_half:
            kind += np.uint16(G) * second_half(fingerprints(work.problem, part))
            kinds *= 2
        if work.states is not None and rows >= kinds * work.states * LEAST_RUN:
            states = work.states
            kind = kind * np.uint16(states) + part.batch.columns[work.problem.decision].astype(np.uint16)
            kinds *= states
        if kinds <= FEW_KINDS:  # quicker than to sort
            places = [np.flatnonzero(kind == i) for i in range(kinds)]
            order, sizes = np.concatenate(places), [len(at) for at in places]
        else:
            order, sizes = np.argsort(kind, kind="stable"), np.bincount(kind, minlength=kinds).tolist()
        ends = np.cumsum([0, *sizes]).tolist()
        runs = [(i // states % G, ends[i], ends[i + 1]) for i in range(kinds)]
        return cls(order, runs, ends[kinds // 2] if by_half else None)


@dataclass
class WeighedRows:
    """What the second pass gathers. That of two parts of a log is merged."""

    weigher: Weigher

    def __post_init__(self) -> None:
        self.groups = [WeighedGroup(self.weigher, t) for t in range(len(self.weigher.problem.groups))]
        self._law = np.empty((0, 0, 0))

    def add(self, part: LoggedRows) -> None:
        """More rows."""
        work, batch = self.weigher, part.batch
        if not batch.size:
            return
        runs = Runs.of(work, part)
        order, outcome = runs.order, work.problem.outcome.node
        columns = {name: np.asarray(values)[order] for name, values in batch.columns.items() if name != outcome}
        propensity = None if part.propensity is None else part.propensity[order]
        rows = work.decided(columns, scaled_outcomes(work.problem, batch)[order], propensity, self._room(batch.size))
        surface = work.surface(columns, part, runs)
        count = np.ones(len(order)) if (batch.count == 1).all() else batch.count[order].astype(np.float64)
        ticket = None if part.ticket is None else part.ticket[order]
        for t, start, end in runs.ends:
            for at in _blocks(start, end, len(work.problem.arms)):
                self.groups[t].add(
                    rows.take(at),
                    count[at],
                    None if surface is None else surface[:, at],
                    None if ticket is None else ticket[at],
                )

    def _room(self, rows: int) -> FloatArray:
        """Memory for the chances of all decisions, the same for every part: a system takes long to hand out new."""
        if rows > self._law.shape[2]:
            self._law = np.empty((len(self.weigher.problem.arms), self.weigher.states or 0, rows))
        return self._law[:, :, :rows]

    def merge(self, other: WeighedRows) -> None:
        """With another part of the log."""
        for mine, theirs in zip(self.groups, other.groups, strict=True):
            mine.merge(theirs)

    def arrays(self) -> Arrays:
        """To be sent."""
        return {name: v for t, held in enumerate(self.groups) for name, v in named(str(t), held.arrays()).items()}

    def merge_arrays(self, sent: Arrays) -> None:
        """With a part that was sent."""
        for t, held in enumerate(self.groups):
            held.merge_arrays(within(str(t), sent))

    @property
    def impossible(self) -> int:
        """Rows whose decision no arm that made rows could make."""
        return sum(held.impossible for held in self.groups)


def _cut(w: FloatArray, heaviest: FloatArray, level: FloatArray) -> FloatArray:
    """Weights (K, I), no larger than levels (K or 1,); where none is, they themselves."""
    return w if (heaviest <= level).all() else np.minimum(w, level[:, None])


def _blocks(start: int, end: int, arms: int) -> list[slice]:
    """Slices of like size."""
    rows = end - start
    pieces = -(-rows // min(max(AT_ONCE // arms, 256), BLOCK))
    return [slice(start + rows * i // pieces, start + rows * (i + 1) // pieces) for i in range(pieces)]
