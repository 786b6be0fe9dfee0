"""The best random mixture of arms that is surely fair: each person is served by one of its arms, by their shares.

A mixture's outcome and rows are the same mixture of its arms'. Two arms whose gaps have opposite signs cancel, so a
mixture of a good arm that is unfair toward one group and an arm that is unfair toward the other can be fair where
neither is, and better than the best fair arm. If only the mean of one row counted, two arms would always be enough (a linear
programme with one row besides Σ x = 1); under the rule on probability more arms could gain a little, and are not tried there.
With several rows more arms can be needed, one more than rows that bind: `mixture_programme.py` looks for those.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fairarm.core.fairness import Rows, as_rows
from fairarm.core.posterior.mixture_programme import Shares, best_of_programmes
from fairarm.core.types import BoolArray, FloatArray, IntArray

_STEP = 1e-7
"""The weights that are fair in a draw form an open interval; the best one is this far inside its end."""
_BLOCK = 1 << 20
"""At most so many (arm, draw) entries at once."""


@dataclass(frozen=True)
class MixedRow:
    """A row of a mixture: its posterior mean, a central interval of the draws, and the share of draws in which it holds."""

    value: float
    interval: tuple[float, float]
    holds: float


@dataclass(frozen=True)
class Mixture:
    """``arms`` (i, j, …) played with probabilities ``weights`` that sum to 1, or one arm alone: (k,) and (1.0,).

    ``outcome`` is a posterior mean, its interval a central one of the draws, ``fair`` the share of draws in which all rows hold.
    """

    arms: tuple[int, ...]
    weights: tuple[float, ...]
    outcome: float
    outcome_interval: tuple[float, float]
    rows: tuple[MixedRow, ...]
    fair: float

    @property
    def gap(self) -> float:
        """Of the first row: the gap, where that is all that is asked about."""
        return self.rows[0].value

    @property
    def gap_interval(self) -> tuple[float, float]:
        """Of the first row."""
        return self.rows[0].interval


@dataclass(frozen=True)
class Mixtures:
    """``best``: the best mixture (one arm where no mixture is better); ``single``: the best arm under the same rule.

    ``margin_cost``: what being sure costs, the outcome of the best mixture whose *mean* rows hold minus that of
    ``best``. Below 0 only where draws are so skewed that a row surely holds and its mean does not. None: none
    qualifies.
    """

    best: Mixture | None
    single: Mixture | None
    margin_cost: float | None


def best_mixture(
    outcomes: FloatArray, values: FloatArray, asked: Rows | float, delta: float = 0.05, level: float = 0.95
) -> Mixtures:
    """Maximise the posterior mean of Σ x_k μ_k  subject to  P(all rows of Σ x_k (row)_k hold) ≥ 1 − δ.

    ``outcomes`` μ (D, K) and ``values`` of rows (D, K, J): posterior draws, each of one θ; P is the share of draws. Gaps (D, K)
    with a tolerance E are one row, |ζ| < E. ``level`` of the credible intervals. Ties go to the single arm. One row: the best x on at
    most two arms, exact but for a step of 1e-7 in the weight. Several rows: the best of the programmes, not exact.

    At the best weight P is as a rule 1 − δ and no more, and it was chosen on these draws: of 400, P on fresh ones was lower by
    0.002 on average at K = 30 and by 0.004 at K = 300.
    """
    values, rows = as_rows(values, asked)
    needed = max(1, math.ceil((1.0 - delta) * len(values) - 1e-9))
    means = outcomes.mean(axis=0)
    single = _best_alone(means, rows.fair(values).sum(axis=0) >= needed)
    found = _best(means, values, rows, needed, single)
    if found is None:
        return Mixtures(None, None, None)
    describe = _Describer(outcomes, values, rows, level)
    centre = values.mean(axis=0, keepdims=True)
    # the same search on one draw, the mean: the rule that looks at mean rows alone
    loose = _best(means, centre, rows, 1, _best_alone(means, rows.fair(centre[0])))
    cost = None if loose is None else _mean(means, loose) - _mean(means, found)
    return Mixtures(describe(found), None if single is None else describe(((single, 1.0),)), cost)


def _best_alone(means: FloatArray, qualified: BoolArray) -> int | None:
    arms = np.flatnonzero(qualified)
    return int(arms[np.argmax(means[arms])]) if len(arms) else None


def _best(means: FloatArray, values: FloatArray, rows: Rows, needed: int, single: int | None) -> Shares | None:
    """Arms and weights; ``single``: the best arm alone that has enough draws."""
    if len(rows) > 1:
        return best_of_programmes(means, values, rows, needed, single)
    pair = _search(means, values[:, :, 0], (float(rows.low[0]), float(rows.high[0])), needed, single)
    if pair is None:
        return None
    i, j, weight = pair
    return ((i, 1.0),) if i == j else ((i, weight), (j, 1.0 - weight))


@dataclass(frozen=True)
class _Describer:
    outcomes: FloatArray
    values: FloatArray
    rows: Rows
    level: float

    def __call__(self, shares: Shares) -> Mixture:
        outcome, values = (sum(weight * x[:, k] for k, weight in shares) for x in (self.outcomes, self.values))
        outcome, values = np.asarray(outcome), np.asarray(values)
        holds = self.rows.hold(values)
        rows = tuple(
            MixedRow(float(row.mean()), self._interval(row), float(np.mean(held)))
            for row, held in zip(values.T, holds.T, strict=True)
        )
        arms, weights = zip(*shares, strict=True)
        fair = float(np.mean(holds.all(axis=1)))
        return Mixture(arms, weights, float(outcome.mean()), self._interval(outcome), rows, fair)

    def _interval(self, draws: FloatArray) -> tuple[float, float]:
        low, high = np.quantile(draws, [(1 - self.level) / 2, (1 + self.level) / 2])
        return float(low), float(high)


def _mean(means: FloatArray, shares: Shares) -> float:
    return float(sum(weight * means[k] for k, weight in shares))


def _search(
    means: FloatArray, values: FloatArray, ends: tuple[float, float], needed: int, single: int | None
) -> tuple[int, int, float] | None:
    """(i, j, α) of the best mixture with at least ``needed`` fair draws of one row (D, K); ``single``: the best arm alone that has them.

    The mean of a pair is at most that of its better arm i: pairs are taken by i, best first, until no i can beat what
    is known. Within a pair the mean rises with α, so its best weight is the largest that is fair in enough draws.
    """
    found = None if single is None else (single, single, 1.0)
    value = -np.inf if single is None else float(means[single])
    if ends[0] >= ends[1]:
        return None
    order = np.argsort(-means, kind="stable")
    by_arm = np.ascontiguousarray(values.T[order])  # (K, D): one arm's draws lie together, which is how they are read
    rows = max(1, _BLOCK // len(values))
    for i in range(len(order) - 1):
        mean = float(means[order[i]])
        if mean <= value:
            break
        for first in range(i + 1, len(order), rows):
            others = order[first : first + rows]
            low, high = _fair_weights(by_arm[i], by_arm[first : first + rows], ends)
            j, weight = _best_partner(low, high, mean, means[others], needed, value)
            if j >= 0:
                found = int(order[i]), int(others[j]), weight
                value = float(weight * means[found[0]] + (1.0 - weight) * means[found[1]])
    return found


def _fair_weights(better: FloatArray, others: FloatArray, ends: tuple[float, float]) -> tuple[FloatArray, FloatArray]:
    """The open interval of low < α v_i + (1−α) v_j < high in each draw: ``better`` (D,), ``others`` (J, D) -> its ends (J, D).

    It starts below 0 where α = 0 is fair. None between 0 and 1, or one shorter than two steps: (inf, −1).
    """
    slope = better - others
    with np.errstate(divide="ignore", invalid="ignore"):  # a flat line is fair everywhere or nowhere
        up, down = (ends[1] - others) / slope, (ends[0] - others) / slope
        low, high = np.minimum(up, down), np.maximum(up, down)
        none = (high <= 0) | (low >= 1) | (high - low < 2 * _STEP)
    none |= (slope == 0) & ~((others > ends[0]) & (others < ends[1]))
    return np.where(none, np.inf, low), np.where(none, -1.0, high)


def _best_partner(
    low: FloatArray, high: FloatArray, mean: float, means: FloatArray, needed: int, value: float
) -> tuple[int, float]:
    """The row of the best pair above ``value`` and its weight, (−1, 0) if none.

    ``low``, ``high`` (J, D) as above, ``mean`` of the better arm and ``means`` (J,) of the others.

    A weight needs ``needed`` draws that end above it and as many that start below it: two order statistics bound it.
    Only the rows that pass are swept, the most promising first, until none can beat what is known.
    """
    D = high.shape[1]
    top = np.partition(high, D - needed, axis=1)[:, D - needed]
    bound = means + (top - _STEP) * (mean - means)
    rows = np.flatnonzero((top > 0) & (bound > value))
    rows = rows[np.partition(low[rows], needed - 1, axis=1)[:, needed - 1] <= top[rows] - 2 * _STEP]
    best, weight = -1, 0.0
    for row in rows[np.argsort(-bound[rows], kind="stable")]:
        if bound[row] <= value:
            break
        end = _largest_weight(low[row], high[row], needed)
        reached = float(means[row] + (end - _STEP) * (mean - means[row]))
        if end > 0 and reached > value:
            best, weight, value = int(row), max(end - _STEP, 0.0), reached
    return best, weight


def _largest_weight(low: FloatArray, high: FloatArray, needed: int) -> float:
    """The largest end v of an interval such that at least ``needed`` draws hold all of (v − 2 steps, v); −1 if none.

    Those that end at v or above, less those that start above v − 2 steps (they all end above v).
    """
    exists = high > 0
    ends, starts = np.sort(high[exists]), np.sort(low[exists])
    count = len(ends) - np.searchsorted(ends, ends, side="left")
    count -= len(ends) - np.searchsorted(starts, ends - 2 * _STEP, side="right")
    enough: IntArray = np.flatnonzero(count >= needed)
    return float(ends[enough[-1]]) if len(enough) else -1.0
