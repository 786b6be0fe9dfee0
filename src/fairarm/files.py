"""Every file that is written: the path is checked before the work, and the file appears whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Sequence
from pathlib import Path

from fairarm.errors import OptionError


def check_path(path: Path, what: str, suffixes: Sequence[str] | None = None) -> None:
    """The format is known and a file can be made there: said before the work, not after it. No ``suffixes``: any will do."""
    if suffixes is not None and path.suffix.lower() not in suffixes:
        raise OptionError(f"A {what} is saved as {', '.join(suffixes)}; got '{path.name}'.")
    try:
        if not path.parent.is_dir():
            raise OptionError(f"The folder {path.parent} for the {what} does not exist. Make it first.")
        _replaceable(path, what)
        tried = _beside(path.resolve())
        tried.touch(exist_ok=False)
        tried.unlink()
    except (OSError, ValueError, RuntimeError) as error:
        raise _cannot(path, what, error) from None


def write_whole(path: str | Path, content: str | bytes, what: str) -> None:
    """Through a file beside it, renamed at the end: whoever reads ``path`` sees the old file or the new one, never a part.

    An existing file keeps its mode, and a link keeps pointing to its target, which is what is replaced.
    """
    beside: Path | None = None
    path = Path(path)
    try:
        data = content.encode("utf-8") if isinstance(content, str) else content
        target = path.resolve()
        mode = _replaceable(target, what)
        beside = _beside(target)
        with beside.open("xb") as file:
            if mode is not None:
                os.chmod(beside, mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except (OSError, ValueError, RuntimeError) as error:  # a full disk; text that is not Unicode; a loop of links
        raise _cannot(path, what, error) from None
    finally:
        if beside is not None:
            with contextlib.suppress(OSError):
                beside.unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    return path.with_name(f".fairarm-{secrets.token_hex(6)}.tmp")


def _replaceable(path: Path, what: str) -> int | None:
    """The mode of the file that is there; None if there is none. Only a file is replaced: no folder, no device."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise OptionError(f"The {what} {path} cannot be written: it is {kind}. Choose another name.")
    return stat.S_IMODE(status.st_mode)


def _cannot(path: Path, what: str, error: Exception) -> OptionError:
    if isinstance(error, OptionError):
        return error
    reason = "it holds text that is not Unicode" if isinstance(error, UnicodeError) else None
    reason = reason or (error.strerror if isinstance(error, OSError) else None) or str(error)
    return OptionError(f"The {what} {path} cannot be written: {reason}.")
