"""``python -m benchmarks.answers [PART ...] --jobs 2`` measures answers from logs against the truth, and writes results.md.

Figures of every part are kept in out/answers.json, so that parts can be run one by one. ``--before COMMIT`` first runs the parts with that
commit's package, and keeps its figures in before.json: widths are compared with them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.answers.avoided import avoided
from benchmarks.answers.duplicates import duplicates
from benchmarks.answers.first import first
from benchmarks.answers.learned import learned
from benchmarks.answers.memory import memory
from benchmarks.answers.parts import Part, Scale, computed, table
from benchmarks.answers.ranges import ranges
from benchmarks.answers.rules import rules
from benchmarks.answers.small import small
from benchmarks.answers.status import status
from benchmarks.trees import checked_out, environment, imported_tree, package_commit

HERE = Path(__file__).parent
OUT, BEFORE = HERE / "results.md", HERE / "before.json"
KEPT = HERE.parents[1] / "out" / "answers.json"
SEED = 2029

PARTS: dict[str, Callable[[Scale], Part]] = {
    "status": status, "avoided": avoided, "range": ranges, "small": small, "first": first,
    "learned": learned, "duplicates": duplicates, "rules": rules, "memory": memory,
}  # fmt: skip

Figures = dict[str, dict[str, Any]]
"""By part: the version of the package, the seed, minutes and lines."""


def page(now: Figures, before: Figures, scale: Scale) -> str:
    """All parts that were computed."""
    text = [
        "# Answers from logs, against the truth",
        "",
        "Written by `make answers-bench`. Truths come from enumeration by the benchmark itself. *Version*: the last commit that changed the package. "
        "All logs are fresh: no number in the package was chosen on them or on logs with the same seed.",
    ]
    for name, made in PARTS.items():
        if name in now:
            part, told, old = made(scale), now[name], before.get(name, {})
            text += ["", f"## {part.title}", "", part.text, ""]
            text += [f"Version {told['version']}, seed {told['seed']}, {told['minutes']:.1f} minutes.", ""]
            text += table(part, told["lines"], old.get("lines", {}), told["version"], old.get("version", ""))
    return "\n".join([*text, ""])


def run(parts: list[str], scale: Scale, jobs: int, path: Path) -> None:
    """Adds the figures of these parts to a file."""
    version = package_commit(imported_tree())
    for name in parts:
        begun = time.time()
        lines = computed(PARTS[name](scale), jobs)
        minutes = (time.time() - begun) / 60
        figures = {**read(path), name: {"version": version, "seed": scale.seed, "minutes": minutes, "lines": lines}}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
        print(f"{name}: {minutes:.1f} minutes", flush=True)


def run_before(commit: str, parts: list[str], asked: argparse.Namespace) -> None:
    """The same parts with another commit's package."""
    with checked_out(commit) as tree:
        options = [*parts, "--jobs", str(asked.jobs), "--seed", str(asked.seed), "--save", str(BEFORE)]
        subprocess.run([sys.executable, "-m", "benchmarks.answers", *options], env=environment(tree), check=True)


def read(path: Path) -> Figures:
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all if none is named")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--small", action="store_true", help="two logs of each kind; the page is printed, not written")
    parser.add_argument("--save", type=Path, help="only keep the figures here")
    parser.add_argument("--before", metavar="COMMIT", help="first run these parts with this commit's package")
    parser.add_argument("--table", action="store_true", help="make the page of the kept figures; nothing is run")
    asked = parser.parse_args()
    parts = asked.parts or list(PARTS)
    if unknown := sorted({*parts} - {*PARTS}):
        parser.error(f"There is no part '{unknown[0]}'. The parts are {', '.join(PARTS)}.")
    scale = Scale(asked.seed, asked.small)
    if asked.before:
        run_before(asked.before, parts, asked)
    path = asked.save or (KEPT.with_stem("answers-small") if asked.small else KEPT)
    if not asked.table:
        run(parts, scale, asked.jobs, path)
    if asked.save is None:
        text = page(read(path), {} if asked.small else read(BEFORE), scale)
        print(text)
        if not asked.small:
            OUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
