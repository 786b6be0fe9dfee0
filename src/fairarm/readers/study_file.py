"""Study files: what `fairarm study create --config study.toml` reads. The problem is named by a path beside the file, or by a
bundled name."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from fairarm.errors import ReadError
from fairarm.readers.first_error import first_error
from fairarm.readers.text import one_line, read_text
from fairarm.readers.toml import parse_toml

MAX_BYTES = 1024 * 1024


class StudyFile(BaseModel):
    """The keys of `Studies.create`, and the problem. What they may be is checked there; here, of what type they are."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)

    problem: str
    pulls: int
    people: int
    arrivals: float
    window: str
    name: str | None = None
    confidence: float | None = None
    cohort: str | None = None
    cycle: str | None = None
    group: Literal["at arrival", "with outcome"] | None = None
    lost: str | None = None
    unserved: Literal["worst", "at random"] | None = None
    at_random_confirmed: bool | None = None
    on_alarm: Literal["pause", "tell"] | None = None
    keep_rows: Literal["always", "until settled"] | None = None
    on_end: Literal["keep", "deployed"] | None = None
    deployed: str | None = None
    seed: int | None = None
    start: Any = None
    tolerance: float | None = None


class ReadStudy(NamedTuple):
    """What a study file says."""

    name: str | None
    problem: str
    """A path, from the folder of the file, or a bundled name."""
    tolerance: float | None
    """Instead of the problem's own."""
    options: dict[str, Any]
    """Of `Studies.create`, those that are given."""


def read_study(path: Path) -> ReadStudy:
    """The file, with errors that name it and the line or key."""
    text = read_text(path, MAX_BYTES)
    if not text.strip():
        raise ReadError(f"{path}: the file is empty. It needs problem, pulls, people, arrivals and window.")
    keys = f"The keys: {', '.join(StudyFile.model_fields)}."
    try:
        entry = StudyFile.model_validate(parse_toml(text, str(path)))
    except ValidationError as error:
        raise ReadError(one_line(f"{path}: {first_error(error, StudyFile, keys)}")) from None
    given = {key: value for key, value in entry.model_dump().items() if value is not None}
    given.pop("problem")
    if "start" in given:
        given["start"] = _start(given["start"], path)
    return ReadStudy(given.pop("name", None), _problem(entry.problem, path), given.pop("tolerance", None), given)


def _problem(named: str, path: Path) -> str:
    """A file beside the study's, where there is one; else the name as it stands, which may be a bundled one."""
    beside = path.parent / named
    try:
        there = beside.is_file()
    except (OSError, ValueError):
        there = False
    return str(beside) if there or named.endswith(".toml") else named


def _start(given: object, path: Path) -> datetime:
    try:
        start = given if isinstance(given, datetime) else datetime.fromisoformat(str(given))
    except ValueError:
        start = None
    if start is None or start.tzinfo is None:
        raise ReadError(
            one_line(
                f"{path}: start: a time with its offset from UTC, e.g. 2027-03-01T00:00:00+01:00; got {str(given)[:60]!r}. Add Z for UTC."
            )
        )
    return start
