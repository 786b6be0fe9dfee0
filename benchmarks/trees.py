"""Two versions of the package beside each other: which commit a tree holds, another commit's tree, and its environment."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import fairarm

ROOT = Path(__file__).parents[1]
SHORT = 7


def imported_tree() -> Path:
    """The checkout whose package is the one that is imported here."""
    return Path(fairarm.__file__).resolve().parents[2]


def package_commit(tree: Path) -> str:
    """The last commit that changed the package in a checkout, short; "-changed" after it where the files differ from it."""
    commit = _git(tree, "log", "-1", f"--abbrev={SHORT}", "--format=%h", "--", "src")
    return f"{commit}-changed" if _git(tree, "status", "--porcelain", "--", "src") else commit


def last_change(commit: str) -> str:
    """The last commit up to this one that changed the package, short: it names results that both have in common."""
    return _git(ROOT, "log", "-1", f"--abbrev={SHORT}", "--format=%h", commit, "--", "src")


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """The tree of another commit, in a folder of its own, until the end of the block."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "before"
        _git(ROOT, "worktree", "add", "--quiet", "--detach", str(tree), commit)
        try:
            yield tree
        finally:
            _git(ROOT, "worktree", "remove", "--force", str(tree))


def environment(tree: Path) -> dict[str, str]:
    """Of a process that imports the package of this tree, and the benchmarks of ours; one thread for linear algebra.

    Compiled files are kept, as they are for users: without them a cold start is mostly compilation.
    """
    path = os.pathsep.join([str(tree / "src"), str(ROOT)])
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def _git(tree: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", tree, *arguments], check=True, capture_output=True, text=True).stdout.strip()
