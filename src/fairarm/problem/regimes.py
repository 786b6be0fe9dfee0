"""Regimes: natural, and forced to a group, or to states of several attributes. Which are offered, and what a pull costs in each.

A regime that is not offered costs +inf, in `Problem.costs` as in `Compiled.cost_array`: whoever plans within costs never plans it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np

from fairarm.errors import OptionError, ProblemError
from fairarm.problem.held import Held
from fairarm.problem.profiles import MAX_PROFILES, States, single_names
from fairarm.problem.variables import first_repeated
from fairarm.problem.worlds import profile_name

if TYPE_CHECKING:
    from fairarm.problem.problem import Problem

NATURAL, FORCED = "natural", "forced"
"""The regime in which S is not forced; and, where costs go by name, every forced regime that is not named."""
MAX_COST = 1e9

RegimeKind = Literal["recruited", "set"]
KINDS: tuple[RegimeKind, ...] = ("recruited", "set")
"""What forcing does: people with these states are found, or people are given them whatever their causes say."""

Costs = tuple[tuple[float, ...], ...]
ArmCosts = float | Mapping[str, float] | Iterable[float]
"""Of one arm: one number, a number by regime, or the numbers of natural and of each forced regime in order."""


def held_kind(given: str) -> RegimeKind:
    """How pulls are forced."""
    for kind in KINDS:
        if given == kind:
            return kind
    raise ProblemError(f"regime_kind is {given!r}. It is one of: {', '.join(KINDS)}.")


def offered_regimes(given: Iterable[str] | None, states: States) -> Held[str]:
    """The forced regimes that are offered; each state of each attribute if None. What a problem held follows its attributes."""
    singles = single_names(states)
    if len(states) == 1:
        return held_forced(given, singles)
    if isinstance(given, str):
        raise ProblemError(f"The forced regimes are a list of names such as '{singles[0]}'; got '{given}'.")
    known = singles if given is None else tuple(given)
    if isinstance(given, Held) and given.groups != singles and {*given} == {*given.groups}:
        known = singles
    if len(known) > MAX_PROFILES:
        raise ProblemError(
            f"There are {len(known)} forced regimes; at most {MAX_PROFILES} are offered. Leave some out."
        )
    for name in known:
        values_of_regime(name, states)
    if repeated := first_repeated(known):
        raise ProblemError(f"The regime '{repeated}' is named twice. Name each once.")
    return Held.by(known, singles)


def values_of_regime(name: str, states: States) -> dict[str, str]:
    """The attributes that a forced regime fixes, each with its state, in the order of the attributes."""
    if len(states) == 1:
        return dict.fromkeys(states, name)
    parts = [part.partition("=") for part in name.split(",")]
    values = {attribute: state for attribute, _, state in parts}
    known = all(state in states.get(attribute, ()) for attribute, state in values.items())
    ordered = {attribute: values[attribute] for attribute in states if attribute in values}
    if not known or len(values) < len(parts):
        raise ProblemError(
            f"There is no regime '{name}'. A forced regime names a state of one or more of the attributes {', '.join(states)}, each "
            f"once, e.g. '{single_names(states)[0]}'; '{NATURAL}' is always offered."
        )
    if name != (written := profile_name(tuple(ordered.items()))):
        raise ProblemError(f"The regime '{name}' is written '{written}', in the order of the attributes.")
    return ordered


def held_forced(given: Iterable[str] | None, groups: tuple[str, ...]) -> Held[str]:
    """The groups that pulls can be forced to, in the order of the groups; all of them if None. What a problem held follows
    its groups."""
    if NATURAL in groups:
        raise ProblemError(
            f"A group cannot be called '{NATURAL}': that is the name of the regime in which S is not forced."
        )
    if isinstance(given, str):
        raise ProblemError(f"The forced regimes are a list of groups; got '{given}'.")
    known = groups if given is None else tuple(given)
    if isinstance(given, Held) and given.groups != groups:
        known = groups if {*given} == {*given.groups} else known
    if unknown := [name for name in known if name not in groups]:
        raise ProblemError(
            f"The forced regimes {list(known)} name '{unknown[0]}'. They are some of the groups ({', '.join(groups)}), or none of "
            f"them; '{NATURAL}' is always offered."
        )
    return Held.by((group for group in groups if group in known), groups)


def held_costs(
    given: Iterable[ArmCosts], groups: tuple[str, ...], arms: tuple[str, ...], forced: tuple[str, ...]
) -> Held[tuple[float, ...]]:
    """One row per arm, one cost per regime: natural, then ``groups``, or what else can be forced; 1 each if not given, +inf where a
    regime is not offered."""
    if isinstance(given, Held):
        rows = [_by_groups(kept_costs(given, given.arms, arm, given.groups), given.groups, groups) for arm in arms]
    else:
        rows = [arm_costs(costs, groups, forced) for costs in given] or [(1.0,) * (1 + len(groups))] * len(arms)
    if len(rows) != len(arms):
        raise ProblemError(
            f"Costs need one row per arm ({len(arms)}) and one number per regime ({', '.join((NATURAL, *groups))})."
        )
    offered = (True, *(group in forced for group in groups))
    made = tuple(tuple(c if can else np.inf for c, can in zip(row, offered, strict=True)) for row in rows)
    for arm, row in zip(arms, made, strict=True):
        _check_costs(arm, row, (NATURAL, *groups), offered)
    return Held.by(made, groups, arms)


def arm_costs(given: ArmCosts, groups: tuple[str, ...], forced: tuple[str, ...]) -> tuple[float, ...]:
    """What one arm costs in each regime: natural, then each group."""
    if isinstance(given, Mapping):
        return _by_name(given, groups, forced)
    try:
        row = tuple(float(c) for c in given) if isinstance(given, Iterable) else (float(given),) * (1 + len(groups))
    except (TypeError, ValueError):
        raise ProblemError(f"The costs of an arm are numbers, one or one per regime; got {given!r:.60}.") from None
    if len(row) != 1 + len(groups):
        raise ProblemError(
            f"The costs of an arm are {list(row)}. They need one number per regime ({', '.join((NATURAL, *groups))})."
        )
    return row


def _by_name(given: Mapping[str, float], groups: tuple[str, ...], forced: tuple[str, ...]) -> tuple[float, ...]:
    """Numbers by regime; ``forced`` is every forced regime that is not named, unless a group is called so."""
    known = {NATURAL, *groups, FORCED}
    if unknown := [name for name in given if name not in known]:
        raise ProblemError(
            f"There is no regime '{unknown[0]}'. Regimes: {', '.join((NATURAL, *groups))}; '{FORCED}' is each group that is not named."
        )
    if useless := [name for name in given if name in groups and name not in forced]:
        raise ProblemError(
            f"There is a cost for the regime '{useless[0]}', which is not offered. Offer it (regimes), or leave its cost out."
        )
    rest = {} if FORCED in groups or FORCED not in given else dict.fromkeys(groups, given[FORCED])
    cost = {**rest, **given}
    if missing := [name for name in (NATURAL, *forced) if name not in cost]:
        raise ProblemError(
            f"There is no cost for the regime '{missing[0]}': needs one number for each regime: {', '.join((NATURAL, *forced))}; "
            f"'{FORCED}' is each group that is not named."
        )
    return tuple(float(cost.get(name, np.inf)) for name in (NATURAL, *groups))


def _check_costs(arm: str, row: tuple[float, ...], regimes: tuple[str, ...], offered: tuple[bool, ...]) -> None:
    for cost, regime, can in zip(row, regimes, offered, strict=True):
        if can and cost == np.inf:
            raise ProblemError(
                f"Arm '{arm}' has no finite cost for the regime '{regime}', which is offered. Give costs as well, or do not offer it."
            )
        if can and not 0 <= cost <= MAX_COST:
            raise ProblemError(
                f"Arm '{arm}' has costs {[c for c, known in zip(row, offered, strict=True) if known]}. A cost is a finite number from 0 "
                f"to {MAX_COST:g}."
            )


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
    """An arm's costs with the groups in another order, or fewer; others only where forcing costs the same in all."""
    natural, *forced = row
    if {*groups} <= {*known}:
        cost = dict(zip(known, forced, strict=True))
        return natural, *(cost[group] for group in groups)
    if len(set(forced)) == 1:
        return natural, *forced[:1] * len(groups)
    raise ProblemError(
        f"The costs are those of forcing the groups {list(known)}; the groups are now {list(groups)}. Give costs as well."
    )


def require_forced(problem: Problem) -> None:
    """An error where gaps are to be learned from pulls forced to a group that cannot be forced."""
    needed = dict.fromkeys(problem.groups[people] for _, people in problem.compared)
    if missing := [group for group in needed if group not in problem.forced]:
        raise OptionError(
            f"This algorithm learns gaps from pulls forced to each group that is compared, and the regime '{missing[0]}' is not "
            f"offered. Use pool, which learns them from any pulls, or offer the regime."
        )
