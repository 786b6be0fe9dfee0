"""What a service says: JSON bodies, and one form for every error.

An error names a code and the rule, never what was sent: bodies hold units and rows of people.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json
from starlette.responses import Response

from fairarm.errors import one_line

RETRY_AFTER = "1"
"""Seconds after which a caller that was refused for load may try again."""


BODY_READ = "fairarm.body"
"""Where in a request's scope its body stands, for those who must not repeat it."""


class ErrorAnswer(BaseModel):
    """Why a request was refused."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"error": "not-found", "message": "…"}})
    error: str = Field(description="A code: of the kind of error, stable.")
    message: str = Field(description="What is wrong and the way out, on one line, for people.")


CODES = {
    400: "malformed",
    401: "no-token",
    403: "not-allowed",
    404: "not-found",
    405: "no-such-method",
    408: "too-slow",
    409: "conflict",
    413: "too-large",
    415: "not-json",
    421: "other-host",
    422: "invalid",
    500: "defect",
    503: "busy",
}


def json_answer(document: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A document as JSON."""
    return Response(to_json(document), status, dict(headers or {}), "application/json")


def refused(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """An error as JSON, with its code."""
    more = {"retry-after": RETRY_AFTER} if status == 503 else {}
    return json_answer({"error": CODES[status], "message": one_line(message)}, status, {**more, **(headers or {})})
