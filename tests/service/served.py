"""A service in this process, on a free port of the loopback, with pages, over studies whose clock the test moves."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from fairarm.service import Settings, app
from fairarm.service.logs import JsonLines
from fairarm.service.pages import add_pages
from fairarm.service.server import listen, server
from fairarm.studies import Studies

START = int(datetime(2026, 3, 2, 8, 0, tzinfo=UTC).timestamp() * 1e6)


class Clock:
    """Microseconds, moved by hand."""

    def __init__(self, now: int = START) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def seconds(self) -> float:
        """The same for what measures lengths of time."""
        return self.now / 1e6

    def move(self, seconds: float) -> None:
        self.now += round(seconds * 1e6)


@dataclass
class Service:
    """Where it is, and what is behind it."""

    address: str
    studies: Studies
    clock: Clock
    log: io.StringIO

    def token(self, role: str, study: str | None = None, label: str = "") -> str:
        return self.studies.tokens.make(role, study, label)  # type: ignore[arg-type]


def moved_studies(url: str, clock: Clock) -> Studies:
    """Studies whose time is the clock's."""
    return Studies(url, clock=clock, monotonic=clock.seconds)


@contextmanager
def served(url: str) -> Iterator[Service]:
    """A service over the database, until the end of the block; time stands still unless it is moved."""
    clock, log = Clock(), io.StringIO()
    with moved_studies(url, clock) as studies:
        socket = listen("127.0.0.1", 0)
        port = socket.getsockname()[1]
        made = server(
            app(studies, Settings.of("127.0.0.1", port), pages=add_pages, lines=JsonLines(log), tick_every=0.5)
        )
        thread = threading.Thread(target=made.run, kwargs={"sockets": [socket]}, daemon=True)
        thread.start()
        until = time.monotonic() + 60
        while not made.started:
            assert time.monotonic() < until and thread.is_alive(), log.getvalue()
            time.sleep(0.01)
        yield Service(f"http://127.0.0.1:{port}", studies, clock, log)
        made.should_exit = True
        thread.join(timeout=60)
