"""Declared roles, tokens that are kept for a moment, and bodies that are not read to their end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI
from starlette.routing import Mount, Route

from fairarm.errors import FairarmError
from fairarm.service import Settings, app
from fairarm.service.roles import RoleRoute, access, check_roles, read_body
from service_world import World


def test_a_route_without_a_role_stops_the_start(world: World) -> None:
    def open_page(api: FastAPI, _: Any) -> None:
        @api.get("/open")
        def show() -> str:
            return "open"

    with pytest.raises(FairarmError, match="/open does not say who may use it"):
        app(world.studies, Settings.of("127.0.0.1", 8000), pages=open_page)


@pytest.mark.parametrize("kind", ["mount", "route", "router"])
def test_a_route_without_a_gate_stops_the_start(world: World, kind: str) -> None:
    def add(api: FastAPI, _: Any) -> None:
        router = APIRouter()

        @router.get("/open")
        @access("none")
        def show() -> str:
            return "open"

        if kind == "router":
            api.include_router(router)
        else:
            api.router.routes.append(Mount("/open", FastAPI()) if kind == "mount" else Route("/open", show))

    with pytest.raises(FairarmError, match="has no gate"):
        app(world.studies, Settings.of("127.0.0.1", 8000), pages=add)


def test_every_route_of_the_app_has_a_gate(world: World) -> None:
    check_roles(world.guards.api)
    assert all(isinstance(route, RoleRoute) for route in world.guards.api.router.routes)


def test_a_revoked_token_works_no_longer_than_it_is_kept(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert world.get("/verdict", "viewer").status_code == 200
    assert world.studies.tokens.revoke("viewer of tests") == 1
    now = time.monotonic()
    monkeypatch.setattr("fairarm.service.roles.time.monotonic", lambda: now + 5.1)
    assert world.get("/verdict", "viewer").status_code == 401


def test_tokens_are_looked_up_once_and_bad_ones_do_not_fill_the_memory(world: World) -> None:
    doors, asked = world.guards.api.state.doors, []
    of = world.studies.tokens.of
    world.studies.tokens.of = lambda token: asked.append(token) or of(token)  # type: ignore[method-assign,func-returns-value]
    for _ in range(3):
        world.get("/verdict", "viewer")
        world.get("/verdict", "unknown")
    assert len(asked) == 2
    for i in range(5000):
        asyncio.run(doors.known(f"bad{i}")) if i % 500 == 0 else doors._found.setdefault(
            i.to_bytes(32, "big"), (0.0, None)
        )
    asyncio.run(doors.known("one more"))
    assert len(doors._found) <= 4096


def parts(*bodies: bytes, ends: bool = True) -> Any:
    """``receive`` that gives a body in parts, and then that the caller has gone."""
    messages: Iterator[dict[str, Any]] = iter(
        [
            *(
                {"type": "http.request", "body": body, "more_body": i < len(bodies) - 1 or not ends}
                for i, body in enumerate(bodies)
            ),
            {"type": "http.disconnect"},
        ]
    )

    async def receive() -> dict[str, Any]:
        return next(messages)

    return receive


def test_a_body_is_counted_as_it_comes() -> None:
    assert asyncio.run(read_body(parts(b"ab", b"", b"cd"), 4)) == b"abcd"
    too_large = asyncio.run(read_body(parts(b"ab", b"cde"), 4))
    assert too_large is not None and not isinstance(too_large, bytes) and too_large.status_code == 413
    assert asyncio.run(read_body(parts(b"ab", ends=False), 4)) is None, "the caller has gone"


def test_a_body_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairarm.service.roles.SLOWEST_BODY", 0.05)

    async def never() -> Any:
        await asyncio.sleep(60)

    answer = asyncio.run(read_body(never, 4))
    assert answer is not None and not isinstance(answer, bytes) and answer.status_code == 408


def test_limits_of_bodies(world: World) -> None:
    headers = world.headers("caller", content_type="application/json")
    big = b'{"unit": "' + b"u" * 1_000_000 + b'"}'
    for path, size, status in [
        ("/assignments", big, 413),
        ("/outcomes", big, 413),
        ("/outcomes:batch", big, 422),
        ("/outcomes:batch", big * 8, 413),
    ]:
        assert world.http.post(f"/v1/studies/coin{path}", content=size, headers=headers).status_code == status, path
        chunked = (size[i : i + 100_000] for i in range(0, len(size), 100_000))
        assert world.http.post(f"/v1/studies/coin{path}", content=chunked, headers=headers).status_code == status, path
    lies = {**headers, "content-length": "5"}
    assert world.http.post("/v1/studies/coin/assignments", content=iter([big]), headers=lies).status_code == 413
    assert (
        world.http.post(
            "/v1/studies/coin/assignments",
            content=big,
            headers=world.headers("viewer", content_type="application/json"),
        ).status_code
        == 403
    )
