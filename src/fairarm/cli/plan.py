"""``fairarm plan``: how many pulls, of what, at what cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def plan(
    problem: Annotated[
        str, typer.Argument(metavar="PROBLEM", help="A bundled name (see `fairarm problems`) or a problem file.")
    ],
    target_error: Annotated[float, typer.Option(help="How often the answer may be wrong.")] = 0.05,
    outcome_margin: Annotated[
        float | None,
        typer.Option(help="An arm this close to the best one counts as right; 2 % of the outcome's range if not given."),
    ] = None,
    gap_margin: Annotated[
        float | None, typer.Option(help="The same for the tolerance; 10 % of it if not given.")
    ] = None,
    prior_mean: Annotated[
        float, typer.Option(help="What outcome you expect, from 0 (its lowest) to 1 (its highest).")
    ] = 0.5,
    prior_strength: Annotated[
        float,
        typer.Option(help="How alike the outcome is in all cells: near 0 all or nothing, 2 anything, 20 and more alike."),
    ] = 2.0,
    truths: Annotated[int, typer.Option(min=1, max=1_000_000, help="Truths drawn a point.")] = 200,
    most_pulls: Annotated[int, typer.Option(min=32, max=10**9, help="Where to give up.")] = 50_000,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")] = 0,
    jobs: Annotated[
        int, typer.Option(min=1, max=1024, help="Worker processes; the result is the same for any number.")
    ] = 1,
    plot: Annotated[Path | None, typer.Option(help="Draw error against pulls to this .svg, .png or .pdf file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")] = False,
) -> None:  # fmt: skip
    """How many pulls will be needed, of which arms, at what cost; before anything is pulled."""
    from fairarm.catalog import load_problem
    from fairarm.cli import documents, show
    from fairarm.experiments import plan as find

    if plot is not None:
        from fairarm.reports.figures import check_figure_path

        check_figure_path(plot)
    scenario = load_problem(problem)
    with show.spinner("simulating the experiment"):
        found = find(
            scenario.problem,
            target_error=target_error,
            outcome_margin=outcome_margin,
            gap_margin=gap_margin,
            prior_mean=prior_mean,
            prior_strength=prior_strength,
            truths=truths,
            most_pulls=most_pulls,
            seed=seed,
            jobs=jobs,
        )
    if as_json:
        typer.echo(json.dumps(documents.experiment_plan(found), allow_nan=False, ensure_ascii=False, indent=2))
    else:
        show.experiment_plan(found)
    if plot is not None:
        from fairarm.reports.figures import plan_curves

        plan_curves(found, plot)
        typer.echo(f"saved {plot}", err=True)
