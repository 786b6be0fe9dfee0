"""What all studies of a process share: the database, its writer, and what ticks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from fairarm.studies.database import Database
from fairarm.studies.ticking import Clockwork
from fairarm.studies.writer import Writer


@dataclass(frozen=True, eq=False)
class Core:
    """Of one `Studies`."""

    database: Database
    writer: Writer
    clockwork: Clockwork

    @classmethod
    def of(cls, database: Database) -> Self:
        """With a writer of its own."""
        writer = Writer(database)
        return cls(database, writer, Clockwork(database, writer))
