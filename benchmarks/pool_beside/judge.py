"""Is pool anywhere worse than before? Runs of one instance with one seed are pairs: only those that differ tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from benchmarks.comparison.judge import holm
from benchmarks.pool_beside.measure import Task, Wrong
from fairarm.core.types import BoolArray

LEVEL = 0.01


@dataclass(frozen=True)
class Point:
    """One setting at one number of pulls, over all instances: errors now and before, and how sure it is that it is worse."""

    setting: str
    pulls: int
    runs: int
    now: float
    before: float
    error: float
    """The standard error of their difference, of pairs."""
    worsened: int
    """Runs that are wrong now and were right before."""
    mended: int

    @property
    def difference(self) -> float:
        return self.now - self.before

    @property
    def p_value(self) -> float:
        """The probability of so many worsened among those that differ, if either were as likely: the sign test, one-sided.

        Where errors are the same on average but not on each instance, it is smaller still.
        """
        return float(binom.sf(self.worsened - 1, self.worsened + self.mended, 0.5))


def points(now: Wrong, before: Wrong) -> list[Point]:
    """Of the tasks that both have, in their order."""
    grouped: dict[tuple[str, int], list[Task]] = {}
    for task in now:
        if task in before:
            grouped.setdefault((task.setting, task.pulls), []).append(task)
    return [
        _point(*key, np.stack([now[t] for t in ts]), np.stack([before[t] for t in ts])) for key, ts in grouped.items()
    ]


def _point(setting: str, pulls: int, now: BoolArray, before: BoolArray) -> Point:
    """From which runs are wrong, (instances, runs) each."""
    step = now.astype(np.float64) - before
    error = math.sqrt(float(step.var(axis=1).mean()) / step.size)  # instances are fixed: spread within each alone
    worsened, mended = int((now & ~before).sum()), int((before & ~now).sum())
    return Point(setting, pulls, now.size, float(now.mean()), float(before.mean()), error, worsened, mended)


def worse(found: Sequence[Point], level: float = LEVEL) -> list[Point]:
    """Those that are worse beyond noise, after Holm's correction over all points."""
    return [point for point, bad in zip(found, holm([p.p_value for p in found], level), strict=True) if bad]


def better(found: Sequence[Point], level: float = LEVEL) -> list[Point]:
    """Those that are better beyond noise, likewise."""
    mirrored = [float(binom.sf(p.mended - 1, p.worsened + p.mended, 0.5)) for p in found]
    return [point for point, good in zip(found, holm(mirrored, level), strict=True) if good]
