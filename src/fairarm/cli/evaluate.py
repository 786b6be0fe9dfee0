"""``fairarm evaluate``: what a log already says of every arm. ``fairarm init``: a problem file drafted from a log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairarm.cli.shared import (
    AsJson,
    Engine,
    MinFair,
    ProblemName,
    Report,
    Seed,
    Tolerance,
    check_report,
    load,
    print_json,
    put_out,
    write_report,
)
from fairarm.errors import OptionError
from fairarm.files import write_whole

LogName = Annotated[
    str,
    typer.Argument(
        metavar="LOG",
        help="Parquet, CSV or JSON lines (a path or a quoted glob), or sqlite:///file.db?table=t, postgresql://…?table=t.",
    ),
]


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
    seed: Seed = 0,
    report: Report = None,
    as_json: AsJson = False,
) -> None:
    """What the log says of every arm: outcome, gap, how sure, and whether it can speak for the arm at all."""
    from fairarm.cli import documents, show
    from fairarm.cli.show_evaluation import evaluation
    from fairarm.experiments import evaluate as find

    check_report(report)
    if law not in ("declared", "estimated"):
        raise OptionError(f"--law is declared or estimated; got '{law}'.")
    scenario = load(problem, tolerance)
    with show.spinner("reading the log"):
        found = find(
            scenario.problem,
            log,
            engine=engine,
            confidence=confidence,
            law="estimated" if law == "estimated" else "declared",
            min_fair_probability=0.8 if min_fair_probability is None else min_fair_probability,
            duplicates=row_ids,
            seed=seed,
        )
    put_out(found, as_json, documents.evaluation, evaluation)
    write_report(found, report)


def init(
    log: LogName,
    out: Annotated[Path, typer.Option(help="Where to write the draft.")] = Path("problem.toml"),
    engine: Engine = None,
    sensitive: Annotated[
        str | None, typer.Option(help="The column of the sensitive attribute, if you know it.")
    ] = None,
    decision: Annotated[str | None, typer.Option(help="The column of the decision.")] = None,
    outcome: Annotated[str | None, typer.Option(help="The column of the outcome.")] = None,
    as_json: AsJson = False,
) -> None:
    """Draft a problem file from a log's columns; what it guessed is marked to be confirmed."""
    from fairarm.logs.draft import draft_problem
    from fairarm.logs.sources import open_log

    if out.exists():
        raise OptionError(f"{out} exists. Choose another name with --out; nothing was written.")
    draft = draft_problem(open_log(log, engine=engine), sensitive=sensitive, decision=decision, outcome=outcome)
    write_whole(out, draft.text, "draft")
    if as_json:
        print_json({"saved": str(out), "to_confirm": list(draft.to_confirm)})
        return
    typer.echo(f"saved {out}")
    for item in draft.to_confirm:
        typer.echo(f"  to confirm: {item}")
