"""``python -m benchmarks.live`` writes live.md: truth, cost and monitors of live studies."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from benchmarks.live.cases import CASES, DELTA
from benchmarks.live.cost import CostLine, cost_lines
from benchmarks.live.truth import TruthLine, most_allowed, truth_line
from benchmarks.live.watching import WatchLine, watch_lines

OUT = Path(__file__).with_name("live.md")


def main() -> None:
    """All three parts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=1000, help="of each case that must be true")
    parser.add_argument("--mutants", type=int, default=200, help="of each mutant")
    parser.add_argument("--cost", type=int, default=100, help="of each line of cost")
    parser.add_argument("--clean", type=int, default=5000, help="with nothing wrong, for the monitors")
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    started = time.process_time()
    true = []
    for case in CASES:
        true.append(truth_line(case, asked.studies))
        print(true[-1], flush=True)
        if case.mutant is not None:
            true.append(truth_line(case, asked.mutants, mutant=True))
            print(true[-1], flush=True)
    cost = cost_lines(asked.cost, asked.jobs)
    for line in cost:
        print(line.what, line.point.days, line.point.served, flush=True)
    watched = watch_lines(asked.clean, 1000)
    OUT.write_text(page(true, cost, watched, (time.process_time() - started) / 60), encoding="utf-8")
    print(OUT)


def page(true: list[TruthLine], cost: list[CostLine], watched: list[WatchLine], minutes: float) -> str:
    """The tables."""
    return "\n".join(
        [
            "# Live studies: truth, cost, monitors",
            "",
            f"Written by `make live-bench` ({minutes:.0f} minutes of one core). What is certified and why: [docs/certified.md](../../docs/certified.md#part-5-live-studies).",
            "",
            "## Truth",
            "",
            f"An arm exactly at the tolerance, which is unfair. 500 people enter each day, of 2 000 who arrive; the window is 7 days; at most 8 000 people; δ = {DELTA:g}, ρ = 0.95. *Named*: studies that",
            "certified it as the answer; *fair*: those, and studies that labelled it fair. The guard and the check of coverage are off, so that they cannot keep a",
            "careless study from a false certificate. *Allowed*: more false answers than this have probability below 10⁻⁴ where the true rate is δ.",
            "",
            "| case | how it is run | studies | named | fair | allowed | lost | days |",
            "|---|---|---|---|---|---|---|---|",
            *(_truth_row(line) for line in true),
            "",
            "## Cost",
            "",
            "ad-marketplace with its budget, 2 000 arrivals a day, window 7 days, confidence 0.95, at most 45 000 people, loss as `worst`. Medians; *waiting*: phases that wait for their last outcome.",
            "",
            "| what | studies | decided | wrong | days | people | beside none lost | waiting |",
            "|---|---|---|---|---|---|---|---|",
            *_cost_rows(cost),
            "",
            "## Monitors",
            "",
            "500 people a day (the guard: 100), looked at every day. Levels: law 10⁻⁴, drift and loss 10⁻³, guard 10⁻² over arms and ends.",
            "",
            "| monitor | what is wrong | studies | alarm | by day | half by day | 95 % by day |",
            "|---|---|---|---|---|---|---|",
            *(_watch_row(line) for line in watched),
            "",
        ]
    )


def _truth_row(line: TruthLine) -> str:
    allowed = most_allowed(line.studies) if line.how == "as it should be" else "(mutant)"
    return (
        f"| {line.case} | {line.how} | {line.studies} | {line.answers} | {line.labels} | {allowed} | {100 * line.lost:.1f} % "
        f"| {line.days:.0f} |"
    )


def _cost_rows(lines: list[CostLine]) -> list[str]:
    """People beside the line of the same size with nothing lost."""
    none = next(line.point.served for line in lines if line.what.startswith("0 % lost"))
    rows = []
    for line in lines:
        p = line.point
        beside = f"×{p.served / none:.2f}" if p.people == 150 else ""
        waiting = "" if p.waiting is None else f"{p.waiting:.0f} days, ×{p.waiting / p.days:.0f}"
        rows.append(
            f"| {line.what} | {p.studies} | {100 * line.decided:.0f} % | {p.errors} | {p.days:.0f} | {p.served:.0f} | {beside} | {waiting} |"
        )
    return rows


def _watch_row(line: WatchLine) -> str:
    half, most = ("" if day == float("inf") else f"{day:.0f}" for day in (line.half, line.most))
    return f"| {line.monitor} | {line.what} | {line.studies} | {line.found} | {line.days} | {half} | {most} |"


if __name__ == "__main__":
    main()
