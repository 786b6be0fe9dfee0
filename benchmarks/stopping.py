"""Pulls until sure, against the fewest possible: ``python -m benchmarks.stopping`` writes stopping.md.

`pool --confidence 0.95` on the paper's settings, certified and bayes-stop, with the paper's cost budget and without one. The
limit is T* · kl(δ, 1 − δ), exact for these binary outcomes, with the same costs; no rule that is right with probability 0.95
whatever the truth can do with fewer pulls on average.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from fairarm import load_problem
from fairarm.algorithms import make_procedure
from fairarm.core.answer import Code
from fairarm.experiments.limit import find_limit
from fairarm.experiments.simulate import replicate
from fairarm.worlds.network import NetworkWorld

OUT = Path(__file__).with_name("stopping.md")
SETTINGS = ("loose", "tight", "high-m-high-d", "no-fair-arm", "loose-noisy")
SEEDS, RUNS, MOST_PULLS, CONFIDENCE = range(1000, 1005), 40, 50_000, 0.95


@dataclass(frozen=True)
class Line:
    setting: str
    budget: str
    stop: str
    wrong: int
    undecided: int
    runs: int
    median_pulls: float
    median_limit: float
    median_ratio: float
    """Of each instance's mean pulls over its limit."""


def line(setting: str, limited: bool, stop: str) -> Line:
    pulls, limits, ratios, wrong, undecided = [], [], [], 0, 0
    for seed in SEEDS:
        scenario = load_problem(f"synthetic-{setting}:seed={seed}")
        if not isinstance(scenario.world, NetworkWorld):
            raise TypeError(setting)
        problem = scenario.problem if limited else replace(scenario.problem, budget=None)
        world = NetworkWorld(problem, scenario.world.network)
        needed = find_limit(problem, world, pulls=MOST_PULLS).pulls_needed(1 - CONFIDENCE)
        procedure = make_procedure("pool", problem, MOST_PULLS, confidence=CONFIDENCE, stop=stop)
        state, _, _, made = replicate(procedure, world, RUNS, np.random.default_rng(seed), seed)
        late = state.answer == Code.UNDECIDED
        wrong += int(((state.answer != world.truth().answer) & ~late).sum())
        undecided += int(late.sum())
        pulls += made.tolist()
        limits.append(needed)
        ratios.append(float(made.mean()) / needed)
    budget = "the paper's" if limited else "none"
    median = (float(np.median(pulls)), float(np.median(limits)), float(np.median(ratios)))
    return Line(setting, budget, stop, wrong, undecided, len(pulls), *median)


def page(lines: list[Line]) -> str:
    text = [
        "# Pulls until sure",
        "",
        f"Written by `python -m benchmarks.stopping`: `pool --confidence {CONFIDENCE}`, at most {MOST_PULLS:,} pulls, {len(SEEDS)} instances, {len(SEEDS) * RUNS} runs a line.",
        "Limit: the fewest pulls that any rule with this confidence needs on average, with the same costs, exact for binary outcomes. A bayes-stop",
        "below 1 is no contradiction: it is not right with probability 0.95 *whatever* the truth.",
        "",
        "| setting | cost budget | stop | median pulls | limit | pulls / limit | wrong | undecided | runs |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    text += [
        f"| {x.setting} | {x.budget} | {x.stop} | {x.median_pulls:,.0f} | {x.median_limit:,.0f} | {x.median_ratio:.1f} | {x.wrong} | {x.undecided} | {x.runs} |"
        for x in lines
    ]
    return "\n".join([*text, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    tasks = [(s, b, stop) for s in SETTINGS for b in (True, False) for stop in ("certified", "bayes-stop")]
    lines = Parallel(n_jobs=asked.jobs)(delayed(line)(*task) for task in tasks)
    OUT.write_text(page(lines), encoding="utf-8")
    print(page(lines))


if __name__ == "__main__":
    main()
