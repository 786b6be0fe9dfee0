"""Puts this folder on the path, so that tests in any subfolder can import the helpers that live beside it, keeps tests that share a
fixture together, and has the server that several folders need."""

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


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that use a fixture of their module run on one worker, where it is computed once; each of its parameters is a group."""
    for item in items:
        known = item._fixtureinfo.name2fixturedefs  # type: ignore[attr-defined]
        shared = [name for name, found in known.items() if found[-1].scope == "module"]
        if shared and item.get_closest_marker("xdist_group") is None:
            params = getattr(item, "callspec", None) and item.callspec.params  # type: ignore[attr-defined]
            own = [str(params[name]) for name in shared if params and name in params]
            item.add_marker(pytest.mark.xdist_group(" ".join([item.nodeid.partition("::")[0], *own])))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server on a free port."""
    with postgres_server() as server:
        yield server
