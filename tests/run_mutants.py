"""Plant each defect of mutants.toml in a copy of the sources: the tests that it names must fail. Part of `make test-all`.

python tests/run_mutants.py [--jobs 2] [word in the name of a mutant ...]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
PASSED, FAILED = 0, 1
"""Exit codes of pytest; all others say that no test ran."""
LIMIT = 60
"""Seconds for one test: some defects are endless loops."""


@dataclass(frozen=True)
class Mutant:
    """One line of ``file`` changed, and the tests that notice."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


def mutants() -> list[Mutant]:
    """Those of the file, whose ``old`` texts are in the sources, once each."""
    listed = tomllib.loads((HERE / "mutants.toml").read_text(encoding="utf-8"))["mutant"]
    made = [Mutant(**{**each, "tests": tuple(each["tests"])}) for each in listed]
    for mutant in made:
        found = (ROOT / "src" / mutant.file).read_text(encoding="utf-8").count(mutant.old)
        if found != 1:
            raise SystemExit(f"mutants.toml: {mutant.name}: its old text is {found} times in {mutant.file}, not once.")
    return made


def tested(source: Path, tests: Sequence[str]) -> int:
    """The exit code of pytest with the package in this folder."""
    paths = {"PYTHONPATH": os.pathsep.join([str(source), str(ROOT)]), "PYTHONDONTWRITEBYTECODE": "1"}
    how = [
        "-q",
        "-x",
        "-m",
        "not slow",
        "-p",
        "no:cacheprovider",
        "--timeout",
        str(LIMIT),
        "-o",
        f"faulthandler_timeout={LIMIT + 30}",
    ]
    command = [sys.executable, "-m", "pytest", *how, *(f"tests/{test}" for test in tests)]
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **paths}, stdout=subprocess.DEVNULL, check=False
    ).returncode


def outcome(mutant: Mutant) -> str:
    """What the tests of a mutant say of it."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        source = Path(shutil.copytree(ROOT / "src", f"{folder}/src", ignore=shutil.ignore_patterns("__pycache__")))
        path = source / mutant.file
        path.write_text(path.read_text(encoding="utf-8").replace(mutant.old, mutant.new), encoding="utf-8")
        return {FAILED: "caught", PASSED: "SURVIVED"}.get(tested(source, mutant.tests), "NO TEST RAN")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="only mutants whose names hold one of these")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    chosen = [each for each in mutants() if not asked.words or any(word in each.name for word in asked.words)]
    if tested(ROOT / "src", sorted({test for mutant in chosen for test in mutant.tests})) != PASSED:
        raise SystemExit("The tests that the mutants name do not pass without a mutant.")
    with ThreadPoolExecutor(asked.jobs) as pool:
        found = list(pool.map(outcome, chosen))
    for mutant, said in zip(chosen, found, strict=True):
        sys.stdout.write(f"{said:12} {mutant.name} ({mutant.file})\n")
    return int(any(said != "caught" for said in found))


if __name__ == "__main__":
    sys.exit(main())
