"""Why did this person, or this arm, get what it got?"""

from __future__ import annotations

from typing import Any

from sqlalchemy import func, select

from fairarm.core.entry import entry_number
from fairarm.studies import schema
from fairarm.studies.answers import Assignment, WhyArm, WhyPerson
from fairarm.studies.calls import id_text
from fairarm.studies.coding import UNSERVED
from fairarm.studies.counting import CardCode
from fairarm.studies.errors import NotFound
from fairarm.studies.options import moment
from fairarm.studies.standing import Known
from fairarm.studies.summaries import cohorts_of


def why_person(known: Known, unit: str) -> WhyPerson:
    """What happened to one person, and why."""
    study, people = known.study, schema.assignment
    entry = entry_number(study.key, unit)
    person = known.connection.execute(
        select(people).where(people.c.study == study.id, people.c.unit == study.unit(unit))
    ).one_or_none()
    if person is None:
        return WhyPerson(False, entry, None, None, None, None, None, None, 0)
    cohort = cohorts_of(
        known.connection, study, known.now, person.number if person.outside is None else person.outside
    )[0]
    if person.arm is None:
        return WhyPerson(True, entry, None, None, moment(person.issued), cohort, None, "outside", 0)
    told = known.connection.execute(
        select(schema.outcome).where(schema.outcome.c.assignment == person.id)
    ).one_or_none()
    made = schema.correction
    corrected = known.connection.execute(select(func.count()).where(made.c.assignment == person.id)).scalar_one()
    states = study.problem.variables[study.problem.decision].states or ()
    decision = None if person.decision is None else states[person.decision]
    given = Assignment(id_text(person.id), study.problem.arm_names[person.arm], decision, person.number, False, True)
    return WhyPerson(
        True, entry, given, person.slot, moment(person.issued), cohort,
        None if told is None else moment(told.told), _status(known, person, told), int(corrected),
    )  # fmt: skip


def _status(known: Known, person: Any, told: Any) -> str:
    done = schema.settled
    codes = known.connection.execute(
        select(done.c.counted).where(done.c.study == known.study.id, done.c.number == person.number)
    ).scalar()
    if codes is not None:
        return CardCode(codes[person.slot]).name.lower().replace("_", " ")
    if told is None:
        return "open"
    if told.digest == UNSERVED:
        return "unserved"
    return "told" if told.told <= person.issued + known.study.options.window else "late"


def why_arm(known: Known, arm: str) -> WhyArm:
    """What happened to one arm, and why."""
    if arm not in known.study.problem.arm_names:
        raise NotFound(f"There is no arm '{arm!s:.60}'. Arms: {', '.join(known.study.problem.arm_names[:12])}.")
    cohorts = cohorts_of(known.connection, known.study, known.now)
    findings = tuple(each for each in known.findings() if any(arm in example for example in each.examples))
    return WhyArm(
        known.arms()[known.study.problem.arm_index(arm)],
        {each.number: each.plan.get(arm, 0) for each in cohorts},
        findings,
    )
