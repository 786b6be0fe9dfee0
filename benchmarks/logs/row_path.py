"""Intervals of logs that are read row by row, beside plain weighting: ``python -m benchmarks.logs.row_path`` writes row_path.md.

Each log comes from a world drawn anew. Beside ours: importance weighting, the same self-normalised, doubly robust, and
switch (a regression where weights are large), each with a normal interval, written here without a line of the package.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.logs.judge import gap_of
from benchmarks.logs.row_worlds import ROW_KINDS
from benchmarks.logs.tables import GROUPS, Logged
from fairarm import evaluate
from fairarm.core.types import BoolArray, FloatArray

HERE = Path(__file__).parent
OTHERS = ("IPW", "self-normalised", "doubly robust", "switch")
METHODS = ("ours", *OTHERS)
NORMAL = 1.959963984540054
SWITCH_AT = 10.0
LEAST, ON_AVERAGE, ENOUGH, WIDER = 0.88, 0.93, 0.93, 1.3
"""What is asked for: of every arm, on average, of the others to be compared with, and how much wider than the narrowest."""


@dataclass(frozen=True)
class Judged:
    """One log: which intervals hold and how wide they are, (methods, 2, arms); P(fair) and whether it is; findings."""

    held: BoolArray
    width: FloatArray
    said: FloatArray
    fair: BoolArray
    disagrees: bool


def others(log: Logged) -> tuple[FloatArray, FloatArray]:
    """Estimates and standard errors of the other methods, (methods, 2, K): of outcomes and of gaps."""
    s = (log.columns["S"] == GROUPS[1]).astype(np.int64)
    x, v, p = (np.asarray(log.columns[name]) for name in ("X", "V", "p"))
    y = _values(log)
    law = np.stack([arm.mechanism.distribution({"S": s, "X": x}, int(v.max()) + 1, len(x)) for arm in log.problem.arms])
    fitted = _fitted(s, x, v, y, law.shape[2])
    means, errors = np.zeros((2, len(OTHERS), len(law), 2))
    for t in (0, 1):
        rows = np.flatnonzero(s == t)
        w = law[:, rows, v[rows]] / p[rows]
        terms = _terms(w, y[rows], fitted[rows, v[rows]], np.einsum("kis,is->ki", law[:, rows], fitted[rows]))
        means[:, :, t] = terms.mean(axis=2)
        errors[:, :, t] = terms.std(axis=2, ddof=1) / np.sqrt(len(rows))
    share = np.array([0.5, 0.5]) if log.problem.shares is None else np.array(log.problem.shares)
    both = np.stack([share, [1.0, -1.0]])
    return np.einsum("mkt,rt->mrk", means, both), np.sqrt(np.einsum("mkt,rt->mrk", errors**2, both**2))


def _values(log: Logged) -> FloatArray:
    """Outcomes as numbers."""
    outcome, y = log.problem.outcome, log.columns["Y"]
    if outcome.values is None:
        return np.asarray(y, dtype=np.float64)
    number = dict(zip(log.problem.variables["Y"].states or (), outcome.values, strict=True))
    return np.array([number[state] for state in y], dtype=np.float64)


def _terms(w: FloatArray, y: FloatArray, at_row: FloatArray, direct: FloatArray) -> FloatArray:
    """What each row adds to each method's mean, (methods, K, n)."""
    total = w.mean(axis=1, keepdims=True)
    normal = (w * y).mean(axis=1, keepdims=True) / total
    low = np.where(w <= SWITCH_AT, w, 0.0)
    return np.stack([w * y, normal + w * (y - normal) / total, direct + w * (y - at_row), direct + low * (y - at_row)])


def _fitted(s: Any, x: FloatArray, v: Any, y: FloatArray, decisions: int) -> FloatArray:
    """A regression by decision on 1, x, x², S with a little ridge, from the other half of the rows: (n, decisions)."""
    features = np.stack([np.ones(len(x)), x, x**2, s], axis=1)
    out = np.zeros((len(x), decisions))
    half = np.arange(len(x)) % 2
    for d in range(decisions):
        for h in (0, 1):
            used = (v == d) & (half != h)
            a, b = features[used], y[used]
            centre = b.mean() if len(b) else y.mean()
            solved = np.linalg.solve(a.T @ a + np.diag([1e-9, 5, 5, 5]), a.T @ (b - centre))
            out[half == h, d] = features[half == h] @ solved + centre
    return out


def judge(kind: str, index: int, seed: int) -> Judged:
    """One log of a kind."""
    rng = np.random.default_rng([seed, list(ROW_KINDS).index(kind), index])
    log = ROW_KINDS[kind](rng)
    found = evaluate(log.problem, log.columns, columns=log.where, seed=index)
    ends = np.array([[[e.low, e.high] for e in (arm.outcome, gap_of(arm))] for arm in found.arms]).transpose(2, 1, 0)
    value, error = others(log)
    low, high = (
        np.concatenate([ours[None], value + sign * NORMAL * error]) for ours, sign in zip(ends, (-1, 1), strict=True)
    )
    truth = np.stack([log.outcomes, log.gaps])
    return Judged(
        held=(low <= truth) & (truth <= high),
        width=high - low,
        said=np.array([arm.fair_probability for arm in found.arms]),
        fair=np.abs(log.gaps) < log.problem.gap_tolerance,
        disagrees=any(finding.name == "model-disagrees" for finding in found.findings),
    )


def line(kind: str, judged: list[Judged]) -> str:
    """A line of the table."""
    held = np.mean([j.held for j in judged], axis=0)  # (methods, 2, K)
    width = np.mean([j.width for j in judged], axis=0)
    ratio = np.log(width / width[:1]).mean(axis=2)
    cells = [kind]
    for q in (0, 1):
        cells.append(f"{held[0, q].mean():.3f} ({held[0, q].min():.3f})")
    for m in range(1, len(METHODS)):
        cells.append(", ".join(f"{held[m, q].mean():.2f}: ×{np.exp(-ratio[m, q]):.2f}" for q in (0, 1)))
    said, fair = (np.concatenate([getattr(j, name) for j in judged]) for name in ("said", "fair"))
    sure = said >= 0.8
    cells.append(f"{said[sure].mean():.3f}, {fair[sure].mean():.3f}" if sure.any() else "")
    cells.append(str(sum(j.disagrees for j in judged)))
    return f"| {' | '.join(cells)} |"


HEAD = """# Logs that are read row by row: do usual intervals hold, and how wide are they?

Made by `python -m benchmarks.logs.row_path` ({logs} logs of each kind, each from a world drawn anew, seed {seed};
`benchmarks/logs/row_worlds.py` says what they are). 95 % intervals of four arms. *Ours*: the share that holds, over arms, and that
of the worst arm. The others: the share that holds, and how wide ours is, as a multiple of theirs (mean widths over logs, their ratio by arm, geometric mean over arms), for
outcome and gap. Widths are to be compared with a method that holds in at least 0.93. P(fair) ≥ 0.8: what was said, and how
many of those arms are fair. The last column: logs in which `model-disagrees` was found.

| logs | ours, outcome | ours, gap | {others} | P(fair) ≥ 0.8 | model-disagrees |
|---|---|---|{rule}---|---|
"""


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="*", default=list(ROW_KINDS))
    parser.add_argument("--out", type=Path, default=HERE / "row_path.md")
    asked = parser.parse_args()
    lines = []
    for kind in asked.kinds:
        lines.append(line(kind, [judge(kind, i, asked.seed) for i in range(asked.logs)]))
        print(lines[-1], flush=True)
    head = HEAD.format(logs=asked.logs, seed=asked.seed, others=" | ".join(OTHERS), rule="---|" * len(OTHERS))
    asked.out.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
