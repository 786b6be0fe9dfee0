"""Bets on the counted rows of a log: which of them are the pilot, what it predicts, and how the others score."""

from __future__ import annotations

import math

import numpy as np

from fairarm.beliefs.missing_rows import MissingRows
from fairarm.core.doubt.world_estimators import plain_means
from fairarm.core.grouping import sum_by_group
from fairarm.core.proof.log_bets import (
    CountedLines,
    LineBets,
    PilotScores,
    SumBets,
    bets_on,
    cut_at,
    scoring,
    sums_of,
)
from fairarm.core.proof.log_intervals import GroupCells
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.problem import Problem
from fairarm.problem.space import CellSpace

PILOT = 0.2
"""The share of the rows that is looked at before the bets, and not bet on."""


def counted_bets(
    problem: Problem, law: FloatArray, counts: IntArray, delta: float, missing: MissingRows | None = None
) -> LineBets | SumBets:
    """From P_k(v | x, t) (K, G, X) and rows by arm, group, cell and outcome state, (K, G, X, O); δ is the error of a bound."""
    values = problem.outcome.scaled_values
    states = slice(len(values))
    if missing is not None:  # one state more, of which nothing is known
        counts, values = np.concatenate([counts, missing.by_place[..., None]], axis=3), np.append(values, np.nan)
    pilot = pilot_of(counts)
    rest = counts - pilot
    made = rest.sum(axis=(2, 3))
    seen = pilot[..., states].sum(axis=0)
    context, m = predictions(problem, seen.sum(axis=2).astype(np.float64), seen @ values[states])
    scores = scoring(law, made, m, context, cut_at(made.sum(axis=0).astype(np.float64), delta))
    return bets_on(scores, _lines(pilot, values), _lines(rest, values), math.log(1 / delta))


def summed_bets(
    problem: Problem,
    law: FloatArray,
    seen: GroupCells,
    pilot: GroupCells,
    delta: float,
    missing: MissingRows | None = None,
) -> SumBets:
    """The same from sums of a real outcome by cell, of all rows and of those of the pilot."""
    context, m = predictions(problem, pilot.rows, pilot.sums)
    if missing is not None:
        every = [missing.completed(seen, end) for end in (0.0, 1.0)]
        chosen = [missing.completed(pilot, end, chosen=True) for end in (0.0, 1.0)]
    else:
        every, chosen = [seen], [pilot]
    rest = [_less(whole, part) for whole, part in zip(every, chosen, strict=True)]
    scores = scoring(law, rest[0].made, m, context, cut_at(rest[0].made.sum(axis=0).astype(np.float64), delta))
    known = PilotScores.of(sums_of(scores, *chosen), scores.least)
    return SumBets(sums_of(scores, *rest), known, math.log(1 / delta))


def _less(seen: GroupCells, part: GroupCells) -> GroupCells:
    """Without the rows of a part."""
    return GroupCells(seen.rows - part.rows, seen.sums - part.sums, seen.squares - part.squares, seen.made - part.made)


def pilot_of(counts: IntArray) -> IntArray:
    """The rows of the pilot: each row with the same chance, whatever it holds, by a generator of its own."""
    pilot = np.zeros_like(counts)
    at = np.nonzero(counts)
    # binomial: as if a coin were tossed for each row, so that pilot and rest are independent samples of the same law
    pilot[at] = np.random.default_rng(0).binomial(counts[at], PILOT)
    return pilot


def predictions(
    problem: Problem, rows: FloatArray, sums: FloatArray, prior: float = 1.0
) -> tuple[IntArray, FloatArray]:
    """The number of what precedes the decision at each cell, (X,), and m(x, v), (G, X), from the pilot's rows and Σ Y', (G, X), and
    ``prior`` rows of ½ in each cell; without them a cell without rows has the mean of its decision.

    m may look at what precedes the decision, at the decision, and at the group where that acts on the outcome in another way.
    """
    graph, V = problem.roles.graph, problem.decision
    below = graph.descendants(V) & {*problem.cell_columns}
    before = tuple(name for name in problem.cell_columns if name != V and name not in below)
    codes = CellSpace.of(problem.cell_columns, problem.variables).codes()
    space = CellSpace.of((*before, V), problem.variables)
    apart = bool(below) or problem.outcome.node in problem.relevant_children
    at = space.number(codes) + space.count * apart * np.arange(len(rows))[:, None]
    by_decision = plain_means(rows, sums, np.broadcast_to(codes[V], rows.shape))
    rows, sums = (sum_by_group(part.ravel(), at.ravel(), int(at.max()) + 1)[at] for part in (rows, sums))
    m = np.divide(sums + prior / 2, rows + prior, out=by_decision, where=rows + prior > 0)  # (W2)
    return CellSpace.of(before, problem.variables).number(codes), m


def _lines(counts: IntArray, values: FloatArray) -> CountedLines:
    """Rows by group, cell and outcome, whoever made them."""
    seen = counts.sum(axis=0)
    group, place, state = np.nonzero(seen)
    return CountedLines(group, place, values[state], seen[group, place, state].astype(np.float64))
