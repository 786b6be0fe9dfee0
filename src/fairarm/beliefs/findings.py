"""What was noticed of rows, of a log or of a run, by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from fairarm.core.posterior.disagreement import ERRORS
from fairarm.core.types import FloatArray

MODEL_DISAGREES = "model-disagrees"
"""The finding that blocks the answer, but no certificate."""

MOST_DISCARDED = 0.01
"""Discarded rows block the answer above this share of the log."""


HEAVY_TAILED, MOST_SKEWNESS, ENOUGH_ROWS = "heavy-tailed-outcome", 0.1, 100.0
"""Means of a real outcome that are more skewed are not described by their intervals; arms with fewer effective rows are not looked at."""


class Level(StrEnum):
    """What a finding does to the answer. Each level blocks what the one before it blocks."""

    INFO = "info"
    WARNING = "warning"
    BLOCKS_CERTIFICATION = "blocks certification"
    """Nothing is certified, whatever the numbers say."""
    BLOCKS_ANSWER = "blocks the answer"
    """The status is UNDECIDED too."""


@dataclass(frozen=True)
class Finding:
    """One thing noticed."""

    name: str
    message: str
    rows: int = 0
    examples: tuple[str, ...] = ()
    level: Level = Level.BLOCKS_CERTIFICATION

    @property
    def blocks_certification(self) -> bool:
        """Nothing is certified with it. What is certified does not depend on the model."""
        return self.name not in (MODEL_DISAGREES, HEAVY_TAILED) and self.level in (
            Level.BLOCKS_CERTIFICATION,
            Level.BLOCKS_ANSWER,
        )

    @property
    def blocks_answer(self) -> bool:
        """The status is UNDECIDED with it."""
        return self.level == Level.BLOCKS_ANSWER


def model_findings(
    arms: Sequence[str], apart: FloatArray, rows: Sequence[str] = ("gap",), level: Level = Level.BLOCKS_ANSWER
) -> tuple[Finding, ...]:
    """One where an estimate lies further from the rows weighted to its arm than chance explains (``apart``, (1 + J, K): the
    outcome's and those of the ``rows`` of fairness, J names).

    A certified run does not depend on the estimates: there the ``level`` is WARNING.
    """
    worst = [k for k in np.argsort(-apart.max(axis=0), kind="stable") if apart[:, k].max() > ERRORS]
    if not worst:
        return ()
    text = (
        f"Estimates do not agree with the rows: weighted to the arm, these differ from its value by more than {ERRORS:g} standard "
        f"errors. What the model takes as alike is not, so its values, intervals and probabilities are wrong, and no arm is "
        f"named. Merge states that are rare, or declare fewer columns."
    )
    each = [
        f"{('outcome', *rows)[int(np.argmax(apart[:, k]))]} of {arms[k]}: {apart[:, k].max():.1f}" for k in worst[:5]
    ]
    return (Finding(MODEL_DISAGREES, text, 0, tuple(each), level),)


def tail_findings(arms: Sequence[str], skewness: FloatArray, effective: FloatArray) -> tuple[Finding, ...]:
    """One where few rows decide the mean of a real outcome, by the ``skewness`` of the arms' means and their ``effective`` rows, (K,)."""
    looked_at = effective >= min(ENOUGH_ROWS, effective.max())
    found = np.where(looked_at, skewness, 0.0)
    if found.max() <= MOST_SKEWNESS:
        return ()
    k = int(np.argmax(found))
    text = (
        f"A few large outcomes decide the mean: that of rule {arms[k]} has skewness {found[k]:.2f}, and above {MOST_SKEWNESS:g} intervals "
        f"are too narrow, so that no rule is named. Collect more rows, or declare an outcome that is capped or in states."
        if np.isfinite(found[k])
        else f"Outcomes weighted to rule {arms[k]} do not vary within cells, so their spread is not known and no rule is named. Collect more rows; or, where the outcome takes only "
        f"a few values, declare them as its states."
    )
    return (Finding(HEAVY_TAILED, text, level=Level.BLOCKS_ANSWER),)
