"""An empty database of each kind, and processes that can be killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from benchmarks.postgres import Postgres
from benchmarks.studies.__main__ import MODULES
from benchmarks.studies.fork_server import ForkServer, compiled
from benchmarks.studies.places import Place, postgres_place, sqlite_place

_NUMBERS = count()


@pytest.fixture(scope="session")
def fork_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    with ForkServer(compiled(tmp_path_factory.mktemp("kill")), MODULES) as server:
        yield server


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def place_of(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[], Place]:
    """A new, empty database each time."""
    if kind == "SQLite":
        return lambda: sqlite_place(tmp_path, f"empty{next(_NUMBERS)}")
    server: Postgres = request.getfixturevalue("postgres")
    return lambda: postgres_place(server, f"empty{next(_NUMBERS)}")


@pytest.fixture
def place(place_of: Callable[[], Place]) -> Iterator[Place]:
    made = place_of()
    yield made
    made.drop()
