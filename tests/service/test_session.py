"""Browsers sign in with a token; the cookie is of no use to anybody else."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi import FastAPI
from starlette.responses import PlainTextResponse, Response
from starlette.testclient import TestClient

from fairarm.service import Settings, app
from fairarm.service.roles import access
from fairarm.service.session import add_session
from service_world import ADDRESS, World

FORM = {"content-type": "application/x-www-form-urlencoded", "origin": ADDRESS}


def pages(api: FastAPI, _: Any) -> None:
    add_session(api, api.state.doors, lambda wrong: "wrong token" if wrong else "which token?")

    @api.get("/", include_in_schema=False)
    @access("viewer", page=True)
    def home() -> Response:
        return PlainTextResponse("home")


def browser(world: World, address: str = ADDRESS) -> TestClient:
    settings = Settings.of("127.0.0.1", 8000, "https://studies.example.org")
    guards = app(world.studies, settings, pages=pages, lines=world.guards.lines)
    return TestClient(guards, base_url=address, follow_redirects=False)


def test_a_browser_is_sent_to_the_login_and_then_in(world: World) -> None:
    http = browser(world)
    sent = http.get("/", headers={"accept": "text/html"})
    assert (sent.status_code, sent.headers["location"]) == (303, "/login")
    assert http.get("/").status_code == 401, "what is no browser is told so"
    assert http.get("/login").text == "which token?"
    into = http.post("/login", content=f"token={world.tokens['viewer']}", headers=FORM)
    assert (into.status_code, into.headers["location"]) == (303, "/")
    cookie = into.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and "Secure" not in cookie
    assert http.get("/").text == "home"
    out = http.post("/logout", content="", headers=FORM)
    assert out.status_code == 303 and "Max-Age=0" in out.headers["set-cookie"]
    http.cookies.clear()
    assert http.get("/").status_code == 401


@pytest.mark.parametrize("token", ["", "wrong", "caller"])
def test_a_wrong_token_is_told_so_and_not_repeated(world: World, token: str) -> None:
    text = world.tokens.get(token, token)
    answer = browser(world).post("/login", content=f"token={text}", headers=FORM)
    assert (answer.status_code, answer.text) == (403, "wrong token")
    assert "set-cookie" not in answer.headers


def test_a_form_of_another_site_is_refused(world: World) -> None:
    body = f"token={world.tokens['viewer']}"
    for origin in ("https://evil.example", "null", None):
        headers = {key: value for key, value in {**FORM, "origin": origin}.items() if value is not None}
        assert browser(world).post("/login", content=body, headers=headers).status_code == 403


def test_under_https_the_cookie_stays_there(world: World) -> None:
    http = browser(world, "https://studies.example.org")
    headers = {**FORM, "origin": "https://studies.example.org"}
    into = http.post("/login", content=f"token={world.tokens['admin']}", headers=headers)
    assert "Secure" in into.headers["set-cookie"]


def test_a_token_in_an_address_is_not_a_login(world: World) -> None:
    http = browser(world)
    http.get(f"/login?token={world.tokens['viewer']}")
    assert http.get("/").status_code == 401
    assert world.tokens["viewer"] not in world.log.getvalue()
