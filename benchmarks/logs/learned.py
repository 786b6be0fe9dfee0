"""A greedy rule evaluated on the rows it was learned from, and on the other half of a split log.

``python -m benchmarks.logs.learned`` writes learned.md. 1 000 rows, 20 contexts, 3 decisions without an effect: every rule's outcome is 0.5.
Nothing was tuned on these logs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from fairarm import Arm, Outcome, Problem, Variable, evaluate, open_log, split_log, table
from fairarm.core.types import FloatArray

CONTEXTS, DECISIONS, ROWS, TRUTH = 20, 3, 1000, 0.5


def drawn(rng: np.random.Generator) -> pd.DataFrame:
    columns = {"S": rng.choice(["a", "b"], ROWS), "X": rng.integers(0, CONTEXTS, ROWS).astype(str)}
    return pd.DataFrame({**columns, "V": rng.integers(0, DECISIONS, ROWS).astype(str), "Y": rng.integers(0, 2, ROWS)})


def greedy(rows: pd.DataFrame) -> FloatArray:
    """The decision with the highest mean outcome in each context."""
    means = rows.astype({"X": int, "V": int, "Y": int}).groupby(["X", "V"])["Y"].mean().unstack()
    best = np.nan_to_num(means.reindex(range(CONTEXTS)).to_numpy()).argmax(axis=1)
    return np.asarray(np.eye(DECISIONS)[best])


def problem(new: Arm) -> Problem:
    states = {
        "S": ("a", "b"),
        "X": tuple(map(str, range(CONTEXTS))),
        "V": tuple(map(str, range(DECISIONS))),
        "Y": ("0", "1"),
    }
    return Problem(
        name="learned",
        variables=[Variable(name, each) for name, each in states.items()],
        graph=[("S", "X"), ("X", "V"), ("X", "Y"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.3,
        arms=[Arm("old", table("V", [], np.full(DECISIONS, 1 / DECISIONS))), new],
        deployed="old",
    )


def judged(seed: int, i: int) -> list[list[float]]:
    """Of each way: whether the interval of the learned arm holds, its error, and whether it is named."""
    rows, found = drawn(np.random.default_rng([seed, i])), []
    first, second = split_log(rows, seed=i)
    half = greedy(first.to_arrow().to_pandas())
    ways = [(greedy(rows), None, rows), (greedy(rows), open_log(rows), rows), (half, first, second)]
    for law, learned_from, log in ways:
        made = evaluate(problem(Arm("new", table("V", ["X"], law), learned_from)), log)
        outcome = made.arms[1].outcome
        named = made.recommended == "new"
        found.append([outcome.low <= TRUTH <= outcome.high, outcome.value - TRUTH, named, made.arms[1].learned])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=2902)
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    made = np.array(Parallel(n_jobs=asked.jobs)(delayed(judged)(asked.seed, i) for i in range(asked.logs)), dtype=float)
    lines = [
        "# A rule learned from a log",
        "",
        f"`python -m benchmarks.logs.learned --logs {asked.logs} --seed {asked.seed}`: {asked.logs} logs of {ROWS} rows.",
        "",
        "| evaluated on | interval holds | mean error | recommended | marked as learned from this log |",
        "|---|---|---|---|---|",
    ]
    for way, each in zip(("the same rows, nothing said", "the same rows, `learned_from`", "the other half"), made.mean(axis=0), strict=True):  # fmt: skip
        lines.append(f"| {way} | {each[0]:.3f} | {each[1]:+.3f} | {each[2]:.3f} | {each[3]:.3f} |")
    (Path(__file__).parent / "learned.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
