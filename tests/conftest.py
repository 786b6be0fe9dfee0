"""Puts this folder on the path, so that tests in any subfolder can import the helpers that live beside it, and has the server that
several folders need."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.postgres import Postgres, postgres_server

sys.path.insert(0, str(Path(__file__).parent))
os.environ.pop("COLUMNS", None)  # output is as wide as on a pipe, whatever terminal runs the tests

with warnings.catch_warnings():
    # pyAgrum's first import warns about SWIG types, and a warning turned into an error there crashes the interpreter.
    warnings.filterwarnings("ignore", message="builtin type [Ss]wig", category=DeprecationWarning)
    import pyagrum  # noqa: F401


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server on a free port."""
    with postgres_server() as server:
        yield server
