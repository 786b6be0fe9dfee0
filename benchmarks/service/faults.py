"""What goes wrong with machines, done on purpose: after each fault nothing acknowledged is missing, and the next call works."""

from __future__ import annotations

import io
import json
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event

from benchmarks.postgres import Postgres
from benchmarks.service.load import ROW, Load, check_kept, run_callers, wait_for
from benchmarks.service.serving import Caller, Place, Serving, place
from fairarm import Client
from fairarm.service import Settings, app
from fairarm.service.logs import JsonLines
from fairarm.service.server import listen, server
from fairarm.studies import Studies, StudyError


@dataclass(frozen=True)
class Fault:
    """What a fault has done."""

    what: str
    acknowledged: int
    lost: int
    problems: tuple[str, ...]
    error: str
    """What a caller was told meanwhile."""
    next_works: bool


def outcome_of(what: str, where: Place, load: Load, error: str, port: int) -> Fault:
    """Look into the database, and call once more."""
    kept = check_kept(where, load)
    with Caller(port, where.token) as caller:
        status, _ = caller.post(f"/v1/studies/{where.study}/assignments", {"unit": f"after {what}", "group": "a"})
    problems = (*kept.problems, *load.errors)
    return Fault(
        what,
        len(load.assigned) + len(load.told),
        kept.lost_assignments + kept.lost_outcomes,
        problems,
        error,
        status == 201,
    )


def terminated(service: Serving, where: Place, callers: int, outcomes: int) -> Fault:
    """SIGTERM under load: what is under way is answered, what comes is refused, the process ends by itself with 0."""
    with run_callers(service, where, callers) as load:
        wait_for(load, outcomes)
        code = service.stop()
        refused = refused_connection(service.port)
        service.start()
        wait_for(load, outcomes)
    return outcome_of("SIGTERM", where, load, f"exit code {code}; then {refused}", service.port)


def killed(service: Serving, where: Place, callers: int, outcomes: int) -> Fault:
    """SIGKILL under load."""
    with run_callers(service, where, callers) as load:
        wait_for(load, outcomes)
        service.kill()
        refused = refused_connection(service.port)
        service.start()
        wait_for(load, outcomes)
    return outcome_of("kill -9", where, load, refused, service.port)


def refused_connection(port: int) -> str:
    """What a caller hears where nobody listens."""
    try:
        with Caller(port) as caller:
            caller.get("/health")
    except ConnectionError as error:
        return str(error)
    return "an answer"


def stalled(service: Serving, where: Place, timeout: float, people: int) -> Fault:
    """A service that stops in mid-air: a client answers by itself within twice its timeout."""
    longest, load = 0.0, Load()
    with Client(service.url, where.token, where.study, timeout=timeout, patience=5, deployed="even", calls=4) as client:
        for i in range(5):  # the first calls open connections
            client.assign(f"before the stall {i}", group="a")
        service.send(signal.SIGSTOP)
        try:
            for i in range(people):
                began = time.monotonic()
                found = client.assign(f"stalled {i}", group="a")
                longest = max(longest, time.monotonic() - began)
                if not found.outside:
                    load.errors.append("an answer of a service that is stopped")
        finally:
            service.send(signal.SIGCONT)
    if longest > 2 * timeout:
        load.errors.append(f"waited {longest:.2f} s")
    heard = f"outside, after {longest / timeout:.2f} × its timeout at most"
    return outcome_of("stalled", where, load, heard, service.port)


def postgres_gone(service: Serving, where: Place, database: Postgres, callers: int, outcomes: int) -> Fault:
    """The database ends without a word and comes back; the service stays."""
    path = f"/v1/studies/{where.study}/assignments"
    with run_callers(service, where, callers) as load:
        wait_for(load, outcomes)
        database.killed()
        with Caller(service.port, where.token) as caller:
            status, document = caller.post(path, {"unit": "while it is away", "group": "a"})
        database.started()
        wait_for(load, outcomes)
    return outcome_of("PostgreSQL restarted", where, load, f"{status} {document.get('error')}", service.port)


def cut(service: Serving, where: Place, number: int) -> Fault:
    """The connection ends in the middle of a tell, at every so many bytes, and once the answer is on its way."""
    load = Load()
    with Caller(service.port, where.token) as caller:
        for i in range(number):
            unit = f"cut {i}"
            _, document = caller.post(f"/v1/studies/{where.study}/assignments", {"unit": unit, "group": "a"})
            id = document["assignment"]
            load.assigned[unit] = (id, document["arm"])
            request = _request(service.port, where, id)
            with socket.create_connection(("127.0.0.1", service.port)) as connection:
                connection.sendall(request[: len(request) * i // (number - 1)])
            for _ in range(2):
                status, told = caller.post(f"/v1/studies/{where.study}/outcomes", {"assignment": id, "row": ROW})
                if status != 200 or told["status"] not in ("new", "repeated"):
                    load.errors.append(f"{status} {told}")
            load.told.add(unit)
    return outcome_of("cut in mid-tell", where, load, "the caller has gone", service.port)


def _request(port: int, where: Place, id: str) -> bytes:
    body = json.dumps({"assignment": id, "row": ROW}).encode()
    head = (
        f"POST /v1/studies/{where.study}/outcomes HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {where.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Disk:
    """SQLite's own error of a full disk, whenever a transaction would need another page."""

    def __init__(self) -> None:
        self.full = threading.Event()

    def __call__(self, connection: Any) -> None:
        if connection.dialect.name == "sqlite":
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar() if self.full.is_set() else 1 << 30
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")


@contextmanager
def small_disk() -> Iterator[Disk]:
    """A disk that tests fill; it holds for every database that is opened in this process."""
    disk = Disk()
    event.listen(Engine, "begin", disk)
    try:
        yield disk
    finally:
        event.remove(Engine, "begin", disk)


def disk_full(folder: Path, people: int) -> Fault:
    """The disk is full for a while, under a service in this process."""
    with small_disk() as disk:
        where = place(f"sqlite:///{folder}/full.db")
        with Studies(where.db) as studies:
            at = listen("127.0.0.1", 0)
            host = f"127.0.0.1:{at.getsockname()[1]}"
            made = server(app(studies, Settings({host: f"http://{host}"}), lines=JsonLines(io.StringIO())))
            thread = threading.Thread(target=made.run, kwargs={"sockets": [at]})
            thread.start()
            try:
                with Client(f"http://{host}", where.token, "coin", timeout=20, patience=2.0) as client:
                    return filled(disk, client, studies, people)
            finally:
                disk.full.clear()
                made.should_exit = True
                thread.join(60)
                at.close()


def filled(disk: Disk, client: Client, studies: Studies, people: int) -> Fault:
    """The disk is full for a while; ``client`` reaches a service in this process over ``studies``."""
    load, errors, refused = Load(), set(), 0
    for part, full in enumerate((False, True, False)):
        (disk.full.set if full else disk.full.clear)()
        for i in range(20 * people if full else people):  # what is free inside the file is used up first
            if full and refused >= people:
                break
            unit = f"{part}-{i}"
            found = client.assign(unit, group="a")
            if found.id is not None:
                load.assigned[unit] = (found.id, str(found.arm))
                try:
                    client.tell(found.id, ROW)
                    load.told.add(unit)
                except StudyError as error:
                    errors.add(type(error).__name__)
                    refused += 1
            elif full:
                errors.add("outside")
                refused += 1
            else:
                load.errors.append(f"{unit} is outside though the disk has room")
    study = studies.open("coin")
    lost = sum(study.assign(unit, group="a").id != id for unit, (id, _) in load.assigned.items())
    lost += sum(study.tell(load.assigned[unit][0], ROW).status != "repeated" for unit in load.told)
    works = not client.assign("after", group="a").outside
    problems = (*study.verify().problems, *load.errors)
    return Fault("disk full", len(load.assigned) + len(load.told), lost, problems, ", ".join(sorted(errors)), works)
