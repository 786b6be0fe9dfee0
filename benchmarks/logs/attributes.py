"""What several attributes cost: ``python -m benchmarks.logs.attributes`` writes attributes.md.

The same log with one attribute of two groups and with two attributes of four groups each, evaluated in turn in one run.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.logs.speed import REPEATS
from fairarm import Arm, Outcome, Problem, Variable, evaluate, table

HERE = Path(__file__).parent
GROUPS = ("0", "1", "2", "3")
CONTEXTS, DECISIONS, ARMS = 6, 3, 6
BAR = 1.5


def problem(attributes: tuple[str, ...], groups: tuple[str, ...], causes: bool = False) -> Problem:
    """Attributes that act on what arms see, alone or below an observed cause; six contexts, three decisions, seven arms."""
    rng = np.random.default_rng(1)
    laws = 0.7 * rng.dirichlet(np.ones(DECISIONS), (ARMS, CONTEXTS)) + 0.1
    edges = [("X", "V"), ("X", "Y"), ("V", "Y"), *((name, "X") for name in attributes)]
    if causes:
        edges += [(name, other) for name, other in itertools.pairwise(attributes)]
    arms = [Arm(f"arm-{k}", table("V", ["X"], law)) for k, law in enumerate(laws)]
    sizes = {"X": CONTEXTS, "V": DECISIONS, "Y": 2}
    return Problem(
        name="attributes",
        variables=[
            *(Variable(name, groups) for name in attributes),
            *(Variable(name, tuple(map(str, range(size)))) for name, size in sizes.items()),
        ],
        graph=edges,
        sensitive=attributes if len(attributes) > 1 else attributes[0],
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.05,
        arms=[Arm("uniform", table("V", [], np.full(DECISIONS, 1 / DECISIONS))), *arms],
        deployed="uniform",
    )


def write_rows(path: Path, rows: int) -> None:
    """Random rows as DuckDB writes them: small integers; S has two groups, A and B four."""
    import duckdb

    sizes = {"S": 2, "A": 4, "B": 4, "X": CONTEXTS, "V": DECISIONS, "Y": 2}
    columns = ", ".join(
        f"(hash(i + {n}e12::BIGINT) % {size})::TINYINT AS {name}" for n, (name, size) in enumerate(sizes.items())
    )
    duckdb.execute(f"COPY (SELECT {columns} FROM range({rows}) t(i)) TO '{path}' (FORMAT parquet)")


def measured(rows: int, folder: Path, repeats: int) -> str:
    """A line of the table."""
    path = folder / f"{rows}.parquet"
    write_rows(path, rows)
    calls: dict[str, Callable[[], Any]] = {
        "two": partial(evaluate, problem(("S",), ("0", "1")), path),
        "four": partial(evaluate, problem(("A",), GROUPS), path),
        "several": partial(evaluate, problem(("A", "B"), GROUPS), path),
        "causes": partial(evaluate, problem(("A", "B"), GROUPS, causes=True), path),
    }
    for call in calls.values():  # what is loaded or compiled once is not the log's
        call()
    took = processor_seconds(calls, repeats)
    path.unlink()
    ratios = " | ".join(f"{took[name]:.2f} s, {took[name] / took['two']:.2f}" for name in ("four", "several", "causes"))
    return f"| {rows:,} | {took['two']:.2f} s | {ratios} |"


def processor_seconds(calls: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Median processor time of each call, of all threads, all of them once a round: what else the machine does changes it little."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            started = time.process_time()
            call()
            seconds[name].append(time.process_time() - started)
    return {name: statistics.median(values) for name, values in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000, 10_000_000])
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--out", type=Path, default=HERE / "attributes.md")
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        lines = [measured(rows, Path(folder), given.repeats) for rows in given.rows]
    given.out.write_text(PAGE.format(lines="\n".join(lines), bar=BAR), encoding="utf-8")
    print("\n".join(lines))


PAGE = """# What several attributes cost

Made by `python -m benchmarks.logs.attributes` (two cores). Medians of processor time, of all threads, of calls in turn in one run, and their
ratio to two groups (wanted: {bar} at 10,000,000 rows). Beyond counting, the difference is that of 4000 draws of the laws of 32 worlds for each
arm, which no number of rows changes.

Six contexts, three decisions, seven arms; a Parquet file of small-integer columns, counted by DuckDB. One attribute of two or four groups;
two attributes of four groups each, which is 16 combinations and 12 pairs of each attribute, independent or one the cause of the other.
With two attributes the mechanism of what arms see is fitted and drawn anew with every draw, and every pair has its parts (direct,
indirect, spurious).

| rows | one attribute, two groups | one, four groups | two, four groups each | the same, one the cause of the other |
|---|---|---|---|---|
{lines}
"""

if __name__ == "__main__":
    main()
