"""How much an installation brings: ``python -m benchmarks.install`` writes benchmarks/install.md.

Every row is a fresh virtual environment without pip's cache. A package's size is that of the files that its RECORD names,
as they lie on the disk, compiled ones included; what an empty environment has (pip, setuptools) does not count. fairarm is
installed with the versions that its constraints.txt pins, the others with the newest.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
OUT = Path(__file__).with_name("install.md")
BEFORE = "1f8e3c7"
"""The commit before matplotlib, pyagrum and networkx left the plain installation."""

COUNT = """
import os
from importlib.metadata import distributions
sizes = {}
for found in distributions():
    paths = [os.fspath(found.locate_file(each)) for each in found.files or ()]
    sizes[found.metadata["Name"]] = sum(os.path.getsize(path) for path in paths if os.path.isfile(path))
for name in sizes.keys() - {"pip", "setuptools"}:
    print(name, sizes[name])
"""

TEXT = """# What an installation brings

Made by `python -m benchmarks.install`: each row is a fresh virtual environment, without pip's cache. MB are 10^6 bytes of the
files that the packages' RECORD files name, compiled ones included, without pip and setuptools. fairarm is installed in the
versions that `constraints.txt` pins, the others in their newest. *Direct* are the packages that it asks for itself.

| what | direct | packages | MB | its five largest |
|---|---|---|---|---|
{rows}
"""


@dataclass(frozen=True)
class Target:
    """What to install: pip's arguments, the folder of its pins, and how many packages it asks for itself."""

    title: str
    requirement: str
    pins: Path | None = None
    direct: int | None = None


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="fairarm-install-") as folder:
        before = Path(folder) / "before"
        before.mkdir()
        archive = subprocess.run(["git", "-C", ROOT, "archive", BEFORE], check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", before], input=archive, check=True)
        targets = [
            Target(f"fairarm before ({BEFORE})", ".", before, _declared(before)),
            Target("**fairarm**", ".", ROOT, _declared(ROOT)),
            Target("fairarm[plots]", ".[plots]", ROOT, _declared(ROOT, "plots")),
            Target("fairarm[networks]", ".[networks]", ROOT, _declared(ROOT, "networks")),
            Target("Optuna", "optuna"),
            Target("fairlearn", "fairlearn"),
        ]
        rows = [_measured(target, Path(folder) / f"venv{i}") for i, target in enumerate(targets)]
    OUT.write_text(TEXT.format(rows="\n".join(rows)), encoding="utf-8")
    print(OUT.read_text(encoding="utf-8"))


def _declared(root: Path, *extras: str) -> int:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return len(project["dependencies"]) + sum(len(project["optional-dependencies"][extra]) for extra in extras)


def _measured(target: Target, folder: Path) -> str:
    """A line of the table."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    pins = {} if target.pins is None else dict.fromkeys(("PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT"), "constraints.txt")
    install: list[str | Path] = [
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-cache-dir",
    ]
    subprocess.run([*install, target.requirement], check=True, cwd=target.pins, env=os.environ | pins)
    lines = subprocess.run([python, "-c", COUNT], check=True, capture_output=True, text=True).stdout.splitlines()
    sizes = {name: int(size) for name, size in map(str.split, lines)}
    largest = sorted(sizes, key=lambda name: -sizes[name])[:5]
    shown = ", ".join(f"{name} {sizes[name] / 1e6:.0f}" for name in largest)
    direct = target.direct or _asked_for(python, target.requirement)
    return f"| {target.title} | {direct} | {len(sizes)} | {sum(sizes.values()) / 1e6:.0f} | {shown} |"


def _asked_for(python: Path, name: str) -> int:
    """The requirements of an installed package that no extra asks for."""
    code = f"from importlib.metadata import requires; print(*requires({name!r}), sep=chr(10))"
    lines = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.splitlines()
    return len([line for line in lines if not re.search(r"\bextra\s*==", line)])


if __name__ == "__main__":
    main()
