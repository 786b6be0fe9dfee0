"""The best random mixture of two arms that is surely fair: arm i with probability α, arm j otherwise.

A mixture's outcome and gap are the same mixture of the two arms'. Two arms whose gaps have opposite signs cancel, so a
mixture of a good arm that is unfair toward one group and an arm that is unfair toward the other can be fair where
neither is, and better than the best fair arm. If only the mean gap counted, two arms would always be enough (a linear
programme with one row besides Σ x = 1); under the rule on probability more arms could gain a little, and are not tried.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fairarm.core.fairness import is_fair
from fairarm.core.types import FloatArray, IntArray

_STEP = 1e-7
"""The weights that are fair in a draw form an open interval; the best one is this far inside its end."""
_BLOCK = 1 << 20
"""At most so many (arm, draw) entries at once."""


@dataclass(frozen=True)
class Mixture:
    """``arms`` (i, j) played with probabilities ``weights`` (α, 1 − α), or one arm alone: (k,) and (1.0,).

    ``outcome`` and ``gap`` are posterior means, the intervals central ones of the draws, ``fair`` the share of draws
    with |gap| < E.
    """

    arms: tuple[int, ...]
    weights: tuple[float, ...]
    outcome: float
    outcome_interval: tuple[float, float]
    gap: float
    gap_interval: tuple[float, float]
    fair: float


@dataclass(frozen=True)
class Mixtures:
    """``best``: the best mixture (one arm where no pair is better); ``single``: the best arm under the same rule.

    ``margin_cost``: what being sure costs, the outcome of the best mixture whose *mean* gap is below E minus that of
    ``best``. Below 0 only where draws are so skewed that a gap is surely small and its mean is not. None: none
    qualifies.
    """

    best: Mixture | None
    single: Mixture | None
    margin_cost: float | None


def best_mixture(
    outcomes: FloatArray, gaps: FloatArray, tolerance: float, delta: float = 0.05, level: float = 0.95
) -> Mixtures:
    """Maximise the posterior mean of Σ x_k μ_k  subject to  P(|Σ x_k ζ_k| < E) ≥ 1 − δ,  x on at most two arms.

    ``outcomes`` μ and ``gaps`` ζ (D, K): posterior draws, each row of one θ. ``tolerance`` E; P is the share of draws.
    ``level`` of the credible intervals. Exact but for a step of 1e-7 in the weight; ties go to the single arm. At the
    best weight P is as a rule 1 − δ and no more, and it was chosen on these draws: of 400, P on fresh ones was lower by
    0.002 on average at K = 30 and by 0.004 at K = 300.
    """
    needed = max(1, math.ceil((1.0 - delta) * len(gaps) - 1e-9))
    means = outcomes.mean(axis=0)
    qualified = np.flatnonzero(is_fair(gaps, tolerance).sum(axis=0) >= needed)
    single = int(qualified[np.argmax(means[qualified])]) if len(qualified) else None
    found = _search(means, gaps, tolerance, needed, single)
    if found is None:
        return Mixtures(None, None, None)
    describe = _Describer(outcomes, gaps, tolerance, level)
    best = describe(*found)
    centre = gaps.mean(axis=0, keepdims=True)
    fair = np.flatnonzero(is_fair(centre[0], tolerance))
    # the same search on one draw, the mean: the rule that looks at mean gaps alone
    loose = _search(means, centre, tolerance, 1, int(fair[np.argmax(means[fair])]) if len(fair) else None)
    cost = None if loose is None else _mean(means, *loose) - _mean(means, *found)
    return Mixtures(best, None if single is None else describe(single, single, 1.0), cost)


@dataclass(frozen=True)
class _Describer:
    outcomes: FloatArray
    gaps: FloatArray
    tolerance: float
    level: float

    def __call__(self, i: int, j: int, weight: float) -> Mixture:
        outcome, gap = (weight * x[:, i] + (1.0 - weight) * x[:, j] for x in (self.outcomes, self.gaps))
        arms, weights = ((i,), (1.0,)) if i == j else ((i, j), (weight, 1.0 - weight))
        fair = float(np.mean(is_fair(gap, self.tolerance)))
        return Mixture(
            arms, weights, float(outcome.mean()), self._interval(outcome), float(gap.mean()), self._interval(gap), fair
        )

    def _interval(self, draws: FloatArray) -> tuple[float, float]:
        low, high = np.quantile(draws, [(1 - self.level) / 2, (1 + self.level) / 2])
        return float(low), float(high)


def _mean(means: FloatArray, i: int, j: int, weight: float) -> float:
    return float(weight * means[i] + (1.0 - weight) * means[j])


def _search(
    means: FloatArray, gaps: FloatArray, tolerance: float, needed: int, single: int | None
) -> tuple[int, int, float] | None:
    """(i, j, α) of the best mixture with at least ``needed`` fair draws; ``single``: the best arm alone that has them.

    The mean of a pair is at most that of its better arm i: pairs are taken by i, best first, until no i can beat what
    is known. Within a pair the mean rises with α, so its best weight is the largest that is fair in enough draws.
    """
    found = None if single is None else (single, single, 1.0)
    value = -np.inf if single is None else float(means[single])
    if tolerance <= 0:
        return None
    order = np.argsort(-means, kind="stable")
    by_arm = np.ascontiguousarray(gaps.T[order])  # (K, D): one arm's draws lie together, which is how they are read
    rows = max(1, _BLOCK // len(gaps))
    for i in range(len(order) - 1):
        mean = float(means[order[i]])
        if mean <= value:
            break
        for first in range(i + 1, len(order), rows):
            others = order[first : first + rows]
            low, high = _fair_weights(by_arm[i], by_arm[first : first + rows], tolerance)
            j, weight = _best_partner(low, high, mean, means[others], needed, value)
            if j >= 0:
                found = int(order[i]), int(others[j]), weight
                value = _mean(means, *found)
    return found


def _fair_weights(better: FloatArray, others: FloatArray, tolerance: float) -> tuple[FloatArray, FloatArray]:
    """The open interval of |α ζ_i + (1−α) ζ_j| < E in each draw: ``better`` (D,), ``others`` (J, D) -> its ends (J, D).

    It starts below 0 where α = 0 is fair. None between 0 and 1, or one shorter than two steps: (inf, −1).
    """
    slope = better - others
    with np.errstate(divide="ignore", invalid="ignore"):  # a flat line is fair everywhere or nowhere
        up, down = (tolerance - others) / slope, (-tolerance - others) / slope
        low, high = np.minimum(up, down), np.maximum(up, down)
        none = (high <= 0) | (low >= 1) | (high - low < 2 * _STEP)
    none |= (slope == 0) & ~is_fair(others, tolerance)
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
