"""One live study: assign people, tell outcomes, look at what is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from fairarm.beliefs.findings import Finding
from fairarm.problem.problem import Problem
from fairarm.studies.answers import (
    ArmStanding,
    Assignment,
    CohortReport,
    Event,
    ExposureReport,
    HistoryPoint,
    Monitor,
    Outcome,
    StudyStatus,
    StudyVerdict,
    Told,
    Verification,
    WhyArm,
    WhyPerson,
)
from fairarm.studies.errors import StudyError

Group = str | Mapping[str, str] | None
"""A group of one attribute, or the state of each of several: {"race": "b", "sex": "f"}."""


class Study:
    """A study in a database. Made by `Studies.create` and `Studies.open`; threads may share it."""

    name: str
    problem: Problem

    @property
    def status(self) -> StudyStatus:
        """As of now."""

    @property
    def options(self) -> dict[str, Any]:
        """As `Studies.create` was called: durations as text, ``start`` in UTC."""

    @property
    def under_way_at_once(self) -> int:
        """People whose outcomes are out at the same time: people · (1 + window/cohort)."""

    # ---- people ----

    def assign(self, unit: str, group: Group = None, known: Mapping[str, Any] | None = None) -> Assignment:
        """What this person gets; the same answer however often it is asked. Returns after the commit."""

    def assigning(self, unit: str, group: Group = None, known: Mapping[str, Any] | None = None) -> Future[Assignment]:
        """The same for servers: checked now, done when the commit is."""

    def tell(self, id: str, row: Mapping[str, Any]) -> Told:
        """The outcome of an assignment: what was not known yet, by column. NotFound, Conflict, Invalid. Returns after the commit."""

    def telling(self, id: str, row: Mapping[str, Any]) -> Future[Told]:
        """The same for servers."""

    def tell_many(self, outcomes: Sequence[Outcome]) -> list[Told | StudyError]:
        """Many at once, at most 10 000: one answer, or error, for each, in order."""

    def unserved(self, id: str) -> Told:
        """The person never got what was assigned: counts as lost."""

    def unserving(self, id: str) -> Future[Told]:
        """The same for servers."""

    def correct(self, id: str, row: Mapping[str, Any], reason: str, actor: str) -> bool:
        """Another outcome than was told: a whole row's new parts. Whether it counts: only within the window, and before its cohort is
        settled; later ones are only shown."""

    def forget(self, unit: str, actor: str) -> bool:
        """Erase a person: unit, group, known, decision and row; whether there was one. Unsettled: counts as lost. Settled counts stay."""

    # ---- the hand on the button ----

    def pause(self, reason: str, actor: str, now: bool = False) -> None:
        """No cohort opens after the one that is open: free. ``now`` cuts the open one, which costs 3 nats of evidence."""

    def resume(self, reason: str, actor: str) -> None:
        """Cohorts open again, from the next one."""

    def close(self, reason: str, actor: str, now: bool = False) -> None:
        """For good, after the open cohort; those that are out still settle. ``now`` cuts the open one."""

    def drop(self, cohort: int, reason: str, actor: str) -> None:
        """Leave out a cohort that is not settled: an outage that is stated to be independent of outcomes; the verdict names it."""

    # ---- what is known ----

    def verdict(self) -> StudyVerdict:
        """The answer, or how far it is."""

    def findings(self) -> tuple[Finding, ...]:
        """What was noticed of settled cohorts and of who entered when."""

    def exposure(self) -> ExposureReport:
        """Whom the study has served with what."""

    def cohorts(self) -> tuple[CohortReport, ...]:
        """All, in order."""

    def events(self, after: int = 0) -> tuple[Event, ...]:
        """What happened, in order; ``after`` this number."""

    def history(self) -> tuple[HistoryPoint, ...]:
        """P(best), P(fair) and the answer by settled cohort."""

    def arms(self) -> tuple[ArmStanding, ...]:
        """What is known of each arm."""

    def monitors(self) -> tuple[Monitor, ...]:
        """The tests of what the certificate rests on."""

    def why(self, unit: str | None = None, arm: str | None = None) -> WhyPerson | WhyArm:
        """Of one person or one arm: what happened, and why."""

    # ---- to take along ----

    def export(self, path: str | Path) -> int:
        """The rows that count, as a log that `evaluate` reads (.csv, .parquet), one line per person; how many. Beside it,
        ``<path>.toml``: the problem with the map of the log's columns."""

    def verify(self) -> Verification:
        """Whether what is stored is what it must be."""
