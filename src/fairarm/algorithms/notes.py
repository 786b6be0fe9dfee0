"""What else has to be said of a run besides its answer, as codes. `fairarm.reports.words.run_note` says it in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from fairarm.algorithms.records import checked_leaf


class RunNote(StrEnum):
    """What happened to a run."""

    LOG_WORST = "log-outcomes-charged"
    """Rows of the log that it started from lack their outcome; each counts as it would hurt most."""
    LOG_BLOCKS = "log-blocks-the-answer"
    """A finding of the log that it started from, by name, blocks the answer."""
    LOST_WORST = "lost-rows-charged"
    """Rows that never came count as it hurts most."""
    LOST_AT_RANDOM = "lost-at-random"
    """Rows that never came count for nothing: stated by the caller to be independent of outcomes."""
    LOST_AS_STATE = "not-told-means-a-state"


@dataclass(frozen=True)
class Note:
    """A code, how many rows it is about, and the state that they were taken to have, or the finding."""

    code: RunNote
    rows: int = 0
    state: str | None = None


def noted(notes: tuple[Note, ...], fresh: Note) -> tuple[Note, ...]:
    """With one more; rows of the same code and state are added up."""
    for i, note in enumerate(notes):
        if (note.code, note.state) == (fresh.code, fresh.state):
            return (*notes[:i], replace(note, rows=note.rows + fresh.rows), *notes[i + 1 :])
    return (*notes, fresh)


def plain_notes(notes: Iterable[Note]) -> list[dict[str, Any]]:
    """For a saved run."""
    return [{"code": str(note.code), "rows": note.rows, "state": note.state} for note in notes]


def restored_notes(document: Any) -> tuple[Note, ...]:
    """As `plain_notes` wrote them; a TypeError or ValueError where they have another form."""
    made = []
    for note in checked_leaf("notes", document, list):
        if sorted(checked_leaf("notes", note, dict)) != ["code", "rows", "state"]:
            raise ValueError("a note has a code, rows and a state")
        state = None if note["state"] is None else checked_leaf("state", note["state"], str)
        made.append(Note(RunNote(note["code"]), checked_leaf("rows", note["rows"], int), state))
    return tuple(made)
