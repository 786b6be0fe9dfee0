"""The best fair mixture of two arms as names, in the outcome's own units."""

from __future__ import annotations

from dataclasses import dataclass

from fairarm.core.posterior.arm_mixture import Mixture, Mixtures
from fairarm.problem.problem import Problem


@dataclass(frozen=True)
class MixtureReport:
    """Which arm serves what share of the people, and what is believed of it; 95 % limits."""

    shares: dict[str, float]
    outcome: float
    outcome_interval: tuple[float, float]
    gap: float
    gap_interval: tuple[float, float]
    fair_probability: float


@dataclass(frozen=True)
class BestMixture:
    """The best mixture that is fair with ``fair_probability``, next to the best single arm under the same rule.

    ``margin_cost`` is the outcome that being so sure costs: what a mixture whose mean gap is just below the tolerance
    would gain. None where no mixture, or no arm, qualifies.
    """

    fair_probability: float
    best: MixtureReport | None
    single: MixtureReport | None
    margin_cost: float | None


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
    return MixtureReport(
        shares={problem.arm_names[k]: weight for k, weight in zip(mixture.arms, mixture.weights, strict=True)},
        outcome=low + width * mixture.outcome,
        outcome_interval=(low + width * first, low + width * last),
        gap=width * mixture.gap,
        gap_interval=(width * mixture.gap_interval[0], width * mixture.gap_interval[1]),
        fair_probability=mixture.fair,
    )
