"""One door for network files: the extension says which reader opens them."""

from __future__ import annotations

from pathlib import Path

from fairarm.errors import ReadError
from fairarm.problem.network import Network
from fairarm.readers import bif, pyagrum_formats
from fairarm.readers.text import check_file, one_line

EXTENSIONS = (".bif", ".bif.gz", *pyagrum_formats.EXTENSIONS)
"""Every network format that can be read."""


def read_network(path: str | Path) -> Network:
    """The network in a file: BIF, plain or gzipped, by our own reader; other formats through pyagrum.

    The result's ``notes`` say what was put right, such as rows that did not sum to exactly 1.
    """
    path = Path(path)
    check_file(path, bif.MAX_BYTES)
    name = path.name.lower()
    if name.endswith((".bif", ".bif.gz")):
        return bif.read_bif(path)
    if name.endswith(pyagrum_formats.EXTENSIONS):
        return pyagrum_formats.read_with_pyagrum(path)
    raise ReadError(
        one_line(
            f"{path}: the extension '{path.suffix}' is not that of a network format. Known: {', '.join(EXTENSIONS)}. "
            "Rename the file, or save the network as BIF."
        )
    )
