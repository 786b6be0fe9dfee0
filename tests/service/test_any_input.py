"""Inputs made from the API's own description: no server error, and every answer as described."""

from __future__ import annotations

from benchmarks.service.any_input import run_cases

from service_world import World

CASES = 8
"""Right and wrong ones of each route; `make service-bench` makes 5 000 in all."""


def test_no_input_breaks_the_service(world: World) -> None:
    seen = run_cases(world.guards, {**world.headers("admin"), "host": "127.0.0.1:8000"}, "coin", CASES)
    assert sum(seen.values()) >= 150
    assert not [status for status in seen if status >= 500], seen
    assert {200, 404, 422} <= set(seen)
