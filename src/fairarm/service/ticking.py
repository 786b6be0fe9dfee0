"""Opens and settles cohorts in the background, as long as a service runs."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from fairarm.service.logs import JsonLines
from fairarm.service.metrics import Metrics

if TYPE_CHECKING:
    from fairarm.studies import Studies

AFTER_ERROR = 1.0
"""Seconds after which a round that failed is tried again."""


class Ticker:
    """A thread that calls ``tick`` again and again; an error is logged, and the next round comes all the same."""

    def __init__(self, studies: Studies, metrics: Metrics, lines: JsonLines) -> None:
        self._studies, self._metrics, self._lines = studies, metrics, lines
        self._stop = threading.Event()
        self._worked = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="fairarm-tick", daemon=True)
        metrics.tick_age.set_function(self.age)

    def age(self) -> float:
        """Seconds since a round worked."""
        return time.monotonic() - self._worked

    def start(self) -> None:
        """Start the thread; its first round is at once."""
        self._thread.start()

    def stop(self) -> None:
        """No further round; wait for the one under way."""
        self._stop.set()
        self._thread.join(timeout=60)

    def _run(self) -> None:
        while not self._stop.is_set():
            self._stop.wait(self.round())

    def round(self) -> float:
        """One round; seconds until the next."""
        try:
            done = self._studies.tick()
        except Exception as error:  # the database may be away for a while
            self._metrics.tick_errors.inc()
            self._lines.error("tick-failed", error)
            return AFTER_ERROR
        self._worked = time.monotonic()
        self._metrics.ticks.inc()
        for what in done:
            self._lines("tick", done=what)
        return self._studies.tick_every
