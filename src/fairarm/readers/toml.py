"""TOML as a dictionary. What would take the parser minutes or gigabytes is refused before it starts, by a cheap scan.

The parser's time and memory grow with the square of the parts of a dotted key, and its stack with the depth of lists.
"""

from __future__ import annotations

import re
import tomllib
from itertools import accumulate
from typing import Any

from fairarm.errors import ReadError, one_line

MAX_PARTS = 16
"""Most parts of a dotted key; problem files need four."""
MAX_DEPTH = 100
"""Deepest lists in lists; a table of probabilities has one level per parent, of which there are at most 63."""
MAX_PIECES = 600_000
MAX_KEYS = 50_000
MAX_STRING = 100_000
MAX_TOKEN = 400
"""Longest number or bare key, in characters."""

# Possessive repeats (++) never backtrack, so no text takes more than linear time.
_TEXT_OR_COMMENT = re.compile(
    r'"""(?:[^"\\]++|\\.|"(?!""))*+"{3,5}'
    r"|'''(?:[^']++|'(?!''))*+'{3,5}"
    r'|"(?:[^"\\\n]++|\\.)*+"'
    r"|'[^'\n]*+'"
    r"|\#[^\n]*+",
    re.DOTALL,
)
_SEPARATOR = re.compile(r"[\n=,\[\]{}]")
_BRACKET = re.compile(r"[\[\]{}]")
_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}
_LINE = re.compile(r"at line (\d+)")


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """The content; errors start with ``source`` and the line."""
    _check_sizes(text, source)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        line = _LINE.search(message)
        where = line.group(1) if line else str(text.count("\n") + 1)
        raise ReadError(one_line(f"{source}:{where}: not valid TOML: {message}")) from None
    except (ValueError, RecursionError) as error:  # a date that is none; what the scan let through
        reason = "lists are nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ReadError(one_line(f"{source}: not valid TOML: {reason}.")) from None


def _check_sizes(text: str, source: str) -> None:
    bare = _TEXT_OR_COMMENT.sub(lambda found: _stand_in(found, source), text)
    pieces = _SEPARATOR.split(bare)
    keys = bare.count("=") + bare.count("\n[")
    deepest = max(accumulate(map(_STEP.__getitem__, _BRACKET.findall(bare))), default=0)
    for size, most, what in (
        (len(pieces), MAX_PIECES, "values and names"),
        (keys, MAX_KEYS, "keys and tables"),
        (deepest, MAX_DEPTH, "levels of lists in lists"),
        (1 + max(piece.count(".") for piece in pieces), MAX_PARTS, "parts in one dotted key"),
        (max(len(piece.strip()) for piece in pieces), MAX_TOKEN, "characters in one number or bare key"),
    ):
        if size > most:
            raise ReadError(one_line(f"{source}: {size} {what}; a problem file may have {most}. Is it the right file?"))


def _stand_in(found: re.Match[str], source: str) -> str:
    """Nothing for a comment, one letter for a text: a quoted key keeps its dots apart."""
    size = found.end() - found.start()
    if found[0][0] == "#":
        return ""
    if size > MAX_STRING:
        line = found.string.count("\n", 0, found.start()) + 1
        raise ReadError(one_line(f"{source}:{line}: a text of {size} characters; the longest read has {MAX_STRING}."))
    return "x"
