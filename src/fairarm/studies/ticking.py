"""The tick of one study: settle what has matured, in order; open what is due.

Any process may, at any time. All is computed outside of the transaction that writes it, from one snapshot; a UNIQUE constraint decides
who was first, and whoever was not leaves everything as it is.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import Connection, delete, func, insert, select, update

from fairarm.algorithms.info import Info
from fairarm.algorithms.live import people_to_enter
from fairarm.core.answer import Code
from fairarm.core.entry import UNEVEN, Coverage, dealt_deck, entry_share, expected_arrivals
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.answer import Answer, Status
from fairarm.studies import schema
from fairarm.studies.answers import StudyState
from fairarm.studies.cohorts import (
    CUT,
    DROPPED,
    all_resolved,
    by_hand,
    close_outcomes,
    cohort_digest,
    latest,
    marks_of,
    seal,
    unsettled,
)
from fairarm.studies.counting import ON_TIME, CardCode, Counted, Marks, card_codes, counted, people_of
from fairarm.studies.database import Database, lock_outcomes
from fairarm.studies.events import append, events_of, locked, state_of
from fairarm.studies.moving import SKIPPED, TICK, is_held, move_on
from fairarm.studies.options import SECOND, UNTIL_SETTLED
from fairarm.studies.progress import Progress, chained_digest, last_settled, read_progress, stored_progress
from fairarm.studies.running import CARD, Running
from fairarm.studies.schema import AnyRow
from fairarm.studies.summaries import people_by_group, told_counts
from fairarm.studies.writer import Writer

SETTLES_AFTER = 2 * SECOND
"""The least time from a cohort's end until it is settled, also where everybody's outcome is told."""


@dataclass(eq=False)
class Clockwork:
    """Ticks studies of one database. Keeps the last progress of each, which can always be read again."""

    database: Database
    writer: Writer
    kept: dict[int, tuple[int | None, Progress]] = field(default_factory=dict)
    without_cards: dict[int, tuple[int | None, int]] = field(default_factory=dict)
    """Studies for whose next cohort there were no cards, by what was settled and out then."""

    def tick(self, study: Running) -> list[str]:
        """What was done."""
        done = []
        while (number := self._settle_next(study)) is not None:
            done.append(f"{study.name}: settled {number}")
        if (number := self._open_next(study)) is not None:
            done.append(f"{study.name}: opened {number}")
        return done

    def progress(self, connection: Connection, study: Running) -> tuple[int | None, Progress]:
        """After the last settled cohort, with its number."""
        number = last_settled(connection, study.id)
        held = self.kept.get(study.id)
        if held is None or held[0] != number:
            held = self.kept[study.id] = number, read_progress(connection, study.id, number, study.rule)
        return held

    # ---- settle ----

    def _settle_next(self, study: Running) -> int | None:
        """The next cohort in order, where it has matured, or all of it is told; its number if it was settled here."""
        with self.database.reading() as connection:
            now, out = self.database.now(connection), unsettled(connection, study.id)
            if not out or is_held(connection, study.id) or not self._due(connection, study, out[0], now):
                return None
        number = int(out[0].number)
        self.writer.job(lambda connection, _: seal(connection, study.id, number))
        with self.database.reading() as connection:
            before, progress = self.progress(connection, study)
            if before is not None and before >= number:
                return None
            people, marks = people_of(connection, study, number), marks_of(connection, study, out[0])
            prev, told = _digest(connection, study.id, before), told_counts(connection, study, number)
            seen = count_of(connection, study, number)
        counts = counted(study, people, marks)
        after = settled_progress(study, progress, counts)
        codes = card_codes(people, marks.size)
        gone = {"unserved": codes.count(CardCode.UNSERVED), "erased": codes.count(CardCode.ERASED)}
        shown = {**shown_of(study, after, counts), **gone, "told": told}
        row = _settled_row(study, number, counts, after, shown, codes, prev)
        done = self.writer.job(
            lambda connection, now: self._write_settled(connection, study, now, row, before, seen, after)
        )
        if done:
            self.kept[study.id] = number, after
            self.database.scrub(study.options.keep_rows == UNTIL_SETTLED)
        return number if done else None

    def _due(self, connection: Connection, study: Running, cohort: AnyRow, now: int) -> bool:
        if now >= cohort.closes + study.options.window + study.options.grace:
            return True
        return now >= cohort.closes + SETTLES_AFTER and all_resolved(connection, study.id, cohort.number)

    def _write_settled(
        self,
        connection: Connection,
        study: Running,
        now: int,
        row: dict[str, Any],
        before: int | None,
        people: tuple[int, ...],
        after: Progress,
    ) -> bool:
        lock_outcomes(connection, study.id)
        number, status = row["number"], locked(connection, study.id)
        seal(connection, study.id, number)
        if (
            count_of(connection, study, number) != people
            or last_settled(connection, study.id) != before
            or is_held(connection, study.id)
        ):
            return False
        insertion = self.database.insert(schema.settled).returning(schema.settled.c.number)
        if connection.execute(insertion, [{**row, "at": now}]).scalar() is None:
            return False
        close_outcomes(connection, study.id, number)
        shown = json.loads(row["shown"])
        body = {
            "cohort": number,
            "counted": shown["counted"],
            "lost": row["lost"],
            "status": shown["status"],
            "arm": shown["arm"],
        }
        append(connection, study.id, now, TICK, "settled", body, status)
        if study.options.keep_rows == UNTIL_SETTLED:
            dealt = schema.assignment
            erase_people(connection, (dealt.c.study == study.id) & (dealt.c.number == number), now)
        move_on(connection, study.id, now, int(after.settled.state.answer[0]) != Code.PENDING)
        return True

    # ---- open ----

    def _open_next(self, study: Running) -> int | None:
        """The cohort of the time that it is, where none is open; its number if it was opened here."""
        with self.database.reading() as connection:
            now, last = self.database.now(connection), latest(connection, study.id)
            number = (now - study.options.start) // study.options.cohort
            idle = state_of(connection, study.id) != StudyState.RUNNING or is_held(connection, study.id)
            if idle or number < 0 or (last is not None and number <= last.number):
                return None
        if last is not None:
            self.writer.job(lambda connection, _: seal(connection, study.id, last.number))
        with self.database.reading() as connection:
            before, progress = self.progress(connection, study)
            out = unsettled(connection, study.id)
            if self.without_cards.get(study.id) == (before, len(out)):
                return None
            recent = [(each, marks_of(connection, study, each)) for each in _recent(connection, study.id)]
            late = not self._evenly(study, progress, out, recent, number, now)
            under_way = np.zeros_like(progress.settled.state.given)
            for each in out:
                under_way[0, 0] += people_by_group(connection, study, each.number).sum(axis=1)
        if late:
            self.writer.job(lambda connection, now: skip(connection, study, now, number))
            return None
        cards = study.rule.cards(progress.settled, under_way, study.options.people, study.seed, number)[0, 0]
        if not cards.any():
            self._no_cards(study, before, len(out))
            return None
        rows = _cohort_rows(study, number, now, cards, progress, before, recent)
        done = self.writer.job(lambda connection, now: self._write_opened(connection, study, now, rows, before, last))
        return number if done else None

    def _evenly(
        self,
        study: Running,
        progress: Progress,
        out: list[AnyRow],
        recent: list[tuple[AnyRow, Marks]],
        number: int,
        now: int,
    ) -> bool:
        """Whether a cohort that opens now leaves no part of the cycle far behind: else the next one is waited for."""
        starts = study.starts(number)
        if now - starts <= ON_TIME:
            return True
        closes, waiting = starts + study.options.cohort, {each.number for each in out}
        covered = progress.coverage + Marks(starts, now, closes, 1, 1, None).covered(study.options)
        covered = covered + sum(marks.covered(study.options) for each, marks in recent if each.number in waiting)
        return Coverage(covered).least >= UNEVEN

    def _no_cards(self, study: Running, before: int | None, out: int) -> None:
        """No pull is left, or none that the budget can pay: cohorts that are out are waited for; without any the study is at its end."""
        self.without_cards[study.id] = before, out
        if out:
            return

        def ended(connection: Connection, now: int) -> None:
            if last_settled(connection, study.id) == before and not unsettled(connection, study.id):
                move_on(connection, study.id, now, True, "no pull is left")

        self.writer.job(ended)

    def _write_opened(
        self,
        connection: Connection,
        study: Running,
        now: int,
        rows: dict[str, dict[str, Any]],
        before: int | None,
        last: AnyRow | None,
    ) -> bool:
        idle = locked(connection, study.id) != StudyState.RUNNING or is_held(connection, study.id)
        newest = latest(connection, study.id)
        moved = (newest and newest.number) != (last and last.number) or last_settled(connection, study.id) != before
        if moved or idle or now >= rows["cohort"]["closes"]:
            return False
        insertion = self.database.insert(schema.cohort).returning(schema.cohort.c.number)
        if (
            connection.execute(insertion, [{**rows["cohort"], "opened": max(now, rows["cohort"]["starts"])}]).scalar()
            is None
        ):
            return False
        connection.execute(insert(schema.deck).values(**rows["deck"]))
        connection.execute(insert(schema.counter).values(**rows["counter"]))
        stored = connection.execute(
            select(schema.cohort).where(
                schema.cohort.c.study == study.id, schema.cohort.c.number == rows["cohort"]["number"]
            )
        ).one()
        body = {
            "cohort": stored.number,
            "cards": rows["counter"]["size"],
            "share": stored.share,
            "digest": cohort_digest(stored, rows["deck"]["arms"]),
        }
        append(connection, study.id, now, TICK, "opened", body, StudyState.RUNNING)
        return True


def skip(connection: Connection, study: Running, now: int, number: int) -> None:
    """Write down, once, that a cohort was not opened, since nobody ticked at its start."""
    status = locked(connection, study.id)
    if number in {each.body["cohort"] for each in events_of(connection, study.id, kinds=(SKIPPED,))}:
        return
    body = {"cohort": number, "late_seconds": (now - study.starts(number)) // SECOND}
    append(connection, study.id, now, TICK, SKIPPED, body, status)


def settled_progress(study: Running, progress: Progress, counts: Counted) -> Progress:
    """With a cohort of these counts; the same, bit for bit, however often it is computed."""
    coverage = progress.coverage + counts.covered
    if counts.dropped:
        dealt = np.zeros_like(progress.settled.state.given)
        dealt[0, 0] = counts.dealt
        return Progress(study.rule.left_out(progress.settled, dealt), progress.info, coverage)
    cohort = counts.cohort(study.problem, study.rule.loss, study.options.at_arrival)
    running = progress.settled.state.running
    after, info = study.rule.settle(progress.settled, cohort, study.seed, coverage[None])
    return Progress(after, progress.info if info is None else progress.info.updated(running, info), coverage)


def _settled_row(
    study: Running, number: int, counts: Counted, after: Progress, shown: dict[str, Any], bits: bytes, prev: str
) -> dict[str, Any]:
    cells, state = counts.to_json(), stored_progress(after)
    said = json.dumps(shown, separators=(",", ":"), allow_nan=False)
    return {
        "study": study.id, "number": number, "cells": cells, "counted": bits, "lost": int(counts.missing.sum()), "cut": int(counts.cut),
        "shown": said, "state": state, "digest": chained_digest(prev, cells, bits, state, said),
    }  # fmt: skip


def shown_of(study: Running, after: Progress, counts: Counted) -> dict[str, Any]:
    """What is known after a cohort, by arm."""
    certified = Answer.of(int(after.settled.state.answer[0]), study.problem.arm_names)
    standing, (recommended, probability) = after.info.standing, recommendation(study, after.info)
    return {
        "best": None if standing is None else _numbers(standing.best[0]),
        "fair": None if standing is None else _numbers(standing.fair[0]),
        "none": None if standing is None else float(standing.none[0]),
        "status": str(certified.status),
        "arm": certified.arm,
        "recommended": recommended.arm,
        "recommended_probability": probability,
        "void": bool(after.settled.void[0]),
        "people": int(after.settled.state.given.sum()),
        "dealt": counts.dealt.tolist(),
        "counted": 0 if counts.dropped else int(counts.rows.sum()),
        "filled": 0 if counts.dropped else int(counts.filled.sum()),
    }


def recommendation(study: Running, info: Info) -> tuple[Answer, float | None]:
    """What the posterior recommends, and how probable it is; nothing where no answer is probable enough."""
    if info.standing is None or np.isnan(info.standing.none[0]):
        return Answer(Status.UNDECIDED), None
    found = info.standing.choice()
    answer = Answer.of(int(found.code[0]), study.problem.arm_names)
    return answer, None if answer.status == Status.UNDECIDED else float(found.probability[0])


def _numbers(values: FloatArray) -> list[float | None]:
    return [None if math.isnan(value) else float(value) for value in values]


def _digest(connection: Connection, study: int, number: int | None) -> str:
    if number is None:
        return ""
    done = schema.settled
    return str(
        connection.execute(select(done.c.digest).where(done.c.study == study, done.c.number == number)).scalar_one()
    )


def _recent(connection: Connection, study: int) -> list[AnyRow]:
    """The cohorts that may tell how many people arrive, and those that are out, in order."""
    cohorts, out = schema.cohort, len(unsettled(connection, study))
    asked = select(cohorts).where(cohorts.c.study == study).order_by(cohorts.c.number.desc()).limit(max(out, 6))
    return list(connection.execute(asked))[::-1]


def _cohort_rows(
    study: Running,
    number: int,
    now: int,
    cards: IntArray,
    progress: Progress,
    before: int | None,
    recent: list[tuple[AnyRow, Marks]],
) -> dict[str, dict[str, Any]]:
    """What a new cohort is stored as: size, share and end are fixed here."""
    options, names = study.options, study.problem.arm_names
    closed = [(marks.dealt, each.share, marks.part) for each, marks in recent]
    expected = expected_arrivals(options.arrivals_in_cohort, *([part[i] for part in closed] for i in range(3)))
    people = float(people_to_enter(options.people, np.array([cards.sum()]))[0])
    paused = study.rule.paused(progress.settled)
    why = {
        "settled": before, "expected": expected, "people": people,
        "paused": [] if paused is None else [names[k] for k in np.flatnonzero(paused[0])],
        "fair": _numbers(progress.settled.fair[0]),
    }  # fmt: skip
    starts = study.starts(number)
    deck = dealt_deck(cards, study.deck_generator(number)).astype(CARD)
    key = {"study": study.id, "number": number}
    plan = {names[k]: int(cards[k]) for k in np.flatnonzero(cards)}
    return {
        "cohort": {
            **key, "plan": json.dumps(plan), "share": entry_share(people, expected), "starts": starts, "opened": now,
            "closes": starts + options.cohort, "why": json.dumps(why, allow_nan=False),
        },
        "deck": {**key, "arms": deck.tobytes()},
        "counter": {**key, "size": len(deck), "issued": 0},
    }  # fmt: skip


def count_of(connection: Connection, study: Running, number: int) -> tuple[int, ...]:
    """People of a cohort who are not erased, corrections, outcomes in time and unserved people, and whether it is cut or dropped: what must
    be as in the snapshot when it is settled."""
    people, made = schema.assignment, schema.correction
    here = (people.c.study == study.id) & (people.c.number == number)
    there = connection.execute(select(func.count()).where(here, people.c.erased.is_(None))).scalar_one()
    corrected = select(func.count()).select_from(people.join(made, made.c.assignment == people.c.id)).where(here)
    by = [int(number in by_hand(connection, study.id, kind)) for kind in (CUT, DROPPED)]
    told, _, unserved, _ = told_counts(connection, study, number)
    return int(there), int(connection.execute(corrected).scalar_one()), told, unserved, *by


def erase_people(connection: Connection, here: Any, now: int) -> None:
    """Unit, group, known, decision, row and notes of these assignments, on purpose: what was counted of them stays."""
    people, ids = schema.assignment, select(schema.assignment.c.id).where(here)
    told, made, notes = schema.outcome, schema.correction, schema.note
    connection.execute(update(told).where(told.c.assignment.in_(ids)).values(row=None, label=None, digest=""))
    connection.execute(delete(made).where(made.c.assignment.in_(ids)))
    connection.execute(update(notes).where(notes.c.assignment.in_(ids)).values(assignment=None, salt=None, text=None))
    connection.execute(update(people).where(here).values(unit=None, label=None, known=None, decision=None, erased=now))
