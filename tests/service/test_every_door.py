"""Every route × who knocks and how: nothing opens that should not."""

from __future__ import annotations

from typing import Any

import pytest

from fairarm.service.roles import FORM, JSON, RoleRoute
from service_world import ADDRESS, World

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
ROLES = ("caller", "viewer", "admin")
OPEN_TO = {
    "any": {"caller", "viewer", "admin"},
    "caller": {"caller", "admin"},
    "viewer": {"viewer", "admin"},
    "admin": {"admin"},
}
"""By hand, as docs/service.md says: an admin may all, a caller and a viewer each their own."""


def routes(world: World) -> list[tuple[RoleRoute, str, str]]:
    """Each route, its method and a path of it in the study `coin`."""
    found = []
    for route in world.guards.api.router.routes:
        assert isinstance(route, RoleRoute)
        path = route.path.replace("{name}", "coin").replace("{number}", "0")
        found += [(route, method, path) for method in sorted(route.methods or ())]
    return found


def knock(world: World, route: RoleRoute, method: str, path: str, token: str | None, **headers: str) -> Any:
    """A request with an empty body of the route's own kind."""
    given = world.headers(token, **headers)
    if method not in ("GET", "HEAD"):
        given.setdefault("content-type", FORM if route.access.form else JSON)
        if route.access.form:
            given.setdefault("origin", ADDRESS)
    return world.http.request(
        method, path, headers=given, content=b"" if method == "GET" else b"{}", follow_redirects=False
    )


def opened(answer: Any) -> bool:
    """The route itself has looked at the request: it worked, or it found the body wanting."""
    return answer.status_code not in (401, 403, 405, 415, 421) and not (
        answer.status_code == 303 and answer.headers["location"] == "/login"
    )


def test_no_route_is_left_out(world: World) -> None:
    assert len(routes(world)) >= 25
    roles = {route.path: route.access.role for route, _, _ in routes(world)}
    assert [path for path, role in roles.items() if role == "none" and not path.startswith("/static")] == [
        path for path in ("/health", "/ready", "/login", "/logout") if path in roles
    ]
    assert roles["/v1/studies/{name}/assignments"] == "caller" and roles["/v1/studies/{name}/export"] == "admin"


def test_no_token_and_bad_tokens_open_nothing(world: World) -> None:
    world.studies.tokens.revoke("caller of other")
    bad = (None, "wrong", "", "a" * 5000, world.tokens["caller of other"], world.tokens["admin"][:-1])
    for route, method, path in routes(world):
        if route.access.role != "none":
            for token in bad:
                assert not opened(knock(world, route, method, path, token)), (method, path, token)


def test_roles_open_what_they_may_and_nothing_else(world: World) -> None:
    for route, method, path in routes(world):
        if route.access.role != "none":
            for role in ROLES:
                answer = knock(world, route, method, path, role)
                assert opened(answer) is (role in OPEN_TO[route.access.role]), (method, path, role, answer.text)


def test_tokens_of_another_study_open_nothing_here(world: World) -> None:
    for route, method, path in routes(world):
        if "{name}" in route.path:
            for role in ROLES:
                assert not opened(knock(world, route, method, path, f"{role} of other")), (method, path, role)


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:8001", "127.0.0.1:8000.evil.example", "localhost", ""]
)
def test_another_host_opens_nothing(world: World, host: str) -> None:
    for route, method, path in routes(world):
        assert knock(world, route, method, path, "admin", host=host).status_code == 421, (method, path)


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:8001", "https://127.0.0.1:8000", f"{ADDRESS}/"]
)
def test_another_origin_changes_nothing(world: World, origin: str) -> None:
    for route, method, path in routes(world):
        if method not in ("GET", "HEAD"):
            assert knock(world, route, method, path, "admin", origin=origin).status_code == 403, (method, path)


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data", "application/xml", "", "application/jsonp"])
def test_bodies_of_another_kind_open_nothing(world: World, kind: str) -> None:
    for route, method, path in routes(world):
        if method not in ("GET", "HEAD"):
            answer = knock(world, route, method, path, "admin", content_type=kind)
            assert answer.status_code == 415, (method, path, answer.text)
    other = [(route, method, path) for route, method, path in routes(world) if method == "POST"]
    for route, method, path in other:
        wrong = JSON if route.access.form else FORM
        assert knock(world, route, method, path, "admin", content_type=wrong).status_code == 415, path


def test_other_methods_open_nothing(world: World) -> None:
    known = {(method, path) for _, method, path in routes(world)}
    for _, _, path in routes(world):
        for method in METHODS:
            if (method, path) not in known:
                answer = world.http.request(method, path, headers=world.headers("admin", content_type=JSON))
                misnamed = method == "GET" and path.startswith("/v1/studies/coin:")  # a study whose name cannot be
                assert answer.status_code == (422 if misnamed else 405), (method, path)


def test_a_cookie_counts_on_pages_alone(world: World) -> None:
    for route, method, path in routes(world):
        if route.access.role != "none" and not route.access.page:
            answer = knock(world, route, method, path, None, cookie=f"fairarm={world.tokens['admin']}")
            assert answer.status_code == 401, (method, path)


def test_every_answer_has_the_headers_that_keep_browsers_safe(world: World) -> None:
    for route, method, path in routes(world):
        for token in (None, "admin"):
            headers = knock(world, route, method, path, token).headers
            assert headers["content-security-policy"].startswith("default-src 'self';")
            assert "unsafe-inline" not in headers["content-security-policy"].replace(
                "style-src-attr 'unsafe-inline'", ""
            )
            assert (headers["x-content-type-options"], headers["x-frame-options"]) == ("nosniff", "DENY")
            assert "server" not in headers and "access-control-allow-origin" not in headers
