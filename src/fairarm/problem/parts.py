"""What is given in several forms, brought into the one that a problem holds: variables, groups, constraints, shares.

Regimes and costs are in `regimes.py`. What goes by groups or arms remembers which (`Held`), and follows when those change.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from fairarm.errors import ProblemError
from fairarm.problem.constraint import Constraint
from fairarm.problem.fairness import MAX_GROUPS
from fairarm.problem.held import Held
from fairarm.problem.mechanism import Mechanism
from fairarm.problem.outcome import Outcome
from fairarm.problem.regimes import NATURAL
from fairarm.problem.variables import Variable, first_repeated

SMALLEST_TOLERANCE = 1e-12
"""As a share of the width of the outcome's range."""

ROOT_BUDGET: Literal["1/sqrt(pulls)"] = "1/sqrt(pulls)"
Budget = float | Literal["1/sqrt(pulls)"] | None


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


def one_attribute(given: str | Iterable[str]) -> str:
    """The sensitive attribute, from its name or a list with it."""
    names = [given] if isinstance(given, str) else list(given)
    if len(names) != 1:
        raise ProblemError(
            f"The sensitive attributes are {names}. One is supported so far: name one, or make an attribute whose states are their "
            f"combinations."
        )
    return names[0]


def ordered_groups(sensitive: str, variables: Mapping[str, Variable], given: Iterable[str]) -> tuple[str, ...]:
    """The states of S; in their own order if no other is given."""
    if sensitive not in variables:
        raise ProblemError(f"The sensitive attribute '{sensitive}' has no declared states.")
    states = variables[sensitive].states
    if states is None:
        raise ProblemError(f"The sensitive attribute '{sensitive}' is real-valued. It must have states.")
    groups = tuple(given) or states
    if sorted(groups) != sorted(states):
        raise ProblemError(f"The groups {list(groups)} are not the states of '{sensitive}': {list(states)}.")
    if not 2 <= len(groups) <= MAX_GROUPS:
        raise ProblemError(
            f"The sensitive attribute '{sensitive}' has {len(groups)} groups. It must have from 2 to {MAX_GROUPS}: merge states."
        )
    if NATURAL in groups:
        raise ProblemError(
            f"A group cannot be called '{NATURAL}': that is the name of the regime in which S is not forced."
        )
    return groups


def held_constraints(
    given: Iterable[Constraint], tolerance: float | None, groups: tuple[str, ...], outcome: Outcome
) -> Held[Constraint]:
    """What is asked of the groups, from a tolerance or as it is given. What a problem held already stays as it is where the
    tolerance changes, and follows where the groups do."""
    constraints = _as_constraints(given)
    if isinstance(given, Held):
        if given.groups != groups:
            constraints = tuple(_followed(known, given.groups, groups) for known in given)
        if tolerance is not None:
            constraints = with_tolerance(constraints, tolerance)
    elif (tolerance is None) == (not constraints):
        raise ProblemError(
            "Give the tolerance, or a list of constraints, not both and not neither. To change the tolerance of a "
            "problem: problem.with_tolerance(...)."
        )
    elif tolerance is not None:
        constraints = (_within(groups, tolerance),)
    constraints = tuple(_in_one_form(known, groups) for known in constraints)
    if repeated := first_repeated(tuple(known.label for known in constraints)):
        raise ProblemError(f"Two constraints are called '{repeated}'. Each needs its own name (name = ...).")
    for known in constraints:
        _check_tolerance(known, outcome)
    return Held.by(constraints, groups)


def _as_constraints(given: Iterable[Constraint]) -> tuple[Constraint, ...]:
    constraints = tuple(given) if isinstance(given, Iterable) else (given,)
    if isinstance(given, Constraint) or not all(isinstance(asked, Constraint) for asked in constraints):
        raise ProblemError(
            f"constraints is a list of Constraint, e.g. [Constraint(tolerance=0.05)]; got {given!r:.80}."
        )
    return constraints


def _within(groups: tuple[str, ...], tolerance: float) -> Constraint:
    """No two groups differ by the tolerance or more."""
    return Constraint.gap(*groups, tolerance) if len(groups) == 2 else Constraint(compare="pairs", tolerance=tolerance)


def _in_one_form(asked: Constraint, groups: tuple[str, ...]) -> Constraint:
    """Of more than two groups, the weights of a gap are pairs of the two: it then has the name that says so."""
    if not asked.is_gap or len(groups) == 2:
        return asked
    weights = dict(asked.weights)
    return replace(asked, weights=(), compare="pairs", groups=tuple(group for group in weights if weights[group]))


def _followed(asked: Constraint, before: tuple[str, ...], groups: tuple[str, ...]) -> Constraint:
    """The same question where the groups have another order, or other names."""
    if asked.tolerance is not None and asked == _within(before, asked.tolerance):
        return _within(groups, asked.tolerance)
    if missing := sorted({*asked.named} - {*groups}):
        raise ProblemError(
            f"Constraint '{asked.label}' names '{missing[0]}'; the groups are now {list(groups)}. Give constraints as well."
        )
    return asked


def with_tolerance(constraints: Iterable[Constraint], tolerance: float | None) -> tuple[Constraint, ...]:
    """The questions with another tolerance, of which one of them must have one."""
    known = tuple(constraints)
    if tolerance is None:
        raise ProblemError("The tolerance is None. It must be a finite number above 0, in the outcome's units.")
    if (having := sum(asked.tolerance is not None for asked in known)) != 1:
        raise ProblemError(
            f"The tolerance {tolerance} is to replace that of a constraint, but {having or 'none'} of the constraints "
            f"({', '.join(asked.label for asked in known)}) {'have' if having else 'has'} one. Give the constraints anew, each with "
            f"its own ends."
        )
    return tuple(asked if asked.tolerance is None else replace(asked, tolerance=tolerance) for asked in known)


def _check_tolerance(asked: Constraint, outcome: Outcome) -> None:
    """A tolerance that can be told from 0 in the outcome's range."""
    share = 1.0 if asked.tolerance is None else asked.tolerance / outcome.width
    if not SMALLEST_TOLERANCE <= share <= 1 / SMALLEST_TOLERANCE:
        raise ProblemError(
            f"The tolerance is {asked.tolerance:g}, {share:.3g} of the width of the outcome's range. It must be "
            f"from {SMALLEST_TOLERANCE:g} to {1 / SMALLEST_TOLERANCE:g} of it; no number of pulls tells less apart."
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
