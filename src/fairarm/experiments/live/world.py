"""The world of a live study: who arrives when, what comes of them, and when it is told, if ever."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairarm.core.types import FloatArray, IntArray
from fairarm.errors import OptionError
from fairarm.problem.problem import Problem
from fairarm.worlds.cells import CellWorlds
from fairarm.worlds.network import NetworkWorld

HOURS = 24 * 7
"""Of a week. Studies start on a Monday at 0:00."""


@dataclass(frozen=True, eq=False)
class LiveWorld:
    """Shapes: K arms, G groups, O rows (cell and outcome state), P patterns of the week, D days.

    ``laws`` P(row | arm, group) in each pattern, (P, K, G, O), or one per study, (P, n, K, G, O); ``shares`` P(S) in each, (P, G).
    ``pattern`` (168,): which holds in each hour of the week. ``arrivals`` (168,): people expected in each. ``told`` (O, D) or
    (K, G, O, D): the probability that an outcome is told so many days later, 0 for at once; what is missing is never told.
    """

    problem: Problem
    laws: FloatArray
    shares: FloatArray
    pattern: IntArray
    arrivals: FloatArray
    told: FloatArray

    @classmethod
    def of(cls, world: NetworkWorld, arrivals: float) -> LiveWorld:
        """The same at every hour, with every outcome told at once."""
        return cls._even(world.problem, world.law[None], world.shares[None], arrivals)

    @classmethod
    def of_truths(cls, worlds: CellWorlds, arrivals: float) -> LiveWorld:
        """A world of its own for every study."""
        law = worlds.law[..., None] * worlds.outcome_law[:, None]
        return cls._even(worlds.problem, law.reshape(1, *law.shape[:3], -1), worlds.shares[None], arrivals)

    @classmethod
    def _even(cls, problem: Problem, laws: FloatArray, shares: FloatArray, arrivals: float) -> LiveWorld:
        if not arrivals > 0:
            raise OptionError(f"Arrivals are {arrivals!r:.20} a day. They are a number above 0.")
        hourly = np.full(HOURS, arrivals / 24)
        return cls(problem, laws, shares, np.zeros(HOURS, dtype=np.int64), hourly, np.ones((laws.shape[-1], 1)))

    # ---- what may differ ----

    def with_hours(self, weights: Sequence[float], weekdays: Sequence[float] = (1.0,) * 7) -> LiveWorld:
        """As many people, more of them in some hours (24 weights) and on some weekdays (7 weights, Monday first)."""
        profile = np.outer(_weights(weekdays, 7, "weekdays"), _weights(weights, 24, "hours of the day")).ravel()
        return replace(self, arrivals=float(self.arrivals.mean()) * profile)

    def with_patterns(self, laws: FloatArray, pattern: IntArray, shares: FloatArray | None = None) -> LiveWorld:
        """Other laws (P, K, G, O), and perhaps shares (P, G), in some hours of the week: ``pattern`` (168,)."""
        same = np.repeat(self.shares[:1], len(laws), axis=0) if shares is None else shares
        return replace(self, laws=laws, shares=same, pattern=pattern)

    def with_telling(self, told: FloatArray) -> LiveWorld:
        """When outcomes are told, (O, D) or (K, G, O, D)."""
        if np.any(told < 0) or np.any(told.sum(axis=-1) > 1 + 1e-9):
            raise OptionError("The probabilities of being told on each day are 0 or more, and at most 1 in all.")
        return replace(self, told=told)

    def with_delays(self, mean: float, longest: float, lost: float | FloatArray = 0.0) -> LiveWorld:
        """Told within ``longest`` days, by an exponential law with this mean that is cut there; a part ``lost`` never is: of all, or
        of each row (O,), or by arm, group and row (K, G, O)."""
        days = int(np.ceil(longest))
        edges = np.exp(-np.arange(days + 1) / max(mean, 1e-9))
        each = (edges[:-1] - edges[1:]) / (edges[0] - edges[-1])
        never = np.broadcast_to(np.asarray(lost, dtype=np.float64), np.shape(lost) or (self.laws.shape[-1],))
        return self.with_telling((1 - never)[..., None] * each)

    def of_studies(self, which: slice) -> LiveWorld:
        """Some of the studies, where each has a law of its own."""
        return replace(self, laws=self.laws[:, which])

    def by_outcome(self, values: Sequence[float]) -> FloatArray:
        """One number for each row (O,), by its state of the outcome: a loss that depends on the outcome, say."""
        states = len(self.problem.outcome.values or ())
        if len(values) != states:
            raise OptionError(f"The outcome has {states} states; got {len(values)} numbers.")
        return np.tile(np.asarray(values, dtype=np.float64), self.laws.shape[-1] // states)

    # ---- what happens ----

    def people(self, n: int, start: float, days: float, share: FloatArray, rng: np.random.Generator) -> IntArray:
        """Arrivals that enter in each hour of a cohort, (n, hours); ``share`` (n,) of all."""
        hours = self._hours(start, days)
        return rng.poisson(share[:, None] * self.arrivals[hours])

    def _hours(self, start: float, days: float) -> IntArray:
        first = round(start * 24)
        return (first + np.arange(max(1, round(days * 24)))) % HOURS

    def told_within(self, window: float) -> LiveWorld:
        """With what is told on any day of the window as one: (O, 1) or (K, G, O, 1)."""
        return replace(self, told=self.told[..., : int(np.floor(window + 1e-9)) + 1].sum(axis=-1, keepdims=True))

    def outcomes(self, dealt: IntArray, start: float, rng: np.random.Generator) -> IntArray:
        """What comes of people dealt by hour and arm, (n, hours, K): rows by arm, group, row and day told, (n, K, G, O, D + 1), the last
        being never."""
        made: IntArray | None = None
        at = self.pattern[self._hours(start, dealt.shape[1] / 24)]
        for p in np.unique(at):
            by_group = rng.multinomial(dealt[:, at == p].sum(axis=1), self.shares[p])
            rows = rng.multinomial(by_group, self.laws[p])
            made = rows if made is None else made + rows
        never = np.clip(1 - self.told.sum(axis=-1, keepdims=True), 0.0, 1.0)
        return rng.multinomial(made, np.concatenate([self.told, never], axis=-1))  # type: ignore[arg-type]

    # ---- the truth ----

    def mean_laws(self) -> FloatArray:
        """P(row | arm, group) of those who arrive, over the week, (K, G, O) or (n, K, G, O): the outcome is what they are about."""
        weight = np.array([self.arrivals[self.pattern == p].sum() for p in range(len(self.laws))])
        by_group = weight[:, None] * self.shares
        law = np.einsum("pg,p...kgo->...kgo", by_group / by_group.sum(axis=0), self.laws)
        return np.asarray(law)

    def mean_shares(self) -> FloatArray:
        """P(S) of those who arrive, (G,)."""
        weight = np.array([self.arrivals[self.pattern == p].sum() for p in range(len(self.laws))])
        return np.asarray(weight @ self.shares / weight.sum())

    def group_means(self) -> FloatArray:
        """Each arm's scaled mean outcome by group, (K, G) or (n, K, G)."""
        states = self.problem.outcome.scaled_values
        return np.asarray(self.mean_laws() @ np.tile(states, self.laws.shape[-1] // len(states)))


def _weights(values: Sequence[float], count: int, what: str) -> FloatArray:
    found = np.asarray(values, dtype=np.float64)
    if found.shape != (count,) or not np.all(found >= 0) or not found.sum() > 0:
        raise OptionError(f"The {what} have {count} weights, 0 or more and not all 0; got {values!r:.60}.")
    return np.asarray(found / found.mean())
