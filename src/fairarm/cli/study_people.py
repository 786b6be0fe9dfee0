"""``fairarm study`` about people: assign, tell, correct, forget, and why."""

from __future__ import annotations

from typing import Annotated

import typer

from fairarm.cli.shared import AsJson
from fairarm.cli.study_options import (
    Actor,
    Db,
    Pairs,
    Reason,
    StudyName,
    actor_of,
    done,
    group_of,
    one_study,
    pairs_of,
    shown,
    with_numbers,
)
from fairarm.errors import OptionError

Unit = Annotated[str, typer.Argument(metavar="UNIT", help="Your name of the person.")]
Id = Annotated[str, typer.Argument(metavar="ASSIGNMENT", help="As `assign` gave it.")]


def assign(
    db: Db,
    name: StudyName,
    unit: Unit,
    group: Annotated[
        list[str] | None, typer.Option(help="The person's group; of several attributes, race=b --group sex=f.")
    ] = None,
    known: Annotated[
        list[str] | None, typer.Option(help="An input that is known now, travel=long; repeat it for more.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What a person gets.

    The same answer however often it is asked.
    """
    with one_study(db, name) as found:
        from fairarm.cli import study_documents
        from fairarm.reports.words.study_answers import assignment_text

        inputs = with_numbers(found, pairs_of(known, "--known")) if known else None
        made = found.assign(unit, group_of(group), inputs)
    done(as_json, study_documents.plain(made), assignment_text(made))


def tell(db: Db, name: StudyName, assignment: Id, columns: Pairs = None, as_json: AsJson = False) -> None:
    """The outcome of an assignment.

    The columns that were not known when it was made.
    """

    row = pairs_of(columns, "What is told")
    if not row:
        raise OptionError("Nothing is told. Give the columns that were not known yet, e.g. visit=came.")
    with one_study(db, name) as found:
        from fairarm.cli import study_documents

        told = found.tell(assignment, with_numbers(found, row))
    done(as_json, study_documents.plain(told), f"{told.status}.")


def unserved(db: Db, name: StudyName, assignment: Id, as_json: AsJson = False) -> None:
    """A person never got what was assigned.

    Counts as lost.
    """
    with one_study(db, name) as found:
        from fairarm.cli import study_documents

        told = found.unserved(assignment)
    done(as_json, study_documents.plain(told), f"{told.status}.")


def correct(
    db: Db,
    name: StudyName,
    assignment: Id,
    reason: Reason,
    columns: Pairs = None,
    actor: Actor = None,
    as_json: AsJson = False,
) -> None:
    """Another outcome than was told.

    It counts until the window is over or the cohort is settled; later it is only shown.
    """
    row = pairs_of(columns, "What is told")
    if not row:
        raise OptionError("Nothing is corrected. Give the columns as they should be, e.g. visit=came.")
    with one_study(db, name) as found:
        counts = found.correct(assignment, with_numbers(found, row), reason, actor_of(actor))
    text = "Corrected." if counts else "Noted: too late to count."
    done(as_json, {"assignment": assignment, "counts": counts}, text)


def forget(db: Db, name: StudyName, unit: Unit, actor: Actor = None, as_json: AsJson = False) -> None:
    """Erase a person.

    Their name, group, inputs, decision, outcome and corrections. What was settled stays counted.
    """
    with one_study(db, name) as found:
        there = found.forget(unit, actor_of(actor))
    text = "Erased." if there else "No such person is in the study: nothing to erase."
    done(as_json, {"erased": there}, text)


def why(
    db: Db,
    name: StudyName,
    unit: Annotated[str | None, typer.Option(help="Of this person.")] = None,
    arm: Annotated[str | None, typer.Option(help="Of this arm.")] = None,
    as_json: AsJson = False,
) -> None:
    """What happened to a person or arm."""
    if (unit is None) == (arm is None):
        raise OptionError("Say of whom: --unit UNIT for a person, or --arm ARM for an arm; one of them.")

    with one_study(db, name) as study:
        from fairarm.cli import study_documents

        found = study.why(unit=unit, arm=arm)

        def show() -> None:
            from fairarm.cli import show_study

            show_study.why(study, found)

        shown(as_json, lambda: study_documents.plain(found), show)
