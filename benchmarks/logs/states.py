"""Outcomes with several states, some of which only some decisions have: ``python -m benchmarks.logs.states`` writes states.md.

How often usual intervals hold, in logs of the bundled problems ``lender`` and ``lender-race`` and of worlds drawn anew. What is found goes
to states-COMMIT.csv, where COMMIT is the last one that changed the package; kinds that are there are not run again. With ``--before``
an earlier commit's stands beside it: ``PYTHONPATH=there/src:. python -m benchmarks.logs.states`` makes it.
"""

from __future__ import annotations

import argparse
import math
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from benchmarks.logs.calibration import beside, table
from benchmarks.logs.judge import ALL, CONFIDENCE, ROUNDING, SURE, Fact, Tally, read_tallies, write_tallies
from benchmarks.logs.ordinary import columns_world, far_values
from benchmarks.logs.tables import Drawn, Logged, effects, logistic
from benchmarks.trees import imported_tree, package_commit
from fairarm import Evaluation, Outcome, Request, Scenario, Variable, evaluate, load_problem
from fairarm.beliefs.beliefs import believe
from fairarm.beliefs.from_log import earlier_evidence
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.experiments.usual import drawn as draws_of

HERE = Path(__file__).parent
LOGS = 200

# ---- worlds ----


@dataclass(frozen=True, eq=False)
class TwoOf:
    """An outcome with five states, of which each cell has two: ``low`` and ``high`` (C,), as many in one as the mean asks for."""

    low: IntArray
    high: IntArray
    values: tuple[float, ...] = (0.0, 4.0, 7.0, 10.0, 18.0)

    def outcome(self) -> Outcome:
        return Outcome("Y", values=self.values)

    def variable(self) -> Variable:
        return Variable("Y", tuple(f"y{i}" for i in range(len(self.values))))

    def means(self, chance: FloatArray) -> FloatArray:
        """Of cells (C,) that have the higher state with these chances."""
        low, high = (np.array(self.values)[state] for state in (self.low, self.high))
        return np.asarray(low + chance * (high - low))

    def draw(self, means: FloatArray, decisions: IntArray, counts: IntArray, rng: np.random.Generator) -> Drawn:
        low, high = (np.array(self.values)[state] for state in (self.low, self.high))
        better = rng.binomial(counts, np.clip((means - low) / np.where(high > low, high - low, 1.0), 0.0, 1.0))
        cell = np.tile(np.arange(len(counts)), 2)
        state, count = np.concatenate([self.low, self.high]), np.concatenate([counts - better, better])
        cell, state, count = (part[count > 0] for part in (cell, state, count))
        return Drawn(cell, np.array(self.variable().states, dtype=object)[state], np.array(self.values)[state], count)


PAIRS = np.array([[2, 2], [1, 3], [0, 4]])
"""States of three kinds of cells: one for sure, two that are near each other, two that are far apart."""


def two_of(rng: np.random.Generator, rows: int, told_by: tuple[str, ...]) -> Logged:
    """144 cells with chances around 0.75. ``told_by``: what says which states a cell has, decision or column; () each cell by itself."""
    shape = (2, 6, 4, 3)
    index = dict(zip(("group", "column", "other", "decision"), np.indices(shape), strict=True))
    kind = sum((index[name] for name in told_by), np.zeros(shape, dtype=np.int64)) % 3
    pairs = PAIRS[kind if told_by else rng.integers(0, 3, shape)].reshape(-1, 2)
    law = TwoOf(pairs[:, 0], pairs[:, 1])
    chance = logistic(1.2 + effects(rng, shape, (0.2, 0.4, 0.3, 0.3), 0.3))
    return columns_world(rng, law.means(chance.ravel()).reshape(shape), law, 0.8).log(rows, rng)


Judge = Callable[[int, np.random.Generator], Iterator[Fact]]


@cache
def _bundled(name: str) -> Scenario:
    return load_problem(name)


def bundled(index: int, rng: np.random.Generator, name: str, rows: int) -> Iterator[Fact]:
    """Natural rows of the deployed arm of a bundled problem; usual intervals as `evaluate` makes them."""
    problem, world = _bundled(name).problem, _bundled(name).world
    if world is None or (truth := world.truth()) is None:
        raise TypeError(name)
    counts = np.zeros((len(problem.regimes), len(problem.arms)), dtype=np.int64)
    counts[0, problem.arm_index(problem.deployed or problem.arm_names[0])] = rows
    evidence = earlier_evidence(problem, world.pull(Request(problem.arm_names, problem.regimes, counts), rng))
    if evidence is None:
        raise ValueError("no rows")
    found = draws_of(believe(evidence), problem.compiled.rows, index)
    usual, scale = found.usual(CONFIDENCE), problem.outcome
    ends = (scale.unscale(usual.outcomes), scale.width * usual.rows)
    fair = problem.compiled.rows.fair(found.rows[0]).mean(axis=0)
    yield from judged(problem.arm_names, ends, (truth.outcomes, truth.rows), fair, truth.fair, scale.width)


def world(index: int, rng: np.random.Generator, make: Callable[[np.random.Generator], Logged]) -> Iterator[Fact]:
    """A log of a world that was drawn for it."""
    log = make(rng)
    found: Evaluation = evaluate(log.problem, log.columns, columns=log.where, confidence=CONFIDENCE, seed=index)
    outcomes = np.array([[arm.outcome.low for arm in found.arms], [arm.outcome.high for arm in found.arms]])
    gaps = np.array([[[row.low, row.high] for row in arm.fairness] for arm in found.arms]).transpose(2, 0, 1)
    said = np.array([arm.fair_probability for arm in found.arms])
    fair = np.abs(log.gaps) < log.problem.gap_tolerance
    truth = log.outcomes, log.gaps[:, None]
    yield from judged(log.problem.arm_names, (outcomes, gaps), truth, said, fair, log.problem.outcome.width)


KINDS: dict[str, Judge] = {
    **{
        f"{name}, {rows:,} rows": partial(bundled, name=name, rows=rows)
        for name in ("lender", "lender-race")
        for rows in (1_000, 4_000, 16_000)
    },
    "states by the decision, 3,000 rows": partial(world, make=partial(two_of, rows=3000, told_by=("decision",))),
    "states by another column, 3,000 rows": partial(world, make=partial(two_of, rows=3000, told_by=("column",))),
    "states by both, 3,000 rows": partial(world, make=partial(two_of, rows=3000, told_by=("decision", "column"))),
    "states of each cell by itself, 3,000 rows": partial(world, make=partial(two_of, rows=3000, told_by=())),
    "all states everywhere: 0, 1, 100, 3,000 rows": partial(world, make=partial(far_values, rows=3000)),
}

# ---- judged ----


def judged(
    names: tuple[str, ...], ends: tuple[FloatArray, FloatArray], truth: tuple[FloatArray, FloatArray], said: FloatArray,
    fair: BoolArray, width: float,
) -> Iterator[Fact]:  # fmt: skip
    """Of ends (2, K) of outcomes and (2, K, J) of rows: whether they hold the truth, by arm and in all, and how wide they are."""
    for what, (low, high), true in zip(("outcome", "row"), ends, truth, strict=True):
        held = (low - ROUNDING * width <= true) & (true <= high + ROUNDING * width)
        yield ALL, f"{what} share", float(held.mean())
        yield ALL, f"{what} share squared", float(held.mean()) ** 2
        yield ALL, f"{what} width", float((high - low).mean())
        for name, own in zip(names, held.reshape(len(names), -1), strict=True):
            yield from ((name, f"{what} {j} held", float(value)) for j, value in enumerate(own))
    for probability, true in zip(said[said >= SURE], fair[said >= SURE], strict=True):
        yield ALL, "fair said", float(probability)
        yield ALL, "fair true", float(true)


def judge(kind: str, index: int, seed: int) -> list[Fact]:
    """What is found in one log, drawn by a generator that no other log has."""
    return list(KINDS[kind](index, np.random.default_rng([seed, zlib.crc32(kind.encode()), index])))


def run(kinds: list[str], logs: int, seed: int, jobs: int, path: Path) -> dict[str, Tally]:
    """The tallies of all kinds in the file, after those that were missing have been run."""
    done = read_tallies(path)
    for kind in kinds:
        if kind in done and done[kind].logs == logs:
            continue
        tally = Tally()
        for facts in Parallel(n_jobs=jobs)(delayed(judge)(kind, i, seed) for i in range(logs)):
            tally.add(facts)
        done[kind] = tally
        write_tallies({name: done[name] for name in KINDS if name in done}, path)
        print(kind, *cells(tally), sep="  ", flush=True)
    return done


# ---- the page ----


def _held(tally: Tally, what: str) -> list[str]:
    """The share with its standard error, by logs, and that of the worst arm, or row of an arm."""
    share, square = (tally.mean(f"{what} share{power}") or 0.0 for power in ("", " squared"))
    error = math.sqrt(max(square - share**2, 0.0) / tally.logs)
    each = [
        total / of for (_, name), (total, of) in tally.sums.items() if name.startswith(what) and name.endswith("held")
    ]
    return [f"{share:.3f} ± {error:.3f}", f"{min(each):.3f}"]


def cells(tally: Tally) -> list[str]:
    """A kind's cells of the table."""
    widths = " / ".join(f"{tally.mean(f'{what} width') or 0.0:.3g}" for what in ("outcome", "row"))
    said, true = tally.mean("fair said"), tally.mean("fair true")
    _, of = tally.sums.get((ALL, "fair said"), (0.0, 0))
    return [
        *_held(tally, "outcome"),
        *_held(tally, "row"),
        widths,
        "–" if said is None else f"{said:.3f} / {true:.3f} of {of}",
    ]


HEADS = (
    "logs",
    "outcome held",
    "worst arm",
    "row held",
    "worst",
    "mean widths, outcome / row",
    "P(fair) ≥ 0.8: said / true",
)

PAGE = """# Outcomes with several states

Made by `python -m benchmarks.logs.states{option}` ({logs} logs per kind, seed {seed}). Package as of commit {commit}{beside}. 95 %
intervals, usual ones; ± one standard error, where a log counts once: its arms and rows hang together.

`lender` and `lender-race`: natural rows of the deployed arm. A refusal, a small loan and a loan in full earn or lose different sums, so that which
states the outcome can have depends on the decision. *States by …*: 144 cells in a world drawn anew for each log, two of five states in each
cell, or one for sure, told by the decision, by another column, by both, or by nothing but the cell. The last kind has all states
everywhere. A *row* is one of the differences that fairness is about; *worst*: of all arms, or rows of an arm. Of {logs} logs that hold with
chance 0.95, the worst of 11 arms is often near 0.92, the worst of 286 rows near 0.90.

{table}
"""


def page(
    now: dict[str, Tally], before: dict[str, Tally], commit: str, earlier: str | None, logs: int, seed: int
) -> str:
    """All kinds that were run, with those of the commit before on the left of each arrow."""
    rows = [[kind, *beside(cells, now[kind], before.get(kind))] for kind in KINDS if kind in now]
    option, text = (f" --before {earlier}", f", with {earlier} on the left of each arrow") if earlier else ("", "")
    lines = "\n".join(table(HEADS, rows))
    return PAGE.format(option=option, beside=text, logs=logs, seed=seed, commit=commit, table=lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", help="parts of their names, with semicolons between; all by default")
    parser.add_argument("--logs", type=int, default=LOGS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--before", help="a commit with results of its own")
    parser.add_argument("--table", help="make the page of the results of this commit; nothing is run")
    parser.add_argument("--out", type=Path, default=HERE)
    asked = parser.parse_args()
    commit = asked.table or package_commit(imported_tree())
    kinds = [k for k in KINDS if asked.kinds is None or any(part.strip() in k for part in asked.kinds.split(";"))]
    path = asked.out / f"states-{commit}.csv"
    now = read_tallies(path) if asked.table else run(kinds, asked.logs, asked.seed, asked.jobs, path)
    before = read_tallies(HERE / f"states-{asked.before}.csv") if asked.before else {}
    text = page(now, before, commit, asked.before, asked.logs, asked.seed)
    (asked.out / "states.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
