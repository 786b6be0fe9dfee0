"""Reading a text file safely: bounded in size, UTF-8, with errors that name the file and the line."""

from __future__ import annotations

import gzip
import stat
import zlib
from pathlib import Path

from fairarm.errors import ReadError
from fairarm.errors import one_line as one_line

_BOM = b"\xef\xbb\xbf"


def check_file(path: Path, limit: int) -> None:
    """Refuse what is missing, not a file, or larger than ``limit`` bytes, before it is opened."""
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else str(error)
        raise ReadError(one_line(f"{path}: {reason}. Check the path and the folder it starts from.")) from None
    if stat.S_ISDIR(status.st_mode):
        raise ReadError(one_line(f"{path}: is a directory. Name a file inside it."))
    if not stat.S_ISREG(status.st_mode):
        raise ReadError(one_line(f"{path}: is not a regular file. Save its content in one first."))
    if status.st_size > limit:
        raise ReadError(one_line(f"{path}: {status.st_size} bytes; the largest file read has {limit}."))


def read_bytes(path: Path, limit: int) -> bytes:
    """The content, unpacked if the name ends in ``.gz``; never more than ``limit`` bytes of it."""
    check_file(path, limit)
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
            data = stream.read(limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ReadError(one_line(f"{path}: cannot be read: {error}. Fetch or pack the file again.")) from None
    if len(data) > limit:
        raise ReadError(one_line(f"{path}: more than {limit} bytes when unpacked, the largest text read."))
    return data


def read_text(path: Path, limit: int) -> str:
    """The file as text: UTF-8, with or without a byte-order mark; line ends become ``\\n``."""
    data = read_bytes(path, limit)
    start = len(_BOM) if data.startswith(_BOM) else 0
    try:
        text = str(memoryview(data)[start:], "utf-8")
    except UnicodeDecodeError as error:
        at = start + error.start
        line = data.count(b"\n", 0, at) + 1
        raise ReadError(
            one_line(f"{path}:{line}: byte 0x{data[at]:02x} is not UTF-8 text. Save the file as UTF-8.")
        ) from None
    if (at := text.find("\0")) >= 0:
        line = text.count("\n", 0, at) + 1
        raise ReadError(one_line(f"{path}:{line}: a NUL byte; a text file is needed. Is it binary, or UTF-16?"))
    return text.replace("\r\n", "\n").replace("\r", "\n")
