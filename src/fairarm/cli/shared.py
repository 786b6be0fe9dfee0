"""What the commands share: options with their help, the problem by name, JSON, figures and reports."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from fairarm.errors import OptionError, printable

if TYPE_CHECKING:
    from fairarm.catalog import Scenario
    from fairarm.experiments.start_from_log import LoggedPulls
    from fairarm.problem.problem import Problem

T = TypeVar("T")

ProblemName = Annotated[
    str, typer.Argument(metavar="PROBLEM", help="A bundled name (see `fairarm problems`) or a problem file.")
]
Tolerance = Annotated[
    float | None,
    typer.Option(help="The largest gap that counts as fair, in the outcome's units; the problem's own if not given."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]
Seed = Annotated[int, typer.Option(min=0, max=2**64 - 1, help="The same seed gives the same result.")]
Jobs = Annotated[int, typer.Option(min=1, max=1024, help="Worker processes; the result is the same for any number.")]
Margin = Annotated[
    float | None,
    typer.Option(
        help="Another fair arm may be better than the one found by this, in the outcome's units; 0: the exact best."
    ),
]
RequireAnswer = Annotated[bool, typer.Option("--require-answer", help="Exit with code 3 if the status is UNDECIDED.")]
UNDECIDED = 3
"""The exit code of ``--require-answer`` where there is no answer."""
Plot = Annotated[Path | None, typer.Option(help="Draw error against pulls to this .svg, .png or .pdf file.")]
Log = Annotated[str | None, typer.Option(help="A log (see `fairarm evaluate`): its rows count as pulls already made.")]
LogName = Annotated[
    str,
    typer.Argument(
        metavar="LOG",
        help="Parquet, CSV or JSON lines (a path or a quoted glob), or sqlite:///file.db?table=t, postgresql://…?table=t.",
    ),
]
Engine = Annotated[
    str | None, typer.Option(help="Of the log: duckdb (the default), dask, or dask://host:port for a cluster.")
]
Report = Annotated[Path | None, typer.Option(help="Write the result as one offline page to this .html file.")]


def load(name: str, tolerance: float | None = None) -> Scenario:
    """A bundled problem or a problem file, with another tolerance where one is given."""
    from fairarm.catalog import load_problem

    if not name:
        raise OptionError("The name of the problem is empty. `fairarm problems` lists the bundled ones.")

    return load_problem(name, tolerance=tolerance)


def start_from(
    scenario: Scenario, log: str | None, engine: str | None, certified: bool = False
) -> tuple[Problem, LoggedPulls | None]:
    """The problem, with mechanisms fitted where they had to be, and a log as it was read; what is wrong with it is said.

    An answer that is to be certified cannot rest on a log with a finding that blocks certification.
    """
    if log is None:
        if engine is not None:
            raise OptionError("--engine says how to read a log; give one with --log.")
        return scenario.problem, None
    from fairarm.experiments.start_from_log import read_log, refuse_voided

    found = read_log(scenario, log, engine=engine)
    for finding in found.findings:
        note(f"{finding.name}: {finding.message}")
    for fitted in found.fitted:
        note(fitted.text)
    if certified:
        refuse_voided(found, "--stop bayes-stop")
    return found.problem, found


def print_json(document: Any) -> None:
    """One document. What is not printed stands in it as JSON's own escape: the same text, harmless on a terminal."""
    text = json.dumps(document, allow_nan=False, ensure_ascii=False, indent=2)
    typer.echo("".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text))


def note(text: str) -> None:
    """A line beside the result, on standard error."""
    typer.echo(printable(text), err=True)


def put_out(found: T, as_json: bool, document: Callable[[T], Any], table: Callable[[T], None]) -> None:
    """A result as one JSON document or as tables."""
    if as_json:
        print_json(document(found))
    else:
        table(found)


def check_answer(status: str) -> None:
    """The exit code of ``--require-answer``, after the output."""
    if status == "UNDECIDED":
        raise typer.Exit(UNDECIDED)


def check_plot(path: Path | None) -> None:
    """Before the work: a figure can be written there."""
    if path is not None:
        from fairarm.reports.figures import check_figure_path

        check_figure_path(path)


def save_plot(draw: Callable[[T, Path], None], found: T, path: Path | None) -> None:
    """Draw to the file that ``--plot`` names, if any, and say so on the error stream."""
    if path is not None:
        draw(found, path)
        note(f"saved {path}")


def check_report(path: Path | None) -> None:
    """Before the work: a report can be written there."""
    if path is not None:
        from fairarm.reports.page import check_report_path

        check_report_path(path)


def write_report(found: Any, path: Path | None) -> None:
    """Write the page that ``--report`` names, if any, and say so on the error stream."""
    if path is not None:
        from fairarm.reports.page import report

        report(found, path)
        note(f"saved {path}")
