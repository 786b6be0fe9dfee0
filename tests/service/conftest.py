"""A service over a real database, in this process."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairarm.studies import Studies
from service_world import Clock, World, create_coin


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with two studies of the coin; tests work on copies."""
    path = tmp_path_factory.mktemp("service") / "studies.db"
    with Studies(f"sqlite:///{path}", clock=Clock()) as studies:
        for name in ("coin", "other"):
            create_coin(studies, name)
    return path


@pytest.fixture
def world(made: Path, tmp_path: Path) -> Iterator[World]:
    """Both studies behind an app."""
    path, clock = tmp_path / "studies.db", Clock()
    for end in ("", "-wal"):
        if Path(f"{made}{end}").exists():
            shutil.copyfile(f"{made}{end}", f"{path}{end}")
    with Studies(f"sqlite:///{path}", clock=clock) as studies:
        yield World(studies, clock)
