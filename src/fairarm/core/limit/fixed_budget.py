"""The least average error of any rule with a fixed number of pulls, over all truths of a law at once (docs/limits.md).

A rule chooses each pull by what it has seen, and the best way to choose cannot be computed. So every rule is given more: a
*round* shows one row of each unit of a class, made of the same chance, so that units that would land in the same cell share
one row. Whatever the rule would have pulled is in its rounds. What they tell does not depend on any choice, and the
error of the best answer from them is the limit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.core.answer import Code
from fairarm.core.fairness import Rows, best_fair_arm
from fairarm.core.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Rounds:
    """How often a class of units can be pulled: their laws over the cells (X, C), and the number of rounds."""

    laws: FloatArray
    rounds: int

    def seen(self, rng: np.random.Generator) -> IntArray:
        """Rows in each cell, (C,)."""
        if not self.rounds or not len(self.laws):
            return np.zeros(self.laws.shape[1], dtype=np.int64)
        return np.asarray(shown_cells(self.laws, self.rounds, rng).sum(axis=0))


@dataclass(frozen=True)
class CellLaw:
    """The law that every θ_c is drawn from, independently: ``values`` (S,), all inside (0, 1), and their ``weights`` (S,)."""

    values: FloatArray
    weights: FloatArray

    def draw(self, size: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        """θ of this size."""
        return np.asarray(rng.choice(self.values, size=size, p=self.weights))

    def posterior(self, rows: IntArray, ones: IntArray) -> FloatArray:
        """The weights of the values in each cell after its rows (C,) and those among them with Y = 1 (C,): (C, S)."""
        with np.errstate(divide="ignore"):
            log_weight = np.log(self.weights) + ones[:, None] * np.log(self.values)
        log_weight = log_weight + (rows - ones)[:, None] * np.log1p(-self.values)
        weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class LeastError:
    """An estimate that is too low rather than too high on average, and its standard error."""

    error: float
    standard_error: float


def shown_cells(laws: FloatArray, rounds: int, rng: np.random.Generator) -> BoolArray:
    """Which cells each round shows, (rounds, C), for units with these laws (X, C)."""
    clocks = rng.standard_exponential((rounds, 1, laws.shape[1]))
    with np.errstate(divide="ignore"):
        cell = np.argmin(clocks / laws, axis=2)  # (F1)
    shown = np.zeros((rounds, laws.shape[1]), dtype=np.bool_)
    shown[np.arange(rounds)[:, None], cell] = True
    return shown


def dear_rounds(costs: FloatArray, budget: float | None, pulls: int) -> int:
    """The most pulls that can cost more than the least, within the average ``budget``."""
    least, *more = np.unique(costs)
    if budget is None or not more:
        return pulls
    return min(pulls, int(np.floor(pulls * (budget - least) / (more[0] - least) + 1e-9)))  # (F2)


def least_average_error(
    classes: tuple[Rounds, ...],
    law: CellLaw,
    natural: FloatArray,
    coefficients: FloatArray,
    asked: Rows | float,
    rng: np.random.Generator,
    truths: int = 400,
    draws: int = 400,
) -> LeastError:
    """R_T for arms with the laws ``natural`` w_k (K, C) over this many drawn truths.

    ``coefficients`` α_kj (K, J, C) of the rows that are ``asked``; a number E is the one row |d_k·θ| < E of d_k (K, C).

    The probability of the best answer is the largest share among ``draws`` from the posterior: on average too high, so that
    the error is too low rather than too high.
    """
    missed = np.empty(truths)
    for i in range(truths):
        theta, rows = law.draw(natural.shape[1:], rng), sum(part.seen(rng) for part in classes)
        after = law.posterior(np.asarray(rows), rng.binomial(rows, theta))
        drawn = _drawn(after, law.values, draws, rng)
        values = (drawn @ coefficients.reshape(-1, drawn.shape[1]).T).reshape(draws, *coefficients.shape[:-1])
        answers = best_fair_arm(drawn @ natural.T, values, asked)
        missed[i] = 1.0 - np.bincount(answers - int(Code.NONE)).max() / draws  # (F3)
    return LeastError(float(missed.mean()), float(missed.std(ddof=1) / np.sqrt(truths)))


def _drawn(after: FloatArray, values: FloatArray, draws: int, rng: np.random.Generator) -> FloatArray:
    """θ from the posterior (C, S), (draws, C)."""
    below = np.cumsum(after, axis=1)[:, :-1]
    at = (rng.random((draws, len(after), 1)) > below).sum(axis=2)
    return np.asarray(values[at])
