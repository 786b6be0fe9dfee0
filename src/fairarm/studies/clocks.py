"""Is the clock right? The time that everything goes by is compared with what is stored when a process first ticks a study, and later with
a clock that only goes forward."""

from __future__ import annotations

from collections.abc import Callable

MOST_APART = 60.0
"""Seconds that the two may have moved apart before nothing opens or settles."""


def since_stored(now: int, stored: int, cohort: int) -> float | None:
    """Seconds from the newest stored time until now, where that cannot be, or is longer than a cohort. Times are in microseconds."""
    moved = now - stored
    return None if -MOST_APART * 1_000_000 <= moved <= cohort else moved / 1_000_000


class ClockWatch:
    """Of one process. ``monotonic`` None: the time is passed from outside, and nothing can be compared."""

    def __init__(self, monotonic: Callable[[], float] | None) -> None:
        self._monotonic = monotonic
        self._offset: float | None = None
        self._confirmed = 0

    def apart(self, now: float, confirmed: int) -> float | None:
        """By how many seconds the clocks have moved apart, where that is too much; ``confirmed``: how often somebody has said that the
        time is right, in any process: then it is taken as it is."""
        if self._monotonic is None:
            return None
        offset = now - self._monotonic()
        if self._offset is None or confirmed != self._confirmed:
            self._offset, self._confirmed = offset, confirmed
        moved = offset - self._offset
        return moved if abs(moved) > MOST_APART else None
