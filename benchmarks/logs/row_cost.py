"""What a row costs where models decide, and what a cluster would take: ``python -m benchmarks.logs.row_cost`` writes row_cost.md.

Ratios are of processor time, the least of several runs in turn in one process with one BLAS thread. Memory is the peak of a fresh process.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.logs.speed import forest_arms, numbers
from fairarm import Scenario, evaluate
from fairarm.beliefs.logged_rows import P, Passes, believe_rows
from fairarm.beliefs.row_model import RowModel
from fairarm.beliefs.row_sample import FirstPass
from fairarm.beliefs.row_sums import WeighedGroup, WeighedRows, Weigher
from fairarm.core.packed import packed
from fairarm.core.posterior.row_totals import RowTotals
from fairarm.experiments.start_from_log import log_reader
from fairarm.logs.passes import Decoding
from fairarm.logs.reading import LogReader
from fairarm.logs.table import LogTable
from fairarm.logs.values import DUE

HERE = Path(__file__).parent
KINDS = {"five logistic regressions": "logistic", "five random forests": "random forests"}
BARS = {"five logistic regressions": (8.0, 4.0), "five random forests": (1.3, 1.3)}
"""Bars of the ratios from a file and from memory."""


def cpu_in_turn(calls: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """The least processor time of each call, all of them once a round."""
    least = dict.fromkeys(calls, np.inf)
    for _ in range(repeats):
        for name, call in calls.items():
            started = time.process_time()
            call()
            least[name] = min(least[name], time.process_time() - started)
    return least


def ratio_lines(rows: int, folder: Path, repeats: int) -> tuple[list[str], float]:
    """A line per kind of model, and seconds per row of the logistic regressions beyond what does not grow with rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    lines, marginal = [], 0.0
    for kind, model in KINDS.items():
        took = {}
        for size in (rows // 10, rows):
            scenario, columns, bare = forest_arms(model, size)
            table, path = pa.table(columns), folder / "rows.parquet"
            pq.write_table(table, path)
            calls: dict[str, Callable[[], Any]] = {
                "bare": bare,
                "file": partial(evaluate, scenario, path),
                "memory": partial(evaluate, scenario, table),
            }
            took[size] = cpu_in_turn(calls, repeats)
        few, many = took[rows // 10], took[rows]
        each = {name: (many[name] - few[name]) / (0.9 * rows) for name in many}
        bars = BARS[kind]
        lines.append(
            f"| {kind} | {many['bare']:.3f} s | {many['file'] / many['bare']:.1f} (bar {bars[0]:g}) | {many['memory'] / many['bare']:.1f} (bar {bars[1]:g}) | "
            f"{each['file'] / each['bare']:.1f} | {each['memory'] / each['bare']:.1f} | {1e9 * (each['file'] - each['bare']):.0f} ns |"
        )
        marginal = marginal or each["file"]
    return lines, marginal


STAGES: dict[str, list[tuple[type, str]]] = {
    "reading": [(LogTable, "gathered")],
    "values to codes, and what is wrong with them": [(LogReader, "coded")],
    "first pass: fingerprints, sample, counts": [(FirstPass, "add")],
    "once: the regression, where weights are cut": [(RowModel, "weigher")],
    "`predict_proba`": [(LogisticRegression, "predict_proba")],
    "its arrays, checks and rounding": [(Weigher, "decided")],
    "rows in the order of runs": [(WeighedRows, "add")],
    "the regression at every row and decision": [(Weigher, "surface")],
    "weights and ψ": [(WeighedGroup, "add")],
    "exact sums of them": [(RowTotals, "add")],
    "decisions against their law": [(WeighedGroup, "_compare")],
}
"""What the time of a call is put down to, but for calls inside it that are of another stage."""
REST = "intervals, draws, findings"


class Stopwatch:
    """Processor time by stage."""

    def __init__(self) -> None:
        self.spent = dict.fromkeys([*STAGES, REST], 0.0)
        self.under_way, self.since = [REST], time.process_time()

    def turn(self, stage: str | None) -> None:
        """Into a stage, or out of one."""
        now = time.process_time()
        self.spent[self.under_way[-1]] += now - self.since
        self.since = now
        self.under_way.append(stage) if stage else self.under_way.pop()

    def timed(self, call: Callable[..., Any], stage: str) -> Callable[..., Any]:
        """The same call, watched."""

        def watched(*arguments: Any, **named: Any) -> Any:
            self.turn(stage)
            try:
                return call(*arguments, **named)
            finally:
                self.turn(None)

        return watched


def stage_lines(rows: int, repeats: int) -> list[str]:
    """Of five logistic regressions on a table in memory: what each stage takes per row, and as a multiple of bare ``predict_proba``.
    From a file DuckDB reads ahead while other stages run, so that its time cannot be told from theirs."""
    import pyarrow as pa

    scenario, columns, bare = forest_arms("logistic", rows)
    table = pa.table(columns)
    plain, least = cpu_in_turn({"bare": bare}, repeats)["bare"], None
    for _ in range(repeats):
        watch = Stopwatch()
        with ExitStack() as patched:
            for stage, calls in STAGES.items():
                for owner, name in calls:
                    watched = watch.timed(getattr(owner, name), stage)
                    patched.enter_context(patch.object(owner, name, watched))
            watch.since = time.process_time()
            evaluate(scenario, table)
            watch.turn(REST)
        if least is None or sum(watch.spent.values()) < sum(least.values()):
            least = watch.spent
    return [f"| {stage} | {1e9 * took / rows:.0f} ns | {took / plain:.2f} |" for stage, took in (least or {}).items()]


MEMORY = """
import sys
from dataclasses import replace
from pathlib import Path
from benchmarks.logs.row_cost import many_arms
from fairarm import evaluate
scenario, path = many_arms(50, int(sys.argv[1])), Path(sys.argv[2])
evaluate(scenario, path)
print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])
"""


def many_arms(arms: int, seed: int) -> Scenario:
    """The same problem with so many logistic regressions."""
    from dataclasses import replace

    scenario, _, _ = forest_arms("logistic", 5000)
    known = scenario.problem.arms
    more = [replace(known[k % len(known)], name=f"m{k}") for k in range(arms)]
    return Scenario(replace(scenario.problem, arms=tuple(more)), columns=scenario.columns)


def peak_megabytes(rows: int, folder: Path) -> float:
    """Of a process that evaluates 50 arms on so many rows of a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    _, columns, _ = forest_arms("logistic", rows)
    path = folder / "many.parquet"
    pq.write_table(pa.table(columns), path)
    made = subprocess.run([sys.executable, "-c", MEMORY, "1", str(path)], capture_output=True, text=True, check=True)
    return int(made.stdout) / 1024


def sent_bytes(rows: int, parts: int) -> dict[str, int]:
    """Bytes that a part sends back in each pass, and that it is sent."""
    import cloudpickle  # type: ignore[import-untyped]

    scenario, columns, _ = forest_arms("logistic", rows)
    reader = log_reader(scenario, columns)
    found: dict[str, int] = {}

    def passed(start: Callable[[], P], /) -> P:
        which = f"pass {1 + len(found) // 2}"
        work = partial(Decoding, reader.decoder(), start)
        found[f"{which} out"] = len(cloudpickle.dumps(work, protocol=pickle.HIGHEST_PROTOCOL))
        whole, sizes = work(), []
        for raw in reader.table.batches(reader.columns, rows // parts):
            part = work()
            part.add({name: values for name, values in raw.items() if name != DUE})
            sizes.append(len(packed(part.arrays())))
            whole.merge_arrays(part.arrays())
        found[f"{which} back"] = max(sizes)
        inner: P = whole.inner
        return inner

    passes: Passes = passed
    believe_rows(scenario.problem, passes, 0.05)
    return found


MEMORY_KEPT = {f"distributed.nanny.pre-spawn-environ.MALLOC_{name}_THRESHOLD_": 1 << 27 for name in ("TRIM", "MMAP")}
"""By default workers hand memory back to the system at once, and take it again for every block of rows."""
SETTINGS: dict[str, dict[str, int]] = {"as Dask has it": {}, "memory is kept": MEMORY_KEPT}


def worker_lines(rows: int, folder: Path, repeats: int) -> list[str]:
    """One worker against two, in turn, as Dask starts them and where they keep their memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    scenario, columns, _ = forest_arms("logistic", rows)
    path = folder / "workers.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=rows // 20)
    took: dict[tuple[str, int], list[float]] = {(name, workers): [] for name in SETTINGS for workers in (1, 2)}
    bits: set[bytes] = set()
    for _ in range(repeats):
        for (name, workers), found in took.items():
            seconds, answer = on_workers(scenario, path, workers, SETTINGS[name])
            found.append(seconds)
            bits.add(answer)
    same = "the same bits" if len(bits) == 1 else "NOT the same bits"
    load, lines = os.getloadavg()[0], []
    for name in SETTINGS:
        one, two = min(took[name, 1]), min(took[name, 2])
        lines.append(
            f"| {rows:,} | {name} | {one:.1f} s | {two:.1f} s | {one / two:.2f} (bar 1.6) | {same} | {load:.1f} |"
        )
    return lines


def on_workers(scenario: Scenario, path: Path, workers: int, setting: dict[str, int]) -> tuple[float, bytes]:
    """Seconds, and the answer's bits, of the second evaluation in a cluster: by then every worker has imported what it needs."""
    import dask
    from dask.distributed import LocalCluster

    with (
        dask.config.set(setting),
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster,
    ):
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        evaluate(scenario, path, engine=address)
        started = time.perf_counter()
        found = evaluate(scenario, path, engine=address)
        return time.perf_counter() - started, numbers(found).tobytes()


def paper_lines(seconds: float, sent: dict[str, int], million: int = 1 << 20) -> list[str]:
    """What rows take on a cluster: rows × seconds / workers, a part of a million rows a task, and what moves."""
    lines = []
    for rows in (10**9, 10**11):
        for workers in (10, 100):
            parts = -(-rows // million)
            hours = rows * seconds / workers / 3600
            first = parts * sent["pass 1 back"] / 2**30
            second = parts * sent["pass 2 back"] / 2**30
            out = workers * (sent["pass 1 out"] + sent["pass 2 out"]) / 2**20
            lines.append(
                f"| 10^{round(np.log10(rows))} | {workers} | {hours:.2g} h | {parts:,} | {out:.1f} MB | {first:.3g} GB | {second:.3g} GB |"
            )
    return lines


TEXT = """# What a row costs where models decide

Made by `python -m benchmarks.logs.row_cost` (two cores, shared with other work). Processor time, the least of {repeats} runs in turn, one BLAS thread.

## Around the models

{rows:,} rows, six columns and a propensity. *Bare* is `predict_proba` of all five over arrays in memory. *From a file*: Parquet. *From memory*: an Arrow
table. *Per further row*: without what does not grow with the rows, from {few:,} rows to {rows:,}. The last column is what is around
the models, per further row of a file.

| arms | bare | from a file | from memory | per further row, file | memory | around |
|---|---|---|---|---|---|---|
{ratios}

Where it goes, five logistic regressions from memory, as nanoseconds a row and as multiples of bare `predict_proba`; what is done once is shared out over {rows:,} rows:

| stage | a row | × bare |
|---|---|---|
{stages}

50 logistic regressions on {rows:,} rows in one process: peak {peak:.0f} MB (bar 700).

## One worker and two

Dask on this machine, Parquet in 20 row groups, wall time of the second evaluation in a new cluster, the least of {turns} in turn. *Memory is kept*:
`MALLOC_TRIM_THRESHOLD_` and `MALLOC_MMAP_THRESHOLD_` of the workers are 128 MB. *Load*: processes that wanted one of the two cores at the end.

| rows | workers | one | two | ratio | answers | load |
|---|---|---|---|---|---|---|
{workers}

## On paper

Rows as above, which were kept between the passes; a cluster reads and codes them twice, and reading is not in it. Per further row {nanoseconds:.0f} ns of one core in both passes, five logistic regressions; parts of 2^20 rows. A part sends back {first_back:,} bytes in the first
pass (its sample, merged in a tree among the workers; {first_out:,} bytes are sent to a worker) and {second_back:,} in the second ({second_out:,}).

| rows | workers | time | parts | sent to workers | moved in pass 1, between workers | in pass 2 |
|---|---|---|---|---|---|---|
{paper}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=10**6)
    parser.add_argument("--workers", type=lambda text: int(float(text)), default=5 * 10**6)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--out", type=Path, default=HERE / "row_cost.md")
    asked = parser.parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name)
        ratios, seconds = ratio_lines(asked.rows, folder, asked.repeats)
        print(*ratios, sep="\n")
        stages = stage_lines(asked.rows, asked.repeats)
        print(*stages, sep="\n")
        peak = peak_megabytes(asked.rows, folder)
        print(f"peak {peak:.0f} MB")
        sent = sent_bytes(200_000, 2)
        workers = worker_lines(asked.workers, folder, asked.turns)
    text = TEXT.format(
        repeats=asked.repeats,
        turns=asked.turns,
        rows=asked.rows,
        few=asked.rows // 10,
        ratios="\n".join(ratios),
        stages="\n".join(stages),
        peak=peak,
        workers="\n".join(workers),
        nanoseconds=1e9 * seconds,
        first_back=sent["pass 1 back"],
        first_out=sent["pass 1 out"],
        second_back=sent["pass 2 back"],
        second_out=sent["pass 2 out"],
        paper="\n".join(paper_lines(seconds, sent)),
    )
    asked.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
