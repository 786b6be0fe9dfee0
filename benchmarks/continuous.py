"""A real-valued decision: error and RMSE of pool, csr-v2 and mis: ``python -m benchmarks.continuous`` writes continuous.md.

Beta mixtures with a context (K = 10) and normal arms of equal variance, for which M is infinite and csr is undefined. The
seeds were not used while pool was made.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from fairarm import load_problem
from fairarm.algorithms import Algorithm, make_procedure
from fairarm.errors import FairarmError

OUT = Path(__file__).with_name("continuous.md")
PROBLEMS, ALGORITHMS = ("beta-mixtures", "gaussian-arms"), ("pool", "csr-v2", "mis")
PULLS = (300, 1000)
SEEDS, RUNS = range(500, 505), 6


@dataclass(frozen=True)
class Line:
    """One algorithm at one number of pulls over all instances; None where it is not available, with the reason."""

    problem: str
    algorithm: str
    pulls: int
    error: float | None
    outcome_rmse: float | None
    gap_rmse: float | None
    why: str = ""


def line(problem: str, algorithm: str, pulls: int) -> Line:
    wrong, outcomes, gaps = [], [], []
    for seed in SEEDS:
        scenario = load_problem(f"{problem}:seed={seed}")
        truth = scenario.world.truth() if scenario.world else None
        if scenario.world is None or truth is None:
            raise TypeError(problem)
        for run_seed in range(RUNS):
            try:
                run = Algorithm(algorithm, make_procedure(algorithm, scenario.problem, pulls), run_seed)
            except FairarmError as error:
                return Line(problem, algorithm, pulls, None, None, None, str(error))
            rng = np.random.default_rng([seed, run_seed, pulls])
            while not run.finished:
                run.tell(scenario.world.pull(run.ask(), rng), id=str(run.phase))
            wrong.append(run.state.answer[0] != truth.answer)
            outcomes.append(run.info.outcomes[0] - truth.outcomes)
            gaps.append(run.info.gaps[0, 0] - truth.gaps)
    return Line(problem, algorithm, pulls, float(np.mean(wrong)), _rms(outcomes), _rms(gaps))


def _rms(errors: list[np.ndarray]) -> float:
    """Over the arms with an estimate."""
    return float(np.sqrt(np.nanmean(np.square(errors))))


def page(lines: list[Line]) -> str:
    text = [
        "# A real-valued decision",
        "",
        f"Written by `python -m benchmarks.continuous`. {len(SEEDS)} instances, {len(SEEDS) * RUNS} runs a number; RMSE of outcomes and of gaps over all arms",
        "that have an estimate.",
        "",
        "| problem | algorithm | pulls | error | RMSE outcome | RMSE gap |",
        "|---|---|---|---|---|---|",
    ]
    for x in lines:
        numbers = [x.error, x.outcome_rmse, x.gap_rmse]
        shown = " | ".join("not available" if n is None else f"{n:.3f}" for n in numbers)
        text.append(f"| {x.problem} | {x.algorithm} | {x.pulls:,} | {shown} |")
    reasons = {(x.problem, x.algorithm): x.why for x in lines if x.why}
    text += ["", *(f"- {name} on {problem}: {why}" for (problem, name), why in reasons.items()), ""]
    return "\n".join(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    tasks = [(p, a, T) for p in PROBLEMS for a in ALGORITHMS for T in PULLS]
    lines = Parallel(n_jobs=asked.jobs)(delayed(line)(*task) for task in tasks)
    OUT.write_text(page(lines), encoding="utf-8")
    print(page(lines))


if __name__ == "__main__":
    main()
