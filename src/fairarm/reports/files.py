"""Where reports and figures are written: the path is checked before the work, and the file appears whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from fairarm.errors import OptionError


def check_path(path: Path, what: str, suffixes: Sequence[str]) -> None:
    """The format is known and the folder exists: said before the work, not after it."""
    if path.suffix.lower() not in suffixes:
        raise OptionError(f"A {what} is saved as {', '.join(suffixes)}; got '{path.name}'.")
    if not path.parent.is_dir():
        raise OptionError(f"The folder {path.parent} for the {what} does not exist. Make it first.")


def write_whole(path: Path, text: str, what: str) -> None:
    """Through a file beside it, renamed at the end: whoever reads ``path`` sees the old page or the new one."""
    beside = path.with_name(f".fairarm-{secrets.token_hex(6)}.tmp")
    try:
        with beside.open("x", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
        os.replace(beside, path)
    except OSError as error:
        raise OptionError(f"The {what} {path} cannot be written: {error.strerror}.") from None
    finally:
        beside.unlink(missing_ok=True)
