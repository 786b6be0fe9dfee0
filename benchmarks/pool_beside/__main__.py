"""Pool's error beside that of an earlier commit: ``python -m benchmarks.pool_beside COMMIT`` writes results.md.

Both versions run on the same instances with the same seeds. Which runs were wrong is kept in wrong-COMMIT.csv, where COMMIT is
the last one that changed the package: what is there is not run again, and serves as the column before of later versions.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.comparison.plan import NOISY, SETTINGS
from benchmarks.pool_beside.judge import LEVEL, Point, better, points, worse
from benchmarks.pool_beside.measure import INSTANCES, PULLS, RUNS, Wrong, read, tasks
from benchmarks.trees import ROOT, checked_out, environment, last_change, package_commit

HERE = Path(__file__).parent


def page(found: Sequence[Point], now: str, before: str) -> str:
    """The table, with what the test says above it."""
    sure, mended = worse(found), better(found)
    lines = [
        "# Pool's error, now and before",
        "",
        f"Written by `python -m benchmarks.pool_beside {before}`: package as of {now} beside {before}, {found[0].runs} runs per point on the instances of the",
        "comparison, with the same seeds. An answer is wrong if it is not the best fair arm, or not \"none\" where none is fair.",
        "*Differ*: runs that are wrong now and were right before, and the other way round. The sign test on them, one-sided at",
        f"{LEVEL:.0%}, with Holm's correction over all {len(found)} points, finds pool **worse at {len(sure)}** and better at {len(mended)} of them.",
        "",
        *(f"- worse: {p.setting} at {p.pulls:,} pulls, {p.before:.3f} → {p.now:.3f}, p = {p.p_value:.1e}" for p in sure),
        *([""] if sure else []),
        "| setting | pulls | before | now | now − before (standard error) | differ | p |",
        "|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    return "\n".join([*lines, *map(_row, found), ""])


def _row(p: Point) -> str:
    cells = (
        p.setting,
        f"{p.pulls:,}",
        f"{p.before:.3f}",
        f"{p.now:.3f}",
        f"{p.difference:+.3f} ({p.error:.3f})",
        f"{p.worsened}, {p.mended}",
        f"{p.p_value:.2g}",
    )
    return f"| {' | '.join(cells)} |"


def measured(tree: Path, path: Path, options: Sequence[str]) -> None:
    """Fill the file by the package of a tree, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.pool_beside.measure", str(path), *options]
    subprocess.run(command, cwd=ROOT, env=environment(tree), check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", help="the commit to compare with")
    parser.add_argument("--settings", default=",".join((*SETTINGS, *NOISY)))
    parser.add_argument("--instances", type=int, default=INSTANCES)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"on each instance, at each of {PULLS} pulls")
    parser.add_argument("--out", type=Path, default=HERE)
    asked = parser.parse_args()
    wanted = tasks(asked.settings.split(","), asked.instances, asked.runs)
    options = ["--settings", asked.settings, "--instances", str(asked.instances), "--runs", str(asked.runs)]
    now, before = package_commit(ROOT), last_change(asked.commit)
    here, there = (asked.out / f"wrong-{commit}.csv" for commit in (now, before))
    if now.endswith("-changed"):
        here.unlink(missing_ok=True)  # it may have changed again
    measured(ROOT, here, options)
    if not set(wanted) <= set(read(there)):
        with checked_out(asked.commit) as tree:
            measured(tree, there, options)
    kept: list[Wrong] = [{task: found[task] for task in wanted} for found in (read(here), read(there))]
    text = page(points(*kept), now, before)
    (asked.out / "results.md").write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
