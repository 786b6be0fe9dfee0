"""HEPAR-II as a log: a million rows of the deployed arm in a Parquet file, and what they say of the other arms.

python -m examples.hepar2_log [rows]
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fairarm import Evaluation, LogMap, Truth, evaluate, load_problem
from fairarm.problem.pulls import Request

ROWS = 1_000_000


def write_log(path: Path, rows: int, seed: int = 1) -> Truth:
    """Rows of the first arm as a system would log them, with states by name; and the truth of every arm."""
    scenario = load_problem("hepar2")
    problem, world = scenario.problem, scenario.world
    if world is None:
        raise RuntimeError("the bundled HEPAR-II problem has no world")
    counts = np.zeros((len(problem.regimes), len(problem.arms)), dtype=np.int64)
    counts[0, 0] = rows
    rng = np.random.default_rng(seed)
    pulled = world.pull(Request(problem.arm_names, problem.regimes, counts), rng)
    order = rng.permutation(np.repeat(np.arange(pulled.size), pulled.count))
    columns = {}
    for name in problem.observed:
        states = pa.array(problem.variables[name].states)
        columns[name] = pa.DictionaryArray.from_arrays(pa.array(pulled.columns[name][order].astype(np.int32)), states)
    pq.write_table(pa.table(columns), path)
    truth = world.truth()
    if truth is None:
        raise RuntimeError("the HEPAR-II world knows its truth")
    return truth


def main(rows: int = ROWS) -> tuple[Evaluation, Truth]:
    """What the log says, with nothing declared but the arms and the graph's mechanisms; and the truth."""
    problem = load_problem("hepar2").problem
    asked = replace(problem, shares=None, context=None)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "hepar2.parquet"
        truth = write_log(path, rows)
        found = evaluate(asked, path, columns=LogMap(made_by=problem.arm_names[0]))
    for arm, mu, zeta in zip(found.arms, truth.outcomes, truth.gaps, strict=True):
        print(
            f"{arm.name:10} outcome {arm.outcome.value:.4f} ({arm.outcome.low:.4f} to {arm.outcome.high:.4f}), truth {mu:.4f}; "
            f"gap {arm.gap.value:+.4f} ({arm.gap.low:+.4f} to {arm.gap.high:+.4f}), truth {zeta:+.4f}; log speaks: {arm.support}"
        )
    print(
        f"best fair arm: {found.recommended} (probability {found.recommended_probability or 0:.3f}), {found.status}; certified: {found.certified_arm or 'not yet'}"
    )
    return found, truth


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else ROWS)
