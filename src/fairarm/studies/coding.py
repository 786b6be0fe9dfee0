"""People and rows as numbers: units, groups, what is known at assignment, decisions that are drawn, rows that are told."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fairarm.problem.problem import Problem
from fairarm.problem.space import CellSpace
from fairarm.studies.errors import Invalid
from fairarm.studies.options import is_text

LONGEST_UNIT = 200

UNSERVED = "unserved"
"""The digest of an outcome that says so."""

Known = dict[str, int]
"""Codes of the columns that were known at assignment."""


class Coded(NamedTuple):
    """A row that was told: its group's position, and its number in the problem's row space."""

    label: int
    row: int


def unit_digest(key: bytes, unit: str) -> str:
    """The name under which a person is kept: BLAKE2b, 128 bits."""
    return hashlib.blake2b(unit.encode("utf-8"), key=key, digest_size=16).hexdigest()


def require_unit(unit: object) -> str:
    """A unit's name, or `Invalid`."""
    if not isinstance(unit, str) or not 1 <= len(unit) <= LONGEST_UNIT:
        length = f"{len(unit)} characters" if isinstance(unit, str) else type(unit).__name__
        raise Invalid(
            f"A unit is the name of a person, a text of 1 to {LONGEST_UNIT} characters; got {length}. Use a short id."
        )
    if not is_text(unit):
        raise Invalid(
            "A unit's name holds a NUL character, or half of a surrogate pair, which is no Unicode text. Use other text."
        )
    return unit


def drawn_number(key: bytes, unit: str, arm: int) -> float:
    """A number in [0, 1) for the decision of one person and arm, always the same."""
    digest = hashlib.blake2b(f"{arm}/{unit}".encode(), key=key, digest_size=8, person=b"decision").digest()
    return float((int.from_bytes(digest, "big") >> 11) / (1 << 53))


@dataclass(frozen=True, eq=False)
class Coding:
    """Of one problem, all of whose columns are finite."""

    problem: Problem

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Columns that may be known at assignment: of a cell, without the decision."""
        return tuple(name for name in self.problem.cell_columns if name != self.problem.decision)

    @cached_property
    def cells(self) -> CellSpace:
        """Cells without the outcome."""
        return CellSpace.of(self.problem.cell_columns, self.problem.variables)

    @cached_property
    def _labels(self) -> dict[tuple[int, ...], int]:
        return {tuple(codes): label for label, codes in enumerate(self.problem.compiled.profile_codes.tolist())}

    # ---- at assignment ----

    def label(self, group: object) -> int:
        """The position of a group, or of the profile of several attributes."""
        attributes = self.problem.attributes
        if group is None:
            raise Invalid(f"The group is missing. It is known at arrival in this study: {self._groups_text()}.")
        if isinstance(group, str) and len(attributes) == 1:
            group = {attributes[0]: group}
        if not isinstance(group, Mapping):
            raise Invalid(f"The group is {group!r:.60}. It is {self._groups_text()}.")
        if missing := [name for name in attributes if name not in group]:
            raise Invalid(f"The group has no '{missing[0]}'. It is {self._groups_text()}.")
        if unknown := [name for name in group if name not in attributes]:
            raise Invalid(
                f"The group has '{unknown[0]!s:.40}', which is no sensitive attribute. It is {self._groups_text()}."
            )
        return self._labels[tuple(self._code(name, group[name]) for name in attributes)]

    def _groups_text(self) -> str:
        states = self.problem.attribute_states
        if len(states) == 1:
            return f"one of {', '.join(self.problem.groups[:12])}"
        return "the state of each of " + "; ".join(f"{name} ({', '.join(known[:6])})" for name, known in states.items())

    def known(self, known: object) -> Known | None:
        """Codes of what is known at assignment."""
        if known is None:
            return None
        if not isinstance(known, Mapping):
            raise Invalid(
                f"known is {known!r:.60}. It holds values by column: {', '.join(self.inputs) or 'this problem has none'}."
            )
        for name in known:
            if name not in self.inputs:
                raise Invalid(
                    f"known has '{name!s:.40}'{self._why_not(name)}. Columns: {', '.join(self.inputs) or 'none'}."
                )
        return {name: self._code(name, known[name]) for name in self.inputs if name in known}

    def require_inputs(self, known: Known | None, lost: str) -> None:
        """`Invalid` where an input is not known at assignment: estimates that integrate over the inputs of people who are not reported
        exist for one root attribute alone."""
        if lacking := [name for name in self.inputs if name not in (known or {})]:
            raise Invalid(
                f"The input '{lacking[0]}' is missing. In this study a person who is not reported counts as '{lost}', which needs all inputs at "
                f"assignment: known={{{', '.join(f'{name!r}: ...' for name in self.inputs)}}}. Or create the study with lost='worst'."
            )

    def _why_not(self, name: object) -> str:
        if name in self.problem.attributes:
            return ", which is given as group="
        if name == self.problem.decision:
            return ", the decision, which is drawn or told with the outcome"
        if name == self.problem.outcome.node:
            return ", the outcome, which is told later"
        return ", which is no column of this problem that is known before the outcome"

    def decision(self, arm: int, label: int | None, known: Known | None, number: float) -> int | None:
        """Drawn from the arm's table by a ``number`` in [0, 1), where all that the arm looks at is known; else None.

        Whoever leaves ``known`` out makes the decision and tells it, unless the arm looks at nothing.
        """
        mechanism, codes = self.problem.arms[arm].mechanism, dict(known or {})
        if label is not None:
            at = self.problem.compiled.profile_codes[label].tolist()
            codes.update(zip(self.problem.attributes, at, strict=True))
        if (known is None and mechanism.parents) or not all(parent in codes for parent in mechanism.parents):
            return None
        columns = {name: np.array([codes[name]]) for name in mechanism.parents}
        states = self.problem.variables[self.problem.decision].size
        law = mechanism.distribution(columns, states, 1)[0]
        found = int(np.searchsorted(np.cumsum(law), number * law.sum(), side="right"))
        return min(found, int(np.flatnonzero(law)[-1]))

    def cell(self, known: Known | None, decision: int | None) -> int | None:
        """The cell of a person, where inputs and decision were known at assignment."""
        codes = dict(known or {})
        if decision is not None:
            codes[self.problem.decision] = decision
        if any(name not in codes for name in self.cells.columns):
            return None
        return int(self.cells.number({name: np.array([codes[name]]) for name in self.cells.columns})[0])

    # ---- with the outcome ----

    def row(self, arm: int, label: int | None, known: Known | None, decision: int | None, told: object) -> Coded:
        """What was told, with what was known: a whole row that its arm can have made."""
        if not isinstance(told, Mapping):
            raise Invalid(
                f"The row is {told!r:.60}. It holds values by column, e.g. {{'{self.problem.outcome.node}': ...}}."
            )
        problem, before = self.problem, dict(known or {})
        if decision is not None:
            before[problem.decision] = decision
        if label is not None:
            before.update(zip(problem.attributes, problem.compiled.profile_codes[label].tolist(), strict=True))
        if unknown := [name for name in told if name not in problem.observed]:
            raise Invalid(
                f"The row has '{unknown[0]!s:.40}', which is no column of this problem. Columns: {', '.join(problem.observed)}."
            )
        codes = {name: self._code(name, value) for name, value in told.items()}
        for name, code in codes.items():
            if before.get(name, code) != code:
                states = problem.variables[name].states or ()
                raise Invalid(
                    f"The row has {name}='{states[code]}', and at assignment {name}='{states[before[name]]}' was known. Tell what was not "
                    f"known yet, or correct what is told."
                )
        codes = before | codes
        if missing := [name for name in problem.observed if name not in codes]:
            drawn = ", or let assign draw it (known=)" if missing[0] == problem.decision else ""
            raise Invalid(
                f"The row has no '{missing[0]}', which was not known at assignment. Tell it with the outcome{drawn}."
            )
        made = Coded(
            self._labels[tuple(codes[name] for name in problem.attributes)],
            int(
                problem.compiled.row_space.number(
                    {name: np.array([codes[name]]) for name in problem.compiled.row_space.columns}
                )[0]
            ),
        )
        self._require_possible(arm, made, codes)
        return made

    def _require_possible(self, arm: int, made: Coded, codes: Mapping[str, int]) -> None:
        problem, at = self.problem, made.row
        if problem.outcome.node not in problem.relevant_children:
            at //= len(problem.outcome.values or ())
        own = problem.compiled.tables.likelihood.own(np.array([arm]), np.array([made.label]), np.array([at]))
        if np.isneginf(own[0]):
            names = (problem.decision, *problem.relevant_children)
            said = ", ".join(f"{name}='{(problem.variables[name].states or ())[codes[name]]}'" for name in names)
            raise Invalid(
                f"A row of arm '{problem.arm_names[arm]}' has {said}, which the declared mechanisms give probability 0. Another arm was "
                f"served, or a declared mechanism is not the one that ran."
            )

    def _code(self, name: str, value: object) -> int:
        states = self.problem.variables[name].states or ()
        text = str(value) if isinstance(value, str) or type(value) is int else None
        if text is None or text not in states:
            raise Invalid(f"'{name}' is {value!r:.60}. It is one of: {', '.join(states[:12])}.")
        return states.index(text)


def known_text(known: Known | None) -> str | None:
    """As it is stored."""
    return None if known is None else json.dumps(known, sort_keys=True, separators=(",", ":"))


def known_of(text: str | None) -> Known | None:
    """As it was stored."""
    return None if text is None else {str(name): int(code) for name, code in json.loads(text).items()}
