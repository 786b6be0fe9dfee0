"""What was noticed of rows, of a log or of a run, by name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing noticed. ``voids``: with it nothing is certified, whatever the numbers say."""

    name: str
    message: str
    rows: int = 0
    examples: tuple[str, ...] = ()
    voids: bool = True
