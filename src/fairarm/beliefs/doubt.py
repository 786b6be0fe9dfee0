"""Posterior draws of a log as boxes: what the mean outcome of every cell can be, given missing outcomes and a hidden cause.

Each draw is a law of the outcome in every cell, a share of missing outcomes, the chances of the logged decisions, and the law of what
arms see. What is asked of the arms is linear in the cells' means: their coefficients are drawn with them.

Shapes: D draws, K arms, J rows of fairness, C cells, O states of the outcome.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairarm.beliefs.cells import CellBeliefs
from fairarm.beliefs.missing_rows import MissingRows
from fairarm.core.doubt.box import Box
from fairarm.core.doubt.missing import draw_missing, missing_box
from fairarm.core.doubt.sensitivity import draw_chances, hidden_box, others_by_spread, others_of_states
from fairarm.core.fairness import Rows
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.errors import ProblemError
from fairarm.problem.problem import Problem
from fairarm.problem.space import CellSpace

DRAWS, LEAST_DRAWS = 1000, 200
"""Boxes that are drawn; the least where coefficients are many."""

MOST_ENTRIES = 1 << 25
"""Coefficients (draws × arms × rows × cells) held at once: 256 MiB."""


@dataclass(frozen=True, eq=False)
class CellDraws:
    """Draws of all that a box is made of; the last draw is the estimate itself, every part at its posterior mean."""

    theta: FloatArray
    """Means of the outcomes that came, (D, C)."""
    law: FloatArray | None
    """P(Y | c) of the outcomes that came, (D, C, O); None for a real outcome."""
    values: FloatArray
    """Y' of the states, (O,)."""
    spread: FloatArray
    """Standard deviation of the outcomes in a cell, (C,): what is known of a real one besides its mean."""
    missing: FloatArray
    """The share of outcomes that do not come, (D, C)."""
    chance: FloatArray | None
    """P(v | x) over all rows at the inputs of the cell, (D, C); None where a hidden cause cannot be bounded."""
    outcomes: FloatArray
    """w_k, (D or 1, K, C)."""
    rows: FloatArray
    """α_kj, (D or 1, K, J, C)."""
    asked: Rows

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
        theta, missing = self.theta[which], self.missing[which]
        return replace(self, theta=theta, missing=missing, law=law, chance=chance, outcomes=outcomes, rows=rows)

    def box(self, gamma: FloatArray | float = 1.0) -> Box:
        """What every cell's mean can be, (D, C), with a hidden cause of at most Γ, a number or one of each draw, (D,)."""
        logged = missing_box(self.theta, self.missing)
        strength = np.broadcast_to(np.asarray(gamma, dtype=np.float64), (len(self),))[:, None]
        if self.chance is None or np.all(strength == 1.0):
            return logged
        return hidden_box(self.chance, logged, self._others(logged, strength))

    def _others(self, logged: Box, strength: FloatArray) -> Box:
        """Means of those who were decided otherwise: missing outcomes are at their lowest for the lower end, and at their highest."""
        if self.law is None:
            low, high = (others_by_spread(end, self._widest(end), strength) for end in (logged.low, logged.high))
            return Box(low.low, high.high)
        came = (1.0 - self.missing)[..., None] * self.law
        law = np.concatenate([came, self.missing[..., None]], axis=-1)
        ends = [others_of_states(law, np.append(self.values, end), strength) for end in (0.0, 1.0)]
        return Box(ends[0].low, ends[1].high)

    def _widest(self, mean: FloatArray) -> FloatArray:
        """Of outcomes of which a part is missing, at one end: no more than of an outcome that is 0 or 1 with this mean."""
        most = np.sqrt(np.maximum(mean * (1.0 - mean), 0.0))
        return np.where(self.missing > 0, most, np.minimum(self.spread, most))


def draw_cells(beliefs: CellBeliefs, missing: MissingRows | None, seed: int, at_random: bool = False) -> CellDraws:
    """Draws of a log's cells. ``missing`` rows bound the means, unless it is stated that they are missing at random; who they are and
    what was decided of them counts in any case."""
    asked, cells = beliefs.problem.compiled.rows, beliefs.cells
    size = len(beliefs.problem.arms) * (1 + len(asked)) * cells.cells
    fixed = beliefs.known_law is not None and beliefs.known_shares is not None and not cells.fitted
    draws = DRAWS if fixed else int(np.clip(MOST_ENTRIES // size, LEAST_DRAWS, DRAWS))
    rng = np.random.default_rng([seed, 15])
    theta, law = _drawn_means(beliefs, rng, draws)
    outcomes, rows = _coefficients(beliefs, rng, draws, asked)
    lacking = np.zeros(cells.cells, dtype=np.int64) if missing is None else missing.by_cell(cells)
    share = draw_missing(0 * lacking if at_random else lacking, beliefs.seen.rows[0] + lacking, draws, rng)
    chance = None if below_decision(beliefs.problem) else _chances(beliefs, rng, draws, lacking)
    noise = np.sqrt(np.maximum(beliefs.posterior.noise[0], 0.0))
    return CellDraws(
        theta=_with_mean(theta),
        law=None if law is None else _with_mean(law),
        values=beliefs.problem.outcome.scaled_values if law is not None else np.zeros(0),
        spread=noise,
        missing=_with_mean(share),
        chance=None if chance is None else _with_mean(chance),
        outcomes=outcomes if len(outcomes) == 1 else _with_mean(outcomes),
        rows=rows if len(rows) == 1 else _with_mean(rows),
        asked=asked,
    )


def below_decision(problem: Problem) -> tuple[str, ...]:
    """Observed columns that descend from the decision: with one, the inputs of a cell are not what precedes the decision."""
    return tuple(sorted(problem.roles.graph.descendants(problem.decision) & {*problem.cell_columns}))


def inputs_of_cells(beliefs: CellBeliefs) -> tuple[IntArray, IntArray, dict[str, IntArray]]:
    """The number of the inputs x of each cell and its decision, (C,) each, and the columns that make up x, (C,) each."""
    problem, columns = beliefs.problem, beliefs.cells.columns
    names = tuple(name for name in columns if name != problem.decision)
    space = CellSpace.of(names, problem.variables)
    number = space.number(columns) if names else np.zeros(beliefs.cells.cells, dtype=np.int64)
    return number, columns[problem.decision], {name: columns[name] for name in names}


def rows_by_inputs(beliefs: CellBeliefs, rows: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Rows (C,) by inputs and decision, (X, V), and the inputs and the decision of each cell, (C,) each."""
    x, v, _ = inputs_of_cells(beliefs)
    made = np.zeros((int(x.max()) + 1, beliefs.problem.variables[beliefs.problem.decision].size), dtype=np.int64)
    np.add.at(made, (x, v), rows)
    return made, x, v


def require_cells(beliefs: object, what: str) -> CellBeliefs:
    """Beliefs by cell means of a plain problem; an error that says the way out where there are none."""
    if isinstance(beliefs, CellBeliefs) and not beliefs.problem.plain:
        raise ProblemError(
            f"{what} is there for the groups of one attribute without causes, with nothing kept; problem '{beliefs.problem.name}' asks for "
            f"more. Go without it, or ask about one such attribute."
        )
    if isinstance(beliefs, CellBeliefs):
        return beliefs
    raise ProblemError(
        f"{what} needs rows that are counted by cell, and cells that are seen often enough; here rows are weighted one by one. Declare "
        f"fewer columns or coarser states, leave out log.propensity, or go without it."
    )


def _drawn_means(beliefs: CellBeliefs, rng: np.random.Generator, draws: int) -> tuple[FloatArray, FloatArray | None]:
    states = beliefs.posterior_of_states
    if states is None:
        return beliefs.posterior.draw(rng, draws)[0], None
    law = states.draw_laws(rng, draws)[0]
    return np.asarray(law @ beliefs.problem.outcome.scaled_values), law


def _coefficients(
    beliefs: CellBeliefs, rng: np.random.Generator, draws: int, asked: Rows
) -> tuple[FloatArray, FloatArray]:
    """w_k and α_kj under drawn laws, (D, K, C) and (D, K, J, C); (1, …) where all laws are known."""
    h, shares = beliefs.draw_laws(rng, draws)
    if beliefs.cells.fitted:
        drawn = beliefs.cells.drawn_likelihood(rng, draws)
        law = np.concatenate(
            [replace(beliefs.cells, likelihood=L).law_of_cells(of[None]) for L, of in zip(drawn, h[0], strict=True)]
        )
    elif beliefs.known_law is not None:
        law = beliefs.law
    else:
        law = beliefs.cells.law_of_cells(h[0])
    mix = shares[0][:1] if beliefs.known_shares is not None else shares[0]
    natural = np.einsum("dktc,dt->dkc", *_alike(law, mix))
    return natural, asked.coefficients(np.broadcast_to(law, (len(natural), *law.shape[1:])), natural)


def _alike(law: FloatArray, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    size = max(len(law), len(shares))
    return np.broadcast_to(law, (size, *law.shape[1:])), np.broadcast_to(shares, (size, shares.shape[1]))


def _chances(beliefs: CellBeliefs, rng: np.random.Generator, draws: int, lacking: IntArray) -> FloatArray:
    """P(v | x) at every cell, (D, C), over all rows at x."""
    rows, x, v = rows_by_inputs(beliefs, beliefs.seen.rows[0] + lacking)
    return draw_chances(rows, draws, rng)[:, x, v]


def _with_mean(drawn: FloatArray) -> FloatArray:
    """The draws, and last their mean."""
    return np.concatenate([drawn, drawn.mean(axis=0, keepdims=True)])
