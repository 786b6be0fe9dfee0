"""Assign and tell, many at once in one transaction. The work for each does not depend on how many people there were."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlalchemy import BigInteger, Connection, Integer, bindparam, select, true, update

from fairarm.studies import schema
from fairarm.studies.answers import Assignment, StudyStatus, Told
from fairarm.studies.coding import Known, drawn_number, known_of, known_text
from fairarm.studies.database import Database
from fairarm.studies.errors import Busy, Conflict, NotFound, StudyError
from fairarm.studies.running import Running
from fairarm.studies.schema import AnyRow

UNSERVED = "unserved"
"""The digest of an outcome that says so."""


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

    def __call__(self, connection: Connection, now: int, asks: Sequence[Ask]) -> list[Assignment | StudyError]:
        """An answer for each; the same person twice is the same answer."""
        over, cohort, there = self._standing(connection, now, [ask.unit for ask in asks])
        fresh: dict[str, Ask] = {}
        if cohort is not None:
            fresh = {ask.unit: ask for ask in asks if ask.unit not in there and ask.entry < cohort.share}
        made = self._dealt(connection, now, cohort, list(fresh.values())) if cohort is not None and fresh else {}
        raced = [unit for unit, row in made.items() if row is None]
        there.update(self._standing(connection, now, raced)[2] if raced else {})
        answers: list[Assignment | StudyError] = []
        said: set[str] = set()
        for ask in asks:
            row = made.get(ask.unit) or there.get(ask.unit)
            repeated = ask.unit in there or ask.unit in said
            said.add(ask.unit)
            answers.append(
                self._answer(row, repeated) if row is not None and not over else self._outside(ask, row is not None)
            )
        return answers

    def _standing(
        self, connection: Connection, now: int, units: Sequence[str]
    ) -> tuple[bool, AnyRow | None, dict[str, Any]]:
        """Whether the study is over, the cohort that is open, and who of these people was assigned before."""
        asked = {"asked": self.study.id, "units": self.database.listed(units)}
        rows = connection.execute(self._look, asked).all()
        found = rows[0]
        closed = found.cohort is None or not found.starts <= now < found.closes
        there = {row.unit: row for row in rows if row.unit is not None}
        return StudyStatus(found.status).over, None if closed else found, there

    @cached_property
    def _look(self) -> Any:
        """A line for each who was assigned before, else one line: with the status by the newest event, and the newest cohort, if there is
        one."""
        lines, cohorts, people = schema.event, schema.cohort, schema.assignment
        asked = bindparam("asked", type_=Integer)
        status = select(lines.c.status).where(lines.c.study == asked).order_by(lines.c.seq.desc()).limit(1).subquery()
        newest = select(cohorts).where(cohorts.c.study == asked).order_by(cohorts.c.number.desc()).limit(1).subquery()
        theirs = (people.c.study == asked) & self.database.among(people.c.unit, "units")
        return select(
            status.c.status, newest.c.number.label("cohort"), newest.c.share, newest.c.starts, newest.c.closes,
            *(people.c[name] for name in ("id", "unit", "number", "arm", "decision")),
        ).select_from(status.outerjoin(newest, true()).outerjoin(people, theirs))  # fmt: skip

    def _dealt(self, connection: Connection, now: int, cohort: AnyRow, asks: list[Ask]) -> dict[str, Any]:
        """Cards for as many as there are; None for somebody whom another process assigned just now."""
        first, count = self._taken(connection, now, cohort, len(asks))
        if not count:
            return {}
        deck, rows = self.study.deck(connection, cohort.cohort), []
        for slot, ask in enumerate(asks[:count], start=first):
            arm = int(deck[slot])
            decision = self.study.coding.decision(
                arm, ask.label, ask.known, drawn_number(self.study.key, ask.unit, arm)
            )
            rows.append(
                {
                    "id": secrets.randbits(63), "study": self.study.id, "unit": ask.unit, "number": cohort.cohort, "slot": slot, "arm": arm,
                    "label": ask.label, "known": known_text(ask.known), "decision": decision, "issued": now, "erased": None,
                }
            )  # fmt: skip
        done = set(connection.execute(self._insert, sorted(rows, key=lambda row: str(row["unit"]))).scalars())
        return {row["unit"]: _Made(**row) if row["id"] in done else None for row in rows}

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

    def _answer(self, row: Any, repeated: bool) -> Assignment:
        problem = self.study.problem
        states = problem.variables[problem.decision].states or ()
        decision = None if row.decision is None else states[row.decision]
        return Assignment(id_text(row.id), problem.arm_names[row.arm], decision, row.number, False, repeated)

    def _outside(self, ask: Ask, repeated: bool) -> Assignment:
        problem, deployed = self.study.problem, self.study.options.deployed
        decision = None
        if deployed is not None:
            arm = problem.arm_index(deployed)
            code = self.study.coding.decision(arm, ask.label, ask.known, drawn_number(self.study.key, ask.unit, arm))
            decision = None if code is None else (problem.variables[problem.decision].states or ())[code]
        return Assignment(None, deployed, decision, None, True, repeated)


@dataclass(frozen=True)
class _Made:
    """As a row of the table."""

    id: int
    study: int
    unit: str
    number: int
    slot: int
    arm: int
    label: int | None
    known: str | None
    decision: int | None
    issued: int
    erased: None


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
    """Takes outcomes, of any study."""

    database: Database

    def __call__(self, connection: Connection, now: int, tells: Sequence[Tell]) -> list[Told | StudyError]:
        """An answer for each. One INSERT for all that are new, in the order of their ids."""
        ids = sorted({tell.id for tell in tells})
        people = self._people(connection, ids)
        there = {id: row.digest for id, row in people.items() if row.digest is not None}
        fresh: dict[int, dict[str, Any]] = {}
        checked: list[dict[str, Any] | StudyError] = []
        for tell in tells:
            try:
                made = coded(tell, people.get(tell.id), now)
                if tell.id not in there:
                    fresh.setdefault(tell.id, made)
                checked.append(made)
            except StudyError as error:
                checked.append(error)
        new = self._inserted(connection, fresh)
        there |= {id: fresh[id]["digest"] for id in new}
        if len(new) < len(fresh):  # another process told some at the same time
            missed = self._people(connection, sorted(set(fresh) - new))
            there |= {id: row.digest for id, row in missed.items()}
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
        return Told("late" if now > person.issued + tell.study.options.window else "new")

    def _inserted(self, connection: Connection, fresh: dict[int, dict[str, Any]]) -> set[int]:
        """Those that are now told, and were not before."""
        if not fresh:
            return set()
        return set(connection.execute(self._insert, [fresh[id] for id in sorted(fresh)]).scalars())

    @cached_property
    def _insert(self) -> Any:
        return self.database.insert(schema.outcome).returning(schema.outcome.c.assignment)

    def _people(self, connection: Connection, ids: Sequence[int]) -> dict[int, AnyRow]:
        """Assignments, with the digest of what was told of each."""
        return {row.id: row for row in connection.execute(self._look, {"ids": self.database.listed(ids)})}

    @cached_property
    def _look(self) -> Any:
        people, told = schema.assignment, schema.outcome
        joined = people.outerjoin(told, told.c.assignment == people.c.id)
        return select(people, told.c.digest).select_from(joined).where(self.database.among(people.c.id, "ids"))


def coded(tell: Tell, person: AnyRow | None, now: int) -> dict[str, Any]:
    """The row of the table of outcomes; `NotFound` or `Invalid` where it cannot be."""
    if person is None or person.study != tell.study.id:
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
