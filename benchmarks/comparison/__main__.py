"""Error against pulls for every algorithm on every setting: ``python -m benchmarks.comparison [--quick] [--jobs 2]``.

Writes results.csv, results.md and figures beside this file (a quick run: to --out), and the short table of savings into the README and
docs/pool.md. Finished points are kept in
--keep, so that an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import csv
import io
from collections import defaultdict
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks.comparison.judge import Saving, losses, saving, without
from benchmarks.comparison.plan import (
    COMPETITORS,
    ESTIMATED,
    NOISY,
    PAPER_SETTINGS,
    PULLS,
    RIVAL_PULLS,
    RIVALS,
    SETTINGS,
    comparison_plan,
)
from benchmarks.pasting import paste
from fairarm.experiments.paper.instances import describe
from fairarm.experiments.paper.run import FinishedPoint, run_paper
from fairarm.reports.figures import COLOURS, MARKERS

HERE = Path(__file__).parent
TARGET = 0.1
REFERENCE = {
    "none": 54, "loose": 35, "tight": 89, "high-m-high-d": 550, "low-m-high-d": 86, "high-m-low-d": 560, "hepar2": 140,
}  # fmt: skip
"""Savings of the prototype on other instances of the settings (the specification's table)."""

SHOWN = (32, 100, 316, 1000, 3162, 10_000, 100_000)
By = dict[str, dict[str, list[FinishedPoint]]]


def grouped(found: list[FinishedPoint]) -> By:
    """Setting, then algorithm; Pool with estimated laws is called pool-estimated."""
    by: By = defaultdict(lambda: defaultdict(list))
    for evidence in found:
        name = "pool-estimated" if evidence.point.reading == ESTIMATED else evidence.point.algorithm
        by[evidence.point.setting][name].append(evidence)
    return by


def write_csv(found: list[FinishedPoint], path: Path) -> None:
    text = io.StringIO()
    rows = [evidence.row() for evidence in found]
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(text.getvalue(), encoding="utf-8")


def _pulls(value: float) -> str:
    return (
        f"> {RIVAL_PULLS[-1]:,}" if value == float("inf") else f"≤ {PULLS[0]}" if value <= PULLS[0] else f"{value:,.0f}"
    )


def _factor(value: float) -> str:
    return "more" if value == float("inf") else f"×{value:,.1f}" if value < 10 else f"×{value:,.0f}"


def _saving_row(s: Saving) -> str:
    reference = f"×{REFERENCE[s.setting]}" if s.setting in REFERENCE else ""
    rivals = " | ".join(_pulls(s.rivals[name]) for name in RIVALS)
    return (
        f"| {s.setting} | {rivals} | {_pulls(s.pool)} | {_factor(s.ratio)} | "
        f"{_factor(s.low)} to {_factor(s.high)} | {reference} |"
    )


def page(by: By, runs: int, instances: int) -> str:
    settings = list(by)
    lines = [
        "# Error against pulls, every algorithm",
        "",
        f"Written by `python -m benchmarks.comparison`. {instances} instances a setting, {runs} runs a point, seeds that nothing was",
        'tuned on. An answer is wrong if it is not the best fair arm, or not "none" where none is fair; undecided is wrong.',
        "Pool names an arm only if it is fair with probability 0.8 or more, a safety device: [what it does](../gate.md), apart.",
        "",
        f"## Pulls to reach error {TARGET}",
        "",
        "Saving: against the better of csr-v2 and two-stage-v2; 95 % limits by resampling instances and runs. Left to right the exact",
        "settings of the paper, then the noisy variants (Y ~ Bernoulli(θ), θ uniform), where noise costs more than method. An error of 0.1",
        "over ten instances is one instance that stays wrong: a HEPAR-II draw with two nearly equal best arms is also shown without.",
        "What no rule can do with so many pulls is in [limits.md](limits.md).",
        "",
        "| setting | csr-v2 | two-stage-v2 | pool | saving | 95 % limits | prototype |",
        "|---|---|---|---|---|---|---|",
    ]
    by = {**by, **without_ties(by)}
    reachable = [s for s in by if s.removesuffix("-noisy") != "no-fair-arm"]
    lines += [_saving_row(saving(s, by[s], RIVALS, TARGET)) for s in reachable]
    worse = [loss for s in settings for loss in losses(s, {n: e for n, e in by[s].items() if n != "pool-estimated"})]
    sure = [loss for loss in worse if loss.significant]
    lines += [
        "",
        "## Is Pool anywhere worse?",
        "",
        f"One-sided test at 1 % against each competitor in each setting, Holm's correction over the numbers of pulls: {len(sure)} points where Pool",
        f"is worse beyond noise, {len(worse) - len(sure)} where its error is higher by chance.",
        "",
    ]
    if sure:
        lines += ["| setting | competitor | pulls | pool | competitor's | p |", "|---|---|---|---|---|---|"]
        lines += [
            f"| {x.setting} | {x.competitor} | {x.pulls:,} | {x.pool:.3f} | {x.other:.3f} | {x.p_value:.1e} |"
            for x in sure
        ]
        lines.append("")
    lines += ["## Errors", ""]
    for setting in settings:
        shown = [p for p in SHOWN if any(e.point.pulls == p for e in by[setting]["pool"])]
        lines += [
            f"### {setting}",
            "",
            f"| algorithm | {' | '.join(f'{p:,}' for p in shown)} |",
            "|---" * (len(shown) + 1) + "|",
        ]
        for name, found in by[setting].items():
            errors = {e.point.pulls: f"{e.error:.3f}" for e in found}
            lines.append(f"| {name} | {' | '.join(errors.get(p, '') for p in shown)} |")
        lines.append("")
    return "\n".join(lines)


TIED = 0.001
"""Instances whose two best fair arms differ by less in outcome: no algorithm here tells them apart at 10^5 pulls."""


def without_ties(by: By) -> By:
    """HEPAR-II's arms are drawn at random, and some draws have a tie: the setting again without those."""
    found = by.get("hepar2", {})
    names = next(iter(found.values()))[0].point.instances if found else ()
    gaps = [describe(name).outcome_gap for name in names]
    tied = [i for i, gap in enumerate(gaps) if gap is not None and gap < TIED]
    if not tied:
        return {}
    label = f"hepar2 without {len(tied)} of {len(names)} draws, a tie within {TIED}"
    return {label: {name: without(evidence, tied) for name, evidence in found.items()}}


PASTED = (HERE.parents[1] / "README.md", HERE.parents[1] / "docs" / "pool.md")


def short_table(by: By) -> str:
    """Savings with noisy outcomes, and beside them those in the paper's settings, for the README."""
    lines = [
        "Pulls until at most one answer in ten is wrong; *saving* is against the better of `csr-v2` and `two-stage-v2`, with 95 % limits.",
        "",
        "| setting | noisy outcomes: better of the two | pool | saving | nearly certain outcomes: csr-v2 | two-stage-v2 | pool | saving |",
        "|---|---|---|---|---|---|---|---|",
    ]
    by = {**by, **without_ties(by)}
    for setting in [*PAPER_SETTINGS, *(name for name in by if name.startswith("hepar2 "))]:
        exact = saving(setting, by[setting], RIVALS, TARGET)
        cells = [*(_pulls(exact.rivals[name]) for name in RIVALS), _pulls(exact.pool), _with_limits(exact)]
        noisy = ["", "", ""]
        if f"{setting}-noisy" in by:
            found = saving(f"{setting}-noisy", by[f"{setting}-noisy"], RIVALS, TARGET)
            noisy = [_pulls(min(found.rivals.values())), _pulls(found.pool), _with_limits(found)]
        lines.append(f"| {' | '.join([setting, *noisy, *cells])} |")
    return "\n".join(lines)


def _with_limits(s: Saving) -> str:
    return f"{_factor(s.ratio)} ({_factor(s.low)} to {_factor(s.high)})"


def draw(by: By, settings: list[str], path: Path) -> None:
    """One panel a setting."""
    columns = 4 if len(settings) > 4 else len(settings)
    rows = -(-len(settings) // columns)
    with mpl.rc_context({"svg.hashsalt": "fairarm", "svg.fonttype": "path", "font.size": 8}):
        figure = Figure(figsize=(3.2 * columns, 2.6 * rows), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
        for axes, setting in zip(grid.ravel(), settings, strict=False):
            for name in ("pool", *COMPETITORS):
                found = sorted(by[setting].get(name, []), key=lambda e: e.point.pulls)
                if found:
                    axes.plot(
                        [e.point.pulls for e in found], [e.error for e in found], label=name, ms=3,
                        color=COLOURS.get(name, "grey"), marker=MARKERS.get(name, "x"), lw=2 if name == "pool" else 1,
                    )  # fmt: skip
            axes.set_xscale("log")
            axes.set_ylim(-0.02, 1.02)
            axes.set_title(setting, fontsize=9)
            axes.grid(alpha=0.3)
        for axes in grid.ravel()[len(settings) :]:
            axes.set_axis_off()
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
        for axes in grid[-1]:
            axes.set_xlabel("pulls")
        figure.supylabel("share of runs with a wrong answer", fontsize=9)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else {}, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--keep", type=Path, default=Path("out/comparison"))
    asked = parser.parse_args()
    points = comparison_plan(asked.quick)
    done = 0

    def count() -> None:
        nonlocal done
        done += 1
        if done % 50 == 0 or done == len(points):
            print(f"{done} of {len(points)} points", flush=True)

    found = run_paper(points, asked.keep, jobs=asked.jobs, on_done=count)
    by = grouped(found)
    asked.out.mkdir(parents=True, exist_ok=True)
    write_csv(found, asked.out / "results.csv")
    text = page(by, points[0].runs, len(points[0].instances))
    (asked.out / "results.md").write_text(text, encoding="utf-8")
    draw(by, [s for s in SETTINGS if s in by], asked.out / "exact.svg")
    if noisy := [s for s in NOISY if s in by]:
        draw(by, noisy, asked.out / "noisy.svg")
    if not asked.quick:
        for path in PASTED:
            paste(short_table(by), path, "savings")
    print(f"saved {asked.out / 'results.md'}")


if __name__ == "__main__":
    main()
