"""Assign and tell, many at once in one transaction. The work for each does not depend on how many people there were."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

from sqlalchemy import BigInteger, Connection, Integer, bindparam, select, true, update

from fairarm.studies import schema
from fairarm.studies.answers import Assignment, StudyState, Told
from fairarm.studies.coding import UNSERVED, Known, drawn_number, known_of, known_text
from fairarm.studies.database import Database
from fairarm.studies.errors import Busy, Conflict, NotFound, StudyError
from fairarm.studies.options import KEEP
from fairarm.studies.running import Running
from fairarm.studies.schema import AnyRow


def id_text(id: int) -> str:
    """As callers see it."""
    return f"{id:016x}"


def id_number(id: object) -> int:
    """As it is stored; `NotFound` where there cannot be one."""
    if isinstance(id, str) and re.fullmatch("[0-7][0-9a-f]{15}", id) is not None:  # 63 bits: a database's whole number
        return int(id, 16)
    raise NotFound(f"There is no assignment {id!r:.40}. Use the id that `assign` returned.")


# ---- assign ----


@dataclass(frozen=True)
class Ask:
    """One person to assign."""

    unit: str
    """The digest."""
    entry: float
    label: int | None
    known: Known | None


@dataclass(frozen=True)
class Dealer:
    """Assigns people of one study."""

    database: Database
    study: Running

    def __call__(self, connection: Connection, now: int, asks: Sequence[Ask]) -> list[Assignment]:
        """An answer for each. The first answer to a person holds for the whole study, "outside" too."""
        standing, there = self._standing(connection, [ask.unit for ask in asks])
        known = set(there)
        fresh = {ask.unit: ask for ask in reversed(asks) if ask.unit not in there}
        there |= self._first(connection, now, standing, list(fresh.values())[::-1]) if fresh else {}
        if raced := [unit for unit, row in there.items() if row is None]:
            known |= set(raced)
            there |= self._standing(connection, raced)[1]
        answers = []
        for ask in asks:
            row, repeated = there.get(ask.unit), ask.unit in known
            known.add(ask.unit)
            served = row is not None and self._serves(row, standing, now)
            answers.append(
                self._answer(ask, row, repeated) if served else self._outside(ask, row is not None and repeated)
            )
        conflicts = {there[ask.unit].id for ask, answer in zip(asks, answers, strict=True) if answer.conflict}
        _record(self.database, connection, schema.CONFLICT, [(self.study.id, id) for id in sorted(conflicts)])
        return answers

    def _serves(self, row: Any, standing: AnyRow, now: int) -> bool:
        """Whether somebody who came before gets an arm of the study: not outside or unserved once, nor after the end and the window."""
        options = self.study.options
        over = StudyState(standing.status).over and options.on_end != KEEP and now > row.issued + options.window
        return row.arm is not None and row.digest != UNSERVED and not over

    def _standing(self, connection: Connection, units: Sequence[str]) -> tuple[AnyRow, dict[str, Any]]:
        """The status, whether the study is held and its newest cohort; and what these people were answered before."""
        asked = {"asked": self.study.id, "units": self.database.listed(units)}
        rows = connection.execute(self._look, asked).all()
        return rows[0], {row.unit: row for row in rows if row.unit is not None}

    @cached_property
    def _look(self) -> Any:
        """A line for each who came before, else one line: with the status by the newest event, and the newest cohort, if there is one."""
        lines, cohorts, people, told = schema.event, schema.cohort, schema.assignment, schema.outcome
        asked = bindparam("asked", type_=Integer)
        status = select(lines.c.status).where(lines.c.study == asked).order_by(lines.c.seq.desc()).limit(1).subquery()
        newest = select(cohorts).where(cohorts.c.study == asked).order_by(cohorts.c.number.desc()).limit(1).subquery()
        theirs = (people.c.study == asked) & self.database.among(people.c.unit, "units")
        held = select(schema.study.c.held).where(schema.study.c.id == asked).scalar_subquery()
        digest = select(told.c.digest).where(told.c.assignment == people.c.id).scalar_subquery()
        return select(
            status.c.status, held.label("held"), newest.c.number.label("cohort"), newest.c.share, newest.c.starts, newest.c.closes,
            *(people.c[name] for name in ("id", "unit", "number", "arm", "label", "known", "decision", "issued")), digest.label("digest"),
        ).select_from(status.outerjoin(newest, true()).outerjoin(people, theirs))  # fmt: skip

    def _first(self, connection: Connection, now: int, standing: AnyRow, asks: list[Ask]) -> dict[str, Any]:
        """The first answer to each: a card while there are some, else outside, which is stored from the first cohort on until the study
        ends. None for somebody whom another process answered just now."""
        if standing.cohort is None:
            return {}
        is_open = not standing.held and standing.starts <= now < standing.closes
        entering = [ask.unit for ask in asks if is_open and ask.entry < standing.share]
        first, count = self._taken(connection, now, standing, len(entering)) if entering else (0, 0)
        slots = dict(zip(entering, range(first, first + count), strict=False))
        going = standing.status in (StudyState.RUNNING, StudyState.PAUSED)
        rows = [
            self._row(connection, ask, now, standing.cohort, slots.get(ask.unit))
            for ask in sorted(asks, key=lambda ask: ask.unit)
            if going or ask.unit in slots
        ]
        done = set(connection.execute(self._insert, rows).scalars()) if rows else set()
        return {row["unit"]: SimpleNamespace(**row, digest=None) if row["id"] in done else None for row in rows}

    def _row(self, connection: Connection, ask: Ask, now: int, cohort: int, slot: int | None) -> dict[str, Any]:
        """As it is stored: of somebody outside nothing but the digest of the unit, the cohort and the time."""
        study = self.study
        row = {"id": secrets.randbits(63), "study": study.id, "unit": ask.unit, "slot": slot, "issued": now}
        if slot is None:
            return {**row, "outside": cohort, **dict.fromkeys(("number", "arm", "label", "known", "decision"))}
        arm = int(study.deck(connection, cohort)[slot])
        decision = study.coding.decision(arm, ask.label, ask.known, drawn_number(study.key, ask.unit, arm))
        dealt = {"number": cohort, "arm": arm, "label": ask.label, "known": known_text(ask.known), "decision": decision}
        return {**row, "outside": None, **dealt}

    def _taken(self, connection: Connection, now: int, cohort: AnyRow, count: int) -> tuple[int, int]:
        """The first of some cards that nobody else has, and how many there are: none once the cohort is closed."""
        where = {"of": self.study.id, "at": cohort.cohort, "closes": cohort.closes}
        where |= {} if self.database.asks_server else {"now": now}
        for _ in range(4):
            taken = connection.execute(self._take, {**where, "wanted": count}).scalar()
            if taken is not None:
                return taken - count, count
            left = connection.execute(_LEFT, {"of": self.study.id, "at": cohort.cohort}).scalar_one()
            if left <= 0 or left >= count:  # none left, or it is closed
                return 0, 0
            count = int(left)
        raise Busy("Others took the cards at the same time, time and again. Try again.")

    @cached_property
    def _take(self) -> Any:
        """Some cards, all or none, while the cohort is open."""
        cards, wanted = schema.counter, bindparam("wanted", type_=Integer)
        here = (cards.c.study == bindparam("of", type_=Integer)) & (cards.c.number == bindparam("at", type_=Integer))
        in_time = self.database.now_in_statement("now") < bindparam("closes", type_=BigInteger)
        enough = cards.c.issued + wanted <= cards.c.size
        made = update(cards).where(here, enough, in_time).values(issued=cards.c.issued + wanted)
        return made.returning(cards.c.issued)

    @cached_property
    def _insert(self) -> Any:
        return self.database.insert(schema.assignment).returning(schema.assignment.c.id)

    def _answer(self, ask: Ask, row: Any, repeated: bool) -> Assignment:
        """With a conflict where somebody comes with another group, or another value of an input that was known at the first call."""
        problem, first = self.study.problem, known_of(row.known) or {}
        states = problem.variables[problem.decision].states or ()
        decision = None if row.decision is None else states[row.decision]
        other = ask.label != row.label or any(first.get(name, code) != code for name, code in (ask.known or {}).items())
        return Assignment(id_text(row.id), problem.arm_names[row.arm], decision, row.number, False, repeated, other)

    def _outside(self, ask: Ask, repeated: bool) -> Assignment:
        problem, deployed = self.study.problem, self.study.options.deployed
        decision = None
        if deployed is not None:
            arm = problem.arm_index(deployed)
            code = self.study.coding.decision(arm, ask.label, ask.known, drawn_number(self.study.key, ask.unit, arm))
            decision = None if code is None else (problem.variables[problem.decision].states or ())[code]
        return Assignment(None, deployed, decision, None, True, repeated)


def _record(database: Database, connection: Connection, kind: str, about: Sequence[tuple[int, int]]) -> None:
    """That something happened to assignments, (study, id)."""
    if about:
        rows = [{"study": study, "kind": kind, "about": id} for study, id in about]
        connection.execute(database.insert(schema.incident), rows)


_LEFT = select(schema.counter.c.size - schema.counter.c.issued).where(
    schema.counter.c.study == bindparam("of", type_=Integer), schema.counter.c.number == bindparam("at", type_=Integer)
)


# ---- tell ----


@dataclass(frozen=True)
class Tell:
    """One outcome: ``row`` None where the person was never served."""

    study: Running
    id: int
    row: Mapping[str, Any] | None


@dataclass(frozen=True)
class Teller:
    """Takes outcomes, of any study whose outcomes the transaction has locked."""

    database: Database

    def __call__(self, connection: Connection, now: int, tells: Sequence[Tell]) -> list[Told | StudyError]:
        """An answer for each. One INSERT for all that are new, in the order of their ids."""
        ids = self.database.listed(sorted({tell.id for tell in tells}))
        people = {row.id: row for row in connection.execute(self._look, {"ids": ids})}
        fresh: dict[int, dict[str, Any]] = {}
        checked: list[dict[str, Any] | StudyError] = []
        for tell in tells:
            try:
                made = coded(tell, people.get(tell.id), now)
                fresh.setdefault(tell.id, made)
                checked.append(made)
            except StudyError as error:
                checked.append(error)
        rows = [fresh[id] for id in sorted(fresh)]
        new = set(connection.execute(self._insert, rows).scalars()) if rows else set()
        there = {id: fresh[id]["digest"] for id in new}
        if len(new) < len(fresh):  # some were told before
            there |= {row.assignment: row.digest for row in connection.execute(self._told, {"ids": ids})}
        after = [(people[id].study, id) for id in sorted(new) if people[id].closed]
        _record(self.database, connection, schema.AFTER, after)
        return [
            found if isinstance(found, StudyError) else self._answer(tell, found, people[tell.id], there, new, now)
            for tell, found in zip(tells, checked, strict=True)
        ]

    def _answer(
        self, tell: Tell, made: dict[str, Any], person: AnyRow, there: dict[int, str], new: set[int], now: int
    ) -> Told | StudyError:
        if there[tell.id] != made["digest"]:
            return Conflict(
                f"Another outcome of assignment {id_text(tell.id)} was told before. If that one was wrong, correct it (study correct)."
            )
        if tell.id not in new:
            return Told("repeated")
        new.discard(tell.id)  # the same outcome once more in this transaction is a repeated one
        if person.closed:
            return Told("settled")
        return Told("late" if now > person.issued + tell.study.options.window else "new")

    @cached_property
    def _insert(self) -> Any:
        return self.database.insert(schema.outcome).returning(schema.outcome.c.assignment)

    @cached_property
    def _look(self) -> Any:
        """Assignments, and whether their cohort is settled or left out."""
        people, cards = schema.assignment, schema.counter
        cohort = (cards.c.study == people.c.study) & (cards.c.number == people.c.number)
        closed = select(cards.c.closed).where(cohort).scalar_subquery().label("closed")
        return select(people, closed).where(self.database.among(people.c.id, "ids"))

    @cached_property
    def _told(self) -> Any:
        told = schema.outcome
        return select(told.c.assignment, told.c.digest).where(self.database.among(told.c.assignment, "ids"))


def coded(tell: Tell, person: AnyRow | None, now: int) -> dict[str, Any]:
    """The row of the table of outcomes; `NotFound` or `Invalid` where it cannot be."""
    if person is None or person.study != tell.study.id or person.arm is None:
        raise NotFound(
            f"Study '{tell.study.name}' has no assignment {id_text(tell.id)}. Use the id that `assign` returned."
        )
    if person.erased is not None:
        raise NotFound(f"Assignment {id_text(tell.id)} was erased: nothing can be told of it any more.")
    if tell.row is None:
        return {"assignment": tell.id, "digest": UNSERVED, "label": None, "row": None, "told": now}
    made = tell.study.coding.row(person.arm, person.label, known_of(person.known), person.decision, tell.row)
    return {
        "assignment": tell.id, "digest": row_digest(tell.study.key, tell.id, made.label, made.row), "label": made.label, "row": made.row,
        "told": now,
    }  # fmt: skip


def row_digest(key: bytes, id: int, label: int, row: int) -> str:
    """By which a repeated outcome is told from another one: keyed, since there are few rows to guess."""
    return hashlib.blake2b(f"{id}/{label}/{row}".encode(), key=key, digest_size=16, person=b"outcome").hexdigest()
