"""Tables that a benchmark writes into pages of the documentation, between two marks."""

from __future__ import annotations

from pathlib import Path

END = "<!-- end of table -->"


def paste(table: str, path: Path, name: str) -> None:
    """Replace what is between the marks of the table of this name."""
    text = path.read_text(encoding="utf-8")
    start = f"<!-- table: {name} -->"
    before, found, rest = text.partition(start)
    _, ended, after = rest.partition(END)
    if not (found and ended):
        raise ValueError(f"{path} has no place for the table '{name}': {start} … {END}.")
    path.write_text(f"{before}{start}\n\n{table}\n\n{END}{after}", encoding="utf-8")
