"""What a database holds, by statements of our own: what the package says of itself is not believed."""

from __future__ import annotations

import sqlite3
from typing import Any

from benchmarks.studies.places import Place


class Stored:
    """Read with the drivers alone."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def _connected(self) -> Any:
        if self.place.kind == "SQLite":
            return sqlite3.connect(self.place.url.removeprefix("sqlite:///"), timeout=30)
        import psycopg

        return psycopg.connect(self.place.url)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Of one SELECT."""
        connection = self._connected()
        try:
            return [tuple(row) for row in connection.execute(statement).fetchall()]
        finally:
            connection.close()

    def run(self, statement: str) -> None:
        """One statement that writes."""
        connection = self._connected()
        try:
            connection.execute(statement)
            connection.commit()
        finally:
            connection.close()

    def slots(self) -> list[tuple[int, int]]:
        """Cohort and card of every assignment."""
        return [
            (number, slot)
            for number, slot in self.rows("SELECT number, slot FROM fairarm_assignment WHERE slot IS NOT NULL")
        ]

    def assignments(self, study: str) -> dict[str, tuple[int, int]]:
        """Arm and cohort of every assignment of a study, by its id as callers see it."""
        found = self.rows(
            f"SELECT a.id, a.arm, a.number FROM fairarm_assignment a JOIN fairarm_study s ON s.id = a.study WHERE s.name = '{study}' "
            "AND a.slot IS NOT NULL"
        )
        return {f"{id:016x}": (arm, number) for id, arm, number in found}

    def told(self, study: str) -> set[str]:
        """The ids whose outcome is there."""
        found = self.rows(
            f"SELECT o.assignment FROM fairarm_outcome o JOIN fairarm_assignment a ON a.id = o.assignment "
            f"JOIN fairarm_study s ON s.id = a.study WHERE s.name = '{study}'"
        )
        return {f"{id:016x}" for (id,) in found}
