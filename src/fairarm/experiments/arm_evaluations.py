"""What a log says of one arm: its outcome, every row of fairness, every compared pair of groups, and how well the log speaks for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fairarm.algorithms.verdict import closest_row
from fairarm.beliefs.beliefs import Support, support_of
from fairarm.beliefs.certified import Certificate, fitted_arms
from fairarm.beliefs.standing import Standing
from fairarm.core.proof.region import Intervals
from fairarm.core.types import FloatArray, IntArray
from fairarm.experiments.pairs import PairGap
from fairarm.experiments.usual import Usual
from fairarm.frames import Column
from fairarm.problem.problem import Problem


@dataclass(frozen=True)
class Estimate:
    """A number in the outcome's units: the estimate, the usual interval and the certified one, where there is one."""

    value: float
    low: float
    high: float
    certified_low: float | None
    certified_high: float | None


@dataclass(frozen=True)
class RowEstimate(Estimate):
    """One row of fairness of an arm, in the order of ``problem.rows``."""

    name: str
    """As in ``problem.rows``."""
    holds_probability: float


@dataclass(frozen=True)
class ArmEvaluation:
    """What the log says of one arm."""

    name: str
    outcome: Estimate
    gap: Estimate | None
    """Of the gap between two groups, where that is all that is asked about; ``fairness`` has every row."""
    fair_probability: float
    """That all rows of fairness hold; a lower bound where outcomes are missing."""
    best_probability: float
    """Of being the best fair arm; a lower bound, too."""
    fair_probability_at_random: float
    best_probability_at_random: float
    """The same if outcomes are missing at random given the cell."""
    certified_fair: bool | None
    """True or False where it is certified, None where it is not."""
    support: Support
    """Whether the log can speak for the arm."""
    effective_rows: float
    largest_weight: float
    overlap: float
    unseen: float
    rows: int
    """Rows that the arm itself made."""
    fitted: bool
    """Its mechanism was fitted from the log."""
    learned: bool = False
    """It was learned from this log: its estimates are too good, and it is neither compared nor recommended."""
    fairness: tuple[RowEstimate, ...] = ()
    """Every row that must hold, in the order of ``problem.rows``."""
    closest: str | None = None
    """The name of the row that is least likely to hold."""
    pairs: Mapping[str, PairGap] = field(default_factory=dict)
    """Every ordered pair of groups that is compared, keyed "t|u"."""

    @property
    def closest_row(self) -> RowEstimate | None:
        """That row."""
        named = [row for row in self.fairness if row.name == self.closest]
        return min(named, key=lambda row: row.holds_probability, default=None)


def arm_evaluations(
    problem: Problem,
    certificate: Certificate,
    usual: Usual,
    pairs: Sequence[Mapping[str, PairGap]],
    standing: Standing,
    at_random: Standing,
    made: IntArray,
    learned: Sequence[int] = (),
) -> tuple[ArmEvaluation, ...]:
    """Of every arm, in order; ``pairs`` of each, ``made`` rows by arm and group (K, G), arms ``learned`` from this log."""
    fair, unfair = certificate.fairness(problem)
    own, found = fitted_arms(problem), []
    for k, arm in enumerate(problem.arms):
        rows = _rows(problem, certificate, usual, standing, k)
        found.append(
            ArmEvaluation(
                name=arm.name,
                outcome=_outcome(problem, certificate, usual, k),
                gap=_gap(rows[0]) if problem.has_one_gap else None,
                fair_probability=float(standing.fair[0, k]),
                best_probability=float(standing.best[0, k]),
                fair_probability_at_random=float(at_random.fair[0, k]),
                best_probability_at_random=float(at_random.best[0, k]),
                certified_fair=bool(fair[k]) if fair[k] or unfair[k] else None,
                support=support_of(float(standing.unseen[0, k]), float(standing.effective[0, k])),
                effective_rows=float(standing.effective[0, k]),
                largest_weight=float(standing.largest_weight[0, k]),
                overlap=float(standing.overlap[0, k]),
                unseen=float(standing.unseen[0, k]),
                rows=int(made[k].sum()),
                fitted=k in own,
                learned=k in learned,
                fairness=rows,
                closest=rows[closest_row(problem, standing, 0, k)].name,
                pairs=pairs[k],
            )
        )
    return tuple(found)


def _bounds(certificate: Certificate, arm: int) -> Intervals | None:
    """What is certified, where it covers the arm."""
    return None if arm in certificate.uncertified_arms else certificate.intervals


def _outcome(problem: Problem, certificate: Certificate, usual: Usual, k: int) -> Estimate:
    numbers = problem.outcome.unscale(np.array([usual.outcome_values[k], *usual.outcomes[:, k]]))
    value, low, high = map(float, numbers)
    bounds = _bounds(certificate, k)
    proved = None if bounds is None else bounds.outcomes[0, k]
    return Estimate(value, low, high, *_ends(None if proved is None else problem.outcome.unscale(proved)))


def _rows(
    problem: Problem, certificate: Certificate, usual: Usual, standing: Standing, k: int
) -> tuple[RowEstimate, ...]:
    found, bounds = [], _bounds(certificate, k)
    for j, row in enumerate(problem.rows):
        certified = () if bounds is None else bounds.rows[0, k, j]
        numbers = (usual.row_values[k, j], *usual.rows[:, k, j], *certified)
        value, low, high, *proved = (row.in_units(problem.outcome, float(number)) for number in numbers)
        ends = _ends(np.array(proved) if proved else None)
        found.append(RowEstimate(value, low, high, *ends, row.name, float(standing.row_holds[0, k, j])))
    return tuple(found)


def _ends(certified: FloatArray | None) -> tuple[float | None, float | None]:
    return (None, None) if certified is None else (float(certified[0]), float(certified[1]))


def _gap(row: RowEstimate) -> Estimate:
    return Estimate(row.value, row.low, row.high, row.certified_low, row.certified_high)


def estimate_columns(found: Sequence[Estimate | None]) -> Iterator[tuple[str, Column]]:
    """The parts of estimates as columns of a frame, by name."""
    for name in ("value", "low", "high", "certified_low", "certified_high"):
        yield name, (float, [None if estimate is None else getattr(estimate, name) for estimate in found])
