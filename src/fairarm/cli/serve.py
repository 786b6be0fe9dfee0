"""``fairarm serve``: live studies over HTTP, and pages to watch them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from fairarm.errors import OptionError

if TYPE_CHECKING:
    import socket

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
) -> None:
    """Serve live studies to programs in any language, and to browsers.

    Looks after cohorts by itself. SIGTERM and Ctrl-C stop it, once what was acknowledged is stored.
    """
    from fairarm.optional import require

    for module in ("fastapi", "uvicorn", "prometheus_client", "sqlalchemy"):
        require(module, "service")
    from fairarm.service.server import listen
    from fairarm.service.settings import Settings
    from fairarm.studies import Studies

    if getattr(context.get_parameter_source("db"), "name", "") == "COMMANDLINE":
        refuse_password(db)
    Settings.of(host, port, public_url)  # before anything is opened
    at = listen(host, port)
    port = at.getsockname()[1]
    with Studies(db) as studies:
        settings = Settings.of(host, port, public_url)
        address = public_url or f"http://{f'[{host}]' if ':' in host else host}:{port}"
        show(studies, address)
        start(studies, settings, at)


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
    typer.echo(f"A token for a program, in the environment's FAIRARM_TOKEN: fairarm study token --role caller --study {name}")
    problem = studies.open(name).problem
    typer.echo("\nA first client in Python:\n")
    for line in python_client(address, name, problem).splitlines():
        typer.echo(f"    {printable(line)}")
    typer.echo(f"\nThe same by curl (in bash):\n\n    {printable(curl_line(address, name, problem))}\n")


def start(studies: Studies, settings: Settings, at: socket.socket) -> None:
    """Serve until stopped."""
    from fairarm.service import app
    from fairarm.service.server import run

    run(app(studies, settings), at)
