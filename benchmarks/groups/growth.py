"""How the CPU time of a pool run grows with rows and with groups: both measured in one run, alternating, as ratios."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from fairarm import Constraint, load_problem
from fairarm.algorithms import make_procedure
from fairarm.experiments.simulate import replicate
from fairarm.problem.problem import Problem
from fairarm.worlds.network import NetworkWorld

REPEATS, RUNS, PULLS = 5, 20, 1000
MOST_GROUPS = 6


def _asked(problem: Problem, rows: int) -> Problem:
    """The problem with so many rows: the first ordered pairs of groups, by ratio."""
    groups, E = problem.groups, problem.rows[0].below or 0.1
    pairs = [(t, u) for t in groups for u in groups if t != u][:rows]
    asked = [Constraint(weights=((t, 1.0), (u, -1.0)), at_most=E, name=f"{t} over {u}") for t, u in pairs]
    return replace(problem, constraints=tuple(asked))


def _seconds(problem: Problem, world: NetworkWorld, seed: int) -> float:
    procedure = make_procedure("pool", problem, PULLS)
    begun = time.process_time()
    replicate(procedure, NetworkWorld(problem, world.network), RUNS, np.random.default_rng(seed), seed)
    return time.process_time() - begun


def _world(groups: int) -> NetworkWorld:
    world = load_problem(f"synthetic-groups:G={groups},seed=0").world
    if not isinstance(world, NetworkWorld):
        raise TypeError(groups)
    return world


def ratios_of(cases: dict[int, tuple[Problem, NetworkWorld]]) -> dict[int, float]:
    """CPU time of each case over that of the first, medians over repeats."""
    for problem, world in cases.values():
        _seconds(problem, world, 0)
    spent = {n: [_seconds(*case, repeat) for repeat in range(REPEATS)] for n, case in cases.items()}
    first = np.array(next(iter(spent.values())))
    return {n: float(np.median(np.array(each) / first)) for n, each in spent.items()}


def _fitted(ratios: dict[int, float]) -> float:
    """The exponent of growth over the last three cases."""
    last = list(ratios.items())[-3:]
    return float(np.polyfit(np.log([n for n, _ in last]), np.log([r for _, r in last]), 1)[0])


def growth_lines() -> list[str]:
    """The part of the page about cost."""
    four = _world(4)
    by_rows = ratios_of({rows: (_asked(four.problem, rows), four) for rows in (1, 2, 4, 8, 12)})
    worlds = {groups: _world(groups) for groups in range(2, MOST_GROUPS + 1)}
    by_groups = ratios_of({groups: (world.problem, world) for groups, world in worlds.items()})
    lines = [
        "## How cost grows",
        "",
        f"CPU time of {RUNS} pool runs of {PULLS:,} pulls together, over that of the first column; medians of {REPEATS}, in one process.",
        "",
    ]
    return [*lines, *table_of("rows, with 4 groups", by_rows), *table_of("groups, all pairs", by_groups)]


def table_of(what: str, found: dict[int, float]) -> list[str]:
    """The ratios by size, and the exponent."""
    lines = [f"| {what} | {' | '.join(str(n) for n in found)} |", "|---" * (len(found) + 1) + "|"]
    return [*lines, f"| CPU, ratio | {' | '.join(f'{r:.2f}' for r in found.values())} |", "", f"Fitted to the last three: CPU ∝ number^{_fitted(found):.2f}.", ""]  # fmt: skip
