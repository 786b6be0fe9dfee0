"""``fairarm plan``: how many pulls, of what, at what cost."""

from __future__ import annotations

from typing import Annotated

import typer

from fairarm.cli.shared import (
    AsJson,
    Engine,
    Jobs,
    Log,
    Plot,
    ProblemName,
    Seed,
    Tolerance,
    check_plot,
    load,
    put_out,
    save_plot,
    start_from,
)


def plan(
    problem: ProblemName,
    tolerance: Tolerance = None,
    target_error: Annotated[float, typer.Option(help="How often the answer may be wrong.")] = 0.05,
    outcome_margin: Annotated[
        float | None,
        typer.Option(help="An arm this close to the best one counts as right; if not given, a fifth of what the best arm has over the average one, at most 2 % of the outcome's range."),
    ] = None,
    gap_margin: Annotated[
        float | None, typer.Option(help="The same for the tolerance; if not given, 10 % of it, at most 10 % of the distance between the arms' gaps.")
    ] = None,
    prior_mean: Annotated[
        float | None,
        typer.Option(help="What outcome you expect, from 0 (its lowest) to 1 (its highest); 0.5 if not given."),
    ] = None,
    prior_strength: Annotated[
        float | None,
        typer.Option(help="How alike the outcome is in all cells: near 0 all or nothing, 2 (if not given) anything, 20 and more alike."),
    ] = None,
    truths: Annotated[int, typer.Option(min=1, max=1_000_000, help="Truths drawn per point of the curve.")] = 200,
    most_pulls: Annotated[int, typer.Option(min=32, max=10**9, help="Where to give up.")] = 50_000,
    log: Log = None,
    engine: Engine = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """How many pulls are needed, of which arms.

    And at what cost, before anything is pulled.
    """
    from fairarm.cli import documents, show
    from fairarm.experiments.plan import plan as find
    from fairarm.reports.figures import plan_curves

    check_plot(plot)
    known, rows = start_from(load(problem, tolerance), log, engine)
    with show.spinner("simulating the experiment"):
        found = find(
            known,
            target_error=target_error,
            outcome_margin=outcome_margin,
            gap_margin=gap_margin,
            prior_mean=prior_mean,
            prior_strength=prior_strength,
            truths=truths,
            most_pulls=most_pulls,
            log=rows,
            seed=seed,
            jobs=jobs,
        )
    put_out(found, as_json, documents.experiment_plan, show.experiment_plan)
    save_plot(plan_curves, found, plot)
