"""Who may use which route. Every route declares it, and an app with one that does not cannot be made.

    @app.get("/v1/studies")
    @access("viewer")
    def …

The gate of a route stands before its body is read: who has no token for it makes the service do nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairarm.errors import FairarmError
from fairarm.service.answers import BODY_READ, refused
from fairarm.service.described import error, errors_of_gate
from fairarm.service.settings import BODY, KEEPS_TOKEN, Settings

if TYPE_CHECKING:
    from fairarm.studies import Studies, Token

Role = Literal["none", "any", "caller", "viewer", "admin"]
MAY: dict[Role, frozenset[str]] = {
    "any": frozenset(("caller", "viewer", "admin")),
    "caller": frozenset(("caller", "admin")),
    "viewer": frozenset(("viewer", "admin")),
    "admin": frozenset(("admin",)),
}
"""The roles of tokens that may use a route of this role. A route of role "none" takes no token."""

COOKIE = "fairarm"
TOKEN = "fairarm.token"
"""Where in a request's scope its token stands: role, study, label."""
SLOWEST_BODY = 30.0
"""Seconds in which a body must have come."""
LONGEST_TOKEN = 200
KEPT_TOKENS = 4096
FORM = "application/x-www-form-urlencoded"
JSON = "application/json"

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Access:
    """What a route asks of a request before it looks at its body.

    ``page``: for browsers, a cookie counts as token. ``form``: its body is a form and not JSON. ``body``: bytes at most.
    """

    role: Role
    page: bool = False
    form: bool = False
    body: int = BODY


def access(role: Role, *, page: bool = False, form: bool = False, body: int = BODY) -> Callable[[F], F]:
    """Declare who may use the route of an endpoint."""

    def declared(endpoint: F) -> F:
        endpoint.__dict__["fairarm_access"] = Access(role, page, form, body)
        return endpoint

    return declared


class RoleRoute(APIRoute):
    """A route behind its gate."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        self.access = declared_access(path, endpoint)
        token = self.access.role != "none"
        errors = errors_of_gate(token, "GET" not in (options.get("methods") or ()))
        options["responses"] = {code: error(code) for code in errors} | (options.get("responses") or {})
        options["openapi_extra"] = {"security": [{"token": []}] if token else [], "x-role": self.access.role}
        super().__init__(path, endpoint, **options)
        self.app = _Gate(self.app, self.access)


def declared_access(path: str, endpoint: Callable[..., Any]) -> Access:
    """What was declared of an endpoint; a route without it stops the start."""
    found = getattr(endpoint, "fairarm_access", None)
    if not isinstance(found, Access):
        raise FairarmError(f"The route {path} does not say who may use it. Declare it: @access('viewer').")
    return found


def check_roles(app: FastAPI) -> None:
    """Every route of an app has a gate; mounted apps and plain routes have none, and are refused."""
    for route in app.router.routes:
        if not isinstance(route, RoleRoute) or not isinstance(route.app, _Gate):
            raise FairarmError(
                f"The route {getattr(route, 'path', route)} has no gate. Add it by the app's own methods."
            )


class Doors:
    """Who is at the door: tokens by their digest, looked up at most every few seconds."""

    def __init__(self, studies: Studies, settings: Settings) -> None:
        self.settings = settings
        self._studies = studies
        self._found: dict[bytes, tuple[float, Token | None]] = {}

    async def token_of(self, headers: Headers, page: bool) -> Token | None:
        """The token of a request: its bearer, or on pages its cookie. None if there is none, or it is unknown."""
        kind, _, given = headers.get("authorization", "").partition(" ")
        text = given.strip() if kind.lower() == "bearer" else cookie_of(headers) if page and not kind else ""
        return await self.known(text)

    async def known(self, text: str) -> Token | None:
        """The token with this text. Both look-ups go by its SHA-256, so that their time says nothing about any token."""
        if not text or len(text) > LONGEST_TOKEN or not text.isascii():
            return None
        digest = hashlib.sha256(text.encode()).digest()
        until, token = self._found.get(digest, (0.0, None))
        now = time.monotonic()
        if now < until:
            return token
        token = await asyncio.to_thread(self._studies.tokens.of, text)
        if len(self._found) >= KEPT_TOKENS:
            self._found.clear()
        self._found[digest] = (now + KEEPS_TOKEN, token)
        return token


def cookie_of(headers: Headers) -> str:
    """The token in a browser's cookie."""
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


class _Gate:
    """Role, kind of body, size: checked before an endpoint reads anything."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app = app
        self.access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        answer = await self._role(scope, headers) or self._kind(scope, headers)
        if answer is None and scope["method"] not in ("GET", "HEAD"):
            body = await read_body(receive, self.access.body)
            if body is None:
                return  # the caller has gone: nobody waits for an answer
            if isinstance(body, bytes):
                scope[BODY_READ] = body
                receive = _Again(body, receive)
            else:
                answer = body
        await (self.app if answer is None else answer)(scope, receive, send)

    async def _role(self, scope: Scope, headers: Headers) -> Response | None:
        access = self.access
        if access.role == "none":
            return None
        doors: Doors = scope["app"].state.doors
        token = await doors.token_of(headers, access.page)
        if token is None:
            if access.page and scope["method"] == "GET" and "text/html" in headers.get("accept", ""):
                return RedirectResponse("/login", 303)
            return refused(401, NO_TOKEN, {"www-authenticate": "Bearer"})
        named = scope["path_params"].get("name")
        if token.role not in MAY[access.role]:
            return refused(403, f"This token has the role {token.role}; the route needs {access.role}.")
        if token.study is not None and named is not None and named != token.study:
            return refused(403, "This token is for another study. Use one of this study, or one for all studies.")
        scope[TOKEN] = token
        return None

    def _kind(self, scope: Scope, headers: Headers) -> Response | None:
        if scope["method"] in ("GET", "HEAD"):
            return None
        wanted = FORM if self.access.form else JSON
        if headers.get("content-type", "").partition(";")[0].strip().lower() != wanted:
            return refused(415, f"The body must be {wanted}. Say so in the header Content-Type.")
        if self.access.form and "origin" not in headers:
            return refused(403, "A form must come from a page of this service: the header Origin is missing.")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 15 or int(length) > self.access.body:
            return too_large(self.access.body)
        return None


NO_TOKEN = "A token is needed, in the header `Authorization: Bearer …`. `fairarm study token` makes one."


def too_large(most: int) -> Response:
    """The answer to a body over its limit; the connection ends, as the rest of the body is not read."""
    return refused(413, f"The body may have {most} bytes at most. Send less at a time.", {"connection": "close"})


async def read_body(receive: Receive, most: int) -> bytes | Response | None:
    """A body, counted as it comes: one without a length, or with a false one, ends at the limit too.

    None if the caller has gone before its end; an answer if it is too large or takes too long.
    """
    parts: list[bytes] = []
    size, more = 0, True
    try:
        async with asyncio.timeout(SLOWEST_BODY):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > most:
                    return too_large(most)
                more = message.get("more_body", False)
    except TimeoutError:
        return refused(408, f"The body took over {SLOWEST_BODY:g} s to come.", {"connection": "close"})
    return b"".join(parts)


class _Again:
    """``receive`` that gives a body that was read already, and then what comes after it."""

    def __init__(self, body: bytes, after: Receive) -> None:
        self._body: bytes | None = body
        self._after = after

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._after()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}
