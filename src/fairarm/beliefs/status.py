"""The answer that is safe to act on, beside what is recommended, and why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairarm.beliefs.findings import Finding
from fairarm.beliefs.standing import CONFIDENCE, Standing
from fairarm.core.answer import Code
from fairarm.core.types import BoolArray, IntArray
from fairarm.errors import OptionError
from fairarm.problem.answer import Answer, Status
from fairarm.problem.problem import Problem

REASONS = {
    "still-running": "The run has pulls left.",
    "no-probability": "The algorithm does not say how probable its answer is.",
    "blocking-warning": "The warning '{warning}' blocks the answer.",
    "impossible-rows": "Too many rows have decisions that the declared rule never makes.",
    "outcome-needs-decision": "The outcome is known only where certain decisions were made.",
    "learned-from-this-log": "An arm that was learned from this log may be the best fair arm.",
    "no-support": "An arm that this log does not support may be the best fair arm.",
    "unseen-cells": "It depends on decisions that were never tried for people like those concerned.",
    "missing-outcomes": "It depends on what the missing outcomes were.",
    "fairness-open": "It is not sure enough which arms are fair.",
    "arms-too-close": "It is not sure enough which fair arm is best.",
    "not-proved": "No answer is proved.",
    "not-proved-yet": "No answer is proved yet.",
}
"""Why a status is UNDECIDED, by code; where several apply the first is reported. A finding of the same name that blocks the answer is that
reason."""


@dataclass(frozen=True)
class Decision:
    """The answer that is safe to act on, and what is recommended. Losses and margins are in the outcome's own units."""

    answer: Answer
    recommended: Answer
    """The most probable answer, where an arm is fair with probability 0.8 or more."""
    recommended_probability: float | None
    """A lower bound where something is only bounded; None where nothing is recommended, or the algorithm does not say."""
    recommended_probability_at_random: float | None
    """Without those bounds."""
    reasons: tuple[str, ...] = ()
    """Codes of `REASONS`."""
    blocked_by: tuple[str, ...] = ()
    """Findings that block the answer."""
    loss_at_most: float | None = None
    """The advantage of the best fair arm over the one recommended, with probability ``confidence``; None where that arm is not that surely
    fair."""
    margin: float = 0.0
    confidence: float = CONFIDENCE


class WithDecision:
    """What everything with a `Decision` shows of it."""

    decision: Decision

    @property
    def status(self) -> Status:
        """FOUND, NO_FAIR_ARM or UNDECIDED: safe to act on."""
        return self.decision.answer.status

    @property
    def arm(self) -> str | None:
        """The arm that was found."""
        return self.decision.answer.arm

    @property
    def reason(self) -> str | None:
        """Why the status is UNDECIDED, as a code."""
        return next(iter(self.decision.reasons), None)

    @property
    def reason_text(self) -> str | None:
        """The same as a sentence."""
        blocking = ", ".join(self.decision.blocked_by)
        return None if self.reason is None else REASONS[self.reason].format(warning=blocking)

    @property
    def reasons(self) -> tuple[str, ...]:
        """All of them."""
        return self.decision.reasons

    @property
    def recommended(self) -> str | None:
        """The arm that is recommended, whether or not that is sure enough."""
        return self.decision.recommended.arm

    @property
    def recommended_status(self) -> Status:
        """FOUND, NO_FAIR_ARM or UNDECIDED, of what is recommended."""
        return self.decision.recommended.status

    @property
    def recommended_probability(self) -> float | None:
        """Of what is recommended."""
        return self.decision.recommended_probability

    @property
    def loss_at_most(self) -> float | None:
        """By how much another fair arm can be better than the one recommended, with probability ``confidence``."""
        return self.decision.loss_at_most

    @property
    def margin(self) -> float:
        """By how much another fair arm may be better than the one found."""
        return self.decision.margin


def check_margin(margin: float) -> None:
    """Raise unless it is finite and not negative."""
    if not 0 <= margin < np.inf:
        raise OptionError(f"The margin is a finite number, 0 or more, in units of the outcome; got {margin}.")


def decide(
    problem: Problem,
    standing: Standing,
    recommended: IntArray,
    findings: Iterable[Finding],
    *,
    margin: float = 0.0,
    confidence: float = CONFIDENCE,
    unbounded: Standing | None = None,
    bounded_by: Sequence[str] = (),
    not_recommended: Mapping[str, BoolArray] | None = None,
) -> Decision:
    """By the posterior of one run or log: ``recommended`` (1,) as it is chosen.

    ``standing``: with lower bounds where something is only bounded, ``bounded_by`` which reasons; ``unbounded``: without.
    ``not_recommended``: arms (K,) that are never recommended, by the reason.
    """
    free, width = unbounded or standing, problem.outcome.width
    sure, sure_free = (int(each.sure(recommended, confidence, margin / width)[0]) for each in (standing, free))
    blocked_by = tuple(dict.fromkeys(each.name for each in findings if each.blocks_answer))
    found = {name if name in REASONS else "blocking-warning" for name in blocked_by}
    if sure == Code.UNDECIDED:
        others = not_recommended or {}
        found |= {why for why, arms in others.items() if free.best[0, arms].sum() > 1.0 - confidence}
        surely_fair = recommended[0] >= 0 and free.fair[0, recommended[0]] >= confidence
        still_open = "arms-too-close" if surely_fair else "fairness-open"
        found |= {still_open} if sure_free == Code.UNDECIDED else set(bounded_by)
    reasons = tuple(code for code in REASONS if code in found)
    loss = standing.loss[0, recommended[0]] * width if recommended[0] >= 0 else np.inf
    chance, at_random = (
        None if recommended[0] < Code.NONE else float(each.probability(recommended)[0]) for each in (standing, free)
    )
    return Decision(
        Answer.of(Code.UNDECIDED if reasons else sure, problem.arm_names),
        Answer.of(int(recommended[0]), problem.arm_names),
        chance,
        at_random,
        reasons,
        blocked_by,
        float(loss) if np.isfinite(loss) else None,
        margin,
        confidence,
    )
