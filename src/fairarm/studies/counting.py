"""The people of one cohort as counts: what is settled, and what `verify` recomputes from the stored rows.

Three kinds of people have no outcome. *Not reported*: served, and the window is over. Where the study says that this means a state of
the outcome (``lost``), the row is filled with it and counts like any other. *Unserved* and *erased* people may have any outcome: the
certificate counts the worst one, and the posterior leaves them out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import IntEnum

import numpy as np
from sqlalchemy import Connection, select

from fairarm.algorithms.cohort import Cohort, Loss, Missing
from fairarm.beliefs.evidence import CellEvidence
from fairarm.core.entry import time_with_cards
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.problem import Problem
from fairarm.studies import schema
from fairarm.studies.coding import UNSERVED, Coding, known_of
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
    """Known at assignment."""
    row: int | None
    """That counts; None: there is none."""
    unserved: bool
    erased: bool

    def as_settled(self, code: int, at_arrival: bool) -> Person:
        """As the cohort was settled, by its `CardCode`: what was told or erased since does not count."""
        row = self.row if code == CardCode.COUNTED else None
        label = self.label if at_arrival or row is not None else None
        erased = self.erased or code == CardCode.ERASED
        return replace(self, row=row, label=label, unserved=code == CardCode.UNSERVED, erased=erased)

    def kind(self, loss: Loss) -> Missing | None:
        """How somebody counts who has no row that does; None where the row is filled (`filled_row`)."""
        if self.erased:
            return Missing.UNKNOWN
        if self.unserved:
            return loss.unserved_kind
        return None if self.filled_row(loss) is not None else loss.kind

    def filled_row(self, loss: Loss) -> int | None:
        """The row of somebody who was served and not reported, where that means a state of the outcome and the cell is known."""
        if self.row is not None or self.unserved or self.erased or loss.state is None:
            return None
        return None if self.cell is None or self.label is None else self.cell * loss.states + loss.state


def people_of(connection: Connection, study: Running, number: int) -> list[Person]:
    """All whom a cohort dealt a card, by slot."""
    people, told, window = schema.assignment, schema.outcome, study.options.window
    asked = (
        select(
            people.c.id, people.c.slot, people.c.arm, people.c.label, people.c.known, people.c.decision, people.c.issued, people.c.erased,
            told.c.row, told.c.label.label("row_label"), told.c.told, told.c.digest,
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
    cell = coding.cell(known_of(stored.known), stored.decision) if stored.known is not None else None
    unserved, erased = stored.digest == UNSERVED, stored.erased is not None
    return Person(stored.id, stored.slot, stored.arm, stored.issued, label, cell, row, unserved, erased)


@dataclass(frozen=True, eq=False)
class Counted:
    """What a cohort came to: everything that settling it needs."""

    rows: IntArray
    """Natural rows by arm, group and row, filled ones too, (K, G, O)."""
    filled: IntArray
    """Those of the rows that were filled, by arm, group and cell, (K, G, X)."""
    missing: IntArray
    """People without a row, by `Missing`, arm and group (last: not known), (3, K, G + 1)."""
    in_cells: IntArray | None
    """Those who may have any outcome and whose cell is known, by arm, group and cell, (K, G, X)."""
    covered: FloatArray
    """Time with cards in each part of the cycle, in days, (PARTS,)."""
    weekday: int
    cut: bool
    dropped: bool

    @property
    def dealt(self) -> IntArray:
        """Everybody by arm, (K,)."""
        return np.asarray(self.by_group.sum(axis=1))

    @property
    def by_group(self) -> IntArray:
        """Everybody by arm and group (last: not known), (K, G + 1)."""
        return np.asarray(np.pad(self.rows.sum(axis=2), ((0, 0), (0, 1))) + self.missing.sum(axis=0))

    def cohort(self, problem: Problem, loss: Loss, at_arrival: bool) -> Cohort:
        """As `Pool.settle` takes it."""
        counts = np.zeros((1, len(problem.regimes), *self.rows.shape), dtype=np.int64)
        counts[0, 0] = self.rows
        missing = np.zeros((1, len(Missing), len(problem.regimes), len(problem.arms)), dtype=np.int64)
        missing[0, :, 0] = self.missing.sum(axis=2)
        stated, unplaced = self.missing[Missing.STATED], None
        if stated.any() and loss.state is not None:
            unplaced = np.zeros((1, *stated.shape, loss.states), dtype=np.int64)
            unplaced[0, ..., loss.state] = stated
        made = Cohort(
            CellEvidence(problem, counts, unplaced), missing if missing.any() else None, loss,
            cut=np.array([True]) if self.cut else None, weekday=self.weekday,
        )  # fmt: skip
        if not at_arrival or self.missing[..., -1].any():
            return replace(made, by_shares=True)
        in_cells = None if made.missing is None or self.in_cells is None else self.in_cells[None]
        return replace(made, by_group=self.missing[None, ..., :-1], in_cells=in_cells)

    def to_json(self) -> str:
        """What `from_json` takes back."""
        return json.dumps(
            {
                "rows": _sparse(self.rows), "filled": _sparse(self.filled), "missing": _sparse(self.missing),
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
            filled=_dense(document["filled"], (K, G, cells)),
            missing=_dense(document["missing"], (len(Missing), K, G + 1)),
            in_cells=None if document["in_cells"] is None else _dense(document["in_cells"], (K, G, cells)),
            covered=np.array(document["covered"], dtype=np.float64),
            weekday=int(document["weekday"]),
            cut=bool(document["cut"]),
            dropped=bool(document["dropped"]),
        )


def counted(study: Running, people: list[Person], marks: Marks) -> Counted:
    """The counts of a cohort; they depend on its people alone."""
    loss, K, G = study.rule.loss, len(study.problem.arms), len(study.problem.groups)
    rows = np.zeros((K, G, study.problem.compiled.row_space.count), dtype=np.int64)
    missing = np.zeros((len(Missing), K, G + 1), dtype=np.int64)
    filled, in_cells = np.zeros((2, K, G, study.coding.cells.count), dtype=np.int64)
    for person in people:
        if person.row is not None and person.label is not None:
            rows[person.arm, person.label, person.row] += 1
        elif (kind := person.kind(loss)) is None:
            rows[person.arm, person.label, person.filled_row(loss)] += 1
            filled[person.arm, person.label, person.cell] += 1
        else:
            missing[kind, person.arm, G if person.label is None else person.label] += 1
            if kind == Missing.UNKNOWN and person.cell is not None and person.label is not None:
                in_cells[person.arm, person.label, person.cell] += 1
    return Counted(
        rows, filled, missing, in_cells if in_cells.any() else None,
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


class CardCode(IntEnum):
    """What a card came to when its cohort was settled: a byte each is stored."""

    NOT_REPORTED = 0
    """Also of a card that was not dealt."""
    COUNTED = 1
    UNSERVED = 2
    ERASED = 3


def card_codes(people: list[Person], size: int) -> bytes:
    """The `CardCode` of every card."""
    codes = np.zeros(size, dtype=np.uint8)
    for person in people:
        if person.erased:
            codes[person.slot] = CardCode.ERASED
        elif person.row is not None:
            codes[person.slot] = CardCode.COUNTED
        elif person.unserved:
            codes[person.slot] = CardCode.UNSERVED
    return codes.tobytes()


def _sparse(counts: IntArray) -> dict[str, list[int]]:
    at = np.flatnonzero(counts)
    return {"at": at.tolist(), "counts": counts.ravel()[at].tolist()}


def _dense(document: Mapping[str, list[int]], shape: tuple[int, ...]) -> IntArray:
    made = np.zeros(shape, dtype=np.int64)
    made.reshape(-1)[np.array(document["at"], dtype=np.int64)] = document["counts"]
    return made
