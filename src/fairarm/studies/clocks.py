"""Do two clocks agree? The time that everything goes by, and one that only goes forward."""

from __future__ import annotations

from collections.abc import Callable

MOST_APART = 60.0
"""Seconds that the two may have moved apart before nothing opens or settles."""


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
