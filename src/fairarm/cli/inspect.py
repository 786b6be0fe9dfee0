"""``fairarm inspect``: is a problem well posed, and what does it ask for."""

from __future__ import annotations

from typing import Annotated

import typer

from fairarm.cli.algorithm_options import whole_number
from fairarm.cli.shared import AsJson, ProblemName, Report, Tolerance, check_report, load, put_out, write_report


def inspect(
    problem: ProblemName,
    tolerance: Tolerance = None,
    pulls: Annotated[str, typer.Option(help="Number of pulls for the budget, the plan and the bounds.")] = "10000",
    limit: Annotated[
        bool,
        typer.Option("--limit", help="Also the limit T*: the fewest pulls that any rule that stops when sure needs."),
    ] = False,
    report: Report = None,
    as_json: AsJson = False,
) -> None:
    """Check a problem, and what it asks for.

    Is it well posed; what must be observed; which arms inform which; the truth, where known.
    """
    from fairarm.cli import documents, show
    from fairarm.experiments.inspect import inspect as look

    check_report(report)
    scenario = load(problem, tolerance)
    found = look(scenario.problem, scenario.world, pulls=whole_number(pulls, "--pulls"), limit=limit)
    put_out(found, as_json, documents.inspection, show.inspection)
    write_report(found, report)
