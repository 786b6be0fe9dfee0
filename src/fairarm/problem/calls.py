"""Code that is not ours, called: what it raises becomes one line that says whose it was, and keeps the cause."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairarm.core.types import FloatArray
from fairarm.errors import FairarmError, ProblemError, one_line

_SHOWN = 200


def ask(
    function: Callable[..., Any], *arguments: Any, what: str, given: str, kind: type[FairarmError] = ProblemError
) -> Any:
    """The function's answer. ``what`` starts the message ("Arm 'x': its function"), ``given`` says on what it was asked."""
    try:
        return function(*arguments)
    except Exception as error:
        said = one_line(" ".join(str(error).split()))[:_SHOWN].rstrip(".")
        raise kind(f"{what} failed on {given}: {type(error).__name__}{': ' if said else ''}{said}.") from error


def rows_of(columns: Any, length: int) -> str:
    """What a rule was given, for a message."""
    return f"{length} {'row' if length == 1 else 'rows'} of the columns {', '.join(columns) or '(none)'}"


def numbers(answer: Any, what: str) -> FloatArray:
    """An answer as an array of numbers."""
    try:
        return np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ProblemError(
            f"{what} must return numbers; it returned {type(answer).__name__}: {one_line(str(error))[:_SHOWN]}."
        ) from error
