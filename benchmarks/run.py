"""Speed, as ratios measured side by side in one run: ``python benchmarks/run.py`` writes benchmarks/results.md.

A ratio is the median over alternating repetitions of (ours, reference), so that a slow moment of the machine hits both.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairarm import Arm, Outcome, Problem, Variable, load_problem, table
from fairarm.algorithms import Algorithm, make_procedure
from fairarm.algorithms.csr import SuccessiveRejection
from fairarm.core.paper.allocation import allocate
from fairarm.experiments.simulate import replicate, simulate
from fairarm.problem.pulls import Request
from fairarm.worlds.network import NetworkWorld

OUT = Path(__file__).with_name("results.md")


@dataclass(frozen=True)
class Row:
    what: str
    ours: float
    reference: float
    bar: str
    met: bool

    @property
    def ratio(self) -> float:
        return self.ours / self.reference


def seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def side_by_side(ours: Callable[[], object], reference: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Median seconds of each, alternating; one call of each beforehand to warm up."""
    ours(), reference()
    pairs = [(seconds(ours), seconds(reference)) for _ in range(repeats)]
    return float(np.median([p[0] for p in pairs])), float(np.median([p[1] for p in pairs]))


def world_of(name: str) -> NetworkWorld:
    world = load_problem(name).world
    if not isinstance(world, NetworkWorld):
        raise TypeError(name)
    return world


def csr(problem: Problem, pulls: int) -> SuccessiveRejection:
    procedure = make_procedure("csr-v2", problem, pulls)
    if not isinstance(procedure, SuccessiveRejection):
        raise TypeError(procedure)
    return procedure


def simulated_run(world: NetworkWorld, pulls: int, seed: int) -> SuccessiveRejection:
    """A CSR-V2 run as `simulate` makes it; returns its procedure with the programmes it solved."""
    procedure = csr(world.problem, pulls)
    replicate(procedure, world, 1, np.random.default_rng(seed), seed)
    return procedure


def asked_run(world: NetworkWorld, pulls: int, seed: int) -> SuccessiveRejection:
    """The same through ask and tell, every row checked."""
    procedure = csr(world.problem, pulls)
    run = Algorithm("csr-v2", procedure, seed)
    rng = np.random.default_rng(seed)
    while not run.finished:
        run.tell(world.pull(run.ask(), rng), id=str(run.phase))
    return procedure


def runs_against_programmes() -> list[Row]:
    """Whole CSR-V2 runs against the linear programmes they had to solve, alone: the same runs, one after the other."""
    world = world_of("synthetic-tight:seed=0")
    problem, pulls = world.problem, 10_000
    budget = problem.average_cost_budget(pulls)
    times: dict[str, list[float]] = {"simulated": [], "asked": [], "programmes": []}
    for seed in range(41):
        started = time.perf_counter()
        procedure = simulated_run(world, pulls, seed)
        times["simulated"].append(time.perf_counter() - started)
        times["asked"].append(seconds(lambda s=seed: asked_run(world, pulls, s)))  # type: ignore[misc]
        sets = [np.frombuffer(key, dtype=np.bool_) for _, key in procedure._programmes]
        leakages = procedure._leakages(procedure.stages[0])
        started = time.perf_counter()
        for alive in sets:
            allocate(leakages, problem.compiled.cost_array, budget, alive)
        times["programmes"].append(time.perf_counter() - started)
    a, c, b = (float(np.median(times[key][1:])) for key in ("simulated", "asked", "programmes"))  # the first warms up
    what = "(synthetic-tight, T = 10^4) / its distinct linear programmes"
    return [
        Row(f"CSR-V2 run {what}", a, b, "≤ 2", a <= 2 * b),
        Row(f"the same through ask and tell, every row checked {what}", c, b, "", True),
    ]


def phase_at_a_billion() -> Row:
    """Time per phase of 50 replicates computed together; programmes are solved beforehand in both."""
    world = world_of("synthetic-tight:seed=0")
    timed = {}
    for pulls in (10**3, 10**9):
        procedure = csr(world.problem, pulls)
        replicate(procedure, world, 50, np.random.default_rng(0), 0)  # fills the cache of programmes
        spent = [seconds(lambda p=procedure: replicate(p, world, 50, np.random.default_rng(0), 0)) for _ in range(7)]  # type: ignore[misc]
        timed[pulls] = float(np.median(spent)) / procedure.phases(0)
    a, b = timed[10**9], timed[10**3]
    return Row("time per phase at T = 10^9 / at T = 10^3 (50 replicates)", a, b, "≤ 1.5", a <= 1.5 * b)


def pool_runs() -> list[Row]:
    """One run of pool against one of csr-v2 that solves its programmes, and pool's time per phase at 10^9 pulls and at 10^3."""
    world = world_of("synthetic-tight:seed=0")

    def pool(pulls: int, n: int = 1) -> object:
        return replicate(make_procedure("pool", world.problem, pulls), world, n, np.random.default_rng(0), 0)

    a, b = side_by_side(lambda: pool(1000), lambda: simulated_run(world, 1000, 0), 41)
    c, d = side_by_side(lambda: pool(10**9, 50), lambda: pool(10**3, 50), 9)
    return [
        Row("pool run / CSR-V2 run (synthetic-tight, K = 30, m = 20, T = 1 000)", a, b, "≤ 5", a <= 5 * b),
        Row("pool: time per phase at T = 10^9 / at T = 10^3 (50 replicates)", c, d, "≤ 1.5", c <= 1.5 * d),
    ]


def many_arms() -> Problem:
    """K = 300 arms over 1 000 cells (20 contexts, 50 decisions); V is not a child of S."""
    rng = np.random.default_rng(1)
    states = {"S": 2, "X": 20, "V": 50, "Y": 2}
    variables = [Variable(name, tuple(f"{name}{i}" for i in range(size))) for name, size in states.items()]
    return Problem(
        name="many-arms",
        variables=variables,
        graph=[("S", "X"), ("X", "V"), ("V", "Y"), ("X", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.1,
        arms=[Arm(f"arm-{k}", table("V", ["X"], rng.dirichlet(np.ones(50) * 5, size=20))) for k in range(300)],
        mechanisms=[table("X", ["S"], rng.dirichlet(np.ones(20) * 5, size=2))],
        shares=(0.5, 0.5),
    )


def peak_memory() -> float:
    """GB, of this process."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(next(line for line in status.split("\n") if line.startswith("VmHWM")).split()[1]) / 1e6


def divergences() -> list[Row]:
    """M and both D against numpy.exp over one preallocated K · K · C array; memory in a process of its own."""
    problem = many_arms()
    K, C = 300, 1000
    inputs = np.random.default_rng(0).random((K, K, C))
    out = np.empty_like(inputs)

    def ours() -> None:
        problem.__dict__.pop("tables", None)
        _ = problem.compiled.tables.M, problem.compiled.tables.D

    def reference() -> None:
        np.exp(inputs, out=out)

    a, b = side_by_side(ours, reference, 3)
    rows = [Row("M and D, K = 300, 1 000 cells / numpy.exp over K·K·C", a, b, "≤ 8", a <= 8 * b)]
    # VmHWM, since the ru_maxrss of a child starts at its parent's
    script = "from run import many_arms, peak_memory; p = many_arms(); p.compiled.tables.M, p.compiled.tables.D; print(peak_memory())"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    )
    peak = float(done.stdout)
    return [*rows, Row("their peak memory / 1 GB", peak, 1.0, "≤ 1", peak <= 1.0)]


def simulation_against_pgmpy(rows: int = 100_000) -> Row:
    """HEPAR-II: pulling as many rows as pgmpy's forward sampling draws from the same network."""
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork
    from pgmpy.sampling import BayesianModelSampling

    world = world_of("hepar2")
    network = world.network
    model = DiscreteBayesianNetwork(network.edges())
    for name, mechanism in network.tables.items():
        sizes = [network.variables[p].size for p in mechanism.parents]
        values = mechanism.probabilities.reshape(-1, network.variables[name].size).T
        values = values / values.sum(axis=0)
        names = {n: list(network.variables[n].states or ()) for n in (name, *mechanism.parents)}
        model.add_cpds(TabularCPD(name, len(values), values, list(mechanism.parents), sizes, state_names=names))
    sampler = BayesianModelSampling(model)
    counts = np.zeros((3, 10), dtype=np.int64)
    counts[0, 0] = rows
    plan = Request(world.problem.arm_names, world.problem.regimes, counts)
    rng = np.random.default_rng(0)
    world.pull(plan, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        b = seconds(lambda: sampler.forward_sample(size=rows, show_progress=False))
    a = float(np.median([seconds(lambda: world.pull(plan, rng)) for _ in range(50)]))
    return Row(f"HEPAR-II, {rows} rows / pgmpy's forward sampling", a, b, "≤ 1/100", a <= b / 100)


def two_jobs() -> Row:
    """The same simulation with two workers and with one; workers are started beforehand, as in a long sweep."""
    world = world_of("synthetic-tight:seed=0")

    def sweep(jobs: int, runs: int = 600) -> None:
        simulate(
            world.problem, world, algorithms=["csr-v2", "two-stage-v2"], pulls=[3000, 10_000], runs=runs, jobs=jobs
        )

    a, b = side_by_side(lambda: sweep(2), lambda: sweep(1), 3)
    return Row("simulate --jobs 2 / --jobs 1", a, b, "≤ 1/1.7", a <= b / 1.7)


def help_text() -> Row:
    """``fairarm --help`` against importing numpy."""
    command = Path(sys.executable).with_name("fairarm")

    def ours() -> None:
        subprocess.run([command, "--help"], capture_output=True, check=True)

    def reference() -> None:
        subprocess.run([sys.executable, "-c", "import numpy"], check=True)

    a, b = side_by_side(ours, reference, 15)
    return Row("fairarm --help / python -c 'import numpy'", a, b, "≤ 3", a <= 3 * b)


def main() -> None:
    rows = [
        *runs_against_programmes(),
        phase_at_a_billion(),
        *pool_runs(),
        *divergences(),
        simulation_against_pgmpy(),
        two_jobs(),
        help_text(),
    ]
    lines = [
        "# Speed, as ratios",
        "",
        "Written by `make benchmarks`. Each ratio is measured side by side in one run; seconds (or GB) are of that machine.",
        "",
        "| what | ours | reference | ratio | bar | met |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        lines.append(
            f"| {row.what} | {row.ours:.4g} | {row.reference:.4g} | {row.ratio:.3g} | {row.bar} | {('yes' if row.met else 'NO') if row.bar else ''} |"
        )
    OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
