"""A cause of decision and outcome that nobody recorded, of bounded strength (the marginal sensitivity model of Tan 2006).

The odds of the logged decision v at inputs x, given the hidden cause, are off by at most a factor Γ from those over all rows at x:

    E[Y(v) | x] = P(v | x) θ + (1 − P(v | x)) m,      m = E[Y(v) | x, another decision]

and m is a mean of the logged outcomes of v under weights in [1/Γ, Γ] that average 1. Its least value puts Γ on the lowest outcomes,
1/(1 + Γ) of them, and 1/Γ on the others. Exact for each decision alone; for all decisions of x at once exact if there are two.

Axes: C cells, O states of the outcome, B parts of its law, X inputs, V decisions; Γ is a number or is broadcast against what precedes the cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.core.doubt.box import Box
from fairarm.core.types import FloatArray, IntArray

PRIOR_ROWS = 1.0
"""Rows that the prior of P(v | x) counts, spread evenly over the decisions."""

QUANTILE = 0.9
"""Of the odds ratios over rows: how strong a recorded column is, as if it were hidden."""


def others_two_valued(theta: FloatArray, gamma: FloatArray | float) -> Box:
    """m of an outcome that is 0 or 1, with mean θ (..., C): it holds for any outcome in [0, 1], and is then wider than it need be."""
    theta, gamma = np.broadcast_arrays(theta, gamma)
    low = np.maximum(theta / gamma, 1.0 - gamma * (1.0 - theta))
    high = np.minimum(gamma * theta, 1.0 - (1.0 - theta) / gamma)
    return Box(low, high)  # (D5)


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of a law in rising order of their values: the mean, the least and the largest value in each, (C or 1, B) each."""

    mean: FloatArray
    least: FloatArray
    most: FloatArray

    @classmethod
    def of_values(cls, values: FloatArray) -> Parts:
        """Of sorted values (B,), each of them a part."""
        return cls(values[None], values[None], values[None])

    def with_first(self, value: float) -> Parts:
        """With one part more, before the others."""
        return Parts(*(np.concatenate([np.full((len(x), 1), value), x], axis=1) for x in vars(self).values()))

    def turned(self) -> Parts:
        """Of 1 − Y'."""
        return Parts(*(1.0 - part[:, ::-1] for part in (self.mean, self.most, self.least)))


def others_of_parts(law: FloatArray, parts: Parts, gamma: FloatArray | float) -> Box:
    """m from the law of sorted parts, (..., C, B): exact where each is one value, else never too narrow."""
    # the largest m is 1 less the least of the mirror image
    low, high = least_of_others(law, parts, gamma), least_of_others(law[..., ::-1], parts.turned(), gamma)
    return Box(low, 1.0 - high)


def least_of_others(law: FloatArray, parts: Parts, gamma: FloatArray | float) -> FloatArray:
    """The lower end alone, (..., C)."""
    strength = np.asarray(gamma, dtype=np.float64)
    theta = (law * parts.mean).sum(axis=-1)
    lowest = _lowest(law, parts, 1.0 / (1.0 + strength))
    return np.asarray(theta / strength + (strength - 1.0 / strength) * lowest)  # (D6)


def _lowest(law: FloatArray, parts: Parts, share: FloatArray) -> FloatArray:
    """The part of the mean that the lowest ``share`` of the outcomes makes, (..., C), or less where parts hold several values.

    What is taken of a part is at least its least value each; and what is left of it is at most its largest value each.
    """
    before = np.cumsum(law, axis=-1) - law
    taken = np.clip(share[..., None] - before, 0.0, law)
    least = np.maximum(taken * parts.least, law * parts.mean - (law - taken) * parts.most)  # (D7)
    return np.asarray(least.sum(axis=-1))


def hidden_box(chance: FloatArray, logged: Box, others: Box) -> Box:
    """E[Y(v) | x], (..., C), from P(v | x), the means of logged outcomes of v, and m: intervals of both."""
    return Box(
        chance * logged.low + (1.0 - chance) * others.low, chance * logged.high + (1.0 - chance) * others.high
    )  # (D4)


def draw_chances(rows: IntArray, draws: int, rng: np.random.Generator) -> FloatArray:
    """P(v | x) ~ Dirichlet(n_xv + 1/V), (D, X, V), from rows (X, V)."""
    gamma = rng.standard_gamma(rows + PRIOR_ROWS / rows.shape[1], (draws, *rows.shape))
    return np.asarray(gamma / np.maximum(gamma.sum(axis=-1, keepdims=True), np.finfo(np.float64).tiny))


def strength_of_column(rows: IntArray, without: IntArray) -> float:
    """The Γ that a recorded column would have had if it were hidden: the 0.9 quantile over rows of the odds ratio of the decision
    with the column and without it, whichever way is above 1.

    ``rows`` (X, V) by inputs and decision, ``without`` (X,) the number of the inputs that are left when the column is not known.
    """
    merged = np.zeros((int(without.max()) + 1, rows.shape[1]))
    np.add.at(merged, without, rows)
    ratio = np.abs(np.log(_odds(rows)) - np.log(_odds(merged))[without])
    at = np.nonzero(rows)
    return float(np.exp(_quantile(ratio[at], rows[at].astype(np.float64))))


def _odds(rows: IntArray | FloatArray) -> FloatArray:
    """Of each decision at each x, ½ added to both counts."""
    return np.asarray((rows + 0.5) / (rows.sum(axis=1, keepdims=True) - rows + 0.5))  # (D8)


def _quantile(values: FloatArray, weights: FloatArray) -> float:
    """The least value that `QUANTILE` of the weight is at or below."""
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, QUANTILE * reached[-1] * (1.0 - 1e-12))])
