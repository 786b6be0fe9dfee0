"""Are the costly pulls better made last? ``python -m benchmarks.costly_last`` writes costly_last.md.

Pool makes about half of its pulls in a first phase, of the cheapest arm, and plans the rest in four phases. In the variants
nearly all pulls that the cost budget forces to be cheap come first, so that the costly ones are made when most is known, and
there may be more phases to choose them in. Every setting of the comparison, exact and noisy, on instances that nothing
was tuned on; all variants start from the same seeds.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from statistics import NormalDist

import numpy as np

from benchmarks.comparison.judge import holm
from benchmarks.comparison.plan import NOISY, SETTINGS
from fairarm import load_problem
from fairarm.algorithms.certificates import Books
from fairarm.algorithms.pool import PHASES, Pool
from fairarm.algorithms.state import State
from fairarm.core.design.rounding import round_pulls
from fairarm.core.types import BoolArray
from fairarm.experiments.simulate import replicate
from fairarm.worlds.network import NetworkWorld

OUT = Path(__file__).with_name("costly_last.md")
FIRST_SEED, INSTANCES, RUNS = 5000, 10, 40
PULLS = (50, 100, 300, 1000)
LEVEL = 0.01


@dataclass(frozen=True)
class CostlyLast(Pool):
    """Pool with another number of phases, and a share of the pulls that must be cheap made in the first one."""

    phases: int = PHASES
    cheap_first: float = 0.95

    def start(self, n: int) -> State[Books]:
        state, costs, budget = super().start(n), self.problem.compiled.cost_array, self._budget
        least, *more = np.unique(costs)
        if budget is None or not more:
            return state
        forced = self.pulls * max(0.0, 1.0 - (budget - least) / (more[0] - least))
        first = max(int(self.cheap_first * forced), int(state.given[0].sum()))
        target = state.given[0] * (first / max(int(state.given[0].sum()), 1))
        plan = round_pulls(target, np.zeros_like(state.given[0]), costs, budget, float(first))
        everyone = np.broadcast_to(plan, state.plan.shape).copy()
        return state.but(given=everyone, plan=everyone)

    def _next_total(self, made: int, phase: int) -> int:
        return made + math.ceil((self.pulls - made) / (self.phases + 1 - phase))

    def _over(self, state: State[Books]) -> BoolArray:
        return np.full(int(state.running.sum()), state.phase == self.phases + 1)


VARIANTS = {
    "as it is": (PHASES, 0.0),
    "95 % of the cheap ones first, 8 phases": (8, 0.95),
    "95 % first, 4 phases": (4, 0.95),
}


@dataclass
class Tally:
    """Errors of one variant at one point, by instance, and its CPU seconds."""

    errors: list[int] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def share(self) -> float:
        return sum(self.errors) / (len(self.errors) * RUNS)

    @property
    def variance(self) -> float:
        """Of the share, with the instances as they are."""
        rates = [(count + 0.5) / (RUNS + 1) for count in self.errors]
        return sum(p * (1 - p) for p in rates) / RUNS / len(rates) ** 2


Table = dict[tuple[str, int], dict[str, Tally]]


def measure(kept: Path | None, instances: int = INSTANCES) -> Table:
    """Every point, instance by instance; ``kept`` holds what an interrupted run has finished."""
    table: Table = {(s, T): {name: Tally() for name in VARIANTS} for s in (*SETTINGS, *NOISY) for T in PULLS}
    done = json.loads(kept.read_text()) if kept is not None and kept.exists() else []
    for i in range(instances):
        if i >= len(done):
            done.append([one for s in (*SETTINGS, *NOISY) for one in _instance(s, FIRST_SEED + i)])
            if kept is not None:
                kept.write_text(json.dumps(done))
        for setting, T, name, errors, seconds in done[i]:
            tally = table[setting, T][name]
            tally.errors.append(errors)
            tally.seconds += seconds
    return table


def _instance(setting: str, seed: int) -> Iterator[tuple[str, int, str, int, float]]:
    """Setting, pulls, variant, errors and CPU seconds of every point of one instance."""
    scenario = load_problem(f"{setting if setting == 'hepar2' else f'synthetic-{setting}'}:seed={seed}")
    world = scenario.world
    if not isinstance(world, NetworkWorld):
        raise TypeError(setting)
    for T, (name, (phases, first)) in product(PULLS, VARIANTS.items()):
        rng, started = np.random.default_rng([seed, T]), time.process_time()
        procedure = CostlyLast(scenario.problem, T, phases=phases, cheap_first=first).unwatched()
        ran = replicate(procedure, world, RUNS, rng, int(rng.integers(1 << 62)))
        wrong = int((ran.state.answer != world.truth().answer).sum())
        yield setting, T, name, wrong, time.process_time() - started


def difference(a: Tally, b: Tally) -> tuple[float, float]:
    """a − b, and its standard error."""
    return a.share - b.share, math.sqrt(a.variance + b.variance)


def page(table: Table) -> str:
    names = list(VARIANTS)
    instances = len(next(iter(table.values()))[names[0]].errors)
    text = [
        "# Costly pulls last?",
        "",
        f"Written by `python -m benchmarks.costly_last`. Error of `pool`, {instances} instances per setting from seed {FIRST_SEED} on, {instances * RUNS} runs per",
        "number. *First* is the share of the pulls that the cost budget forces to be cheap which the first phase makes. Worse: points at which",
        f"the variant's error is higher than today's, one-sided test at {LEVEL:.0%}, Holm's correction over all {len(table)} points.",
        "",
        "| variant | mean error, exact | noisy | all | difference from today's, 95 % limits | points worse | better | CPU / today's |",
        "|---|---|---|---|---|---|---|---|",
    ]
    text += [_summary(table, name) for name in names]
    text += ["", f"| setting | pulls | {' | '.join(names)} |", "|---" * (len(names) + 2) + "|"]
    for (setting, T), row in table.items():
        text.append(f"| {setting} | {T:,} | {' | '.join(f'{row[name].share:.3f}' for name in names)} |")
    return "\n".join([*text, ""])


def _summary(table: Table, name: str) -> str:
    today = next(iter(VARIANTS))
    both = [difference(row[name], row[today]) for row in table.values()]
    mean, error = sum(d for d, _ in both) / len(both), math.sqrt(sum(e**2 for _, e in both)) / len(both)
    means = [
        sum(row[name].share for row in rows) / len(rows)
        for rows in (
            [row for (s, _), row in table.items() if s not in NOISY],
            [row for (s, _), row in table.items() if s in NOISY],
            list(table.values()),
        )
    ]
    beyond = [sum(holm([1 - NormalDist().cdf(sign * d / e) for d, e in both], LEVEL)) for sign in (1, -1)]
    cpu = sum(row[name].seconds for row in table.values()) / sum(row[today].seconds for row in table.values())
    against = "" if name == today else f"{mean:+.4f} ({mean - 1.96 * error:+.4f} to {mean + 1.96 * error:+.4f})"
    worse, better = ("", "") if name == today else (str(count) for count in beyond)
    return f"| {name} | {' | '.join(f'{m:.4f}' for m in means)} | {against} | {worse} | {better} | {cpu:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="a file for finished instances, so that an interrupted run goes on")
    parser.add_argument("--instances", type=int, default=INSTANCES)
    asked = parser.parse_args()
    OUT.write_text(page(measure(asked.keep, asked.instances)), encoding="utf-8")
    print(OUT.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
