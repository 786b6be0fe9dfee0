"""How many pulls, of what, at what cost: answered before the experiment, from what is known then.

The outcome in each cell is not known yet, so truths are drawn from a prior and Pool is run in each of them. An answer
counts as right if it is as good as the best one within a margin (`margins.py`): under any prior some truths have two arms
that are nearly tied, and no number of pulls tells those apart. Where there is a log, truths are drawn from what it says,
and every run starts from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np

from fairarm.algorithms.pool import Pool
from fairarm.algorithms.procedure import unwatched
from fairarm.algorithms.registry import DEFAULT, make_procedure
from fairarm.beliefs.assumptions import Statement
from fairarm.beliefs.from_log import rows_of
from fairarm.beliefs.lines import distinct
from fairarm.beliefs.robust import choose_method
from fairarm.core.grouping import moments_by_group
from fairarm.core.statistics import wilson_interval
from fairarm.core.types import FloatArray
from fairarm.errors import BudgetError, OptionError, ProblemError
from fairarm.experiments.margins import NO_MARGINS, TOO_OFTEN, DrawnArms, Margins, good_enough
from fairarm.experiments.simulate import chunk_size, replicate
from fairarm.experiments.start_from_log import LoggedPulls, started
from fairarm.experiments.truths import Truths, truths_of
from fairarm.experiments.truths_from_log import evidence_for_truths
from fairarm.experiments.truths_from_prior import require_prior
from fairarm.experiments.what_pulls_buy import NEXT, Answered, PullsBuy, bought, outcome_used
from fairarm.experiments.workers import watched_workers
from fairarm.frames import Column, columns_of
from fairarm.problem.log_map import LogMap, WithColumns
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch, check_batch
from fairarm.problem.variables import Variable
from fairarm.shown import Fact, Shown
from fairarm.worlds.cells import CellWorlds
from fairarm.worlds.labels import LabelWorlds

FEWEST = 32
"""Pulls of the first point of the curve; each next one has twice as many, then the crossing is narrowed down."""

NARROWINGS = 3

BUDGET_STEPS = (0.03, 0.1, 0.3, 1.0)
"""Average costs that are tried, from the cheapest unit's (0) to the mean of all units' (1)."""


class PlanNote(StrEnum):
    """What to mind in a plan; in brackets the facts that go with it."""

    REAL_OUTCOME = "real-outcome-taken-as-two-values"
    """[outcome, low, high, sd]."""
    WIDE_MARGINS = "margins-wider-than-differences"
    """[every_arm_right, gain, gap_spread]."""
    ANSWERED = "log-already-answers"
    FITTED = "fitted-mechanism-taken-as-it-is"
    """[name]: of the arm or node."""
    SPARSE = "few-rows-per-cell"


@dataclass(frozen=True)
class PlanPoint:
    """The error at one number of pulls over drawn truths, with Wilson's 95 % band."""

    pulls: int
    error: float
    error_low: float
    error_high: float
    mean_cost: float


@dataclass(frozen=True)
class PlannedUnit:
    """How often an arm is pulled in a regime on average; the run itself decides by what it sees."""

    arm: str
    regime: str
    pulls: float


@dataclass(frozen=True)
class PlanOption:
    """The curve at one average cost a pull (None: no limit), and where it first reaches the target."""

    average_cost: float | None
    curve: tuple[PlanPoint, ...]
    pulls: int | None
    """None where the target was not reached; 0 where the log already answers."""
    cost: float | None
    units: tuple[PlannedUnit, ...]
    """Largest first, at that number of pulls."""


@dataclass(frozen=True, repr=False)
class ExperimentPlan(Shown):
    """Every option, and which is cheapest and which needs the fewest pulls."""

    problem: Problem
    target_error: float
    outcome_margin: float
    gap_margin: float
    """In the outcome's own units: an answer this close to the best one counts as right."""
    prior_mean: float | None
    prior_strength: float | None
    """None where truths were drawn from what a log says."""
    truths: int
    seed: int
    options: tuple[PlanOption, ...]
    notes: tuple[Statement, ...]
    """What was simplified, and what to mind in the numbers."""
    log_rows: int = 0
    """Rows of the log that every simulated experiment started from; pulls and costs are without it."""
    started_from: LoggedPulls | None = field(default=None, compare=False)
    """That log as it was read, with what was noticed in it."""
    gain: float = 0.0
    """By how much the best arm's outcome is above the average arm's, in the median truth."""
    gap_spread: float = 0.0
    """The distance between the arms' largest and smallest gap, in the median truth; with several rows between arms farthest inside and
    farthest outside of their nearest end."""
    every_arm_right: float = 0.0
    """The share of the truths in which the margins make every arm a right answer."""
    buys: tuple[PullsBuy, ...] = ()
    """With a log: what the next 100 pulls buy, at each average cost."""

    @property
    def cheapest(self) -> PlanOption | None:
        """Least cost; of equal ones the fewest pulls."""
        reached = [option for option in self.options if option.pulls is not None]
        return min(reached, key=lambda o: (o.cost or 0.0, o.pulls or 0), default=None)

    @property
    def quickest(self) -> PlanOption | None:
        """Fewest pulls; of equal ones the least cost."""
        reached = [option for option in self.options if option.pulls is not None]
        return min(reached, key=lambda o: (o.pulls or 0, o.cost or 0.0), default=None)

    def _facts(self) -> list[Fact]:
        best = self.cheapest
        return [
            ("pulls", None if best is None else best.pulls), ("cost", None if best is None else best.cost),
            ("target_error", self.target_error), ("every_arm_right", self.every_arm_right), ("problem", self.problem.name),
            ("outcome_margin", self.outcome_margin), ("gap_margin", self.gap_margin), ("truths", self.truths),
            ("log_rows", self.log_rows), ("notes", len(self.notes)),
        ]  # fmt: skip

    def _table(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        heads = ("average cost", "pulls", "cost", "error", "low", "high")
        return heads, [
            (o.average_cost, o.pulls, o.cost, p.error, p.error_low, p.error_high)
            for o, p in zip(self.options, self._reached(), strict=True)
        ]

    def _columns(self) -> dict[str, Column]:
        return {
            **columns_of(self.options, average_cost=float, pulls=int, cost=float),
            **columns_of(self._reached(), error=float, error_low=float, error_high=float),
        }

    def _reached(self) -> list[PlanPoint]:
        """Of each option the point that is shown: where it reaches the target, or its last."""
        return [next((p for p in o.curve if p.pulls == o.pulls), o.curve[-1]) for o in self.options]


@dataclass(frozen=True)
class _Curves:
    """What the points of all curves have in common."""

    target: float
    margins: Margins
    truths: int
    seed: int
    most_pulls: int


def plan(
    problem: Problem | WithColumns,
    *,
    target_error: float = 0.05,
    outcome_margin: float | None = None,
    gap_margin: float | None = None,
    prior_mean: float | None = None,
    prior_strength: float | None = None,
    sd: float | None = None,
    truths: int = 200,
    most_pulls: int = 50_000,
    seed: int = 0,
    jobs: int = 1,
    log: Any = None,
    columns: LogMap | None = None,
    engine: str | None = None,
    on_point: Callable[[], None] | None = None,
) -> ExperimentPlan:
    """Error against pulls under truths drawn from a prior, at several average costs, and the cheapest plan that
    reaches the target.

    The mean outcome of a cell is Beta(prior_mean · prior_strength, …) on the outcome's range: 0.5 and 2, the default, is
    uniform. A real outcome is simplified to two values, its mean less and plus ``sd``, its standard deviation within cells, which a log
    tells. The margins are in the outcome's units. If not given they are small against the differences between the arms
    in the drawn truths: a fifth of what the best arm has over the average one, at most 2 % of the range; and 10 % of
    the tolerance, at most 10 % of the distance between the arms' gaps. With several rows: of the narrowest, and of how far inside
    its nearest end an arm is.

    ``log`` holds rows that were made before (anything that `read_log` takes or returns; ``columns`` and ``engine`` as there): truths are then drawn from what they say instead of the prior, of P(S) and
    the law of contexts too where those are not declared, and every simulated experiment starts from them.
    """
    if log is not None and not (prior_mean is None and prior_strength is None):
        raise OptionError(
            "A prior mean or strength was given with a log. Truths are drawn from what the log says: leave it out."
        )
    mean, strength = 0.5 if prior_mean is None else prior_mean, 2.0 if prior_strength is None else prior_strength
    _check_numbers(target_error, outcome_margin, gap_margin, mean, strength)
    _check_counts(truths=(truths, 1), most_pulls=(most_pulls, FEWEST), seed=(seed, 0), jobs=(jobs, 1))
    problem, read = started(problem, log, columns, engine)
    rows = None if read is None else read.batch
    simple, notes = _countable(problem, rows, sd)
    before = evidence_for_truths(problem, simple, rows)
    source = truths_of(simple, before, mean, strength)
    drawn = DrawnArms.of((worlds for _, worlds in _chunks(simple, source, truths, seed)), simple)
    width, default = simple.outcome.width, drawn.margins()
    outcome_margin = _two_digits(default.outcome * width) if outcome_margin is None else outcome_margin
    gap_margin = _two_digits(default.gap * width) if gap_margin is None else gap_margin
    margins = Margins(outcome_margin / width, gap_margin / width)
    asked = _Curves(target_error, margins, truths, seed, most_pulls)
    options = tuple(_run_all(simple, source, asked, _budgets(simple), jobs, on_point))
    buys = () if before is None else tuple(_bought(simple, source, asked, [o.average_cost for o in options], on_point))
    found = ExperimentPlan(
        problem=problem,
        target_error=target_error,
        outcome_margin=outcome_margin,
        gap_margin=gap_margin,
        prior_mean=mean if before is None else None,
        prior_strength=strength if before is None else None,
        truths=truths,
        seed=seed,
        options=options,
        notes=notes,
        log_rows=rows_of(before),
        started_from=read,
        gain=drawn.gain * width,
        gap_spread=drawn.gap_spread * width,
        every_arm_right=drawn.every_arm_right(margins),
        buys=buys,
    )
    return replace(found, notes=(*notes, *_margin_notes(found), *_log_notes(simple, source, asked, found)))


def _two_digits(number: float) -> float:
    return float(f"{number:.1e}")


def _check_numbers(
    target: float, outcome_margin: float | None, gap_margin: float | None, mean: float, strength: float
) -> None:
    """Each by itself: not a number and infinity are refused too."""
    if not 0 < target < 1:
        raise OptionError(f"The target error is {target}. It lies between 0 and 1.")
    require_prior(mean, strength)
    for what, margin in (("outcome margin", outcome_margin), ("gap margin", gap_margin)):
        if margin is not None and not 0 <= margin < math.inf:
            raise OptionError(f"The {what} is {margin}. It is a finite number, 0 or more, in the outcome's units.")


def _check_counts(**given: tuple[int, int]) -> None:
    for name, (number, least) in given.items():
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
            raise OptionError(f"{name} is {number!r}. It is a whole number, {least} or more.")


def _margin_notes(found: ExperimentPlan) -> Iterator[Statement]:
    if found.every_arm_right >= TOO_OFTEN:
        facts = {"every_arm_right": found.every_arm_right, "gain": found.gain, "gap_spread": found.gap_spread}
        yield Statement(PlanNote.WIDE_MARGINS, facts)


def _log_notes(problem: Problem, source: Truths, asked: _Curves, found: ExperimentPlan) -> Iterator[Statement]:
    earlier = source.earlier
    if earlier is None:
        return
    if any(option.pulls == 0 for option in found.options) and _answers(problem, source, asked, found):
        yield Statement(PlanNote.ANSWERED)
    if problem.fitted:
        yield Statement(PlanNote.FITTED, {"name": problem.fitted[0]})
    if choose_method(problem, earlier) == "doubly robust":
        yield Statement(PlanNote.SPARSE)


def _answers(problem: Problem, source: Truths, asked: _Curves, found: ExperimentPlan) -> bool:
    """Whether it is the log that reaches the target without a pull, and not margins that make every arm right."""
    if found.every_arm_right < TOO_OFTEN:
        return True
    return _point(problem, source, replace(asked, margins=NO_MARGINS), 0)[0].error <= asked.target


def _countable(problem: Problem, rows: Batch | None, sd: float | None) -> tuple[Problem, tuple[Statement, ...]]:
    """The problem with an outcome that has states: a real one has two, its mean less and plus ``sd``, the standard deviation within
    cells. Mean and sd are those of the log where there is one: the declared range says nothing of how much outcomes vary."""
    if real := [name for name in problem.cell_columns if not problem.variables[name].finite]:
        raise ProblemError(
            f"A plan needs finite columns; '{real[0]}' is real-valued. Leave it out of the plan's problem if no arm looks at it."
        )
    known = problem.outcome
    if known.values is not None:
        if sd is not None:
            raise OptionError(f"An sd was given, but the outcome '{known.node}' has states. Leave it out.")
        return problem, ()
    mean = 0.5 * ((known.low or 0.0) + (known.high or 0.0))
    if rows is not None:
        check_batch(problem, rows)
        mean, of_log = _spread_in_cells(problem, rows)
        sd = sd or of_log
    if not sd or not 0 < sd <= known.width / 2:
        raise OptionError(
            f"The outcome '{known.node}' is real-valued, and how much it varies between people alike in every input is not known: got "
            f"sd = {sd}. Give sd (--sd), a number above 0 and at most half of its range, {known.width / 2:g}, or a log."
        )
    made = replace(
        problem,
        variables={**problem.variables, known.node: Variable(known.node, ("lower", "upper"))},
        outcome=Outcome(known.node, values=(mean - sd, mean + sd)),
    )
    facts = {"outcome": known.node, "low": mean - sd, "high": mean + sd, "sd": sd}
    return made, (Statement(PlanNote.REAL_OUTCOME, facts),)


def _spread_in_cells(problem: Problem, rows: Batch) -> tuple[float, float]:
    """The mean of a real outcome, and its standard deviation within cells; 0 where no cell has two different outcomes."""
    cells, at = distinct([np.asarray(rows.columns[name]) for name in (*problem.attributes, *problem.cell_columns)])
    none, y = np.zeros(rows.size), np.asarray(rows.columns[problem.outcome.node], dtype=np.float64)
    n, sums, within, _ = moments_by_group(np.stack([rows.count, rows.count * y, none, none]), at, len(cells))
    return float(sums.sum() / n.sum()), math.sqrt(within.sum() / max(np.maximum(n - 1, 0).sum(), 1))


def _budgets(problem: Problem) -> list[float | None]:
    """Average costs to try: the declared limit, and steps from the cheapest unit to the mean of all, below it."""
    costs = problem.compiled.cost_array
    costs = costs[np.isfinite(costs)]
    low, mean = float(costs.min()), float(costs.mean())
    if math.isclose(low, float(costs.max())):
        return [None]
    steps: list[float | None] = [low + f * (mean - low) for f in BUDGET_STEPS]
    if isinstance(problem.budget, float | int):
        if problem.budget < low:
            raise BudgetError(f"The budget {problem.budget:g} is below the cheapest pull's cost, {low:g}. Raise it.")
        return [*(step for step in steps if step is not None and step < problem.budget), float(problem.budget)]
    return steps


def _run_all(
    problem: Problem,
    source: Truths,
    asked: _Curves,
    budgets: list[float | None],
    jobs: int,
    on_point: Callable[[], None] | None,
) -> Iterator[PlanOption]:
    if jobs == 1 or len(budgets) == 1:
        for budget in budgets:
            yield _option(problem, source, asked, budget, on_point)
        return
    from joblib import Parallel, delayed

    with watched_workers(jobs):
        yield from Parallel(n_jobs=jobs)(delayed(_option)(problem, source, asked, b, None) for b in budgets)


def _option(
    problem: Problem,
    source: Truths,
    asked: _Curves,
    budget: float | None,
    on_point: Callable[[], None] | None,
) -> PlanOption:
    """The curve at one average cost: twice the pulls until the target is met, then the crossing narrowed down.

    The crossing is that of the curve made to fall with the pulls, so that one lucky point does not decide.
    """
    from scipy.optimize import isotonic_regression

    at = replace(problem, budget=budget)
    points: dict[int, tuple[PlanPoint, FloatArray]] = {}

    def error(pulls: int) -> float:
        if pulls not in points:
            points[pulls] = _point(at, source, asked, pulls)
            if on_point is not None:
                on_point()
        return points[pulls][0].error

    pulls = 0 if source.earlier is not None and error(0) <= asked.target else FEWEST
    while error(pulls) > asked.target and pulls * 2 <= asked.most_pulls:
        pulls *= 2
    low, high = pulls // 2, pulls
    if error(pulls) <= asked.target and pulls > FEWEST:
        for _ in range(NARROWINGS):
            middle = round(math.sqrt(low * high))
            low, high = (low, middle) if error(middle) <= asked.target else (middle, high)
    curve = tuple(points[count][0] for count in sorted(points))
    falling = isotonic_regression([point.error for point in curve], increasing=False).x
    reached = [point.pulls for point, error in zip(curve, falling, strict=True) if error <= asked.target]
    if not reached:
        return PlanOption(budget, curve, None, None, ())
    needed = min(reached)
    point, mean = points[needed]
    units = sorted(
        (PlannedUnit(problem.arm_names[k], problem.regimes[r], float(mean[r, k])) for r, k in np.argwhere(mean >= 0.5)),
        key=lambda unit: -unit.pulls,
    )
    return PlanOption(budget, curve, needed, point.mean_cost, tuple(units))


def _chunks(problem: Problem, source: Truths, truths: int, seed: int) -> Iterator[tuple[int, CellWorlds | LabelWorlds]]:
    """All truths, the same ones at every call, in parts that fit into memory."""
    size = chunk_size(problem)
    for chunk in range(-(-truths // size)):
        yield chunk, source.draw(min(size, truths - chunk * size), np.random.default_rng([seed, chunk]))


def _point(problem: Problem, source: Truths, asked: _Curves, pulls: int) -> tuple[PlanPoint, FloatArray]:
    """The error at one number of pulls, and the mean pulls of every unit, (R, K). The same truths at every point."""
    found, made = _experiments(problem, source, asked, pulls)
    wrong = int((~found.right).sum())
    low, high = wilson_interval(wrong, asked.truths)
    return PlanPoint(
        pulls, wrong / asked.truths, low, high, float(found.cost.sum()) / asked.truths
    ), made / asked.truths


def _experiments(problem: Problem, source: Truths, asked: _Curves, pulls: int) -> tuple[Answered, FloatArray]:
    """One experiment in each truth: what it answered, and all pulls of every unit, (R, K)."""
    procedure = unwatched(make_procedure(DEFAULT, problem, pulls) if pulls else Pool(replace(problem, budget=None), 0))
    found, made = [], np.zeros(problem.compiled.cost_array.shape)
    for chunk, worlds in _chunks(problem, source, asked.truths, asked.seed):
        rng = np.random.default_rng([asked.seed, chunk, pulls])
        count = len(worlds.outcome_law)
        state, _, spent, _ = replicate(procedure, worlds, count, rng, int(rng.integers(1 << 62)), source.earlier)
        right = good_enough(worlds, state.answer, asked.margins)
        found.append((right, outcome_used(problem, worlds, state.answer), spent))
        made += state.given.sum(axis=0)
    return Answered(*(np.concatenate(part) for part in zip(*found, strict=True))), made


def _bought(
    problem: Problem,
    source: Truths,
    asked: _Curves,
    budgets: list[float | None],
    on_point: Callable[[], None] | None,
) -> Iterator[PullsBuy]:
    """What the next pulls buy at each average cost, in the same truths."""
    before, _ = _experiments(problem, source, asked, 0)
    for budget in budgets:
        after, _ = _experiments(replace(problem, budget=budget), source, asked, NEXT)
        yield bought(budget, NEXT, before, after)
        if on_point is not None:
            on_point()
