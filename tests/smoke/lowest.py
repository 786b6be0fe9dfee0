"""The declared minimum of every dependency, as a list of constraints: ``python tests/smoke/lowest.py > lowest.txt``."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
OWN = "fairarm["
"""An extra that includes another."""
TOOLS = "dev"
"""The extra for work on fairarm itself: nobody needs its minimum."""

_NAME = re.compile(r"[A-Za-z0-9._-]+")
_MINIMUM = re.compile(r">=\s*([0-9][0-9A-Za-z.]*)")


def lowest(project: dict[str, Any]) -> list[str]:
    """name==minimum for each dependency of the package and of its extras; every one must declare a minimum."""
    extras: dict[str, list[str]] = project.get("optional-dependencies", {})
    wanted = [*project["dependencies"], *(each for name, given in extras.items() if name != TOOLS for each in given)]
    return list(dict.fromkeys(_pin(each) for each in wanted if not each.startswith(OWN)))


def _pin(requirement: str) -> str:
    name, minimum = _NAME.match(requirement), _MINIMUM.search(requirement)
    if name is None or minimum is None:
        raise SystemExit(f"pyproject.toml: '{requirement}' declares no minimum. Write it as name>=version.")
    return f"{name[0]}=={minimum[1]}"


if __name__ == "__main__":
    with (ROOT / "pyproject.toml").open("rb") as file:
        found = lowest(tomllib.load(file)["project"])
    sys.stdout.write("\n".join(found) + "\n")
