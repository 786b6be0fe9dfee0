"""Callers for a while, the service killed in between: is anything lost that was acknowledged, or done twice?"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from benchmarks.service.serving import Place, Serving
from fairarm import Client
from fairarm.service.wire import Unreachable
from fairarm.studies import Studies

ROW = {"side": "heads", "result": "win"}


@dataclass
class Load:
    """What callers were told: by unit the assignment, and of these the ones whose outcome was acknowledged."""

    assigned: dict[str, tuple[str, str]] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    outside: int = 0
    longest: float = 0.0
    errors: list[str] = field(default_factory=list)
    kills: int = 0
    seconds: float = 0.0


@contextmanager
def run_callers(service: Serving, place: Place, callers: int, timeout: float = 1.0) -> Iterator[Load]:
    """``callers`` threads assign and tell, as long as the block lasts."""
    load, over, lock = Load(), threading.Event(), threading.Lock()
    client = Client(service.url, place.token, place.study, timeout=timeout, patience=60, deployed="even", calls=callers)
    threads = [threading.Thread(target=_call, args=(client, load, over, lock, number)) for number in range(callers)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    try:
        yield load
    finally:
        over.set()
        for thread in threads:
            thread.join(120)
        load.seconds = time.monotonic() - began
        client.close()


def wait_for(load: Load, outcomes: int) -> None:
    """Until so many more outcomes have been acknowledged, or something has gone wrong."""
    enough = len(load.told) + outcomes
    while len(load.told) < enough and not load.errors:
        time.sleep(0.01)


def run_load(service: Serving, place: Place, callers: int, seconds: float, kill_every: float) -> Load:
    """Callers for so many seconds; every so often the service is killed without notice and started again."""
    with run_callers(service, place, callers) as load:
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            time.sleep(kill_every)
            service.kill()
            service.start()
            load.kills += 1
    return load


def _call(client: Client, load: Load, over: threading.Event, lock: threading.Lock, number: int) -> None:
    rng, i = random.Random(number), 0
    while not over.is_set():
        i += 1
        unit = f"{number}-{i}"
        began = time.monotonic()
        try:
            found = client.assign(unit, group=rng.choice("ab"))
            took = time.monotonic() - began
            with lock:
                load.longest = max(load.longest, took)
                if found.id is None:
                    load.outside += 1
                else:
                    load.assigned[unit] = (found.id, str(found.arm))
            if found.id is not None:
                client.tell(found.id, ROW)
                with lock:
                    load.told.add(unit)
        except Unreachable:
            pass  # not acknowledged: nothing is promised
        except Exception as error:
            with lock:
                load.errors.append(f"{type(error).__name__}: {error}")


@dataclass(frozen=True)
class Kept:
    """What the database has of what was acknowledged."""

    lost_assignments: int
    lost_outcomes: int
    people: int
    counted_twice: int
    problems: tuple[str, ...]


def check_kept(place: Place, load: Load) -> Kept:
    """Ask the study itself again for everything that was acknowledged."""
    with Studies(place.db) as studies:
        study = studies.open(place.study)
        lost = 0
        for unit, (id, arm) in load.assigned.items():
            again: Any = study.why(unit=unit)
            lost += again.assignment is None or (again.assignment.id, again.assignment.arm) != (id, arm)
        untold = sum(study.tell(load.assigned[unit][0], ROW).status != "repeated" for unit in load.told)
        cohort = study.cohorts()[0]
        ids = {id for id, _ in load.assigned.values()}
        return Kept(lost, untold, cohort.dealt, len(load.assigned) - len(ids), study.verify().problems)
