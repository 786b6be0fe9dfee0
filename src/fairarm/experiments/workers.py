"""Worker processes: what they are sent, and what is said where the system ends one of them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from fairarm.algorithms import Registration
from fairarm.errors import OptionError, one_line


@contextmanager
def quiet_tracker() -> Iterator[None]:
    """The process in which loky counts semaphores starts with its warnings off.

    Where a worker was killed, a thread of loky's may be stopped at exit between freeing a semaphore and saying so: the
    tracker then warns of a leak that is none, after our own line. It reads its filters from the environment alone.
    """
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, [before, "ignore:resource_tracker:UserWarning"]))
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before


@contextmanager
def watched_workers(jobs: int) -> Iterator[None]:
    """One line where a worker was killed: that is what running out of memory looks like."""
    try:
        with quiet_tracker(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given to the executor")
            yield
    except Exception as error:
        if not isinstance(error, BrokenProcessPool) and type(error).__name__ != "KilledWorker":  # loky's; dask's
            raise
        raise OptionError(
            f"One of the {jobs} worker processes was killed by the system, most likely because memory ran out. Use fewer "
            f"jobs, or fewer runs at a time; what was finished and kept before is not lost."
        ) from None


def sendable(registrations: Sequence[Registration], jobs: int) -> Sequence[Registration]:
    """Algorithms of others, as workers get them; one line where one cannot be sent."""
    from joblib.externals.loky.backend.reduction import dumps

    for registration in registrations:
        try:
            dumps(registration)
        except Exception as error:
            raise OptionError(
                one_line(
                    f"The algorithm '{registration.name}' cannot be sent to {jobs} worker processes: {error}. Use one job, "
                    f"or put the algorithm into a module of its own, without open files or locks."
                )
            ) from None
    return registrations
