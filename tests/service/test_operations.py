"""Is it there, can it work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fairarm.service.operations import Readiness
from service_world import World


def test_health_needs_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(world.studies), "ready", None)
    answer = world.http.get("/health")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_ready_when_a_write_works_and_cohorts_are_looked_after(world: World) -> None:
    world.studies.tick()
    answer = world.http.get("/ready")
    assert answer.status_code == 200
    assert answer.json()["ready"] and answer.json()["writes"] and answer.json()["tick_age"] < 60


@pytest.mark.parametrize("change", [{"writes": False}, {"tick_age": None}, {"tick_age": 1e4}], ids=repr)
def test_not_ready(world: World, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]) -> None:
    world.studies.tick()
    found = replace(world.studies.ready(), **change)
    monkeypatch.setattr(type(world.studies), "ready", lambda _: found)
    answer = world.http.get("/ready")
    assert answer.status_code == 503 and not answer.json()["ready"]


def test_nobody_can_make_the_database_write_by_asking(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.studies.tick()
    found, asked = world.studies.ready(), []
    monkeypatch.setattr(type(world.studies), "ready", lambda _: asked.append(1) or found)
    tried = Readiness(world.studies)
    assert {tried().status_code for _ in range(20)} == {200}
    assert len(asked) == 1
    monkeypatch.setattr("fairarm.service.operations.KEEPS_READY", 0.0)
    tried = Readiness(world.studies)
    assert {tried().status_code for _ in range(2)} == {200}
    assert len(asked) == 3, "later it is tried again"
