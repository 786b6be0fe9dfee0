"""The service for other languages: its OpenAPI document, and types for TypeScript made of it.

    python -m fairarm.service.languages examples/typescript/fairarm.ts openapi.json

writes either, by the end of the name; `tests/service/test_languages.py` compares the types with the document.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from fairarm.files import check_path, write_whole
from fairarm.service.application import app
from fairarm.service.settings import Settings

METHODS = ("get", "post")


def openapi() -> dict[str, Any]:
    """What the service says of itself. Nothing is served, so that no studies are needed."""
    return app(cast(Any, None), Settings({})).api.openapi()


def typescript(document: dict[str, Any]) -> str:
    """Types of all bodies and answers, and of every route which of them it takes and gives."""
    schemas = document["components"]["schemas"]
    parts = ["// Made by: python -m fairarm.service.languages examples/typescript/fairarm.ts\n"]
    parts += [_declaration(name, schema) for name, schema in sorted(schemas.items())]
    parts.append(
        "/** What each route takes and gives. */\nexport interface Routes {\n" + "".join(_routes(document)) + "}\n"
    )
    return "\n".join(parts)


def _declaration(name: str, schema: dict[str, Any]) -> str:
    about = _comment(schema.get("description"), "")
    if "properties" not in schema:
        return f"{about}export type {_name(name)} = {type_of(schema)};\n"
    required = set(schema.get("required", ()))
    lines = [
        f"{_comment(inner.get('description'), '  ')}  {_key(key)}{'' if key in required else '?'}: {type_of(inner)};\n"
        for key, inner in schema["properties"].items()
    ]
    return f"{about}export interface {_name(name)} {{\n{''.join(lines)}}}\n"


def _routes(document: dict[str, Any]) -> Iterator[str]:
    for path, route in document["paths"].items():
        for method in METHODS:
            if method in route:
                entry = route[method]
                body = _content(entry.get("requestBody", {}))
                good = [_content(answer) for status, answer in entry["responses"].items() if status < "300"]
                answer = " | ".join(dict.fromkeys(good))
                yield f"  {json.dumps(f'{method.upper()} {path}')}: {{ body: {body}; answer: {answer} }};\n"


def _content(part: dict[str, Any]) -> str:
    """The type of a body: of JSON its schema's, of anything else a text or bytes, undefined if there is none."""
    content = part.get("content", {})
    if "application/json" in content:
        return type_of(content["application/json"].get("schema", {}))
    return "undefined" if not content else "string" if "text/plain" in content else "Blob"


def type_of(schema: dict[str, Any]) -> str:
    """A schema as a type."""
    if "$ref" in schema:
        return _name(schema["$ref"].rpartition("/")[2])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " | ".join(dict.fromkeys(type_of(inner) for inner in schema[key]))
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    return _of_kind(schema)


def _of_kind(schema: dict[str, Any]) -> str:
    kind = schema.get("type")
    if kind == "array":
        if "prefixItems" in schema:
            return f"[{', '.join(type_of(inner) for inner in schema['prefixItems'])}]"
        inner = type_of(schema.get("items", {}))
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if kind == "object":
        inner = schema.get("additionalProperties", True)
        return f"Record<string, {type_of(inner) if isinstance(inner, dict) else 'unknown'}>"
    plain = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
    return plain.get(str(kind), "unknown")


def _name(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z_]\w*", key) else json.dumps(key)


def _comment(text: str | None, indent: str) -> str:
    return "" if not text else f"{indent}/** {' '.join(text.split()).replace('*/', '* /')} */\n"


def main(paths: list[str]) -> None:
    """Write each file."""
    document = openapi()
    for path in map(Path, paths):
        check_path(path, "description", (".ts", ".json"))
        text = (
            typescript(document) if path.suffix == ".ts" else json.dumps(document, indent=1, ensure_ascii=False) + "\n"
        )
        write_whole(path, text, "description")


if __name__ == "__main__":
    main(sys.argv[1:])
