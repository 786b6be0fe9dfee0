"""The best fair mixture of arms as names, in the outcome's own units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.beliefs.beliefs import Beliefs
from fairarm.core.posterior.arm_mixture import MixedRow, Mixture, Mixtures, best_mixture
from fairarm.problem.fairness import Row
from fairarm.problem.problem import Problem


@dataclass(frozen=True)
class MixedFairness:
    """What is believed of a row of a mixture; 95 % limits."""

    name: str
    """Of the row, as in ``problem.rows``."""
    value: float
    interval: tuple[float, float]
    holds_probability: float


@dataclass(frozen=True)
class MixtureReport:
    """Which arm serves what share of the people, and what is believed of it; 95 % limits."""

    shares: dict[str, float]
    outcome: float
    outcome_interval: tuple[float, float]
    gap: float | None
    gap_interval: tuple[float, float] | None
    """Both None where more is asked about than the gap between two groups."""
    fair_probability: float
    """That all rows hold."""
    fairness: tuple[MixedFairness, ...]
    """Row by row, in the order of ``problem.rows``."""


@dataclass(frozen=True)
class BestMixture:
    """The best mixture that is fair with ``fair_probability``, next to the best single arm under the same rule.

    ``margin_cost`` is the outcome that being so sure costs: what a mixture whose mean rows are just inside their ends
    would gain. None where no mixture, or no arm, qualifies.
    """

    fair_probability: float
    best: MixtureReport | None
    single: MixtureReport | None
    margin_cost: float | None


def mixture_of(problem: Problem, beliefs: Beliefs, fair_probability: float, draws: int, seed: int) -> BestMixture:
    """By so many draws of what is believed."""
    rows, drawn = problem.compiled.rows, beliefs.draw(np.random.default_rng([seed, draws]), draws)
    found = best_mixture(drawn.outcomes[0], drawn.rows(rows)[0], rows, 1.0 - fair_probability)
    return described(problem, found, fair_probability)


def described(problem: Problem, found: Mixtures, fair_probability: float) -> BestMixture:
    """The mixtures found, with names for positions and in the outcome's own units."""
    width = problem.outcome.width
    cost = None if found.margin_cost is None else width * found.margin_cost
    return BestMixture(fair_probability, _report(problem, found.best), _report(problem, found.single), cost)


def _report(problem: Problem, mixture: Mixture | None) -> MixtureReport | None:
    if mixture is None:
        return None
    low, width = problem.outcome.low or 0.0, problem.outcome.width
    first, last = mixture.outcome_interval
    rows = tuple(_row(problem, row, mixed) for row, mixed in zip(problem.rows, mixture.rows, strict=True))
    gap = rows[0] if problem.has_one_gap else None
    return MixtureReport(
        shares={problem.arm_names[k]: weight for k, weight in zip(mixture.arms, mixture.weights, strict=True)},
        outcome=low + width * mixture.outcome,
        outcome_interval=(low + width * first, low + width * last),
        gap=None if gap is None else gap.value,
        gap_interval=None if gap is None else gap.interval,
        fair_probability=mixture.fair,
        fairness=rows,
    )


def _row(problem: Problem, row: Row, mixed: MixedRow) -> MixedFairness:
    """In the outcome's units."""
    value, first, last = (row.in_units(problem.outcome, x) for x in (mixed.value, *mixed.interval))
    return MixedFairness(row.name, value, (first, last), mixed.holds)
