"""Routes for those who run a service: is it there, can it work, what to watch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.responses import Response

from fairarm.service.answers import json_answer
from fairarm.service.metrics import Metrics
from fairarm.service.roles import access
from fairarm.service.ticking import Ticker

if TYPE_CHECKING:
    from fairarm.studies import Studies


def add_operations(app: FastAPI, studies: Studies, metrics: Metrics, ticker: Ticker) -> None:
    """Health, readiness, metrics and the description of the API."""

    @app.get("/health")
    @access("none")
    async def health() -> Response:
        return json_answer({"status": "ok"})

    @app.get("/ready")
    @access("none")
    def ready() -> Response:
        return json_answer({"status": "ok"})

    @app.get("/metrics")
    @access("viewer")
    def show_metrics() -> Response:
        return Response(metrics.text(), media_type="text/plain; version=0.0.4")

    @app.get("/openapi.json", include_in_schema=False)
    @access("any")
    def describe() -> Response:
        return json_answer(app.openapi())
