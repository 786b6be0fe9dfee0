"""What was noticed of rows, of a log or of a run, by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairarm.core.posterior.disagreement import ERRORS
from fairarm.core.types import FloatArray

MODEL_DISAGREES = "model-disagrees"
"""The finding with which no arm is named."""


@dataclass(frozen=True)
class Finding:
    """One thing noticed. ``voids``: with it nothing is certified, whatever the numbers say."""

    name: str
    message: str
    rows: int = 0
    examples: tuple[str, ...] = ()
    voids: bool = True


def model_findings(arms: Sequence[str], apart: FloatArray, rows: Sequence[str] = ("gap",)) -> tuple[Finding, ...]:
    """One where an estimate lies further from the rows weighted to its arm than chance explains (``apart``, (1 + J, K): the
    outcome's and those of the ``rows`` of fairness, J names).

    What is certified does not rest on the estimates, so that this does not void it.
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
    return (Finding(MODEL_DISAGREES, text, 0, tuple(each), voids=False),)
