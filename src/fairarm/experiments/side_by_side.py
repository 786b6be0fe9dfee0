"""Ordinary estimators beside ours, for every arm's outcome and rows of fairness (`evaluate --compare`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.beliefs.cells import CellBeliefs
from fairarm.beliefs.certified import decision_law
from fairarm.beliefs.counted_bets import predictions
from fairarm.beliefs.doubt import require_cells
from fairarm.beliefs.findings import Finding
from fairarm.core.doubt.other_estimators import Weighed, errors, paired_errors
from fairarm.core.posterior.disagreement import ERRORS
from fairarm.core.proof.log_bets import cut_at
from fairarm.core.types import FloatArray
from fairarm.errors import OptionError
from fairarm.experiments.evidence_from_log import LogEvidence
from fairarm.experiments.usual import Usual
from fairarm.problem.problem import Problem
from fairarm.problem.space import CellSpace

DISAGREE = "estimators-disagree"
"""The finding: an ordinary estimator is further from ours than chance explains."""


@dataclass(frozen=True)
class Compared:
    """One number by one estimator, in the outcome's units, with an ordinary interval."""

    value: float
    low: float
    high: float
    apart: float
    """How far it is from ours, in standard errors of the difference; 0 of ours itself."""


@dataclass(frozen=True)
class SideBySide:
    """One arm by one estimator; "ours" is the last of an arm."""

    arm: str
    estimator: str
    outcome: Compared
    fairness: tuple[Compared, ...]
    """Of every row, in the order of ``problem.rows``."""


def side_by_side(found: LogEvidence, usual: Usual, confidence: float) -> tuple[SideBySide, ...]:
    """Of every arm, by every estimator; rows without an outcome are left out."""
    if found.counted is None:
        raise OptionError(
            "Estimators are compared on rows that are counted by cell; here they are weighed one by one. Declare columns with states, or "
            "leave out compare."
        )
    from scipy.special import ndtri

    problem, beliefs = found.problem, require_cells(found.beliefs, "A comparison of estimators")
    seen, law = found.counted.by_group(), decision_law(problem)
    context, m = predictions(problem, seen.rows, seen.sums)
    space = CellSpace.of(problem.cell_columns, problem.variables)
    cut = cut_at(np.maximum(seen.rows.sum(axis=1), 1.0), 1.0 - confidence)
    weighed = Weighed(seen, law, context, space.codes()[problem.decision], cut)
    shares = beliefs.shares[0]
    mixes = np.concatenate([shares[None], problem.compiled.rows.weights(shares)])
    ours = np.concatenate([usual.outcome_values[:, None], usual.row_values], axis=1)
    slope, theta = _slopes(beliefs, mixes)
    z = float(ndtri(0.5 + confidence / 2))
    made = {}
    for name, each in weighed.estimates(m).items():
        values, error = each.means @ mixes.T, errors(mixes, each, seen)
        apart = np.abs(values - ours) / np.maximum(paired_errors(mixes, each, slope, theta, seen), 1e-12)
        made[name] = np.stack([values, values - z * error, values + z * error, apart], axis=2)
    low, high = (np.concatenate([usual.outcomes[i][:, None], usual.rows[i]], axis=1) for i in (0, 1))
    made["ours"] = np.stack([ours, low, high, np.zeros_like(ours)], axis=2)
    return tuple(
        _line(problem, k, name, numbers[k]) for k in range(len(problem.arms)) for name, numbers in made.items()
    )


def _slopes(beliefs: CellBeliefs, mixes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How far our estimates move with a row, (K, F, G, X), and the cells' means, (G, X)."""
    at, rows = beliefs.cells.cell_of, beliefs.seen.rows[0]
    share = rows / max(int(rows.sum()), 1)
    alpha = np.einsum("ft,ktc->kfc", mixes, beliefs.law[0])
    slope = np.divide(alpha, share, out=np.zeros_like(alpha), where=share > 0)
    return slope[..., at], beliefs.posterior.mean[0][at]


def _line(problem: Problem, k: int, name: str, numbers: FloatArray) -> SideBySide:
    """From scaled numbers, (1 + J, 4)."""
    value, low, high = map(float, problem.outcome.unscale(numbers[0, :3]))
    rows = []
    for j, row in enumerate(problem.rows, start=1):
        of_row = [row.in_units(problem.outcome, float(end)) for end in numbers[j, :3]]
        rows.append(Compared(of_row[0], of_row[1], of_row[2], float(numbers[j, 3])))
    return SideBySide(problem.arm_names[k], name, Compared(value, low, high, float(numbers[0, 3])), tuple(rows))


def disagreements(made: tuple[SideBySide, ...], rows: tuple[str, ...]) -> tuple[Finding, ...]:
    """One finding where an estimator is too far from ours; it names the furthest."""
    each = [
        (number.apart, f"{what} of {line.arm} by {line.estimator}: {number.apart:.1f}")
        for line in made
        for what, number in zip(("outcome", *rows), (line.outcome, *line.fairness), strict=True)
        if number.apart > ERRORS
    ]
    if not each:
        return ()
    text = (
        f"Ordinary estimators differ from ours by more than {ERRORS:g} standard errors of the difference. One of the two rests on something "
        f"that is not so: look at the overlap, at the declared mechanisms, and at columns that were left out."
    )
    worst = [words for _, words in sorted(each, reverse=True)[:5]]
    return (Finding(DISAGREE, text, 0, tuple(worst), voids=False),)
