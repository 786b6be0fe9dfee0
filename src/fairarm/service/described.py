"""The description of the API for other languages: every route with its answers, every error, an example of each."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from fairarm.service.answers import CODES, ErrorAnswer
from fairarm.service.models import Assigned, BatchAnswer, example_of

EXAMPLES: tuple[Any, ...] = (Assigned, BatchAnswer)
"""Models whose examples hold nulls."""


ERRORS = {
    400: ("The body cannot be read.", "The body cannot be read as JSON."),
    401: ("No token, or an unknown or revoked one.", "A token is needed, in the header `Authorization: Bearer …`."),
    403: (
        "The token has another role or study, or the request comes from a page of another origin.",
        "This token has the role viewer; the route needs caller.",
    ),
    404: ("No such study, assignment or cohort.", "There is no study of this name."),
    408: ("The body took too long to come.", "The body took over 30 s to come."),
    409: ("It contradicts what is stored.", "Another outcome was told for this assignment."),
    413: ("The body is too large.", "The body may have 1000000 bytes at most. Send less at a time."),
    415: (
        "The body is not JSON by its Content-Type.",
        "The body must be application/json. Say so in the header Content-Type.",
    ),
    421: ("The Host is not one of the service's own.", "The service does not answer under this Host."),
    422: ("The body or path is not what it must be.", "unit: String should have at least 1 character"),
    500: ("A defect of the service.", "A defect of the service; its log says where."),
    503: (
        "Too many calls wait, or the database does not answer: try again, nothing is done twice.",
        "Too many calls wait.",
    ),
}
STORED = (404, 422, 503)
"""What every route that names a study may answer."""


def error(status: int) -> dict[str, Any]:
    """How an error is described."""
    text, example = ERRORS[status]
    found: dict[str, Any] = {
        "model": ErrorAnswer,
        "description": text,
        "content": {"application/json": {"example": {"error": CODES[status], "message": example}}},
    }
    if status == 503:
        found["headers"] = {"Retry-After": {"description": "Seconds.", "schema": {"type": "string"}}}
    return found


def errors_of_gate(token: bool, body: bool) -> tuple[int, ...]:
    """Errors that the guards and a route's gate make."""
    return (*((401, 403) if token else ()), *((400, 403, 408, 413, 415, 422) if body else ()), 421, 500)


def said(
    summary: str, model: Any, example: Any, *errors: int, status: int = 200, also: int | None = None
) -> dict[str, Any]:
    """Options of a route: what it does, what it answers, an example, and the errors of its own. ``also``: a second status
    with the same kind of answer."""
    good = {"model": model, "content": {"application/json": {"example": example}}}
    responses: dict[int | str, dict[str, Any]] = {status: {**good, "description": summary}}
    if also is not None:
        responses[also] = {**good, "description": summary}
    responses |= {code: error(code) for code in errors}
    return {"summary": summary, "responses": responses, "status_code": status}


def complete(app: FastAPI) -> None:
    """Make the app's description: that tokens are bearer tokens, and examples as they were given (the framework leaves out nulls)."""
    document = app.openapi()
    document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for route in app.routes:
        entry = document["paths"].get(getattr(route, "path", ""), {})
        for method in getattr(route, "methods", None) or ():
            for status, answer in getattr(route, "responses", {}).items() if method.lower() in entry else ():
                content = entry[method.lower()]["responses"][str(status)].get("content", {})
                for kind, given in answer.get("content", {}).items():
                    if "example" in given:
                        content[kind]["example"] = given["example"]
    for model in EXAMPLES:
        schema = document["components"]["schemas"].get(model.__name__)
        if schema is not None:
            schema["example"] = example_of(model)
    app.openapi_schema = document


AT = "2026-01-06T00:00:00Z"
SUMMARY = {
    "name": "reminders",
    "problem": "reminders of a clinic",
    "state": "running",
    "created": AT,
    "pulls": 20000,
    "cohorts": 9,
    "settled": 1,
    "people": 4400,
    "status": "UNDECIDED",
    "arm": None,
    "recommended": "by-distance",
    "recommended_probability": 0.7,
    "void": False,
    "held": False,
}
COHORT = {
    "number": 1,
    "state": "open",
    "starts": AT,
    "opened": AT,
    "closes": "2026-01-07T00:00:00Z",
    "matures": "2026-01-14T00:00:00Z",
    "settles": "2026-01-14T00:01:00Z",
    "settled": None,
    "plan": {"as-now": 300, "by-distance": 325},
    "share": 0.25,
    "cards": 625,
    "dealt": 41,
    "told": 3,
    "late": 0,
    "unserved": 0,
    "lost": None,
    "counted": None,
    "filled": None,
    "erased": None,
    "cut": False,
    "reason": None,
    "why": {},
}
FINDING = {
    "name": "outcomes-drift",
    "message": "Outcomes follow the weekday.",
    "rows": 0,
    "examples": [],
    "level": "blocks the answer",
}
EXPOSURE = {
    "people": {"as-now": {"village": 120, "town": 131}, "by-distance": {"village": 122, "town": 127}},
    "total": 500,
    "doubted_now": 0,
    "doubted_then": 0,
    "given_up": 3.5,
    "against": "as-now",
}
ANSWER = {
    "study": "reminders",
    "state": "running",
    "status": "UNDECIDED",
    "arm": None,
    "reason": "not-proved-yet",
    "reason_text": "No answer is proved yet.",
    "recommended": "by-distance",
    "recommended_status": "FOUND",
    "recommended_probability": 0.7,
    "confidence": 0.95,
    "void": False,
    "void_by": [],
    "settled": 1,
    "out": 8,
    "people": 4400,
    "counted": 480,
    "filled": 0,
    "unserved": 1,
    "erased": 0,
    "lost": 20,
    "lost_means": "worst",
    "unserved_means": "worst",
    "cut": [],
    "dropped": [],
    "next_at": AT,
    "closes_at": AT,
    "assumed": [{"code": "graph-as-declared", "facts": {"sensitive": "home", "outcome": "visit"}}],
    "none_probability": 0.1,
    "findings": [],
}
EVENT = {
    "seq": 1,
    "at": AT,
    "actor": "shop",
    "kind": "created",
    "body": {},
    "state": "running",
    "prev": "",
    "hash": "9f86d081884c7d65",
}
HISTORY = {
    "cohort": 0,
    "at": AT,
    "best": {"as-now": 0.2, "by-distance": 0.7},
    "fair": {"as-now": 0.9, "by-distance": 0.8},
    "none": 0.1,
    "status": "UNDECIDED",
    "arm": None,
    "people": 500,
}
ARM = {
    "name": "by-distance",
    "outcome": 0.61,
    "interval": [0.55, 0.67],
    "certified": [0.4, 0.8],
    "rows": [],
    "closest": None,
    "best_probability": 0.7,
    "fair_probability": 0.8,
    "proof": None,
    "paused": False,
    "paused_by": None,
    "reason": "not-known",
    "people": 250,
    "counted": 230,
}
MONITOR = {"name": "drift", "value": -0.4, "threshold": 6.9, "alarm": False, "voids": False, "on": True, "detail": {}}
