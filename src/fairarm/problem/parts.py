"""What is given in several forms, brought into the one that a problem holds: variables, groups, constraints, costs, shares.

`dataclasses.replace` hands every part of the old problem to the new one, changed or not. Constraints, costs and shares go by
groups, costs by arms too; so they remember which (`Held`), and follow when those change. By position, costs would go to
another arm and P(S) to another group without a word.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeVar

from fairarm.errors import ProblemError
from fairarm.problem.mechanism import Mechanism
from fairarm.problem.outcome import Constraint, Outcome
from fairarm.problem.pair import require_pair
from fairarm.problem.variables import Variable

NATURAL = "natural"
MAX_COST = 1e9
SMALLEST_TOLERANCE = 1e-12
"""As a share of the width of the outcome's range."""

ROOT_BUDGET: Literal["1/sqrt(pulls)"] = "1/sqrt(pulls)"
Budget = float | Literal["1/sqrt(pulls)"] | None
Costs = tuple[tuple[float, ...], ...]
T = TypeVar("T")


class Held(tuple[T, ...]):
    """A tuple as a problem holds it, with the groups and arms that it goes by."""

    groups: tuple[str, ...]
    arms: tuple[str, ...]

    @classmethod
    def by(cls, values: Iterable[T], groups: tuple[str, ...], arms: tuple[str, ...] = ()) -> Held[T]:
        """These values, by these groups and arms."""
        made = cls(values)
        made.groups, made.arms = groups, arms
        return made


def named_variables(given: Mapping[str, Variable] | Iterable[Variable]) -> dict[str, Variable]:
    """Variables by their names, each of which must be one's own."""
    variables = list(given.values()) if isinstance(given, Mapping) else list(given)
    named = {variable.name: variable for variable in variables}
    if len(named) < len(variables):
        raise ProblemError("Two variables have the same name.")
    return named


def named_mechanisms(given: Mapping[str, Mechanism] | Iterable[Mechanism]) -> dict[str, Mechanism]:
    """Mechanisms by their nodes, one for each."""
    mechanisms = list(given.values()) if isinstance(given, Mapping) else list(given)
    named = {mechanism.node: mechanism for mechanism in mechanisms}
    if len(named) < len(mechanisms):
        raise ProblemError("Two mechanisms are given for the same node.")
    return named


def ordered_groups(sensitive: str, variables: Mapping[str, Variable], given: Iterable[str]) -> tuple[str, ...]:
    """The states of S as (s, s'); in their own order if no other is given."""
    if sensitive not in variables:
        raise ProblemError(f"The sensitive attribute '{sensitive}' has no declared states.")
    states = variables[sensitive].states
    if states is None:
        raise ProblemError(f"The sensitive attribute '{sensitive}' is real-valued. It must have two states.")
    groups = tuple(given) or states
    if sorted(groups) != sorted(states):
        raise ProblemError(f"The groups {list(groups)} are not the states of '{sensitive}': {list(states)}.")
    require_pair(sensitive, groups)
    if NATURAL in groups:
        raise ProblemError(
            f"A group cannot be called '{NATURAL}': that is the name of the regime in which S is not forced."
        )
    return groups


def held_constraints(
    given: Iterable[Constraint], tolerance: float | None, sensitive: str, groups: tuple[str, ...], outcome: Outcome
) -> Held[Constraint]:
    """The gap between the groups, from its tolerance or as it is given. What a problem held already keeps its tolerance if
    the groups change, and itself if the tolerance does."""
    first, second = require_pair(sensitive, groups)
    constraints = tuple(given)
    if isinstance(given, Held):
        if given.groups != groups:
            constraints = tuple(Constraint.gap(first, second, known.tolerance) for known in given)
        if tolerance is not None:
            constraints = tuple(replace(known, tolerance=tolerance) for known in constraints)
    elif (tolerance is None) == (not constraints):
        raise ProblemError(
            "Give the tolerance, or a list of constraints, not both and not neither. To change the tolerance of a "
            "problem: problem.with_tolerance(...)."
        )
    elif tolerance is not None:
        constraints = (Constraint.gap(first, second, tolerance),)
    if len(constraints) != 1 or sorted(constraints[0].weights) != sorted(((first, 1.0), (second, -1.0))):
        raise ProblemError(
            f"Only one constraint is supported so far: the gap between the two groups, weights {{{first} = 1, {second} = -1}}. "
            f"Got {[dict(c.weights) for c in constraints]}."
        )
    share = constraints[0].tolerance / outcome.width
    if not SMALLEST_TOLERANCE <= share <= 1 / SMALLEST_TOLERANCE:
        raise ProblemError(
            f"The tolerance is {constraints[0].tolerance:g}, {share:.3g} of the width of the outcome's range. It must be "
            f"from {SMALLEST_TOLERANCE:g} to {1 / SMALLEST_TOLERANCE:g} of it; no number of pulls tells less apart."
        )
    return Held.by(constraints, groups)


def held_costs(
    given: Iterable[Iterable[float]], groups: tuple[str, ...], arms: tuple[str, ...]
) -> Held[tuple[float, ...]]:
    """One row per arm, one cost per regime; 1 each if not given."""
    rows = tuple(tuple(float(c) for c in row) for row in given)
    if isinstance(given, Held):
        rows = tuple(_by_groups(kept_costs(rows, given.arms, arm, given.groups), given.groups, groups) for arm in arms)
    width = 1 + len(groups)
    rows = rows or ((1.0,) * width,) * len(arms)
    if len(rows) != len(arms) or any(len(row) != width for row in rows):
        raise ProblemError(
            f"Costs need one row per arm ({len(arms)}) and one number per regime ({', '.join((NATURAL, *groups))})."
        )
    for arm, row in zip(arms, rows, strict=True):
        if any(not 0 <= c <= MAX_COST for c in row):
            raise ProblemError(f"Arm '{arm}' has costs {list(row)}. A cost is a finite number from 0 to {MAX_COST:g}.")
    return Held.by(rows, groups, arms)


def kept_costs(costs: Costs, arms: tuple[str, ...], arm: str, groups: tuple[str, ...]) -> tuple[float, ...]:
    """The costs of one of ``arms``; those that all of them have, if it is new."""
    if arm in arms:
        return costs[arms.index(arm)]
    if len(set(costs)) == 1:
        return costs[0]
    raise ProblemError(
        f"Arm '{arm}' is new, and the arms of this problem differ in their costs. Say what it costs in each regime "
        f"({', '.join((NATURAL, *groups))}): problem.with_arms(..., costs={{'{arm}': (...)}})."
    )


def _by_groups(row: tuple[float, ...], known: tuple[str, ...], groups: tuple[str, ...]) -> tuple[float, ...]:
    """An arm's costs with the groups in another order; other groups only where forcing costs the same in all."""
    natural, *forced = row
    if sorted(known) == sorted(groups):
        cost = dict(zip(known, forced, strict=True))
        return natural, *(cost[group] for group in groups)
    if len(set(forced)) == 1:
        return natural, *forced[:1] * len(groups)
    raise ProblemError(
        f"The costs are those of forcing the groups {list(known)}; the groups are now {list(groups)}. Give costs as well."
    )


def held_shares(given: Mapping[str, float] | Iterable[float] | None, groups: Sequence[str]) -> Held[float] | None:
    """P(S) by group, from a mapping or in the order of the groups."""
    if given is None:
        return None
    if isinstance(given, Held):
        given = dict(zip(given.groups, given, strict=True))
    if isinstance(given, Mapping):
        if sorted(given) != sorted(groups):
            raise ProblemError(f"Group shares name {sorted(given)}; the groups are {list(groups)}.")
        given = tuple(given[group] for group in groups)
    shares = tuple(float(p) for p in given)
    valid = len(shares) == len(groups) and all(math.isfinite(p) and p >= 0 for p in shares)
    if not valid or abs(math.fsum(shares) - 1.0) > 1e-6:
        raise ProblemError(
            f"Group shares are {list(shares)}. They need one number from 0 to 1 per group and must sum to 1."
        )
    return Held.by(shares, tuple(groups))
