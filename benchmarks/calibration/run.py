"""The calibration gate: ``python benchmarks/calibration/run.py`` writes results.md, results.csv and calibration.svg here.

2 000 runs of every stratum, about 40 minutes on one free core. ``--quick`` makes 200 runs with a lower cap in about a minute and
writes to out/calibration; ``--jobs 2`` uses two processes and gives the same numbers.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))  # so that the file can be run as a script, and the package imported in workers

from benchmarks.calibration import gate  # noqa: E402
from benchmarks.calibration.strata import Stratum, strata  # noqa: E402
from fairarm.core.statistics import wilson_interval  # noqa: E402

DECIDES = 0.95
"""The share of runs in which an easy stratum must be decided."""


@dataclass(frozen=True)
class Size:
    """How much to do."""

    runs: int
    cap: int
    bayes_runs: int
    budgets: tuple[int, ...]
    budget_runs: int
    coverage_rows: int
    core_looks: int


FULL = Size(2000, 20_000, 500, (40, 120, 400, 2000), 250, 4000, 600)
QUICK = Size(200, 600, 40, (40, 400), 40, 150, 60)


@dataclass(frozen=True)
class Line:
    """A line of results.csv. ``allowed`` and ``passes`` are empty where nothing is promised."""

    part: str
    name: str
    runs: int
    wrong: int
    rate: float
    allowed: float | None = None
    p_value: float | None = None
    passes: bool | None = None
    undecided: int | None = None
    right: int | None = None
    median_pulls: float | None = None
    needed: float | None = None
    claimed: float | None = None
    """Mean claimed probability of a bin."""
    low: float | None = None
    high: float | None = None
    """Wilson's limits of the share of right answers."""


Task = tuple[str, Callable[..., Any], tuple[Any, ...]]
Results = dict[str, list[Any]]


def all_tasks(size: Size, seed: int) -> list[Task]:
    """(key, function, arguments), the longest first; results of one key are in the order of their chunks."""
    tasks: list[Task] = []
    for stratum in sorted(strata(), key=lambda s: (s.growth is None, not s.border)):
        for chunk, n in gate.chunks(size.runs):
            tasks.append((f"certified {stratum.name}", gate.stopped_runs, (stratum.name, "certified", chunk, n, seed, size.cap)))  # fmt: skip
    for stratum in sorted(strata(), key=lambda s: not s.border):
        if stratum.growth is None:
            for chunk, n in gate.chunks(size.bayes_runs):
                tasks.append((f"bayes-stop {stratum.name}", gate.stopped_runs, (stratum.name, "bayes-stop", chunk, n, seed, size.cap)))  # fmt: skip
            for pulls in size.budgets:
                for chunk, n in gate.chunks(size.budget_runs):
                    tasks.append((f"fixed {stratum.name}", gate.fixed_runs, (stratum.name, pulls, chunk, n, seed)))
    for name, case in gate.COVERAGE_CASES.items():
        for chunk, n in gate.chunks(size.runs):
            tasks.append((f"coverage {name}", gate.coverage, (case, n, size.coverage_rows, seed + chunk)))
    for name, rows in (("real-skewed-core", 10), ("every-row-core", 1), (gate.HOSTILE, 2)):
        for chunk, n in gate.chunks(size.runs):
            tasks.append((f"core {name}", gate.core_runs, (name, n, size.core_looks, rows, seed + chunk)))  # fmt: skip
    return tasks


def run_all(tasks: Sequence[Task], jobs: int) -> Results:
    """The results of every key, in order, whatever the number of workers."""
    from joblib import Parallel, delayed

    started, found = time.perf_counter(), Results()
    done = Parallel(n_jobs=jobs, return_as="generator")(delayed(call)(*given) for _, call, given in tasks)
    for i, ((key, _, _), result) in enumerate(zip(tasks, done, strict=True)):
        found.setdefault(key, []).append(result)
        if i + 1 == len(tasks) or tasks[i + 1][0] != key:
            print(f"{time.perf_counter() - started:7.0f} s  {key}", flush=True)
    return found


# ---- what the results say ----


def promised(part: str, name: str, wrong: int, runs: int, allowed: float, **more: Any) -> Line:
    """A line with the one-sided test of wrong/runs against what is allowed."""
    p = gate.p_value(wrong, runs, allowed)
    return Line(part, name, runs, wrong, wrong / runs, allowed, p, p >= gate.SIGNIFICANCE, **more)


def certified_lines(name: str, found: gate.Runs, arms: int, needed: float | None) -> list[Line]:
    runs, wrong = len(found.right), int(found.wrong.sum())
    counts: dict[str, Any] = {"undecided": int(found.undecided.sum()), "right": int(found.right.sum())}
    limit = needed if needed is not None and math.isfinite(needed) else None
    return [
        promised("certified", name, wrong, runs, gate.DELTA, **counts, median_pulls=float(np.median(found.pulls)), needed=limit),
        promised("labels", name, found.mislabelled, runs, gate.DELTA),
        promised("claims", name, int(found.refuted.max()), runs, gate.DELTA / arms),
        promised("truths", name, int(found.truths.max()), runs, gate.DELTA),
    ]  # fmt: skip


def stratum_lines(stratum: Stratum, results: Results, cap: int) -> list[Line]:
    found = gate.join(results[f"certified {stratum.name}"])
    lines = certified_lines(stratum.name, found, len(stratum.problem.arms), gate.needed_pulls(stratum, cap))
    if stratum.easy:
        runs, decided = len(found.right), int((~found.undecided).sum())
        lines.append(Line("decides", stratum.name, runs, runs - decided, decided / runs, DECIDES, None, decided >= DECIDES * runs))  # fmt: skip
    if f"bayes-stop {stratum.name}" in results:
        bayes = gate.join(results[f"bayes-stop {stratum.name}"])
        runs, wrong = len(bayes.right), int(bayes.wrong.sum())
        counts: dict[str, Any] = {"undecided": int(bayes.undecided.sum()), "right": int(bayes.right.sum())}
        lines.append(Line("bayes-stop", stratum.name, runs, wrong, wrong / runs, **counts, median_pulls=float(np.median(bayes.pulls))))  # fmt: skip
    return lines


def coverage_lines(name: str, parts: Sequence[gate.Missed]) -> list[Line]:
    runs = sum(part.runs for part in parts)
    what = ["region", "intervals", *(["share"] if "P(S) unknown" in name else [])]
    return [
        promised(f"coverage: {kind}", name, sum(getattr(p, kind) for p in parts), runs, gate.DELTA) for kind in what
    ]


def calibration_lines(results: Results) -> list[Line]:
    """Claimed probabilities against the share right: at fixed numbers of pulls and where bayes-stop stopped."""
    lines = []
    for kind, border in (("clear answer", False), ("on a border", True)):
        chosen = [s.name for s in strata() if s.border == border and s.growth is None]
        fixed = gate.Claimed.joined([part for name in chosen for part in results[f"fixed {name}"]])
        stopped = [part for name in chosen for part in results[f"bayes-stop {name}"]]
        decided = [gate.Claimed(part.claimed[~part.undecided], part.right[~part.undecided]) for part in stopped]
        for rule, seen in (("fixed pulls", fixed), ("bayes-stop", gate.Claimed.joined(decided))):
            for part in gate.calibration(seen):
                low, high = wilson_interval(part.right, part.answers)
                wrong = part.answers - part.right
                lines.append(Line(f"calibration: {rule}", kind, part.answers, wrong, wrong / part.answers, right=part.right, claimed=part.mean_claimed, low=low, high=high))  # fmt: skip
    return lines


def all_lines(results: Results, cap: int) -> list[Line]:
    lines = [line for stratum in strata() for line in stratum_lines(stratum, results, cap)]
    for name, case in gate.CORE_CASES.items():
        lines += certified_lines(name, gate.join(results[f"core {name}"]), len(case.law), None)
    for name in gate.COVERAGE_CASES:
        lines += coverage_lines(name, results[f"coverage {name}"])
    return [*lines, *calibration_lines(results)]


# ---- writing ----


def write_csv(path: Path, lines: Sequence[Line]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Line)])
        writer.writeheader()
        for line in lines:
            writer.writerow({key: f"{v:.6g}" if isinstance(v, float) else v for key, v in asdict(line).items()})


def parsed(key: str, text: str) -> Any:
    """An entry of the csv as it is in a Line."""
    if not text or key in ("part", "name"):
        return text or None
    if key == "passes":
        return text == "True"
    return int(text) if key in ("runs", "wrong", "undecided", "right") else float(text)


def read_csv(path: Path, cap: int) -> list[Line]:
    """What `write_csv` wrote, with the limits computed anew."""
    needed = {stratum.name: gate.needed_pulls(stratum, cap) for stratum in strata()}
    lines = []
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            values: dict[str, Any] = {key: parsed(key, text) for key, text in row.items()}
            limit = needed.get(values["name"], math.inf) if values["part"] == "certified" else math.inf
            lines.append(Line(**{**values, "needed": limit if math.isfinite(limit) else None}))
    return lines


def shown(value: float | None, form: str = ".4g") -> str:
    return "" if value is None else format(value, form)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(head)} |", "|" + "---|" * len(head), *(f"| {' | '.join(row)} |" for row in rows), ""]


def certified_table(lines: Sequence[Line]) -> list[str]:
    about = {s.name: s.what for s in strata()} | {
        "real-skewed-core": "real outcomes, nearly all near 0, a few near 1; the best arm's gap is exactly E (bets alone, fixed order of pulls)",
        gate.HOSTILE: "the same under leaders that bet against the truth at once, without a gate",
        "every-row-core": "the best arm's gap is exactly E; a look after every row (bets alone, fixed order of pulls)",
    }
    by = {(line.part, line.name): line for line in lines}
    rows = []
    for line in (line for line in lines if line.part == "certified"):
        decides, labels, claims, truths = (
            by.get((part, line.name)) for part in ("decides", "labels", "claims", "truths")
        )
        per_limit = line.median_pulls / line.needed if line.median_pulls and line.needed else None
        sound = all(x is None or x.passes for x in (line, decides, labels, claims, truths))
        rows.append([
            line.name, about[line.name], str(line.wrong), str(line.right), str(line.undecided), shown(line.median_pulls, ".0f"),
            shown(line.needed, ".3g"), shown(per_limit, ".2g"), shown(line.p_value, ".2g"), str(truths.wrong if truths else ""), str(labels.wrong if labels else ""),
            f"{claims.wrong} of {claims.allowed * claims.runs:.0f}" if claims and claims.allowed else "", "yes" if decides else "", "yes" if sound else "NO",
        ])  # fmt: skip
    head = ["stratum", "what", "wrong", "right", "undecided", "median pulls", "limit", "pulls ÷ limit", "p", "true answer refuted", "wrong labels", "worst true claim refuted", "easy", "passes"]  # fmt: skip
    return table(head, rows)


def document(lines: Sequence[Line], size: Size, seed: int) -> str:
    failed = [f"{line.part} {line.name}" for line in lines if line.passes is False]
    coverage = [[x.part.removeprefix("coverage: "), x.name, str(x.wrong), f"{x.rate:.4f}", shown(x.p_value, ".2g"), "yes" if x.passes else "NO"] for x in lines if x.part.startswith("coverage")]  # fmt: skip
    bayes = [[x.name, str(x.wrong), str(x.right), str(x.undecided), f"{x.rate:.3f}", shown(x.median_pulls, ".0f")] for x in lines if x.part == "bayes-stop"]  # fmt: skip
    curve = [[x.name, x.part.removeprefix("calibration: "), str(x.runs), shown(x.claimed, ".3f"), f"{1 - x.rate:.3f}", f"{shown(x.low, '.3f')} to {shown(x.high, '.3f')}"] for x in lines if x.part.startswith("calibration")]  # fmt: skip
    return "\n".join([
        "# Calibration", "",
        f"Written by `python benchmarks/calibration/run.py`, seed {seed}. δ = {gate.DELTA}, {size.runs} runs a stratum, at most {size.cap} pulls a run.", "",
        f"**{'All pass.' if not failed else 'FAILED: ' + ', '.join(failed)}** A number passes unless the one-sided binomial test against what is allowed rejects at {gate.SIGNIFICANCE:g}.", "",
        "## Certified", "",
        "`pool --confidence 0.95 --stop certified`. Wrong answers: at most δ of runs. A run that reaches the cap is undecided, which is no error; easy strata must be",
        f"decided in {DECIDES:.0%} of runs. An arm exactly at the tolerance is unfair; either of two tied arms is right. *Wrong labels*: runs in which an arm was proved fair or unfair and is",
        "not, at most δ. *True answer refuted*: runs in which an answer that is right was refuted, at most δ. *Worst true claim refuted*: of all true claims about an arm's gap, the one refuted most often, and the runs allowed (δ/K). *Limit*: pulls that any rule with this δ needs on",
        "average, exact for two outcome values, else a normal approximation, with P(S) and contexts known: where they must be found out it is too low. A run first looks after 32 pulls.", "",
        *certified_table(lines),
        "## Coverage", "",
        f"Runs in which the truth left the set at any look (a look after each row at first, {size.coverage_rows} rows in all, of the arm that has done worse so far), of {size.runs}; at most δ.", "",
        *table(["what", "case", "missed", "rate", "p", "passes"], coverage),
        "## Bayes-stop", "",
        f"Stops when the posterior probability of its answer is 0.95 or more, with no promise for any one truth. {size.bayes_runs} runs a stratum. On a border (an arm exactly at",
        "the tolerance) it looks until chance makes it sure, and is then wrong far more often than 0.05: that is what *certified* is for.", "",
        *table(["stratum", "wrong", "right", "undecided", "error", "median pulls"], bayes),
        "### Claimed probability against the share right", "",
        f"Of Pool with {', '.join(map(str, size.budgets))} pulls ({size.budget_runs} runs each), and of bayes-stop where it stopped; Wilson's 95 % limits. Strata on a border are shown apart.", "",
        "![claimed probability against the share right](calibration.svg)", "",
        *table(["strata", "rule", "answers", "claimed", "right", "limits"], curve),
    ])  # fmt: skip


def draw(path: Path, lines: Sequence[Line]) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "calibration"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 5))
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, label="as claimed")
    looks = {"fixed pulls": "-", "bayes-stop": "--"}
    colours = {"clear answer": "#0072b2", "on a border": "#d55e00"}
    for kind, colour in colours.items():
        for rule, dashes in looks.items():
            chosen = [x for x in lines if x.part == f"calibration: {rule}" and x.name == kind]
            x = [line.claimed or 0.0 for line in chosen]
            y = [1 - line.rate for line in chosen]
            below = [max(0.0, 1 - line.rate - (line.low or 0.0)) for line in chosen]
            above = [max(0.0, (line.high or 0.0) - 1 + line.rate) for line in chosen]
            axes.errorbar(x, y, [below, above], color=colour, linestyle=dashes, marker="o", markersize=3, capsize=2, label=f"{kind}, {rule}")  # fmt: skip
    axes.set_xlabel("claimed probability of being right")
    axes.set_ylabel("share right, with Wilson's 95 % limits")
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer runs, a lower cap")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, help="folder; by default this one, with --quick out/calibration")
    parser.add_argument("--redraw", action="store_true", help="only write everything anew from results.csv")
    asked = parser.parse_args()
    size = QUICK if asked.quick else FULL
    out = asked.out or (HERE.parents[1] / "out" / "calibration" if asked.quick else HERE)
    out.mkdir(parents=True, exist_ok=True)
    if asked.redraw:
        lines = read_csv(out / "results.csv", size.cap)
    else:
        lines = all_lines(run_all(all_tasks(size, asked.seed), asked.jobs), size.cap)
    write_csv(out / "results.csv", lines)
    (out / "results.md").write_text(document(lines, size, asked.seed), encoding="utf-8")
    draw(out / "calibration.svg", lines)
    failed = [line for line in lines if line.passes is False]
    for line in failed:
        print("FAILED", line)
    print(f"{len(lines)} lines in {out / 'results.md'}: {'all pass' if not failed else f'{len(failed)} failed'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
