"""How far an answer from a log holds: bounds of every arm over a box of the cells' means, and where claims tip.

Shapes: D draws, K arms, J rows of fairness. Everything is on the scale of Y'.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from fairarm.beliefs.beliefs import Beliefs, believe
from fairarm.beliefs.cells import CellBeliefs
from fairarm.beliefs.doubt import CellDraws, LoggedCells, boxes_fit, draw_cells
from fairarm.beliefs.draws import Draws
from fairarm.beliefs.evidence import CellEvidence, CountedEvidence
from fairarm.beliefs.findings import Finding, Level
from fairarm.beliefs.logged_rows import LoggedBeliefs
from fairarm.beliefs.standing import Standing
from fairarm.core.answer import Code
from fairarm.core.doubt.box import Box, exact_most_if_fair, most_if_fair
from fairarm.core.doubt.missing import ANY, missing_box
from fairarm.core.doubt.tipping import fair_margin, sure_until, tipping, unfair_margin
from fairarm.core.fairness import Rows, all_unfair, losses, quantile_of_draws
from fairarm.core.types import FloatArray, IntArray
from fairarm.experiments.evidence_from_log import UNSEEN_CELLS, LogEvidence
from fairarm.experiments.usual import DRAWS, Usual
from fairarm.problem.answer import Answer, Status
from fairarm.problem.problem import Problem

TIP_DRAWS = 200
"""Draws of which the tipping strength is found."""

STRONGEST = 100.0
"""A hidden cause that would have to be stronger is not looked for."""

NEGLIGIBLE = 0.001
"""Avoided cells do not matter to an arm with a smaller share of its people in them."""

SHOWN_CELLS, ENOUGH_ROWS = 3, 5
"""Avoided cells that a warning names, and the rows of each that resolve it."""


@dataclass(frozen=True, eq=False)
class Ends:
    """Of every draw the least and the most that each arm's outcome, (D, K), and each of its rows, (D, K, J), can be."""

    outcome_low: FloatArray
    outcome_high: FloatArray
    row_low: FloatArray
    row_high: FloatArray

    def intervals(self, confidence: float) -> tuple[FloatArray, FloatArray]:
        """Of outcomes (2, K) and rows (2, K, J): from a low point of the lower ends to a high one of the upper."""
        limits = ((1.0 - confidence) / 2, (1.0 + confidence) / 2)
        low, high = (
            [np.quantile(part, limit, axis=0) for part in parts]
            for limit, parts in zip(
                limits, ((self.outcome_low, self.row_low), (self.outcome_high, self.row_high)), strict=True
            )
        )
        return np.stack([low[0], high[0]]), np.stack([low[1], high[1]])


def ends_of(draws: CellDraws, gamma: float = 1.0) -> Ends:
    """Over the box of every draw, with a hidden cause of at most Γ."""
    box, rows = draws.box(gamma), draws.rows
    flat = rows.reshape(len(rows), -1, rows.shape[-1])
    shape = (len(draws), *rows.shape[1:3])
    low, high = (end.reshape(shape) for end in (box.least(flat), box.most(flat)))
    return Ends(box.least(draws.outcomes), box.most(draws.outcomes), low, high)


def widened(usual: Usual, ends: Ends, confidence: float) -> Usual:
    """Usual intervals, none of them narrower than before."""
    outcomes, rows = ends.intervals(confidence)
    low, high = np.minimum(usual.outcomes[0], outcomes[0]), np.maximum(usual.outcomes[1], outcomes[1])
    row_low, row_high = np.minimum(usual.rows[0], rows[0]), np.maximum(usual.rows[1], rows[1])
    return replace(usual, outcomes=np.stack([low, high]), rows=np.stack([row_low, row_high]))


def bounded(standing: Standing, ends: Ends, asked: Rows, confidence: float) -> Standing:
    """Of one log: probabilities as lower bounds, and losses as upper ones, wherever between the ends of each draw the truth lies."""
    fair, unfair = asked.of_intervals(ends.row_low, ends.row_high)
    holds = (ends.row_low > asked.low) & (ends.row_high < asked.high)
    loss = losses(ends.outcome_low, ends.outcome_high, ends.row_low, ends.row_high, asked)
    return replace(
        standing,
        fair=np.minimum(standing.fair, fair.mean(axis=0)),
        best=np.minimum(standing.best, (loss <= 0).mean(axis=0)),
        none=np.minimum(standing.none, unfair.all(axis=1).mean()),
        row_holds=np.minimum(standing.row_holds, holds.mean(axis=0)),
        loss=np.maximum(standing.loss, quantile_of_draws(loss, confidence)),
        unfair=np.minimum(standing.unfair, all_unfair(ends.row_low, ends.row_high, asked, confidence)),
    )


def bounded_for(standing: Standing, free: Standing, draws: CellDraws, code: int, confidence: float) -> Standing:
    """The same for the arm ``code``, more exactly: arms share cells, and a rival has to be fair at the point where it is better."""
    if code < 0:
        return standing
    fair = fairness_margin(draws, 1.0, code, fair=True) > 0
    loss = np.where(fair, np.maximum(_most_of_rivals(draws, draws.box(), code), 0.0), np.inf)
    best, least = standing.best.copy(), standing.loss.copy()
    best[0, code] = min(free.best[0, code], (loss <= 0).mean())
    least[0, code] = max(free.loss[0, code], quantile_of_draws(loss[:, None], confidence)[0])
    return replace(standing, best=best, loss=least)


# ---- claims ----


def code_of(problem: Problem, answer: Answer) -> int:
    """The answer as a `Code`, or an arm's position."""
    if answer.arm is not None:
        return problem.arm_index(answer.arm)
    return int(Code.NONE if answer.status == Status.NO_FAIR_ARM else Code.UNDECIDED)


def fairness_margin(draws: CellDraws, gamma: FloatArray | float, arm: int, fair: bool) -> FloatArray:
    """How surely the arm is fair, or unfair, over the box of each draw, (D,)."""
    box, rows = draws.box(gamma), draws.rows[:, arm]
    return (fair_margin if fair else unfair_margin)(box.least(rows), box.most(rows), draws.asked)


def better_margin(draws: CellDraws, gamma: FloatArray | float, arm: int, other: int) -> FloatArray:
    """By how much the outcome of one arm is above that of another, at least, (D,)."""
    least = draws.box(gamma).least((draws.outcomes[:, arm] - draws.outcomes[:, other])[:, None])
    return np.asarray(least[:, 0])


def answer_margin(draws: CellDraws, gamma: FloatArray | float, code: int) -> FloatArray:
    """How surely this is the answer over the box of each draw, (D,): the arm is fair, and no arm that is fair at the same point is
    better; or no arm is fair at any point. Of one draw alone several rows are met at once, else each alone."""
    arms = range(draws.outcomes.shape[1])
    if code == Code.NONE:
        return np.asarray(np.min([fairness_margin(draws, gamma, k, fair=False) for k in arms], axis=0))
    return np.minimum(fairness_margin(draws, gamma, code, fair=True), -_most_of_rivals(draws, draws.box(gamma), code))


def _most_of_rivals(draws: CellDraws, box: Box, code: int) -> FloatArray:
    """By how much some rival that is fair can be better, (D,)."""
    rivals = [_most(draws, box, k, code) for k in range(draws.outcomes.shape[1]) if k != code]
    return np.asarray(np.max([np.full(len(draws), -np.inf), *rivals], axis=0))


def _most(draws: CellDraws, box: Box, rival: int, code: int) -> FloatArray:
    """By how much a rival that is fair can be better, (D,)."""
    gain, rows = draws.outcomes[:, rival] - draws.outcomes[:, code], draws.rows[:, rival]
    relaxed = most_if_fair(gain, rows, draws.asked, box)
    if len(draws) > 1 or len(draws.asked) == 1 or relaxed[0] <= 0:
        return relaxed
    return np.array([exact_most_if_fair(gain[0], rows[0], draws.asked, Box(box.low[0], box.high[0]))])


@dataclass(frozen=True)
class Tip:
    """Where a claim tips: the strength from which it need not hold any more."""

    strength: float
    """At the estimates; inf where it holds whatever is looked for, the least possible strength where it does not hold at all."""
    sure: float
    """Up to here it holds with the probability that is asked for; the least possible strength where it does not even there."""


def tip_of(draws: CellDraws, margin: Callable[[CellDraws, FloatArray], FloatArray], confidence: float) -> Tip:
    """Of a claim about a hidden cause, by halving, for the estimate and for some of the draws."""
    which = np.arange(len(draws)) >= len(draws) - 1 - TIP_DRAWS
    some, estimate = draws.at(which).draws, draws.estimate
    alone = tipping(lambda gamma: margin(estimate, gamma), 1.0, STRONGEST, (1,))
    found = tipping(lambda gamma: margin(some, gamma), 1.0, STRONGEST, (len(some),))
    return Tip(float(alone[0]), sure_until(found, confidence))


# ---- missing outcomes ----


@dataclass(frozen=True)
class MissingOutcomes:
    """What missing outcomes do to an answer."""

    rows: int
    share: float
    """Of the rows that could be used but for their outcome."""
    how: str
    """ "worst": whatever they were; "at random": stated to be missing at random given the cell."""


def missing_outcomes(found: LogEvidence) -> MissingOutcomes | None:
    """None where no outcome is missing."""
    if found.completions is not None:
        rows = found.completions.total
        return MissingOutcomes(rows, rows / (rows + found.source.used), "worst")
    if found.missing is None or found.counted is None:
        return None
    rows = found.missing.total
    share = rows / (rows + int(found.counted.by_group().made.sum()))
    return MissingOutcomes(rows, share, "at random" if found.at_random else "worst")


def bounded_ends(found: LogEvidence, estimated: bool, seed: int) -> tuple[Ends | None, CellDraws | None]:
    """Ends that hold whatever missing outcomes and avoided decisions would bring; and the boxes that they are made of, where cells have
    means of their own."""
    beliefs, missing = found.beliefs, None if found.at_random else found.missing
    share = _avoided(found, estimated)[0].sum(axis=-1)
    if missing is None and found.completions is None and share.max() <= NEGLIGIBLE:
        return None, None
    if isinstance(beliefs, CellBeliefs) and boxes_fit(found.problem):
        draws = draw_cells(beliefs, found.missing, seed, found.at_random).draws
        return ends_of(draws), draws
    low, high = beliefs, beliefs
    if found.completions is not None:
        low, high = found.completions.low, found.completions.high
    elif missing is not None and isinstance(found.counted, CellEvidence):
        low, high = (believe(missing.filled(found.counted, highest), estimated, seed) for highest in (False, True))
    return _completed_ends((low, high), share, found, seed), None


def _completed_ends(both: tuple[Beliefs, Beliefs], share: FloatArray, found: LogEvidence, seed: int) -> Ends:
    """From beliefs with missing outcomes at their lowest and at their highest, drawn alike; rows group by group. ``share`` as `_avoided`
    has it: its mean is taken as that of the arm, and may be anything."""
    asked, means = found.problem.compiled.rows, _possible_means(found)
    low, high = (beliefs.draw(np.random.default_rng(seed), DRAWS) for beliefs in both)
    low, high = (
        Draws(
            *(
                getattr(missing_box(x, of, means), end)
                for x, of in ((d.outcomes, share[:, -1]), (d.means, share[:, :-1]))
            )
        )
        for d, end in ((low, "low"), (high, "high"))
    )
    plus, minus = np.maximum(asked.by_group, 0.0), np.minimum(asked.by_group, 0.0)
    up, down = np.maximum(asked.everyone, 0.0), np.minimum(asked.everyone, 0.0)

    def rows(first: Draws, second: Draws) -> FloatArray:
        by_group = first.means[0] @ plus.T + second.means[0] @ minus.T
        return np.asarray(by_group + first.outcomes[0][..., None] * up + second.outcomes[0][..., None] * down)

    return Ends(low.outcomes[0], high.outcomes[0], rows(low, high), rows(high, low))


# ---- avoided decisions ----


def _possible_means(found: LogEvidence) -> Box:
    """What the mean of avoided decisions can be where cells have none: two standard deviations around that of a real outcome."""
    rows = found.natural.sum()
    if found.problem.outcome.values is not None or not rows:
        return ANY
    mean, square = found.natural_sums.sum() / rows, found.natural_squares.sum() / rows
    sd = np.sqrt(np.maximum(square - mean**2, 0.0))
    return Box(mean - 2 * sd, mean + 2 * sd)


def _avoided(found: LogEvidence, estimated: bool) -> tuple[FloatArray, Mapping[str, IntArray]]:
    """The weight of every cell for an arm's people for whom its decision was never tried, (K, W + 1, C), by world and last of all, and
    the cells' columns; where rows are not counted by cell, one for all of them."""
    beliefs = found.beliefs
    if isinstance(beliefs, LoggedBeliefs):
        return np.column_stack([beliefs.unseen, beliefs.unseen @ beliefs.shares])[..., None], {}
    if not isinstance(beliefs, CellBeliefs):
        beliefs = CellBeliefs.of(cast(CountedEvidence, found.counted), estimated)
    weights = np.concatenate([beliefs.worlds[0], beliefs.everybody[0][:, None]], axis=1)
    return weights * LoggedCells(beliefs, found.missing).avoided, beliefs.cells.columns


def unseen_cells(found: LogEvidence, estimated: bool) -> tuple[Finding, ...]:
    """A warning where arms make decisions that the log avoids, about the arm that makes most of them."""
    weights, columns = _avoided(found, estimated)
    shares, problem = weights[:, -1].sum(axis=-1), found.problem
    order = np.argsort(-shares, kind="stable")
    each = tuple(f"{problem.arm_names[k]} {shares[k]:.1%}" for k in order if shares[k] > NEGLIGIBLE)
    if not each:
        return ()
    arm, weight = problem.arm_names[order[0]], weights[order[0], -1]
    cells = [c for c in np.argsort(-weight, kind="stable")[:SHOWN_CELLS] if weight[c] > 0]
    states = {name: problem.variables[name].states or () for name in columns}
    named = (", ".join(f"{name} = {states[name][codes[c]]}" for name, codes in columns.items()) for c in cells)
    where = f" ({'; '.join(named)}{' and others' if (weight > 0).sum() > SHOWN_CELLS else ''})" if columns else ""
    text = (
        f"{shares[order[0]]:.1%} of the people of arm '{arm}' would get a decision that was never tried for people like them{where}. What "
        f"it would do to them is unknown. About {math.ceil(ENOUGH_ROWS / weight[cells[-1]])} pulls of '{arm}' would give {ENOUGH_ROWS} "
        f"rows of each."
    )
    return (Finding(UNSEEN_CELLS, text, 0, each, Level.WARNING),)
