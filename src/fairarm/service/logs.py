"""Lines of JSON about what a service does: when, what, how long. Never a unit, a row, a token or a body.

Paths are logged as routes (`/v1/studies/{name}`), errors as their kind and place: a message could quote a row.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from typing import Any, TextIO


class JsonLines:
    """Writes one line per event."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    def __call__(self, event: str, **facts: Any) -> None:
        line = json.dumps({"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "event": event, **facts})
        stream = self._stream or sys.stderr
        try:
            stream.write(line + "\n")
            stream.flush()
        except OSError:  # the disk of the log is full, or its reader has gone: people are served all the same
            pass

    def error(self, event: str, error: BaseException, **facts: Any) -> None:
        """An error by its kind and the lines of code it came through."""
        self(event, error=type(error).__name__, where=where(error), **facts)


class OnlyErrors(JsonLines):
    """Lines about errors, and no others: for somebody who looks at the terminal."""

    def __call__(self, event: str, **facts: Any) -> None:
        if "error" in facts:
            super().__call__(event, **facts)


def where(error: BaseException) -> list[str]:
    """File and line of the last calls before an error."""
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    return [
        f"{frame.filename.rpartition('site-packages/')[2].rpartition('/src/')[2]}:{frame.lineno}" for frame in frames
    ]


class ServerLines(logging.Handler):
    """What the HTTP server says of itself, as lines of the same form."""

    def __init__(self, lines: JsonLines) -> None:
        super().__init__(logging.WARNING)
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        """The record's level, and where it is about an error the error's kind and place; arguments are left out."""
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            self._lines.error("server", error, level=record.levelname)
        else:
            self._lines("server", level=record.levelname, message=str(record.msg))
