"""Calibration of certified answers about several rows and groups: ``python benchmarks/calibration/rows.py`` writes its table here.

2 000 runs of each of `row_strata`. ``--runs`` makes fewer, and then writes to out/calibration; ``--jobs 2`` uses two processes and gives
the same numbers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))  # so that the file can be run as a script, and the package imported in workers

from benchmarks.calibration import gate  # noqa: E402
from benchmarks.calibration.run import Line, Task, certified_lines, run_all, shown, table, write_csv  # noqa: E402
from benchmarks.calibration.strata import CAP, Stratum, strata_with_rows  # noqa: E402

RUNS, SEED = 2000, 7


@dataclass(frozen=True)
class Page:
    """What is measured, and where its table goes."""

    name: str
    title: str
    strata: Callable[[], Sequence[Stratum]]
    cap: int


ROWS = Page("rows", "Calibration with several rows and groups", strata_with_rows, CAP)


def tasks(page: Page, runs: int, cap: int, seed: int) -> list[Task]:
    """Every stratum in chunks."""
    return [
        (stratum.name, gate.stopped_runs, (stratum.name, "certified", chunk, n, seed, cap))
        for stratum in page.strata()
        for chunk, n in gate.chunks(runs)
    ]


def measured(page: Page, runs: int, cap: int, seed: int, jobs: int) -> list[Line]:
    """Four lines for each stratum: wrong answers, wrong labels, the worst true claim, the worst true answer."""
    results = run_all(tasks(page, runs, cap, seed), jobs)
    made = [(s, gate.join(results[s.name])) for s in page.strata()]
    return [line for s, found in made for line in certified_lines(s.name, found, len(s.problem.arms), None)]


def document(page: Page, lines: Sequence[Line], runs: int, cap: int, seed: int) -> str:
    by = {(line.part, line.name): line for line in lines}
    failed = [f"{line.part} {line.name}" for line in lines if line.passes is False]
    rows = []
    for stratum in page.strata():
        answers, labels, claims, truths = (
            by[part, stratum.name] for part in ("certified", "labels", "claims", "truths")
        )
        problem = stratum.problem
        rows.append([
            stratum.name, stratum.what, str(len(problem.groups)), str(len(problem.rows)), str(answers.wrong), str(answers.right),
            str(answers.undecided), shown(answers.median_pulls, ".0f"), shown(answers.p_value, ".2g"), str(truths.wrong), str(labels.wrong),
            f"{claims.wrong} of {(claims.allowed or 0) * claims.runs:.0f}", "yes" if all(x.passes for x in (answers, labels, claims, truths)) else "NO",
        ])  # fmt: skip
    head = ["stratum", "what", "groups", "rows", "wrong", "right", "undecided", "median pulls", "p", "true answer refuted", "wrong labels", "worst true claim refuted", "passes"]  # fmt: skip
    return "\n".join([
        f"# {page.title}", "",
        f"Written by `python benchmarks/calibration/{page.name}.py`, seed {seed}. δ = {gate.DELTA}, {runs} runs a stratum, at most {cap} pulls a run.", "",
        f"**{'All pass.' if not failed else 'FAILED: ' + ', '.join(failed)}** A number passes unless the one-sided binomial test against what is allowed rejects at {gate.SIGNIFICANCE:g}.",
        "An arm exactly on an end of one row is unfair: it is the best arm here, and on such a border a run mostly reaches the cap undecided, which is no error.", "",
        "Columns are those of [the gate](results.md): wrong answers, runs with a refuted true answer and runs with a wrong label are at most δ of all; a true claim about one arm is refuted in at most δ/K.", "",
        *table(head, rows),
    ])  # fmt: skip


def main(page: Page = ROWS) -> int:
    parser = argparse.ArgumentParser(description=page.title)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--cap", type=int, default=page.cap, help="pulls after which a run is undecided")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=SEED)
    asked = parser.parse_args()
    full = asked.runs >= RUNS and asked.cap >= page.cap
    out = HERE if full else HERE.parents[1] / "out" / "calibration"
    out.mkdir(parents=True, exist_ok=True)
    lines = measured(page, asked.runs, asked.cap, asked.seed, asked.jobs)
    write_csv(out / f"{page.name}.csv", lines)
    (out / f"{page.name}.md").write_text(document(page, lines, asked.runs, asked.cap, asked.seed), encoding="utf-8")
    failed = [line for line in lines if line.passes is False]
    for line in failed:
        print("FAILED", line)
    print(f"{len(lines)} lines in {out / f'{page.name}.md'}: {'all pass' if not failed else f'{len(failed)} failed'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
