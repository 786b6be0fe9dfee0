"""Bodies that callers send: strict, nothing more than is named, sizes bounded before anything is done with them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field

from fairarm.service.settings import BATCH_ITEMS

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
Name = Annotated[str, Path(description="The study.", pattern=NAME, max_length=100, examples=["reminders"])]

Value = Annotated[str, Field(max_length=200)] | bool | int | float
Column = Annotated[str, Field(max_length=200)]
Row = Annotated[dict[Column, Value], Field(max_length=200)]
Reason = Annotated[str, Field(min_length=1, max_length=1000, description="For the record, in your words.")]
AssignmentId = Annotated[str, Field(min_length=1, max_length=50, description="As the assignment was answered.")]
Duration = Annotated[str, Field(max_length=20, description="10s, 30m, 12h or 7d.", examples=["7d"])]


class _Body(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class AssignBody(_Body):
    """A person who has come."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"unit": "u-123", "group": "village", "known": {"travel": "long"}}}
    )
    unit: Annotated[str, Field(min_length=1, max_length=200)] = Field(
        description="Your name of the person; kept as a keyed hash only."
    )
    group: Column | Annotated[dict[Column, Column], Field(max_length=50)] | None = Field(
        None, description="The state of the sensitive attribute; of several, each one's."
    )
    known: Row | None = Field(
        None, description="Inputs that are known now. With all of an arm's the answer has a decision."
    )


class TellBody(_Body):
    """What came of an assignment."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"assignment": "5f0c3a9e1b7d2468", "row": {"visit": "came"}}}
    )
    assignment: AssignmentId
    row: Row = Field(description="By column, what was not known at assignment.")


class UnservedBody(_Body):
    """A person who never got what was assigned: counts as lost."""

    model_config = ConfigDict(json_schema_extra={"example": {"assignment": "5f0c3a9e1b7d2468", "unserved": True}})
    assignment: AssignmentId
    unserved: Literal[True]


OutcomeBody = TellBody | UnservedBody


class BatchBody(_Body):
    """Many outcomes at once."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "outcomes": [
                    {"assignment": "5f0c3a9e1b7d2468", "row": {"visit": "came"}},
                    {"assignment": "9a1b3c5d7e9f0246", "unserved": True},
                ]
            }
        }
    )
    outcomes: Annotated[list[OutcomeBody], Field(min_length=1, max_length=BATCH_ITEMS)]


class CorrectionBody(_Body):
    """Another outcome than was told."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "assignment": "5f0c3a9e1b7d2468",
                "row": {"visit": "stayed away"},
                "reason": "typed wrongly",
                "confirm": "reminders",
            }
        }
    )
    assignment: AssignmentId
    row: Row
    reason: Reason
    confirm: str = Field(max_length=100, description="The study's name again.")


class ActBody(_Body):
    """A hand on the button."""

    model_config = ConfigDict(json_schema_extra={"example": {"reason": "a fault in the shop", "confirm": "reminders"}})
    reason: Reason
    confirm: str = Field(max_length=100, description="The study's name again.")


class StopBody(ActBody):
    """A stop: after the open cohort, which is free, or now, which cuts it and costs 3 nats of evidence."""

    now: bool = False


class DropBody(ActBody):
    """A cohort that is left out: an outage, stated to be independent of outcomes."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"cohort": 3, "reason": "mails were not sent", "confirm": "reminders"}}
    )
    cohort: Annotated[int, Field(ge=0, le=1_000_000)]


class ForgetBody(_Body):
    """A person to be erased: no reason is asked for, since nothing said about the person is to stay."""

    model_config = ConfigDict(json_schema_extra={"example": {"unit": "u-123", "confirm": "reminders"}})
    unit: Annotated[str, Field(min_length=1, max_length=200)]
    confirm: str = Field(max_length=100, description="The study's name again.")


class CreateBody(_Body):
    """A new study. The problem is the text of a problem file that names no other file."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "name": "reminders",
                "problem": "format = 1\n…",
                "pulls": 20000,
                "people": 500,
                "arrivals": 2000,
                "window": "7d",
            }
        }
    )
    name: Annotated[str, Field(pattern=NAME, max_length=100)]
    problem: Annotated[str, Field(min_length=1, max_length=500_000)]
    pulls: Annotated[int, Field(ge=1, le=10**9, description="People in all, at most.")]
    people: Annotated[int, Field(ge=1, le=10**8, description="To enter a cohort.")]
    arrivals: Annotated[float, Field(gt=0, le=1e9, strict=False, description="A day.")]
    window: Duration
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95
    cohort: Duration = "1d"
    cycle: Duration = "1d"
    group: Literal["at arrival", "with outcome"] = "at arrival"
    lost: Annotated[str, Field(max_length=200, description="What 'served, but no outcome reported' means.")] = "worst"
    unserved: Literal["worst", "at random"] = "worst"
    at_random_confirmed: bool = False
    on_alarm: Literal["pause", "tell"] = "pause"
    keep_rows: Literal["always", "until settled"] = "always"
    on_end: Literal["keep", "deployed"] = "deployed"
    deployed: Annotated[str, Field(max_length=200)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    start: Annotated[str, Field(max_length=40, examples=["2026-01-05T00:00:00+01:00"])] | None = None


BODIES = (
    AssignBody,
    TellBody,
    UnservedBody,
    BatchBody,
    CorrectionBody,
    StopBody,
    DropBody,
    ForgetBody,
    CreateBody,
)

# ---- answers ----


class Assigned(BaseModel):
    """What a person gets."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "assignment": "5f0c3a9e1b7d2468",
                "arm": "by-distance",
                "decision": "call",
                "cohort": 4,
                "outside": False,
                "repeated": False,
                "conflict": False,
            }
        }
    )
    assignment: str | None = Field(description="To tell the outcome with; null where outside.")
    arm: str | None = Field(description="Outside: the deployed arm, or null: serve as before.")
    decision: str | None = Field(description="The arm's, where all that it looks at was known.")
    cohort: int | None
    outside: bool = Field(description="Not in the study: nothing is to be told.")
    repeated: bool = Field(description="The person was known: the same answer as before.")
    conflict: bool = Field(description="Another group or input than at the first call, whose values hold.")


class BatchItem(BaseModel):
    """What became of one outcome of a batch: a status, or an error."""

    status: Literal["new", "repeated", "late", "settled"] | None = None
    error: str | None = None
    message: str | None = None


class BatchAnswer(BaseModel):
    """One item per outcome, in the order sent."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"results": [{"status": "new", "error": None, "message": None}]}}
    )
    results: list[BatchItem]


class Corrected(BaseModel):
    """Whether a correction counts: only within the window and before its cohort is settled."""

    model_config = ConfigDict(json_schema_extra={"example": {"counts": True}})
    counts: bool


class Forgotten(BaseModel):
    """Whether there was such a person."""

    model_config = ConfigDict(json_schema_extra={"example": {"erased": True}})
    erased: bool


class StateAnswer(BaseModel):
    """The state of a study after the act."""

    model_config = ConfigDict(json_schema_extra={"example": {"state": "paused"}})
    state: str


class StudyAbout(BaseModel):
    """What a study is about, and how it was set up."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "name": "reminders",
                "state": "running",
                "arms": ["as-now", "by-distance"],
                "deployed": "as-now",
                "options": {"people": 500, "window": "7d"},
                "under_way_at_once": 4000,
            }
        }
    )
    name: str
    state: str
    arms: list[str]
    deployed: str | None
    options: dict[str, Any]
    under_way_at_once: int


class Whose(BaseModel):
    """What a token is good for."""

    model_config = ConfigDict(json_schema_extra={"example": {"role": "caller", "study": "reminders", "label": "shop"}})
    role: str
    study: str | None = Field(description="null: all studies.")
    label: str


class Healthy(BaseModel):
    """The process answers."""

    model_config = ConfigDict(json_schema_extra={"example": {"status": "ok"}})
    status: Literal["ok"]


class Readiness(BaseModel):
    """Whether the process can serve."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"ready": True, "writes": True, "tick_age": 1.2, "held": 0, "waiting": 0}}
    )
    ready: bool
    writes: bool = Field(description="A write was committed just now.")
    tick_age: float | None = Field(description="Seconds since cohorts were last looked after, by any process.")
    held: int = Field(description="Studies that wait until somebody confirms the clock.")
    waiting: int = Field(description="Calls that wait for their commit.")


def example_of(model: Any) -> Any:
    """The example that a body or an answer shows of itself."""
    return model.model_config["json_schema_extra"]["example"]
