"""A log as it is: the groups' mean outcomes in its natural rows, and how far apart they lie, whatever the arms would do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.core.statistics import difference_interval
from fairarm.core.types import BoolArray, FloatArray
from fairarm.experiments.evidence_from_log import LogEvidence
from fairarm.experiments.pairs import compared_profiles
from fairarm.problem.fairness import pair_names
from fairarm.problem.problem import Problem
from fairarm.problem.worlds import Profile, group_name


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
    """Every group of every attribute, in order, and after them the joint groups of several attributes that are compared."""
    problem = logged.problem
    profiles: dict[Profile, None] = {
        ((name, state),): None for name, states in problem.attribute_states.items() for state in states
    }
    if not problem.plain:
        profiles |= {profile: None for t, u, _ in compared_profiles(problem).values() for profile in (t, u)}
    return tuple(_observed(logged, profile) for profile in profiles)


def _observed(logged: LogEvidence, profile: Profile) -> ObservedGroup:
    problem = logged.problem
    fits = problem.compiled.fitting(profile)
    rows = int(logged.natural[fits].sum())
    mean = float(problem.outcome.unscale(logged.natural_sums[fits].sum() / rows)) if rows else None
    return ObservedGroup(group_name(problem.attributes, profile), rows, mean)


def plain_gaps(logged: LogEvidence, confidence: float) -> dict[str, PlainGap]:
    """Of every ordered pair (t, u) of groups that is compared, keyed "t|u": the mean of t minus that of u."""
    found, compared = {}, _compared(logged.problem)
    profiles = dict.fromkeys(profile for pair in compared.values() for profile in pair)
    means = {profile: _observed(logged, profile).mean for profile in profiles}
    for name, (t, u) in compared.items():
        first, second = means[t], means[u]
        value = None if first is None or second is None else first - second
        found[name] = PlainGap(value, _interval(logged, t, u, confidence))
    return found


def _compared(problem: Problem) -> dict[str, tuple[Profile, Profile]]:
    """The pairs by name."""
    if not problem.plain:
        return {name: (t, u) for name, (t, u, _) in compared_profiles(problem).items()}
    each: list[Profile] = [((problem.attribute, group),) for group in problem.groups]
    return {name: (each[t], each[u]) for name, (t, u) in zip(pair_names(problem), problem.compared, strict=True)}


def _interval(logged: LogEvidence, t: Profile, u: Profile, confidence: float) -> tuple[float, float] | None:
    outcome, fits = logged.problem.outcome, [logged.problem.compiled.fitting(profile) for profile in (t, u)]
    values = sorted(set(outcome.scaled_values.tolist()))
    two = (values[0], values[1]) if len(values) == 2 else None
    rows, sums, squares = (
        _summed(part, fits) for part in (logged.natural.astype(np.float64), logged.natural_sums, logged.natural_squares)
    )
    found = difference_interval(rows, sums, squares, two, confidence)
    return None if found is None else (outcome.width * found[0], outcome.width * found[1])


def _summed(part: FloatArray, fits: list[BoolArray]) -> FloatArray:
    """Of both groups, from what belongs to each label, (2,)."""
    return np.array([part[labels].sum() for labels in fits])
