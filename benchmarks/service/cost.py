"""What a request costs beside an empty one: CPU of the service, waiting at 16 callers, batches, memory."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

import numpy as np

from benchmarks.service.last_byte import LastByte, measure_last_byte
from benchmarks.service.serving import Caller, Place, Serving

ROW = {"side": "heads", "result": "win"}
PARTS = 10
"""Assignments and empty requests take turns in so many parts, so that a busy machine is busy for both."""


@dataclass(frozen=True)
class Cost:
    """Ratios are what counts: seconds are of one machine."""

    empty_ms: float
    assign_ms: float
    empty_many_ms: float
    """CPU per request with all callers at once, as below."""
    assign_many_ms: float
    tell_ms: float
    single_a_second: float
    batch_a_second: float
    single_cpu_ms: float
    batch_cpu_ms: float
    p50_ms: float
    p99_ms: float
    callers: int
    a_second: float
    megabytes: float
    last_byte: LastByte
    without_protocol: LastByte
    """The same at a listening socket of no protocol."""


def measure(service: Serving, place: Place, requests: int, callers: int, seconds: float, batch: int) -> Cost:
    """All of it against one service that is warm."""
    with Caller(service.port, place.token) as caller:
        return _measured(service, caller, place, requests, callers, seconds, batch)


def _measured(
    service: Serving, caller: Caller, place: Place, requests: int, callers: int, seconds: float, batch: int
) -> Cost:
    ids = _assign(caller, place, "warm", 50)
    [caller.get("/health") for _ in range(50)]
    empty, assign, tell, told = 0.0, 0.0, 0.0, 0.0
    for part in range(PARTS):
        number = requests // PARTS
        before = service.cpu()
        for _ in range(number):
            caller.get("/health")
        between = service.cpu()
        ids = _assign(caller, place, f"part {part}", number)
        after = service.cpu()
        began = time.perf_counter()
        _tell(caller, place, ids)
        told += time.perf_counter() - began
        empty, assign, tell = empty + between - before, assign + after - between, tell + service.cpu() - after
    batch_seconds, batch_cpu, batched = _batches(service, caller, place, requests, batch)
    _, _, empty_many = _callers(service, place, callers, seconds / 4, assigns=False)
    waits, took, assign_many = _callers(service, place, callers, seconds)
    last_byte, without_protocol = measure_last_byte(place, requests // PARTS)
    return Cost(
        empty_ms=1000 * empty / requests,
        assign_ms=1000 * assign / requests,
        empty_many_ms=1000 * empty_many,
        assign_many_ms=1000 * assign_many,
        tell_ms=1000 * tell / requests,
        single_a_second=requests / told,
        batch_a_second=batched / batch_seconds,
        single_cpu_ms=1000 * tell / requests,
        batch_cpu_ms=1000 * batch_cpu / batched,
        p50_ms=1000 * float(np.quantile(waits, 0.5)),
        p99_ms=1000 * float(np.quantile(waits, 0.99)),
        callers=callers,
        a_second=len(waits) / took,
        megabytes=service.largest(),
        last_byte=last_byte,
        without_protocol=without_protocol,
    )


def _assign(caller: Caller, place: Place, what: str, number: int) -> list[str]:
    path = f"/v1/studies/{place.study}/assignments"
    found = [caller.post(path, {"unit": f"{what} {i}", "group": "ab"[i % 2]}) for i in range(number)]
    assert {status for status, _ in found} == {201}, found[0]
    return [str(document["assignment"]) for _, document in found]


def _tell(caller: Caller, place: Place, ids: list[str]) -> None:
    path = f"/v1/studies/{place.study}/outcomes"
    statuses = {caller.post(path, {"assignment": id, "row": ROW})[0] for id in ids}
    assert statuses == {200}


def _batches(service: Serving, caller: Caller, place: Place, requests: int, batch: int) -> tuple[float, float, int]:
    ids = _assign(caller, place, "batch", requests)
    path = f"/v1/studies/{place.study}/outcomes:batch"
    began, before = time.perf_counter(), service.cpu()
    for start in range(0, len(ids), batch):
        items = [{"assignment": id, "row": ROW} for id in ids[start : start + batch]]
        status, answer = caller.post(path, {"outcomes": items})
        assert status == 200
        assert {item["status"] for item in answer["results"]} == {"new"}
    return time.perf_counter() - began, service.cpu() - before, len(ids)


def _callers(
    service: Serving, place: Place, callers: int, seconds: float, assigns: bool = True
) -> tuple[list[float], float, float]:
    """How long each of many assignments, or empty requests, took with so many callers at once; seconds in all; CPU of each."""
    waits: list[list[float]] = [[] for _ in range(callers)]
    ends = time.perf_counter() + seconds
    path = f"/v1/studies/{place.study}/assignments"

    def call(number: int) -> None:
        i = 0
        with Caller(service.port, place.token) as caller:
            while time.perf_counter() < ends:
                i += 1
                began = time.perf_counter()
                body = {"unit": f"many {number}-{i}", "group": "ab"[i % 2]}
                status, _ = caller.post(path, body) if assigns else caller.get("/health")
                waits[number].append(time.perf_counter() - began)
                assert status == (201 if assigns else 200)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(callers)]
    began, before = time.perf_counter(), service.cpu()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [wait for each in waits for wait in each]
    return found, time.perf_counter() - began, (service.cpu() - before) / len(found)
