"""How time grows with each size of a problem: ``python benchmarks/scale.py`` prints the table of docs/scale.md.

Each line varies one size, keeps the others, and fits seconds ~ size^exponent by least squares on logarithms over the
three largest sizes, where fixed costs weigh least. Give BLAS one thread (OPENBLAS_NUM_THREADS=1): several make the times
depend on what else the machine does.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fairarm import Arm, Network, NetworkWorld, Outcome, Problem, Variable, batch, table
from fairarm.algorithms.registry import make_procedure
from fairarm.beliefs.evidence import RowEvidence
from fairarm.core.paper.allocation import Leakage, allocate
from fairarm.experiments.simulate import replicate
from fairarm.problem.tables import build_tables

REPEATS = 5


@dataclass(frozen=True)
class Line:
    """One measured dimension: the size's name, its values, and the best time of each."""

    what: str
    size: str
    values: tuple[int, ...]
    seconds: tuple[float, ...]

    @property
    def exponent(self) -> float:
        """The slope of log seconds against log size over the last three points."""
        return float(np.polyfit(np.log(self.values[-3:]), np.log(self.seconds[-3:]), 1)[0])

    def __str__(self) -> str:
        times = ", ".join(
            f"{v:,}: {_shown(s)}".replace(",", " ") for v, s in zip(self.values, self.seconds, strict=True)
        )
        return f"| {self.what} | {self.size} | {times} | {self.exponent:.1f} |"


def _shown(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def measured(what: str, size: str, values: Sequence[int], prepare: Callable[[int], Callable[[], object]]) -> Line:
    """The best of a few times of what ``prepare(value)`` returns."""
    best = []
    for value in values:
        work = prepare(value)
        times = []
        for _ in range(REPEATS):
            started = time.perf_counter()
            work()
            times.append(time.perf_counter() - started)
            if sum(times) > 2.0:
                break
        best.append(min(times))
    return Line(what, size, tuple(values), tuple(best))


def chain(K: int, m: int) -> tuple[Problem, Network]:
    """S → V → Y with K random arms over m decisions: m cells."""
    rng = np.random.default_rng([K, m])
    variables = [Variable("S", ("a", "b")), Variable("V", tuple(map(str, range(m)))), Variable("Y", ("0", "1"))]
    laws = 0.5 / m + 0.5 * rng.dirichlet(np.ones(m), size=(K, 2))
    win = rng.uniform(size=m)
    problem = Problem(
        name="scale",
        variables=variables,
        graph=[("S", "V"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.1,
        arms=[Arm(f"arm-{k}", table("V", ["S"], law)) for k, law in enumerate(laws)],
        costs=[(0, 0, 0), *[(1, 1, 1)] * (K - 1)],
        budget="1/sqrt(pulls)",
        deployed="arm-0",
        shares=(0.5, 0.5),
    )
    tables = [
        table("S", [], [0.5, 0.5]),
        table("V", ["S"], laws[0]),
        table("Y", ["V"], np.stack([1 - win, win], axis=1)),
    ]
    return problem, Network.of(variables, tables)


def likelihoods(K: int, m: int) -> Callable[[], object]:
    problem, _ = chain(K, m)
    return lambda: build_tables(problem).likelihood  # fresh tables, not the problem's own, which keep their arrays


def divergences(K: int, m: int) -> Callable[[], object]:
    problem, _ = chain(K, m)

    def work() -> object:
        tables = build_tables(problem)
        return tables.M, tables.D

    return work


def programme(K: int) -> Callable[[], object]:
    """Random divergences, each pair its own: the hardest kind, with no structure for the solver to use."""
    rng = np.random.default_rng(K)
    blocks = [Leakage(regime, 1 / rng.uniform(2, 30, size=(K, K))) for regime in range(3)]
    for block in blocks:
        np.fill_diagonal(block.matrix, 1.0)
    costs = np.ones((3, K))
    costs[:, 0] = 0.0
    return lambda: allocate(blocks, costs, 0.01, np.ones(K, dtype=np.bool_))


def runs(K: int = 10, m: int = 20, pulls: int = 10_000, n: int = 50, algorithm: str = "csr-v2") -> Callable[[], object]:
    """n runs computed together; programmes are solved anew each time."""
    problem, network = chain(K, m)
    world = NetworkWorld(problem, network)
    _ = world.law, problem.compiled.shared_cells
    if algorithm != "pool":
        _ = problem.compiled.tables.M, problem.compiled.tables.D
    return lambda: replicate(make_procedure(algorithm, problem, pulls), world, n, np.random.default_rng(1), 1)


def pool(**sizes: int) -> Callable[[], object]:
    return runs(algorithm="pool", **sizes)


def rows(N: int) -> Callable[[], object]:
    """Telling N rows of a problem with a real outcome, and estimating outcomes and gaps of 10 arms from them."""
    finite, _ = chain(10, 20)
    problem = Problem(
        name="rows",
        variables=[finite.variables["S"], finite.variables["V"]],
        graph=finite.graph,
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", low=0, high=1),
        tolerance=0.1,
        arms=finite.arms,
        shares=(0.5, 0.5),
    )
    rng = np.random.default_rng(N)
    regime = rng.integers(0, 3, size=N)
    group = np.where(regime == 0, rng.integers(0, 2, size=N), regime - 1)
    told = batch(
        problem,
        {
            "arm": np.full(N, "arm-0"),
            "regime": np.array(problem.regimes)[regime],
            "S": np.array(["a", "b"])[group],
            "V": rng.integers(0, 20, size=N).astype(str),
            "Y": rng.random(N),
        },
    )

    def work() -> object:
        evidence = RowEvidence.empty(problem).add(told)
        return [*evidence.outcome_terms((0,)), *evidence.gap_terms(0), *evidence.gap_terms(1)]

    return work


def main() -> None:
    lines = [
        measured("likelihoods", "arms K (400 cells)", (50, 100, 200, 400, 800), lambda K: likelihoods(K, 400)),
        measured("likelihoods", "cells C (20 arms)", (2_000, 8_000, 32_000, 128_000), lambda C: likelihoods(20, C)),
        measured("divergences", "arms K (100 cells)", (25, 50, 100, 200, 400), lambda K: divergences(K, 100)),
        measured("divergences", "cells C (20 arms)", (500, 2_000, 8_000, 32_000), lambda C: divergences(20, C)),
        measured("one programme", "arms K", (30, 100, 300, 1000), programme),
        measured("50 runs of csr-v2", "pulls T (10 arms)", (10**4, 10**6, 10**8, 10**10), lambda T: runs(pulls=T)),
        measured("50 runs of csr-v2", "cells C (10 arms)", (200, 400, 800, 1_600), lambda C: runs(m=C)),
        measured("runs of csr-v2", "replicates n (10 arms)", (25, 50, 100, 200), lambda n: runs(n=n)),
        measured("50 runs of csr-v2", "arms K (20 cells)", (10, 20, 40), lambda K: runs(K=K)),
        measured("50 runs of pool", "pulls T (10 arms)", (10**4, 10**6, 10**8, 10**10), lambda T: pool(pulls=T)),
        measured("50 runs of pool", "cells C (10 arms)", (200, 400, 800, 1_600), lambda C: pool(m=C)),
        measured("one run of pool", "arms K (1 000 cells)", (125, 250, 500, 1_000), lambda K: pool(K=K, m=1_000, n=1)),
        measured("one run of pool", "cells C (1 000 arms)", (125, 250, 500, 1_000), lambda C: pool(K=1_000, m=C, n=1)),
        measured("rows told and weighted", "rows N (10 arms)", (10_000, 40_000, 160_000, 640_000), rows),
    ]
    print("| what | size | seconds | exponent |\n|---|---|---|---|")
    print("\n".join(map(str, lines)))
    if any(not math.isfinite(line.exponent) for line in lines):
        raise SystemExit("a time was too short to measure")


if __name__ == "__main__":
    main()
