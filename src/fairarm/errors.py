"""What fairarm says when the input, not the program, is wrong.

Every message names what is wrong, the rule, what arrived and the way out. The command line prints it
on one line and exits with code 2; nothing that was computed or told before is lost.
"""

from __future__ import annotations

_MESSAGE = 400


class FairarmError(ValueError):
    """Base of every error that the user can put right."""


class ProblemError(FairarmError):
    """A problem (graph, arms, mechanisms, tolerance, costs) that is not well posed."""


class OverlapError(ProblemError):
    """An arm whose outcome or gap no pull can inform, because supports do not overlap."""


class BudgetError(FairarmError):
    """Pulls or costs that no allocation can meet."""


class DataError(FairarmError):
    """Rows or counts that do not fit the problem, or contradict what was told before."""


class ReadError(FairarmError):
    """A file that cannot be read as what it should be; the message starts with file and line or key."""


class OptionError(FairarmError):
    """An unknown algorithm, option or bundled problem, or a value outside its range."""


def printable(text: str) -> str:
    """Text fit for a terminal: one line, blanks as plain spaces, anything that is not printed (control characters, marks
    that turn the direction of writing, characters of no Unicode) as its escape. Nothing that a user wrote can then move
    the cursor, colour the text or hide a part of it."""
    return "".join(c if c.isprintable() else " " if c.isspace() and c not in _BREAKS else _escape(c) for c in text)


_BREAKS = "\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028\u2029"
"""Blanks to Python, but controls to a terminal."""


def _escape(c: str) -> str:
    number = ord(c)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def one_line(message: str) -> str:
    """A message fit for a terminal: `printable`, and of bounded length, also where much had to be escaped."""
    short = printable(message[:_MESSAGE])
    return short if len(message) <= _MESSAGE and len(short) <= _MESSAGE else short[: _MESSAGE - 1] + "…"
