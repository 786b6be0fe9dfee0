"""Live studies that last: people one at a time, kept in a database, settled cohort by cohort.

studies = Studies("sqlite:///studies.db")
study = studies.create("reminders", problem, pulls=20_000, people=500, arrivals=2_000, window="7d")
a = study.assign("u-123", group="village")
study.tell(a.id, {"visit": "came"})
studies.tick()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairarm.late import late_names
from fairarm.optional import require
from fairarm.studies.answers import (
    ROLES,
    ArmStanding,
    Assignment,
    CohortReport,
    Event,
    ExposureReport,
    HistoryPoint,
    Monitor,
    Outcome,
    Ready,
    Role,
    RowStanding,
    StudyAnswer,
    StudyState,
    StudyVerdict,
    Summary,
    Token,
    Told,
    Verification,
    WhyArm,
    WhyPerson,
)
from fairarm.studies.errors import Busy, Conflict, Invalid, NotAllowed, NotFound, StudyError

if TYPE_CHECKING:
    from fairarm.studies.studies import Studies
    from fairarm.studies.study import Study
    from fairarm.studies.tokens import Tokens

__all__ = [
    "ROLES", "ArmStanding", "Assignment", "Busy", "CohortReport", "Conflict", "Event", "ExposureReport", "HistoryPoint", "Invalid",
    "Monitor", "NotAllowed", "NotFound", "Outcome", "Ready", "Role", "RowStanding", "Studies", "Study", "StudyAnswer", "StudyError", "StudyState",
    "StudyVerdict", "Summary", "Token", "Tokens", "Told", "Verification", "WhyArm", "WhyPerson",
]  # fmt: skip

_late = late_names(
    __name__,
    {
        "fairarm.studies.studies": ("Studies",),
        "fairarm.studies.study": ("Study",),
        "fairarm.studies.tokens": ("Tokens",),
    },
)


def __getattr__(name: str) -> Any:
    """What needs a database is imported when first used: answers and errors are for clients too."""
    if name in ("Studies", "Study", "Tokens"):
        require("sqlalchemy", "studies")
    return _late(name)
