"""The commands, one file each, in the order of use. Heavy imports live inside them, so that ``--help`` is instant."""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from fairarm.cli.algorithms import algorithms
from fairarm.cli.evaluate import evaluate
from fairarm.cli.identify import identify
from fairarm.cli.init import init
from fairarm.cli.inspect import inspect
from fairarm.cli.paper import paper
from fairarm.cli.plan import plan
from fairarm.cli.problems import problems
from fairarm.cli.serve import serve
from fairarm.cli.shared import note, print_json
from fairarm.cli.simulate import simulate
from fairarm.cli.study import study
from fairarm.errors import FairarmError, one_line


class _InOrder(TyperGroup):
    """Lists the commands in the order of use; groups of commands would come last."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names."""
        return list(_ORDER)


app = typer.Typer(
    cls=_InOrder,
    help="Find the candidate decision rule with the best outcome among the fair ones.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

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


def schema() -> None:
    """Print the JSON Schema of problem files."""
    from fairarm.readers.problem_file import problem_schema

    print_json(problem_schema())


for _command in (init, evaluate, inspect, plan, identify, simulate, serve, problems, algorithms, paper, schema):
    app.command()(_command)
app.add_typer(study, name="study")
_ORDER = (
    "init", "evaluate", "inspect", "plan", "identify", "simulate", "study", "serve", "problems", "algorithms", "paper", "schema",
)  # fmt: skip
