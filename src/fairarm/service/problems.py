"""Errors of the engine, of a body and of a route, as answers in one form.

A message of the engine may quote what was sent, which is right at a prompt. Here every such word is left out.
"""

from __future__ import annotations

import re
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from fairarm.errors import FairarmError
from fairarm.service.answers import refused

STATUS = {"NotFound": 404, "Conflict": 409, "Invalid": 422, "Busy": 503, "NotAllowed": 403}
"""By the class of an engine's error; any other that a user can put right is 422."""
USUAL = {
    404: "There is nothing under this path.",
    405: "The route does not take this method.",
    400: "The body cannot be read as JSON.",
}
SHOWN_ERRORS = 3


def add_error_answers(app: FastAPI) -> None:
    """Answers to what handlers raise."""
    app.add_exception_handler(FairarmError, _engine)
    app.add_exception_handler(RequestValidationError, _body)
    app.add_exception_handler(HTTPException, _route)


def status_of(error: FairarmError) -> int:
    """The status of an engine's error."""
    return next((STATUS[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in STATUS), 422)


async def _engine(request: Request, error: Exception) -> Response:
    if not isinstance(error, FairarmError):
        raise error
    return refused(status_of(error), str(error))


async def _body(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    return refused(422, "; ".join(_said(entry) for entry in error.errors()[:SHOWN_ERRORS]))


def _said(entry: Any) -> str:
    """Where in a body, and the rule; keys that are not ours are counted and not named."""
    if entry["type"] == "json_invalid":
        return "The body is not JSON"
    place = ".".join(str(part) for part in entry["loc"][1:] if isinstance(part, int) or _OURS.fullmatch(str(part)))
    if entry["type"] == "extra_forbidden":
        return f"{place or 'The body'} has a key that is not known here; leave it out"
    return f"{place or 'The body'}: {entry['msg']}"


_OURS = re.compile(r"[a-z_]{1,20}")


async def _route(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    return refused(error.status_code, USUAL.get(error.status_code, "Refused."), error.headers)
