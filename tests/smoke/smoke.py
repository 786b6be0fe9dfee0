"""The installed command, as a new user meets it: every job once, small, in an empty folder.

    python tests/smoke/smoke.py

Runs the ``fairarm`` that is installed beside this Python, with nothing but the standard library and what a plain
installation brings. Where an extra is missing, the command that needs it must say so on one line; where it is there, the
command must work.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet

COLUMNS = ("group", "side", "result")
ROWS = [
    (group, side, result)
    for group in ("a", "b")
    for side, win in (("heads", 3), ("tails", 1))
    for result, times in (("win", win), ("lose", 4 - win))
    for _ in range(50 * times)
]
"""What the arm ``even`` of the bundled coin brings on average, 800 rows; ``tilted`` would have a gap of 1/8, above 1/10."""

HUGIN = """net {}
node group { states = ("a" "b"); }
node side { states = ("heads" "tails"); }
node result { states = ("lose" "win"); }
potential (group) { data = (0.5 0.5); }
potential (side | group) { data = ((0.5 0.5) (0.5 0.5)); }
potential (result | side) { data = ((0.25 0.75) (0.75 0.25)); }
"""

EXTRAS = (
    ("matplotlib", "plots", "simulate coin --pulls 20,40 --runs 4 --plot curve.svg"),
    ("pyagrum", "networks", "inspect hugin.toml"),
    ("ibis", "sql", "evaluate coin sqlite:///log.db?table=log"),
    ("distributed", "dask", "evaluate coin log.csv --engine dask"),
    ("sqlalchemy", "studies", "study list --db sqlite:///studies.db"),
)
"""A module, the extra that brings it, and a command that needs it."""


def main() -> None:
    os.environ.pop("PYTHONPATH", None)  # else it could be another fairarm than the installed one
    with tempfile.TemporaryDirectory(prefix="fairarm-smoke-") as folder:
        os.chdir(folder)
        make_files()
        from_logs()
        experiments()
        for extra in EXTRAS:
            try_extra(*extra)
        os.chdir("/")
    sys.stdout.write(f"smoke test passed: fairarm in {sys.prefix}, Python {sys.version.split()[0]}\n")


def make_files() -> None:
    """The same rows as CSV, Parquet and a table of SQLite, and the coin with its network in a file of another format."""
    Path("log.csv").write_text("\n".join(map(",".join, [COLUMNS, *ROWS])) + "\n")
    pyarrow.parquet.write_table(pyarrow.csv.read_csv("log.csv"), "log.parquet")
    with sqlite3.connect("log.db") as database:
        database.execute("""CREATE TABLE log ("group" TEXT, side TEXT, result TEXT)""")
        database.executemany("INSERT INTO log VALUES (?, ?, ?)", ROWS)
    database.close()
    works("problems", "--save", "coin")
    Path("coin.net").write_text(HUGIN)
    text = Path("coin.toml").read_text(encoding="utf-8")
    Path("hugin.toml").write_text(text.partition("[[world")[0] + '\n[world]\nnetwork = "coin.net"\n', encoding="utf-8")


def from_logs() -> None:
    """A draft that can be worked with, and the right answer, the same from CSV and from Parquet."""
    roles = ("--sensitive", "group", "--decision", "side", "--outcome", "result")
    works("init", "log.csv", *roles, "--tolerance", "0.1", "--out", "draft.toml")
    works("evaluate", "draft.toml", "log.csv")
    of_csv, of_parquet = (document("evaluate", "coin", f"log.{ending}", "--seed", "1") for ending in ("csv", "parquet"))
    tilted = next(arm for arm in of_csv["arms"] if arm["name"] == "tilted")
    check(of_csv["arm"] == "even" and abs(abs(tilted["gap"]["value"]) - 0.125) < 0.01, of_csv)
    check(of_csv["arms"] == of_parquet["arms"], of_parquet)
    works("evaluate", "coin", "log.csv", "--report", "log.html")
    check("even" in Path("log.html").read_text(encoding="utf-8"), "log.html")


def experiments() -> None:
    check(document("inspect", "hepar2")["relevant_children"] == ["PBC"], "hepar2")  # a network in BIF
    works("inspect", "coin", "--limit", "--report", "inspect.html")
    check(document("plan", "coin", "--truths", "10", "--jobs", "2")["options"], "plan")
    check(document("identify", "coin", "--pulls", "2000", "--seed", "7")["arm"] == "even", "identify")
    works("identify", "coin", "--pulls", "200", "--confidence", "0.9", "--report", "identify.html")
    points = document("simulate", "coin", "--pulls", "20,40", "--runs", "4", "--jobs", "2")["results"]
    check({point["pulls"] for point in points} == {20, 40}, points)
    works("simulate", "coin", "--pulls", "20,40", "--runs", "4", "--report", "simulate.html")


def try_extra(module: str, extra: str, command: str) -> None:
    if find_spec(module) is not None:
        works(*command.split())
        return
    done = run(*command.split())
    said = done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1
    check(said and f"pip install 'fairarm[{extra}]'" in done.stderr, f"{command}: {done.stdout}{done.stderr}")


def document(*arguments: str) -> Any:
    return json.loads(works(*arguments, "--json").stdout)


def works(*arguments: str) -> subprocess.CompletedProcess[str]:
    done = run(*arguments)
    check(done.returncode == 0, f"fairarm {' '.join(arguments)}: exit code {done.returncode}: {done.stderr}")
    return done


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = Path(sys.executable).parent / "fairarm"
    return subprocess.run([command, *arguments], capture_output=True, text=True, encoding="utf-8")


def check(holds: object, what: object) -> None:
    if not holds:
        raise SystemExit(f"smoke test failed: {what}")


if __name__ == "__main__":
    main()
