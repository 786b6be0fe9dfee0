"""Routes for those who run a service: is it there, can it work, what to watch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from starlette.responses import Response

from fairarm.service import models
from fairarm.service.answers import json_answer
from fairarm.service.described import said
from fairarm.service.metrics import Metrics
from fairarm.service.models import example_of
from fairarm.service.roles import access
from fairarm.service.ticking import Ticker

if TYPE_CHECKING:
    from fairarm.studies import Studies


STALE = 6
"""Rounds of looking after cohorts that may be missed before a process is not ready."""


def readiness(studies: Studies) -> Response:
    """200 if a write works and cohorts are looked after, else 503."""
    found = studies.ready()
    fresh = found.tick_age is not None and found.tick_age < STALE * max(studies.tick_every, 5.0)
    ready = found.writes and fresh
    document = {
        "ready": ready,
        "writes": found.writes,
        "tick_age": found.tick_age,
        "held": len(found.held),
        "waiting": found.waiting,
    }
    return json_answer(document, 200 if ready else 503)


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


def add_operations(app: FastAPI, studies: Studies, metrics: Metrics, ticker: Ticker) -> None:
    """Health, readiness, metrics and the description of the API."""

    @app.get("/health", **said("The process answers", models.Healthy, {"status": "ok"}))
    @access("none")
    async def health() -> Response:
        return json_answer({"status": "ok"})

    @app.get("/ready", **ready_options())
    @access("none")
    def ready() -> Response:
        return readiness(studies)

    @app.get("/metrics", **metrics_options())
    @access("viewer")
    def show_metrics() -> Response:
        return Response(metrics.text(), media_type="text/plain; version=0.0.4")

    @app.get("/openapi.json", include_in_schema=False)
    @access("any")
    def describe() -> Response:
        return json_answer(app.openapi())
