"""Looking at a log again as it grows: a small file remembers which batches were settled, and whether they are still the same."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from fairarm.errors import OptionError
from fairarm.experiments.answer_by_time import AnswerByTime
from fairarm.files import check_path, write_whole
from fairarm.sealed import damaged, opened, sealed

WHAT = "file of looks"
KEYS = {"fairarm_looks": int, "look": int, "restarts": int, "rule": str, "batches": int, "until": str, "print": str}


class Looks(StrEnum):
    """For how many looks at a log what is certified of its answer holds."""

    ONE = "one"
    ANY = "any"


@dataclass(frozen=True)
class Look:
    """Which look of a series this is."""

    number: int
    """From 1."""
    restarts: int
    """How often the series began anew, because earlier rows, or what is declared, had changed."""
    changed: bool
    """It began anew with this look."""


def check_looks(path: str | Path | None) -> None:
    """Said before the work: the file can be written, and is one of looks if it is there."""
    if path is not None:
        check_path(Path(path), WHAT)
        _remembered(Path(path))


def look_again(path: str | Path, found: AnswerByTime | None) -> Look:
    """Compare with the last look, and remember this one in its place."""
    if found is None:
        raise OptionError(
            "A file of looks is for logs whose answer is proved batch by batch: log.time must be given, as numbers or timestamps; "
            "cells finite, mechanisms declared, no propensities, no counts, not adaptive, no finding that blocks certification, and P(S) declared where there are more than two groups or one is "
            "compared with the mean. Leave it out."
        )
    before = _remembered(Path(path))
    if before is None:
        look = Look(1, 0, False)
    elif _the_same(before, found):
        look = Look(before["look"] + 1, before["restarts"], False)
    else:
        look = Look(1, before["restarts"] + 1, True)
    document = {
        "fairarm_looks": 1, "look": look.number, "restarts": look.restarts, "rule": found.rule, "batches": found.settled,
        "until": found.until, "print": found.batches.print_of(found.settled),
    }  # fmt: skip
    write_whole(Path(path), sealed(document) + "\n", WHAT)
    return look


def _the_same(before: dict[str, Any], found: AnswerByTime) -> bool:
    """Whether the batches of the last look are still there as they were, and so is what they are judged by."""
    settled: int = before["batches"]
    known = found.settled >= settled and found.rule == before["rule"]
    return known and found.batches.print_of(settled) == str(before["print"])


def _remembered(path: Path) -> dict[str, Any] | None:
    """What the last look wrote; None before the first."""
    if not path.exists():
        return None
    try:
        text = path.read_bytes()
    except OSError as error:
        raise OptionError(f"The {WHAT} {path} cannot be read: {error.strerror}. Name another one.") from None
    document = opened(text, WHAT, fairarm_looks=1)
    sound = {*document} == {*KEYS} and all(type(document[key]) is kind for key, kind in KEYS.items())
    if not sound or min(document[k] for k in ("look", "restarts", "batches")) < 0:
        raise damaged(WHAT, "it is not one that fairarm wrote")
    return document
