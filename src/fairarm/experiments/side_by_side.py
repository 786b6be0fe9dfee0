"""Ordinary estimators beside ours, for every arm's outcome and rows of fairness (`evaluate --compare`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairarm.beliefs.cells import CellBeliefs
from fairarm.beliefs.certified import decision_law
from fairarm.beliefs.counted_bets import predictions
from fairarm.beliefs.doubt import below_decision, require_cells
from fairarm.beliefs.evidence import CountedEvidence
from fairarm.beliefs.findings import Finding, Level
from fairarm.beliefs.worlds import WorldBeliefs
from fairarm.core.doubt.other_estimators import Weighed, errors, paired_errors
from fairarm.core.doubt.world_estimators import CellRows, WeighedWorlds
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
    ours = np.concatenate([usual.outcome_values[:, None], usual.row_values], axis=1)
    z = float(ndtri(0.5 + confidence / 2))
    made = {}
    estimated = _worlds if isinstance(beliefs, WorldBeliefs) else _groups
    for name, values, error, paired in estimated(beliefs, found.counted, confidence):
        apart = np.abs(values - ours) / np.maximum(paired, 1e-12)
        made[name] = np.stack([values, values - z * error, values + z * error, apart], axis=2)
    low, high = (np.concatenate([usual.outcomes[i][:, None], usual.rows[i]], axis=1) for i in (0, 1))
    made["ours"] = np.stack([ours, low, high, np.zeros_like(ours)], axis=2)
    return tuple(
        _line(problem, k, name, numbers[k]) for k in range(len(problem.arms)) for name, numbers in made.items()
    )


Estimate = tuple[str, FloatArray, FloatArray, FloatArray]
"""An estimator's name, and of outcome and rows, (K, 1 + J) each: values, standard errors, and those of the difference from ours."""


def _groups(beliefs: CellBeliefs, counted: CountedEvidence, confidence: float) -> Iterator[Estimate]:
    """Where worlds are the groups as they are: each group's mean by its own rows."""
    problem = beliefs.problem
    seen, law = counted.by_group(), decision_law(problem)
    context, m = predictions(problem, seen.rows, seen.sums, prior=0.0)
    space = CellSpace.of(problem.cell_columns, problem.variables)
    cut = cut_at(np.maximum(seen.rows.sum(axis=1), 1.0), 1.0 - confidence)
    weighed = Weighed(seen, law, context, space.codes()[problem.decision], cut)
    shares = beliefs.shares[0]
    mixes = np.concatenate([shares[None], problem.compiled.rows.weights(shares)])
    at, alpha = beliefs.cells.cell_of, np.einsum("ft,ktc->kfc", mixes, beliefs.law[0])
    slope, theta = _slopes(beliefs, alpha)[..., at], beliefs.posterior.mean[0][at]
    for name, each in weighed.estimates(m).items():
        paired = paired_errors(mixes, each, slope, theta, seen)
        yield name, each.means @ mixes.T, errors(mixes, each, seen), paired


def _worlds(beliefs: CellBeliefs, counted: CountedEvidence, confidence: float) -> Iterator[Estimate]:
    """Any worlds: all rows weighed to each."""
    problem, asked, rows = beliefs.problem, beliefs.problem.compiled.rows, counted.summary(beliefs.cells)
    squares = rows.within[0] + rows.sums[0] ** 2 / np.maximum(rows.rows[0], 1)
    seen = CellRows(rows.rows[0].astype(np.float64), rows.sums[0], squares)
    law = np.concatenate([beliefs.worlds[0], beliefs.everybody[0][:, None]], axis=1)
    mixes = np.concatenate([asked.by_group, asked.everyone[:, None]], axis=1)
    mixes = np.concatenate([np.eye(mixes.shape[1])[-1:], mixes])
    columns = beliefs.cells.columns
    before = tuple(name for name in columns if name not in {problem.decision, *below_decision(problem)})
    space = CellSpace.of(before, problem.variables)
    context = space.number(columns) if before else np.zeros(beliefs.cells.cells, dtype=np.int64)
    cut = float(cut_at(np.array([max(seen.rows.sum(), 1.0)]), 1.0 - confidence)[0])
    weighed = WeighedWorlds(seen, law, beliefs.mixture[0], context, columns[problem.decision], cut)
    slope, theta = _slopes(beliefs, mixes @ law), beliefs.posterior.mean[0]
    for name, each in weighed.estimates().items():
        yield name, each.mixed(mixes), each.errors(mixes, seen), each.paired_errors(mixes, slope, theta, seen)


def _slopes(beliefs: CellBeliefs, alpha: FloatArray) -> FloatArray:
    """How far our estimates Σ α θ move with a row, (K, F, C)."""
    rows = beliefs.seen.rows[0]
    share = rows / max(int(rows.sum()), 1)
    return np.asarray(np.divide(alpha, share, out=np.zeros_like(alpha), where=share > 0))


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
    return (Finding(DISAGREE, text, 0, tuple(worst), Level.WARNING),)
