"""Counts of a study from the database: its line in a list, and its cohorts. The rows of settled cohorts are not looked at."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from sqlalchemy import Connection, case, func, select

from fairarm.problem.answer import Status
from fairarm.studies import schema
from fairarm.studies.answers import CohortReport, HistoryPoint, Summary
from fairarm.studies.coding import UNSERVED
from fairarm.studies.cohorts import CUT, DROPPED, by_hand
from fairarm.studies.counting import Counted
from fairarm.studies.events import state_of
from fairarm.studies.moving import is_held
from fairarm.studies.options import moment
from fairarm.studies.running import Running
from fairarm.studies.schema import AnyRow


def summary_of(connection: Connection, study: Running) -> Summary:
    """One study in a list."""
    cards, done = schema.counter, schema.settled
    cohorts, people = connection.execute(
        select(func.count(), func.coalesce(func.sum(cards.c.issued), 0)).where(cards.c.study == study.id)
    ).one()
    settled = connection.execute(select(func.count()).where(done.c.study == study.id)).scalar_one()
    last = connection.execute(
        select(done.c.shown).where(done.c.study == study.id).order_by(done.c.number.desc()).limit(1)
    ).scalar()
    shown = {} if last is None else json.loads(last)
    return Summary(
        name=study.name, problem=study.problem.name, state=state_of(connection, study.id), created=moment(study.created),
        pulls=study.options.pulls, cohorts=int(cohorts), settled=int(settled), people=int(people),
        status=shown.get("status", str(Status.UNDECIDED)), arm=shown.get("arm"), recommended=shown.get("recommended"),
        recommended_probability=shown.get("recommended_probability"), void=bool(shown.get("void", False)),
        held=is_held(connection, study.id),
    )  # fmt: skip


def history_of(connection: Connection, study: Running) -> tuple[HistoryPoint, ...]:
    """What was known after each settled cohort."""
    done, names = schema.settled, study.problem.arm_names
    asked = select(done.c.number, done.c.at, done.c.shown).where(done.c.study == study.id).order_by(done.c.number)
    return tuple(_point(row, names) for row in connection.execute(asked))


def _point(row: AnyRow, names: tuple[str, ...]) -> HistoryPoint:
    shown = json.loads(row.shown)
    nothing = [None] * len(names)
    best, fair = (dict(zip(names, shown[part] or nothing, strict=True)) for part in ("best", "fair"))
    return HistoryPoint(
        row.number, moment(row.at), best, fair, shown["none"], shown["status"], shown["arm"], shown["people"]
    )


def cohorts_of(connection: Connection, study: Running, now: int, number: int | None = None) -> tuple[CohortReport, ...]:
    """All cohorts, or one, in order."""
    cohorts, cards, done = schema.cohort, schema.counter, schema.settled
    asked = (
        select(cohorts, cards.c.issued, done.c.at, done.c.lost, done.c.shown)
        .join_from(cohorts, cards, (cards.c.study == cohorts.c.study) & (cards.c.number == cohorts.c.number))
        .outerjoin(done, (done.c.study == cohorts.c.study) & (done.c.number == cohorts.c.number))
        .where(cohorts.c.study == study.id)
        .order_by(cohorts.c.number)
    )
    if number is not None:
        asked = asked.where(cohorts.c.number == number)
    cut, dropped = (by_hand(connection, study.id, kind) for kind in (CUT, DROPPED))
    return tuple(_report(connection, study, row, now, cut, dropped) for row in connection.execute(asked).all())


def _report(
    connection: Connection, study: Running, row: AnyRow, now: int, cut: dict[int, Any], dropped: dict[int, Any]
) -> CohortReport:
    settled = row.at is not None  # a settled cohort is read as it was settled, not counted again
    shown: dict[str, Any] = {"told": told_counts(connection, study, row.number)}
    if settled:
        shown = json.loads(row.shown)
    told, late, unserved, dealt = shown["told"]
    state = "dropped" if row.number in dropped else "settled" if settled else "open" if now < row.closes else "out"
    plan = json.loads(row.plan)
    hand = dropped.get(row.number) or cut.get(row.number)
    return CohortReport(
        number=row.number, state=state, starts=moment(row.starts), opened=moment(row.opened), closes=moment(row.closes),  # type: ignore[arg-type]
        matures=moment(row.closes + study.options.window), settles=moment(row.closes + study.options.window + study.options.grace),
        settled=moment(row.at) if settled else None, plan=plan, share=row.share, cards=sum(plan.values()), dealt=dealt, told=told, late=late,
        unserved=shown.get("unserved", unserved), lost=row.lost if settled else None, counted=shown.get("counted"),
        filled=shown.get("filled"), erased=shown.get("erased"), cut=row.number in cut, reason=None if hand is None else hand[1], why=_why(study, json.loads(row.why)),
    )  # fmt: skip


def _why(study: Running, why: dict[str, Any]) -> dict[str, Any]:
    return {**why, "fair": dict(zip(study.problem.arm_names, why["fair"], strict=True))}


def told_counts(connection: Connection, study: Running, number: int) -> tuple[int, int, int, int]:
    """Outcomes of a cohort in time, late, and said to be unserved; and its people."""
    people, told = schema.assignment, schema.outcome
    served = told.c.digest != UNSERVED
    in_time = told.c.told <= people.c.issued + study.options.window
    count = [
        func.coalesce(func.sum(case((which, 1), else_=0)), 0)
        for which in (served & in_time, served & ~in_time, ~served)
    ]
    asked = select(*count, func.count(people.c.id)).select_from(
        people.outerjoin(told, told.c.assignment == people.c.id)
    )
    found = connection.execute(asked.where(people.c.study == study.id, people.c.number == number)).one()
    return int(found[0]), int(found[1]), int(found[2]), int(found[3])


def settled_counts(connection: Connection, study: Running) -> list[tuple[int, Counted]]:
    """What each settled cohort came to, in order."""
    done = schema.settled
    asked = select(done.c.number, done.c.cells).where(done.c.study == study.id).order_by(done.c.number)
    return [(row.number, Counted.from_json(study.problem, row.cells)) for row in connection.execute(asked)]


def people_by_group(connection: Connection, study: Running, number: int) -> np.ndarray[Any, Any]:
    """People of a cohort that is not settled by arm and group, (K, G + 1); the last: not known."""
    people, G = schema.assignment, len(study.problem.groups)
    made = np.zeros((len(study.problem.arms), G + 1), dtype=np.int64)
    asked = select(people.c.arm, people.c.label, func.count()).where(
        people.c.study == study.id, people.c.number == number
    )
    for arm, label, count in connection.execute(asked.group_by(people.c.arm, people.c.label)):
        made[arm, G if label is None else label] += count
    return made
