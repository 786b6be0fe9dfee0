"""What is wrong with a call to a study: each kind is one status over HTTP."""

from __future__ import annotations

from fairarm.errors import FairarmError, printable


class StudyError(FairarmError):
    """Base of what a study refuses; nothing was changed. What it says can be shown and sent anywhere."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class NotFound(StudyError):  # noqa: N818
    """No such study, assignment, cohort or token (404)."""


class Conflict(StudyError):  # noqa: N818
    """It contradicts what is stored: another outcome was told, the name is taken, the study is over (409)."""


class Invalid(StudyError):  # noqa: N818
    """The input is not what it must be (422)."""


class Busy(StudyError):  # noqa: N818
    """Too many calls wait, or the database does not answer. Try again: a repeated call changes nothing (503)."""


class NotAllowed(StudyError):  # noqa: N818
    """The key or token at hand is not the one that this needs (403)."""
