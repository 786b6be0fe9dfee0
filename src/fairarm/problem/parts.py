"""What is given in several forms, brought into the one that a problem holds: variables, mechanisms, constraints.

Attributes are in `profiles.py`, their laws in `shares.py`, regimes and costs in `regimes.py`. What goes by groups or arms remembers which (`Held`), and follows when those change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    given: Iterable[Constraint], tolerance: float | None, states: States, outcome: Outcome, *, rooted: bool
) -> Held[Constraint]:
    """What is asked of the groups, from a tolerance or as it is given. What a problem held already stays as it is where the
    tolerance changes, and follows where the groups do. ``rooted``: there is one attribute, and it has no causes."""
    constraints, names = _as_constraints(given), single_names(states)
    if isinstance(given, Held):
        if given.groups != names or given.attributes != tuple(states):
            constraints = _followed(given, states, rooted)
        if tolerance is not None:
            constraints = with_tolerance(constraints, tolerance)
    elif (tolerance is None) == (not constraints):
        raise ProblemError(
            "Give the tolerance, or a list of constraints, not both and not neither. To change the tolerance of a "
            "problem: problem.with_tolerance(...)."
        )
    elif tolerance is not None:
        constraints = _within(states, tolerance, rooted)
    constraints = tuple(_in_one_form(known, states, rooted) for known in constraints)
    if repeated := first_repeated(tuple(known.label for known in constraints)):
        raise ProblemError(f"Two constraints are called '{repeated}'. Each needs its own name (name = ...).")
    for known in constraints:
        _check_tolerance(known, outcome)
    return Held.by(constraints, names, attributes=tuple(states))


def _as_constraints(given: Iterable[Constraint]) -> tuple[Constraint, ...]:
    constraints = tuple(given) if isinstance(given, Iterable) else (given,)
    if isinstance(given, Constraint) or not all(isinstance(asked, Constraint) for asked in constraints):
        raise ProblemError(
            f"constraints is a list of Constraint, e.g. [Constraint(tolerance=0.05)]; got {given!r:.80}."
        )
    return constraints


def _within(states: States, tolerance: float, rooted: bool) -> tuple[Constraint, ...]:
    """No two groups of an attribute differ by the tolerance or more."""
    [*_, groups] = states.values()
    if rooted and len(groups) == 2:
        return (Constraint.gap(*groups, tolerance),)
    if len(states) == 1:
        return (Constraint(compare="pairs", tolerance=tolerance),)
    return tuple(Constraint(compare="pairs", tolerance=tolerance, attribute=attribute) for attribute in states)


def _in_one_form(asked: Constraint, states: States, rooted: bool) -> Constraint:
    """Of more than two groups, or with causes, the weights of a gap are pairs of the two: it then has the name that says so."""
    groups = states.get(asked.attribute or next(iter(states)), ())
    if not asked.is_gap or (rooted and len(groups) == 2):
        return asked
    weights = dict(asked.weights)
    return replace(asked, weights=(), compare="pairs", groups=tuple(group for group in weights if weights[group]))


def _followed(given: Held[Constraint], states: States, rooted: bool) -> tuple[Constraint, ...]:
    """The same questions where the groups have another order or other names, or where other attributes are sensitive."""
    tolerance = given[0].tolerance
    if tolerance is not None and _is_tolerance_alone(given):
        return _within(states, tolerance, rooted)
    if len(states) == 1 and len(given.attributes) == 1:
        [groups] = states.values()
        for asked in given:
            if missing := sorted({*asked.named} - {*groups}):
                raise ProblemError(
                    f"Constraint '{asked.label}' names '{missing[0]}'; the groups are now {list(groups)}. Give constraints as well."
                )
    return tuple(given)


def _is_tolerance_alone(given: Held[Constraint]) -> bool:
    """What a tolerance without constraints asks of each attribute that it went by."""
    if len(given.groups) == 2 and tuple(given) == (Constraint.gap(*given.groups, given[0].tolerance or 1.0),):
        return True
    named = given.attributes if len(given.attributes) > 1 else (None,)
    return _are_pairs_alike(given) and tuple(asked.attribute for asked in given) == named


def _are_pairs_alike(given: Sequence[Constraint]) -> bool:
    """One tolerance for pairs, of an attribute each, and nothing else."""
    plain = Constraint(compare="pairs", tolerance=given[0].tolerance) if given[0].tolerance is not None else None
    return all(plain == replace(asked, attribute=None) for asked in given)


def with_tolerance(constraints: Iterable[Constraint], tolerance: float | None) -> tuple[Constraint, ...]:
    """The questions with another tolerance, of which one of them must have one; or the same, for each of several attributes."""
    known = tuple(constraints)
    if tolerance is None:
        raise ProblemError("The tolerance is None. It must be a finite number above 0, in the outcome's units.")
    having = sum(asked.tolerance is not None for asked in known)
    if having != 1 and not _are_pairs_alike(known):
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
