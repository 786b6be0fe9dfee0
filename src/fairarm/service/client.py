"""A study over HTTP: the methods of `Study`, for programs that must answer people in time whatever the service does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote

from pydantic import TypeAdapter

from fairarm.beliefs.findings import Finding
from fairarm.errors import OptionError
from fairarm.files import check_path, write_whole
from fairarm.service.owed import Owed
from fairarm.service.settings import BATCH, BATCH_ITEMS
from fairarm.service.wire import Unreachable, Wire
from fairarm.studies.answers import (
    ArmStanding,
    Assignment,
    CohortReport,
    Event,
    ExposureReport,
    HistoryPoint,
    Monitor,
    Outcome,
    StudyAnswer,
    StudyState,
    Summary,
    Told,
)
from fairarm.studies.errors import Busy, Conflict, Invalid, NotAllowed, NotFound, StudyError

T = TypeVar("T")
TIMEOUT = 0.1
"""Seconds in which a person gets an answer."""
PATIENCE = 10.0
"""Seconds for which any other call is tried again."""
CALLS = 32
"""Requests under way at once."""
CODES: dict[str, type[StudyError]] = {
    "not-found": NotFound,
    "conflict": Conflict,
    "not-allowed": NotAllowed,
    "busy": Busy,
}


class Client:
    """A study of a service.

        client = Client("http://127.0.0.1:8000", token)            # a token of one study, of the role caller
        a = client.assign("u-123", group="village")                # never takes longer than `timeout`
        client.tell(a.id, {"visit": "came"})                       # unless a.outside

    ``study``: its name, where the token is for all studies. ``timeout``: seconds after which `assign` answers by itself: the
    person is outside, served by ``deployed`` (else the deployed arm as the service last named it, else None: serve as before).
    What the service assigned too late is reported back as unserved. ``patience``: seconds for which other calls are repeated
    while the service is away; repeated calls change nothing. Threads may share a client; after a fork make a new one.
    """

    def __init__(
        self,
        url: str,
        token: str,
        study: str | None = None,
        *,
        timeout: float = TIMEOUT,
        patience: float = PATIENCE,
        deployed: str | None = None,
        calls: int = CALLS,
    ) -> None:
        if not 0 < timeout <= 60 or not 0 < patience <= 3600 or not 1 <= calls <= 1000:
            raise OptionError(
                "timeout must be in (0, 60] seconds, patience in (0, 3600] and calls in 1 … 1000; "
                f"got {timeout}, {patience} and {calls}."
            )
        self.timeout = timeout
        self._wire = Wire(url, token, patience, calls)
        self._name = study
        self._deployed = deployed
        self._pool = ThreadPoolExecutor(calls, "fairarm-client")
        self._owed = Owed(self._pay)

    def __repr__(self) -> str:
        return f"Client({self._wire.url!r}, study={self._name!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Report what was assigned too late, as far as the service answers within two seconds, and let go of it."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._owed.close(2.0)
        self._wire.close()

    # ---- people ----

    def assign(
        self, unit: str, group: str | Mapping[str, str] | None = None, known: Mapping[str, Any] | None = None
    ) -> Assignment:
        """What this person gets, within ``timeout``; outside where the service does not answer in time, is away or is busy."""
        body = {"unit": unit, "group": group if group is None or isinstance(group, str) else dict(group)}
        future = self._pool.submit(self._assigned, {**body, "known": None if known is None else dict(known)})
        try:
            found = future.result(self.timeout)
        except TimeoutError:
            if not future.cancel():  # it is on its way: what comes back is not served any more
                future.add_done_callback(self._too_late)
            return self._outside()
        except (Unreachable, Busy):
            return self._outside()
        if found.outside and found.arm is not None:
            self._deployed = self._deployed or found.arm
        return found

    def _assigned(self, body: dict[str, Any]) -> Assignment:
        found = self._wire.once("POST", self._path("/assignments"), body, tries=2).json()
        return Assignment(found.pop("assignment"), **found)

    def _outside(self) -> Assignment:
        return Assignment(None, self._deployed, None, None, outside=True, repeated=False)

    def _too_late(self, future: Future[Assignment]) -> None:
        """Whoever was known before may have been served before: only somebody new is reported."""
        if future.cancelled() or future.exception() is not None:
            return
        found = future.result()
        if found.id is not None and not found.outside and not found.repeated:
            self._owed.add(found.id)

    def _pay(self, id: str) -> None:
        self._wire.once("POST", self._path("/outcomes"), {"assignment": id, "unserved": True})

    def tell(self, id: str, row: Mapping[str, Any]) -> Told:
        """The outcome of an assignment: NotFound, Conflict, Invalid as `Study.tell`; `Unreachable` once patience is over."""
        return self._post(Told, "/outcomes", {"assignment": id, "row": dict(row)})

    def unserved(self, id: str) -> Told:
        """The person never got what was assigned: counts as lost."""
        return self._post(Told, "/outcomes", {"assignment": id, "unserved": True})

    def tell_many(self, outcomes: Sequence[Outcome]) -> list[Told | StudyError]:
        """Any number at once: one answer, or error, for each, in order."""
        found: list[Told | StudyError] = []
        for start in range(0, len(outcomes), BATCH_ITEMS):
            found += self._told([_item(each) for each in outcomes[start : start + BATCH_ITEMS]])
        return found

    def _told(self, items: list[dict[str, Any]]) -> list[Told | StudyError]:
        size = sum(
            80 + sum(len(str(word)) * 6 for pair in item.get("row", {}).items() for word in pair) for item in items
        )
        if size > BATCH and len(items) > 1:
            half = len(items) // 2
            return self._told(items[:half]) + self._told(items[half:])
        answer = self._wire.patiently("POST", self._path("/outcomes:batch"), {"outcomes": items}).json()
        return [_told(result) for result in answer["results"]]

    # ---- the hand on the button: tokens of the role admin ----

    def correct(self, id: str, row: Mapping[str, Any], reason: str) -> bool:
        """Another outcome than was told; whether it counts."""
        body = {"assignment": id, "row": dict(row), **self._because(reason)}
        return bool(self._wire.patiently("POST", self._path("/corrections"), body).json()["counts"])

    def forget(self, unit: str) -> bool:
        """Erase a person; whether there was one."""
        body = {"unit": unit, "confirm": self.name}
        return bool(self._wire.patiently("POST", self._path(":forget"), body).json()["erased"])

    def pause(self, reason: str, now: bool = False) -> None:
        """No cohort opens after the one that is open; ``now`` cuts that, which costs 3 nats of evidence."""
        self._wire.patiently("POST", self._path(":pause"), {"now": now, **self._because(reason)})

    def resume(self, reason: str) -> None:
        """Cohorts open again."""
        self._wire.patiently("POST", self._path(":resume"), self._because(reason))

    def close_study(self, reason: str, now: bool = False) -> None:
        """For good; `close` is the client's own."""
        self._wire.patiently("POST", self._path(":close"), {"now": now, **self._because(reason)})

    def drop(self, cohort: int, reason: str) -> None:
        """Leave out a cohort, an outage that is stated to be independent of outcomes."""
        self._wire.patiently("POST", self._path(":drop"), {"cohort": cohort, **self._because(reason)})

    def export(self, path: str | Path) -> None:
        """The rows that count, as a log that `evaluate` reads (.csv, .parquet), and beside it the problem, ``<path>.toml``."""
        target = Path(path)
        check_path(target, "export", (".csv", ".parquet"))
        for file, format in ((target, target.suffix[1:].lower()), (Path(f"{target}.toml"), "toml")):
            write_whole(file, self._wire.patiently("GET", self._path(f"/export?format={format}")).content, "export")

    # ---- what is known: tokens of the role viewer or admin ----

    @property
    def name(self) -> str:
        """The study's; where none was given, that of the token."""
        if self._name is None:
            self._name = self._wire.patiently("GET", "/v1/token").json()["study"]
            if self._name is None:
                raise OptionError("The token is for all studies: name one, Client(url, token, study='…').")
        return self._name

    @property
    def state(self) -> StudyState:
        """As of now."""
        return StudyState(self._wire.patiently("GET", self._path("")).json()["state"])

    @property
    def options(self) -> dict[str, Any]:
        """As the study was created."""
        found: dict[str, Any] = self._wire.patiently("GET", self._path("")).json()["options"]
        return found

    def summaries(self) -> tuple[Summary, ...]:
        """All studies that the token may see."""
        return self._read(tuple[Summary, ...], self._wire.patiently("GET", "/v1/studies").content)

    def verdict(self) -> StudyAnswer:
        """The answer, or how far it is."""
        return self._get(StudyAnswer, "/verdict")

    def findings(self) -> tuple[Finding, ...]:
        """What was noticed."""
        return self._get(tuple[Finding, ...], "/findings")

    def exposure(self) -> ExposureReport:
        """Whom the study has served with what."""
        return self._get(ExposureReport, "/exposure")

    def cohorts(self) -> tuple[CohortReport, ...]:
        """All, in order."""
        return self._get(tuple[CohortReport, ...], "/cohorts")

    def events(self) -> tuple[Event, ...]:
        """What happened, in order."""
        return self._get(tuple[Event, ...], "/events")

    def history(self) -> tuple[HistoryPoint, ...]:
        """P(best), P(fair) and the answer by settled cohort."""
        return self._get(tuple[HistoryPoint, ...], "/history")

    def arms(self) -> tuple[ArmStanding, ...]:
        """What is known of each arm."""
        return self._get(tuple[ArmStanding, ...], "/arms")

    def monitors(self) -> tuple[Monitor, ...]:
        """The tests of what the certificate rests on."""
        return self._get(tuple[Monitor, ...], "/monitors")

    # ---- parts ----

    def _path(self, rest: str) -> str:
        return f"/v1/studies/{quote(self.name, safe='')}{rest}"

    def _because(self, reason: str) -> dict[str, Any]:
        return {"reason": reason, "confirm": self.name}

    def _get(self, kind: type[T], rest: str) -> T:
        return self._read(kind, self._wire.patiently("GET", self._path(rest)).content)

    def _post(self, kind: type[T], rest: str, body: dict[str, Any]) -> T:
        return self._read(kind, self._wire.patiently("POST", self._path(rest), body).content)

    def _read(self, kind: type[T], content: bytes) -> T:
        return TypeAdapter(kind).validate_json(content)


def _item(outcome: Outcome) -> dict[str, Any]:
    if outcome.unserved:
        return {"assignment": outcome.id, "unserved": True}
    return {"assignment": outcome.id, "row": dict(outcome.row or {})}


def _told(result: dict[str, Any]) -> Told | StudyError:
    if result["error"] is None:
        return Told(result["status"])
    return CODES.get(result["error"], Invalid)(result["message"])
