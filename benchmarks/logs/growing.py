"""What an answer that holds for any number of looks costs: ``python -m benchmarks.logs.growing COMMIT`` writes growing.md.

The same log is evaluated with and without its times, by the package as it is and as it was at an earlier commit, in turn. The
bar is three times the time without.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.logs.speed import counted_problem
from benchmarks.trees import ROOT, checked_out, environment

OUT = Path(__file__).with_name("growing.md")
ROUNDS = 3
SMALL = "(hash(i) % 2)::TINYINT AS S, (hash(i + 1e12::BIGINT) % 6)::TINYINT AS X, (hash(i + 2e12::BIGINT) % 3)::TINYINT AS V, (hash(i + 3e12::BIGINT) % 2)::TINYINT AS Y"
WORDS = "(hash(i) % 2)::VARCHAR AS S, (hash(i + 1e12::BIGINT) % 6)::VARCHAR AS X, (hash(i + 2e12::BIGINT) % 3)::VARCHAR AS V, (hash(i + 3e12::BIGINT) % 2)::VARCHAR AS Y"
STAMP = "TIMESTAMP '2030-01-01' + INTERVAL ({}) SECOND"
LOGS = {
    "Parquet, small integers, time a number": ("parquet", 10**7, SMALL, "({})::BIGINT"),
    "Parquet, text, time a timestamp": ("parquet", 10**7, WORDS, STAMP),
    "CSV, time as 2030-01-31T12:00:00Z": ("csv", 10**6, SMALL, f"strftime({STAMP}, '%Y-%m-%dT%H:%M:%SZ')"),
    "CSV, time a number": ("csv", 10**6, SMALL, "({})::BIGINT"),
}
"""Format, rows, columns, and the time of row number {}."""

ORDERS = {"in order": "i", "shuffled": "(i * 7368787 + 13) % {}"}
"""The number of row i in time; a prime is put in the place of {}."""

PRIMES = {10**7: 10_000_019, 10**6: 1_000_003}


def write_log(path: Path, kind: str, order: str) -> None:
    """Random rows by DuckDB."""
    import duckdb

    form, rows, columns, when = LOGS[kind]
    at = when.format(ORDERS[order].format(PRIMES[rows]))
    duckdb.execute(f"COPY (SELECT {columns}, {at} AS t FROM range({rows}) r(i)) TO '{path}' (FORMAT {form})")


def measured(path: str, parts: bool) -> dict[str, list[float]]:
    """Seconds on the clock and of the processors, of the whole and, where asked, of its parts; run in a process of its own."""
    from fairarm import LogMap, evaluate

    problem = counted_problem()
    few = {name: [0, 1] * 40 for name in ("S", "X", "V", "Y")} | {"t": [*range(80)]}
    evaluate(problem, few, columns=LogMap(time="t"))  # imports are not measured
    found = {
        "without": _timed(lambda: evaluate(problem, path)),
        "with": _timed(lambda: evaluate(problem, path, columns=LogMap(time="t"))),
    }
    return found | (_parts(path) if parts else {})


def _parts(path: str) -> dict[str, list[float]]:
    """Counting by cell, reading and ordering times, and settling batches."""
    from fairarm import LogMap
    from fairarm.experiments.answer_by_time import answer_by_time
    from fairarm.logs.by_time import count_batches_too, rows_by_time
    from fairarm.logs.reading import LogReader
    from fairarm.logs.sources import open_log

    problem = counted_problem()
    plain, timed = (LogReader(problem, open_log(path), LogMap(time=time)) for time in (None, "t"))
    found = {
        "counts": _timed(plain.cells),
        "times": _timed(lambda: count_batches_too(timed)),
        "both": _timed(timed.cells),
    }
    rows = rows_by_time(timed, 72)
    if rows is None:
        raise RuntimeError(f"{path} was not counted by time.")
    return found | {"bets": _timed(lambda: answer_by_time(problem, rows, 0.05, False))}


def _timed(call: Callable[[], Any]) -> list[float]:
    clock, processors = time.perf_counter(), time.process_time()
    call()
    return [time.perf_counter() - clock, time.process_time() - processors]


def in_tree(package: Path, path: Path) -> dict[str, list[float]]:
    """``measured`` by the package of a tree, with the benchmark of this one."""
    call = f"measured({str(path)!r}, {package == ROOT})"
    code = f"import json; from benchmarks.logs.growing import measured; print(json.dumps({call}))"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment(package)
    )
    made: dict[str, list[float]] = json.loads(out.stdout)
    return made


def rows_of(before: Path, rounds: int) -> list[str]:
    """A line per kind of log and order; the least of the rounds, as other work on the machine only adds to it."""
    lines = []
    with TemporaryDirectory() as folder:
        for kind, (form, *_) in LOGS.items():
            for order in ORDERS:
                path = Path(folder) / f"log.{form}"
                write_log(path, kind, order)
                both = [(in_tree(before, path), in_tree(ROOT, path)) for _ in range(rounds)]
                lines.append(_line(kind, order, [old for old, _ in both], [new for _, new in both]))
                print(lines[-1], flush=True)
    return lines


def _line(kind: str, order: str, old: list[dict[str, list[float]]], new: list[dict[str, list[float]]]) -> str:
    def least(found: list[dict[str, list[float]]], part: str, what: int = 1) -> float:
        return min(each[part][what] for each in found)

    def ratio(found: list[dict[str, list[float]]], what: int) -> float:
        return least(found, "with", what) / least(found, "without", what)

    parts = " | ".join(f"{least(new, part):.2f}" for part in ("counts", "times", "both", "bets"))
    whole = f"{least(new, 'without'):.2f} | {least(new, 'with'):.2f} | {least(old, 'with'):.2f}"
    ratios = f"**{ratio(new, 1):.1f}**, {ratio(new, 0):.1f} | {ratio(old, 1):.1f}, {ratio(old, 0):.1f}"
    return f"| {kind} | {LOGS[kind][1]:,} | {order} | {parts} | {whole} | {ratios} |"


TEXT = """# What an answer for any number of looks costs

Written by `python -m benchmarks.logs.growing {before}` on two cores that had other work. The problem is that of [speed.md](speed.md): 72 combinations of
values. Seconds of the processors, the least of {rounds} rounds, in which the package as it is and that of the earlier commit take turns. *Counts*: rows by cell.
*Times*: times read, and the ends of batches found. *Both*: rows by cell and batch. *Bets*: all batches settled. *Without* and *with*: `evaluate` without
and with `log.time`. Ratios: with over without, of the processors and of the clock. The bar is 3.

| log | rows | order | counts | times | both | bets | without | with | with, before | ratio | before |
|---|---|---|---|---|---|---|---|---|---|---|---|
{lines}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", help="an earlier commit")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    asked = parser.parse_args()
    with checked_out(asked.before) as before:
        lines = rows_of(before, asked.rounds)
    OUT.write_text(TEXT.format(before=asked.before, rounds=asked.rounds, lines="\n".join(lines)), encoding="utf-8")


if __name__ == "__main__":
    main()
