"""`fairarm serve` as a process of its own: started, killed, measured. Loopback only."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from fairarm import load_problem
from fairarm.studies import Studies

TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE = 120.0
"""Seconds in which a process must have started or ended."""


@dataclass
class Serving:
    """A service over a database; ``port`` is kept when it is started again."""

    db: str
    log: Path
    port: int = 0
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> Serving:
        """Until it says where it is and answers there."""
        command = [sys.executable, "-m", "fairarm", "serve", "--port", str(self.port)]
        env = {**os.environ, "FAIRARM_DB": self.db}
        said = self.log.with_suffix(".out")
        with self.log.open("a") as log, said.open("w") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=log, env=env)
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends and self.process.poll() is None:
            found = re.search(r"http://127\.0\.0\.1:(\d+)", said.read_text())
            if found:
                self.port = int(found[1])
                if answers(self.port):
                    return self
            time.sleep(0.02)
        raise AssertionError(self.log.read_text()[-2000:])

    def send(self, kind: signal.Signals) -> None:
        """A signal to this process alone."""
        assert self.process is not None
        self.process.send_signal(kind)

    def wait(self) -> int:
        """Its exit code."""
        assert self.process is not None
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        """At once, as a power cut."""
        self.send(signal.SIGKILL)
        self.wait()

    def stop(self) -> int:
        """As systemd does."""
        self.send(signal.SIGTERM)
        return self.wait()

    def cpu(self) -> float:
        """Seconds of CPU so far."""
        assert self.process is not None
        parts = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(parts[11]) + int(parts[12])) / TICKS

    def largest(self) -> float:
        """The most memory it has had, in MB."""
        assert self.process is not None
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{self.process.pid}/status").read_text())
        assert found
        return int(found[1]) / 1000


def answers(port: int) -> bool:
    """Whether somebody is there."""
    try:
        with Caller(port) as caller:
            return caller.get("/health")[0] == 200
    except ConnectionError:
        return False


class Caller:
    """One kept connection, without a library's cost."""

    def __init__(self, port: int, token: str = "", timeout: float = 30.0) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def get(self, path: str) -> tuple[int, Any]:
        """Status and document."""
        return self._call("GET", path, None)

    def post(self, path: str, body: Any) -> tuple[int, Any]:
        """Status and document."""
        return self._call("POST", path, json.dumps(body).encode())

    def _call(self, method: str, path: str, body: bytes | None) -> tuple[int, Any]:
        try:
            self._connection.request(method, path, body, self._headers)
            answer = self._connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise ConnectionError(str(error)) from error
        return answer.status, json.loads(text)


@dataclass(frozen=True)
class Place:
    """A database with a study of the coin that everybody enters, and a token of a caller."""

    db: str
    token: str
    study: str = "coin"


def place(db: str, people: int = 1_000_000) -> Place:
    """A new study whose cohort lasts for days, so that nothing closes while it is measured."""
    with Studies(db) as studies:
        studies.create(
            "coin",
            load_problem("coin").problem,
            pulls=10 * people,
            people=people,
            arrivals=people / 10,
            window="10d",
            cohort="10d",
            cycle="1d",
            actor="benchmark",
        )
        studies.tick()
        return Place(db, studies.tokens.make("caller", "coin", "benchmark"))


@contextmanager
def serving(db: str, folder: Path) -> Iterator[Serving]:
    """A service that is stopped at the end, however that comes."""
    found = Serving(db, folder / "service.log").start()
    try:
        yield found
    finally:
        if found.process is not None and found.process.poll() is None:
            found.kill()
