"""False certificates of an arm that is exactly at the tolerance, as studies are run and as they must not be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.live.cases import DELTA, Case, false_answer, false_fair
from fairarm.experiments.live.studies import LiveStudies

AT_ONCE = 100
"""Studies computed together."""


@dataclass(frozen=True)
class TruthLine:
    """One case, as it should be run or a mutant of it."""

    case: str
    how: str
    studies: int
    answers: int
    """That named the arm."""
    labels: int
    """That named it or called it fair."""
    days: float
    lost: float


def truth_line(case: Case, studies: int, mutant: bool = False, seed: int = 0) -> TruthLine:
    """``studies`` of one case."""
    how, kind = case.mutant if mutant and case.mutant is not None else ("as it should be", LiveStudies)
    answers, labels, days, lost = 0, 0, [], []
    for first in range(0, studies, AT_ONCE):
        made = case.studies(min(AT_ONCE, studies - first), seed + 1000 * first, kind)
        ended = made.run()
        answers += int(false_answer(made).sum())
        labels += int(false_fair(made).sum())
        days += ended.days.tolist()
        lost += (ended.lost / np.maximum(ended.people, 1)).tolist()
    return TruthLine(case.name, how, studies, answers, labels, float(np.median(days)), float(np.mean(lost)))


def most_allowed(studies: int, level: float = 1e-4) -> int:
    """The most errors that a rate of δ explains: more have probability below ``level``."""
    from scipy.stats import binom

    return int(binom.ppf(1 - level, studies, DELTA))
