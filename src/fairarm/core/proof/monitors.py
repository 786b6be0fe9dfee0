"""What a certified run watches besides its law: do outcomes drift, and are some people lost more often (docs/certified.md, part 5)?

Each monitor is an e-process: while what it watches is as assumed, its wealth ever reaches 1/α with probability at most α. It is looked
at when a whole cohort is settled.

Shapes: N studies, K arms, G groups, C cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairarm.core.proof.law_test import PRIOR, log_average
from fairarm.core.special import log_gamma
from fairarm.core.types import BoolArray, FloatArray, IntArray

ALPHA = 0.001
"""Of each monitor."""

LOG_ALARM = math.log(1 / ALPHA)

FORGOTTEN = 0.8
"""What a cohort's rows count for when the next one has come, to a model that forgets."""

DAYS, WEEKEND = 7, 5
"""Of a week, and where its end begins."""

RATE_ROWS, RATE_AT_FIRST = 50.0, (1.0, 100.0)
"""Rows by which the loss of an arm or group is drawn to that of all, and lost and dealt rows that this starts from."""

MOST_LOST = 0.5
"""Where more of a cohort is lost, nothing is bet on who it was."""


@dataclass(frozen=True, eq=False)
class Drift:
    """Rows and outcome sums by cell, (N, C), as models of the outcome count them: one that is steady, one that forgets, and one for
    each weekday, (N, 7, C), whose last two make the weekend; none, (N, 0, C), where days are not known. ``predicted`` (N, 3, C) or
    (N, 1, C): log likelihood of the rows as they were predicted by what is recent, by the weekday, and by weekend or not."""

    steady_n: FloatArray
    steady_y: FloatArray
    recent_n: FloatArray
    recent_y: FloatArray
    weekday_n: FloatArray
    weekday_y: FloatArray
    predicted: FloatArray

    @classmethod
    def start(cls, studies: int, cells: int, days: bool = True) -> Drift:
        """Before the first row."""
        none, week = np.zeros((studies, cells)), np.zeros((studies, DAYS * days, cells))
        return cls(none, none, none, none, week, week, np.zeros((studies, 1 + 2 * days, cells)))

    def after(
        self, n: FloatArray, y: FloatArray, weekday: int | None = None, skipped: BoolArray | None = None
    ) -> Drift:
        """With the rows (N, C) of a whole cohort that began on this weekday; ``skipped`` (N,) studies had none."""
        if skipped is not None:
            n, y = np.where(skipped[:, None], 0.0, n), np.where(skipped[:, None], 0.0, y)
        predicted = [_log_predicted(self.recent_n, self.recent_y, n, y)]  # by all models, where the day is not known
        day_n, day_y = self.weekday_n, self.weekday_y
        if weekday is not None and day_n.shape[1]:
            alike = slice(0, WEEKEND) if weekday < WEEKEND else slice(WEEKEND, DAYS)
            for which in (slice(weekday, weekday + 1), alike):
                predicted.append(_log_predicted(day_n[:, which].sum(axis=1), day_y[:, which].sum(axis=1), n, y))
            day_n, day_y = day_n.copy(), day_y.copy()
            day_n[:, weekday] += n
            day_y[:, weekday] += y
        kept = FORGOTTEN if skipped is None else np.where(skipped, 1.0, FORGOTTEN)[:, None]
        return Drift(
            steady_n=self.steady_n + n,
            steady_y=self.steady_y + y,
            recent_n=kept * self.recent_n + n,
            recent_y=kept * self.recent_y + y,
            weekday_n=day_n,
            weekday_y=day_y,
            predicted=self.predicted + np.stack(predicted, axis=1),
        )

    def log_value(self) -> FloatArray:
        """log of the average e-value, (N,): of each cell and of all, for each of the models that move."""
        if not self.predicted.shape[-1]:
            return np.zeros(len(self.predicted))
        constant = _times_log(self.steady_y, self.steady_n) + _times_log(self.steady_n - self.steady_y, self.steady_n)
        each = self.predicted - constant[:, None]  # (M2)
        values = np.concatenate([each.reshape(len(each), -1), each.sum(axis=2)], axis=1)
        return log_average(values)

    def alarm(self) -> BoolArray:
        """(N,): outcomes are not what they were."""
        return np.asarray(self.log_value() >= LOG_ALARM)


def _log_predicted(n: FloatArray, y: FloatArray, more: FloatArray, more_y: FloatArray) -> FloatArray:
    """log of ∫ θ^y' (1−θ)^(n'−y') under Beta(½ + y, ½ + n − y)."""
    a, b = PRIOR + y, PRIOR + n - y
    return np.asarray(_log_beta(a + more_y, b + more - more_y) - _log_beta(a, b))


def _times_log(part: FloatArray, whole: FloatArray) -> FloatArray:
    """part · log(part / whole), 0 where the part is."""
    share = np.divide(part, whole, out=np.ones_like(part), where=(part > 0) & (whole > 0))
    return np.asarray(part * np.log(share))


def _log_beta(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(log_gamma(a) + log_gamma(b) - log_gamma(a + b))


@dataclass(frozen=True, eq=False)
class LossRows:
    """Rows dealt and gone by arm and by group, or whatever else people are told apart by, (N, K, G), and the log wealth of three bets
    on who is lost, (N, 3): by arm, by group, by both."""

    dealt: FloatArray
    gone: FloatArray
    loss_wealth: FloatArray

    @classmethod
    def start(cls, studies: int, arms: int, groups: int) -> LossRows:
        """Before the first row."""
        none = np.zeros((studies, arms, groups))
        return cls(none, none, np.zeros((studies, 3)))

    def after(self, dealt: IntArray, gone: IntArray, skipped: BoolArray | None = None) -> LossRows:
        """With a whole cohort, (N, K, G) each; given how many were lost, who they were is bet on."""
        if skipped is not None:
            dealt, gone = (np.where(skipped[:, None, None], 0, part) for part in (dealt, gone))
        if not gone.any():
            return LossRows(self.dealt + dealt, self.gone, self.loss_wealth)
        parts = self.dealt, self.gone, dealt, gone
        won = [_log_bet(*(fold(part).reshape(len(dealt), -1).astype(np.float64) for part in parts)) for fold in _FOLDS]
        return LossRows(self.dealt + dealt, self.gone + gone, self.loss_wealth + np.stack(won, axis=1))

    def log_value(self) -> FloatArray:
        """log of the average wealth, (N,)."""
        return log_average(self.loss_wealth)

    def alarm(self) -> BoolArray:
        """(N,): some people are lost more often than others."""
        return np.asarray(self.log_value() >= LOG_ALARM)


_FOLDS: tuple[Callable[[Any], Any], ...] = (
    lambda part: part.sum(axis=2),
    lambda part: part.sum(axis=1),
    lambda part: part,
)


def _log_bet(dealt: FloatArray, lost: FloatArray, now: FloatArray, gone: FloatArray) -> FloatArray:
    """log of P(who was lost | earlier cohorts) / P(who was lost | all alike), (N,), for units (N, U).

    Under "all alike" the lost are drawn from those dealt without replacement. The bettor's law is Dirichlet-multinomial, with the
    loss of each unit so far.
    """
    total, missing = now.sum(axis=1), gone.sum(axis=1)
    overall = (lost.sum(axis=1) + RATE_AT_FIRST[0]) / (dealt.sum(axis=1) + RATE_AT_FIRST[1])
    rate = (lost + RATE_ROWS * overall[:, None]) / (dealt + RATE_ROWS)
    weight = now * rate
    strength = 0.5 * now.shape[1] + lost.sum(axis=1)
    a = strength[:, None] * weight / np.maximum(weight.sum(axis=1), 1e-300)[:, None]
    some = now > 0
    a = np.where(some, np.maximum(a, 1e-12), 1.0)
    own = np.where(some, log_gamma(a + gone) - log_gamma(a), 0.0).sum(axis=1)
    A = np.where(some, a, 0.0).sum(axis=1)
    A = np.where(A > 0, A, 1.0)
    alternative = (
        own + log_gamma(A) - log_gamma(A + missing) + log_gamma(missing + 1.0) - log_gamma(gone + 1.0).sum(axis=1)
    )
    alike = _log_choose(now, gone).sum(axis=1) - _log_choose(total, missing)
    bet = (missing > 0) & (missing <= MOST_LOST * total)
    return np.where(bet, alternative - alike, 0.0)  # (M3)


def _log_choose(n: FloatArray, k: FloatArray) -> FloatArray:
    return np.asarray(log_gamma(n + 1.0) - log_gamma(k + 1.0) - log_gamma(n - k + 1.0))
