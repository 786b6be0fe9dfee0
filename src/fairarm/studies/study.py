"""One live study: assign people, tell outcomes, look at what is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection

from fairarm.beliefs.findings import Finding
from fairarm.core.entry import entry_number
from fairarm.problem.problem import Problem
from fairarm.studies import hand
from fairarm.studies.answers import (
    ArmStanding,
    Assignment,
    CohortReport,
    Event,
    ExposureReport,
    HistoryPoint,
    Monitor,
    Outcome,
    StudyState,
    StudyVerdict,
    Told,
    Verification,
    WhyArm,
    WhyPerson,
)
from fairarm.studies.calls import Ask, Dealer, Tell, Teller, id_number
from fairarm.studies.coding import require_unit
from fairarm.studies.core import Core
from fairarm.studies.errors import Invalid, StudyError
from fairarm.studies.events import events_of, state_of
from fairarm.studies.exporting import checked_target, exported
from fairarm.studies.options import require_reason
from fairarm.studies.running import Running
from fairarm.studies.standing import Known
from fairarm.studies.summaries import cohorts_of, history_of
from fairarm.studies.verifying import Check
from fairarm.studies.why import why_arm, why_person
from fairarm.studies.writer import Call

Group = str | Mapping[str, str] | None
"""A group of one attribute, or the state of each of several: {"race": "b", "sex": "f"}."""

Result = TypeVar("Result")

MOST_AT_ONCE = 10_000
"""Outcomes of one call."""

ASSIGNS, TELLS = 0, 1
"""The order of calls in one transaction; assigns by study, then all tells."""


class Study:
    """A study in a database. Made by `Studies.create` and `Studies.open`; threads may share it."""

    def __init__(self, core: Core, running: Running) -> None:
        self._core, self.running = core, running
        self._dealer, self._teller = Dealer(core.database, running), Teller(core.database)

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {self.problem.name!r})"

    @property
    def name(self) -> str:
        """Unique in its database."""
        return self.running.name

    @property
    def problem(self) -> Problem:
        """As it was stored: arms of code are tables."""
        return self.running.problem

    @property
    def state(self) -> StudyState:
        """As of now."""
        with self._core.database.reading() as connection:
            return state_of(connection, self.running.id)

    @property
    def options(self) -> dict[str, Any]:
        """As `Studies.create` was called: durations as text, ``start`` in UTC."""
        return self.running.options.shown()

    @property
    def under_way_at_once(self) -> int:
        """People whose outcomes are out at the same time: people · (1 + window/cohort)."""
        return self.running.options.out_at_once

    # ---- people ----

    def assign(self, unit: str, group: Group = None, known: Mapping[str, Any] | None = None) -> Assignment:
        """What this person gets; the same answer however often it is asked. Returns after the commit."""
        return self._core.writer.done(self._assigns(unit, group, known))  # type: ignore[no-any-return]

    def assigning(self, unit: str, group: Group = None, known: Mapping[str, Any] | None = None) -> Future[Assignment]:
        """The same for servers: checked now, done when the commit is."""
        return self._core.writer.submit(self._assigns(unit, group, known))

    def _assigns(self, unit: str, group: Group, known: Mapping[str, Any] | None) -> Call:
        running = self.running
        require_unit(unit)
        label = running.coding.label(group) if running.options.at_arrival or group is not None else None
        if not running.options.at_arrival and label is not None:
            raise Invalid("The group comes with the outcome in this study. Tell it in the row.")
        codes = running.coding.known(known)
        if running.rule.loss.state is not None and not running.problem.plain:
            running.coding.require_inputs(codes, running.options.lost)
        asked = Ask(running.unit(unit), entry_number(running.key, unit), label, codes)
        return Call(self._dealer, (ASSIGNS, running.id), asked)

    def tell(self, id: str, row: Mapping[str, Any]) -> Told:
        """The outcome of an assignment: what was not known yet, by column. NotFound, Conflict, Invalid. Returns after the commit."""
        return self._core.writer.done(self._tells(id, row))  # type: ignore[no-any-return]

    def telling(self, id: str, row: Mapping[str, Any]) -> Future[Told]:
        """The same for servers."""
        return self._core.writer.submit(self._tells(id, row))

    def _tells(self, id: str, row: Mapping[str, Any]) -> Call:
        if not isinstance(row, Mapping):
            raise Invalid(
                f"The row is {row!r:.60}. It holds values by column, e.g. {{'{self.problem.outcome.node}': ...}}."
            )
        return self._told(id, dict(row))

    def unserved(self, id: str) -> Told:
        """The person never got what was assigned: counts as lost."""
        return self._core.writer.done(self._told(id, None))  # type: ignore[no-any-return]

    def unserving(self, id: str) -> Future[Told]:
        """The same for servers."""
        return self._core.writer.submit(self._told(id, None))

    def _told(self, id: str, row: dict[str, Any] | None) -> Call:
        return Call(self._teller, (TELLS, 0), Tell(self.running, id_number(id), row), tells=(self.running.id,))

    def tell_many(self, outcomes: Sequence[Outcome]) -> list[Told | StudyError]:
        """Many at once, at most 10 000, in one transaction: one answer, or error, for each, in order."""
        return self.telling_many(outcomes).result()

    def telling_many(self, outcomes: Sequence[Outcome]) -> Future[list[Told | StudyError]]:
        """The same for servers."""
        if len(outcomes) > MOST_AT_ONCE:
            raise Invalid(
                f"There are {len(outcomes)} outcomes; at most {MOST_AT_ONCE} are told at once. Send them in parts."
            )
        checked = [self._checked(each) for each in outcomes]
        tells = [each for each in checked if isinstance(each, Tell)]

        def run(connection: Connection, now: int, _: Sequence[Any]) -> list[Any]:
            found = iter(self._teller(connection, now, tells))
            return [[next(found) if isinstance(each, Tell) else each for each in checked]]

        return self._core.writer.submit(Call(run, (TELLS, 0), None, alone=True, tells=(self.running.id,)))

    def _checked(self, told: Outcome) -> Tell | StudyError:
        try:
            if not isinstance(told, Outcome):
                raise Invalid(
                    f"An item to tell is {told!r:.60}. It is an Outcome: Outcome(id, row), or Outcome(id, unserved=True)."
                )
            if told.unserved:
                return Tell(self.running, id_number(told.id), None)
            if not isinstance(told.row, Mapping):
                raise Invalid(
                    f"The row is {told.row!r:.60}. It holds values by column, or the outcome is said to be unserved."
                )
            return Tell(self.running, id_number(told.id), dict(told.row))
        except StudyError as error:
            return error

    def correct(self, id: str, row: Mapping[str, Any], reason: str, actor: str) -> bool:
        """Another outcome than was told: what was not known at assignment. Whether it counts: only within the window, and before its
        cohort is settled; later ones are only shown."""
        require_reason(reason, actor)
        number = id_number(id)
        return self._job(
            lambda connection, now: hand.correct(connection, self.running, now, number, row, reason, actor)
        )

    def forget(self, unit: str, actor: str) -> bool:
        """Erase a person: unit, group, known, decision, row and notes; whether there was one. Unsettled: counts as lost. Settled counts stay."""
        require_reason("erased", actor)
        name = self.running.unit(require_unit(unit))
        there = self._job(lambda connection, now: hand.forget(connection, self.running, now, name, actor))
        self._core.database.scrub(there)
        return there

    # ---- the hand on the button ----

    def pause(self, reason: str, actor: str, now: bool = False) -> None:
        """No cohort opens after the one that is open: free. ``now`` cuts the open one, which costs 3 nats of evidence."""
        require_reason(reason, actor)
        self._job(lambda connection, time: hand.pause(connection, self.running, time, reason, actor, now))

    def resume(self, reason: str, actor: str) -> None:
        """Cohorts open again, from the next one."""
        require_reason(reason, actor)
        self._job(lambda connection, time: hand.resume(connection, self.running, time, reason, actor))

    def close(self, reason: str, actor: str, now: bool = False) -> None:
        """For good, after the open cohort; those that are out still settle. ``now`` cuts the open one."""
        require_reason(reason, actor)
        self._job(lambda connection, time: hand.close(connection, self.running, time, reason, actor, now))

    def drop(self, cohort: int, reason: str, actor: str) -> None:
        """Leave out a cohort that is not settled: an outage that is stated to be independent of outcomes; the verdict names it."""
        require_reason(reason, actor)
        self._job(lambda connection, time: hand.drop(connection, self.running, time, cohort, reason, actor))

    def _job(self, run: Callable[[Connection, int], Result]) -> Result:
        return self._core.writer.job(run)

    # ---- what is known ----

    @contextmanager
    def _known(self) -> Iterator[Known]:
        with self._core.database.reading() as connection:
            progress = self._core.clockwork.progress(connection, self.running)[1]
            yield Known(connection, self.running, progress, self._core.database.now(connection))

    def verdict(self) -> StudyVerdict:
        """The answer, or how far it is."""
        with self._known() as known:
            return known.verdict()

    def findings(self) -> tuple[Finding, ...]:
        """What was noticed of settled cohorts and of who entered when."""
        with self._known() as known:
            return known.findings()

    def exposure(self) -> ExposureReport:
        """Whom the study has served with what."""
        with self._known() as known:
            return known.exposure()

    def cohorts(self) -> tuple[CohortReport, ...]:
        """All, in order."""
        with self._core.database.reading() as connection:
            return cohorts_of(connection, self.running, self._core.database.now(connection))

    def events(self, after: int = 0) -> tuple[Event, ...]:
        """What happened, in order; ``after`` this number."""
        with self._core.database.reading() as connection:
            return events_of(connection, self.running.id, after)

    def history(self) -> tuple[HistoryPoint, ...]:
        """P(best), P(fair) and the answer by settled cohort."""
        with self._core.database.reading() as connection:
            return history_of(connection, self.running)

    def arms(self) -> tuple[ArmStanding, ...]:
        """What is known of each arm."""
        with self._known() as known:
            return known.arms()

    def monitors(self) -> tuple[Monitor, ...]:
        """The tests of what the certificate rests on."""
        with self._known() as known:
            return known.monitors()

    def why(self, unit: str | None = None, arm: str | None = None) -> WhyPerson | WhyArm:
        """Of one person or one arm: what happened, and why."""
        if (unit is None) == (arm is None):
            raise Invalid("why is asked of one person or of one arm: give unit= or arm=.")
        with self._known() as known:
            return why_person(known, require_unit(unit)) if arm is None else why_arm(known, arm)

    # ---- to take along ----

    def export(self, path: str | Path) -> int:
        """The rows that count, as a log that `evaluate` reads (.csv, .parquet), one line per person; how many. Beside it,
        ``<path>.toml``: the problem with the map of the log's columns."""
        target = checked_target(path)
        with self._core.database.reading() as connection:
            return exported(connection, self.running, target)

    def verify(self) -> Verification:
        """Whether what is stored is what it must be."""
        with self._core.database.reading() as connection:
            return Check(connection, self.running).run()
