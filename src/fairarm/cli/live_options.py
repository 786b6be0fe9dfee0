"""The options of live studies, shared by ``simulate --live`` and ``plan --window``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fairarm.cli.algorithm_options import whole_number
from fairarm.errors import OptionError

PULLS, CONFIDENCE, TRUTHS = 20_000, 0.95, 50
"""Of a live study, where not given."""

LIVE, TIMED = "--live", "--window and --arrivals"
"""What makes a simulation, and a plan, one of live studies."""

People = Annotated[
    str | None, typer.Option(help="Live: people to enter a cohort; several, separated by commas, to compare.")
]
Arrivals = Annotated[float | None, typer.Option(help="Live: people who arrive in a day.")]
Window = Annotated[str | None, typer.Option(help="Live: how long an outcome counts, e.g. 12h or 7d.")]
CohortLength = Annotated[
    str | None, typer.Option("--cohort", help="Live: how long people are assigned together, 1d if not given.")
]
LossRate = Annotated[float | None, typer.Option(help="Live: the part of outcomes that never comes.")]
Delay = Annotated[
    str | None, typer.Option(help="Live: how long an outcome takes on average; a third of the window if not given.")
]
Lost = Annotated[
    str | None,
    typer.Option(
        help="Live: what a lost outcome counts as: worst (if not given), 'at random', or the state that not told means."
    ),
]


def people_of(text: str | None) -> list[int] | None:
    """Whole numbers, separated by commas."""
    return None if text is None else list(dict.fromkeys(whole_number(part, "--people") for part in text.split(",")))


def given(**options: Any) -> dict[str, Any]:
    """Those that were given."""
    return {name: value for name, value in options.items() if value is not None}


def needed(**options: Any) -> dict[str, Any]:
    """An error where one of them is missing."""
    for name, value in options.items():
        if value is None:
            raise OptionError(f"A live study needs --{name}. E.g. --people 500 --arrivals 2000 --window 7d.")
    return options


def refuse_live(way: str, **options: Any) -> None:
    """An error where options of live studies are given without what makes them one, ``way``."""
    for name, value in options.items():
        if value is not None:
            raise OptionError(f"--{name.replace('_', '-')} is about live studies. Add {way}, or leave it out.")


def refuse_run(way: str, **options: Any) -> None:
    """An error where options are given that live studies do not have."""
    for name, value in options.items():
        if value is not None:
            raise OptionError(
                f"--{name.replace('_', '-')} does not go with live studies. Leave it out, or leave out {way}."
            )


def most_people(pulls: str | None) -> int:
    """The most people of one study."""
    return PULLS if pulls is None else whole_number(pulls, "--pulls")
