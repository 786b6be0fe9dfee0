"""The people of one cohort as counts: what is settled, and what can be settled anew from what was stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
from sqlalchemy import Connection, select

from fairarm.algorithms.cohort import Cohort, Loss
from fairarm.beliefs.evidence import CellEvidence
from fairarm.core.entry import time_with_cards
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.problem import Problem
from fairarm.studies import schema
from fairarm.studies.coding import Coding, known_of
from fairarm.studies.options import DAY, SECOND, Options
from fairarm.studies.running import Running
from fairarm.studies.schema import AnyRow

ON_TIME = 10 * SECOND
"""A cohort that opened within this of its start counts as covered from there: ticks are that far apart, and longer ones have parts of
minutes or hours."""


@dataclass(frozen=True)
class Person:
    """One assignment of a cohort, with the outcome that counts."""

    id: int
    slot: int
    arm: int
    issued: int
    label: int | None
    """Of the group: at arrival, else of the row that counts."""
    cell: int | None
    """Known at assignment, of somebody whose outcome does not count."""
    row: int | None
    """That counts; None: lost."""
    erased: bool

    def lost(self, at_arrival: bool) -> Person:
        """The same, had the outcome not come."""
        return replace(self, row=None, label=self.label if at_arrival else None)


def people_of(connection: Connection, study: Running, number: int) -> list[Person]:
    """All whom a cohort dealt a card, by slot."""
    people, told, window = schema.assignment, schema.outcome, study.options.window
    asked = (
        select(
            people.c.id, people.c.slot, people.c.arm, people.c.label, people.c.known, people.c.decision, people.c.issued, people.c.erased,
            told.c.row, told.c.label.label("row_label"), told.c.told,
        )
        .select_from(people.outerjoin(told, told.c.assignment == people.c.id))
        .where(people.c.study == study.id, people.c.number == number)
        .order_by(people.c.slot)
    )  # fmt: skip
    corrected = _corrections(connection, study, number)
    found = [_person(study.coding, row, corrected.get(row.id), window) for row in connection.execute(asked)]
    return _with_labels_of_erased(connection, study, number, found)


def _with_labels_of_erased(connection: Connection, study: Running, number: int, people: list[Person]) -> list[Person]:
    """People who were erased have no group of their own; how many there were of each arm and group is kept."""
    gone = schema.erased
    asked = select(gone.c.arm, gone.c.label).where(gone.c.study == study.id, gone.c.number == number)
    labels: dict[int, list[int]] = {}
    for arm, label in connection.execute(asked.order_by(gone.c.id)):
        labels.setdefault(arm, []).append(label)
    if not labels:
        return people
    return [
        replace(person, label=labels[person.arm].pop()) if person.erased and labels.get(person.arm) else person
        for person in people
    ]


def _corrections(connection: Connection, study: Running, number: int) -> dict[int, AnyRow]:
    """The last correction of each that counts."""
    people, made = schema.assignment, schema.correction
    asked = (
        select(made.c.assignment, made.c.row, made.c.label)
        .join_from(people, made, made.c.assignment == people.c.id)
        .where(people.c.study == study.id, people.c.number == number, made.c.counts == 1)
        .order_by(made.c.assignment, made.c.seq)
    )
    return {row.assignment: row for row in connection.execute(asked)}


def _person(coding: Coding, stored: AnyRow, corrected: AnyRow | None, window: int) -> Person:
    row, label = None, stored.label
    if stored.told is not None and stored.told <= stored.issued + window:
        row, row_label = (stored.row, stored.row_label) if corrected is None else (corrected.row, corrected.label)
        label = row_label if row is not None and label is None else label
    cell = coding.cell(known_of(stored.known), stored.decision) if row is None and stored.known is not None else None
    return Person(stored.id, stored.slot, stored.arm, stored.issued, label, cell, row, stored.erased is not None)


@dataclass(frozen=True, eq=False)
class Counted:
    """What a cohort came to: everything that settling it needs."""

    rows: IntArray
    """Natural rows by arm, group and row, (K, G, O)."""
    missing: IntArray
    """By arm, (K,)."""
    by_group: IntArray | None
    """Everybody by arm and group, (K, G); None where the group comes with the outcome, or one was erased."""
    in_cells: IntArray | None
    """Missing rows whose cell is known, by arm, group and cell, (K, G, X)."""
    covered: FloatArray
    """Time with cards in each part of the cycle, in days, (PARTS,)."""
    weekday: int
    cut: bool
    dropped: bool

    @property
    def dealt(self) -> IntArray:
        """Everybody by arm, (K,)."""
        return np.asarray(self.rows.sum(axis=(1, 2)) + self.missing)

    def cohort(self, problem: Problem, loss: Loss, at_arrival: bool) -> Cohort:
        """As `Pool.settle` takes it."""
        counts = np.zeros((1, len(problem.regimes), *self.rows.shape), dtype=np.int64)
        counts[0, 0] = self.rows
        missing = np.zeros((1, len(problem.regimes), len(problem.arms)), dtype=np.int64)
        missing[0, 0] = self.missing
        made = Cohort(
            CellEvidence(problem, counts), missing if missing.any() else None, loss,
            cut=np.array([True]) if self.cut else None, weekday=self.weekday,
        )  # fmt: skip
        if not at_arrival or self.by_group is None:
            return replace(made, by_shares=True)
        made = replace(made, by_group=self.by_group[None])
        return made if made.missing is None or self.in_cells is None else replace(made, in_cells=self.in_cells[None])

    def to_json(self) -> str:
        """What `from_json` takes back."""
        return json.dumps(
            {
                "rows": _sparse(self.rows), "missing": self.missing.tolist(),
                "by_group": None if self.by_group is None else self.by_group.tolist(),
                "in_cells": None if self.in_cells is None else _sparse(self.in_cells), "covered": self.covered.tolist(),
                "weekday": self.weekday, "cut": self.cut, "dropped": self.dropped,
            },
            separators=(",", ":"),
        )  # fmt: skip

    @classmethod
    def from_json(cls, problem: Problem, text: str) -> Counted:
        """As it was stored."""
        document, (K, G) = json.loads(text), (len(problem.arms), len(problem.groups))
        cells = Coding(problem).cells.count
        return cls(
            rows=_dense(document["rows"], (K, G, problem.compiled.row_space.count)),
            missing=np.array(document["missing"], dtype=np.int64),
            by_group=None
            if document["by_group"] is None
            else np.array(document["by_group"], dtype=np.int64).reshape(K, G),
            in_cells=None if document["in_cells"] is None else _dense(document["in_cells"], (K, G, cells)),
            covered=np.array(document["covered"], dtype=np.float64),
            weekday=int(document["weekday"]),
            cut=bool(document["cut"]),
            dropped=bool(document["dropped"]),
        )


def counted(study: Running, people: list[Person], marks: Marks) -> Counted:
    """The counts of a cohort; work that depends on its people alone."""
    problem, K, G = study.problem, len(study.problem.arms), len(study.problem.groups)
    rows = np.zeros((K, G, problem.compiled.row_space.count), dtype=np.int64)
    missing, by_group = np.zeros(K, dtype=np.int64), np.zeros((K, G), dtype=np.int64)
    in_cells = np.zeros((K, G, study.coding.cells.count), dtype=np.int64)
    all_known = study.options.at_arrival
    for person in people:
        if person.label is not None:
            by_group[person.arm, person.label] += 1
        else:
            all_known = False
        if person.row is not None and person.label is not None:
            rows[person.arm, person.label, person.row] += 1
            continue
        missing[person.arm] += 1
        if person.cell is not None and person.label is not None:
            in_cells[person.arm, person.label, person.cell] += 1
    return Counted(
        rows, missing, by_group if all_known else None, in_cells if in_cells.any() else None,
        marks.covered(study.options), datetime.fromtimestamp(marks.starts // SECOND, UTC).weekday(), marks.cut is not None, marks.dropped,
    )  # fmt: skip


@dataclass(frozen=True)
class Marks:
    """When a cohort had cards, and what was done to it by hand."""

    starts: int
    opened: int
    closes: int
    size: int
    """Cards of its plan."""
    dealt: int
    last: int | None
    """When the last card of its plan was dealt; None where some were left."""
    cut: int | None = None
    """When it was stopped."""
    dropped: bool = False

    @property
    def begin(self) -> int:
        """From when on there were cards."""
        return self.starts if self.opened - self.starts <= ON_TIME else self.opened

    @property
    def end(self) -> int:
        """Until when."""
        ends = [self.closes, *(each for each in (self.last, self.cut) if each is not None)]
        return max(min(ends), self.begin)

    @property
    def part(self) -> float:
        """Of the cohort's time, with cards."""
        return (self.end - self.begin) / (self.closes - self.starts)

    def covered(self, options: Options) -> FloatArray:
        """By parts of the cycle, in days; nothing of one that was cut, or dealt to nobody: neither says how evenly people enter."""
        begin, end = ((time - options.start) / DAY for time in (self.begin, self.end))
        made = time_with_cards(begin, end, options.cycle / DAY)
        return np.zeros_like(made) if self.cut is not None or not self.dealt or self.dropped else made


def counted_bits(people: list[Person], size: int) -> bytes:
    """A bit a card: whether its outcome counts."""
    bits = np.zeros(size, dtype=np.bool_)
    bits[[person.slot for person in people if person.row is not None]] = True
    return np.packbits(bits).tobytes()


def _sparse(counts: IntArray) -> dict[str, list[int]]:
    at = np.flatnonzero(counts)
    return {"at": at.tolist(), "counts": counts.ravel()[at].tolist()}


def _dense(document: Mapping[str, list[int]], shape: tuple[int, ...]) -> IntArray:
    made = np.zeros(shape, dtype=np.int64)
    made.reshape(-1)[np.array(document["at"], dtype=np.int64)] = document["counts"]
    return made
