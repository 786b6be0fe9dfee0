"""The laws of sensitive attributes that are declared: P(S), laws of several attributes without causes, P(attribute | causes)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from fairarm.core.types import FloatArray
from fairarm.errors import ProblemError
from fairarm.problem.attributes import Block
from fairarm.problem.held import Held
from fairarm.problem.mechanism import Table
from fairarm.problem.profiles import States, labels_of

if TYPE_CHECKING:
    from fairarm.problem.problem import Problem

Shares = Mapping[str, float] | Mapping[str, Mapping[str, float]] | Iterable[float]
"""P(S) by group or in the order of the groups; or by attribute, then by state."""


@dataclass(frozen=True, eq=False)
class JointShares:
    """The joint law of sensitive attributes without causes: one level of lists per attribute, in the order of its states.

    >>> JointShares(("race", "sex"), [[0.2, 0.3], [0.1, 0.4]]).table.sum()
    np.float64(1.0)
    """

    attributes: tuple[str, ...]
    table: FloatArray
    states: tuple[tuple[str, ...], ...] = ()
    """Of each attribute, the states that the table's entries are of: filled in by the problem."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", tuple(self.attributes))
        try:
            table = np.array(self.table, dtype=np.float64)
        except (TypeError, ValueError):
            raise ProblemError(f"{self._what} is not a table of numbers, one level of lists per attribute.") from None
        if table.ndim != len(self.attributes):
            raise ProblemError(f"{self._what} has {table.ndim} levels of lists; it needs one per attribute.")
        if not np.all(np.isfinite(table)) or np.any(table < 0) or abs(table.sum() - 1.0) > 1e-6:
            raise ProblemError(
                f"{self._what} must hold numbers from 0 to 1 that sum to 1; they sum to {table.sum():g}."
            )
        table.flags.writeable = False
        object.__setattr__(self, "table", table)

    @property
    def _what(self) -> str:
        return f"The joint law of {list(self.attributes)}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JointShares):
            return NotImplemented
        same = self.attributes == other.attributes and self.states == other.states
        return same and np.array_equal(self.table, other.table)

    def __hash__(self) -> int:
        return hash((self.attributes, self.table.tobytes()))


def held_shares(given: Shares | None, groups: Sequence[str]) -> Held[float] | None:
    """P(S) by group, from a mapping or in the order of the groups."""
    if given is None:
        return None
    values: Any = given
    if isinstance(given, Held):
        values = dict(zip(given.groups, given, strict=True))
    if isinstance(values, Mapping):
        if sorted(values) != sorted(groups):
            raise ProblemError(f"Group shares name {sorted(values)}; the groups are {list(groups)}.")
        values = tuple(values[group] for group in groups)
    shares = tuple(float(p) for p in values)
    valid = len(shares) == len(groups) and all(math.isfinite(p) and p >= 0 for p in shares)
    if not valid or abs(math.fsum(shares) - 1.0) > 1e-6:
        raise ProblemError(
            f"Group shares are {list(shares)}. They need one number from 0 to 1 per group and must sum to 1."
        )
    return Held.by(shares, tuple(groups))


def shares_of_one(
    given: Shares | None, joint: Iterable[JointShares], states: States, block: Block
) -> Held[float] | None:
    """P(S) of the one attribute, given as it always was or by its name."""
    [(attribute, groups)] = states.items()
    if tuple(joint):
        raise ProblemError(f"joint_shares are of several attributes; the only one is '{attribute}'. Use shares.")
    if _by_attribute(given):
        if set(given) != {attribute}:
            raise ProblemError(f"Shares name the attributes {sorted(given)}; the sensitive attribute is '{attribute}'.")
        given = given[attribute]
    held = held_shares(given, groups)
    if held is not None:
        _refuse_causes(block, f"Shares of '{attribute}'")
        held.attributes = (attribute,)
    return held


def laws_of_several(
    given: Shares | None, joint: Iterable[JointShares], states: States, blocks: Iterable[Block]
) -> tuple[JointShares, ...]:
    """One law per block of attributes whose law is declared, from shares of single ones and joint laws; shares come first."""
    attributes = tuple(states)
    laws = {frozenset(law.attributes): law for law in _joint(joint)}
    for attribute, by_state in _single(given, attributes).items():
        if attribute not in states:
            raise ProblemError(f"Shares name '{attribute}'. The sensitive attributes are: {', '.join(attributes)}.")
        shares = held_shares(by_state, states[attribute])
        laws[frozenset((attribute,))] = JointShares((attribute,), np.array(shares), (states[attribute],))
    return tuple(_in_block(law, states, blocks) for law in _ordered(laws.values(), attributes))


def shares_of_profiles(laws: Iterable[JointShares], states: States) -> Held[float] | None:
    """P(label), the product of the blocks' laws; None where one of them is not declared."""
    attributes, declared = tuple(states), tuple(laws)
    named = [attribute for law in declared for attribute in law.attributes]
    if len(named) < len(attributes):
        return None
    joint = np.ones(())
    for law in declared:
        joint = np.multiply.outer(joint, law.table)
    values = joint.transpose([named.index(attribute) for attribute in attributes]).ravel()
    return Held.by(values.tolist(), tuple(labels_of(states)), attributes=attributes)


def own_factor(problem: Problem, block: Block) -> Table | None:
    """`Problem.own_factor`."""
    if block.causes:
        found = problem.mechanisms.get(block.members[0]) if len(block.members) == 1 else None
        return found if isinstance(found, Table) else None
    name = ",".join(block.members)
    if len(problem.attributes) > 1:
        law = next((law for law in problem.joint_shares if law.attributes == block.members), None)
        return None if law is None else Table(name, (), law.table.ravel())
    if problem.shares is None:
        return None
    by_code = np.empty(len(problem.shares))
    by_code[list(problem.compiled.group_codes)] = problem.shares
    return Table(name, (), by_code)


def _by_attribute(given: Shares | None) -> TypeGuard[Mapping[str, Mapping[str, float]]]:
    return isinstance(given, Mapping) and bool(given) and all(isinstance(part, Mapping) for part in given.values())


def _single(given: Shares | None, attributes: tuple[str, ...]) -> Mapping[str, Mapping[str, float]]:
    """Shares by attribute. What a problem held of profiles is made anew from its joint laws."""
    if given is None or (isinstance(given, Held) and len(given.attributes) > 1):
        return {}
    if isinstance(given, Held):
        return {given.attributes[0]: dict(zip(given.groups, given, strict=True))}
    if not _by_attribute(given):
        raise ProblemError(
            f"With several attributes shares go by attribute, then by state: {{'{attributes[0]}': {{...}}}}; got {given!r:.80}."
        )
    return given


def _joint(given: Iterable[JointShares]) -> tuple[JointShares, ...]:
    laws = tuple(given)
    if not all(isinstance(law, JointShares) for law in laws):
        raise ProblemError(
            f"joint_shares is a list of JointShares, e.g. [JointShares(('race', 'sex'), [[0.2, 0.3], [0.1, 0.4]])]; got {given!r:.80}."
        )
    return laws


def _ordered(laws: Iterable[JointShares], attributes: tuple[str, ...]) -> list[JointShares]:
    """In the order of the attributes, none of which has two laws."""
    found = list(laws)
    named = [attribute for law in found for attribute in law.attributes]
    if unknown := [attribute for attribute in named if attribute not in attributes]:
        raise ProblemError(
            f"joint_shares name '{unknown[0]}'; the sensitive attributes are: {', '.join(attributes)}. Give joint_shares as well."
        )
    if twice := [attribute for attribute in attributes if named.count(attribute) > 1]:
        raise ProblemError(f"The law of '{twice[0]}' is declared twice, in shares or joint_shares. Declare it once.")
    return sorted(found, key=lambda law: min(map(attributes.index, law.attributes)))


def _in_block(law: JointShares, states: States, blocks: Iterable[Block]) -> JointShares:
    """The law with the axes of its block and the states' own order."""
    what = f"The joint law of {list(law.attributes)}" if len(law.attributes) > 1 else f"Shares of '{law.attributes[0]}'"
    block = next(block for block in blocks if law.attributes[0] in block.members)
    if set(block.members) != set(law.attributes):
        raise ProblemError(f"{what}: {_not_a_block(block, law)}")
    _refuse_causes(block, what)
    table = law.table
    for axis, attribute in enumerate(law.attributes):
        known = law.states[axis] if law.states else states[attribute]
        if table.shape[axis] != len(known) or sorted(known) != sorted(states[attribute]):
            raise ProblemError(
                f"{what} has {table.shape[axis]} entries for '{attribute}', whose states are {list(states[attribute])}. Give one per state."
            )
        table = table.take([known.index(state) for state in states[attribute]], axis=axis)
    table = table.transpose([law.attributes.index(member) for member in block.members])
    return JointShares(block.members, table, tuple(states[member] for member in block.members))


def _not_a_block(block: Block, law: JointShares) -> str:
    members = ", ".join(f"'{member}'" for member in block.members)
    if set(block.members) > set(law.attributes):
        return f"{members} share a hidden cause. Give the joint law of all of them (joint_shares)."
    others = [name for name in law.attributes if name not in block.members]
    if len(block.members) == 1:
        return f"{members} shares no hidden cause with '{others[0]}': they are independent given their causes. Give shares of each."
    return f"{members} share a hidden cause, not all of {list(law.attributes)}. Give the joint law of the first alone."


def _refuse_causes(block: Block, what: str) -> None:
    if block.causes and len(block.members) == 1:
        raise ProblemError(
            f"{what}: it has the causes {', '.join(block.causes)}. Declare P({block.members[0]} | {', '.join(block.causes)}) as a mechanism."
        )
    if block.causes:
        raise ProblemError(
            f"{what}: they have the causes {', '.join(block.causes)}. Leave it out: it is estimated from natural pulls."
        )
