"""What a log already says of every arm: outcomes and gaps with two kinds of interval, and whether it can speak at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fairarm.beliefs.beliefs import Beliefs, DesignBasis
from fairarm.beliefs.planning import planned_pulls
from fairarm.beliefs.standing import Standing, standing_of
from fairarm.core.fairness import best_fair_arm
from fairarm.core.posterior.doubly_robust import PRIOR_SD
from fairarm.core.proof.region import Intervals
from fairarm.core.statistics import difference_interval
from fairarm.core.types import BoolArray, FloatArray
from fairarm.errors import OptionError
from fairarm.experiments.logged import Logged, read_evidence
from fairarm.frames import Column, columns_of
from fairarm.logs.findings import Finding
from fairarm.logs.reading import Dropped
from fairarm.problem.answer import Status
from fairarm.problem.fitting import FittedNote
from fairarm.problem.log_map import LogMap, WithColumns, problem_and_columns
from fairarm.problem.mechanism import NO_FAIR_ARM
from fairarm.problem.problem import Problem
from fairarm.shown import Fact, Shown

DRAWS = 4000
NEXT_PULLS = 1000
SPEAKS, WEAKLY = (0.01, 100.0), (0.2, 10.0)
"""At most so much of an arm's mass unseen and at least so many effective rows: the log speaks for it, or weakly."""

Support = Literal["yes", "weakly", "no"]


@dataclass(frozen=True)
class Estimate:
    """A number in the outcome's units: its mean, the usual interval and the certified one, where there is one."""

    value: float
    low: float
    high: float
    certified_low: float | None
    certified_high: float | None


@dataclass(frozen=True)
class ArmEvaluation:
    """What the log says of one arm."""

    name: str
    outcome: Estimate
    gap: Estimate
    fair_probability: float
    best_probability: float
    """Of being the best fair arm."""
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


@dataclass(frozen=True)
class ObservedGroup:
    """Natural rows of one group as they are: their number and mean outcome."""

    group: str
    rows: int
    mean: float | None


@dataclass(frozen=True)
class NextPulls:
    """A line of the plan for the next pulls."""

    arm: str
    regime: str
    share: float


@dataclass(frozen=True, repr=False)
class Evaluation(Shown):
    """The answer from a log. ``status`` and ``arm`` go by the posterior, ``certified_*`` by what is proved.

    An arm for which the log does not speak is never named; where one of those is likelier than any answer that could be
    given, ``status`` is UNDECIDED, ``arm`` None and ``probability`` that of no fair arm.
    """

    problem: Problem
    log: str
    engine: str
    rows: int
    used: int
    method: str
    confidence: float
    seed: int
    arms: tuple[ArmEvaluation, ...]
    status: Status
    arm: str | None
    probability: float
    runner_up: str
    runner_up_probability: float
    certified_status: Status
    certified_arm: str | None
    not_certified: tuple[str, ...]
    """Why nothing is certified; empty where intervals are."""
    certified_by: str | None
    observed: tuple[ObservedGroup, ...]
    next_pulls: tuple[NextPulls, ...]
    """Largest first."""
    findings: tuple[Finding, ...]
    fitted: tuple[FittedNote, ...]
    assumptions: tuple[str, ...]
    dropped: tuple[Dropped, ...] = ()
    """Rows left out on purpose (log.drop), by value."""
    plain_gap_interval: tuple[float, float] | None = None
    """An ordinary interval of the plain gap; None where a group has fewer than two rows, or where the outcome varies too
    little within its declared range."""
    min_fair_probability: float = 0.8
    """The gate: an arm is named only if it is fair with this probability."""
    gated: bool = False
    """An arm is more likely to be the best fair arm than the answer is to be right, but does not pass the gate."""

    @property
    def plain_gap(self) -> float | None:
        """The difference of the groups' mean outcomes in the log as it is, first minus second."""
        first, second = (group.mean for group in self.observed)
        return None if first is None or second is None else first - second

    def _facts(self) -> list[Fact]:
        return [
            ("status", self.status), ("arm", self.arm), ("probability", self.probability),
            ("certified_status", self.certified_status), ("certified_arm", self.certified_arm),
            ("problem", self.problem.name), ("log", self.log), ("rows", self.rows), ("used", self.used),
            ("findings", len(self.findings)),
        ]  # fmt: skip

    def _table(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        heads = ("arm", "outcome", "low", "high", "gap", "low", "high", "P(fair)", "P(best fair)", "support")
        return heads, [
            (a.name, a.outcome.value, a.outcome.low, a.outcome.high, a.gap.value, a.gap.low, a.gap.high, a.fair_probability,
             a.best_probability, a.support)
            for a in self.arms
        ]  # fmt: skip

    def _columns(self) -> dict[str, Column]:
        kinds = {"value": float, "low": float, "high": float, "certified_low": float, "certified_high": float}
        estimates = {
            f"{what}_{end}".removesuffix("_value"): column
            for what in ("outcome", "gap")
            for end, column in columns_of([getattr(arm, what) for arm in self.arms], **kinds).items()
        }
        return {
            "arm": (str, [arm.name for arm in self.arms]),
            **estimates,
            **columns_of(
                self.arms, fair_probability=float, best_probability=float, certified_fair=bool, support=str, rows=int,
                effective_rows=float, largest_weight=float, overlap=float, unseen=float, fitted=bool,
            ),
        }  # fmt: skip


def evaluate(
    problem: Problem | WithColumns,
    log: Any,
    *,
    columns: LogMap | None = None,
    engine: str | None = None,
    confidence: float = 0.95,
    law: Literal["declared", "estimated"] = "declared",
    min_fair_probability: float = 0.8,
    duplicates: bool = True,
    seed: int = 0,
) -> Evaluation:
    """Every arm's outcome and gap from a log: a path, a URL, a data frame, columns by name (docs/logs.md).

    ``columns`` says where the log keeps what the problem needs; a scenario, in place of the problem, brings its own.
    ``confidence``: of both kinds of interval. ``law``: P(S) and the law of contexts as declared, or from the log alone.
    ``duplicates``: look for repeated row ids, where the log has them.
    """
    if not 0.5 <= confidence < 1 or not 0 <= min_fair_probability <= 1:
        raise OptionError(
            f"The confidence is a number from 0.5 to below 1 and min_fair_probability one from 0 to 1; got {confidence} "
            f"and {min_fair_probability}."
        )
    problem, columns = problem_and_columns(problem, columns)
    logged = read_evidence(
        problem,
        columns,
        log,
        engine=engine,
        delta=1.0 - confidence,
        estimated=law == "estimated",
        duplicates=duplicates,
        seed=seed,
    )
    outcomes, gaps = _drawn(logged.beliefs, seed)
    belief = standing_of(logged.beliefs, outcomes, gaps, problem.scaled_tolerance)
    findings = (*logged.findings, *_disagreements(logged, outcomes[0], gaps[0], confidence))
    voided = tuple(f.name for f in findings if f.voids)
    certified = None if voided else logged.certified
    status, arm = certified_answer(problem, certified, logged.uncertified_arms)
    return Evaluation(
        problem=logged.problem,
        log=logged.name,
        engine=logged.engine,
        rows=logged.rows,
        used=logged.used,
        method=logged.beliefs.method,
        confidence=confidence,
        seed=seed,
        arms=_arms(logged, certified, outcomes[0], gaps[0], belief, confidence),
        **_answer(problem, belief, min_fair_probability),
        certified_status=status,
        certified_arm=arm,
        not_certified=(*(f"the log has the finding '{name}'" for name in voided), *logged.not_certified),
        certified_by=None if certified is None else logged.certified_by,
        observed=_observed(problem, logged),
        next_pulls=_next(problem, logged.beliefs, outcomes, gaps),
        findings=findings,
        fitted=logged.fitted,
        assumptions=logged.assumptions,
        dropped=logged.dropped,
        plain_gap_interval=_plain_gap_interval(problem, logged, confidence),
        min_fair_probability=min_fair_probability,
    )


def _answer(problem: Problem, belief: Standing, min_fair_probability: float) -> dict[str, Any]:
    """The fields of an evaluation that say which arm it is, by the posterior.

    An arm that the log does not speak for is not named, but it stands in the way: where it is likelier than every answer
    that could be given, none is.
    """
    best, names = belief.best[0], (NO_FAIR_ARM, *problem.arm_names)
    votes = np.concatenate([belief.none[0, None], best])
    heard = np.array([support_of(u, n) != "no" for u, n in zip(belief.unseen[0], belief.effective[0], strict=True)])
    first = int(np.argmax(np.where(np.append(True, heard & (belief.fair[0] >= min_fair_probability)), votes, -1.0)))
    gated = bool(best[heard].max(initial=0.0) > votes[first])
    unheard = bool(best[~heard].max(initial=0.0) > votes[first])
    first = 0 if unheard else first
    second = int(np.argmax(np.where(np.arange(len(votes)) == first, -1.0, votes)))
    return {
        "status": Status.FOUND if first else Status.UNDECIDED if unheard else Status.NO_FAIR_ARM,
        "arm": names[first] if first else None,
        "probability": float(votes[first]),
        "runner_up": names[second],
        "runner_up_probability": float(votes[second]),
        "gated": gated,
    }


def _drawn(beliefs: Beliefs, seed: int) -> tuple[FloatArray, FloatArray]:
    """Draws of outcomes and gaps, (1, DRAWS, K). Where much of an arm is unseen, cells without a row are not taken as
    independent of each other: all of it may be high, or low."""
    outcomes, gaps = beliefs.draw(np.random.default_rng(seed), DRAWS)
    unseen = beliefs.diagnostics().unseen[0]
    much = np.where(unseen > WEAKLY[0], unseen, 0.0)
    if beliefs.draws_unseen or not much.any():
        return outcomes, gaps
    shared, apart = PRIOR_SD * much * np.random.default_rng([seed, DRAWS]).standard_normal((2, 1, DRAWS, len(much)))
    return np.clip(outcomes + shared, 0.0, 1.0), np.clip(gaps + np.sqrt(2.0) * apart, -1.0, 1.0)


def _disagreements(logged: Logged, outcomes: FloatArray, gaps: FloatArray, confidence: float) -> tuple[Finding, ...]:
    """Arms whose usual interval lies outside the certified one: one of the two rests on something that is wrong."""
    if logged.certified is None:
        return ()
    limits = ((1.0 - confidence) / 2, (1.0 + confidence) / 2)
    found = []
    for what, draws, proved in (("outcome", outcomes, logged.certified.outcomes), ("gap", gaps, logged.certified.gaps)):
        low, high = np.quantile(draws, limits, axis=0)
        apart = (low > proved[0, :, 1]) | (high < proved[0, :, 0])
        found += [f"{what} of {logged.problem.arm_names[k]}" for k in np.flatnonzero(apart) if k not in logged.uncertified_arms]  # fmt: skip
    if not found:
        return ()
    text = "Usual and certified intervals do not meet: something that was declared, or that they rest on, is wrong."
    return (Finding("intervals-disagree", text, 0, tuple(found[:5])),)


def certified_answer(
    problem: Problem, certified: Intervals | None, excluded: tuple[int, ...]
) -> tuple[Status, str | None]:
    """The arm that is fair and best at every point of all intervals together; or that none is fair; or undecided."""
    if certified is None:
        return Status.UNDECIDED, None
    fair, unfair = certified_fairness(problem, certified)
    fair[list(excluded)] = unfair[list(excluded)] = False
    low, high = certified.outcomes[0].T
    for k in np.flatnonzero(fair):
        others = np.flatnonzero(~unfair & (np.arange(len(fair)) != k))
        if np.all(low[k] >= high[others]) and not set(others.tolist()) & set(excluded):
            return Status.FOUND, problem.arm_names[k]
    return (Status.NO_FAIR_ARM if unfair.all() else Status.UNDECIDED), None


def certified_fairness(problem: Problem, certified: Intervals) -> tuple[BoolArray, BoolArray]:
    """Arms whose gap lies within the tolerance throughout, and outside throughout, (K,) each."""
    low, high = certified.gaps[0].T
    tolerance = problem.scaled_tolerance
    return (low > -tolerance) & (high < tolerance), (low >= tolerance) | (high <= -tolerance)


def _arms(
    logged: Logged,
    certified: Intervals | None,
    outcomes: FloatArray,
    gaps: FloatArray,
    belief: Standing,
    confidence: float,
) -> tuple[ArmEvaluation, ...]:
    problem = logged.problem
    limits = ((1.0 - confidence) / 2, (1.0 + confidence) / 2)
    usual = [np.quantile(draws, limits, axis=0) for draws in (outcomes, gaps)]
    nothing = np.zeros(len(problem.arms), dtype=bool)
    fair, unfair = (nothing, nothing) if certified is None else certified_fairness(problem, certified)
    made = []
    for k, arm in enumerate(problem.arms):
        proved = certified is not None and k not in logged.uncertified_arms
        ends = [None, None] if certified is None or not proved else [certified.outcomes[0, k], certified.gaps[0, k]]
        value = problem.outcome.unscale(np.array([outcomes[:, k].mean(), *usual[0][:, k]]))
        gap = problem.outcome.width * np.array([gaps[:, k].mean(), *usual[1][:, k]])
        made.append(
            ArmEvaluation(
                name=arm.name,
                outcome=_estimate(value, None if ends[0] is None else problem.outcome.unscale(ends[0])),
                gap=_estimate(gap, None if ends[1] is None else problem.outcome.width * ends[1]),
                fair_probability=float(belief.fair[0, k]),
                best_probability=float(belief.best[0, k]),
                certified_fair=None if not proved or not (fair[k] or unfair[k]) else bool(fair[k]),
                support=support_of(float(belief.unseen[0, k]), float(belief.effective[0, k])),
                effective_rows=float(belief.effective[0, k]),
                largest_weight=float(belief.largest_weight[0, k]),
                overlap=float(belief.overlap[0, k]),
                unseen=float(belief.unseen[0, k]),
                rows=int(logged.made[k].sum()),
                fitted=k in logged.fitted_arms,
            )
        )
    return tuple(made)


def _estimate(usual: FloatArray, certified: FloatArray | None) -> Estimate:
    value, low, high = (float(number) for number in usual)
    ends = (None, None) if certified is None else (float(certified[0]), float(certified[1]))
    return Estimate(value, low, high, *ends)


def support_of(unseen: float, effective: float) -> Support:
    """By the share of the arm's mass that no row speaks for, and by effective rows."""
    if unseen <= SPEAKS[0] and effective >= SPEAKS[1]:
        return "yes"
    return "weakly" if unseen <= WEAKLY[0] and effective >= WEAKLY[1] else "no"


def _observed(problem: Problem, logged: Logged) -> tuple[ObservedGroup, ...]:
    found = []
    for t, group in enumerate(problem.groups):
        rows = int(logged.natural[t])
        mean = float(problem.outcome.unscale(logged.natural_sums[t] / rows)) if rows else None
        found.append(ObservedGroup(group, rows, mean))
    return tuple(found)


def _plain_gap_interval(problem: Problem, logged: Logged, confidence: float) -> tuple[float, float] | None:
    values = sorted(set(problem.outcome.scaled_values.tolist()))
    two = (values[0], values[1]) if len(values) == 2 else None
    natural = logged.natural.astype(np.float64)
    found = difference_interval(natural, logged.natural_sums, logged.natural_squares, two, confidence)
    return None if found is None else (problem.outcome.width * found[0], problem.outcome.width * found[1])


def _next(problem: Problem, beliefs: Beliefs, outcomes: FloatArray, gaps: FloatArray) -> tuple[NextPulls, ...]:
    basis = beliefs.design()
    shares = _doubt(problem, outcomes, gaps) if basis is None else _planned(problem, basis, outcomes, gaps)
    lines = [
        NextPulls(problem.arm_names[k], problem.regimes[r], float(shares[r, k])) for r, k in np.argwhere(shares > 0.005)
    ]
    return tuple(sorted(lines, key=lambda line: -line.share))


def _planned(problem: Problem, basis: DesignBasis, outcomes: FloatArray, gaps: FloatArray) -> FloatArray:
    """The shares of the next pulls by what would overturn the answer, (R, K)."""
    budget = problem.average_cost_budget(NEXT_PULLS)
    average = np.array([np.inf if budget is None else budget])
    ahead = np.array([float(NEXT_PULLS)])
    return np.asarray(planned_pulls(problem, basis, outcomes, gaps, ahead, average)[0] / NEXT_PULLS)


def _doubt(problem: Problem, outcomes: FloatArray, gaps: FloatArray) -> FloatArray:
    """Natural pulls of the arms that are, or might be, the answer: how often each is the answer of a draw, with the
    likeliest answer's share cut to one half."""
    best = best_fair_arm(outcomes[0], gaps[0], problem.scaled_tolerance)
    share = (best[:, None] == np.arange(len(problem.arms))).mean(axis=0)
    top = int(np.argmax(share))
    rest = share.sum() - share[top]
    if rest > 0:
        share[np.arange(len(share)) != top] *= 0.5 / rest
        share[top] = 0.5
    out = np.zeros((len(problem.regimes), len(share)))
    out[0] = share / max(share.sum(), 1e-300)
    return out
