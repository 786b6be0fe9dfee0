"""This tree beside an earlier commit: the CPU time of whole commands, alternating, as ratios.

    python -m benchmarks.beside 4f90082 --repeats 7

Commands keep their meaning from version to version, so that one list serves all. Each repetition runs both trees one
after the other, in an order that changes; the ratio is the median over repetitions, with its lowest and highest. CPU time
counts, of the process and its children: on a shared machine the clock on the wall says little.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.trees import ROOT, checked_out, environment
from fairarm import Request, load_problem
from fairarm.experiments.identify import require_world

COMMANDS = {
    "cold start: identify coin": "identify coin --pulls 100 --seed 1 --json",
    "one run of pool": "identify synthetic-tight:seed=0 --pulls 1000 --seed 1 --json",
    "pool, 200 runs": "simulate synthetic-tight:seed=0 --algorithms pool --pulls 300,1000 --runs 100 --seed 1 --json",
    "pool, 2 000 runs": "simulate ad-marketplace --algorithms pool --pulls 300,1000 --runs 1000 --seed 1 --json",
    "csr-v2 and two-stage-v2, 800 runs": (
        "simulate synthetic-tight:seed=0 --algorithms csr-v2,two-stage-v2 --pulls 3000,10000 --runs 200 --seed 1 --json"
    ),
    "certified, 50 runs until they stop": (
        "simulate ad-marketplace --algorithms pool --pulls 20000 --confidence 0.95 --runs 50 --seed 1 --json"
    ),
    "mis, top-two and tf-lucb, 60 runs": (
        "simulate ad-marketplace --algorithms mis,top-two,tf-lucb --pulls 1000 --runs 20 --seed 1 --json"
    ),
    "one run by ask and tell": "identify synthetic-tight:seed=0 --algorithm csr-v2 --pulls 1000000 --seed 1 --json",
    "evaluate, counted rows": "evaluate examples/berkeley/problem.toml examples/berkeley/admissions.csv --json",
    "evaluate, 10 000 000 rows": "evaluate ad-marketplace {log} --json",
    "inspect with the limit": "inspect synthetic-tight:seed=0 --limit --json",
    "plan": "plan ad-marketplace --truths 30 --seed 1 --json",
}

LOG_ROWS = 10_000_000


def write_log(path: Path) -> None:
    """A log of `ad-marketplace`: people as they come, served by its first arm."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    scenario, rng = load_problem("ad-marketplace"), np.random.default_rng(1)
    problem, world = scenario.problem, require_world(scenario.problem, scenario.world)
    counts = np.zeros((len(problem.regimes), len(problem.arms)), dtype=np.int64)
    counts[0, 0] = LOG_ROWS
    pulled = world.pull(Request(problem.arm_names, problem.regimes, counts), rng)
    order = rng.permutation(np.repeat(np.arange(len(pulled.count)), pulled.count))
    labels = pulled.labels(problem)
    pq.write_table(pa.table({name: np.asarray(labels[name])[order] for name in problem.observed}), path)


def main() -> None:
    """Print the table, and write it where ``--out`` says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", help="the commit to compare with")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", help="commands whose name has this in it")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    chosen = {name: command for name, command in COMMANDS.items() if asked.only is None or asked.only in name}
    with checked_out(asked.commit) as before, TemporaryDirectory() as folder:
        log = Path(folder) / "log.parquet"
        if any("{log}" in command for command in chosen.values()):
            write_log(log)
        rows = [_row(name, command.format(log=log), before, asked.repeats) for name, command in chosen.items()]
    lines = [*_head(asked.commit, asked.repeats), *rows]
    text = "\n".join(lines) + "\n"
    if asked.out is not None:
        asked.out.write_text(text, encoding="utf-8")
    print(text, end="")


def _head(commit: str, repeats: int) -> list[str]:
    return [
        f"# CPU time, this tree / commit {commit}",
        "",
        f"Written by `python -m benchmarks.beside {commit} --repeats {repeats}`; alternating runs of whole commands, imports included.",
        "",
        "| command | this tree (s) | before (s) | ratio, median | lowest to highest |",
        "|---|---|---|---|---|",
    ]


def _row(name: str, command: str, before: Path, repeats: int) -> str:
    spent: dict[Path, list[float]] = {ROOT: [], before: []}
    for tree in spent:  # compiled files are written and caches filled
        _cpu_seconds(tree, command)
    for repeat in range(repeats):
        for tree in [ROOT, before] if repeat % 2 else [before, ROOT]:
            spent[tree].append(_cpu_seconds(tree, command))
    ratios = [now / then for now, then in zip(spent[ROOT], spent[before], strict=True)]
    row = (
        name,
        f"{statistics.median(spent[ROOT]):.3g}",
        f"{statistics.median(spent[before]):.3g}",
        f"{statistics.median(ratios):.2f}",
        f"{min(ratios):.2f} to {max(ratios):.2f}",
    )
    print(*row, sep="  ", file=sys.stderr, flush=True)
    return f"| {' | '.join(row)} |"


def _cpu_seconds(tree: Path, command: str) -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = used.ru_utime + used.ru_stime
    subprocess.run(
        [sys.executable, "-m", "fairarm", *command.split()],
        cwd=tree,
        env=environment(tree),
        check=True,
        stdout=subprocess.DEVNULL,
    )
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime - started


if __name__ == "__main__":
    main()
