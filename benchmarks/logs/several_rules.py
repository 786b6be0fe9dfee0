"""A log of two rules: the error of estimates by one column of propensities and by the mixture of both rules.

``python -m benchmarks.logs.several_rules`` writes several_rules.md. 80 items, clicks of 0.1 to 0.8 %; 10 000 rows show items evenly, 10 000 more show
four of them in 96 %. Nothing was tuned on these logs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from fairarm import Arm, LogMap, Outcome, Problem, Variable, evaluate, table
from fairarm.core.types import FloatArray

ITEMS, ROWS = 80, 10_000
EVEN = np.full(ITEMS, 1 / ITEMS)
FEW = np.full(ITEMS, 0.0005)
FEW[:4] = (1 - FEW[4:].sum()) / 4
MIXTURE = LogMap(logging_rule="rule", rule_propensities={"even": "p_even", "few": "p_few"})
WAYS = {
    "even rows alone": (LogMap(propensity="p"), slice(0, ROWS)),
    "few rows alone": (LogMap(propensity="p"), slice(ROWS, None)),
    "both, own propensity": (LogMap(propensity="p"), slice(None)),
    "both, mixture": (MIXTURE, slice(None)),
}


def problem() -> Problem:
    return Problem(
        name="items",
        variables=[Variable("S", ("a", "b")), Variable("V", tuple(map(str, range(ITEMS)))), Variable("Y", ("0", "1"))],
        graph=[("V", "Y"), ("S", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.1,
        arms=[Arm("even", table("V", [], EVEN)), Arm("few", table("V", [], FEW))],
    )


def errors(seed: int, i: int) -> FloatArray:
    """Of both arms, and the width of both intervals and whether they hold, by way: (ways, 3, 2)."""
    rng = np.random.default_rng([seed, i])
    clicks = rng.uniform(0.001, 0.008, ITEMS)
    item = np.concatenate([rng.choice(ITEMS, ROWS, p=law) for law in (EVEN, FEW)])
    rule = np.repeat(["even", "few"], ROWS)
    columns = {
        "S": rng.choice(["a", "b"], 2 * ROWS),
        "V": item.astype(str),
        "Y": (rng.random(2 * ROWS) < clicks[item]).astype(int),
        "rule": rule,
        "p_even": EVEN[item],
        "p_few": FEW[item],
        "p": np.where(rule == "even", EVEN[item], FEW[item]),
    }
    truth, found = (EVEN @ clicks, FEW @ clicks), []
    for where, rows in WAYS.values():
        log = {name: values[rows] for name, values in columns.items()}
        each = [arm.outcome for arm in evaluate(problem(), log, columns=where).arms]
        found.append([[e.value - t for e, t in zip(each, truth, strict=True)], [e.high - e.low for e in each],
                      [e.low <= t <= e.high for e, t in zip(each, truth, strict=True)]])  # fmt: skip
    return np.array(found, dtype=float)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=2901)
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    made = np.array(Parallel(n_jobs=asked.jobs)(delayed(errors)(asked.seed, i) for i in range(asked.logs)))
    rmse, width, holds = (
        np.sqrt((made[:, :, 0] ** 2).mean(axis=0)),
        made[:, :, 1].mean(axis=0),
        made[:, :, 2].mean(axis=0),
    )
    lines = [
        "# A log of two rules",
        "",
        f"`python -m benchmarks.logs.several_rules --logs {asked.logs} --seed {asked.seed}`: {asked.logs} logs, root mean squared error, width and coverage of the usual intervals.",
        "",
        "| rows and weights | error, arm `even` | error, arm `few` | width, `even` | width, `few` | coverage, `even` | coverage, `few` |",
        "|---|---|---|---|---|---|---|",
    ]
    for way, e, w, h in zip(WAYS, rmse, width, holds, strict=True):
        lines.append(f"| {way} | {e[0]:.2e} | {e[1]:.2e} | {w[0]:.2e} | {w[1]:.2e} | {h[0]:.2f} | {h[1]:.2f} |")
    (Path(__file__).parent / "several_rules.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
