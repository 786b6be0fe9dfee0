"""The time from the first to the last byte of an answer: one server, a listening socket as `listen` makes it and one of no protocol.

An answer leaves as two segments, headers and body. Without TCP_NODELAY the second waits until the caller has confirmed the first, which
callers put off for 40 ms. asyncio sets it only where the listening socket names its protocol.
"""

from __future__ import annotations

import io
import json
import multiprocessing
import re
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np

from benchmarks.service.serving import PATIENCE, Place
from fairarm.service import Settings, app
from fairarm.service.logs import JsonLines
from fairarm.service.server import listen, server
from fairarm.studies import Studies


@dataclass(frozen=True)
class LastByte:
    """Medians over assignments by one caller, in ms."""

    first_to_last: float
    whole: float
    """From the request to the last byte."""


def measure_last_byte(place: Place, requests: int) -> tuple[LastByte, LastByte]:
    """With the socket of `listen`, and with one of no protocol: requests to both take turns."""
    took: list[list[tuple[float, float]]] = [[], []]
    with ExitStack() as until:
        at = until.enter_context(listen("127.0.0.1", 0)), until.enter_context(listening_without_protocol())
        until.enter_context(answering(place, at))
        callers = [until.enter_context(socket.create_connection(each.getsockname())) for each in at]
        for i in range(2 * requests):
            took[i % 2].append(first_to_last(callers[i % 2], place, f"last byte {i}"))
    now, before = (LastByte(*(1000 * np.median(found, axis=0)).tolist()) for found in took)
    return now, before


@contextmanager
def listening_without_protocol() -> Iterator[socket.socket]:
    """As `listen` made it before."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as made:
        made.bind(("127.0.0.1", 0))
        made.listen(1024)
        yield made


@contextmanager
def answering(place: Place, sockets: Sequence[socket.socket]) -> Iterator[None]:
    """One server at all of them, in a process of its own: it shares no lock with callers. Who connects early waits."""
    process = multiprocessing.get_context("fork").Process(target=answer_at, args=(place, sockets))
    process.start()
    try:
        yield
    finally:
        process.terminate()
        process.join(PATIENCE)


def answer_at(place: Place, sockets: Sequence[socket.socket]) -> None:
    """Until SIGTERM."""
    hosts = [f"127.0.0.1:{at.getsockname()[1]}" for at in sockets]
    settings = Settings({host: f"http://{host}" for host in hosts})
    with Studies(place.db) as studies:
        server(app(studies, settings, lines=JsonLines(io.StringIO()))).run(sockets=list(sockets))


def first_to_last(caller: socket.socket, place: Place, unit: str) -> tuple[float, float]:
    """Seconds from the first byte of an answer to its last, and from the request to its last."""
    body = json.dumps({"unit": unit, "group": "a"}).encode()
    host, port = caller.getpeername()
    head = (
        f"POST /v1/studies/{place.study}/assignments HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {place.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    sent = time.perf_counter()
    caller.sendall(head.encode() + body)
    answer = caller.recv(1)
    began = time.perf_counter()
    while not whole(answer):
        answer += caller.recv(65536)
    ends = time.perf_counter()
    assert answer.startswith(b"HTTP/1.1 201"), answer[:200]
    return ends - began, ends - sent


def whole(answer: bytes) -> bool:
    """Whether headers and body are there."""
    head, found, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    return bool(found) and length is not None and len(body) >= int(length[1])
