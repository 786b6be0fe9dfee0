"""A service with pages, on a free port of the loopback, over studies whose clock the test moves."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.service.demo import Clock, moved_studies

from fairarm.service import Settings, app
from fairarm.service.logs import JsonLines
from fairarm.service.pages import add_pages
from fairarm.studies import Studies
from service_world import served as on_loopback


@dataclass
class Service:
    """Where it is, and what is behind it."""

    address: str
    studies: Studies
    clock: Clock
    log: io.StringIO

    def token(self, role: str, study: str | None = None, label: str = "") -> str:
        return self.studies.tokens.make(role, study, label)  # type: ignore[arg-type]


@contextmanager
def served(url: str) -> Iterator[Service]:
    """A service over the database, until the end of the block; time stands still unless it is moved."""
    clock, log = Clock(), io.StringIO()
    with moved_studies(url, clock) as studies:
        guards = app(studies, Settings.of("127.0.0.1", 0), pages=add_pages, lines=JsonLines(log))
        with on_loopback(guards) as address:
            yield Service(address, studies, clock, log)
