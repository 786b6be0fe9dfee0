"""Documents that are kept and opened again: strict JSON that carries a check sum of its own content.

The sum is over what the document says, in one canonical form, and not over its bytes: white space, the order of keys and
how a character is escaped may change, no value may.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NoReturn

from fairarm.errors import DataError

CHECKSUM = "checksum"

MOST_CHARACTERS = 500_000_000
"""Of a document: some million rows. Opening one takes about ten times as many bytes of memory."""


def sealed(content: Mapping[str, Any]) -> str:
    """The document of this content."""
    text = json.dumps({**content, CHECKSUM: checksum(content)}, allow_nan=False)
    if len(text) > MOST_CHARACTERS:
        raise DataError(
            f"There is too much to save: {len(text)} characters, at most {MOST_CHARACTERS} are opened again. "
            f"Tell rows with equal values as one line with a count, or start from fewer rows."
        )
    return text


def opened(text: str | bytes, what: str, **version: int) -> dict[str, Any]:
    """The content of a document; ``what`` names it in errors, ``version`` is the key that holds its format, and the one read."""
    if len(text) > MOST_CHARACTERS:
        raise DataError(
            f"The {what} has {len(text)} characters; at most {MOST_CHARACTERS} are opened. Is it another file?"
        )
    try:
        document = json.loads(text, parse_constant=_no_number, object_pairs_hook=distinct)
        if not isinstance(document, dict):
            raise ValueError("it is no JSON object")
        carried = CHECKSUM in document
        said, right = document.pop(CHECKSUM, None), checksum(document)
    except (ValueError, RecursionError) as error:
        raise damaged(what, str(error)) from None
    if carried and said != right:
        raise damaged(what, "its content is not what its check sum says")
    for key, read in version.items():
        if type(found := document.get(key, read)) is not int or found != read:
            raise DataError(
                f"The {what} has {key} {found!r:.20}; this version of fairarm reads only {key} {read}. Open it with the version "
                f"that wrote it, or start again."
            )
    if not carried:
        raise damaged(what, "its check sum is missing")
    return document


def damaged(what: str, why: str) -> DataError:
    """The error of a document that cannot be used, whoever finds it."""
    return DataError(f"The {what} is damaged: {why}. Start again, or use an earlier copy.")


def checksum(content: Mapping[str, Any]) -> str:
    """SHA-256 of the content with sorted keys, no white space, ASCII, and floats by the shortest text that reads back."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"it holds {text}, which is not a number of JSON")


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs of a JSON object, none of whose keys may be there twice."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("it has a key twice")
    return made
