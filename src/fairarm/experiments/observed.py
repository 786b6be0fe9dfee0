"""A log as it is: the groups' mean outcomes in its natural rows, and how far apart they lie, whatever the arms would do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.core.statistics import difference_interval
from fairarm.experiments.evidence_from_log import LogEvidence
from fairarm.problem.fairness import pair_names


@dataclass(frozen=True)
class ObservedGroup:
    """Natural rows of one group as they are: their number and mean outcome."""

    group: str
    rows: int
    mean: float | None


@dataclass(frozen=True)
class PlainGap:
    """The difference of two groups' mean outcomes in the log as it is, with an ordinary interval."""

    value: float | None
    """None where a group has no natural row."""
    interval: tuple[float, float] | None
    """None where a group has fewer than two rows, or where the outcome varies too little within its declared range."""


def observed_groups(logged: LogEvidence) -> tuple[ObservedGroup, ...]:
    """Every group, in order."""
    problem, found = logged.problem, []
    for t, group in enumerate(problem.groups):
        rows = int(logged.natural[t])
        mean = float(problem.outcome.unscale(logged.natural_sums[t] / rows)) if rows else None
        found.append(ObservedGroup(group, rows, mean))
    return tuple(found)


def plain_gaps(logged: LogEvidence, confidence: float) -> dict[str, PlainGap]:
    """Of every ordered pair (t, u) of groups that is compared, keyed "t|u": the mean of t minus that of u."""
    pairs, means = logged.problem.compared, [group.mean for group in observed_groups(logged)]
    found = {}
    for name, (t, u) in zip(pair_names(logged.problem), pairs, strict=True):
        first, second = means[t], means[u]
        value = None if first is None or second is None else first - second
        found[name] = PlainGap(value, _interval(logged, t, u, confidence))
    return found


def _interval(logged: LogEvidence, t: int, u: int, confidence: float) -> tuple[float, float] | None:
    outcome, pair = logged.problem.outcome, [t, u]
    values = sorted(set(outcome.scaled_values.tolist()))
    two = (values[0], values[1]) if len(values) == 2 else None
    natural = logged.natural[pair].astype(np.float64)
    found = difference_interval(natural, logged.natural_sums[pair], logged.natural_squares[pair], two, confidence)
    return None if found is None else (outcome.width * found[0], outcome.width * found[1])
