"""The answer to a problem as a name: which arm is the best fair one, that none is fair, or that it cannot be said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from fairarm.core.answer import Code


class Status(StrEnum):
    """What an answer can be. UNDECIDED: the run goes on, or ended without a usable estimate, or not sure enough."""

    FOUND = "FOUND"
    NO_FAIR_ARM = "NO_FAIR_ARM"
    UNDECIDED = "UNDECIDED"


@dataclass(frozen=True)
class Answer:
    """``arm`` is the name of the arm found, None for the other two."""

    status: Status
    arm: str | None = None

    @classmethod
    def of(cls, code: int, arm_names: Sequence[str]) -> Answer:
        """The answer that a `Code`, or an arm's position, stands for."""
        if code >= 0:
            return cls(Status.FOUND, arm_names[code])
        return cls(Status.NO_FAIR_ARM if code == Code.NONE else Status.UNDECIDED)
