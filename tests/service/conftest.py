"""A service over a real database, in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fairarm.studies import Studies
from service_world import Clock, World, create_coin


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Two studies of the coin behind an app."""
    clock = Clock()
    with Studies(f"sqlite:///{tmp_path}/studies.db", clock=clock) as studies:
        for name in ("coin", "other"):
            create_coin(studies, name)
        yield World(studies, clock)
