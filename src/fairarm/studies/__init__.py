"""Live studies that last: people one at a time, kept in a database, settled cohort by cohort.

studies = Studies("sqlite:///studies.db")
study = studies.create("reminders", problem, pulls=20_000, people=500, arrivals=2_000, window="7d")
a = study.assign("u-123", group="village")
study.tell(a.id, {"visit": "came"})
studies.tick()
"""

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
    StudyStatus,
    StudyVerdict,
    Summary,
    Token,
    Told,
    Verification,
    WhyArm,
    WhyPerson,
)
from fairarm.studies.errors import Busy, Conflict, Invalid, NotAllowed, NotFound, StudyError
from fairarm.studies.studies import Studies
from fairarm.studies.study import Study
from fairarm.studies.tokens import Tokens

__all__ = [
    "ROLES", "ArmStanding", "Assignment", "Busy", "CohortReport", "Conflict", "Event", "ExposureReport", "HistoryPoint", "Invalid",
    "Monitor", "NotAllowed", "NotFound", "Outcome", "Ready", "Role", "RowStanding", "Studies", "Study", "StudyAnswer", "StudyError", "StudyStatus",
    "StudyVerdict", "Summary", "Token", "Tokens", "Told", "Verification", "WhyArm", "WhyPerson",
]  # fmt: skip
