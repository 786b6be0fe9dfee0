"""Posterior draws of a log as boxes: what the mean outcome of every cell can be, given missing outcomes, decisions that were avoided,
and a hidden cause.

Each draw is a law of the outcome in every cell, a share of unknown outcomes, the chances of the logged decisions, and the law of what
arms see. What is asked of the arms is linear in the cells' means: their coefficients are drawn with them.

Shapes: D draws, K arms, J rows of fairness, C cells, O states of the outcome.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from fairarm.beliefs.cells import CellBeliefs
from fairarm.beliefs.missing_rows import MissingRows
from fairarm.core.doubt.box import Box
from fairarm.core.doubt.missing import draw_missing, missing_box
from fairarm.core.doubt.sensitivity import Parts, draw_chances, hidden_box, least_of_others, others_two_valued
from fairarm.core.doubt.sketch import Sketch
from fairarm.core.doubt.two_sources import share_of_known
from fairarm.core.fairness import Rows
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.errors import ProblemError
from fairarm.problem.problem import Problem
from fairarm.problem.space import CellSpace

Numbers = TypeVar("Numbers", IntArray, FloatArray)

DRAWS, LEAST_DRAWS = 1000, 200
"""Boxes that are drawn; the least where coefficients are many."""

MOST_ENTRIES, MOST_EVER = 1 << 25, 1 << 27
"""Coefficients (draws × arms × rows × cells) held at once: 256 MiB; 1 GiB where even the least draws take more."""


AVOIDED = 0.05
"""Below this P(v | x) a decision was avoided; below half of 1/V where that is less, as uniform decisions avoid none."""


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Rows whose decision was drawn with known probabilities: no hidden cause moved it, so that they tell each E[Y(v) | x] as it is."""

    theta: FloatArray
    """Means of their outcomes that came, (D, C)."""
    missing: FloatArray
    """(D, C)."""
    weight: FloatArray
    """How much of each cell's mean is taken from them and not from the box of the others, (C,)."""

    def at(self, which: BoolArray) -> KnownRows:
        """Some of the draws."""
        return KnownRows(self.theta[which], self.missing[which], self.weight)

    def joined(self, others: Box) -> Box:
        """E = λ E + (1 − λ) E, one of them by these rows, the other anywhere in the box of the others: it holds for any λ."""
        own = missing_box(self.theta, self.missing)
        return Box(
            self.weight * own.low + (1.0 - self.weight) * others.low,
            self.weight * own.high + (1.0 - self.weight) * others.high,
        )  # (D9)


@dataclass(frozen=True, eq=False)
class CellDraws:
    """Draws of all that a box is made of; the last draw is the estimate itself, every part at its posterior mean."""

    theta: FloatArray
    """Means of the outcomes that came, (D, C)."""
    law: FloatArray | None
    """The law of the outcomes that came over ``parts``, (D, C, B); None for a real outcome of which no sketch was made."""
    parts: Parts | None
    unknown: FloatArray
    """The share of outcomes that are unknown, (D, C): missing ones, and all of an avoided cell."""
    ends: Box
    """What the mean of unknown outcomes can be, (C,)."""
    chance: FloatArray | None
    """P(v | x) over all rows at the inputs of the cell, (D, C); None where a hidden cause cannot be bounded."""
    outcomes: FloatArray
    """w_k, (D or 1, K, C)."""
    rows: FloatArray
    """α_kj, (D or 1, K, J, C)."""
    asked: Rows
    known: KnownRows | None = None
    """Rows that no hidden cause can have moved; all else is then of the other rows."""

    def __len__(self) -> int:
        return len(self.theta)

    @property
    def estimate(self) -> CellDraws:
        """The last draw alone."""
        return self.at(np.arange(len(self)) == len(self) - 1)

    @property
    def draws(self) -> CellDraws:
        """All but the estimate."""
        return self.at(np.arange(len(self)) < len(self) - 1)

    def at(self, which: BoolArray) -> CellDraws:
        """Some of the draws."""
        outcomes, rows = (part if len(part) == 1 else part[which] for part in (self.outcomes, self.rows))
        law, chance = (None if part is None else part[which] for part in (self.law, self.chance))
        theta, unknown = self.theta[which], self.unknown[which]
        known = None if self.known is None else self.known.at(which)
        return replace(
            self, theta=theta, unknown=unknown, law=law, chance=chance, outcomes=outcomes, rows=rows, known=known
        )

    def box(self, gamma: FloatArray | float = 1.0) -> Box:
        """What every cell's mean can be, (D, C), with a hidden cause of at most Γ, a number or one of each draw, (D,)."""
        found = self._of_others(gamma)
        return found if self.known is None else self.known.joined(found)

    def _of_others(self, gamma: FloatArray | float) -> Box:
        """By the rows that a hidden cause may have moved alone."""
        logged = missing_box(self.theta, self.unknown, self.ends)
        strength = np.broadcast_to(np.asarray(gamma, dtype=np.float64), (len(self),))[:, None]
        if self.chance is None or np.all(strength == 1.0):
            return logged
        return hidden_box(self.chance, logged, self._decided_otherwise(logged, strength))

    def _decided_otherwise(self, logged: Box, strength: FloatArray) -> Box:
        """Means of those who were decided otherwise: missing outcomes are at their lowest for the lower end, and at their highest."""
        low, high = (others_two_valued(end, strength) for end in (logged.low, logged.high))
        widest = Box(low.low, high.high)
        if self.law is None or self.parts is None:
            return widest
        # how far the mean moves is told by the law; where the mean is, by θ, which of a real outcome is drawn apart
        fall = self._fall(self.law, self.parts, strength)
        rise = self._fall(self.law[..., ::-1], self.parts.turned(), strength)
        # means outside of [0, 1], of an avoided cell, are beyond the widest
        return Box(
            np.clip(widest.low, logged.low - fall, logged.low), np.clip(widest.high, logged.high, logged.high + rise)
        )

    def _fall(self, law: FloatArray, parts: Parts, strength: FloatArray) -> FloatArray:
        """How far below the mean of logged outcomes that of the others can be, (D, C), missing ones at their lowest in both."""
        if self.unknown.any():
            came = (1.0 - self.unknown)[..., None] * law
            law, parts = np.concatenate([self.unknown[..., None], came], axis=-1), parts.with_first(0.0)
        return np.asarray((law * parts.mean).sum(axis=-1) - least_of_others(law, parts, strength))


def boxes_fit(problem: Problem) -> bool:
    """Whether the boxes of a finite problem can be drawn: what is asked, by arm and cell, is held for every draw."""
    return _size(problem) * LEAST_DRAWS <= MOST_EVER


def _size(problem: Problem) -> int:
    """Coefficients of one draw."""
    cells = (problem.compiled.shared_cells if problem.plain else problem.compiled.world_cells).cells
    rows = problem.compiled.rows
    return len(problem.arms) * (1 + max(len(rows), rows.groups)) * cells


@dataclass(frozen=True, eq=False)
class LoggedCells:
    """The rows of a log by cell, as boxes are drawn from them; ``missing`` those that lack their outcome."""

    beliefs: CellBeliefs
    missing: MissingRows | None = None

    @property
    def lacking(self) -> IntArray:
        """Rows without an outcome, (C,)."""
        cells = self.beliefs.cells
        return np.zeros(cells.cells, dtype=np.int64) if self.missing is None else self.missing.by_cell(cells)

    @property
    def every_row(self) -> IntArray:
        """With those, (C,)."""
        return np.asarray(self.beliefs.seen.rows[0] + self.lacking)

    @property
    def avoided(self) -> BoolArray:
        """Cells without rows whose decision the arms that made the rows hardly ever make there, (C,); others are empty by chance."""
        law, x, v = rows_by_inputs(self.beliefs, self.beliefs.mixture[0])
        least = min(AVOIDED, 0.5 / law.shape[1]) * law.sum(axis=1)
        return np.asarray((self.every_row == 0) & (law[x, v] < least[x]))

    def draw_share(self, at_random: bool, draws: int, rng: np.random.Generator) -> FloatArray:
        """π, (D, C); 0 where they are stated to be missing at random."""
        lacking = self.lacking
        return draw_missing(0 * lacking if at_random else lacking, self.every_row, draws, rng)


@dataclass(frozen=True, eq=False)
class Doubted:
    """What a hidden cause needs beside the rows themselves."""

    sketch: Sketch | None = None
    """Of a real outcome: its values by cell, of the rows that a hidden cause may have moved."""
    others: LoggedCells | None = None
    known: LoggedCells | None = None
    """Rows that a hidden cause may have moved, and those that it cannot have; None where all rows are of one kind."""
    strength: float = 1.0
    """The Γ at which the two kinds are joined best."""


def draw_cells(
    beliefs: CellBeliefs,
    missing: MissingRows | None,
    seed: int,
    at_random: bool = False,
    doubted: Doubted | None = None,
) -> CellDraws:
    """Draws of a log's cells. Avoided cells and ``missing`` rows bound the means, unless it is stated that rows are missing at random;
    who they are and what was decided of them counts in any case."""
    asked, problem = beliefs.problem.compiled.rows, beliefs.problem
    fixed = beliefs.known_law is not None and beliefs.known_shares is not None and not beliefs.cells.fitted
    draws = DRAWS if fixed else int(np.clip(MOST_ENTRIES // _size(problem), LEAST_DRAWS, DRAWS))
    rng = np.random.default_rng([seed, 15])
    doubted = Doubted() if doubted is None else doubted
    logged = doubted.others or LoggedCells(beliefs, missing)
    theta, law, parts = _drawn_means(logged.beliefs, rng, draws, doubted.sketch)
    worlds, outcomes = beliefs.draw_coefficients(rng, draws)
    rows = asked.coefficients(worlds, outcomes)
    share, avoided = logged.draw_share(at_random, draws, rng), LoggedCells(beliefs, missing).avoided
    chance = None if below_decision(problem) else _chances(logged, rng, draws)
    made = CellDraws(
        theta=_with_mean(theta),
        law=law,
        parts=parts,
        unknown=_with_mean(np.where(avoided, 1.0, share)),
        ends=_unknown_ends(beliefs, avoided),
        chance=None if chance is None else _with_mean(chance),
        outcomes=outcomes if len(outcomes) == 1 else _with_mean(outcomes),
        rows=rows if len(rows) == 1 else _with_mean(rows),
        asked=asked,
    )
    return made if doubted.known is None else _with_known(made, doubted, doubted.known, at_random, rng)


def _with_known(
    made: CellDraws, doubted: Doubted, rows: LoggedCells, at_random: bool, rng: np.random.Generator
) -> CellDraws:
    """With rows that no hidden cause moved, each cell weighed so that its interval is the narrowest at the strength asked for."""
    draws = len(made) - 1
    theta, share = _drawn_means(rows.beliefs, rng, draws, None)[0], rows.draw_share(at_random, draws, rng)
    own, box = missing_box(theta, share), made.draws.box(doubted.strength)
    weight = share_of_known((own.low, own.high), (box.low, box.high))
    weight = np.where(rows.beliefs.seen.rows[0] > 0, weight, 0.0)
    return replace(made, known=KnownRows(_with_mean(theta), _with_mean(share), weight))


def below_decision(problem: Problem) -> tuple[str, ...]:
    """Observed columns that descend from the decision: they are no inputs."""
    return tuple(sorted(problem.roles.graph.descendants(problem.decision) & {*problem.cell_columns}))


def inputs_of_cells(beliefs: CellBeliefs) -> tuple[IntArray, IntArray, dict[str, IntArray]]:
    """The number of the inputs x of each cell and its decision, (C,) each, and the columns that make up x, (C,) each."""
    problem, columns = beliefs.problem, beliefs.cells.columns
    names = tuple(name for name in columns if name not in (problem.decision, *below_decision(problem)))
    space = CellSpace.of(names, problem.variables)
    number = space.number(columns) if names else np.zeros(beliefs.cells.cells, dtype=np.int64)
    return number, columns[problem.decision], {name: columns[name] for name in names}


def rows_by_inputs(beliefs: CellBeliefs, rows: Numbers) -> tuple[Numbers, IntArray, IntArray]:
    """Rows, or shares of them, (C,), by inputs and decision, (X, V), and the inputs and the decision of each cell, (C,) each."""
    x, v, _ = inputs_of_cells(beliefs)
    made = np.zeros((int(x.max()) + 1, beliefs.problem.variables[beliefs.problem.decision].size), dtype=rows.dtype)
    np.add.at(made, (x, v), rows)
    return made, x, v


def require_cells(beliefs: object, what: str) -> CellBeliefs:
    """Beliefs by cell means; an error that says the way out where there are none, or too many to draw."""
    if not isinstance(beliefs, CellBeliefs):
        raise ProblemError(
            f"{what} needs rows that are counted by cell, and cells that are seen often enough; here rows are weighted one by one. Declare "
            f"fewer columns or coarser states, leave out log.propensity, or go without it."
        )
    if not boxes_fit(beliefs.problem):
        raise ProblemError(
            f"{what} would hold {_size(beliefs.problem)} numbers by arm, row of fairness and cell for each of {LEAST_DRAWS} draws, "
            f"{8e-9 * LEAST_DRAWS * _size(beliefs.problem):.1f} GB; at most {8e-9 * MOST_EVER:.1f} GB are taken. Ask about fewer groups, "
            f"merge states, or go without it."
        )
    return beliefs


def _drawn_means(
    beliefs: CellBeliefs, rng: np.random.Generator, draws: int, sketch: Sketch | None
) -> tuple[FloatArray, FloatArray | None, Parts | None]:
    """θ, (D, C), and the law of the outcomes over sorted parts with its mean last, (D + 1, C, B)."""
    states = beliefs.posterior_of_states
    if states is None:
        theta = beliefs.posterior.draw(rng, draws)[0]
        return (theta, None, None) if sketch is None else (theta, *sketch.drawn(draws, rng))
    law, values = states.draw_laws(rng, draws)[0], beliefs.problem.outcome.scaled_values
    order = np.argsort(values, kind="stable")
    return np.asarray(law @ values), _with_mean(law[..., order]), Parts.of_values(values[order])


def _unknown_ends(beliefs: CellBeliefs, avoided: BoolArray) -> Box:
    """Any outcome where one is missing. Of an avoided cell any value of a state; of a real outcome what other cells' means are, and one
    standard deviation on each side: the declared range may be far wider."""
    posterior, rows = beliefs.posterior, beliefs.seen.rows[0]
    low, high = np.zeros(len(rows)), np.ones(len(rows))
    if beliefs.posterior_of_states is None and rows.any():
        means, sd = posterior.mean[0][rows > 0], np.sqrt(np.average(posterior.noise[0], weights=rows))
        low[avoided], high[avoided] = means.min() - sd, means.max() + sd
    return Box(low, high)


def _chances(logged: LoggedCells, rng: np.random.Generator, draws: int) -> FloatArray:
    """P(v | x) at every cell, (D, C), over all rows at x."""
    rows, x, v = rows_by_inputs(logged.beliefs, logged.every_row)
    return draw_chances(rows, draws, rng)[:, x, v]


def _with_mean(drawn: FloatArray) -> FloatArray:
    """The draws, and last their mean."""
    return np.concatenate([drawn, drawn.mean(axis=0, keepdims=True)])
