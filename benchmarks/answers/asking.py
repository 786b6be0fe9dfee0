"""What `evaluate` says of a log, held against the truth. Versions without margins and reasons can be asked too, for comparison."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.answers.parts import Line
from benchmarks.answers.worlds import Log, Truth
from fairarm import evaluate

BLOCKS = "blocks the answer"
ROUNDING = 1e-9


def generator(seed: int, kind: str, index: int) -> np.random.Generator:
    """Of one log, and of no other."""
    return np.random.default_rng([seed, zlib.crc32(kind.encode()), index])


def said(log: Log, seed: int, margin: float | None = None, **options: Any) -> Any:
    """The evaluation; ``margin`` None: the default."""
    given: Mapping[str, Any] = options if margin is None else {**options, "margin": margin}
    return evaluate(log.problem, log.rows, columns=log.columns, seed=seed, **given)


def judged(found: Any, truth: Truth) -> Line:
    """Whether the answer, the recommendation and the intervals are right."""
    status, margin = str(found.status), getattr(found, "margin", 0.0)
    wrong = status != "UNDECIDED" and truth.is_wrong(found.arm, margin)
    return {
        "FOUND": status == "FOUND",
        "FOUND wrong": wrong and status == "FOUND",
        "unfair": status == "FOUND" and not truth.fair[truth.names.index(found.arm)],
        "none": status == "NO_FAIR_ARM",
        "none wrong": wrong and status == "NO_FAIR_ARM",
        "undecided": status == "UNDECIDED",
        "reason": reasons(found) if status == "UNDECIDED" else None,
        "none though wide": status == "NO_FAIR_ARM" and contains_zero(found),
        "recommended wrong": recommended_wrong(found, truth),
        "arm": found.arm,
        **covered(found, truth),
    }


def reasons(found: Any) -> str:
    """The code, and for a warning that blocks its own; "none" where an answer is withheld without a reason."""
    reason = getattr(found, "reason", None)
    if str(reason) == "blocking-warning":
        return ", ".join(sorted({w.name for w in found.findings if str(w.level) == BLOCKS})) or "blocking-warning, none"
    return "none" if reason is None else str(reason)


def contains_zero(found: Any) -> bool:
    """Whether some arm's every difference between groups has an interval with 0 in it."""
    return any(all(row.low <= 0 <= row.high for row in arm.fairness) for arm in found.arms)


def recommended_wrong(found: Any, truth: Truth) -> bool:
    """Of the likeliest answer, as if the margin were 0."""
    status = getattr(found, "recommended_status", found.status)
    return str(status) != "UNDECIDED" and truth.is_wrong(getattr(found, "recommended", found.arm), 0.0)


def covered(found: Any, truth: Truth) -> Line:
    """Which intervals contain the truth, arm by arm. Gaps where all conditions are differences of groups."""
    outcomes = [_within(arm.outcome, mu) for arm, mu in zip(found.arms, truth.outcomes, strict=True)]
    gaps = [
        _within(row, gap)
        for arm, own in zip(found.arms, truth.gaps, strict=True)
        if len(arm.fairness) == len(own)
        for row, gap in zip(arm.fairness, own, strict=True)
    ]
    return {"outcomes covered": outcomes, "gaps covered": gaps or None}


def _within(estimate: Any, value: float) -> bool:
    return bool(estimate.low - ROUNDING <= value <= estimate.high + ROUNDING)
