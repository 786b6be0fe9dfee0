"""What no rule with a fixed number of pulls can do: ``python -m benchmarks.comparison.limits`` writes limits.md.

For the arms of the first instance of each synthetic setting. Truths are drawn anew from the law of the setting's cells, and
`pool` runs on the truths that the limit is an average over.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.comparison.plan import FIRST_SEED, NOISY, SETTINGS
from fairarm import load_problem
from fairarm.algorithms import make_procedure
from fairarm.algorithms.procedure import unwatched
from fairarm.core.answer import Code
from fairarm.core.fairness import best_fair_arm
from fairarm.core.types import FloatArray
from fairarm.experiments.limit import find_limit, known_cells, least_error
from fairarm.experiments.simulate import replicate
from fairarm.problem.problem import Problem
from fairarm.worlds.base import World
from fairarm.worlds.cells import CellWorlds

OUT = Path(__file__).with_name("limits.md")
PULLS = (32, 100, 316, 1000)
GRID = tuple(round(10 ** (step / 4)) for step in range(4, 19))
TARGET, TRUTHS = 0.1, 200
EXACT_MEANS = (0.01, 0.99)
NOISY_MEANS = tuple(((i + 0.5) / 50) for i in range(50))
ROUNDS = 3
"""Of setting the pulls to what the limit at the last number of pulls needs: the cost budget depends on them."""


def two_truths(problem: Problem, world: World) -> float:
    """T* · kl(δ, 1 − δ) at the budget of that many pulls."""
    pulls = 100
    for _ in range(ROUNDS):
        needed = find_limit(problem, world, pulls=pulls).pulls_needed(TARGET)
        pulls = max(2, round(needed))
    return needed


def all_truths(problem: Problem, world: World, means: tuple[float, ...]) -> int:
    """The most pulls of the grid with which no rule has an average error of at most the target, beyond two standard errors."""
    lost = 0
    for pulls in GRID:
        found = least_error(problem, world, pulls=pulls, means=means, truths=TRUTHS)
        if found.error - 2 * found.standard_error <= TARGET:
            break
        lost = pulls
    return lost


def pools_error(problem: Problem, world: World, means: tuple[float, ...], pulls: int) -> float:
    """Over truths drawn anew, one run for each."""
    cells, rng = known_cells(problem, world), np.random.default_rng([pulls, 1])
    theta = rng.choice(means, (TRUTHS, cells.law.shape[2]))
    worlds = CellWorlds(problem, cells.law, _outcome_law(problem, theta, cells.law.shape[1]), cells.shares)
    drawn = worlds.outcomes()
    right = best_fair_arm(drawn.outcomes, drawn.rows(problem.compiled.rows), problem.compiled.rows)
    procedure = unwatched(make_procedure("pool", problem, pulls))
    answers = replicate(procedure, worlds, TRUTHS, rng, int(rng.integers(1 << 62))).state.answer
    assert np.all(answers >= Code.UNDECIDED)
    return float(np.mean(answers != right))


def _outcome_law(problem: Problem, theta: FloatArray, groups: int) -> FloatArray:
    one = np.where(problem.outcome.scaled_values == 1.0, theta[..., None], 1.0 - theta[..., None])
    return np.repeat(one[:, None], groups, axis=1)


def row(setting: str) -> str:
    scenario = load_problem(f"synthetic-{setting}:seed={FIRST_SEED}")
    problem, world = scenario.problem, scenario.world
    if world is None:
        raise TypeError(setting)
    means = NOISY_MEANS if setting in NOISY else EXACT_MEANS
    parts = [setting, f"{two_truths(problem, world):,.0f}", f"{all_truths(problem, world, means):,}"]
    for pulls in PULLS:
        least = least_error(problem, world, pulls=pulls, means=means, truths=TRUTHS)
        parts.append(f"{least.error:.3f} ± {2 * least.standard_error:.3f}")
        parts.append(f"{pools_error(problem, world, means, pulls):.3f}")
    return f"| {' | '.join(parts)} |"


def page(rows: list[str]) -> str:
    at = [f"{T:,} pulls: least | pool" for T in PULLS]
    return "\n".join(
        [
            "# What no rule can do with a fixed number of pulls",
            "",
            f"Written by `python -m benchmarks.comparison.limits`; the arms of the instance of seed {FIRST_SEED}, with their costs and budget. *Two truths*: with fewer",
            f"pulls no rule has an error of at most {TARGET} both at the instance and at its nearest alternative, a truth with any means in [0, 1] (T\\* · kl).",
            "*All truths*: with so many pulls or fewer no rule has an average error of at most that over truths whose cells are drawn anew from the law of the",
            f"setting (two means, or {len(NOISY_MEANS)} from 0 to 1 where noisy); *least* is that average error (docs/limits.md), ± two standard errors, {TRUTHS} truths;",
            "*pool* is its error over such truths, one run for each. Truths drawn anew are harder than the instances of the comparison, which are chosen to",
            "have a margin.",
            "",
            f"| setting | two truths | all truths | {' | '.join(at)} |",
            "|---" * (3 + 2 * len(PULLS)) + "|",
            *rows,
            "",
        ]
    )


def main() -> None:
    rows = []
    for setting in (*SETTINGS, *NOISY):
        if setting != "hepar2":  # whose cells are those of one network, drawn from no law
            rows.append(row(setting))
            print(rows[-1], flush=True)
    OUT.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
