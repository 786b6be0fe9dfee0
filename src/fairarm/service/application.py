"""The app: routes, each behind its gate, behind the guards."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING

from fastapi import FastAPI

from fairarm.service.described import complete
from fairarm.service.guards import Guards
from fairarm.service.logs import JsonLines
from fairarm.service.metrics import Metrics
from fairarm.service.operations import add_operations
from fairarm.service.problems import add_error_answers
from fairarm.service.roles import Doors, RoleRoute, check_roles
from fairarm.service.routes import add_studies
from fairarm.service.settings import Settings
from fairarm.service.ticking import Ticker

if TYPE_CHECKING:
    from fairarm.studies import Studies

AddPages = Callable[[FastAPI, "Studies"], None]


def app(
    studies: Studies,
    settings: Settings,
    *,
    pages: AddPages | None = None,
    lines: JsonLines | None = None,
) -> Guards:
    """The service over ``studies``, as an ASGI app; whoever made ``studies`` closes it, after the server has stopped.

    ``pages`` adds routes for browsers. ``app(…).api`` is the app of FastAPI inside the guards.
    """
    lines = lines or JsonLines()
    metrics = Metrics()
    metrics.waiting.set_function(lambda: studies.waiting)
    ticker = Ticker(studies, metrics, lines)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        ticker.start()
        lines("started")
        yield
        ticker.stop()
        lines("stopped")

    api = FastAPI(
        title="fairarm",
        version=version("fairarm"),
        description="Live studies over HTTP: who gets which arm, what came of it, and what is known.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    api.router.route_class = RoleRoute
    api.state.doors = Doors(studies, settings)
    api.state.studies = studies
    add_error_answers(api)
    add_operations(api, studies, metrics)
    add_studies(api, studies)
    if pages is not None:
        pages(api, studies)
    check_roles(api)
    complete(api)
    return Guards(api, settings, metrics, lines)
