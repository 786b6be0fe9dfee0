"""Logs without people in them, defects without words, counts by route."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from fairarm.service import Settings
from fairarm.service.guards import Guards
from service_world import World

MARK = "Mark-of-a-person"


def send_marks(world: World) -> list[Any]:
    """The mark wherever something can be sent, in requests that work and in requests that do not."""
    works = world.post("/assignments", {"unit": MARK, "group": "a"})
    id = works.json()["assignment"]
    row = {"side": "heads", "result": "win"}
    return [
        works,
        world.post("/assignments", {"unit": f"{MARK}-2", "group": MARK}),
        world.post("/assignments", {"unit": f"{MARK}-2", "group": {MARK: MARK}}),
        world.post("/assignments", {"unit": MARK * 20, "group": "a"}),
        world.post("/assignments", {"unit": "u", "group": "a", "known": {MARK: MARK}}),
        world.post("/assignments", {"unit": "u", "group": "a", "known": {"side": MARK}}),
        world.post("/assignments", {"unit": "u", "group": "a", MARK: MARK}),
        world.post("/assignments", {"unit": "u", "group": "a", "known": {"side": [MARK]}}),
        world.post("/outcomes", {"assignment": MARK, "row": row}),
        world.post("/outcomes", {"assignment": id, "row": {**row, "side": MARK}}),
        world.post("/outcomes", {"assignment": id, "row": {**row, MARK: MARK}}),
        world.post("/outcomes", {"assignment": id, "row": {**row, "result": MARK * 10}}),
        world.post(
            "/outcomes:batch",
            {"outcomes": [{"assignment": id, "row": {**row, "result": MARK}}, {"assignment": MARK, "row": {}}]},
        ),
        world.post(
            "/corrections", {"assignment": id, "row": {"result": MARK}, "reason": MARK, "confirm": MARK}, "admin"
        ),
        world.post(":forget", {"unit": MARK, "confirm": MARK}, "admin"),
        world.post(":forget", {"unit": MARK, "confirm": "coin"}, "admin"),
        world.http.get(f"/v1/studies/{MARK}", headers=world.headers("viewer")),
        world.http.get(f"/{MARK}?{MARK}={MARK}", headers=world.headers(MARK)),
        world.http.post(
            "/v1/studies/coin/assignments",
            content=f'{{"{MARK}'.encode(),
            headers=world.headers(content_type="application/json"),
        ),
    ]


def test_what_a_body_holds_is_in_no_answer_and_no_log(world: World) -> None:
    answers = send_marks(world)
    for answer in answers:
        sent_in_path = MARK in answer.request.url.path
        assert sent_in_path or MARK not in answer.text, (answer.request.url, answer.text)
    assert {answer.status_code for answer in answers} >= {201, 404, 422}
    assert MARK not in world.log.getvalue()
    for token in world.tokens.values():
        assert token not in world.log.getvalue()


def test_a_line_of_the_log_has_the_route_and_not_the_path(world: World) -> None:
    world.get("/verdict")
    line = world.lines()[-1]
    assert (line["event"], line["method"], line["route"], line["status"]) == (
        "request",
        "GET",
        "/v1/studies/{name}/verdict",
        200,
    )
    assert set(line) == {"at", "event", "method", "route", "status", "ms"}


def test_a_defect_says_nothing_of_itself(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError(f"row of {MARK}")

    monkeypatch.setattr(type(world.coin), "exposure", broken)
    monkeypatch.setattr(type(world.coin), "assigning", broken)
    http = TestClient(world.guards, base_url="http://127.0.0.1:8000", raise_server_exceptions=False)
    for answer in (http.post("/v1/studies/coin/assignments", json={"unit": MARK}, headers=world.headers()),):
        assert (answer.status_code, answer.json()["error"]) == (500, "defect")
        assert MARK not in answer.text
    assert MARK not in world.log.getvalue()
    defect = next(line for line in world.lines() if line["event"] == "defect")
    assert defect["error"] == "RuntimeError" and any("test_guards.py" in place for place in defect["where"])


def test_under_https_browsers_are_told_to_stay_there(world: World) -> None:
    settings = Settings.of("127.0.0.1", 8000, "https://studies.example.org")
    guards = Guards(world.guards.api, settings, world.guards.metrics, world.guards.lines)
    http = TestClient(guards, base_url="https://studies.example.org")
    assert "max-age" in http.get("/health").headers["strict-transport-security"]
    assert "strict-transport-security" not in world.http.get("/health").headers


def test_two_hosts_or_none_are_refused(world: World) -> None:
    import asyncio

    async def status(headers: list[tuple[bytes, bytes]]) -> int:
        sent: list[dict[str, Any]] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        scope = {
            "type": "http",
            "method": "GET",
            "path": "/health",
            "headers": headers,
            "query_string": b"",
            "raw_path": b"/health",
        }
        await world.guards(scope, receive, send)
        return int(sent[0]["status"])

    good = (b"host", b"127.0.0.1:8000")
    assert asyncio.run(status([good])) == 200
    assert asyncio.run(status([])) == 421
    assert asyncio.run(status([good, (b"host", b"evil.example")])) == 421


def test_requests_are_counted_by_route(world: World) -> None:
    for _ in range(3):
        world.get("/verdict")
    world.http.get("/nothing/here")
    text = world.http.get("/metrics", headers=world.headers("viewer")).text
    assert 'fairarm_requests_total{method="GET",route="/v1/studies/{name}/verdict",status="200"} 3.0' in text
    assert 'route="other",status="404"} 1.0' in text
    assert "coin" not in text


def test_web_sockets_are_closed(world: World) -> None:
    from starlette.websockets import WebSocketDisconnect

    with (
        pytest.raises(WebSocketDisconnect),
        world.http.websocket_connect("/v1/studies", headers=world.headers("admin")),
    ):
        pass


def test_the_log_is_one_json_document_per_line(world: World) -> None:
    world.get("/verdict")
    assert all(json.loads(line)["event"] for line in world.log.getvalue().splitlines())
