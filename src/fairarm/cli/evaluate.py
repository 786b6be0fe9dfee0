"""``fairarm evaluate``: what a log already says of every arm."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairarm.cli.shared import (
    AsJson,
    Engine,
    LogName,
    MinFair,
    ProblemName,
    Report,
    Seed,
    Tolerance,
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
    confidence: Annotated[float, typer.Option(help="Of the intervals, usual and certified.")] = 0.95,
    law: Annotated[
        str, typer.Option(help="P(S) and the law of what arms see: declared, or estimated from the log.")
    ] = "declared",
    min_fair_probability: MinFair = None,
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
    compare: Annotated[bool, typer.Option("--compare", help="Show ordinary estimators beside ours.")] = False,
    seed: Seed = 0,
    report: Report = None,
    as_json: AsJson = False,
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
    with show.passes("reading the log") as on_rows:
        found = find(
            scenario,
            log,
            engine=engine,
            confidence=confidence,
            law="estimated" if law == "estimated" else "declared",
            min_fair_probability=0.8 if min_fair_probability is None else min_fair_probability,
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
