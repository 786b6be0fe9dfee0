"""Every route × who knocks and how: nothing opens that should not."""

from __future__ import annotations

from typing import Any

import pytest

from service_world import ADDRESS, World

FORM, JSON = "application/x-www-form-urlencoded", "application/json"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
ROLES = ("caller", "viewer", "admin")
STUDY = "/v1/studies/{name}"
OPEN_TO: dict[tuple[str, str], str] = {
    ("GET", "/health"): "everybody",
    ("GET", "/ready"): "everybody",
    ("GET", "/login"): "everybody",
    ("POST", "/login"): "everybody",
    ("POST", "/logout"): "everybody",
    ("GET", "/static/dashboard.css"): "everybody",
    ("GET", "/static/dashboard.js"): "everybody",
    ("GET", "/static/icon.svg"): "everybody",
    ("GET", "/openapi.json"): "caller viewer admin",
    ("GET", "/v1/token"): "caller viewer admin",
    ("POST", f"{STUDY}/assignments"): "caller admin",
    ("POST", f"{STUDY}/outcomes"): "caller admin",
    ("POST", f"{STUDY}/outcomes:batch"): "caller admin",
    ("GET", "/metrics"): "viewer admin",
    ("GET", "/v1/studies"): "viewer admin",
    ("GET", STUDY): "viewer admin",
    ("GET", f"{STUDY}/verdict"): "viewer admin",
    ("GET", f"{STUDY}/cohorts"): "viewer admin",
    ("GET", f"{STUDY}/findings"): "viewer admin",
    ("GET", f"{STUDY}/exposure"): "viewer admin",
    ("GET", f"{STUDY}/arms"): "viewer admin",
    ("GET", f"{STUDY}/history"): "viewer admin",
    ("GET", f"{STUDY}/monitors"): "viewer admin",
    ("GET", f"{STUDY}/events"): "viewer admin",
    ("GET", "/"): "viewer admin",
    ("GET", "/studies/{name}"): "viewer admin",
    ("GET", "/studies/{name}/arms/{number}"): "viewer admin",
    ("POST", "/v1/studies"): "admin",
    ("POST", f"{STUDY}:pause"): "admin",
    ("POST", f"{STUDY}:resume"): "admin",
    ("POST", f"{STUDY}:close"): "admin",
    ("POST", f"{STUDY}:drop"): "admin",
    ("POST", f"{STUDY}/corrections"): "admin",
    ("POST", f"{STUDY}:forget"): "admin",
    ("GET", f"{STUDY}/export"): "admin",
    ("POST", "/studies/{name}/pause"): "admin",
    ("POST", "/studies/{name}/resume"): "admin",
    ("POST", "/studies/{name}/close"): "admin",
    ("POST", "/studies/{name}/drop"): "admin",
}
"""Every route and the roles of tokens that open it, by hand, as docs/service.md says: never read from the code under test."""
CLOSED = {route: roles for route, roles in OPEN_TO.items() if roles != "everybody"}


def is_page(path: str) -> bool:
    """For browsers: a cookie counts as token, and bodies are forms."""
    return path in ("/", "/login", "/logout") or path.startswith("/studies/")


def knock(world: World, method: str, path: str, token: str | None, **headers: str) -> Any:
    """A request with an empty body of the route's own kind, in the study `coin`."""
    given = world.headers(token, **headers)
    if method not in ("GET", "HEAD"):
        given.setdefault("content-type", FORM if is_page(path) else JSON)
        if is_page(path):
            given.setdefault("origin", ADDRESS)
    return world.http.request(
        method, in_coin(path), headers=given, content=b"" if method == "GET" else b"{}", follow_redirects=False
    )


def in_coin(path: str) -> str:
    return path.replace("{name}", "coin").replace("{number}", "0")


def opened(answer: Any) -> bool:
    """The route itself has looked at the request: it worked, or it found the body wanting."""
    return answer.status_code not in (401, 403, 405, 415, 421) and not (
        answer.status_code == 303 and answer.headers["location"] == "/login"
    )


def test_the_routes_are_those_of_the_table(world: World) -> None:
    there = [(method, route.path) for route in world.guards.api.router.routes for method in route.methods]  # type: ignore[attr-defined]
    assert sorted(there) == sorted(OPEN_TO)


def test_no_token_and_bad_tokens_open_nothing(world: World) -> None:
    world.studies.tokens.revoke("caller of other")
    bad = (None, "wrong", "", "a" * 5000, world.tokens["caller of other"], world.tokens["admin"][:-1])
    for method, path in CLOSED:
        for token in bad:
            assert not opened(knock(world, method, path, token)), (method, path, token)


def test_roles_open_what_they_may_and_nothing_else(world: World) -> None:
    for (method, path), roles in CLOSED.items():
        for role in ROLES:
            answer = knock(world, method, path, role)
            assert opened(answer) is (role in roles.split()), (method, path, role, answer.text)


def test_doors_that_are_open_to_everybody_ask_for_no_token(world: World) -> None:
    for method, path in set(OPEN_TO) - set(CLOSED):
        answer = knock(world, method, path, None)
        looked_at = {("POST", "/login"): 403, ("GET", "/ready"): 503}  # a form without a token; nobody has ticked
        assert answer.status_code in (200, 303, looked_at.get((method, path))), (method, path)


def test_tokens_of_another_study_open_nothing_here(world: World) -> None:
    for method, path in CLOSED:
        if "{name}" in path:
            for role in ROLES:
                assert not opened(knock(world, method, path, f"{role} of other")), (method, path, role)


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:8001", "127.0.0.1:8000.evil.example", "localhost", ""]
)
def test_another_host_opens_nothing(world: World, host: str) -> None:
    for method, path in OPEN_TO:
        assert knock(world, method, path, "admin", host=host).status_code == 421, (method, path)


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:8001", "https://127.0.0.1:8000", f"{ADDRESS}/"]
)
def test_another_origin_changes_nothing(world: World, origin: str) -> None:
    for method, path in OPEN_TO:
        if method not in ("GET", "HEAD"):
            assert knock(world, method, path, "admin", origin=origin).status_code == 403, (method, path)


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data", "application/xml", "", "application/jsonp"])
def test_bodies_of_another_kind_open_nothing(world: World, kind: str) -> None:
    for method, path in OPEN_TO:
        if method not in ("GET", "HEAD"):
            answer = knock(world, method, path, "admin", content_type=kind)
            assert answer.status_code == 415, (method, path, answer.text)
            wrong = JSON if is_page(path) else FORM
            assert knock(world, method, path, "admin", content_type=wrong).status_code == 415, path


def test_other_methods_open_nothing(world: World) -> None:
    known = {(method, in_coin(path)) for method, path in OPEN_TO}
    for _, path in sorted(known):
        for method in METHODS:
            if (method, path) not in known:
                answer = world.http.request(method, path, headers=world.headers("admin", content_type=JSON))
                misnamed = method == "GET" and path.startswith("/v1/studies/coin:")  # a study whose name cannot be
                assert answer.status_code == (422 if misnamed else 405), (method, path)


def test_a_cookie_counts_on_pages_alone(world: World) -> None:
    for method, path in OPEN_TO:
        if (method, path) in CLOSED and not is_page(path):
            answer = knock(world, method, path, None, cookie=f"fairarm={world.tokens['admin']}")
            assert answer.status_code == 401, (method, path)


def test_every_answer_has_the_headers_that_keep_browsers_safe(world: World) -> None:
    for method, path in OPEN_TO:
        for token in (None, "admin"):
            headers = knock(world, method, path, token).headers
            assert headers["content-security-policy"].startswith("default-src 'self';")
            assert "unsafe-inline" not in headers["content-security-policy"].replace(
                "style-src-attr 'unsafe-inline'", ""
            )
            assert (headers["x-content-type-options"], headers["x-frame-options"]) == ("nosniff", "DENY")
            assert "server" not in headers and "access-control-allow-origin" not in headers
