"""The sensitive attributes of a problem, and the labels of its rows.

With one attribute a row's label is its group. With several it is a *profile*, one state of each: "region=north,race=b", in the
order of the attributes, the first one slowest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import product

from fairarm.errors import ProblemError
from fairarm.problem.held import Held
from fairarm.problem.questions import MAX_GROUPS
from fairarm.problem.variables import Variable, first_repeated
from fairarm.problem.worlds import profile_name

MAX_PROFILES = 1024
"""Most labels of rows: laws are held by arm, label and cell."""

States = dict[str, tuple[str, ...]]
"""Of each sensitive attribute, in its order: the states, in the order in which they are compared."""


def named_attributes(given: str | Iterable[str]) -> tuple[str, ...]:
    """The sensitive attributes from the name of one, or a list; each once."""
    names = (given,) if isinstance(given, str) else tuple(given)
    if not names or not all(isinstance(name, str) for name in names):
        raise ProblemError(f"The sensitive attributes are {given!r}. Give the name of a node, or a list of such names.")
    if repeated := first_repeated(names):
        raise ProblemError(f"The sensitive attribute '{repeated}' is named twice. Name each attribute once.")
    return names


def states_by_attribute(
    attributes: tuple[str, ...], variables: Mapping[str, Variable], groups: Iterable[str]
) -> States:
    """The states of each attribute; of a single one in the order of ``groups``, where that is given."""
    states = {name: _states(name, variables) for name in attributes}
    if len(attributes) > 1:
        _check_several(states, groups)
        return states
    [name] = attributes
    if isinstance(groups, Held) and len(groups.attributes) > 1:  # profiles of attributes that it had
        groups = ()
    ordered = tuple(groups) or states[name]
    if sorted(ordered) != sorted(states[name]):
        raise ProblemError(f"The groups {list(ordered)} are not the states of '{name}': {list(states[name])}.")
    _check_count(name, ordered)
    return {name: ordered}


def labels_of(states: States) -> Held[str]:
    """The labels of rows: the groups of one attribute, the profiles of several."""
    if len(states) == 1:
        [labels] = states.values()
    else:
        labels = tuple(profile_name(tuple(zip(states, values, strict=True))) for values in product(*states.values()))
    return Held.by(labels, labels, attributes=tuple(states))


def single_names(states: States) -> tuple[str, ...]:
    """Each state of each attribute, as a regime is called: "b" of one attribute, "race=b" of several."""
    if len(states) == 1:
        return next(iter(states.values()))
    return tuple(profile_name(((attribute, state),)) for attribute, known in states.items() for state in known)


def _states(attribute: str, variables: Mapping[str, Variable]) -> tuple[str, ...]:
    if attribute not in variables:
        raise ProblemError(f"The sensitive attribute '{attribute}' has no declared states.")
    states = variables[attribute].states
    if states is None:
        raise ProblemError(f"The sensitive attribute '{attribute}' is real-valued. It must have states.")
    return states


def _check_count(attribute: str, states: tuple[str, ...]) -> None:
    if not 2 <= len(states) <= MAX_GROUPS:
        raise ProblemError(
            f"The sensitive attribute '{attribute}' has {len(states)} groups. It must have from 2 to {MAX_GROUPS}: merge states."
        )


def _check_several(states: States, groups: Iterable[str]) -> None:
    """Names that can be joined, and not more profiles than are held."""
    if not isinstance(groups, Held) and (given := list(groups)):
        raise ProblemError(
            f"groups = {given} with the attributes {', '.join(states)}: groups orders the states of a single attribute. Leave it out; "
            f"the order of each attribute's states counts."
        )
    for attribute, known in states.items():
        _check_count(attribute, known)
        if unfit := [name for name in (attribute, *known) if "=" in name or "," in name]:
            raise ProblemError(
                f"'{unfit[0]}' is a name of the sensitive attribute '{attribute}' or of its states. With several attributes such a name has "
                f"no '=' and no ',', which join them ('{attribute}=...'): rename it."
            )
    if (count := math.prod(map(len, states.values()))) > MAX_PROFILES:
        sizes = " × ".join(f"{len(known)} of '{attribute}'" for attribute, known in states.items())
        raise ProblemError(
            f"The sensitive attributes make {count} profiles ({sizes}); at most {MAX_PROFILES} are held. Merge states, or leave an attribute "
            f"out."
        )
