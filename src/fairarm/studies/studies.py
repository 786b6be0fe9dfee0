"""All live studies of one database."""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from sqlalchemy import Connection, insert, select, update

from fairarm.algorithms.saved import fingerprint
from fairarm.errors import FairarmError
from fairarm.files import check_path
from fairarm.problem.problem import Problem
from fairarm.studies import hand, schema
from fairarm.studies.answers import Ready, StudyState, Summary
from fairarm.studies.clocks import ClockWatch, since_stored
from fairarm.studies.cohorts import latest
from fairarm.studies.core import Core
from fairarm.studies.database import Database
from fairarm.studies.errors import Conflict, Invalid, StudyError
from fairarm.studies.events import append, last_event, state_of
from fairarm.studies.options import SECOND, checked_options, moment, require_name, require_reason
from fairarm.studies.running import Running, find, given_unit_key, key_digest, live_rule, running
from fairarm.studies.schema import AnyRow
from fairarm.studies.study import Study
from fairarm.studies.summaries import summary_of
from fairarm.studies.tabulated import stored_text, tabulated
from fairarm.studies.tokens import Tokens

Result = TypeVar("Result")

MOST_TICK = 5.0
"""Seconds from one tick to the next, at most."""


class Studies:
    """The studies in a database: ``sqlite:///studies.db`` (one file, one process) or ``postgresql://…`` (many processes).

    ``clock`` gives the time as whole microseconds since 1970 in UTC, for tests; the database's own otherwise. ``unit_key`` keys the
    names under which people are kept (else FAIRARM_UNIT_KEY, else each study's own key).
    """

    def __init__(
        self,
        url: str,
        *,
        clock: Callable[[], int] | None = None,
        unit_key: bytes | str | None = None,
        monotonic: Callable[[], float] | None = None,
    ) -> None:
        self._unit_key = given_unit_key(unit_key)
        self._core = Core.of(Database(url, clock))
        self._clocks = ClockWatch(monotonic or (time.monotonic if clock is None else None))
        self._held: dict[int, Running] = {}
        self._compared: set[int] = set()
        """Studies for which the clock was compared with what is stored."""
        self._ticking = threading.Lock()
        self.tokens = Tokens(self._core.database, self._core.writer)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Studies({self._core.database.shown!r})"

    def close(self) -> None:
        """Commit what waits, refuse what comes, and let go of the database."""
        self._core.writer.close()
        self._core.database.close()

    # ---- studies ----

    def create(
        self,
        name: str,
        problem: Problem,
        *,
        pulls: int,
        people: int,
        arrivals: float,
        window: str | float,
        confidence: float = 0.95,
        cohort: str | float = "1d",
        cycle: str | float = "1d",
        group: str = "at arrival",
        lost: str = "worst",
        unserved: str = "worst",
        at_random_confirmed: bool = False,
        on_alarm: str = "pause",
        keep_rows: str = "always",
        on_end: str = "deployed",
        deployed: str | None = None,
        seed: int | None = None,
        start: str | datetime | None = None,
        actor: str = "",
    ) -> Study:
        """A new study, whose first cohort is open at once if ``start`` is not given.

        ``pulls``: people in all; ``people`` to enter a cohort, of ``arrivals`` a day. Durations: 10s, 30m, 12h, 7d, or days as a number.
        ``on_end``: what people who were assigned get after the end of the study, once their window is over: the "deployed" arm, or "keep" theirs.
        ``seed`` repeats a study's draws; leave it out where somebody who knows it could tell what a person will get.
        """
        require_name(name)
        require_reason("created", actor)
        if not isinstance(problem, Problem):
            raise Invalid(f"A problem is needed; got {type(problem).__name__}. Of a scenario, pass scenario.problem.")
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 1 << 62):
            raise Invalid(f"The seed is {seed!r:.40}. It is a whole number from 0 to below 2^62, or left out.")
        made = tabulated(problem)
        options = checked_options(
            made, self._now(), pulls=pulls, people=people, arrivals=arrivals, window=window, cohort=cohort, cycle=cycle, confidence=confidence,
            group=group, lost=lost, unserved=unserved, at_random_confirmed=at_random_confirmed, on_alarm=on_alarm, keep_rows=keep_rows,
            on_end=on_end, deployed=deployed, start=start, unit_key=key_digest(self._unit_key),
        )  # fmt: skip
        text = stored_text(made)
        try:
            live_rule(made, options).start(1)
        except FairarmError as error:
            raise Invalid(str(error)) from None
        row = {
            "name": name, "options": json.dumps(asdict(options)), "problem": text, "fingerprint": fingerprint(made),
            "key": _key(name, seed), "seed": secrets.randbits(62) if seed is None else seed,
        }  # fmt: skip
        self._core.writer.job(lambda connection, now: _created(connection, now, row, actor))
        study = self.open(name)
        self._compared.add(study.running.id)
        self._tick_one(study.running)
        return study

    def open(self, name: str, problem: Problem | None = None) -> Study:
        """A study that is there; ``problem``: an error where it is another one."""
        with self._core.database.reading() as connection:
            stored = find(connection, name)
        held = self._kept(stored)
        held.require_key()
        if problem is not None and fingerprint(tabulated(problem)) != held.fingerprint:
            raise Conflict(f"Study '{name}' is about another problem: arms, mechanisms, tolerance or costs differ.")
        return Study(self._core, held)

    def _kept(self, stored: AnyRow) -> Running:
        """What never changes of a study, read once."""
        if stored.id not in self._held:
            self._held[stored.id] = running(stored, self._unit_key)
        return self._held[stored.id]

    def names(self) -> tuple[str, ...]:
        """Of all studies, sorted."""
        with self._core.database.reading() as connection:
            return tuple(sorted(connection.execute(select(schema.study.c.name)).scalars()))

    def summaries(self) -> tuple[Summary, ...]:
        """All studies, by name."""
        with self._core.database.reading() as connection:
            stored = connection.execute(select(schema.study).order_by(schema.study.c.name)).all()
            return tuple(summary_of(connection, self._kept(row)) for row in stored)

    # ---- time ----

    def now(self) -> datetime:
        """By the clock that everything else goes by."""
        return moment(self._now())

    def _now(self) -> int:
        with self._core.database.reading() as connection:
            return self._core.database.now(connection)

    def tick(self) -> tuple[str, ...]:
        """Settle what has matured and open what is due, in every study; what was done ("reminders: settled 3"). Any process may, at any
        time: it happens once. A study that fails does not stop the others: its error is raised at the end."""
        if not self._ticking.acquire(blocking=False):
            return ()
        try:
            going, failed = self._going(), []
            done = self._watch_clock(going)
            for study in going:
                try:
                    done += self._tick_one(study)
                except StudyError as error:
                    failed.append(error)
            self._core.writer.job(lambda connection, now: connection.execute(update(schema.pulse).values(ticked=now)))
            self._core.database.scrub()
            if failed:
                raise failed[0]
            return tuple(done)
        finally:
            self._ticking.release()

    def _going(self) -> list[Running]:
        """Studies that are not over, whose key is at hand."""
        with self._core.database.reading() as connection:
            stored = connection.execute(select(schema.study).order_by(schema.study.c.id)).all()
            going = [row for row in stored if not state_of(connection, row.id).over]
        return [self._kept(row) for row in going]

    def _watch_clock(self, going: list[Running]) -> list[str]:
        """Hold studies where the clock was moved, or is far from what is stored: then the clock is wrong, or nobody ticked for long."""
        held = []
        with self._core.database.reading() as connection:
            now, pulse = self._core.database.now(connection), connection.execute(select(schema.pulse)).one()
            moved = self._clocks.apart(now / SECOND, pulse.confirmed)
            apart = {study.id: moved or self._apart(connection, study, now, pulse.ticked or 0) for study in going}
        for study in going:
            if (seconds := apart[study.id]) is not None and self._job(hand.hold, study, seconds):
                held.append(f"{study.name}: held until somebody confirms the clock (fairarm study confirm-clock)")
            self._compared.add(study.id)
        return held

    def _apart(self, connection: Connection, study: Running, now: int, ticked: int) -> float | None:
        """At a study's first tick in this process: a study that has not opened a cohort has nothing to lose."""
        if study.id in self._compared or latest(connection, study.id) is None:
            return None
        last = last_event(connection, study.id)
        return since_stored(now, max(ticked, 0 if last is None else last.at), study.options.cohort)

    def _job(self, run: Callable[..., Result], study: Running, *asked: Any) -> Result:
        return self._core.writer.job(lambda connection, now: run(connection, study, now, *asked))

    def _tick_one(self, study: Running) -> list[str]:
        with self._core.database.try_lock(study.id) as mine:
            return self._core.clockwork.tick(study) if mine else []

    @property
    def tick_every(self) -> float:
        """Seconds from one tick to the next: min(5, a twentieth of the shortest cohort)."""
        with self._core.database.reading() as connection:
            stored = connection.execute(select(schema.study.c.id, schema.study.c.options)).all()
            going = [json.loads(row.options) for row in stored if not state_of(connection, row.id).over]
        return min([MOST_TICK, *(float(each["cohort"]) / SECOND / 20 for each in going)])

    def confirm_clock(self, reason: str, actor: str) -> tuple[str, ...]:
        """The clock is right now: studies that were held go on; their names."""
        require_reason(reason, actor)
        with self._core.database.reading() as connection:
            stored = connection.execute(select(schema.study).order_by(schema.study.c.name)).all()
        names = []
        for study in map(self._kept, stored):
            if self._job(hand.confirm_clock, study, reason, actor):
                names.append(study.name)
        return tuple(names)

    # ---- keeping ----

    def backup(self, path: str | Path) -> None:
        """A whole copy of an SQLite database while it is in use; of PostgreSQL use pg_dump."""
        if not self._core.database.sqlite:
            raise Invalid("A PostgreSQL database is copied by its own tools: pg_dump.")
        target = Path(path)
        if target.exists():
            raise Conflict(f"{target.name} is there already. Name a new file for the backup.")
        try:
            check_path(target, "backup")
        except FairarmError as error:
            raise Invalid(str(error)) from None
        self._core.database.backup(target)

    def restored(self, reason: str, actor: str) -> tuple[str, ...]:
        """After a backup was put back: cut every cohort that is not settled, since what was told since is gone; "study: cut 3"."""
        require_reason(reason, actor)
        done = []
        for study in self._going():
            cut = self._job(hand.restored, study, reason, actor)
            done += [f"{study.name}: cut {number}" for number in cut]
        return tuple(done)

    @property
    def waiting(self) -> int:
        """Calls in this process that wait for their commit."""
        return self._core.writer.waiting

    def ready(self) -> Ready:
        """Whether this process can serve: a write works, ticks are fresh."""
        try:
            self._core.writer.job(lambda connection, now: connection.execute(update(schema.pulse).values(written=now)))
            with self._core.database.reading() as connection:
                now = self._core.database.now(connection)
                ticked = connection.execute(select(schema.pulse.c.ticked)).scalar()
                names = select(schema.study.c.name).where(schema.study.c.held == 1).order_by(schema.study.c.name)
                held = tuple(connection.execute(names).scalars())
        except StudyError:
            return Ready(False, None, (), self.waiting)
        return Ready(True, None if ticked is None else (now - ticked) / SECOND, held, self.waiting)

    def describe(self) -> dict[str, Any]:
        """The kind of database and where it is, without passwords."""
        database = self._core.database
        return {"kind": "sqlite" if database.sqlite else "postgresql", "url": database.shown}


def _key(name: str, seed: int | None) -> bytes:
    """Of decks and hashes: random, unless a seed asks for what was."""
    if seed is None:
        return secrets.token_bytes(32)
    return hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=32, person=b"fairarm seed").digest()


def _created(connection: Connection, now: int, row: dict[str, Any], actor: str) -> None:
    taken = connection.execute(select(schema.study.c.id).where(schema.study.c.name == row["name"])).scalar()
    if taken is not None:
        raise Conflict(f"There is a study '{row['name']}' already. Choose another name.")
    id = connection.execute(insert(schema.study).values(**row, created=now).returning(schema.study.c.id)).scalar_one()
    body = {"options": row["options"], "fingerprint": row["fingerprint"]}
    append(connection, id, now, actor, "created", body, StudyState.RUNNING)
