"""What a database holds, by statements of our own: what the package says of itself is not believed."""

from __future__ import annotations

import sqlite3
from typing import Any

from benchmarks.studies.places import Place


class Stored:
    """Read with the drivers alone."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Of one SELECT."""
        if self.place.kind == "SQLite":
            connection: Any = sqlite3.connect(self.place.url.removeprefix("sqlite:///"))
        else:
            import psycopg

            connection = psycopg.connect(self.place.url)
        try:
            return [tuple(row) for row in connection.execute(statement).fetchall()]
        finally:
            connection.close()
