"""How far an answer from a log holds: bounds of every arm over a box of the cells' means, and where claims tip.

Shapes: D draws, K arms, J rows of fairness. Everything is on the scale of Y'.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fairarm.beliefs.beliefs import Beliefs, believe
from fairarm.beliefs.cells import CellBeliefs
from fairarm.beliefs.doubt import CellDraws, draw_cells
from fairarm.beliefs.draws import Draws
from fairarm.beliefs.evidence import CellEvidence
from fairarm.beliefs.missing_rows import MissingRows
from fairarm.core.answer import Code
from fairarm.core.doubt.box import Box, exact_most_if_fair, most_if_fair
from fairarm.core.doubt.tipping import fair_margin, sure_until, tipping, unfair_margin
from fairarm.core.fairness import Rows
from fairarm.core.types import FloatArray
from fairarm.experiments.evidence_from_log import LogEvidence
from fairarm.experiments.usual import DRAWS, Usual
from fairarm.problem.answer import Answer, Status
from fairarm.problem.problem import Problem

TIP_DRAWS = 200
"""Draws of which the tipping strength is found."""

STRONGEST = 100.0
"""A hidden cause that would have to be stronger is not looked for."""


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
    box = draws.box(gamma)
    found = [fairness_margin(draws, gamma, code, fair=True)]
    for k in arms:
        if k != code:
            found.append(-_most(draws, box, k, code))
    return np.asarray(np.min(found, axis=0))


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
    stands: bool | None
    """Whether the answer is the same whatever they were; None where there is no answer, or where it was not looked at."""
    probability: float | None
    """That it is, at least."""


def missing_outcomes(
    found: LogEvidence, draws: CellDraws | None, code: int, min_fair_probability: float
) -> MissingOutcomes | None:
    """Of an answer ``code``; None where no outcome is missing."""
    if found.completions is not None:
        rows = found.completions.total
        return MissingOutcomes(rows, rows / (rows + found.source.used), "worst", None, None)
    if found.missing is None or found.counted is None:
        return None
    rows = found.missing.total
    share = rows / (rows + int(found.counted.by_group().made.sum()))
    how = "at random" if found.at_random else "worst"
    if found.at_random or draws is None or code == Code.UNDECIDED:
        return MissingOutcomes(rows, share, how, None, None)
    drawn = draws.draws
    probability = float((answer_margin(drawn, 1.0, code) > 0).mean())
    fair = 1.0 if code == Code.NONE else float((fairness_margin(drawn, 1.0, code, fair=True) > 0).mean())
    return MissingOutcomes(rows, share, how, probability > 0.5 and fair >= min_fair_probability, probability)


def bounded_by_missing(
    found: LogEvidence, usual: Usual, confidence: float, estimated: bool, seed: int
) -> tuple[Usual, CellDraws | None]:
    """Usual intervals that hold whatever the missing outcomes were, and the draws that they are made of."""
    if found.completions is not None:
        both = (found.completions.low, found.completions.high)
        return widened(usual, _completed_ends(both, found.problem.compiled.rows, seed), confidence), None
    if found.missing is None or found.at_random or found.counted is None:
        return usual, None
    if isinstance(found.beliefs, CellBeliefs):
        draws = draw_cells(found.beliefs, found.missing, seed)
        return widened(usual, ends_of(draws.draws), confidence), draws
    if isinstance(found.counted, CellEvidence):
        return widened(usual, _filled_ends(found.counted, found.missing, estimated, seed), confidence), None
    return usual, None


def _filled_ends(evidence: CellEvidence, missing: MissingRows, estimated: bool, seed: int) -> Ends:
    """Where cells have no means of their own: all missing outcomes at their lowest, and at their highest."""
    low, high = (believe(missing.filled(evidence, highest), estimated, seed) for highest in (False, True))
    return _completed_ends((low, high), evidence.problem.compiled.rows, seed)


def _completed_ends(both: tuple[Beliefs, Beliefs], asked: Rows, seed: int) -> Ends:
    """From beliefs with missing outcomes at their lowest and at their highest, drawn alike; rows group by group."""
    low, high = (beliefs.draw(np.random.default_rng(seed), DRAWS) for beliefs in both)
    plus, minus = np.maximum(asked.by_group, 0.0), np.minimum(asked.by_group, 0.0)
    up, down = np.maximum(asked.everyone, 0.0), np.minimum(asked.everyone, 0.0)

    def rows(first: Draws, second: Draws) -> FloatArray:
        by_group = first.means[0] @ plus.T + second.means[0] @ minus.T
        return np.asarray(by_group + first.outcomes[0][..., None] * up + second.outcomes[0][..., None] * down)

    return Ends(low.outcomes[0], high.outcomes[0], rows(low, high), rows(high, low))
