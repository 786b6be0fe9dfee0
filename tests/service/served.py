"""A service with pages, on a free port of the loopback, over studies whose clock the test moves."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from fairarm.service import Settings, app
from fairarm.service.logs import JsonLines
from fairarm.service.pages import add_pages
from fairarm.studies import Studies
from service_world import served as on_loopback

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
        """Let so much time pass."""
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
        guards = app(studies, Settings.of("127.0.0.1", 0), pages=add_pages, lines=JsonLines(log))
        with on_loopback(guards) as address:
            yield Service(address, studies, clock, log)
