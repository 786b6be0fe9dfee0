"""Browsers sign in with a token: it goes into a cookie that scripts cannot read and other sites cannot send."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qsl

from fastapi import FastAPI, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from fairarm.service.roles import COOKIE, MAY, Doors, access

LoginPage = Callable[[bool], str]
"""The page that asks for a token; told whether the last one was wrong."""


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form; the gate has checked kind and size."""
    text = (await request.body()).decode("utf-8", "replace")
    return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=100))


def signed_in(response: Response, token: str, origin: str) -> Response:
    """Put a token into a browser's cookie, for a day at most; under https it never goes another way."""
    secure = origin.startswith("https:")
    response.set_cookie(COOKIE, token, max_age=86_400, secure=secure, httponly=True, samesite="strict")
    return response


def add_session(app: FastAPI, doors: Doors, page: LoginPage) -> None:
    """The routes by which a browser signs in and out."""

    @app.get("/login", include_in_schema=False)
    @access("none", page=True)
    def ask_for_token() -> Response:
        return HTMLResponse(page(False))

    @app.post("/login", include_in_schema=False)
    @access("none", page=True, form=True)
    async def sign_in(request: Request) -> Response:
        text = (await form_of(request)).get("token", "").strip()
        token = await doors.known(text)
        if token is None or token.role not in MAY["viewer"]:
            return HTMLResponse(page(True), 403)
        return signed_in(RedirectResponse("/", 303), text, request.scope["fairarm.origin"])

    @app.post("/logout", include_in_schema=False)
    @access("none", page=True, form=True)
    def sign_out() -> Response:
        response = RedirectResponse("/login", 303)
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return response
