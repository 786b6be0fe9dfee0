"""Types for TypeScript: those that are kept are those of the document, and a client that uses them works."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import playwright
import pytest

from fairarm.service.languages import main, openapi, typescript
from service_world import World, served

FOLDER = Path(__file__).parents[2] / "examples" / "typescript"
NODE = Path(playwright.__file__).parent / "driver" / "node"
"""Ships with playwright; it runs TypeScript by leaving the types out."""


def test_the_types_that_are_kept_are_those_of_the_service() -> None:
    assert (FOLDER / "fairarm.ts").read_text(encoding="utf-8") == typescript(openapi()), (
        "python -m fairarm.service.languages examples/typescript/fairarm.ts"
    )


def read_types(text: str) -> dict[str, dict[str, tuple[bool, str]]]:
    """Interfaces as they are written: by name, each key, whether it must be there, and its type."""
    found = {}
    for name, body in re.findall(r"^export interface (\w+) \{\n(.*?)^\}$", text, re.DOTALL | re.MULTILINE):
        keys = re.findall(r"^  (\w+|\"[^\"]+\")(\??): (.*);$", body, re.MULTILINE)
        found[name] = {key.strip('"'): (mark == "", kind) for key, mark, kind in keys}
    return found


def test_types_have_every_key_of_the_document() -> None:
    """Read back by rules of their own."""
    document = openapi()
    types = read_types(typescript(document))
    kinds = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}
    for name, schema in document["components"]["schemas"].items():
        if "properties" in schema:
            keys = types[name]
            assert list(keys) == list(schema["properties"])
            assert {key for key, (needed, _) in keys.items() if needed} == set(schema.get("required", []))
            for key, inner in schema["properties"].items():
                if "type" in inner and inner["type"] in kinds and "enum" not in inner and "const" not in inner:
                    assert keys[key][1] == kinds[inner["type"]], (name, key)
                if any(part.get("type") == "null" for part in inner.get("anyOf", [])):
                    assert keys[key][1].endswith("| null"), (name, key)
    assert set(types["Routes"]) == {
        f"{method.upper()} {path}" for path, route in document["paths"].items() for method in route
    }
    assert types["Monitor"]["name"][1] == '"law" | "drift" | "loss" | "coverage" | "guard"'


def run_example(url: str, token: str, *given: str, ms: str = "20000") -> list[Any]:
    env = {**os.environ, "FAIRARM_URL": url, "FAIRARM_TOKEN": token, "FAIRARM_MS": ms, "NODE_NO_WARNINGS": "1"}
    ran = subprocess.run([NODE, FOLDER / "client.ts", *given], capture_output=True, text=True, env=env, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_a_client_in_typescript(world: World) -> None:
    given = ("coin", "u-1", '"a"', "{}", '{"side": "heads", "result": "win"}')
    with served(world.guards) as url:
        person, told = run_example(url, world.tokens["caller"], *given)
        assert told == {"status": "new"} and not person["outside"]
        assert set(person) == set(read_types((FOLDER / "fairarm.ts").read_text())["Assigned"])
    (outside,) = run_example(url, world.tokens["caller"], *given)
    assert outside["outside"], "the service is gone: the person is served as before"


def test_files_are_written_by_their_ending(tmp_path: Path) -> None:
    main([str(tmp_path / "a.json"), str(tmp_path / "a.ts")])
    assert json.loads((tmp_path / "a.json").read_text())["openapi"].startswith("3.1")
    assert "export interface Routes" in (tmp_path / "a.ts").read_text()
    with pytest.raises(ValueError, match=r"\.txt"):
        main([str(tmp_path / "a.txt")])
