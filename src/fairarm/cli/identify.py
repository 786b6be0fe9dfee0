"""``fairarm identify``: find the best fair arm in a problem's world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fairarm.cli.algorithm_options import Confidence, Options, Stop, algorithm_options, asks_for_proof, whole_number
from fairarm.cli.shared import (
    AsJson,
    Engine,
    Log,
    Margin,
    ProblemName,
    Report,
    RequireAnswer,
    Seed,
    Tolerance,
    check_answer,
    check_report,
    load,
    print_json,
    start_from,
    write_report,
)

if TYPE_CHECKING:
    from fairarm.cli.show import Storyteller
    from fairarm.problem.problem import Problem


def identify(
    problem: ProblemName,
    algorithm: Annotated[
        str,
        typer.Option(
            help="pool; csr-v1, csr-v2, two-stage-v1, two-stage-v2, sris-v1, sris-v2, uniform and others (see `fairarm algorithms`)."
        ),
    ] = "pool",
    tolerance: Tolerance = None,
    pulls: Annotated[
        str, typer.Option(help="Number of pulls; with --confidence, the most that may be made.")
    ] = "10000",
    confidence: Confidence = None,
    stop: Stop = None,
    margin: Margin = None,
    log: Log = None,
    engine: Engine = None,
    seed: Seed = 0,
    option: Options = None,
    report: Report = None,
    as_json: AsJson = False,
    require_answer: RequireAnswer = False,
) -> None:
    """Find the best fair arm, phase by phase.

    The arms are pulled in the problem's own world, which is simulated.
    """
    from fairarm.experiments.identify import identify as find

    check_report(report)
    scenario = load(problem, tolerance)
    options = algorithm_options(option, [algorithm], confidence=confidence, stop=stop)
    known, rows = start_from(scenario, log, engine, asks_for_proof(options))
    teller = None if as_json else _storyteller(known)
    found = find(
        known,
        scenario.world,
        algorithm=algorithm,
        pulls=whole_number(pulls, "--pulls"),
        seed=seed,
        log=rows,
        margin=margin or 0.0,
        on_phase=teller.phase if teller else None,
        **options,
    )
    if teller is None:
        from fairarm.cli.documents import identification

        print_json(identification(found))
    else:
        teller.end(found)
    write_report(found, report)
    if require_answer:
        check_answer(found.verdict.status)


def _storyteller(known: Problem) -> Storyteller:
    from fairarm.cli.show import Storyteller

    return Storyteller(known)
