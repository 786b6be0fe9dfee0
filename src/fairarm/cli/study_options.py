"""What the commands of ``fairarm study`` share: the database, the study, who acts and why."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairarm.cli.shared import print_json
from fairarm.errors import OptionError

if TYPE_CHECKING:
    from fairarm.studies import Studies, Study

Db = Annotated[
    str,
    typer.Option(
        "--db",
        envvar="FAIRARM_DB",
        help="The database: sqlite:///studies.db or postgresql://user:password@host/name.",
        show_envvar=True,
    ),
]
StudyName = Annotated[str, typer.Argument(metavar="STUDY", help="The name of the study.")]
Reason = Annotated[str, typer.Option(help="Why; it is kept with what happened.")]
Actor = Annotated[str | None, typer.Option(help="Who does it; the user of this computer if not given.")]
Now = Annotated[bool, typer.Option("--now", help="Cut the open cohort: costs evidence, and its outcomes do not count.")]
Pairs = Annotated[list[str] | None, typer.Argument(metavar="COLUMN=STATE...", help="What is told, by column.")]


@contextmanager
def opened(db: str) -> Iterator[Studies]:
    """The database, let go of at the end."""
    from fairarm.optional import require

    require("sqlalchemy", "studies")
    from fairarm.studies import Studies

    with Studies(db) as studies:
        yield studies


@contextmanager
def one_study(db: str, name: str) -> Iterator[Study]:
    """One study of it."""
    with opened(db) as studies:
        yield studies.open(name)


def actor_of(given: str | None) -> str:
    """Who acts."""
    if given is not None:
        return given
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in some containers
        return ""


def pairs_of(given: Sequence[str] | None, what: str) -> dict[str, Any]:
    """column=state, each once; a state that is a number stays text unless the column takes numbers."""
    found: dict[str, Any] = {}
    for each in given or ():
        column, equals, state = each.partition("=")
        if not equals or not column:
            raise OptionError(f"{what}: column=state, e.g. visit=came; got {each!r:.60}.")
        if column in found:
            raise OptionError(f"{what}: the column '{column}' is given twice. Give it once.")
        found[column] = state
    return found


def with_numbers(study: Study, row: dict[str, Any]) -> dict[str, Any]:
    """Columns that take numbers as numbers; what is none is left for the study to refuse."""
    return {name: _number(state) if _takes_numbers(study, name) else state for name, state in row.items()}


def _takes_numbers(study: Study, name: str) -> bool:
    variable = study.problem.variables.get(name)
    return variable is not None and variable.states is None


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def group_of(given: Sequence[str] | None) -> str | dict[str, Any] | None:
    """One group by its name, or a state of each of several attributes."""
    if not given:
        return None
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    return pairs_of(given, "--group")


def done(as_json: bool, document: Any, *lines: str) -> None:
    """The document, or lines for people."""
    if as_json:
        print_json(document)
        return
    from fairarm.cli.terminal import say

    for line in lines:
        say(line)


def shown(as_json: bool, document: Callable[[], Any], show: Callable[[], None]) -> None:
    """One of the two, made only if it is wanted."""
    if as_json:
        print_json(document())
    else:
        show()
