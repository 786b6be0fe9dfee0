"""``fairarm simulate``: how often each algorithm is wrong."""

from __future__ import annotations

from typing import Annotated

import typer

from fairarm.cli.algorithm_options import Confidence, Options, Stop, algorithm_options, asks_for_proof, pull_counts
from fairarm.cli.shared import (
    AsJson,
    Engine,
    Jobs,
    Log,
    MinFair,
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
    pulls: Annotated[str, typer.Option(help="Numbers of pulls, separated by commas.")] = "1000,3000,10000",
    runs: Annotated[
        int, typer.Option(min=1, max=MOST_RUNS, help="Runs per point: per algorithm and number of pulls.")
    ] = 200,
    seed: Seed = 0,
    jobs: Jobs = 1,
    confidence: Confidence = None,
    stop: Stop = None,
    min_fair_probability: MinFair = None,
    limit: Annotated[
        bool, typer.Option("--limit", help="Show the pulls used beside the fewest that any rule as sure needs.")
    ] = False,
    option: Options = None,
    log: Log = None,
    engine: Engine = None,
    plot: Plot = None,
    report: Report = None,
    as_json: AsJson = False,
) -> None:
    """How often each algorithm is wrong.

    Many runs in the problem's world, for each algorithm and number of pulls.
    """
    from fairarm.cli import documents, show
    from fairarm.experiments.simulate import simulate as repeat
    from fairarm.reports.figures import error_curves

    check_plot(plot)
    check_report(report)
    scenario = load(problem, tolerance)
    wanted = algorithms or (USUAL if scenario.problem.plain else "pool")
    names = list(dict.fromkeys(name.strip() for name in wanted.split(",")))
    options = algorithm_options(
        option, names, confidence=confidence, stop=stop, min_fair_probability=min_fair_probability
    )
    known, rows = start_from(scenario, log, engine, asks_for_proof(options))
    counts = list(dict.fromkeys(pull_counts(pulls)))
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
