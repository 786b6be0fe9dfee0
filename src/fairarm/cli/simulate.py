"""``fairarm simulate``: how often each algorithm is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fairarm.cli import live_options
from fairarm.cli.algorithm_options import Confidence, Options, Stop, algorithm_options, asks_for_proof, pull_counts
from fairarm.cli.live_options import (
    Arrivals,
    CohortLength,
    Delay,
    LossRate,
    Lost,
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
    Report,
    Seed,
    Tolerance,
    check_plot,
    check_report,
    load,
    put_out,
    save_plot,
    start_from,
    write_report,
)

MOST_RUNS = 10_000_000
USUAL = "pool,csr-v2,two-stage-v2"
"""The algorithms that are run if none is named."""
PULLS = "1000,3000,10000"


def simulate(
    problem: ProblemName,
    algorithms: Annotated[
        str | None,
        typer.Option(
            help=f"Names, separated by commas (see `fairarm algorithms`); {USUAL} if not given, pool alone where the paper's do not apply.",
            show_default=False,
        ),
    ] = None,
    tolerance: Tolerance = None,
    pulls: Annotated[
        str | None,
        typer.Option(
            help=f"Numbers of pulls, separated by commas; {PULLS} if not given. Live: the most people of a study, {live_options.PULLS}."
        ),
    ] = None,
    runs: Annotated[
        int, typer.Option(min=1, max=MOST_RUNS, help="Runs per point: per algorithm and number of pulls.")
    ] = 200,
    seed: Seed = 0,
    jobs: Jobs = 1,
    confidence: Confidence = None,
    stop: Stop = None,
    limit: Annotated[
        bool, typer.Option("--limit", help="Show the pulls used beside the fewest that any rule as sure needs.")
    ] = False,
    option: Options = None,
    log: Log = None,
    engine: Engine = None,
    live: Annotated[
        bool, typer.Option("--live", help="Live studies of pool: people arrive, outcomes come later or never.")
    ] = False,
    people: People = None,
    arrivals: Arrivals = None,
    window: Window = None,
    cohort: CohortLength = None,
    delay: Delay = None,
    loss_rate: LossRate = None,
    lost: Lost = None,
    plot: Plot = None,
    report: Report = None,
    as_json: AsJson = False,
) -> None:
    """How often each algorithm is wrong.

    Many runs in the problem's world, for each algorithm and number of pulls. With --live: days, people and errors of live
    studies, in which cohorts do not wait for each other.
    """
    timing = {"people": people, "arrivals": arrivals, "window": window, "cohort": cohort, "delay": delay, "loss_rate": loss_rate, "lost": lost}  # fmt: skip
    if live:
        refuse_run(live_options.LIVE, stop=stop, log=log, engine=engine, report=report, limit=limit or None, option=option)  # fmt: skip
        shared = {"runs": runs, "seed": seed, "jobs": jobs, "confidence": confidence, "pulls": pulls}
        _live(problem, tolerance, timing, shared, plot, as_json)
        return
    refuse_live(live_options.LIVE, **timing)
    from fairarm.cli import documents, show
    from fairarm.experiments.simulate import simulate as repeat
    from fairarm.reports.figures import error_curves

    check_plot(plot)
    check_report(report)
    scenario = load(problem, tolerance)
    wanted = algorithms or (USUAL if scenario.problem.plain else "pool")
    names = list(dict.fromkeys(name.strip() for name in wanted.split(",")))
    options = algorithm_options(option, names, confidence=confidence, stop=stop)
    known, rows = start_from(scenario, log, engine, asks_for_proof(options))
    counts = list(dict.fromkeys(pull_counts(pulls or PULLS)))
    with show.progress(len(names) * len(counts) * runs, "runs") as advance:
        found = repeat(
            known,
            scenario.world,
            algorithms=names,
            pulls=counts,
            runs=runs,
            seed=seed,
            jobs=jobs,
            limit=limit,
            log=rows,
            on_done=advance,
            **options,
        )
    put_out(found, as_json, documents.simulation, show.simulation)
    save_plot(error_curves, found, plot)
    write_report(found, report)


def _live(
    problem: str,
    tolerance: float | None,
    timing: dict[str, Any],
    asked: dict[str, Any],
    plot: Path | None,
    as_json: bool,
) -> None:
    """The simulation of live studies."""
    from fairarm.cli import documents, show, show_live
    from fairarm.experiments.identify import require_world
    from fairarm.experiments.live import simulate_live
    from fairarm.reports.figures import live_days

    check_plot(plot)
    scenario = load(problem, tolerance)
    chosen = {key: timing[key] for key in ("people", "arrivals", "window")}
    counts = people_of(needed(**chosen)["people"]) or []
    most = live_options.most_people(asked["pulls"])
    confidence = live_options.CONFIDENCE if asked["confidence"] is None else asked["confidence"]
    with show.progress(len(counts) * asked["runs"], "studies") as advance:
        found = simulate_live(
            scenario.problem,
            require_world(scenario.problem, scenario.world),
            **{**given(**timing), "people": counts},
            pulls=most,
            confidence=confidence,
            studies=asked["runs"],
            waiting=True,
            seed=asked["seed"],
            jobs=asked["jobs"],
            on_done=advance,
        )
    put_out(found, as_json, documents.live_simulation, show_live.live_simulation)
    save_plot(live_days, found, plot)
