"""The OpenAPI document is whole: every route, error and example, and each example is of the form it shows."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from fairarm.service.answers import CODES
from fairarm.service.roles import RoleRoute
from service_world import World


@pytest.fixture
def document(world: World) -> dict[str, Any]:
    answer = world.http.get("/openapi.json", headers=world.headers("caller"))
    found: dict[str, Any] = answer.json()
    return found


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(path, method, entry) for path, route in document["paths"].items() for method, entry in route.items()]


def fits(document: dict[str, Any], schema: dict[str, Any], example: Any) -> list[str]:
    whole = {**schema, "components": document["components"]}
    return [error.message for error in Draft202012Validator(whole).iter_errors(example)]


def test_every_route_is_described(world: World, document: dict[str, Any]) -> None:
    shown = {(path, method) for path, method, _ in operations(document)}
    for route in world.guards.api.router.routes:
        assert isinstance(route, RoleRoute)
        if not route.access.page and not route.path.startswith(("/static/", "/favicon", "/openapi.json")):
            assert all((route.path, method.lower()) in shown for method in route.methods or ())
    assert document["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}


def test_every_answer_has_an_example_that_fits(document: dict[str, Any]) -> None:
    for path, method, entry in operations(document):
        assert entry["summary"]
        for status, answer in entry["responses"].items():
            content = answer["content"]
            if "application/json" in content:
                example = content["application/json"]["example"]
                assert fits(document, content["application/json"]["schema"], example) == [], (path, method, status)
                if status >= "400" and path != "/ready":
                    assert example["error"] == CODES[int(status)]
            else:
                assert path in ("/metrics", "/v1/studies/{name}/export")


def test_every_body_has_an_example_that_fits(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for path, method, entry in operations(document):
        if method == "post":
            schema = entry["requestBody"]["content"]["application/json"]["schema"]
            for part in schema.get("anyOf", [schema]):
                named = schemas[part["$ref"].rpartition("/")[2]]
                assert fits(document, part, named["example"]) == [], path
                assert named["additionalProperties"] is False, path


def test_every_route_says_who_may_use_it_and_what_can_go_wrong(world: World, document: dict[str, Any]) -> None:
    for path, _, entry in operations(document):
        free = path in ("/health", "/ready")
        assert (entry["security"] == []) is free and (entry["x-role"] == "none") is free
        assert free or {"401", "403", "421", "500"} <= set(entry["responses"])
        if "{name}" in path:
            assert {"404", "422", "503"} <= set(entry["responses"])
        if "requestBody" in entry:
            assert {"400", "408", "413", "415", "422"} <= set(entry["responses"])
