"""All live studies of one database."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fairarm.problem.problem import Problem
from fairarm.studies.answers import Ready, Role, Summary, Token
from fairarm.studies.study import Study


class Tokens:
    """Who may use a service. Of a token only the digest is kept."""

    def make(self, role: Role, study: str | None = None, label: str = "") -> str:
        """A new token, shown once."""

    def revoke(self, label_or_digest: str) -> int:
        """How many there were; from now on they are refused."""

    def of(self, token: str) -> Token | None:
        """Whose it is; None where it is unknown or revoked."""

    def all(self) -> tuple[Token, ...]:
        """Revoked ones too."""


class Studies:
    """The studies in a database: ``sqlite:///studies.db`` (one file, one process) or ``postgresql://…`` (many processes).

    ``clock`` gives the time as whole microseconds since 1970 in UTC, for tests; the database's own otherwise. ``unit_key`` keys the
    names under which people are kept (else FAIRARM_UNIT_KEY, else each study's own key).
    """

    tokens: Tokens

    def __init__(
        self,
        url: str,
        *,
        clock: Callable[[], int] | None = None,
        unit_key: bytes | str | None = None,
        monotonic: Callable[[], float] | None = None,
    ) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def close(self) -> None:
        """Commit what waits, refuse what comes, and let go of the database."""

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
        at_random_confirmed: bool = False,
        on_alarm: str = "pause",
        keep_rows: str = "always",
        deployed: str | None = None,
        seed: int | None = None,
        start: str | datetime | None = None,
        actor: str = "",
    ) -> Study:
        """A new study, whose first cohort is open at once if ``start`` is not given.

        ``pulls``: people in all; ``people`` to enter a cohort, of ``arrivals`` a day. Durations: 10s, 30m, 12h, 7d, or days as a number.
        """

    def open(self, name: str, problem: Problem | None = None) -> Study:
        """A study that is there; ``problem`` where it is made of code, checked by its fingerprint."""

    def names(self) -> tuple[str, ...]:
        """Of all studies, sorted."""

    def summaries(self) -> tuple[Summary, ...]:
        """All studies, by name."""

    def tick(self) -> tuple[str, ...]:
        """Settle what has matured and open what is due, in every study; what was done ("reminders: settled 3"). Any process may, at any
        time: it happens once."""

    @property
    def tick_every(self) -> float:
        """Seconds from one tick to the next: min(5, a twentieth of the shortest cohort)."""

    def backup(self, path: str | Path) -> None:
        """A whole copy of an SQLite database while it is in use; of PostgreSQL use pg_dump."""

    def restored(self, reason: str, actor: str) -> tuple[str, ...]:
        """After a backup was put back: cut every cohort that is not settled, since what was told since is gone."""

    def confirm_clock(self, reason: str, actor: str) -> tuple[str, ...]:
        """The clock is right now: studies that were held go on; their names."""

    def ready(self) -> Ready:
        """Whether this process can serve: a write works, ticks are fresh."""

    def describe(self) -> dict[str, Any]:
        """The kind of database and where it is, without passwords."""
