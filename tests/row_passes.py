"""Passes over rows that are here, as a log's engine makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def passes_over(chunks: Callable[[], Iterable[Any]]) -> Any:
    """Passes over rows that come part by part."""

    def passed(start: Callable[[], Any]) -> Any:
        gathered = start()
        for part in chunks():
            gathered.add(part)
        return gathered

    return passed
