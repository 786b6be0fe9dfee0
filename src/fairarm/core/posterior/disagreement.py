"""Does a model agree with the rows that it was made from? Its value of every arm against the arm's weighted rows.

Whatever the model, rows weighted to an arm have the arm's mean outcome. Where a model's value lies further from them than
chance explains, the model is wrong, and what it says of its own error with it.

Axes: N replicates, K arms, G groups, C cells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fairarm.core.fairness import Rows
from fairarm.core.types import BoolArray, FloatArray, IntArray

ERRORS = 4.0
"""A difference of more than so many standard errors of the weighted rows is no chance."""


WIDTH = math.sqrt(12.0)
"""Of a uniform law, in units of its sd: how far one outcome may be off."""

LEAST_APART = 0.25
"""The variance of the difference is at least this share of that of the weighted rows: less is no harm."""


GAP = Rows.gap(np.inf)
"""What is looked at beside the outcome where no rows of fairness are given: the gap of two groups."""


@dataclass(frozen=True)
class Disagreement:
    """By how much weighted rows differ from the model, and the standard error of that: (1 + J, N, K), outcomes, then each row
    of fairness."""

    difference: FloatArray
    error: FloatArray

    @property
    def size(self) -> FloatArray:
        """In standard errors, (1 + J, N, K)."""
        return np.abs(self.difference) / np.where(self.error > 0, self.error, np.inf)

    @property
    def arms(self) -> BoolArray:
        """Arms of which the model has the outcome or a row wrong, (N, K)."""
        return np.asarray((self.size > ERRORS).any(axis=0))


def of_cells(
    laws: FloatArray,
    mixture: FloatArray,
    shares: FloatArray,
    seen: tuple[IntArray, FloatArray, FloatArray],
    mean: FloatArray,
    noise: FloatArray,
    strength: FloatArray,
    unseen_sd: float,
    asked: Rows = GAP,
) -> Disagreement:
    """Rows counted by cell, with Σ Y and Σ (Y − Ȳ)² (``seen``, (N, C) each), against a model of each cell, (N, C): its ``mean``,
    its ``noise``, and how many rows the prior is worth. ``unseen_sd``: of a mean that no row speaks for.

    ``laws`` p_{k,t}(c), (N or 1, K, G, C); ``mixture`` q(c) of all rows, (N, C); ``shares`` P(S), (N or 1, G); ``asked``: the
    rows of fairness.
    """
    natural = np.einsum("nktc,nt->nkc", np.broadcast_to(laws, (max(len(laws), len(shares)), *laws.shape[1:])), shares)
    return of_laws(natural, asked.coefficients(laws, natural), mixture, seen, mean, noise, strength, unseen_sd)


def of_laws(
    natural: FloatArray,
    coefficients: FloatArray,
    mixture: FloatArray,
    seen: tuple[IntArray, FloatArray, FloatArray],
    mean: FloatArray,
    noise: FloatArray,
    strength: FloatArray,
    unseen_sd: float,
) -> Disagreement:
    """The same for any linear functions of the cells' means: ``natural`` w_k(c), (N or 1, K, C), whose product with them is the
    outcome, and the ``coefficients`` of the rows of fairness, (N or 1, K, J, C)."""
    rows, sums, within = seen
    total = np.maximum(rows.sum(axis=1), 1)[:, None]
    residual = sums - rows * mean
    # by what came, or by what the model expects of it, whichever is more: rare outcomes that did not come show no variance
    came, expected = np.maximum(within + residual**2 / np.maximum(rows, 1), 0.0), rows * noise
    # the model has seen the same rows: if it is right it differs from them by what the prior holds back, no more
    apart = np.maximum(strength / (strength + rows), LEAST_APART)
    came, expected = apart * came, apart * expected
    inverse = np.divide(1.0, mixture, out=np.zeros_like(mixture), where=(mixture > 0) & (rows > 0))[:, None]
    found = []
    for law in (natural, *np.moveaxis(coefficients, 2, 0)):
        weight = law * inverse
        square = weight**2
        # (R1)
        difference = np.einsum("nkc,nc->nk", weight, residual) / total
        spread = np.maximum(*(np.einsum("nkc,nc->nk", square, part) for part in (came, expected)))
        jump = WIDTH * unseen_sd * np.abs(weight).max(axis=2, initial=0.0)
        found.append((difference, np.maximum(np.sqrt(spread), jump) / total))
    difference, error = (np.stack(part) for part in zip(*found, strict=True))
    return Disagreement(difference, error)


@dataclass(frozen=True)
class WeightedSums:
    """Rows weighted to every arm and group, each group's weights over its own number of rows, so that they sum to 1.

    Σ w and Σ wY, (2, K, G); Σ w_t w_u times 1, Y and Y², (3, K, G, G); the largest w, (K, G).
    """

    first: FloatArray
    second: FloatArray
    largest: FloatArray


def of_rows(
    seen: WeightedSums,
    noise: float,
    means: FloatArray,
    shares: FloatArray,
    unseen: FloatArray,
    unseen_sd: float,
    asked: Rows = GAP,
) -> Disagreement:
    """Weighted rows against a model's ``means`` of every arm and group, (K, G), for one replicate.

    ``noise``: the variance of an outcome around its prediction; ``shares`` P(S), (G,); ``unseen``: the share of each arm's
    mass that no row speaks for, (K, G), where the two may differ by anything.
    """
    weight, product = seen.first
    shift = product - means * weight
    both = means[:, :, None] + means[:, None, :]
    square = seen.second[2] - both * seen.second[1] + means[:, :, None] * means[:, None, :] * seen.second[0]
    found, width = [], WIDTH * unseen_sd
    for a in (shares, *asked.weights(shares)):
        off = np.maximum(np.abs(shift @ a) - width * unseen @ np.abs(a), 0.0)
        came, expected = (np.einsum("ktu,t,u->k", part, a, a) for part in (square, noise * seen.second[0]))
        spread = np.sqrt(np.maximum(np.maximum(came, expected), 0.0))
        found.append((np.sign(shift @ a) * off, np.maximum(spread, width * (seen.largest * np.abs(a)).max(axis=1))))
    difference, error = (np.stack(part)[:, None] for part in zip(*found, strict=True))
    return Disagreement(difference, error)
