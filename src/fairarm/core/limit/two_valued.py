"""The hardest alternatives for outcomes of two states, 0 and 1: moves of the cell means within [0, 1].

For given rates q_c of the cells, each alternative is a convex problem with at most three linear rows:

    min Σ_c q_c kl(θ_c, x_c)    over x in [0, 1]^C  with  a_i·(x − θ) ≥ g_i

    ≥  λ·g − Σ_c max_x { (λ·a)_c (x − θ_c) − q_c kl(θ_c, x) }    for every λ ≥ 0

Each term of the second line has its maximum in closed form, so the search is over two multipliers. What is returned is
proved whatever the search does: the value by the λ that it ends with, the move by moving it until it meets every row.
"""

from __future__ import annotations

import numpy as np

from fairarm.core.proof.region import tilted
from fairarm.core.types import BoolArray, FloatArray, IntArray

_FLOOR = (1e-2, 1e-4, 1e-6, 1e-8, 1e-10)
"""The search takes q θ and q (1 − θ) for at least this (the last, once a solution is near), so that it has no kinks."""
_STEPS = 60
_PRECISE = 1e-14
"""The search ends where a step would gain less than this part of the value."""
_ROOM = 1e-9
"""An alternative is possible if some x in [0, 1] meets its rows with this much to spare, in units of their largest
coefficient. With less to spare the solver that looks for x may err either way."""
_SMALL = 1e-3


class BinaryMoves:
    """N pairs of rows, ``a`` (N, 2, C), ``g`` (N, 2), the pairs of an alternative in a block that starts at ``first`` (A,).

    An alternative has one pair, or two that differ in the second row (the two sides of a band, which cannot both bind:
    the pair with the larger value is the answer for both). ``seen`` (C,): cells with q > 0; the others move at no cost.
    """

    def __init__(self, a: FloatArray, g: FloatArray, first: IntArray, theta: FloatArray, seen: BoolArray) -> None:
        # rows in units of their largest coefficient, so that one precision serves all of them
        size = np.abs(a).max(axis=2)
        size = np.where(size > 0, size, 1.0)
        self.a, self.first, self.theta = a / size[:, :, None], first, theta
        reach = np.abs(self.a).sum(axis=2) + 1
        with np.errstate(over="ignore"):
            self.g = np.clip(g / size, -reach, reach)  # beyond, a row always holds or never
        self.products = np.stack([self.a[:, i] * self.a[:, j] for i, j in ((0, 0), (0, 1), (1, 1))])
        self.count = np.diff(np.append(first, len(a)))
        last = first + self.count - 1
        self.all_a = np.concatenate([self.a[first], self.a[last, 1:]], axis=1)  # (A, 3, C)
        self.all_g = np.concatenate([self.g[first], self.g[last, 1:]], axis=1)
        self.free = np.all(
            self.all_g <= 0, axis=1
        )  # the truth itself meets the rows: it is on the edge, at a value of 0
        self.inner = np.zeros((len(first), len(theta)))
        """(A, C): moves that meet all rows with room to spare; NaN where there are none."""
        for i in np.flatnonzero(~self.free):
            if not seen.all():
                self.free[i] = _roomiest(self.all_a[i], self.all_g[i], theta, ~seen)[1] >= -1e-12
            move, room = _roomiest(self.all_a[i], self.all_g[i], theta, np.ones(len(theta), dtype=bool))
            self.inner[i] = move if room > _ROOM else np.nan
        self.possible = ~np.isnan(self.inner[:, 0]) | self.free
        self.multipliers = np.zeros_like(self.g)
        self.searched = False

    def evaluate(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """For each alternative a lower bound of its value (A,), and kl(θ_c, x_c) of a move that meets its rows (A, C)."""
        values, rates = np.where(self.possible, 0.0, np.inf), np.zeros((len(self.first), len(q)))
        open_ = np.flatnonzero(self.possible & ~self.free)
        if not len(open_):
            return values, rates
        pairs = np.repeat(self.possible & ~self.free, self.count)
        # from smooth to sharp: where θ is 0 or 1 the dual has kinks, on which Newton's method stalls unless it is led there
        floors = _FLOOR[-1:] if self.searched else _FLOOR
        self.searched = True
        for floor in floors:
            self.multipliers[pairs] = self._search(pairs, q, floor)
        bound = np.full(len(self.a), -np.inf)
        bound[pairs] = self._proved(pairs, q)
        values[open_] = np.maximum(np.maximum.reduceat(bound, self.first), 0.0)[open_]
        # of the two sides of a band the one with the larger value is the answer; its multipliers make the move
        pair = (self.first + ((self.count == 2) & (bound[self.first] < values)))[open_]
        rates[open_] = self._move(open_, pair, q)
        return values, rates

    def _search(self, pairs: BoolArray, q: FloatArray, floor: float) -> FloatArray:
        """Newton's method for the best multipliers (n, 2) of some pairs; none is left below 0."""
        found = self.multipliers[pairs]
        a, g, products = self.a[pairs], self.g[pairs], self.products[:, pairs]
        cells = _Cells(self.theta, q, floor)
        lam, where = found.copy(), np.arange(len(found))
        x, rest, move, value = cells.at(lam, a, g)
        for _ in range(_STEPS):
            # the dual's gradient is what the rows still lack; its Hessian is −Σ a aᵀ / (q kl''), 2 × 2 for each pair
            gradient = g - np.einsum("nic,nc->ni", a, move)
            step = _newton(np.einsum("hnc,nc->hn", products, cells.spread(x, rest)), gradient, lam)
            gain = np.einsum("ni,ni->n", step, gradient)
            found[where] = lam
            going = gain > _PRECISE * np.abs(value)
            if not going.any():
                break
            lam, where, a, g, products = lam[going], where[going], a[going], g[going], products[:, going]
            step, gain, before = step[going], gain[going], value[going]
            with np.errstate(divide="ignore", invalid="ignore"):
                size = np.minimum(np.where(step < 0, -lam / step, np.inf).min(axis=1), 1.0)
            x, rest, move, value = (part[going] for part in (x, rest, move, value))
            start, short = lam, np.arange(len(lam))
            lam = lam.copy()
            for _ in range(_STEPS):
                trial = start[short] + size[short, None] * step[short]
                trial = np.where(trial <= 1e-13 * start[short], 0.0, trial)
                lam[short] = trial
                x[short], rest[short], move[short], value[short] = cells.at(trial, a[short], g[short])
                short = short[value[short] < (before + 1e-4 * size * gain - 1e-12 * np.abs(before))[short]]
                if not len(short):
                    break
                size[short] /= 2
        found[where] = lam
        return found

    def _proved(self, pairs: BoolArray, q: FloatArray) -> FloatArray:
        """The bound that the multipliers prove, cells that are not seen and θ = 0 or 1 as they are."""
        cells = _Cells(self.theta, q, 0.0)
        return cells.at(self.multipliers[pairs], self.a[pairs], self.g[pairs])[3]

    def _move(self, alternatives: IntArray, pair: IntArray, q: FloatArray) -> FloatArray:
        """kl(θ_c, x_c) (n, C) of the moves at the multipliers, changed until they meet all rows of the alternatives.

        One more Newton step, on the move itself, meets the rows that bind at hardly any cost: it moves the cells that give
        way most easily, at the smoothed rates, so also a cell that jumps at these multipliers (θ = 0 or 1, or q = 0). What
        that leaves is met by shifting the move toward the inner one.
        """
        lam, own, own_g = self.multipliers[pair], self.a[pair], self.g[pair]
        x, rest, move, _ = _Cells(self.theta, q, 0.0).at(lam, own, own_g)
        smoothed = _Cells(self.theta, q, _FLOOR[-1])
        spread = smoothed.spread(*smoothed.at(lam, own, own_g)[:2])
        H = np.einsum("hnc,nc->hn", self.products[:, pair], spread)
        step = _newton(H, own_g - np.einsum("nic,nc->ni", own, move), lam)
        change = np.clip(spread * np.einsum("ni,nic->nc", step, own), -0.99 * x, 0.99 * rest)
        x, rest, move = x + change, rest - change, move + change
        a, g, inner = self.all_a[alternatives], self.all_g[alternatives], self.inner[alternatives]
        # the least part of the way to the inner move that meets every row, band included
        lacking = np.maximum(g - np.einsum("nic,nc->ni", a, move), 0.0)
        spare = np.einsum("nic,nc->ni", a, inner) - g
        part = np.max(lacking / np.where(lacking > 0, lacking + spare, 1.0), axis=1)[:, None]
        x, rest = x + part * (self.theta + inner - x), rest + part * (1 - self.theta - inner - rest)
        return np.where(q > 0, divergence(self.theta, x, rest, move + part * (inner - move)), 0.0)


class _Cells:
    """θ and q, with q θ and q (1 − θ) raised to ``floor`` where they are below it."""

    def __init__(self, theta: FloatArray, q: FloatArray, floor: float) -> None:
        self.theta = theta
        least = floor * np.where(q > 0, q, q[q > 0].min(initial=1.0))
        self.up, self.down = np.maximum(q * theta, least), np.maximum(q * (1 - theta), least)
        changed = (self.up > q * theta) | (self.down > q * (1 - theta))
        self.q = np.where(changed, self.up + self.down, q)
        self.divisor = np.where(self.q > 0, self.q, 1.0)
        self.centre = np.where(changed, self.up / self.divisor, theta)
        self.shift = self.centre - theta

    def spread(self, x: FloatArray, rest: FloatArray) -> FloatArray:
        """How far x moves for each unit of slope, 1 / (q kl''), where no cell is at 0 or 1."""
        return np.asarray(1 / (self.up / x**2 + self.down / rest**2))

    def at(
        self, lam: FloatArray, a: FloatArray, g: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """x, 1 − x and x − θ (n, C) where (λ·a)(x − θ) − q kl(θ, x) is largest, and the bound (n,) that λ gives."""
        slope = lam[:, :1] * a[:, 0] + lam[:, 1:] * a[:, 1]
        x, rest = tilted(self.up, self.down, slope)
        off = slope * x * rest / self.divisor  # q (x − θ) = slope x (1 − x): no cancellation
        unseen = self.q == 0
        if unseen.any():
            x = np.where(unseen & (slope == 0), self.theta, x)
            rest = np.where(unseen & (slope == 0), 1 - self.theta, rest)
            off = np.where(unseen, x - self.theta, off)
        move = off + self.shift
        cost = self.q * np.where(unseen, 0.0, divergence(self.centre, x, rest, off))
        value = np.einsum("ni,ni->n", lam, g) + (cost - slope * move).sum(axis=1)
        return x, rest, move, value  # value: the second line of the module's docstring, kl of (P10)


def divergence(theta: FloatArray, x: FloatArray, rest: FloatArray, move: FloatArray) -> FloatArray:
    """kl(θ, x) = θ f(δ/θ) + (1−θ) f(−δ/(1−θ)), f(u) = u − log(1+u), from x, 1 − x and δ = x − θ: no term cancels."""
    return _part(theta, x, move) + _part(1 - theta, rest, -move)


def _part(theta: FloatArray, x: FloatArray, move: FloatArray) -> FloatArray:
    """θ f(δ/θ); f by its series where it would cancel, and from x/θ where δ/θ is near −1."""
    shape = np.broadcast_shapes(move.shape, theta.shape)
    u = np.divide(move, theta, out=np.zeros(shape), where=theta > 0)
    ratio = np.divide(x, theta, out=np.ones(shape), where=(theta > 0) & (u < -0.5))
    with np.errstate(divide="ignore"):
        f = np.where(u < -0.5, u - np.log(ratio), u - np.log1p(np.maximum(u, -0.5)))
    small = np.abs(u) < _SMALL
    near = np.where(small, u, 0.0)
    series = near**2 * (1 / 2 - near * (1 / 3 - near * (1 / 4 - near * (1 / 5 - near / 6))))
    return np.where(theta > 0, theta * np.where(small, series, f), move)


def _newton(H: FloatArray, gradient: FloatArray, lam: FloatArray) -> FloatArray:
    """H⁻¹ gradient (n, 2) of H = (H_11, H_12, H_22); a multiplier at 0 that would fall is held there."""
    H12, diagonal = H[1], np.where(H[::2] > 0, H[::2] * (1 + 1e-13), 1.0)
    alone = gradient.T / diagonal
    # collinear rows: the determinant is rounding; a least value keeps the step finite, and the line search does the rest
    det = diagonal[0] * diagonal[1] - H12**2
    det = np.where(det > 0, det, 1e-13 * diagonal[0] * diagonal[1])
    both = (diagonal[::-1] * gradient.T - H12 * gradient.T[::-1]) / det
    zero = lam.T == 0
    held = zero & (both <= 0)
    alone = np.where(zero, np.maximum(alone, 0.0), alone)
    step = np.where(held[::-1], alone, both)
    return np.where(held & ~held[::-1], 0.0, step).T


def _roomiest(a: FloatArray, g: FloatArray, theta: FloatArray, movable: BoolArray) -> tuple[FloatArray, float]:
    """A move (C,) of the movable cells within [0, 1] that meets the rows with most to spare, and how much that is.

    Rows without coefficients cannot be met by moving: they count only if they fail. What is spared is recomputed from
    the move, clipped to [0, 1].
    """
    from scipy.optimize import linprog

    used = a[:, movable].any(axis=1)
    if np.any(g[~used] > 0):
        return np.zeros_like(theta), -np.inf
    if not used.any():
        return np.zeros_like(theta), np.inf
    a, g = a[used], g[used]
    t = theta[movable]
    A_ub = np.hstack([-a[:, movable], np.ones((len(a), 1))])
    bounds = [*zip(-t, 1 - t, strict=True), (None, None)]
    answer = linprog(
        np.append(np.zeros(len(t)), -1.0), A_ub, -g, bounds=bounds, method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )  # fmt: skip
    if answer.status != 0:
        raise ArithmeticError(f"Whether an alternative fits into [0, 1] was not decided: {answer.message}")
    move = np.zeros_like(theta)
    move[movable] = np.clip(answer.x[:-1], -t, 1 - t)
    return move, float(np.min(a @ move - g))
