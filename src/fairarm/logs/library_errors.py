"""What other libraries say when something fails: one line, with the way out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fairarm.errors import FairarmError, one_line

SECONDS = 10
"""How long a database or another server may take to answer before that is an error."""


@contextmanager
def speaking(prefix: str, kind: type[FairarmError], way_out: str = "") -> Iterator[None]:
    """Any error of a library becomes one of ``kind``, said on one line after ``prefix``."""
    try:
        yield
    except FairarmError:
        raise
    except Exception as error:
        text = f"{prefix}: {reason(error).rstrip('.')}."
        raise kind(one_line(f"{text} {way_out}" if way_out else text)) from None


def reason(error: BaseException) -> str:
    """The first lines of what a library says, without its advice."""
    text = str(error).strip() or type(error).__name__
    if text == "interrupted":
        return (
            "a view took too long, and may be endless. Allow more with &seconds=60 in the URL, or store it as a table"
        )
    lines = [line.strip() for line in text.partition("\nPossible fixes")[0].splitlines() if line.strip()]
    return "; ".join(lines[:3])
