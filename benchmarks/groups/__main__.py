"""Four groups, all pairs within a tolerance: ``python -m benchmarks.groups [--jobs 2]`` writes results.md.

Pool with all groups at once, beside one run with two groups for each pair with the pulls divided between them. Every instance is
kept in out/groups as soon as it is done.
"""

from __future__ import annotations

import argparse
import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from benchmarks.comparison.judge import pulls_to_reach
from benchmarks.groups.growth import growth_lines
from benchmarks.groups.pairs import one_by_one
from fairarm import load_problem
from fairarm.algorithms import make_procedure
from fairarm.algorithms.procedure import unwatched
from fairarm.core.types import FloatArray
from fairarm.experiments.simulate import replicate
from fairarm.worlds.network import NetworkWorld

HERE = Path(__file__).parent
OUT, KEPT = HERE / "results.md", HERE.parents[1] / "out" / "groups"
SETTINGS = ("synthetic-groups", "synthetic-groups-noisy")
GROUPS, ARMS, INSTANCES, RUNS, FIRST_SEED = 4, 30, 10, 20, 1000
PULLS = {
    SETTINGS[0]: (16, 32, 64, 128, 256, 512, 1024, 2048),
    SETTINGS[1]: (64, 128, 256, 512, 1024, 2048, 4096, 8192),
}
TARGET = 0.1
RESAMPLES = 1000


@dataclass(frozen=True)
class Wrong:
    """How many of the runs on one instance were wrong, at each number of pulls."""

    setting: str
    seed: int
    runs: int
    together: list[int]
    one_by_one: list[int]


def measured(setting: str, seed: int, runs: int) -> Wrong:
    """One instance, both ways."""
    path = KEPT / f"{setting}-{GROUPS}-{ARMS}-{seed}-{runs}.json"
    if path.exists():
        return Wrong(**json.loads(path.read_text(encoding="utf-8")))
    name = f"{setting}:G={GROUPS},K={ARMS},seed={seed}"
    world = load_problem(name).world
    if not isinstance(world, NetworkWorld):
        raise TypeError(name)
    truth, together, apart = world.truth().answer, [], []
    for pulls in PULLS[setting]:
        rng = np.random.default_rng([zlib.crc32(name.encode()), pulls])
        procedure = unwatched(make_procedure("pool", world.problem, pulls))
        ran = replicate(procedure, world, runs, rng, int(rng.integers(1 << 62)))
        together.append(int((ran.state.answer != truth).sum()))
        apart.append(int((one_by_one(world, pulls, runs, rng) != truth).sum()))
    found = Wrong(setting, seed, runs, together, apart)
    KEPT.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(found)), encoding="utf-8")
    print(f"{setting} {seed}: {together} {apart}", flush=True)
    return found


def saved(pulls: FloatArray, together: FloatArray, apart: FloatArray, runs: int) -> tuple[float, float, float]:
    """Pulls one by one / pulls together to reach the target, with 95 % limits by resampling instances and runs."""
    rng, ratios = np.random.default_rng(12), []
    for _ in range(RESAMPLES):
        chosen = rng.integers(0, len(together), len(together))
        again = [rng.binomial(runs, shares[chosen]).mean(axis=0) / runs for shares in (together, apart)]
        ratios.append(_ratio(pulls, *again))
    low, high = np.quantile(ratios, (0.025, 0.975), method="inverted_cdf")
    return _ratio(pulls, together.mean(axis=0), apart.mean(axis=0)), float(low), float(high)


def _ratio(pulls: FloatArray, together: FloatArray, apart: FloatArray) -> float:
    return pulls_to_reach(pulls, apart, TARGET) / pulls_to_reach(pulls, together, TARGET)


def setting_lines(setting: str, found: Sequence[Wrong]) -> list[str]:
    """The table of one setting, and what it comes to."""
    pulls = np.array(PULLS[setting], dtype=np.float64)
    runs = found[0].runs
    together, apart = (np.array([getattr(w, how) for w in found]) / runs for how in ("together", "one_by_one"))
    ratio, low, high = saved(pulls, together, apart, runs)
    reach = [pulls_to_reach(pulls, errors.mean(axis=0), TARGET) for errors in (together, apart)]
    heads = " | ".join(f"{int(p):,}" for p in pulls)
    lines = [f"## {setting}", "", f"| error at pulls | {heads} |", "|---" * (len(pulls) + 1) + "|"]
    for how, errors in (("all groups at once", together), ("a run for each pair", apart)):
        lines.append(f"| {how} | {' | '.join(f'{e:.3f}' for e in errors.mean(axis=0))} |")
    told = ", ".join("more than were tried" if np.isinf(x) else f"{x:,.0f}" for x in reach)
    return [*lines, "", f"Pulls to reach an error of {TARGET}: {told}; saving ×{ratio:.1f} (95 % limits ×{low:.1f} to ×{high:.1f}).", ""]  # fmt: skip


def page(found: Sequence[Wrong], growth: list[str]) -> str:
    """All of it."""
    text = [
        "# Several groups at once",
        "",
        f"Written by `python -m benchmarks.groups`: {GROUPS} groups, every two within the tolerance, {ARMS} arms, {INSTANCES} instances per setting, {RUNS} runs of each per point.",
        "*All groups at once*: `pool` on the problem as it is. *A run for each pair*: what one had to do without, `pool` with two groups for each of the",
        "six pairs with a sixth of the pulls; an arm is fair if each run finds it fair with probability 0.8, and its outcome is what the runs find together.",
        "",
    ]
    for setting in SETTINGS:
        text += setting_lines(setting, [w for w in found if w.setting == setting])
    return "\n".join([*text, *growth])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--instances", type=int, default=INSTANCES)
    parser.add_argument("--runs", type=int, default=RUNS)
    asked = parser.parse_args()
    tasks = [(setting, FIRST_SEED + i) for setting in SETTINGS for i in range(asked.instances)]
    found = Parallel(n_jobs=asked.jobs)(delayed(measured)(*task, asked.runs) for task in tasks)
    text = page(found, growth_lines())
    if (asked.instances, asked.runs) == (INSTANCES, RUNS):
        OUT.write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
