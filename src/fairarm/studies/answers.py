"""What calls to a study return: frozen, plain values, codes and numbers. Sentences are made of them elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from fairarm.algorithms.verdict import Verdict
from fairarm.beliefs.assumptions import Statement
from fairarm.beliefs.findings import Finding


class StudyState(StrEnum):
    """running ⇄ paused → draining → finished | closed."""

    RUNNING = "running"
    PAUSED = "paused"
    """No cohort opens; those that are out still settle."""
    DRAINING = "draining"
    """Answered, at its limit, or closed by hand: no cohort opens any more, those that are out still settle."""
    FINISHED = "finished"
    """Everything is settled, and there is an answer (which may be that it could not be decided)."""
    CLOSED = "closed"
    """Everything is settled; closed by hand without an answer."""

    @property
    def over(self) -> bool:
        """Nothing will change any more."""
        return self in (StudyState.FINISHED, StudyState.CLOSED)


@dataclass(frozen=True)
class Assignment:
    """What a person gets."""

    id: str | None
    """To tell the outcome with; None where ``outside``."""
    arm: str | None
    """Outside: the deployed arm; None where none is declared: serve as before. Who was outside once, or unserved, stays outside."""
    decision: str | None
    """Drawn from the arm's table, where ``known`` had all that the arm looks at: the same however often it is asked."""
    cohort: int | None
    outside: bool
    """Not in the study: nothing is to be told."""
    repeated: bool
    """The person was known: the same answer as before."""
    conflict: bool = False
    """The group or an input differs from those of the first call, which hold."""


@dataclass(frozen=True)
class Told:
    """What became of an outcome that was told."""

    status: Literal["new", "repeated", "late", "settled"]
    """new: it counts. late: it came after the window; settled: after its cohort was settled or left out. Both are kept and do not count."""


@dataclass(frozen=True)
class Outcome:
    """One item of `Study.tell_many`: ``row`` by column, or ``unserved`` where the person never got what was assigned."""

    id: str
    row: dict[str, Any] | None = None
    unserved: bool = False


@dataclass(frozen=True)
class Summary:
    """One study in a list."""

    name: str
    problem: str
    """Its name."""
    state: StudyState
    created: datetime
    pulls: int
    """People in all, at most."""
    cohorts: int
    """Opened so far."""
    settled: int
    people: int
    """Dealt a card so far."""
    status: str
    """"FOUND", "NO_FAIR_ARM" or "UNDECIDED", by the certificate."""
    arm: str | None
    recommended: str | None
    """The arm that the posterior recommends so far."""
    recommended_probability: float | None
    void: bool
    """Nothing is certified any more."""
    held: bool
    """The clock may be wrong: nobody enters, nothing opens or settles until `Studies.confirm_clock`."""


@dataclass(frozen=True)
class CohortReport:
    """One cohort; counts only, as long as it is not settled."""

    number: int
    state: Literal["open", "out", "settled", "dropped"]
    starts: datetime
    opened: datetime
    closes: datetime
    matures: datetime
    """When the last window is over."""
    settles: datetime
    """At the latest: earlier where everybody's outcome is told."""
    settled: datetime | None
    plan: dict[str, int]
    """Cards by arm."""
    share: float
    """Of arrivals that enter."""
    cards: int
    dealt: int
    told: int
    """Outcomes there are, late ones not among them."""
    late: int
    """Of a settled cohort, as it was when it was settled."""
    unserved: int
    lost: int | None
    """People without a row that counts: unserved and erased ones, and those not reported where the row is not filled; None until it is
    settled."""
    counted: int | None
    """Rows that count, filled ones too."""
    filled: int | None
    """Those of them that were not reported and got the state that the study says."""
    erased: int | None
    """Before it was settled."""
    cut: bool
    reason: str | None
    """Why it was cut or dropped."""
    why: dict[str, Any]
    """What its plan rests on: cohorts settled by then, arms paused, expected arrivals, P(fair) by arm."""


@dataclass(frozen=True)
class Event:
    """One line of what happened to a study; ``hash`` is over the line and ``prev``. Actor and reason of a correction read "erased" once
    the person is erased."""

    seq: int
    at: datetime
    actor: str
    kind: str
    body: dict[str, Any]
    state: StudyState
    """Of the study, from here on."""
    prev: str
    hash: str


@dataclass(frozen=True)
class HistoryPoint:
    """What was known after a cohort was settled; by arm."""

    cohort: int
    at: datetime
    best: dict[str, float | None]
    fair: dict[str, float | None]
    none: float | None
    """P(no arm is fair)."""
    status: str
    """"FOUND", "NO_FAIR_ARM" or "UNDECIDED", by the certificate."""
    arm: str | None
    people: int
    """Dealt in settled cohorts up to here."""


@dataclass(frozen=True)
class RowStanding:
    """One row of fairness of an arm in the outcome's units: what is believed and what is certified, against its ends."""

    name: str
    value: float | None
    interval: tuple[float, float] | None
    certified: tuple[float, float] | None
    above: float | None
    """The row must lie above this; None where it has no lower end."""
    below: float | None
    holds_probability: float | None


@dataclass(frozen=True)
class ArmStanding:
    """What is known of one arm by settled cohorts."""

    name: str
    outcome: float | None
    interval: tuple[float, float] | None
    """95 % limits of the outcome."""
    certified: tuple[float, float] | None
    """Limits of the outcome that hold for all arms and looks at once with the study's confidence."""
    rows: tuple[RowStanding, ...]
    closest: str | None
    """The name of the row that is least likely to hold."""
    best_probability: float | None
    fair_probability: float | None
    proof: str | None
    """"fair", "unfair", "worse" or "unfair or worse", where proved."""
    paused: bool
    """Not dealt any more, because of ``paused_by``."""
    paused_by: str | None
    """"proved unfair" or "guard"; said also where the arm is dealt all the same (on_alarm = "tell", or no arm would be left)."""
    reason: str
    """Why it is the answer or not: a code of `fairarm.algorithms.verdict.ArmReason`."""
    people: int
    """Dealt so far."""
    counted: int
    """Of these, whose outcome counts."""


@dataclass(frozen=True)
class StudyAnswer:
    """The answer of a study, what it rests on and what happened to it: plain values."""

    study: str
    state: StudyState
    status: str
    """"FOUND" or "NO_FAIR_ARM" where that is certified, else "UNDECIDED": safe to act on, whenever somebody looks."""
    arm: str | None
    """The arm that is certified to be the best fair one."""
    reason: str | None
    """Why it is undecided: "not-proved-yet", "not-proved" (the study has ended) or "blocking-warning" (``void_by``)."""
    reason_text: str | None
    """The same as a sentence."""
    recommended: str | None
    """The arm that the posterior recommends: not certified, and not safe to act on while people look every day."""
    recommended_status: str
    recommended_probability: float | None
    confidence: float
    void: bool
    """A monitor, or the posterior, contradicts what was declared: nothing is certified."""
    void_by: tuple[str, ...]
    """Names of the findings that void."""
    settled: int
    out: int
    """Cohorts under way."""
    people: int
    counted: int
    """Rows that count, filled ones too."""
    filled: int
    """People who were not reported and count with the state ``lost_means``."""
    unserved: int
    erased: int
    """People of settled cohorts who were never served, or erased before: the certificate counts them as the worst, unless
    ``unserved_means`` says otherwise."""
    lost: int
    """People of settled cohorts without a row that counts."""
    lost_means: str
    """Of people who were served and not reported: "worst", "at random", or the state that this means."""
    unserved_means: str
    """"worst" or "at random"."""
    cut: tuple[int, ...]
    dropped: tuple[int, ...]
    next_at: datetime | None
    """When the next cohort that is out can be settled."""
    closes_at: datetime | None
    """When the open cohort closes."""
    assumed: tuple[Statement, ...]
    """As `evaluate` states them, and what was stated of this study."""
    none_probability: float | None
    """That no arm is fair, by the posterior."""
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class StudyVerdict(StudyAnswer):
    """The same, with what words and figures are made of."""

    verdict: Verdict
    """As of a run of the algorithm."""


@dataclass(frozen=True)
class ExposureReport:
    """Whom the study has served with what."""

    people: dict[str, dict[str, int]]
    """By arm and group; under "" those whose group is not known (yet)."""
    total: int
    doubted_now: int
    """Served by arms with P(fair) below ½ as known now."""
    doubted_then: int
    """The same as known when their cohort opened."""
    given_up: float | None
    """Outcome given up against the answer, else the deployed arm, summed over people, in the outcome's units; None before anything
    is settled."""
    against: str | None


@dataclass(frozen=True)
class Monitor:
    """One test of what the certificate rests on."""

    name: Literal["law", "drift", "loss", "coverage", "guard"]
    value: float
    """log evidence against what is assumed; of coverage, the least covered part's share of the best covered one's time."""
    threshold: float
    """Alarm at or above; of coverage, void below."""
    alarm: bool
    voids: bool
    """It has."""
    on: bool
    """False where it cannot be used here."""
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class WhyPerson:
    """What happened to one person and why."""

    unit_known: bool
    entry: float
    """The unit's number in [0, 1): it enters cohorts whose share is above."""
    assignment: Assignment | None
    slot: int | None
    issued: datetime | None
    cohort: CohortReport | None
    told: datetime | None
    status: str | None
    """"outside", "open", "told", "late" or "unserved"; of a settled cohort "counted", "not reported", "unserved" or "erased"."""
    corrections: int


@dataclass(frozen=True)
class WhyArm:
    """What happened to one arm and why."""

    arm: ArmStanding
    cards: dict[int, int]
    """By cohort."""
    findings: tuple[Finding, ...]
    """That name the arm."""


@dataclass(frozen=True)
class Verification:
    """What `Study.verify` found."""

    study: str
    problems: tuple[str, ...]
    """One line each; none where all is well."""
    assignments: int
    cohorts: int
    settled: int
    events: int
    erased: int
    """Assignments whose person was erased on purpose: what is gone cannot be checked."""
    after_settlement: int
    """Outcomes told within their window after their cohort was settled: kept, not counted, and the caller was told so."""
    not_recomputed: tuple[int, ...] = ()
    """Settled cohorts whose rows were erased: their cells are taken as stored."""

    @property
    def ok(self) -> bool:
        """Nothing is wrong."""
        return not self.problems


Role = Literal["viewer", "caller", "admin"]
ROLES: tuple[Role, ...] = ("viewer", "caller", "admin")


@dataclass(frozen=True)
class Token:
    """Who may do what; the token itself is not kept."""

    digest: str
    role: Role
    study: str | None
    """None: all studies."""
    label: str
    made: datetime
    revoked: datetime | None


@dataclass(frozen=True)
class Ready:
    """Whether a process can serve."""

    writes: bool
    """A write was committed just now."""
    tick_age: float | None
    """Seconds since a tick last ended in any process; None where none has."""
    held: tuple[str, ...]
    """Studies in which nothing opens or settles until the clock is confirmed."""
    waiting: int
    """Calls in this process that wait for their commit."""
