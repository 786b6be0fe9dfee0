"""Names and values that come from a log, made safe: for TOML, for a comment or a terminal, and as names of nodes."""

from __future__ import annotations

import re
from collections.abc import Collection
from unicodedata import normalize

MOST_SHOWN = 60
MOST_NAME = 80
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_BARE = re.compile(r"[\w.,/:+()%€$£&'<>=-]+(?: [\w.,/:+()%€$£&'<>=-]+)*")


def quoted(text: str) -> str:
    """A TOML string in which whatever is not printable is escaped: one line, and safe in a comment too."""
    return f'"{"".join(_escaped(c) for c in text)}"'


def key(text: str) -> str:
    """A TOML key: bare where it may be."""
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else quoted(text)


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shown(text: str) -> str:
    """For a comment, a message or a terminal: as it is where that is plain, else quoted; cut where it is long."""
    whole, size = 0, 0
    for character in text[: MOST_SHOWN + 1]:
        size += len(_escaped(character))
        whole += size <= MOST_SHOWN
    short = text if whole == len(text) else f"{text[:whole]}…"
    return short if _BARE.fullmatch(text[:whole]) else quoted(short)


def plain_name(text: str, taken: Collection[str], other: str) -> str:
    """A name for a node, a state or an arm: printable, of one line, not too long, and not yet taken; ``other`` if nothing is
    left."""
    printable = "".join(c if c.isprintable() else " " for c in normalize("NFC", text))
    name = normalize("NFC", " ".join(printable.split())[:MOST_NAME]).strip() or other
    number, base = 2, name
    while name in taken:
        name, number = f"{base} ({number})", number + 1
    return name
