"""A study's verdict as a document: all of it but the algorithm's own verdict, which holds the whole problem."""

from __future__ import annotations

from dataclasses import fields, make_dataclass
from typing import Any, get_type_hints

from fairarm.studies import Study, StudyVerdict

_PLAIN = [f.name for f in fields(StudyVerdict) if f.name != "verdict"]
StudyAnswer: Any = make_dataclass(
    "StudyAnswer", [(name, get_type_hints(StudyVerdict)[name]) for name in _PLAIN], frozen=True
)


def answer_of(study: Study) -> Any:
    """The answer of a study, in plain values."""
    found = study.verdict()
    return StudyAnswer(**{name: getattr(found, name) for name in _PLAIN})
