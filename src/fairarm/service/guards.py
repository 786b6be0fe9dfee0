"""What stands before every route: Host, Origin, headers of answers, a line in the log, and a count.

Plain ASGI: as a middleware of the framework the same would double the time of a request.
"""

from __future__ import annotations

import time
from typing import Any

from fastapi import FastAPI
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairarm.service.answers import refused
from fairarm.service.logs import JsonLines
from fairarm.service.metrics import Metrics
from fairarm.service.settings import Settings

METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
CSP = (
    "default-src 'self'; style-src-attr 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "object-src 'none'"
)
HEADERS = [
    (b"content-security-policy", CSP.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]
"""Styles in attributes are those of our figures; they can neither run code nor load anything."""


class Guards:
    """An app behind the checks that do not depend on the route."""

    def __init__(self, api: FastAPI, settings: Settings, metrics: Metrics, lines: JsonLines) -> None:
        self.api = api
        self.settings = settings
        self.metrics = metrics
        self.lines = lines

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.api(scope, receive, send)
        elif scope["type"] == "http":
            await self._request(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        answer = _Answer(send, self._more_headers(scope))
        try:
            refusal = self._refusal(scope)
            await (self.api if refusal is None else refusal)(scope, receive, answer)
        except Exception as error:  # a defect: its kind and place go to the log, and nothing of it to the caller
            self.lines.error("defect", error, route=_route(scope))
            if answer.status == 0:
                await refused(500, "A defect of the service; its log says where.")(scope, receive, answer)
        seconds = time.perf_counter() - began
        method = scope["method"] if scope["method"] in METHODS else "other"
        self.metrics.request(method, _route(scope), answer.status, seconds)
        self.lines("request", method=method, route=_route(scope), status=answer.status, ms=round(1000 * seconds, 1))

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        origin = self.settings.origins.get(hosts[0].lower()) if len(hosts) == 1 else None
        if origin is None:
            return refused(421, "The service does not answer under this Host. Use its address, or set --public-url.")
        if scope["method"] not in ("GET", "HEAD") and any(o != origin for o in headers.getlist("origin")):
            return refused(403, "The request comes from a page of another origin.")
        scope["fairarm.origin"] = origin
        return None

    def _more_headers(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        host = Headers(scope=scope).get("host", "").lower()
        secure = self.settings.origins.get(host, "").startswith("https:")
        return [*HEADERS, *([(b"strict-transport-security", b"max-age=31536000")] if secure else [])]


class _Answer:
    """``send`` that adds the headers and remembers the status."""

    def __init__(self, send: Send, headers: list[tuple[bytes, bytes]]) -> None:
        self._send = send
        self._headers = headers
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            given = MutableHeaders(raw=list(message.get("headers", [])))
            missing = [(name, value) for name, value in self._headers if name.decode() not in given]
            message = {**message, "headers": [*given.raw, *missing]}
        await self._send(message)


def _route(scope: dict[str, Any] | Any) -> str:
    """The route as it is declared: a path holds names."""
    return getattr(scope.get("route"), "path", "other")
