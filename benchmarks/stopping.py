"""Pulls until sure, against the fewest possible: ``python -m benchmarks.stopping`` writes stopping.md.

`pool --confidence 0.95` on the paper's settings and on ad-marketplace, certified and bayes-stop, with the problems' own cost budget
and without one. The limit is T* · kl(δ, 1 − δ), exact for these binary outcomes, with the same costs; no rule that is right with
probability 0.95 whatever the truth can do with fewer pulls on average.

Each instance is kept in out/stopping as soon as it is done, so that an interrupted run goes on where it was (``--fresh`` starts
anew); ``--jobs 2`` uses two processes and gives the same numbers; ``--settings``, ``--instances`` and ``--runs`` make it smaller.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from fairarm import load_problem
from fairarm.algorithms import make_procedure
from fairarm.core.answer import Code
from fairarm.experiments.limit import find_limit
from fairarm.experiments.simulate import replicate
from fairarm.worlds.network import NetworkWorld

HERE = Path(__file__).parent
OUT, KEPT = HERE / "stopping.md", HERE.parent / "out" / "stopping"
SETTINGS = (
    "tight", "loose", "high-m-high-d", "low-m-high-d", "no-fair-arm", "loose-noisy", "tight-noisy", "ad-marketplace",
)  # fmt: skip
BARS = {**dict.fromkeys(SETTINGS[:5], 2.7), "loose-noisy": 3.5, "tight-noisy": 3.5, "ad-marketplace": 4.2}
"""Median of pulls over the limit that a certified run without a cost budget is held to."""

INSTANCES, RUNS, MOST_PULLS, CONFIDENCE, FIRST_SEED = 10, 10, 50_000, 0.95, 3000


@dataclass(frozen=True)
class Instance:
    """What the runs of one problem came to."""

    setting: str
    budget: bool
    stop: str
    seed: int
    runs: int
    limit: float
    pulls: float
    """Mean."""
    wrong: int
    undecided: int
    seconds: float
    """CPU per run."""

    @property
    def ratio(self) -> float:
        return self.pulls / self.limit


def problem_of(setting: str, seed: int, budget: bool) -> NetworkWorld:
    """One world of a setting; of a bundled problem there is one, which its seeds run anew."""
    scenario = load_problem(setting if setting in ("ad-marketplace", "coin") else f"synthetic-{setting}:seed={seed}")
    if not isinstance(scenario.world, NetworkWorld):
        raise TypeError(setting)
    problem = scenario.problem if budget else replace(scenario.problem, budget=None)
    return NetworkWorld(problem, scenario.world.network)


def instance(setting: str, budget: bool, stop: str, seed: int, runs: int) -> Instance:
    world = problem_of(setting, seed, budget)
    limit = find_limit(world.problem, world, pulls=MOST_PULLS).pulls_needed(1 - CONFIDENCE)
    procedure = make_procedure("pool", world.problem, MOST_PULLS, confidence=CONFIDENCE, stop=stop)
    begun = time.process_time()
    state, _, _, made = replicate(procedure, world, runs, np.random.default_rng(seed), seed)
    seconds = (time.process_time() - begun) / runs
    late = state.answer == Code.UNDECIDED
    wrong = int(((state.answer != world.truth().answer) & ~late).sum())
    return Instance(setting, budget, stop, seed, runs, limit, float(made.mean()), wrong, int(late.sum()), seconds)


def kept(task: tuple[str, bool, str, int, int], fresh: bool) -> Instance:
    """The instance as it was kept, or computed and kept now."""
    setting, budget, stop, seed, runs = task
    path = KEPT / f"{setting}-{'budget' if budget else 'free'}-{stop}-{seed}-{runs}.json"
    if path.exists() and not fresh:
        return Instance(**json.loads(path.read_text(encoding="utf-8")))
    found = instance(*task)
    KEPT.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(found)), encoding="utf-8")
    print(f"{path.stem}: {found.ratio:.2f}", flush=True)
    return found


def line(part: Sequence[Instance]) -> str:
    """A line of the table: medians over instances."""
    one = part[0]
    ratio, bar = float(np.median([x.ratio for x in part])), BARS[one.setting]
    held = "" if one.budget or one.stop != "certified" else f"{bar:g} {'yes' if ratio <= bar else 'NO'}"
    cells = (
        one.setting, "its own" if one.budget else "none", one.stop, f"{np.median([x.pulls for x in part]):,.0f}",
        f"{np.median([x.limit for x in part]):,.0f}", f"{ratio:.2f}", held, str(sum(x.wrong for x in part)),
        str(sum(x.undecided for x in part)), str(sum(x.runs for x in part)), f"{np.mean([x.seconds for x in part]):.2f}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def page(found: Sequence[Instance], instances: int, runs: int) -> str:
    text = [
        "# Pulls until sure",
        "",
        f"Written by `python -m benchmarks.stopping`: `pool --confidence {CONFIDENCE}`, at most {MOST_PULLS:,} pulls, {instances} instances per setting and {runs} runs of each;",
        "medians over instances. Limit: the fewest pulls that any rule with this confidence needs on average, with the same costs, exact for binary outcomes. A bayes-stop",
        "below 1 is no contradiction: it is not right with probability 0.95 *whatever* the truth. Held: what certified runs without a budget are held to.",
        "",
        "| setting | cost budget | stop | pulls | limit | pulls / limit | held | wrong | undecided | runs | CPU s per run |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    groups: dict[tuple[str, bool, str], list[Instance]] = {}
    for one in found:
        groups.setdefault((one.setting, one.budget, one.stop), []).append(one)
    return "\n".join([*text, *(line(part) for part in groups.values()), ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--settings", default=",".join(SETTINGS))
    parser.add_argument("--instances", type=int, default=INSTANCES)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--stops", default="certified,bayes-stop")
    parser.add_argument("--budgets", default="none,own")
    parser.add_argument("--fresh", action="store_true", help="compute again what was kept")
    asked = parser.parse_args()
    seeds = range(FIRST_SEED, FIRST_SEED + asked.instances)
    tasks = [
        (setting, budget == "own", stop, seed, asked.runs)
        for setting in asked.settings.split(",")
        for budget in asked.budgets.split(",")
        for stop in asked.stops.split(",")
        for seed in seeds
    ]
    found = Parallel(n_jobs=asked.jobs)(delayed(kept)(task, asked.fresh) for task in tasks)
    text = page(found, asked.instances, asked.runs)
    full = (asked.settings, asked.stops, asked.budgets) == (",".join(SETTINGS), "certified,bayes-stop", "none,own")
    if full and asked.instances >= INSTANCES:
        OUT.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
