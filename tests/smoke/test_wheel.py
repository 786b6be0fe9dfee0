"""The wheel that users get, alone in an empty environment; and the versions that pyproject.toml declares.

The first test takes what it installs from where pip takes it, in the pinned versions.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from typing import Any

import pytest
from lowest import lowest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[2]
CONSTRAINTS = ROOT / "constraints.txt"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def run(*command: str | Path, cwd: Path) -> str:
    """In a folder apart, with its constraints.txt, and nothing of this environment on the path."""
    apart = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    apart |= dict.fromkeys(("PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT"), "constraints.txt")
    done = subprocess.run(
        command, cwd=cwd, env=apart, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.slow
def test_the_wheel_alone_passes_the_smoke_test(tmp_path: Path) -> None:
    (tmp_path / "constraints.txt").write_bytes(CONSTRAINTS.read_bytes())
    quiet = ("--quiet", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "wheel", *quiet, "--no-deps", "--wheel-dir", tmp_path, ROOT, cwd=tmp_path)
    (wheel,) = tmp_path.glob("fairarm-*.whl")
    venv.create(tmp_path / "alone", with_pip=True)
    python = tmp_path / "alone" / "bin" / "python"
    run(python, "-m", "pip", "install", *quiet, "--only-binary", ":all:", wheel, cwd=tmp_path)
    listed = run(python, "-m", "pip", "list", "--format", "freeze", "--disable-pip-version-check", cwd=tmp_path).lower()
    assert not re.search(r"^(matplotlib|pyagrum|scikit-learn|pandas|networkx)==", listed, re.MULTILINE), listed
    assert "smoke test passed" in run(python, ROOT / "tests" / "smoke" / "smoke.py", cwd=tmp_path)


def pins() -> dict[str, Version]:
    lines = (line.split("==") for line in CONSTRAINTS.read_text().splitlines())
    return {_same(name): Version(version) for name, version in lines}


def _same(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_few_packages_are_needed() -> None:
    names = {_same(Requirement(each).name) for each in PROJECT["dependencies"]}
    assert len(names) <= 13 and not names & {"matplotlib", "pyagrum", "scikit-learn", "pandas", "networkx"}


def test_every_dependency_declares_a_minimum_and_is_pinned_at_one_that_it_allows() -> None:
    extras = [Requirement(each) for given in PROJECT["optional-dependencies"].values() for each in given]
    wanted = [Requirement(each) for each in PROJECT["dependencies"]] + extras
    for each in wanted:
        if each.name != "fairarm":
            assert pins()[_same(each.name)] in each.specifier, each
    declared = {_same(line.split("==")[0]) for line in lowest(PROJECT)}
    users = [Requirement(e) for name, given in PROJECT["optional-dependencies"].items() if name != "dev" for e in given]
    needed = {_same(r.name) for r in (*map(Requirement, PROJECT["dependencies"]), *users)}
    assert declared == needed - {"fairarm"}  # an extra that includes another
    for line in lowest(PROJECT):
        name, version = line.split("==")
        assert all(version in r.specifier for r in wanted if _same(r.name) == _same(name)), line


@pytest.mark.parametrize("requirement", ["numpy", "numpy<3"])
def test_a_dependency_without_a_minimum_is_refused(requirement: str) -> None:
    with pytest.raises(SystemExit, match="declares no minimum"):
        lowest({"dependencies": [requirement]})


def test_the_tools_of_builds_are_pinned() -> None:
    """hatchling and editables for fairarm, setuptools and wheel for what has no wheel."""
    assert {"hatchling", "editables", "setuptools", "wheel"} <= pins().keys()
