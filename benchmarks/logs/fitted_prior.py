"""The prior of a rule that is fitted from its rows: ``python -m benchmarks.logs.fitted_prior`` writes fitted_prior.md.

People apply to six departments, unevenly; a rule that nobody wrote down admits by sex and department. Logs of it are drawn, and the gap
within the department is held against the truth with more and fewer prior rows in each combination of sex and department.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from fairarm import Arm, Constraint, LogMap, Outcome, Problem, Variable, evaluate
from fairarm.core.types import FloatArray
from fairarm.problem import mechanism
from fairarm.problem.mechanism import Unknown

OUT = Path(__file__).with_name("fitted_prior.md")
PRIORS = (0.05, 0.5, 1.0, 2.0, 4.0)
ROWS = (400, 2000, 5000)
LOGS, SEED = 300, 11
DEPARTMENTS = "ABCDEF"


class Admissions(NamedTuple):
    """P(sex, department) and P(admitted | sex, department), (2, 6) each."""

    people: FloatArray
    rates: FloatArray

    def gap(self, t: int, u: int) -> float:
        """People of u in the departments where they are, as if they were of t, less as they are."""
        return float(self.people[u] / self.people[u].sum() @ (self.rates[t] - self.rates[u]))


def drawn(rng: np.random.Generator) -> Admissions:
    """Departments that are strict and lenient, wanted and not, by sex."""
    wanted = 0.97 * rng.dirichlet(np.full(6, 0.7), 2) + 0.03 / 6
    odds = np.log(rng.beta(0.8, 0.8, 6).clip(1e-3, 1 - 1e-3))
    odds = odds - np.log1p(-np.exp(odds)) + rng.normal(0.0, 0.5, (2, 6))
    return Admissions(wanted * np.array([[0.4], [0.6]]), np.clip(1.0 / (1.0 + np.exp(-odds)), 0.01, 0.99))


def problem() -> Problem:
    """Sex → department → admission ← sex, the department kept; the rule is not known."""
    two = ("no", "yes")
    return Problem(
        name="fitted",
        variables=[Variable("sex", ("f", "m")), Variable("d", tuple(DEPARTMENTS)), Variable("V", two), Variable("Y", two)],
        graph=[("sex", "d"), ("sex", "V"), ("d", "V"), ("V", "Y")],
        sensitive="sex",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        constraints=[Constraint(tolerance=0.05, keep=("d",))],
        arms=[Arm("as it was", Unknown("V", ("sex", "d")))],
        deployed="as it was",
    )  # fmt: skip


def log(world: Admissions, rows: int, rng: np.random.Generator) -> dict[str, Any]:
    """A drawn log, as counts."""
    law = np.stack([world.people * (1 - world.rates), world.people * world.rates], axis=2)
    counts = rng.multinomial(rows, law.ravel()).reshape(law.shape)
    sex, department, admitted = np.nonzero(counts)
    said = ["no" if not a else "yes" for a in admitted]
    return {
        "sex": ["fm"[s] for s in sex],
        "d": [DEPARTMENTS[d] for d in department],
        "V": said,
        "Y": said,
        "rows": counts[sex, department, admitted].tolist(),
    }


def measured(rows: int, prior: float, logs: int) -> tuple[float, float, float]:
    """Of the gaps of both sexes: how often the interval held, the root mean square error, and the mean width."""
    held, errors, widths, asked = [], [], [], problem()
    with patch.object(mechanism, "PRIOR_ROWS", prior):
        for i in range(logs):
            rng = np.random.default_rng([SEED, rows, i])
            world = drawn(rng)
            found = evaluate(asked, log(world, rows, rng), columns=LogMap(count="rows")).arms[0].fairness
            for row, truth in zip(found, (world.gap(1, 0), world.gap(0, 1)), strict=True):
                held.append(row.low <= truth <= row.high)
                errors.append(row.value - truth)
                widths.append(row.high - row.low)
    return float(np.mean(held)), float(np.sqrt(np.mean(np.square(errors)))), float(np.mean(widths))


def page(logs: int) -> str:
    """All of it."""
    lines = [
        "# The prior of a fitted rule",
        "",
        f"Written by `python -m benchmarks.logs.fitted_prior`: {logs} worlds, a log of each, the gaps of both sexes with the department kept.",
        "Prior rows are those of each combination of sex and department, spread evenly over the states; 1 is what is used. *Held*: the share of",
        "95 % intervals with the truth in them. *Error*: root mean square.",
        "",
        "| rows | prior rows | held | error | mean width |",
        "|---|---|---|---|---|",
    ]
    for rows in ROWS:
        for prior in PRIORS:
            held, error, width = measured(rows, prior, logs)
            lines.append(f"| {rows:,} | {prior:g} | {held:.3f} | {error:.4f} | {width:.3f} |")
            print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=LOGS)
    asked = parser.parse_args()
    text = page(asked.logs)
    if asked.logs == LOGS:
        OUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
