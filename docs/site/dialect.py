"""What differs between the Markdown of a repository, of a docstring, and of the site."""

from __future__ import annotations

import re

_CODE = re.compile(r"`[^`\n]*`")
_EXAMPLE = re.compile(r"(^>>> .*\n?(?:.+\n?)*)", re.MULTILINE)
_LIKE_A_LINK = re.compile(r"\](?=[(\[])")


def of_page(text: str) -> str:
    """Within code in a table, a bar is written with a backslash in a repository, and without one in the site."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if line.startswith("|"):
            lines[i] = _CODE.sub(lambda code: code[0].replace(r"\|", "|"), line)
    return "\n".join(lines)


def of_docstring(text: str) -> str:
    """With a fence around each example, or ``>>>`` would be a quotation; outside them L[k, t](cell) is no link."""
    parts = _EXAMPLE.split(text)  # every other one is an example
    parts[::2] = [_LIKE_A_LINK.sub(r"]\\", part) for part in parts[::2]]
    parts[1::2] = [f"```pycon\n{part.rstrip()}\n```\n" for part in parts[1::2]]
    return "".join(parts)
