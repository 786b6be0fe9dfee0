"""What is believed of each arm now, as numbers, and the answer that follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from typing import Any

import numpy as np

from fairarm.beliefs.beliefs import Beliefs
from fairarm.core.answer import Code
from fairarm.core.fairness import Rows, all_unfair, as_rows, best_fair_arm, losses, quantile_of_draws
from fairarm.core.posterior.disagreement import ERRORS
from fairarm.core.types import BoolArray, FloatArray, IntArray

LIMITS = (0.025, 0.975)

GATE = 0.8
"""An arm is recommended only if it is fair with this probability."""

CONFIDENCE = 0.95
"""Of a status, where none is asked for."""


class Proof(IntEnum):
    """What is certified of an arm: shown by a bound that holds whatever the truth, not by a posterior."""

    NOTHING = 0
    FAIR = 1
    UNFAIR = 2
    """Toward one of the groups; it is not proved which."""
    WORSE = 3
    UNFAIR_OR_WORSE = 4
    """Not the answer, for one of the two reasons."""
    UNFAIR_TO_FIRST = 5
    UNFAIR_TO_SECOND = 6
    """Unfair, and the first (second) group's outcome is proved to be the lower one."""

    @property
    def label(self) -> str:
        """ "fair", "unfair", "worse", "unfair or worse", "nothing": in one word, whatever the side."""
        unfair = self in (Proof.UNFAIR_TO_FIRST, Proof.UNFAIR_TO_SECOND)
        return "unfair" if unfair else self.name.lower().replace("_", " ")


@dataclass(frozen=True)
class Choice:
    """What is recommended: the answer that goes by probabilities, (n,) each."""

    code: IntArray
    """An arm's position, NONE, or UNDECIDED: an arm that must not be named is likelier than every answer, "none" is not likely
    enough, or the model is wrong."""
    probability: FloatArray
    """Of that answer; where it is UNDECIDED, that no arm is fair."""


@dataclass(frozen=True)
class Standing:
    """What is believed of each arm, (n, K) unless said otherwise; nan where not computed."""

    best: FloatArray
    """The probability that the arm is the best fair one."""
    none: FloatArray
    """(n,): the probability that no arm is fair."""
    fair: FloatArray
    """The probability that the arm is fair: that all rows hold."""
    outcome_low: FloatArray
    outcome_high: FloatArray
    """95 % limits of the outcome."""
    row_low: FloatArray
    row_high: FloatArray
    """95 % limits of every row of fairness, (n, K, J): of the gap where that is all that is asked about."""
    row_holds: FloatArray
    """The probability that the row holds, (n, K, J)."""
    loss: FloatArray
    """The arm is fair, and no fair arm is better by more than this, with the probability `standing_of` was asked for; inf where it is not
    that surely fair."""
    unfair: FloatArray
    """(n,): the probability that every arm is unfair toward one side (`all_unfair`)."""
    effective: FloatArray
    largest_weight: FloatArray
    overlap: FloatArray
    unseen: FloatArray
    """How well the rows speak for the arm (`Diagnostics`)."""
    proof: IntArray
    """A Proof."""
    robust: BoolArray
    """(n,): estimated by the doubly robust form, not by cell means."""
    apart: FloatArray
    """How far the estimates of outcomes and of every row are from the rows of data weighted to each arm, in standard errors,
    (n, 1 + J, K)."""

    @classmethod
    def unknown(cls, n: int, arms: int, rows: int = 1) -> Standing:
        """Of runs whose algorithm has no beliefs, or before their first phase has closed; ``rows`` of fairness."""
        made: dict[str, Any] = {f.name: np.full((n, arms), np.nan) for f in fields(cls)}
        made["none"], made["unfair"] = np.full((2, n), np.nan)
        made["proof"] = np.zeros((n, arms), dtype=np.int64)
        made["robust"] = np.zeros(n, dtype=np.bool_)
        made["apart"] = np.full((n, 1 + rows, arms), np.nan)
        for name in ("row_low", "row_high", "row_holds"):
            made[name] = np.full((n, arms, rows), np.nan)
        return cls(**made)

    def updated(self, which: BoolArray, fresh: Standing) -> Standing:
        """With the replicates ``which`` replaced, in order, by those of ``fresh``."""
        if which.all():
            return fresh
        made = {f.name: getattr(self, f.name).copy() for f in fields(self)}
        for name, values in made.items():
            values[which] = getattr(fresh, name)
        return Standing(**made)

    def of(self, replicate: int) -> Standing:
        """One replicate, n = 1."""
        return Standing(**{f.name: getattr(self, f.name)[replicate : replicate + 1] for f in fields(self)})

    # ---- the answer ----

    @property
    def votes(self) -> FloatArray:
        """The probability of each answer, (n, 1 + K): that no arm is fair, then that each arm is the best fair one."""
        return np.concatenate([self.none[:, None], self.best], axis=1)

    def choice(self, gate: float = GATE, heard: BoolArray | None = None, least_none: float = 0.0) -> Choice:
        """The most probable of "none" and the arms that pass the gate: those fair with at least this probability.

        ``heard``, (n, K) or (K,): the arms that the rows speak for. Others are not named, but stand in the way: where one of
        them is likelier than every answer that could be given, none is. Nor is one where the model is shown to be wrong, nor
        is "none" with a probability below ``least_none``.
        """
        may = np.broadcast_to(True if heard is None else heard, self.best.shape)
        allowed = np.where(may & (self.fair >= gate), self.best, -1.0)
        votes = np.concatenate([self.none[:, None], allowed], axis=1)
        first = votes.max(axis=1)
        blocked = np.where(may, 0.0, self.best).max(axis=1) > first
        likeliest = np.argmax(votes, axis=1) + int(Code.NONE)
        blocked = blocked | self.model_disagrees | ((likeliest == Code.NONE) & (self.none < least_none))
        code = np.where(blocked, Code.UNDECIDED, likeliest)
        return Choice(code, np.where(blocked, self.none, first))

    def sure(self, recommended: IntArray, confidence: float, margin: float = 0.0) -> IntArray:
        """The answers that are sure enough to act on, (n,): the arm that is ``recommended`` (n,), NONE, or UNDECIDED. ``confidence`` is that
        of `standing_of`; ``margin``: another fair arm may be better by this."""
        loss = np.take_along_axis(self.loss, np.maximum(recommended, 0)[:, None], axis=1)[:, 0]
        found = (recommended >= 0) & (loss <= margin)
        none = (self.unfair >= confidence) & ~self.model_disagrees
        return np.where(found, recommended, np.where(none, Code.NONE, Code.UNDECIDED))

    @property
    def model_disagrees(self) -> BoolArray:
        """(n,): what was estimated differs from the rows by more than chance explains, so no answer may rest on it."""
        return np.asarray((self.apart > ERRORS).any(axis=(1, 2)))

    def likeliest(self) -> IntArray:
        """The most probable answer whatever the gate, (n,): NONE or an arm."""
        return np.asarray(np.argmax(self.votes, axis=1) + int(Code.NONE))

    def runner_up(self, leader: IntArray) -> IntArray:
        """The most probable answer but for ``leader`` (n,), NONE or an arm."""
        others = np.arange(self.best.shape[1] + 1) != (leader - int(Code.NONE))[:, None]
        return np.asarray(np.argmax(np.where(others, self.votes, -1.0), axis=1) + int(Code.NONE))

    def probability(self, code: IntArray) -> FloatArray:
        """Of the answers ``code`` (n,), NONE or an arm each."""
        return np.take_along_axis(self.votes, (code - int(Code.NONE))[:, None], axis=1)[:, 0]


def standing_of(
    beliefs: Beliefs,
    outcomes: FloatArray,
    values: FloatArray,
    asked: Rows | float,
    shown: bool = True,
    confidence: float = CONFIDENCE,
    excluded: Sequence[int] = (),
) -> Standing:
    """Probabilities from draws, outcomes (N, D, K) and values of rows (N, D, K, J), or gaps (N, D, K) and a tolerance; with
    ``shown``, what people look at beside them: limits, single rows and diagnostics. ``confidence``: of ``loss`` and ``unfair``.
    Arms that are ``excluded`` are not compared with the others."""
    values, rows = as_rows(values, asked)
    N, _, K, J = values.shape
    unfair = np.where(np.isfinite(rows.high), rows.high, rows.low)  # an end is not within
    rivals = np.where(np.isin(np.arange(K), excluded)[:, None], unfair, values) if excluded else values
    best, holds = best_fair_arm(outcomes, rivals, rows), rows.hold(values)
    answered = replace(
        Standing.unknown(N, K, J),
        best=(best[:, :, None] == np.arange(K)).mean(axis=1),
        none=(best == Code.NONE).mean(axis=1),
        fair=holds.all(axis=3).mean(axis=1),
        loss=quantile_of_draws(losses(outcomes, outcomes, rivals, rivals, rows), confidence),
        unfair=all_unfair(rivals, rivals, rows, confidence),
        robust=np.full(N, beliefs.method == "doubly robust"),
        apart=np.moveaxis(beliefs.self_check().size, 0, 1),
    )
    if not shown:
        return answered
    diagnostics = beliefs.diagnostics()
    low, high = np.quantile(outcomes, LIMITS, axis=1)
    # row by row: what is sorted is a copy
    row_low, row_high = np.stack([np.quantile(values[..., j], LIMITS, axis=1) for j in range(J)], axis=-1)
    return replace(
        answered,
        outcome_low=low,
        outcome_high=high,
        row_low=row_low,
        row_high=row_high,
        row_holds=holds.mean(axis=1),
        effective=diagnostics.effective,
        largest_weight=diagnostics.largest_weight,
        overlap=diagnostics.overlap,
        unseen=diagnostics.unseen,
    )
