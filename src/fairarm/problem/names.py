"""What a name may be: of variables, states, groups, arms and problems, in problem files and in Python alike.

Names are shown on terminals and pages, told apart by eye, and compared letter by letter: so they are short, printable, and
written in one way only.
"""

from __future__ import annotations

import unicodedata

from fairarm.errors import ProblemError

MAX_NAME = 200
MAX_DESCRIPTION = 5_000

_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
"""Categories of characters that move the cursor, turn the line around, or are not shown at all."""


def check_name(name: object, what: str) -> None:
    """``what`` starts the message: "The name of an arm". Only text of 1 to 200 printable characters, in the form NFC."""
    if isinstance(name, str) and name.isascii() and name.isprintable() and 0 < len(name) <= MAX_NAME and name.strip():
        return  # nearly every name
    text = _checked_text(name, what)
    if not text.isprintable():
        odd = next(c for c in text if not c.isprintable())
        raise ProblemError(
            f"{what}, {_shown(text)}, has the control or invisible character U+{ord(odd):04X}. "
            f"Use printable characters."
        )
    if not unicodedata.is_normalized("NFC", text):
        raise ProblemError(
            f"{what}, {_shown(text)}, is not in the Unicode form NFC: it looks like another name and is not equal to it. "
            f"Save the file in that form."
        )


def check_column(name: object, what: str) -> None:
    """The name of a column of a log, which the log has chosen: any spaces and any form, but nothing unseen."""
    text = _checked_text(name, what)
    if odd := next((c for c in text if unicodedata.category(c) in _UNSEEN), None):
        raise ProblemError(
            f"{what}, {_shown(text)}, has the control or invisible character U+{ord(odd):04X}. Rename the column."
        )


def check_version(version: object, what: str) -> None:
    """The version of code, where it has one: a name like any other."""
    if version is not None:
        check_name(version, f"{what}: its version")


def clean_description(text: object) -> str:
    """One line without anything unseen; too long a text is refused."""
    if not isinstance(text, str):
        raise ProblemError(f"The description is text; got {type(text).__name__}.")
    if len(text) > MAX_DESCRIPTION:
        raise ProblemError(
            f"The description has {len(text)} characters; at most {MAX_DESCRIPTION} are kept. Shorten it."
        )
    seen = "".join(c if unicodedata.category(c) not in _UNSEEN or c.isspace() else "" for c in text)
    return " ".join(seen.split())


def _checked_text(name: object, what: str) -> str:
    if not isinstance(name, str):
        raise ProblemError(f"{what} is {_shown(repr(name))}, of type {type(name).__name__}. A name is text.")
    if not name or name.isspace():
        raise ProblemError(f"{what} is empty. Give it a name of 1 to {MAX_NAME} characters.")
    if len(name) > MAX_NAME:
        raise ProblemError(f"{what}, {_shown(name)}, has {len(name)} characters; a name has at most {MAX_NAME}.")
    return name


def _shown(text: str) -> str:
    return ascii(text if len(text) <= 40 else text[:40] + "...")
