"""``fairarm evaluate``: what a log already says of every arm."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fairarm.cli.shared import (
    AsJson,
    Engine,
    LogName,
    Margin,
    ProblemName,
    Report,
    RequireAnswer,
    Seed,
    Tolerance,
    check_answer,
    check_report,
    load,
    put_out,
    write_report,
)
from fairarm.errors import OptionError


def evaluate(
    problem: ProblemName,
    log: LogName,
    tolerance: Tolerance = None,
    engine: Engine = None,
    confidence: Annotated[float, typer.Option(help="Of the status, and of the intervals, usual and certified.")] = 0.95,
    margin: Margin = None,
    law: Annotated[
        str, typer.Option(help="P(S) and the law of what arms see: declared, or estimated from the log.")
    ] = "declared",
    row_ids: Annotated[
        bool, typer.Option("--row-ids/--no-row-ids", help="Look for duplicates by the log's row id.")
    ] = True,
    looks: Annotated[Path | None, typer.Option(help="A file that remembers the looks at a log that grows.")] = None,
    missing: Annotated[
        str, typer.Option(help="Missing outcomes: worst (whatever they were), or at-random, which you state.")
    ] = "worst",
    hidden_cause: Annotated[
        float | None,
        typer.Option(
            help="Bounds with a cause that nobody recorded, by which the odds of decisions are off at most so many times."
        ),
    ] = None,
    fit_propensity: Annotated[
        bool, typer.Option("--fit-propensity", help="Fit rules without a table by a model; always so with real inputs.")
    ] = False,
    compare: Annotated[bool, typer.Option("--compare", help="Show ordinary estimators beside ours.")] = False,
    seed: Seed = 0,
    report: Report = None,
    as_json: AsJson = False,
    require_answer: RequireAnswer = False,
) -> None:
    """What a log says of every arm.

    Its outcome, its gap, how sure that is, and whether the log can speak for the arm at all.
    """
    from fairarm.cli import documents, show
    from fairarm.cli.show_evaluation import evaluation
    from fairarm.experiments.evaluate import evaluate as find

    check_report(report)
    if law not in ("declared", "estimated"):
        raise OptionError(f"--law is declared or estimated; got '{law}'.")
    if missing not in ("worst", "at-random"):
        raise OptionError(f"--missing is worst or at-random; got '{missing}'.")
    scenario = load(problem, tolerance)
    if fit_propensity:
        scenario = replace(scenario, columns=replace(scenario.columns, fit_propensity=True))
    with show.passes("reading the log") as on_rows:
        found = find(
            scenario,
            log,
            engine=engine,
            confidence=confidence,
            margin=margin,
            law="estimated" if law == "estimated" else "declared",
            duplicates=row_ids,
            seed=seed,
            looks=looks,
            missing="at random" if missing == "at-random" else "worst",
            hidden_cause=hidden_cause,
            compare=compare,
            on_rows=on_rows,
        )
    put_out(found, as_json, documents.evaluation, evaluation)
    write_report(found, report)
    if require_answer:
        check_answer(found.status)
