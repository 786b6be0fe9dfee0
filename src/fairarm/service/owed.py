"""What a client still has to report: assignments that came too late to be served. Sent in the background, again until it arrives."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from fairarm.service.wire import FIRST_WAIT, LONGEST_WAIT, Unreachable
from fairarm.studies.errors import Busy, StudyError

MOST = 100_000
"""Beyond these the oldest is let go: never told, it counts as lost all the same once its window is over."""


class Owed:
    """A queue and, once something is in it, a thread that empties it."""

    def __init__(self, pay: Callable[[str], None]) -> None:
        self._pay = pay
        self._waiting: deque[str] = deque(maxlen=MOST)
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, id: str) -> None:
        """Report an assignment soon; never waits for the service."""
        with self._change:
            self._waiting.append(id)
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="fairarm-owed", daemon=True)
                self._thread.start()
            self._change.notify_all()

    def close(self, seconds: float) -> None:
        """Wait until all is reported, or these seconds are over; nothing is sent afterwards."""
        ends = time.monotonic() + seconds
        with self._change:
            while self._waiting and time.monotonic() < ends:
                self._change.wait(ends - time.monotonic())
            self._closed = True
            self._change.notify_all()
        if self._thread is not None:
            self._thread.join(seconds)

    def _run(self) -> None:
        wait = FIRST_WAIT
        while True:
            with self._change:
                while not self._waiting and not self._closed:
                    self._change.wait()
                if self._closed:
                    return
                id = self._waiting[0]
            if self._sent(id):
                wait = FIRST_WAIT
                continue
            with self._change:
                self._change.wait(wait)
            wait = min(2 * wait, LONGEST_WAIT)

    def _sent(self, id: str) -> bool:
        try:
            self._pay(id)
        except (Unreachable, Busy):
            return False
        except StudyError:  # told by somebody, or of a study that is over: nothing is owed any more
            pass
        with self._change:
            if self._waiting and self._waiting[0] == id:
                self._waiting.popleft()
            self._change.notify_all()
        return True
