"""Errors of the engine, of a body and of a route, as answers in one form.

A message of the engine may quote what was sent, which is right at a prompt. Here every such word is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from fairarm.errors import FairarmError, printable
from fairarm.service.answers import BODY_READ, refused
from fairarm.service.models import BODIES
from fairarm.studies.errors import Busy, Conflict, Invalid, NotAllowed, NotFound

STATUS: dict[type[FairarmError], int] = {NotFound: 404, Conflict: 409, Invalid: 422, Busy: 503, NotAllowed: 403}
"""By the class of an engine's error; any other that a user can put right is 422."""
USUAL = {
    404: "There is nothing under this path.",
    405: "The route does not take this method.",
    400: "The body cannot be read as JSON.",
}
SHOWN_ERRORS = 3
FIELDS = frozenset(field for body in BODIES for field in body.model_fields) | {"format"}
"""Names that are ours: they may stand in a message, whoever sent them."""


def add_error_answers(app: FastAPI) -> None:
    """Answers to what handlers raise."""
    app.add_exception_handler(FairarmError, _engine)
    app.add_exception_handler(RequestValidationError, _body)
    app.add_exception_handler(HTTPException, _route)
    app.add_exception_handler(Exception, _defect)


def status_of(error: FairarmError) -> int:
    """The status of an engine's error."""
    return next((status for kind, status in STATUS.items() if isinstance(error, kind)), 422)


async def _engine(request: Request, error: Exception) -> Response:
    if not isinstance(error, FairarmError):
        raise error
    return refused(status_of(error), Unsaid(request.scope.get(BODY_READ, b""))(str(error)))


class Unsaid:
    """Takes out of a message what a body holds: a message may end in a log, and a body holds units and rows of people."""

    def __init__(self, body: bytes) -> None:
        try:
            words = set(_words(json.loads(body))) if body else set()
        except (ValueError, RecursionError):
            words = set()
        self._words = sorted(words, key=len, reverse=True)

    def __call__(self, message: str) -> str:
        for word in self._words:
            start = re.escape(word[:CUT])
            rest = r"[^'\"]*" if len(word) > CUT else ""
            message = re.sub(rf"(?<!\w){start}{rest}(?!\w)", "…", message)
        return message


CUT = 20
"""Characters by which a long word is recognised, as messages cut what they quote."""


def _words(value: Any) -> Iterator[str]:
    """Every text, key and number of a document, but single digits and letters."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in FIELDS:
                yield from _words(key)
            yield from _words(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _words(inner)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        text = printable(str(value))
        if len(text) > 1:
            yield text


async def _body(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    return refused(422, "; ".join(_said(entry) for entry in error.errors()[:SHOWN_ERRORS]))


def _said(entry: Any) -> str:
    """Where in a body, and the rule; keys that are not ours are counted and not named."""
    if entry["type"] == "json_invalid":
        return "The body is not JSON"
    place = ".".join(str(part) for part in entry["loc"][1:] if isinstance(part, int) or part in FIELDS)
    if entry["type"] == "extra_forbidden":
        return f"{place or 'The body'} has a key that is not known here; leave it out"
    return f"{place or 'The body'}: {entry['msg']}"


async def _route(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    return refused(error.status_code, USUAL.get(error.status_code, "Refused."), error.headers)


async def _defect(request: Request, error: Exception) -> Response:
    """The guards log it: they get the error too."""
    return refused(500, "A defect of the service; its log says where.")
