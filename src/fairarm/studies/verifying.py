"""Is what is stored what it must be? Computed anew from people's rows, with the answer in sight of nobody who stored it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, select

from fairarm.core.types import IntArray
from fairarm.studies import schema
from fairarm.studies.answers import Verification
from fairarm.studies.calls import row_digest
from fairarm.studies.coding import UNSERVED
from fairarm.studies.cohorts import cohort_digest, marks_of
from fairarm.studies.counting import CardCode, Counted, Person, card_codes, counted, people_of
from fairarm.studies.events import CORRECTED, ERASED, broken_chain, events_of, note_digest
from fairarm.studies.progress import Progress, chained_digest, restored_progress
from fairarm.studies.running import Running
from fairarm.studies.schema import AnyRow
from fairarm.studies.ticking import settled_progress

CLOSE = 1e-9
"""How far numbers that are computed anew may be from those stored: numpy and BLAS change."""


@dataclass(eq=False)
class Check:
    """Of one study, in one snapshot."""

    connection: Connection
    study: Running
    problems: list[str] = field(default_factory=list)
    not_recomputed: list[int] = field(default_factory=list)
    after_settlement: int = 0

    def run(self) -> Verification:
        """Everything."""
        self.problems += broken_chain(self.connection, self.study.id)
        stored = {row.number: row for row in self._all(schema.settled)}
        opened = {
            each.body["cohort"]: each.body["digest"]
            for each in events_of(self.connection, self.study.id, kinds=("opened",))
        }
        progress, prev, out = Progress.start(self.study.rule), "", 0
        for cohort in self._all(schema.cohort):
            people = people_of(self.connection, self.study, cohort.number)
            self._check_cards(cohort, people)
            if opened.get(cohort.number) != cohort_digest(cohort, self._deck(cohort.number)):
                self.problems.append(
                    f"cohort {cohort.number}: its plan, share, times or deck were changed since it opened"
                )
            if (row := stored.pop(cohort.number, None)) is None:
                out += 1
                continue
            if out:
                self.problems.append(f"cohort {cohort.number} was settled, and one before it was not")
            progress = self._check_settled(cohort, row, people, progress, prev)
            prev = row.digest
        self.problems += [f"cohort {number} is settled, and was never opened" for number in stored]
        self._check_orphans()
        self._check_outcomes()
        self._check_notes()
        self._check_cost()
        dealt, done = schema.assignment, schema.settled
        inside = (dealt.c.study == self.study.id) & dealt.c.number.is_not(None)
        return Verification(
            study=self.study.name, problems=tuple(self.problems), assignments=self._count(dealt, inside),
            cohorts=self._count(schema.cohort, schema.cohort.c.study == self.study.id),
            settled=self._count(done, done.c.study == self.study.id),
            events=self._count(schema.event, schema.event.c.study == self.study.id),
            erased=self._count(dealt, inside & dealt.c.erased.is_not(None)), after_settlement=self.after_settlement,
            not_recomputed=tuple(self.not_recomputed),
        )  # fmt: skip

    def _all(self, table: Any) -> list[AnyRow]:
        return list(
            self.connection.execute(select(table).where(table.c.study == self.study.id).order_by(table.c.number))
        )

    def _deck(self, number: int) -> bytes:
        deck = schema.deck
        asked = select(deck.c.arms).where(deck.c.study == self.study.id, deck.c.number == number)
        return bytes(self.connection.execute(asked).scalar() or b"")

    def _count(self, table: Any, which: Any) -> int:
        return int(self.connection.execute(select(func.count()).select_from(table).where(which)).scalar_one())

    # ---- cards ----

    def _check_cards(self, cohort: AnyRow, people: list[Person]) -> None:
        """arm = deck[slot], each slot once and within those issued, nobody outside of the cohort's time."""
        number, deck = cohort.number, self.study.deck(self.connection, cohort.number)
        cards = schema.counter
        size, issued = self.connection.execute(
            select(cards.c.size, cards.c.issued).where(cards.c.study == self.study.id, cards.c.number == number)
        ).one()
        if not 0 <= issued <= size <= len(deck):
            self.problems.append(f"cohort {number}: {issued} cards issued, of {size}, from a deck of {len(deck)}")
        slots = [person.slot for person in people]
        if len(set(slots)) != len(slots) or any(not 0 <= slot < issued for slot in slots):
            self.problems.append(f"cohort {number}: a card was dealt twice, or was not in the deck")
            return
        wrong = [person.slot for person in people if deck[person.slot] != person.arm]
        if wrong:
            self.problems.append(
                f"cohort {number}: the arm of {len(wrong)} people is not that of their card (slot {wrong[0]})"
            )
        if any(not cohort.starts <= person.issued < cohort.closes for person in people):
            self.problems.append(f"cohort {number}: somebody was dealt a card outside of its time")

    def _check_cost(self) -> None:
        """No more pulls than asked for, and the average cost within the budget, over everybody who was dealt a card."""
        people, problem, options = schema.assignment, self.study.problem, self.study.options
        inside = (people.c.study == self.study.id) & people.c.arm.is_not(None)
        asked = select(people.c.arm, func.count()).where(inside).group_by(people.c.arm)
        dealt = np.zeros(len(problem.arms), dtype=np.int64)
        for arm, count in self.connection.execute(asked):
            dealt[arm] = count
        total, cost = int(dealt.sum()), float((dealt * problem.compiled.cost_array[0]).sum())
        if total > options.pulls:
            self.problems.append(f"{total} people were dealt a card; at most {options.pulls} may be")
        budget = problem.average_cost_budget(options.pulls)
        if budget is not None and cost > budget * options.pulls * (1 + CLOSE):
            self.problems.append(
                f"the people dealt a card cost {cost:g}, more than the budget of {budget * options.pulls:g}"
            )

    # ---- what was settled ----

    def _check_settled(
        self, cohort: AnyRow, row: AnyRow, people: list[Person], progress: Progress, prev: str
    ) -> Progress:
        """Cells are the counted rows; wealth and all else follow from them."""
        number, stored = cohort.number, Counted.from_json(self.study.problem, row.cells)
        if row.digest != chained_digest(prev, row.cells, row.counted, row.state, row.shown):
            self.problems.append(f"cohort {number}: what was settled was changed since")
        if any(person.erased for person in people):
            self.not_recomputed.append(number)
        else:
            self._check_cells(cohort, row, people, stored)
        after = settled_progress(self.study, progress, stored)
        kept = restored_progress(bytes(row.state), self.study.rule)
        for name in _far(after, kept):
            self.problems.append(f"cohort {number}: '{name}' is not what its rows make of it")
        return kept

    def _check_cells(self, cohort: AnyRow, row: AnyRow, people: list[Person], stored: Counted) -> None:
        marks, number = marks_of(self.connection, self.study, cohort), cohort.number
        codes, now = (np.frombuffer(each, dtype=np.uint8) for each in (row.counted, card_codes(people, marks.size)))
        if len(codes) != marks.size:
            self.problems.append(f"cohort {number}: it has {marks.size} cards, and {len(codes)} were settled")
            return
        if gone := int(((codes == CardCode.COUNTED) & (now != CardCode.COUNTED)).sum()):
            self.problems.append(f"cohort {number}: {gone} outcomes were counted that are not there")
        self._check_told_after(number, {p.id for p in people if codes[p.slot] != CardCode.COUNTED == now[p.slot]})
        settled = [person.as_settled(codes[person.slot], self.study.options.at_arrival) for person in people]
        made = counted(self.study, settled, marks)
        for each in fields(Counted):
            if not np.array_equal(getattr(made, each.name), getattr(stored, each.name)):
                self.problems.append(f"cohort {number}: '{each.name}' is not what its people's rows come to")
        if row.lost != int(made.missing.sum()) or bool(row.cut) != made.cut:
            self.problems.append(f"cohort {number}: what is said to be lost or cut is not")

    def _check_told_after(self, number: int, after: set[int]) -> None:
        """Outcomes that came after their cohort was settled: their callers were told so, or they were acknowledged and lost."""
        self.after_settlement += len(after)
        kept = schema.incident
        said = select(kept.c.about).where(kept.c.study == self.study.id, kept.c.kind == schema.AFTER)
        if after and (missed := after - set(self.connection.execute(said).scalars())):
            self.problems.append(f"cohort {number}: {len(missed)} outcomes were acknowledged as new and not counted")

    def _check_outcomes(self) -> None:
        """Every row is the one that was told, as its digest has it, and of the group that was assigned."""
        told, people = schema.outcome, schema.assignment
        asked = select(people.c.id, people.c.label, told.c.label, told.c.row, told.c.digest).join_from(
            told, people, people.c.id == told.c.assignment
        )
        wrong = 0
        for id, group, label, row, digest in self.connection.execute(
            asked.where(people.c.study == self.study.id, people.c.erased.is_(None))
        ):
            wrong += digest != (UNSERVED if row is None else row_digest(self.study.key, id, label, row))
            wrong += None not in (group, label) and group != label
        if wrong:
            self.problems.append(f"{wrong} outcomes are not those that were told")

    def _check_notes(self) -> None:
        """Each note that was not erased is the one of its event's digest, and so is the correction it comes with."""
        lines, notes, made, people = schema.event, schema.note, schema.correction, schema.assignment
        of_line = (notes.c.study == lines.c.study) & (notes.c.seq == lines.c.seq)
        of_note = (made.c.assignment == notes.c.assignment) & (made.c.seq == notes.c.seq)
        parts = (notes.c.salt, notes.c.text, notes.c.assignment, made.c.label, made.c.row, made.c.counts)
        asked = select(lines.c.seq, lines.c.kind, lines.c.body, notes.c.seq.label("there"), *parts)
        asked = asked.select_from(lines.outerjoin(notes, of_line).outerjoin(made, of_note))
        asked = asked.where(lines.c.study == self.study.id, lines.c.kind.in_((CORRECTED, ERASED)))
        corrected = 0
        for seq, kind, body, there, *note in self.connection.execute(asked.order_by(lines.c.seq)):
            corrected += kind == CORRECTED and note[2] is not None
            erased = there is not None and note[:2] == [None, None]
            if not erased and note_digest(self.study.key, *note) not in body:
                self.problems.append(
                    f"event {seq} ({kind}): its note, or the correction it is about, was changed or is gone"
                )
        stored = self._count(made.join(people, people.c.id == made.c.assignment), people.c.study == self.study.id)
        if stored != corrected:
            self.problems.append(f"there are {stored} corrections, and {corrected} were made and not erased")

    def _check_orphans(self) -> None:
        """Every outcome has its assignment, every assignment its cohort."""
        told, people, cohorts = schema.outcome, schema.assignment, schema.cohort
        lonely = (
            select(func.count())
            .select_from(told.outerjoin(people, people.c.id == told.c.assignment))
            .where(people.c.id.is_(None))
        )
        if count := self.connection.execute(lonely).scalar_one():
            self.problems.append(f"{count} outcomes belong to no assignment")
        on = (cohorts.c.study == people.c.study) & (cohorts.c.number == people.c.number)
        lost = select(func.count()).select_from(people.outerjoin(cohorts, on))
        lost = lost.where(people.c.study == self.study.id, people.c.arm.is_not(None), cohorts.c.number.is_(None))
        if count := self.connection.execute(lost).scalar_one():
            self.problems.append(f"{count} people belong to no cohort")


def _far(made: Progress, kept: Progress) -> list[str]:
    """Arrays of the state that are further apart than rounding."""
    found = []
    for name, first, second in (
        *_arrays("", made.settled.state.memory, kept.settled.state.memory),
        *_arrays("", made.settled.watched, kept.settled.watched),
        *_arrays("", made.settled.state, kept.settled.state),
        ("so_far", made.settled.so_far.counts, kept.settled.so_far.counts),
        ("unplaced", _unplaced(made), _unplaced(kept)),
        ("coverage", made.coverage, kept.coverage),
        ("proof", made.settled.proof, kept.settled.proof),
        ("void", made.settled.void, kept.settled.void),
        ("contradicted", made.settled.contradicted, kept.settled.contradicted),
    ):
        if first.shape != second.shape or not np.allclose(first, second, rtol=CLOSE, atol=CLOSE, equal_nan=True):
            found.append(name)
    return found


def _unplaced(progress: Progress) -> IntArray:
    found = progress.settled.so_far.unplaced
    return np.zeros(0, dtype=np.int64) if found is None else found


def _arrays(prefix: str, first: Any, second: Any) -> list[tuple[str, Any, Any]]:
    pairs = ((each.name, getattr(first, each.name), getattr(second, each.name)) for each in fields(first))
    return [(prefix + name, one, other) for name, one, other in pairs if isinstance(one, np.ndarray)]
