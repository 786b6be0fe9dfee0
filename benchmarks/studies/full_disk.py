"""A disk that is full, for one process: files cannot grow beyond a limit."""

from __future__ import annotations

import resource
import signal

from benchmarks.studies.fork_server import Journal
from benchmarks.studies.transactions import open_studies, row_of
from fairarm.studies import StudyError

ROOM = 400_000
"""Bytes of a file."""


def fill_up(journal: Journal, url: str, clock: str, name: str) -> None:
    """Assign and tell until nothing can be written; then there is room again, and all goes on in the same process."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    study = open_studies(url, clock).open(name)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    for number in range(5000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, most))
        try:
            made = study.assign(f"u-{number}", group="ab"[number % 2], known={})
            assert made.id is not None
            study.tell(made.id, row_of(number))
        except StudyError as error:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
            journal.ack(failed=type(error).__name__, said=str(error), unit=number)
            break
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        journal.ack(unit=number, id=made.id)
    for number in range(10_000, 10_010):
        made = study.assign(f"u-{number}", group="ab"[number % 2], known={})
        assert made.id is not None
        study.tell(made.id, row_of(number))
        journal.ack(unit=number, id=made.id)
