"""What "fair" means, in one place: rows of the groups' means, the test, the best fair arm, and P(S) from counts.

    low_j < Σ_t a_jt μ_{k,t} + e_j μ_k < high_j for every row j: arm k is fair;     the answer is the fair arm with the highest μ_k

One gap between two groups, s and s' in this order, is the row ζ_k = μ_{k,s} − μ_{k,s'} with the ends ∓E. What means two groups
takes them apart by `two_groups` or `gap_of`, which refuse other numbers of them, so that none can answer for two of three.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.core.answer import Code
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.errors import DataError, ProblemError

WAY_OUT = (
    "Here the gap between two groups is meant: take the rows of fairness, merge states, or run one pair at a time."
)

PRIOR_ROWS = 0.5
"""Of each group, before any row: P(S) ~ Dirichlet(½, …, ½), Jeffreys' prior."""


def two_groups(values: NDArray[Any], axis: int = -1) -> tuple[NDArray[Any], NDArray[Any]]:
    """What belongs to s, and what belongs to s': the two entries along the axis of the groups, as views."""
    if values.shape[axis] != 2:
        raise ProblemError(f"Two groups are to be compared; got {values.shape[axis]}. {WAY_OUT}")
    first, second = np.moveaxis(values, axis, 0)
    return first, second


def gap_of(means: FloatArray, axis: int = -1) -> FloatArray:
    """ζ = μ(s) − μ(s'), or the same difference of laws, over the axis of the two groups."""
    first, second = two_groups(means, axis)
    return np.asarray(first - second)  # (A1)


def both_directions(gap: FloatArray) -> FloatArray:
    """ζ^{s,s'} and ζ^{s',s} of one estimate of the gap: (N, K) -> (N, 2, K). CSR estimates the two apart."""
    return np.stack([gap, -gap], axis=1)


def is_fair(gaps: FloatArray, tolerance: float) -> BoolArray:
    """|ζ| < E, strictly: an arm on the tolerance is unfair, and so is one whose gap is not known (nan)."""
    return np.asarray(np.abs(gaps) < tolerance)  # (A2)


@dataclass(frozen=True, eq=False)
class Rows:
    """Every question of fairness as J rows on the scale of Y': low_j < Σ_t a_jt μ_k(t) + e_j μ_k < high_j.

    Two groups whose gap is bounded are one row, a = (1, −1), with the ends ∓E (`Rows.gap`).
    """

    by_group: FloatArray
    """a, (J, G)."""
    everyone: FloatArray
    """e, (J,): the part of the outcome itself."""
    low: FloatArray
    high: FloatArray
    """(J,), ∓inf where there is no end."""

    @classmethod
    def gap(cls, tolerance: float) -> Rows:
        """Of two groups whose gap is below the tolerance: one row."""
        E = np.array([tolerance])
        return cls(np.array([[1.0, -1.0]]), np.zeros(1), -E, E)

    def __len__(self) -> int:
        return len(self.low)

    @property
    def groups(self) -> int:
        """G."""
        return int(self.by_group.shape[1])

    @property
    def possible(self) -> tuple[FloatArray, FloatArray]:
        """The least and the most that each row's value can be while all means lie between 0 and 1, (J,) each."""
        parts = np.concatenate([self.by_group, self.everyone[:, None]], axis=1)
        return np.asarray(np.minimum(parts, 0.0).sum(axis=1)), np.asarray(np.maximum(parts, 0.0).sum(axis=1))

    def values(self, means: FloatArray, outcomes: FloatArray) -> FloatArray:
        """Of every row, (..., K, J), from the groups' means (..., K, G) and the outcomes (..., K).

        nan where a mean that the row has is: one that it leaves out does not matter.
        """
        self._require_groups(means.shape[-1])
        unknown = np.isnan(means)
        if not unknown.any():
            return self._with_everyone(_times(means, self.by_group), outcomes[..., None])
        found = _times(np.where(unknown, 0.0, means), self.by_group)
        missing = _times(unknown.astype(np.float64), (self.by_group != 0).astype(np.float64)) > 0
        return self._with_everyone(np.where(missing, np.nan, found), outcomes[..., None])

    def coefficients(self, law: FloatArray, natural: FloatArray) -> FloatArray:
        """α_kj(c) with value = Σ_c α_kj(c) θ_c, (..., K, J, C), from p_{k,t} (..., K, G, C) and w_k (..., K, C)."""
        self._require_groups(law.shape[-2])
        found = np.matmul(self.by_group, law)
        if self.everyone.any():
            found = found + natural[..., None, :] * self.everyone[:, None]
        return np.asarray(found)

    def weights(self, shares: FloatArray) -> FloatArray:
        """a_jt + e_j P(t): each row by groups alone, (..., J, G), under P(S) (..., G)."""
        self._require_groups(shares.shape[-1])
        return np.asarray(self.by_group + self.everyone[:, None] * shares[..., None, :])

    def _with_everyone(self, found: FloatArray, outcomes: FloatArray) -> FloatArray:
        if not self.everyone.any():
            return found
        asked = self.everyone != 0
        found[..., asked] += outcomes * self.everyone[asked]
        return found

    def _require_groups(self, groups: int) -> None:
        if groups != self.groups:
            raise ProblemError(f"Rows of {self.groups} groups are compared; got {groups} groups. {WAY_OUT}")

    def hold(self, values: FloatArray) -> BoolArray:
        """Which rows hold, strictly: one on its end does not, nor one that is not known (nan)."""
        return np.asarray((values > self.low) & (values < self.high))

    @property
    def is_one_gap(self) -> bool:
        """Whether it is `Rows.gap`: the gap between two groups, and nothing else."""
        one = len(self) == 1 and self.by_group.tolist() == [[1.0, -1.0]] and not self.everyone.any()
        return one and bool(self.low[0] == -self.high[0])

    def among(self, shares: FloatArray) -> FloatArray:
        """f with value = Σ_t f_jt μ_k(t), (J, G), where the groups have these shares (G,)."""
        return np.asarray(self.by_group + self.everyone[:, None] * shares)

    def beyond(self, values: FloatArray) -> FloatArray:
        """How far each value lies outside of its ends, below 0 how far inside of the nearer one, (..., J)."""
        return np.asarray(np.maximum(self.low - values, values - self.high))

    def is_above(self, values: FloatArray) -> BoolArray:
        """Whether the upper end is the nearer one, (..., J); always, or never, where there is but one."""
        return np.asarray(values >= 0.5 * (self.low + self.high))

    def of_intervals(self, low: FloatArray, high: FloatArray) -> tuple[BoolArray, BoolArray]:
        """Which arms are fair, and which unfair, (..., K), wherever in its interval (..., K, J) each row lies.

        Fair: all rows lie inside their ends. Unfair: some row lies outside of its own, or on the end.
        """
        inside, outside = (low > self.low) & (high < self.high), (low >= self.high) | (high <= self.low)
        return np.asarray(inside.all(axis=-1)), np.asarray(outside.any(axis=-1))

    def fair(self, values: FloatArray) -> BoolArray:
        """Which arms are fair, (..., K) from (..., K, J): those of which all rows hold."""
        return np.asarray(self.hold(values).all(axis=-1))


def as_rows(values: FloatArray, asked: Rows | float) -> tuple[FloatArray, Rows]:
    """Values (..., K, J) and the rows that they are of; gaps (..., K) with a tolerance are those of one row."""
    if isinstance(asked, Rows):
        return values, asked
    return values[..., None], Rows.gap(asked)


def _times(parts: FloatArray, matrix: FloatArray) -> FloatArray:
    """(..., G) times (J, G): (..., J), as one product of matrices."""
    return np.asarray((parts.reshape(-1, parts.shape[-1]) @ matrix.T).reshape(*parts.shape[:-1], len(matrix)))


def interval_fairness(low: FloatArray, high: FloatArray, tolerance: float) -> tuple[BoolArray, BoolArray, BoolArray]:
    """Whether an interval of the gap is fair throughout, too high throughout (unfair toward s'), too low throughout.

    None of the three where it holds fair gaps and unfair ones.
    """
    return (low > -tolerance) & (high < tolerance), low >= tolerance, high <= -tolerance


def best_fair(outcomes: FloatArray, fair: BoolArray) -> IntArray:
    """The position of the highest outcome among the fair arms over the last axis, Code.NONE where none is fair."""
    best = np.argmax(np.where(fair, outcomes, -np.inf), axis=-1)
    return np.where(fair.any(axis=-1), best, Code.NONE)


def best_fair_arm(outcomes: FloatArray, values: FloatArray, asked: Rows | float) -> IntArray:
    """The same from drawn outcomes (..., K) and values of rows (..., K, J), or gaps (..., K) and a tolerance: (...,).

    Every answer from draws passes here: one that is not finite would count as unfair, and is an error instead.
    """
    values, rows = as_rows(values, asked)
    if not (np.all(np.isfinite(outcomes)) and np.all(np.isfinite(values))):
        raise DataError(
            "What is believed of an arm is not a finite number, so there is no answer: a weight, a probability or a count of "
            "the rows is far outside of what can be. Look at the propensities, counts and outcomes of the rows."
        )
    return best_fair(outcomes, rows.fair(values))


# ---- how sure an answer is ----


def losses(
    outcome_low: FloatArray, outcome_high: FloatArray, row_low: FloatArray, row_high: FloatArray, asked: Rows
) -> FloatArray:
    """By how much a fair arm can at most be better than each arm, (..., K); inf where the arm itself need not be fair.

    Outcomes (..., K) and rows (..., K, J) lie anywhere between their ends; draws without bounds have equal ends.
    """
    fair, unfair = asked.of_intervals(row_low, row_high)
    rivals = np.where(unfair, -np.inf, outcome_high)
    first = np.arange(rivals.shape[-1]) == np.argmax(rivals, axis=-1)[..., None]
    second = np.where(first, -np.inf, rivals).max(axis=-1, keepdims=True)
    best_other = np.where(first, second, rivals.max(axis=-1, keepdims=True))
    return np.where(fair, np.maximum(best_other - outcome_low, 0.0), np.inf)


def quantile_of_draws(values: FloatArray, confidence: float) -> FloatArray:
    """The least number that a share ``confidence`` of the draws (..., D, K) does not exceed, (..., K)."""
    place = max(math.ceil(confidence * values.shape[-2] - 1e-9), 1) - 1
    return np.asarray(np.partition(values, place, axis=-2)[..., place, :])


def all_unfair(row_low: FloatArray, row_high: FloatArray, asked: Rows, confidence: float) -> FloatArray:
    """The probability that every arm violates one end of one of its rows, the same in all draws, (...,), from rows (..., D, K, J).

    Each arm's end is the one that is violated most often. 0 where the usual interval of some arm reaches all its ends: draws beyond
    either end of a wide interval do not show that an arm is unfair.
    """
    violated = np.concatenate([row_high <= asked.low, row_low >= asked.high], axis=-1)
    chance = violated.mean(axis=-3)
    end = np.argmax(chance, axis=-1)
    together = np.take_along_axis(violated, end[..., None, :, None], axis=-1)[..., 0].all(axis=-1).mean(axis=-1)
    return np.where(chance.max(axis=-1).min(axis=-1) >= (1.0 + confidence) / 2, together, 0.0)


def expected_shares(natural: IntArray | FloatArray) -> FloatArray:
    """E[P(S) | rows] = (n_t + ½) / (n + G/2) of natural rows by group, (..., G)."""
    rows = natural + PRIOR_ROWS
    return np.asarray(rows / rows.sum(axis=-1, keepdims=True))


def draw_shares(natural: IntArray | FloatArray, draws: int, rng: np.random.Generator) -> FloatArray:
    """P(S) ~ Dirichlet(n_t + ½) given natural rows by group, (..., G) -> (..., draws, G); of two groups Beta(n_s + ½, n_s' + ½)."""
    rows = natural + PRIOR_ROWS  # (P6)
    if rows.shape[-1] > 2:
        gamma = rng.standard_gamma(rows[..., None, :], (*rows.shape[:-1], draws, rows.shape[-1]))
        return np.asarray(gamma / gamma.sum(axis=-1, keepdims=True))
    first, second = two_groups(rows)
    # the second share is 1 less the first, not a draw of its own, so that the two sum to 1 exactly
    share = rng.beta(first[..., None], second[..., None], (*first.shape, draws))
    return np.stack([share, 1.0 - share], axis=-1)
