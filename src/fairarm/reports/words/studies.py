"""Live studies in words: times, what is known and what happens next, people, exposure, monitors, events."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from fairarm.reports.words.numbers import count

SECOND = 1_000_000
"""Microseconds, in which times are told."""
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


def moment(at: int) -> str:
    """2026-11-17 22:50:08 UTC."""
    return datetime.fromtimestamp(at // SECOND, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def clock(at: int, now: int) -> str:
    """The same, without the day where that is today's."""
    text = moment(at)
    return text.partition(" ")[2] if text[:10] == moment(now)[:10] else text


def length(micros: int) -> str:
    """14 seconds, 3 minutes, 7 days: as many as are told apart at a glance."""
    seconds = max(0, round(micros / SECOND))
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return count(round(seconds / size), unit)
    return count(seconds, "second")


def when(at: int, now: int) -> str:
    """in 14 seconds (22:50:08 UTC); now."""
    return f"in {length(at - now)} ({clock(at, now)})" if at > now else "now"
