"""A cross-fitted regression of outcomes on the columns of a row: main effects and pairs, shrunk together by ridge.

    m(x, v) = b0 + Σ_j f_j(x_j) + f(v) + Σ_j f_j(x_j, v) + Σ_{i<j} f_ij(x_i, x_j)

Real columns enter by cubic B-splines with knots at quantiles and a Matérn prior on the coefficients; finite ones by
their states and, where there are many, also by their order. The penalty is the one that predicts left-out folds best.
All sums run over rows with their counts, so a line that stands for many rows and the rows themselves are the same data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.core.types import FloatArray, IntArray

Columns = Mapping[str, NDArray[Any]]

FOLDS = 5
PENALTIES = 10.0 ** np.arange(-1.5, 3.1, 0.5)
MAX_FEATURES, MIN_FEATURES = 160, 24
MANY_STATES, MOST_STATES = 8, (48, 24, 12, 8)
"""Above the first, a finite column's order is used too; above the second (the first that fits), only its order."""
LEADING = 6
"""Features of a column that take part in pairs, for columns with more of them."""
PAIR_SCALE = 0.7
"""Prior sd of a pair's coefficients relative to those of a main effect."""
LENGTH_SCALE = 0.35
"""Of the Matérn prior, as a share of the knots."""
BLOCK = 1 << 15
"""Rows whose features are held at once."""
VARIANCE_ROWS, VARIANCE_PRIOR = 2.0, 1.0 / 12.0
"""The residual variance is pooled with so many rows of the variance of a uniform outcome."""
LEAST_SHARE = 0.1
"""A residual variance is at least this share of the pooled one."""


@dataclass(frozen=True)
class _Smooth:
    """A cubic spline basis turned to the principal directions of its prior, widest first; constant beyond the knots."""

    knots: FloatArray
    turn: FloatArray

    @classmethod
    def of(cls, values: FloatArray, count: IntArray, intervals: int) -> _Smooth | None:
        low, high = float(values.min()), float(values.max())
        if not low < high:
            return None
        # quantiles of rows, not of lines: a line may stand for many
        order = np.argsort(values, kind="stable")
        reached = np.cumsum(count[order])
        at = np.searchsorted(reached, np.arange(1, intervals) / intervals * reached[-1])
        inner = np.unique(values[order][at])
        inner = inner[(inner > low) & (inner < high)]
        knots = np.concatenate([np.full(4, low), inner, np.full(4, high)])
        size = len(knots) - 4
        # Matérn 3/2 over the coefficients' positions, turned to its principal directions: one ridge penalty for all of them is
        # then the prior, and the wide, smooth directions come first, which are the ones that pairs use
        apart = np.sqrt(3.0) * np.abs(np.subtract.outer(np.arange(size), np.arange(size))) / (size - 1) / LENGTH_SCALE
        scale, directions = np.linalg.eigh((1.0 + apart) * np.exp(-apart))
        return cls(knots, (directions * np.sqrt(np.maximum(scale, 0.0)))[:, ::-1])

    def apply(self, values: FloatArray) -> FloatArray:
        from scipy.interpolate import BSpline

        # constant beyond the knots: a cubic would run off where an arm goes and no row has been
        inside = np.clip(values, self.knots[0], self.knots[-1])
        return np.asarray(BSpline.design_matrix(inside, self.knots, 3) @ self.turn)


@dataclass(frozen=True)
class _Curve:
    """A column's standardised value and its square, constant beyond what was seen: quick, where rows are many."""

    low: float
    high: float
    centre: float
    scale: float
    turn: FloatArray = field(default_factory=lambda: np.eye(2))

    @classmethod
    def of(cls, values: FloatArray, count: IntArray) -> _Curve | None:
        low, high = float(values.min()), float(values.max())
        centre = float(np.average(values, weights=count))
        scale = float(np.sqrt(np.average((values - centre) ** 2, weights=count)))
        return cls(low, high, centre, scale) if low < high else None

    def apply(self, values: FloatArray) -> FloatArray:
        made = np.empty((2, len(values)))
        z = np.clip(values, self.low, self.high, out=made[0])
        z -= self.centre
        z /= self.scale
        np.multiply(z, 0.5 * z, out=made[1])
        return made.T


@dataclass(frozen=True)
class _Feature:
    """The features of one column: its states (as indicators), a smooth function of it, or both."""

    states: int
    smooth: _Smooth | _Curve | None

    @classmethod
    def of(cls, values: NDArray[Any], states: int | None, count: IntArray, most: int, quick: bool = False) -> _Feature:
        by_state = 0 if states is None or states > most or states < 2 else states
        smooth: _Smooth | _Curve | None = None
        if quick and (states is None or states > MANY_STATES):
            smooth = _Curve.of(np.asarray(values, dtype=np.float64), count)
        elif states is None or states > MANY_STATES:
            intervals = int(np.clip(np.sqrt(count.sum()) / 2, 2, 9))
            smooth = _Smooth.of(np.asarray(values, dtype=np.float64), count, intervals)
        return cls(by_state, smooth)

    @property
    def size(self) -> int:
        return self.states + (0 if self.smooth is None else self.smooth.turn.shape[1])

    @property
    def leading(self) -> slice:
        """The features used in pairs: the states of a small column, the widest directions of a smooth one."""
        if self.smooth is None:
            return slice(0, self.states)
        return slice(self.states, self.states + LEADING)

    @property
    def lead_size(self) -> int:
        return len(range(*self.leading.indices(self.size)))

    def add_to(self, made: FloatArray, values: NDArray[Any], weights: FloatArray) -> None:
        """Add Σ weights · features, row by row, to ``made`` (outputs, n); ``weights`` (outputs, size)."""
        if self.states:
            codes = np.asarray(values, dtype=np.int64)
            for out, weight in zip(made, weights, strict=True):
                out += weight[: self.states][codes]
        if self.smooth is None:
            return
        smooth = self.smooth.apply(np.asarray(values, dtype=np.float64)).T
        term = np.empty(len(values))
        for out, weight in zip(made, weights[:, self.states :].tolist(), strict=True):
            for each, feature in zip(weight, smooth, strict=True):
                out += np.multiply(feature, each, out=term)

    def apply(self, values: NDArray[Any]) -> FloatArray:
        parts = []
        if self.states:
            parts.append(np.eye(self.states)[np.asarray(values, dtype=np.int64)])
        if self.smooth is not None:
            parts.append(self.smooth.apply(np.asarray(values, dtype=np.float64)))
        return np.concatenate(parts, axis=1) if parts else np.zeros((len(values), 0))


def _products(left: FloatArray, right: FloatArray) -> FloatArray:
    """Every product of a feature of one with a feature of the other, (n, a·b)."""
    return np.asarray((PAIR_SCALE * left[:, :, None] * right[:, None, :]).reshape(len(left), -1))


@dataclass(frozen=True)
class Basis:
    """The features of rows: a *head* that does not look at the decision, the decision's own, and their products."""

    decision: str
    features: Mapping[str, _Feature]
    with_decision: tuple[str, ...]
    """Columns whose pairs with the decision are used, and ``pairs`` of others: as many as the size allows."""
    pairs: tuple[tuple[str, str], ...]

    @classmethod
    def of(
        cls, columns: Columns, states: Mapping[str, int | None], decision: str, count: IntArray, quick: bool = False
    ) -> Basis:
        """``states``: how many each column has, None for a real one; ``count`` (n,): rows a line stands for; ``quick``:
        curves instead of splines, and no pairs but those with the decision."""
        for most in MOST_STATES:
            features = {name: _Feature.of(columns[name], size, count, most, quick) for name, size in states.items()}
            if sum(f.size for f in features.values()) <= MAX_FEATURES:
                break
        others = sorted((name for name in states if name != decision), key=lambda name: features[name].lead_size)
        # pairs with the decision first: arms differ by what they do with it; small columns first, as they leave room for more
        room = int(np.clip(count.sum() / 2, MIN_FEATURES, MAX_FEATURES)) - sum(f.size for f in features.values())
        chosen: list[tuple[str, str]] = []
        rest = [] if quick else [(a, b) for i, a in enumerate(others) for b in others[i + 1 :]]
        for a, b in [*((decision, name) for name in others), *rest]:
            size = features[a].lead_size * features[b].lead_size
            if 0 < size <= room:
                room -= size
                chosen.append((a, b))
        with_decision = tuple(b for a, b in chosen if a == decision)
        return cls(decision, features, with_decision, tuple(pair for pair in chosen if pair[0] != decision))

    @property
    def pair_size(self) -> int:
        """Features that are products of two columns that are not the decision."""
        return sum(self.features[a].lead_size * self.features[b].lead_size for a, b in self.pairs)

    def head(self, columns: Columns) -> tuple[FloatArray, FloatArray]:
        """The features that do not look at the decision, (n, h), the constant first; those multiplied by it, (n, u)."""
        length = len(next(iter(columns.values()))) if columns else 1
        made = {name: f.apply(columns[name]) for name, f in self.features.items() if name != self.decision}
        lead = {name: values[:, self.features[name].leading] for name, values in made.items()}
        pairs = [_products(lead[a], lead[b]) for a, b in self.pairs]
        none = np.zeros((length, 0))
        return (
            np.concatenate([np.ones((length, 1)), *made.values(), *pairs], axis=1),
            np.concatenate([none, *(lead[name] for name in self.with_decision)], axis=1),
        )

    def tail(self, values: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
        """The decision's features, (n, b), and those that take part in products, (n, l)."""
        own = self.features[self.decision]
        made = own.apply(values)
        return made, made[:, own.leading]

    def rows(self, columns: Columns) -> FloatArray:
        """All features of rows, (n, p)."""
        head, multiplied = self.head({name: columns[name] for name in self.features if name != self.decision})
        tail, lead = self.tail(columns[self.decision])
        head = np.broadcast_to(head, (len(tail), head.shape[1]))
        multiplied = np.broadcast_to(multiplied, (len(tail), multiplied.shape[1]))
        return np.concatenate([head, tail, _products(lead, multiplied)], axis=1)


@dataclass(frozen=True)
class Regression:
    """m fitted without each fold in turn, (F, p), and the residual variance, (p,), both linear in the features, of outcomes as shares of
    the way from the lowest to the highest."""

    basis: Basis
    coefficients: FloatArray
    variance_coefficients: FloatArray
    pooled_variance: float
    penalty: float
    low: float
    width: float
    """Of outcomes: predictions lie between ``low`` and ``low + width``."""

    def predict(self, columns: Columns) -> FloatArray:
        """m of rows by each fold's fit: (F, n)."""
        parts = [self.basis.rows(part) @ self.coefficients.T for part in _blocks(columns)]
        return self._outcomes(np.concatenate(parts).T)

    def _outcomes(self, made: FloatArray) -> FloatArray:
        """Shares of the way as outcomes, cut to what was seen or declared; in place."""
        np.clip(made, 0.0, 1.0, out=made)
        made *= self.width
        made += self.low
        return made

    def variance(self, columns: Columns) -> FloatArray:
        """E[(Y − m)² | row], (n,)."""
        parts = [self.basis.rows(part) @ self.variance_coefficients for part in _blocks(columns)]
        return self._bounded(np.concatenate(parts))

    def predict_surface(self, columns: Columns, nodes: NDArray[Any], shares: FloatArray) -> FloatArray:
        """Σ_f shares_f m_f at every row × every value of the decision, (n, nodes); ``shares`` (n or 1, F)."""
        parts = self._parts(columns, nodes)
        out = np.zeros(1)
        for f, coefficients in enumerate(self.coefficients):
            # each fit is cut before they are mixed: one wild fold must not pull the others along
            out = out + shares[:, f, None] * self._outcomes(_surface(*parts, coefficients))
        return out

    def predict_states(self, columns: Columns, states: int, shares: FloatArray) -> FloatArray:
        """The same at every state of the decision, (states, n), column after column: a row's numbers do not depend on the rows
        beside it, as those of a matrix product may. Rows of one fold are asked of that fold alone."""
        out = np.zeros((states, len(next(iter(columns.values())))))
        for f in range(len(self.coefficients)):
            at = np.flatnonzero(shares[:, f]) if len(shares) > 1 else np.arange(out.shape[1])
            if len(at):
                every = len(at) == out.shape[1]
                part = columns if every else {name: values[at] for name, values in columns.items()}
                made = self.predict_fold(part, states, f)
                made *= shares[:, f] if every else shares[at, f]
                out[:, slice(None) if every else at] += made
        return out

    def predict_fold(self, columns: Columns, states: int, fold: int) -> FloatArray:
        """The same of one fold's fit alone."""
        length = len(next(iter(columns.values())))
        made = self._by_column(columns, length, self.coefficients[fold], *self.basis.tail(np.arange(states)))
        return self._outcomes(made)

    def _by_column(
        self, columns: Columns, length: int, beta: FloatArray, tail: FloatArray, lead: FloatArray
    ) -> FloatArray:
        """One fit at every state, (states, n). A finite column is looked up, a real one is a curve of it."""
        basis = self.basis
        h = 1 + sum(f.size for name, f in basis.features.items() if name != basis.decision) + basis.pair_size
        main = beta[h : h + tail.shape[1]]
        made = np.repeat((beta[0] + tail @ main)[:, None], length, axis=1)
        products = PAIR_SCALE * lead @ beta[h + tail.shape[1] :].reshape(lead.shape[1], -1)
        start, by_name = 1, {}
        for name, feature in basis.features.items():
            if name == basis.decision:
                continue
            weights = np.repeat(beta[None, start : start + feature.size], len(tail), axis=0)
            start += feature.size
            by_name[name] = weights
        place = 0
        for name in basis.with_decision:
            feature = basis.features[name]
            by_name[name][:, feature.leading] += products[:, place : place + feature.lead_size]
            place += feature.lead_size
        for name, weights in by_name.items():
            basis.features[name].add_to(made, np.asarray(columns[name]), weights)
        self._add_pairs(made, columns, beta[start:h])
        return made

    def _add_pairs(self, made: FloatArray, columns: Columns, beta: FloatArray) -> None:
        """Products of two columns that are not the decision; there are none where features are few."""
        for a, b in self.basis.pairs:
            left, right = (self.basis.features[name] for name in (a, b))
            both = _products(left.apply(columns[a])[:, left.leading], right.apply(columns[b])[:, right.leading])
            for weight, values in zip(beta[: both.shape[1]].tolist(), both.T, strict=True):
                made += weight * values
            beta = beta[both.shape[1] :]

    def variance_surface(self, columns: Columns, nodes: NDArray[Any]) -> FloatArray:
        """E[(Y − m)²] at every row × every value of the decision, (n, nodes)."""
        return self._bounded(_surface(*self._parts(columns, nodes), self.variance_coefficients))

    def _parts(self, columns: Columns, nodes: NDArray[Any]) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        return (*self.basis.head(columns), *self.basis.tail(nodes))

    def _bounded(self, variance: FloatArray) -> FloatArray:
        return np.clip(variance * self.width**2, LEAST_SHARE * self.pooled_variance, self.width**2)


def _surface(
    head: FloatArray, multiplied: FloatArray, tail: FloatArray, lead: FloatArray, beta: FloatArray
) -> FloatArray:
    """head·β_h + (tail·β_t)ᵀ + PAIR_SCALE · multiplied·Γᵀ·leadᵀ: (n, nodes)."""
    h, b = head.shape[1], tail.shape[1]
    # the products' part as a bilinear form: (n, nodes) from (n, u) and (nodes, l), never (n · nodes, u · l)
    products = beta[h + b :].reshape(lead.shape[1], multiplied.shape[1])
    return np.asarray(
        (head @ beta[:h])[:, None] + tail @ beta[h : h + b] + PAIR_SCALE * (multiplied @ products.T) @ lead.T
    )


def cross_fit(
    columns: Columns,
    states: Mapping[str, int | None],
    decision: str,
    outcome: FloatArray,
    folds: IntArray,
    quick: bool = False,
    real: bool = False,
) -> Regression:
    """Fit on n lines; ``folds`` (n, F) says how many rows of each line lie in each fold, ``outcome`` (n,) in [0, 1]. ``real``: the
    outcome has no states, and predictions lie between the smallest and the largest that came.

    Residuals of the rows in fold f come from the fit that never saw them; only the penalty is chosen by all of them.
    ``quick``: fewer features, for streams of rows that cost little otherwise.
    """
    low, high = (float(outcome.min()), float(outcome.max())) if real and np.ptp(outcome) > 0 else (0.0, 1.0)
    outcome = (outcome - low) / (high - low)
    basis = Basis.of(columns, states, decision, folds.sum(axis=1), quick)
    features = _Features(basis, columns)
    gram, moment = _moments(features, outcome[:, None] * folds, folds)
    square = (outcome[:, None] ** 2 * folds).sum(axis=0)
    prior = np.zeros(gram.shape[1])
    prior[0] = 1.0  # one row with outcome ½, so that no rows at all are no special case
    coefficients, penalty = _ridge(gram, moment, square, prior, 0.5)
    # squared residuals of rows that the fit had not seen, regressed in turn: the noise by where in the columns one is
    predicted = np.clip(np.concatenate([made @ coefficients.T for made in features]), 0.0, 1.0)
    residual = (outcome[:, None] - predicted) ** 2
    total, rows = float((folds * residual).sum()), int(folds.sum())
    pooled = (total + VARIANCE_ROWS * VARIANCE_PRIOR) / (rows + VARIANCE_ROWS)
    _, moment = _moments(features, folds * residual, folds, gram_too=False)
    by_fold, _ = _ridge(gram, moment, (residual**2 * folds).sum(axis=0), prior * VARIANCE_ROWS, pooled)
    width = high - low
    return Regression(basis, coefficients, by_fold.mean(axis=0), pooled * width**2, penalty, low, width)


@dataclass(frozen=True)
class _Features:
    """The features of rows, block after block; those of a single block are made once."""

    basis: Basis
    columns: Columns

    @cached_property
    def size(self) -> int:
        return int(self.basis.rows({name: values[:1] for name, values in self.columns.items()}).shape[1])

    @cached_property
    def _only(self) -> FloatArray:
        return self.basis.rows(self.columns)

    def __iter__(self) -> Iterator[FloatArray]:
        if len(next(iter(self.columns.values()))) <= BLOCK:
            return iter((self._only,))
        return (self.basis.rows(part) for part in _blocks(self.columns))


def _moments(
    features: _Features, target: FloatArray, folds: IntArray, gram_too: bool = True
) -> tuple[FloatArray, FloatArray]:
    """Σ φφᵀ and Σ φ·target of the rows of each fold: (F, p, p), (F, p)."""
    size = features.size
    gram, moment = np.zeros((folds.shape[1], size, size)), np.zeros((folds.shape[1], size))
    start = 0
    for made in features:
        here = slice(start, start + len(made))
        start += len(made)
        moment += target[here].T @ made
        for f in range(folds.shape[1] if gram_too else 0):
            lines = np.flatnonzero(folds[here, f])
            gram[f] += (made[lines] * folds[here, f][lines, None]).T @ made[lines]
    return gram, moment


def _ridge(
    gram: FloatArray, moment: FloatArray, square: FloatArray, prior: FloatArray, centre: float
) -> tuple[FloatArray, float]:
    """Fits without each fold, (F, p), at the penalty with the least squared error on the folds left out."""
    # leaving a fold out is subtracting its sums: rows are read once for all folds and penalties
    without = gram.sum(axis=0) - gram + np.diag(prior)
    right = moment.sum(axis=0) - moment + prior * centre
    penalised = np.ones(len(prior))
    penalised[0] = 1e-9  # the constant is not shrunk, but for its one prior row
    best, found, chosen = np.inf, np.zeros_like(moment), 0.0
    for penalty in PENALTIES[::-1]:  # the strongest first, so that of equals the smoothest is kept
        beta = np.linalg.solve(without + penalty * np.diag(penalised), right[:, :, None])[:, :, 0]
        # Σ (y − φβ)² of the left-out rows, from their sums
        error = (square - 2.0 * (beta * moment).sum(axis=1) + np.einsum("fp,fpq,fq->f", beta, gram, beta)).sum()
        if error < best:
            best, found, chosen = float(error), beta, float(penalty)
    return found, chosen


def _blocks(columns: Columns) -> Iterator[dict[str, NDArray[Any]]]:
    length = len(next(iter(columns.values())))
    for start in range(0, max(length, 1), BLOCK):
        yield {name: values[start : start + BLOCK] for name, values in columns.items()}
