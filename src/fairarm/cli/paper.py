"""``fairarm paper``: every experiment of the paper, resumably, and all that is made of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from fairarm.cli.shared import Jobs, Seed
from fairarm.errors import OptionError
from fairarm.optional import require

if TYPE_CHECKING:
    from fairarm.experiments.paper.run import Backend
    from fairarm.reports.paper.judging import ClaimSection

BACKENDS = ("loky", "dask")


def paper(
    quick: Annotated[bool, typer.Option("--quick", help="Few runs of few instances: a look in about a minute.")] = False,
    jobs: Jobs = 1,
    backend: Annotated[str, typer.Option(help="Where the workers run: loky or dask.")] = "loky",
    out: Annotated[Path, typer.Option(help="Folder for everything; finished points are kept in it.")] = Path("out/paper"),
    seed: Seed = 0,
) -> None:  # fmt: skip
    """Run every experiment of the paper.

    Writes results, figures, claims and a report. Start it again to go on where it stopped.
    """
    if backend not in BACKENDS:
        raise OptionError(f"The backend is one of {', '.join(BACKENDS)}; got '{backend}'.")
    require("matplotlib", "plots")
    if backend == "dask":
        require("distributed", "dask")
    from fairarm.cli import show
    from fairarm.experiments.paper import paper_plan, run_paper
    from fairarm.reports.paper import write_report

    points = paper_plan(quick)
    try:
        with show.progress(len(points), "points") as advance:
            evidence = run_paper(
                points,
                out / "points",
                seed=seed,
                jobs=jobs,
                backend=cast("Backend", backend),
                on_done=lambda: advance(1),
            )
        sections = write_report(evidence, out, seed=seed, quick=quick)
    except OSError as error:
        raise OptionError(f"{error.filename or out} cannot be written: {error.strerror}.") from None
    _tell(sections, out, quick)


def _tell(sections: list[ClaimSection], out: Path, quick: bool) -> None:
    from fairarm.cli.terminal import say
    from fairarm.reports.paper.page import tally

    for word, number in tally(sections).items():
        say(f"{number:3d} {word}{' (quick runs are too few to judge)' if quick else ''}", hang=4)
    say(f"saved {out / 'report.html'}, {out / 'claims.md'}, {out / 'results.csv'}")
