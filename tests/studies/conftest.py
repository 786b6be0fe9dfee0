"""Every test of studies runs on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from fairarm.studies import Studies
from study_people import Clock, Crowd, small_study

_NUMBERS = count()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/studies.db"
    server, name = request.getfixturevalue("postgres"), f"studies{next(_NUMBERS)}"
    with server.connect() as connection:
        connection.autocommit = True
        connection.execute(f"CREATE DATABASE {name}")
    return str(server.url()).rsplit("/", 1)[0] + f"/{name}"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def opened(url: str, clock: Clock) -> Iterator[Callable[..., Studies]]:
    """`Studies` of the database, as often as wanted: each is a process of its own to the others."""
    made: list[Studies] = []

    def open_once(**how: Any) -> Studies:
        made.append(Studies(url, **{"clock": clock, **how}))
        return made[-1]

    yield open_once
    for each in made:
        each.close()


@pytest.fixture
def studies(opened: Callable[..., Studies]) -> Studies:
    return opened()


@pytest.fixture
def crowd(studies: Studies, clock: Clock) -> Crowd:
    """People at a small study."""
    return Crowd(studies, small_study(studies), clock)


@pytest.fixture
def query(url: str) -> Callable[[str], list[tuple[Any, ...]]]:
    """Plain SQL by the plain driver: what is stored, whatever reads it otherwise."""

    def ask(sql: str) -> list[tuple[Any, ...]]:
        if url.startswith("sqlite"):
            import sqlite3

            connection: Any = sqlite3.connect(url.removeprefix("sqlite:///"))
        else:
            import psycopg

            connection = psycopg.connect(url)
        try:
            found = connection.execute(sql)
            rows = found.fetchall() if found.description else []
            connection.commit()
            return [tuple(row) for row in rows]
        finally:
            connection.close()

    return ask
