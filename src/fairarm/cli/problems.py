"""``fairarm problems``: the bundled problems, and one of them as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairarm.cli.shared import AsJson, load, print_json
from fairarm.errors import OptionError, printable


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
    write_problem(scenario, path, network)
    return path
