"""Commands and their options. Heavy imports live inside commands, so that ``--help`` is instant."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from fairarm.cli.evaluate import evaluate
from fairarm.cli.init import init
from fairarm.cli.paper import paper
from fairarm.cli.plan import plan
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
    note,
    print_json,
    put_out,
    save_plot,
    start_from,
    write_report,
)
from fairarm.errors import FairarmError, OptionError, one_line, printable

app = typer.Typer(
    help="Find the candidate decision rule with the best outcome among the fair ones.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-o",
        metavar="KEY=VALUE",
        help="An option of the algorithm, e.g. law=estimated for pool, clip_base=e for csr (docs/algorithms.md).",
    ),
]

Confidence = Annotated[
    float | None, typer.Option(help="pool: stop when this sure, e.g. 0.95; without it all pulls are used.")
]
Stop = Annotated[
    str | None,
    typer.Option(help="pool with --confidence: certified (proved; the default) or bayes-stop (by the posterior)."),
]

MOST_RUNS = 10_000_000
INTERRUPTED = 130

UsageError: Any = typer.BadParameter.__bases__[0]
"""What typer raises for a wrong command line; it carries its own copy of the class."""


def run() -> int:
    """The exit code: 0, or 2 after one line about what the user can put right, or what the system refused."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Unicode shows ? instead of failing
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of a pipe has gone: nothing is wrong
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except UsageError as error:
        command = error.ctx.command_path if error.ctx else "fairarm"
        return _refused(f"{error.format_message().rstrip('.')}. See `{command} --help`.")
    except FairarmError as error:
        return _refused(str(error))
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _refused(f"{error.filename or 'The output'} cannot be written or read: {error.strerror}.")
    except typer.Abort:
        raise KeyboardInterrupt from None
    if code == INTERRUPTED:  # typer has caught the signal
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


def _refused(message: str) -> int:
    note(f"fairarm: {one_line(' '.join(message.split()))}")
    return 2


def _options(given: list[str] | None, algorithms: list[str], **named: Any) -> dict[str, Any]:
    """The options of --option, each of which some of the algorithms must have, and of the flags that were given."""
    from fairarm.algorithms import options_of

    known = dict.fromkeys(key for name in algorithms for key in options_of(name))
    found: dict[str, Any] = {key: value for key, value in named.items() if value is not None}
    for item in given or []:
        key, equals, value = item.partition("=")
        if not equals:
            raise OptionError(f"An option is KEY=VALUE; got '{item}'.")
        key = key.replace("-", "_")
        if key not in known:
            has = f"'{algorithms[0]}' has no" if len(algorithms) == 1 else f"None of {', '.join(algorithms)} has an"
            raise OptionError(f"{has} option '{key}'. Options: {', '.join(known) or 'none'}.")
        found[key] = value
    return found


def _certified(options: dict[str, Any]) -> bool:
    """Whether an answer is to be proved, however that was asked for."""
    return "confidence" in options and options.get("stop") != "bayes-stop"


def _pull_counts(text: str) -> list[int]:
    return [_whole(part, "--pulls") for part in text.split(",")]


def _whole(text: str, what: str) -> int:
    """A whole number, also written 1e6."""
    try:
        value = float(text if text.isascii() else "")
    except ValueError:
        value = -1.0
    if not (1 <= value <= 1e15) or value != int(value):
        raise OptionError(f"{what} must be whole numbers from 1 to 1e15; got '{text.strip()}'.")
    return int(value)


@app.callback(invoke_without_command=True)
def _version(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if context.invoked_subcommand is None and not version:
        typer.echo(context.get_help())
        raise typer.Exit
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"fairarm {installed('fairarm')}")
        raise typer.Exit


def problems(
    save: Annotated[
        str | None, typer.Option(metavar="PROBLEM", help="Write this bundled problem as a file to start from.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where to save; the problem's name with .toml if not given.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the bundled problems, or save one."""
    from fairarm.catalog import bundled_problems

    if out is not None and save is None:
        raise OptionError("--out says where to save; name the problem with --save.")
    if save is not None:
        path = _saved(save, out)
        if as_json:
            print_json({"saved": str(path)})
        else:
            typer.echo(printable(f"saved {path}"))
    elif as_json:
        print_json({"problems": [{"name": name, "description": text} for name, text in bundled_problems().items()]})
    else:
        from fairarm.cli import show

        show.problems(bundled_problems())


def _saved(name: str, out: Path | None) -> Path:
    from fairarm.readers.problem_writer import write_problem
    from fairarm.worlds.network import NetworkWorld

    scenario = load(name)
    path = out or Path(f"{Path(name.replace(':', '-').replace(',', '-')).name.removesuffix('.toml')}.toml")
    if path.exists():
        raise OptionError(f"{path} exists. Choose another name with --out; nothing was written.")
    network = scenario.world.network if isinstance(scenario.world, NetworkWorld) else None
    write_problem(scenario.problem, path, network)
    return path


def inspect(
    problem: ProblemName,
    tolerance: Tolerance = None,
    pulls: Annotated[str, typer.Option(help="Number of pulls for the budget, the plan and the bounds.")] = "10000",
    limit: Annotated[
        bool,
        typer.Option("--limit", help="Also the limit T*: the fewest pulls that any rule that stops when sure needs."),
    ] = False,
    report: Report = None,
    as_json: AsJson = False,
) -> None:
    """Check a problem, and what it asks for.

    Is it well posed; what must be observed; which arms inform which; the truth, where known.
    """
    from fairarm.cli import documents, show
    from fairarm.experiments import inspect as look

    check_report(report)
    scenario = load(problem, tolerance)
    found = look(scenario.problem, scenario.world, pulls=_whole(pulls, "--pulls"), limit=limit)
    put_out(found, as_json, documents.inspection, show.inspection)
    write_report(found, report)


def identify(
    problem: ProblemName,
    algorithm: Annotated[
        str,
        typer.Option(help="pool; csr-v1, csr-v2, two-stage-v1, two-stage-v2, sris-v1, sris-v2, uniform and others."),
    ] = "pool",
    tolerance: Tolerance = None,
    pulls: Annotated[
        str, typer.Option(help="Number of pulls; with --confidence, the most that may be made.")
    ] = "10000",
    confidence: Confidence = None,
    stop: Stop = None,
    min_fair_probability: MinFair = None,
    log: Log = None,
    engine: Engine = None,
    seed: Seed = 0,
    option: Options = None,
    report: Report = None,
    as_json: AsJson = False,
) -> None:
    """Find the best fair arm, phase by phase.

    The arms are pulled in the problem's own world, which is simulated.
    """
    from fairarm.cli import documents, show
    from fairarm.experiments import identify as find

    check_report(report)
    scenario = load(problem, tolerance)
    options = _options(option, [algorithm], confidence=confidence, stop=stop, min_fair_probability=min_fair_probability)
    known, rows = start_from(scenario, log, engine, _certified(options))
    teller = None if as_json else show.Storyteller(known)
    found = find(
        known,
        scenario.world,
        algorithm=algorithm,
        pulls=_whole(pulls, "--pulls"),
        seed=seed,
        log=rows,
        on_phase=teller.phase if teller else None,
        **options,
    )
    if teller is None:
        print_json(documents.identification(known, found))
    else:
        teller.end(found)
    write_report(found, report, known)


def simulate(
    problem: ProblemName,
    algorithms: Annotated[str, typer.Option(help="Names, separated by commas.")] = "pool,csr-v2,two-stage-v2",
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
    from fairarm.experiments import simulate as repeat
    from fairarm.reports.figures import error_curves

    check_plot(plot)
    check_report(report)
    scenario = load(problem, tolerance)
    names = list(dict.fromkeys(name.strip() for name in algorithms.split(",")))
    options = _options(option, names, confidence=confidence, stop=stop, min_fair_probability=min_fair_probability)
    known, rows = start_from(scenario, log, engine, _certified(options))
    counts = list(dict.fromkeys(_pull_counts(pulls)))
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
    write_report(found, report, known)


def schema() -> None:
    """Print the JSON Schema of problem files."""
    from fairarm.readers.problem_file import problem_schema

    print_json(problem_schema())


for _command in (init, evaluate, inspect, plan, identify, simulate, problems, paper, schema):  # in the order of use
    app.command()(_command)
