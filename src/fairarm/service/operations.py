"""Routes for those who run a service: is it there, can it work, what to watch."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from starlette.responses import Response

from fairarm.service import models
from fairarm.service.answers import json_answer
from fairarm.service.described import said
from fairarm.service.metrics import Metrics
from fairarm.service.models import example_of
from fairarm.service.roles import access

if TYPE_CHECKING:
    from fairarm.studies import Studies


STALE = 6
"""Rounds of looking after cohorts that may be missed before a process is not ready."""


KEEPS_READY = 1.0
"""Seconds for which readiness is not tried again: nobody without a token can make the database write more often."""


class Readiness:
    """200 if a write works and cohorts are looked after, else 503."""

    def __init__(self, studies: Studies) -> None:
        self._studies = studies
        self._lock = threading.Lock()
        self._until = 0.0
        self._document: dict[str, Any] = {}

    def __call__(self) -> Response:
        with self._lock:
            if time.monotonic() >= self._until:
                self._document = self._tried()
                self._until = time.monotonic() + KEEPS_READY
            return json_answer(self._document, 200 if self._document["ready"] else 503)

    def _tried(self) -> dict[str, Any]:
        found = self._studies.ready()
        fresh = found.tick_age is not None and found.tick_age < STALE * max(self._studies.tick_every, 5.0)
        return {
            "ready": found.writes and fresh,
            "writes": found.writes,
            "tick_age": found.tick_age,
            "held": len(found.held),
            "waiting": found.waiting,
        }


def ready_options() -> dict[str, Any]:
    """How readiness is described: the same document whether ready or not."""
    example = example_of(models.Readiness)
    options = said("Whether a write works and cohorts are looked after", models.Readiness, example, also=503)
    options["responses"][503]["description"] = "Not ready"
    return options


def metrics_options() -> dict[str, Any]:
    """How metrics are described: text."""
    example = 'fairarm_requests_total{method="POST",route="/v1/studies/{name}/assignments",status="201"} 41.0'
    options = said("Counts for Prometheus", None, None)
    content = {"text/plain": {"schema": {"type": "string"}, "example": example}}
    options["responses"][200] = {"description": options["summary"], "content": content}
    return {**options, "response_class": Response}


def add_operations(app: FastAPI, studies: Studies, metrics: Metrics) -> None:
    """Health, readiness, metrics and the description of the API."""
    tried = Readiness(studies)

    @app.get("/health", **said("The process answers", models.Healthy, {"status": "ok"}))
    @access("none")
    async def health() -> Response:
        return json_answer({"status": "ok"})

    @app.get("/ready", **ready_options())
    @access("none")
    def ready() -> Response:
        return tried()

    @app.get("/metrics", **metrics_options())
    @access("viewer")
    def show_metrics() -> Response:
        return Response(metrics.text(), media_type="text/plain; version=0.0.4")

    @app.get("/openapi.json", include_in_schema=False)
    @access("any")
    def describe() -> Response:
        return json_answer(app.openapi())
