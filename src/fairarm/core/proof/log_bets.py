"""Certified means from weighted rows, by bets on how large each row is (docs/certified-logs.md).

A pilot, chosen whatever the rows hold, predicts outcomes and says how much rows vary. The other rows score

    X = c (Y − m) + a,      X¹ = c (m − Y) + a¹,      c = min(w, τ)

for every arm: what the arm's mean is at least, and what one minus it is at least. A lower bound for a sum of means over the
groups comes from one product over all rows, so that all groups share one error probability.

Shapes: K arms, G groups, J rows of fairness, X places that a row can be in, I lines. Scores come in pairs (2, …): X, then X¹.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairarm.core.fairness import Rows
from fairarm.core.grouping import sum_by_group
from fairarm.core.proof.log_intervals import GroupCells
from fairarm.core.proof.region import Intervals, require_shares, rows_about, share_mixes
from fairarm.core.types import BoolArray, FloatArray, IntArray

CLIP = 1.5
"""Weights are cut at √(n / log(1/δ)) / CLIP."""

MOST_STAKED, MOST_SUMMED = 0.9, 0.7
"""The most of its wealth that a bet may lose to one row; in the form that needs sums only, where more is paid for it."""

LEAST_VARIANCE = 1e-4
"""Of a score, where the pilot saw less."""

HALVINGS = 32

MOST_BETS = 1 << 20
"""Arms × lines above which only sums of scores are bet on."""

BLOCK = 1 << 20
"""Scores (arms × lines) held at once: 16 MiB."""

Scores = tuple[int, ...]
"""Which of the two scores each group has: 0 for X, 1 for X¹."""


def cut_at(rows: FloatArray, delta: float) -> FloatArray:
    """τ by the rows of each group and the error of one bound, (G,)."""
    # (W4); a level that looked at these rows would not be independent of them
    return np.asarray(np.maximum(np.sqrt(rows / math.log(1 / delta)) / CLIP, 1.0))


@dataclass(frozen=True)
class Scoring:
    """How the rows of every place score: c (K, G, X), m (G, X), a and a¹ (2, K, G, X), the least X and X¹ (2, K, G)."""

    weight: FloatArray
    predicted: FloatArray
    added: FloatArray
    least: FloatArray

    def of(self, group: IntArray, place: IntArray, outcome: FloatArray) -> FloatArray:
        """Of lines (I,) each: (2, K, I). An outcome that is missing, nan, is 0 in X and 1 in X¹: the least that either can be."""
        moved = self.weight[:, group, place] * (outcome - self.predicted[group, place])
        both = np.stack([moved, -moved])
        if (missing := np.isnan(outcome)).any():
            both[..., missing] = self._least_of(group[missing], place[missing])
        return np.asarray(both + self.added[:, :, group, place])  # (W3)

    def _least_of(self, group: IntArray, place: IntArray) -> FloatArray:
        """c (0 − m) and c (m − 1), (2, K, I)."""
        predicted = self.predicted[group, place]
        return -self.weight[:, group, place] * np.stack([predicted, 1.0 - predicted])[:, None]


def scoring(law: FloatArray, made: IntArray, predicted: FloatArray, context: IntArray, level: FloatArray) -> Scoring:
    """From P_k(v | x, t) at every place, (K, G, X), who made the rows, (K, G), m (G, X), the number of what precedes the
    decision at each place, (X,), and τ (G,).

    a sums the weighted prediction over what the log's arms may decide, so that it takes back on average what m takes away.
    """
    share = made / np.maximum(made.sum(axis=0), 1)
    q = np.einsum("jt,jtx->tx", share, law)
    weight = np.minimum(np.where(q > 0, law / np.where(q > 0, q, 1.0), 0.0), level[:, None])  # (W1)
    # a decision stands at as many places as there are values of what follows from it
    total = sum_by_group(q[None], context, int(context.max()) + 1)[0][:, context]
    chance = np.divide(q, total, out=np.zeros_like(q), where=total > 0)
    both = np.stack([predicted, 1.0 - predicted])
    taken = weight * both[:, None]
    added = sum_by_group(chance * taken, context, int(context.max()) + 1)[..., context]  # (W3)
    least = np.where(q > 0, added - taken, np.inf).min(axis=-1)
    return Scoring(weight, predicted, added, np.minimum(least, 0.0))


@dataclass(frozen=True)
class PilotScores:
    """Mean and variance of X and X¹ in the pilot, and the least that they can be, (2, K, G) each."""

    mean: FloatArray
    variance: FloatArray
    least: FloatArray

    @classmethod
    def of(cls, seen: ScoreSums, least: FloatArray) -> PilotScores:
        """From the pilot's rows. Of a group without two of them nothing is known."""
        n, enough = np.maximum(seen.rows, 1.0), seen.rows >= 2
        mean = np.where(enough, seen.total / n, 0.5)
        variance = np.where(enough, np.maximum(seen.square / n - mean**2, 0.0), 1.0)
        return cls(mean, variance, least)

    def among(self, used: BoolArray) -> PilotScores:
        """Of some groups only, (G,)."""
        return PilotScores(self.mean[..., used], self.variance[..., used], self.least[..., used])

    def side(self, scores: Scores, factor: FloatArray, rows: FloatArray) -> Side:
        """As seen from one bound: each group has its score, times its factor."""
        mean, least = _of_groups(self.mean, scores) * factor, _of_groups(self.least, scores) * factor
        variance = (_of_groups(self.variance, scores) * factor**2) @ rows / rows.sum()
        return Side(mean, least, np.maximum(variance, LEAST_VARIANCE))


@dataclass(frozen=True)
class Side:
    """What one bound expects of scaled scores: mean and least by group, (K, G), and the variance of all of them, (K,)."""

    mean: FloatArray
    least: FloatArray
    variance: FloatArray


@dataclass(frozen=True)
class Staked:
    """Rows as a bet sees them: x (K, I), each at least ``least`` (K,), their ``count`` (I,), and the variance to expect, (K,)."""

    x: FloatArray
    count: FloatArray
    least: FloatArray
    variance: FloatArray
    log_odds: float

    def log_wealth(self, mean: FloatArray) -> FloatArray:
        """Σ log(1 + λ (x − M)) of bets that the mean is above M, (K,); it falls in M."""
        best = np.sqrt(2 * self.log_odds / (self.count.sum() * self.variance))
        # (W6)
        stake = np.minimum(best, MOST_STAKED / np.maximum(mean - self.least, 1e-300))
        return np.asarray(np.log1p(stake[:, None] * (self.x - mean[:, None])) @ self.count)

    def lower(self) -> FloatArray:
        """The largest M that is refuted as the mean of the rows, (K,), at least 0."""
        low = np.zeros(len(self.x))
        high = np.maximum(self.x @ self.count / self.count.sum(), 0.0)
        for _ in range(HALVINGS):
            mean = (low + high) / 2
            # (W5); the refuted end is kept: a bound that is not halved to the end is low, not wrong
            refuted = self.log_wealth(mean) >= self.log_odds
            low, high = np.where(refuted, mean, low), np.where(refuted, high, mean)
        return low


def lower_by_sums(rows: FloatArray, total: FloatArray, square: FloatArray, side: Side, log_odds: float) -> FloatArray:
    """The same from Σx and Σx² by group, (K, G) each, and rows (G,): (K,)."""
    reach = np.maximum(side.mean - side.least, 1e-6)  # more is safe, and below it the price cancels
    best = np.sqrt(2 * log_odds / (rows.sum() * side.variance))
    stake = np.minimum(best, MOST_SUMMED / reach.max(axis=1))
    loss = stake[:, None] * reach
    price = (-np.log1p(-loss) - loss) / reach**2
    around = np.maximum(square - 2 * side.mean * total + rows * side.mean**2, 0.0)
    # (W10)
    bound = total.sum(axis=1) - (log_odds + (price * around).sum(axis=1)) / stake
    return np.asarray(np.maximum(bound / rows.sum(), 0.0))


@dataclass(frozen=True)
class CountedLines:
    """Rows by group, place and outcome: a line stands for ``count`` rows, (I,) each."""

    group: IntArray
    place: IntArray
    outcome: FloatArray
    count: FloatArray

    def blocks(self, arms: int) -> Iterator[CountedLines]:
        """Parts whose scores fit in memory."""
        size = max(1, BLOCK // arms)
        for start in range(0, len(self.group), size):
            part = slice(start, start + size)
            yield CountedLines(self.group[part], self.place[part], self.outcome[part], self.count[part])

    def sums(self, scoring: Scoring) -> ScoreSums:
        """Of their scores, by group."""
        arms, groups = scoring.weight.shape[:2]
        found = ScoreSums.empty(arms, groups)
        for part in self.blocks(arms):
            scores = scoring.of(part.group, part.place, part.outcome)
            found.add(scores, part.group, part.count)
        return found


@dataclass
class ScoreSums:
    """Rows by group, (G,); ΣX and ΣX¹, and of their squares, (2, K, G) each."""

    rows: FloatArray
    total: FloatArray
    square: FloatArray

    @classmethod
    def empty(cls, arms: int, groups: int) -> ScoreSums:
        """Of no row."""
        return cls(np.zeros(groups), np.zeros((2, arms, groups)), np.zeros((2, arms, groups)))

    def add(self, scores: FloatArray, group: IntArray, count: FloatArray) -> None:
        """Scores of more lines, (2, K, I)."""
        for t in range(len(self.rows)):
            here = np.where(group == t, count, 0.0)
            self.rows[t] += here.sum()
            self.total[..., t] += scores @ here
            self.square[..., t] += scores**2 @ here


@dataclass(frozen=True)
class LineBets:
    """Bets on lines that the pilot left, whose scores are (2, K, I)."""

    lines: CountedLines
    scores: FloatArray
    rows: FloatArray
    """By group, (G,)."""
    pilot: PilotScores
    log_odds: float

    def lower(self, scores: Scores, factor: FloatArray) -> FloatArray:
        """A lower bound for Σ_t f_t (n_t/N) (mean score of group t) of every arm, (K,)."""
        return self.staked(scores, factor).lower()

    def among(self, used: BoolArray) -> LineBets:
        """The same on the lines of some groups only, (G,)."""
        if used.all():
            return self
        kept, to = used[self.lines.group], np.cumsum(used) - 1
        lines = self.lines
        fewer = CountedLines(to[lines.group[kept]], lines.place[kept], lines.outcome[kept], lines.count[kept])
        return LineBets(fewer, self.scores[..., kept], self.rows[used], self.pilot.among(used), self.log_odds)

    def staked(self, scores: Scores, factor: FloatArray) -> Staked:
        """The lines as that bound's bets see them."""
        side, group = self.pilot.side(scores, factor, self.rows), self.lines.group
        x = np.where(np.array(scores)[group] == 0, *self.scores) * factor[group]
        # (W9): a constant per group that is 0 over all rows; the bet then need not pay for how far the groups are apart
        shift = (side.mean @ self.rows / self.rows.sum())[:, None] - side.mean
        least = (side.least + shift).min(axis=1)
        return Staked(x + shift[:, group], self.lines.count, least, side.variance, self.log_odds)


@dataclass(frozen=True)
class SumBets:
    """Bets on rows of which only sums are kept."""

    seen: ScoreSums
    pilot: PilotScores
    log_odds: float

    @property
    def rows(self) -> FloatArray:
        """By group, (G,)."""
        return self.seen.rows

    def among(self, used: BoolArray) -> SumBets:
        """The same on the rows of some groups only, (G,)."""
        seen = self.seen
        fewer = ScoreSums(seen.rows[used], seen.total[..., used], seen.square[..., used])
        return SumBets(fewer, self.pilot.among(used), self.log_odds)

    def lower(self, scores: Scores, factor: FloatArray) -> FloatArray:
        """The same as of `LineBets`, from the sums."""
        side = self.pilot.side(scores, factor, self.rows)
        total, square = _of_groups(self.seen.total, scores), _of_groups(self.seen.square, scores)
        return lower_by_sums(self.rows, total * factor, square * factor**2, side, self.log_odds)


def joined_bets(first: SumBets, second: SumBets) -> SumBets:
    """Bets with the scores X of the first and X¹ of the second, on the same rows: a bound needs one score of each group only."""
    seen = ScoreSums(
        first.seen.rows,
        _first_second(first.seen.total, second.seen.total),
        _first_second(first.seen.square, second.seen.square),
    )
    one, other = first.pilot, second.pilot
    pilot = PilotScores(
        _first_second(one.mean, other.mean),
        _first_second(one.variance, other.variance),
        _first_second(one.least, other.least),
    )
    return SumBets(seen, pilot, first.log_odds)


def _first_second(first: FloatArray, second: FloatArray) -> FloatArray:
    return np.stack([first[0], second[1]])


def sums_of(scoring: Scoring, seen: GroupCells, highest: GroupCells | None = None) -> ScoreSums:
    """Of the scores of rows of which only Σ Y' and Σ Y'² by group and place are known.

    Where outcomes are missing, ``seen`` has them as 0, for X, and ``highest`` as 1, for X¹.
    """
    c, m, n = scoring.weight, scoring.predicted, seen.rows
    total, square = [], []
    for sign, a, cells in zip((1, -1), scoring.added, (seen, highest or seen), strict=True):
        moved = c * (cells.sums - m * n)
        around = c**2 * (cells.squares - 2 * m * cells.sums + m**2 * n)
        total.append(sign * moved + a * n)
        square.append(around + 2 * sign * a * moved + a**2 * n)
    return ScoreSums(n.sum(axis=1), np.sum(total, axis=3), np.sum(square, axis=3))


def _of_groups(values: FloatArray, scores: Scores) -> FloatArray:
    """The score that each group has, (K, G), of both, (2, K, G)."""
    return np.stack([values[score, :, t] for t, score in enumerate(scores)], axis=1)


def bets_on(scoring: Scoring, pilot: CountedLines, rest: CountedLines, log_odds: float) -> LineBets | SumBets:
    """Line by line; where lines are many, by their sums."""
    arms = len(scoring.weight)
    known = PilotScores.of(pilot.sums(scoring), scoring.least)
    if arms * len(rest.group) > MOST_BETS:
        return SumBets(rest.sums(scoring), known, log_odds)
    rows = np.asarray(np.bincount(rest.group, rest.count, scoring.weight.shape[1]), dtype=np.float64)
    return LineBets(rest, scoring.of(rest.group, rest.place, rest.outcome), rows, known, log_odds)


def bet_intervals(
    bets: LineBets | SumBets,
    shares: FloatArray | None,
    natural: FloatArray,
    delta: float,
    asked: Rows | None = None,
) -> Intervals:
    """Intervals for every μ_k, (1, K, 2), and every row, (1, K, J, 2): 2 (1 + J) lower bounds for every arm.

    ``shares`` P(S) (G,), or None and ``natural`` (G,) the natural rows by group; ``asked`` the rows, by default the gap between
    two groups; δ is the error of all of it. Nothing is known of a row while a group in it has no row to bet on.
    """
    rows = rows_about(asked, len(bets.rows))
    if shares is None:
        require_shares(rows)
    mixes = share_mixes(shares, natural[None], delta)[0]
    # (W8): μ is linear in P(S), so that it is no lower than at one of the two ends
    outcomes = np.stack([_value_interval(bets, mix, np.ones(rows.groups, dtype=np.bool_)) for mix in mixes])
    widest = np.stack([outcomes[..., 0].min(axis=0), outcomes[..., 1].max(axis=0)], axis=-1)
    values = [_value_interval(bets, f, f != 0) for f in rows.among(mixes[0])]
    return Intervals(widest[None], np.stack(values, axis=1)[None])


def _value_interval(bets: LineBets | SumBets, f: FloatArray, used: BoolArray) -> FloatArray:
    """Of Σ_t f_t μ_{k,t}, (K, 2), f (G,), from the rows of the groups that are ``used``: lower bounds for it and its negative."""
    plus, minus = np.maximum(f, 0.0).sum(), np.maximum(-f, 0.0).sum()
    if not bets.rows[used].all():
        return np.tile([-minus, plus], (bets.pilot.mean.shape[1], 1))
    on, size, down = bets.among(used), np.abs(f[used]), f[used] < 0
    factor = on.rows.sum() / on.rows * size
    # (W7): the mean of X where f > 0 and of X¹ where f < 0 is at most the value plus Σ |f| over the latter
    up, turned = tuple(int(t) for t in down), tuple(int(t) for t in ~down)
    return np.stack([on.lower(up, factor) - minus, plus - on.lower(turned, factor)], axis=-1)
