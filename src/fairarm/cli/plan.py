"""``fairarm plan``: how many pulls, of what, at what cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fairarm.cli import live_options
from fairarm.cli.live_options import (
    Arrivals,
    CohortLength,
    Delay,
    LossRate,
    People,
    Window,
    given,
    needed,
    people_of,
    refuse_live,
    refuse_run,
)
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

TRUTHS = 200


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
    sd: Annotated[
        float | None,
        typer.Option(help="Of a real outcome without a log: its standard deviation among people alike in every input."),
    ] = None,
    truths: Annotated[
        int | None,
        typer.Option(min=1, max=1_000_000, help=f"Truths drawn per point of the curve; {TRUTHS} if not given, {live_options.TRUTHS} of live studies."),
    ] = None,
    most_pulls: Annotated[int, typer.Option(min=32, max=10**9, help="Where to give up.")] = 50_000,
    log: Log = None,
    engine: Engine = None,
    window: Window = None,
    arrivals: Arrivals = None,
    people: People = None,
    cohort: CohortLength = None,
    delay: Delay = None,
    loss_rate: LossRate = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """How many pulls are needed, of which arms.

    And at what cost, before anything is pulled. With --window and --arrivals: days against people of a live study.
    """
    timing = {"window": window, "arrivals": arrivals, "people": people_of(people), "cohort": cohort, "delay": delay, "loss_rate": loss_rate}  # fmt: skip
    if window is not None or arrivals is not None:
        refuse_run(
            live_options.TIMED, log=log, engine=engine, outcome_margin=outcome_margin, gap_margin=gap_margin, sd=sd
        )
        prior = {"prior_mean": prior_mean, "prior_strength": prior_strength}
        _live(
            problem,
            tolerance,
            timing,
            {"truths": truths, "seed": seed, "jobs": jobs, "most": most_pulls, "error": target_error, **prior},
            plot,
            as_json,
        )
        return
    refuse_live(live_options.TIMED, **timing)
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
            sd=sd,
            truths=truths or TRUTHS,
            most_pulls=most_pulls,
            log=rows,
            seed=seed,
            jobs=jobs,
        )
    put_out(found, as_json, documents.experiment_plan, show.experiment_plan)
    save_plot(plan_curves, found, plot)


def _live(
    problem: str,
    tolerance: float | None,
    timing: dict[str, Any],
    asked: dict[str, Any],
    plot: Path | None,
    as_json: bool,
) -> None:
    """Days against people of live studies."""
    from fairarm.cli import documents, show, show_live
    from fairarm.experiments.live import plan_live
    from fairarm.reports.figures import live_days

    check_plot(plot)
    needed(window=timing["window"], arrivals=timing["arrivals"])
    known = load(problem, tolerance).problem
    prior = given(prior_mean=asked["prior_mean"], prior_strength=asked["prior_strength"])
    with show.spinner("simulating live studies"):
        found = plan_live(
            known,
            **given(**timing),
            **prior,
            truths=asked["truths"] or live_options.TRUTHS,
            pulls=asked["most"],
            confidence=1 - asked["error"],
            seed=asked["seed"],
            jobs=asked["jobs"],
        )
    put_out(found, as_json, documents.live_plan, show_live.live_plan)
    save_plot(live_days, found.simulation, plot)
