"""What is wrong in a file that a pydantic model reads: the first mistake, on one line."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from pydantic import BaseModel, ValidationError

FEW_KEYS = 8
"""As many are listed where none is meant."""


def first_error(
    error: ValidationError, root: type[BaseModel], keys: str, places: Mapping[str, type[BaseModel]] | None = None
) -> str:
    """Key, rule, what arrived, the way out; ``places``: models of the tables inside ``root`` by their name; ``keys`` says where all keys
    are listed."""
    errors = error.errors(include_url=False)
    for location in (e["loc"] for e in errors if e["type"] == "extra_forbidden"):
        if home := _home(location, places or {}):
            return f"`{location[-1]}` belongs to [{home}]: move it above the first [[...]]."
    first = errors[0]
    key = _key(first["loc"])
    if first["type"] == "missing":
        missing = ", ".join(_key(e["loc"]) for e in errors if e["type"] == "missing")
        return f"{missing}: not given, but needed."
    if first["type"] == "extra_forbidden":
        return f"{key}: there is no such key. {_nearest(first['loc'], root, places or {}) or keys}"
    rules = dict.fromkeys(e["msg"].removeprefix("Input should be ") for e in errors if _key(e["loc"]) == key)
    others = len({_key(e["loc"]) for e in errors}) - 1
    extra = f" ({others} more keys are wrong)" if others else ""
    return f"{key}: should be {', or '.join(rules)}; got {repr(first.get('input'))[:60]}.{extra}"


def _key(location: tuple[int | str, ...]) -> str:
    """problem.arms[1].table"""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location if not _is_branch(part))
    return "".join(parts).lstrip(".")


def _nearest(location: tuple[int | str, ...], root: type[BaseModel], places: Mapping[str, type[BaseModel]]) -> str:
    """The key that was meant, or those that there are in its place."""
    *above, word = (str(part) for part in location if isinstance(part, str) and not _is_branch(part))
    model = next((places[place] for place in reversed(above) if place in places), root)
    known = sorted(model.model_fields)
    if near := get_close_matches(word, known, n=1):
        return f"Did you mean '{near[0]}'?"
    return f"Keys here: {', '.join(known)}." if len(known) <= FEW_KEYS else ""


def _home(location: tuple[int | str, ...], places: Mapping[str, type[BaseModel]]) -> str:
    """The table above a list of tables that a key after [[...]] was meant for; "" where it is no key of one."""
    above = location[: next((i for i, part in enumerate(location) if isinstance(part, int)), 1) - 1]
    return next(
        (str(table) for table in above if table in places and location[-1] in places[str(table)].model_fields), ""
    )


def _is_branch(part: int | str) -> bool:
    """pydantic names the branch of a union in the location; readers of the message do not want it."""
    return isinstance(part, str) and (part in ("float", "str") or part.startswith(("literal[", "dict[", "list[")))
