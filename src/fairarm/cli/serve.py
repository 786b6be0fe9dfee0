"""``fairarm serve``: live studies over HTTP, and pages to watch them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from fairarm.errors import OptionError

if TYPE_CHECKING:
    import socket

    from fairarm.service.logs import JsonLines
    from fairarm.service.settings import Settings
    from fairarm.studies import Studies

Db = Annotated[
    str,
    typer.Option(
        envvar="FAIRARM_DB",
        help="sqlite:///studies.db (one process) or postgresql://… (many). Passwords by FAIRARM_DB.",
    ),
]


def serve(
    context: typer.Context,
    db: Db = "sqlite:///studies.db",
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8000,
    public_url: Annotated[
        str | None,
        typer.Option(
            help="The address that callers and browsers use, where it is another: https://studies.example.org."
        ),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="A study with simulated people in a temporary database, to look at.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the simulated people of --demo.")] = 7,
) -> None:
    """Serve live studies over HTTP, with pages.

    Looks after cohorts by itself. SIGTERM and Ctrl-C stop it, once what was acknowledged is stored.
    """
    from fairarm.optional import require

    for module in ("fastapi", "uvicorn", "prometheus_client", "sqlalchemy"):
        require(module, "service")
    from fairarm.service.server import listen
    from fairarm.service.settings import Settings
    from fairarm.studies import Studies

    given = {name for name in ("db", "seed") if _given(context, name)}
    if demo and "db" in given:
        raise OptionError("--demo has a database of its own, which is gone at the end. Leave out --db, or --demo.")
    if "seed" in given and not demo:
        raise OptionError("--seed is for the simulated people of --demo. Leave it out, or add --demo.")
    if "db" in given:
        refuse_password(db)
    Settings.of(host, port, public_url)  # before anything is opened
    at = listen(host, port)
    port = at.getsockname()[1]
    settings = Settings.of(host, port, public_url)
    address = public_url or f"http://{f'[{host}]' if ':' in host else host}:{port}"
    if demo:
        serve_demo(settings, at, address, seed)
        return
    with at, Studies(db) as studies:
        show(studies, address)
        start(studies, settings, at)


def _given(context: typer.Context, name: str) -> bool:
    """Whether an option stands on the command line."""
    return getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"


def serve_demo(settings: Settings, at: socket.socket, address: str, seed: int) -> None:
    """A study with simulated people, until stopped; nothing of it stays."""
    from fairarm.service.demo import COHORT, LOST, RATE, WINDOW, running_demo
    from fairarm.service.logs import OnlyErrors

    with running_demo(seed) as (studies, token):
        typer.echo(
            f"A study of the bundled ad marketplace: {RATE:g} simulated people a second, cohorts of {COHORT} s, outcomes that count for "
            f"{WINDOW} s, {LOST:.0%} of them lost. The certified answer usually comes after 3 to 12 cohorts, in one to two and a half minutes. Ctrl-C ends it, and nothing stays."
        )
        typer.echo(f"Open {address}/login#token={token}")
        start(studies, settings, at, OnlyErrors())


def refuse_password(db: str) -> None:
    """Everybody on a machine can read its command lines."""
    try:
        password = urlsplit(db).password
    except ValueError:
        password = None
    if password:
        raise OptionError(
            "--db has a password, which the list of processes would show. Give it as the environment's FAIRARM_DB, or leave the "
            "password to PGPASSWORD or ~/.pgpass."
        )


def show(studies: Studies, address: str) -> None:
    """Where the service is, how to get a token, and a first client for one of its studies."""
    from fairarm.errors import printable
    from fairarm.service.first_client import curl_line, python_client

    typer.echo(f"Live studies at {address}; the same address in a browser shows them. Ctrl-C stops it.")
    names = studies.names()
    if not names:
        typer.echo("There is no study yet: fairarm study create --config study.toml")
        return
    name = names[0]
    typer.echo(
        f"A token for a program, in the environment's FAIRARM_TOKEN: fairarm study token --role caller --study {name}"
    )
    problem = studies.open(name).problem
    typer.echo("\nA first client in Python:\n")
    for line in python_client(address, name, problem).splitlines():
        typer.echo(f"    {printable(line)}")
    typer.echo(f"\nThe same by curl (in bash):\n\n    {printable(curl_line(address, name, problem))}\n")


def start(studies: Studies, settings: Settings, at: socket.socket, lines: JsonLines | None = None) -> None:
    """Serve until stopped."""
    from fairarm.service import app
    from fairarm.service.pages import add_pages
    from fairarm.service.server import run

    run(app(studies, settings, pages=add_pages, lines=lines), at)
