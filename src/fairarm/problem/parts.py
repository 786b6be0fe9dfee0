"""What is given in several forms, brought into the one that a problem holds: variables, mechanisms, constraints.

Attributes are in `profiles.py`, their laws in `shares.py`, regimes and costs in `regimes.py`. What goes by groups or arms remembers which (`Held`), and follows when those change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Literal

from fairarm.errors import ProblemError
from fairarm.problem.constraint import Constraint
from fairarm.problem.held import Held
from fairarm.problem.mechanism import Mechanism
from fairarm.problem.outcome import Outcome
from fairarm.problem.profiles import States, single_names
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


def held_constraints(
    given: Iterable[Constraint], tolerance: float | None, states: States, outcome: Outcome
) -> Held[Constraint]:
    """What is asked of the groups, from a tolerance or as it is given. What a problem held already stays as it is where the
    tolerance changes, and follows where the groups do."""
    constraints, names = _as_constraints(given), single_names(states)
    if isinstance(given, Held):
        if given.groups != names:
            constraints = tuple(_followed(known, given.groups, states) for known in given)
        if tolerance is not None:
            constraints = with_tolerance(constraints, tolerance)
    elif (tolerance is None) == (not constraints):
        raise ProblemError(
            "Give the tolerance, or a list of constraints, not both and not neither. To change the tolerance of a "
            "problem: problem.with_tolerance(...)."
        )
    elif tolerance is not None:
        constraints = (_within(names, tolerance),)
    constraints = tuple(_in_one_form(known, states) for known in constraints)
    if repeated := first_repeated(tuple(known.label for known in constraints)):
        raise ProblemError(f"Two constraints are called '{repeated}'. Each needs its own name (name = ...).")
    for known in constraints:
        _check_tolerance(known, outcome)
    return Held.by(constraints, names)


def _as_constraints(given: Iterable[Constraint]) -> tuple[Constraint, ...]:
    constraints = tuple(given) if isinstance(given, Iterable) else (given,)
    if isinstance(given, Constraint) or not all(isinstance(asked, Constraint) for asked in constraints):
        raise ProblemError(
            f"constraints is a list of Constraint, e.g. [Constraint(tolerance=0.05)]; got {given!r:.80}."
        )
    return constraints


def _within(names: tuple[str, ...], tolerance: float) -> Constraint:
    """No two groups of an attribute differ by the tolerance or more; ``names`` are those of the groups, of all attributes."""
    return Constraint.gap(*names, tolerance) if len(names) == 2 else Constraint(compare="pairs", tolerance=tolerance)


def _in_one_form(asked: Constraint, states: States) -> Constraint:
    """Of more than two groups, the weights of a gap are pairs of the two: it then has the name that says so."""
    groups = states.get(asked.attribute or next(iter(states)), ())
    if not asked.is_gap or len(groups) == 2:
        return asked
    weights = dict(asked.weights)
    return replace(asked, weights=(), compare="pairs", groups=tuple(group for group in weights if weights[group]))


def _followed(asked: Constraint, before: tuple[str, ...], states: States) -> Constraint:
    """The same question where the groups have another order, or other names, or where other attributes are sensitive."""
    if asked.tolerance is not None and asked == _within(before, asked.tolerance):
        return _within(single_names(states), asked.tolerance)
    groups = [group for known in states.values() for group in known]
    if not asked.attributes and (missing := sorted({*asked.named} - {*groups})):
        raise ProblemError(
            f"Constraint '{asked.label}' names '{missing[0]}'; the groups are now {groups}. Give constraints as well."
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
