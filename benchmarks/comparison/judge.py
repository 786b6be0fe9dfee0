"""What the comparison shows: pulls to reach an error with its uncertainty, and whether Pool is anywhere worse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.stats import norm

from fairarm.core.types import FloatArray
from fairarm.experiments.paper.run import FinishedPoint

RESAMPLES = 2000
WORSE_LEVEL = 0.01


def curve_of(found: Sequence[FinishedPoint]) -> tuple[FloatArray, FloatArray]:
    """Pulls (P,) and errors by instance (P, instances) of one algorithm in one setting."""
    ordered = sorted(found, key=lambda e: e.point.pulls)
    shares = [np.array(e.errors_by_instance) * len(e.point.instances) / e.runs for e in ordered]
    return np.array([e.point.pulls for e in ordered], dtype=np.float64), np.stack(shares)


def pulls_to_reach(pulls: FloatArray, errors: FloatArray, target: float) -> float:
    """Where the error, made to fall with the pulls, first reaches the target, log-linear between points; inf if nowhere.

    Where it is below at the first point already, that point is returned: the truth may be lower.
    """
    falling = np.asarray(isotonic_regression(errors, increasing=False).x)
    below = np.flatnonzero(falling <= target)
    if not len(below):
        return math.inf
    i = int(below[0])
    if i == 0:
        return float(pulls[0])
    share = (falling[i - 1] - target) / (falling[i - 1] - falling[i])
    return float(np.exp(np.log(pulls[i - 1]) + share * np.log(pulls[i] / pulls[i - 1])))


@dataclass(frozen=True)
class Saving:
    """Pulls to reach an error: Pool's, the better of two rivals', and their ratio with 95 % limits."""

    setting: str
    pool: float
    rivals: dict[str, float]
    ratio: float
    low: float
    high: float


def saving(setting: str, by_algorithm: dict[str, list[FinishedPoint]], rivals: Sequence[str], target: float) -> Saving:
    """Limits from resampling instances, and runs within them, ``RESAMPLES`` times."""
    rng = np.random.default_rng(12)
    curves = {name: curve_of(by_algorithm[name]) for name in ("pool", *rivals)}
    each = by_algorithm["pool"][0].runs // curves["pool"][1].shape[1]

    def reached(errors: dict[str, FloatArray]) -> dict[str, float]:
        return {name: pulls_to_reach(curves[name][0], errors[name].mean(axis=1), target) for name in curves}

    point = reached({name: errors for name, (_, errors) in curves.items()})
    ratios = []
    for _ in range(RESAMPLES):
        chosen = rng.integers(0, curves["pool"][1].shape[1], curves["pool"][1].shape[1])
        again = {name: rng.binomial(each, errors[:, chosen]) / each for name, (_, errors) in curves.items()}
        drawn = reached(again)
        ratios.append(_ratio(min(drawn[name] for name in rivals), drawn["pool"]))
    low, high = np.quantile(ratios, (0.025, 0.975), method="inverted_cdf")  # some may be infinite
    best = min(point[name] for name in rivals)
    return Saving(
        setting, point["pool"], {n: point[n] for n in rivals}, _ratio(best, point["pool"]), float(low), float(high)
    )


def without(found: Sequence[FinishedPoint], dropped: Sequence[int]) -> list[FinishedPoint]:
    """The same evidence over fewer instances."""
    made = []
    for e in found:
        kept = [i for i in range(len(e.point.instances)) if i not in dropped]
        point = replace(e.point, instances=tuple(e.point.instances[i] for i in kept))
        errors = tuple(e.errors_by_instance[i] for i in kept)
        runs = e.runs * len(kept) // len(e.point.instances)
        made.append(replace(e, point=point, runs=runs, errors=sum(errors), errors_by_instance=errors))
    return made


def _ratio(rival: float, pool: float) -> float:
    return math.inf if math.isinf(rival) else rival / pool


@dataclass(frozen=True)
class Loss:
    """A number of pulls at which Pool has a higher error than a competitor, and how sure that is."""

    setting: str
    competitor: str
    pulls: int
    pool: float
    other: float
    p_value: float
    significant: bool
    """After Holm's correction over the numbers of pulls, at 1 %."""


def losses(setting: str, by_algorithm: dict[str, list[FinishedPoint]]) -> list[Loss]:
    """Every point at which Pool does worse than a competitor; one-sided test of two proportions, Holm over pulls."""
    found = []
    pool = {e.point.pulls: e for e in by_algorithm["pool"]}
    for name, evidence in by_algorithm.items():
        if name == "pool":
            continue
        tested = [(e, _worse(pool[e.point.pulls], e)) for e in evidence if e.point.pulls in pool]
        rejected = holm([p for _, p in tested], WORSE_LEVEL)
        found += [
            Loss(setting, name, e.point.pulls, pool[e.point.pulls].error, e.error, p, bad)
            for (e, p), bad in zip(tested, rejected, strict=True)
            if pool[e.point.pulls].error > e.error
        ]
    return found


def _worse(pool: FinishedPoint, other: FinishedPoint) -> float:
    """p-value of "Pool's error is not higher", pooled variance."""
    n, m = pool.runs, other.runs
    share = (pool.errors + other.errors) / (n + m)
    spread = math.sqrt(share * (1 - share) * (1 / n + 1 / m))
    return 1.0 if spread == 0 else float(norm.sf((pool.error - other.error) / spread))


def holm(p_values: Sequence[float], level: float) -> list[bool]:
    """Which hypotheses are rejected, so that any true one is with probability ``level`` at most."""
    rejected = [False] * len(p_values)
    for rank, i in enumerate(np.argsort(p_values)):
        if p_values[i] > level / (len(p_values) - rank):
            break
        rejected[int(i)] = True
    return rejected
