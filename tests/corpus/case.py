"""One input of the corpus: what is given, and what must come of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Content = str | bytes | Callable[[Path], object]
"""Of a file: what stands in it, or what makes it."""


@dataclass(frozen=True)
class Case:
    """``refused`` is a part of the one line that must be said; None where the input is fine and must be answered.

    ``right`` looks at the JSON document of an answer.
    """

    kind: str
    name: str
    act: Callable[[Path], None]
    refused: str | None
    right: Callable[[Any], bool] | None = None


def command(
    kind: str,
    name: str,
    *arguments: str,
    files: Mapping[str, Content] | None = None,
    refused: str | None = None,
    right: Callable[[Any], bool] | None = None,
) -> Case:
    """The command as a user types it, in a folder that holds these files and nothing else."""

    def act(folder: Path) -> None:
        from fairarm.cli import main

        for path, content in (files or {}).items():
            make(folder / path, content)
        sys.argv = ["fairarm", *arguments]
        main()

    return Case(kind, name, act, refused, right)


def call(name: str, function: Callable[[Path], Any], refused: str | None = None, kind: str = "Python calls") -> Case:
    """A call in Python: its error is said as the command would say it; what it returns is printed as JSON."""

    def act(folder: Path) -> None:
        from fairarm.errors import FairarmError

        try:
            found = function(folder)
        except FairarmError as error:
            sys.stderr.write(f"fairarm: {error}\n")
            sys.exit(2)
        sys.stdout.write(json.dumps(found, default=str))

    return Case(kind, name, act, refused)


def make(path: Path, content: Content) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if callable(content):
        content(path)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
