"""Lets the reference show docstrings, which are written for a prompt, as Markdown."""

from __future__ import annotations

from typing import Any

import griffe
from dialect import of_docstring


class Readable(griffe.Extension):
    """Makes every docstring Markdown."""

    def on_object(self, *, obj: Any, **kwargs: Any) -> None:
        """Called for everything that was read."""
        if obj.docstring:
            obj.docstring.value = of_docstring(obj.docstring.value)
