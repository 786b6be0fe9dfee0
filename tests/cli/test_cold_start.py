"""What a cold command loads: imports are most of its time, so that each command takes what it needs and no more."""

from __future__ import annotations

import subprocess
import sys

import pytest

OTHERS = (
    "scipy",
    "pyarrow",
    "duckdb",
    "narwhals",
    "joblib",
    "matplotlib",
    "networkx",
    "pandas",
    "polars",
    "dask",
    "pyagrum",
)
"""What reads logs, draws, solves programmes or starts workers: other commands need it."""
PARTS = (
    "logs",
    "experiments.evaluate",
    "experiments.plan",
    "experiments.simulate",
    "core.limit",
    "reports.page",
    "catalog.synthetic",
)

SHOW = """
import sys
from fairarm.cli.app import run
sys.argv = ["fairarm", *sys.argv[1:]]
try:
    run()
except SystemExit:
    pass
print("LOADED", *sorted(sys.modules))
"""


def loaded_by(*command: str) -> set[str]:
    """The modules that a command has imported when it ends."""
    ran = subprocess.run([sys.executable, "-c", SHOW, *command], capture_output=True, text=True, check=True)
    said, _, modules = ran.stdout.rpartition("LOADED ")
    assert said, ran.stderr
    return set(modules.split())


@pytest.mark.parametrize("how", [(), ("--json",)])
def test_a_run_of_a_shipped_problem_loads_nothing_that_other_commands_need(how: tuple[str, ...]) -> None:
    loaded = loaded_by("identify", "coin", "--pulls", "100", *how)
    assert "fairarm.algorithms.pool" in loaded
    assert [name for name in OTHERS if name in loaded] == []
    assert [part for part in PARTS if f"fairarm.{part}" in loaded] == []
    assert ("rich" in loaded) is not bool(how), "tables are for people alone"


def test_help_loads_no_numbers_at_all() -> None:
    loaded = loaded_by("--help")
    assert [name for name in (*OTHERS, "numpy", "rich", "fairarm.problem") if name in loaded] == []


def test_an_algorithm_that_solves_programmes_loads_the_solver_when_it_is_needed() -> None:
    assert "scipy.optimize" in loaded_by("identify", "coin", "--algorithm", "csr-v2", "--pulls", "100", "--json")
