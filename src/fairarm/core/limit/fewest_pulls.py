"""T*: what no rule that must be right with probability 1 − δ, whatever the truth, can do better than.

Everything unknown is one vector θ_c = E[Y | c], shared by all arms, groups and regimes. A rule has to tell the truth
from every *alternative*, an x with another answer, and pulls in the shares ν tell it apart at the rate
Σ_c q_ν(c) kl(θ_c, x_c). The hardest alternative of the best shares gives 1/T*. Two forms:

Exact for two states (``limit_binary``): Y is 0 or 1, kl is the divergence of two such outcomes and x is in [0, 1]^C. An
alternative that would have to leave [0, 1], such as a gap above a tolerance of 1, cannot happen.

Normal approximation: normal outcomes with known variances, kl = ½ (x_c − θ_c)²/σ_c², x is any vector. The two agree for
small moves. Where the cell nearly determines the outcome (1 % noise) moves are long, and the approximation of a binary
outcome puts T* up to 8 times too low; it can be too high as well (HEPAR-II with costs).

The laws of the cells and P(S) are taken as known; not to know them would only add to T*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

from fairarm.core.design.projection import project
from fairarm.core.fairness import two_groups
from fairarm.core.limit.two_valued import BinaryMoves
from fairarm.core.paper.allocation import require_affordable
from fairarm.core.types import BoolArray, FloatArray, IntArray

Form = Literal["exact for two states", "normal approximation"]
Kind = Literal["best arm unfair", "overtakes", "becomes fair", "overtakes and becomes fair"]

_TIE = 1e-12
"""Gaps below this part of the outcome's size are rounding: the arms are tied, or exactly on the tolerance."""
_BINDING = 1e-2
"""An alternative binds if it has at least this weight in the proof of the upper bound."""
_INSIDE = 1e-6
"""Shares are moved this far inside, so that no cell that can be seen has probability 0. It costs as little of 1/T*."""
_NEAR, _ROUNDS = 3.0, 500


@dataclass(frozen=True)
class Alternative:
    """Another answer: what arm ``arm`` would have to do, and how fast the best shares rule it out.

    ``value``: information a pull, min Σ q kl(θ, x), proved from below; 0 where the truth already is on the edge. ``weight``: its part in
    the mixture of alternatives that is hardest to tell from the truth whatever is pulled; the parts sum to 1.
    """

    arm: int
    kind: Kind
    value: float
    weight: float


@dataclass(frozen=True)
class Limit:
    """1/T* of the ``form`` is proved to lie in [``lower``, ``upper``]; ``shares`` ν (R, K) reach ``lower``.

    ``best``: the best fair arm, None where no arm is fair. ``alternatives``: by value, hardest first; those that no
    move can bring about are left out.
    """

    best: int | None
    shares: FloatArray
    lower: float
    upper: float
    alternatives: tuple[Alternative, ...]
    form: Form

    @property
    def pulls(self) -> float:
        """T*, from the upper bound: never overstated. inf where no number of pulls is enough, 0 if none is needed."""
        return math.inf if self.upper == 0 else 1.0 / self.upper

    @property
    def binding(self) -> tuple[Alternative, ...]:
        """The alternatives that make T* what it is."""
        return tuple(a for a in self.alternatives if a.weight >= _BINDING)

    def pulls_needed(self, delta: float) -> float:
        """T* kl(δ, 1−δ) = T* (1 − 2δ) log((1 − δ)/δ), the least expected pulls of a rule that is wrong with probability
        at most δ whatever the truth; 0 from δ = ½ on.
        """
        if delta >= 0.5:
            return 0.0
        return math.inf if delta <= 0 else self.pulls * (1 - 2 * delta) * math.log((1 - delta) / delta)


def limit(
    law: FloatArray,
    shares: FloatArray,
    theta: FloatArray,
    variance: FloatArray | None,
    tolerance: float,
    costs: FloatArray | None = None,
    budget: float | None = None,
    precision: float = 1e-4,
) -> Limit:
    """T* of a problem whose truth is known, to a relative gap of ``precision`` between proved bounds.

        1/T* = max_ν min over alternatives x of Σ_c q_ν(c) kl(θ_c, x_c)
        best fair arm *:  |ζ_*(x)| ≥ E;  for each k ≠ *:  μ_k(x) ≥ μ_*(x) and |ζ_k(x)| ≤ E
        no fair arm:      for each k:  |ζ_k(x)| ≤ E

    ``law`` p_{k,t}(c) (K, G, C), ``shares`` P(t) (G,), ``theta`` (C,), ``tolerance`` E. ``variance`` σ_c² (C,): the normal
    form, all on one scale of the outcome. ``variance`` None: the outcome is 0 or 1, the exact form. ν (R, K) over natural
    pulls (law Σ_t P(t) p_{k,t}) and pulls forced to s or s' (p_{k,t}); Σ ν = 1 and, where both ``costs`` (R, K) and
    ``budget`` are given, Σ cost·ν ≤ B. Fair is |ζ| < E.

    T* = inf: a fair arm tied with the best; a better or tied arm exactly on the tolerance (a worse one there only has
    to overtake); no fair arm, and any arm on the tolerance; a budget so small that the cells which some alternative needs
    are never seen. If no alternative can happen, T* = 0. In the normal form a cell of variance 0 takes no part in any
    move; in the exact form θ = 0 or 1 may move, at the rate −log(1 − |x − θ|).
    """
    unit_costs = np.zeros((3, len(law))) if costs is None or budget is None else np.asarray(costs, dtype=np.float64)
    average = 0.0 if costs is None or budget is None else float(budget)
    require_affordable(unit_costs, average)
    if variance is None:
        theta = _probabilities(theta)
    rows = _rows(law, shares, theta, tolerance, symmetric=variance is not None)
    start, usable = _inside(unit_costs.ravel(), average)
    units = np.concatenate([_natural(law, shares), *two_groups(law, axis=1)])
    seen = units[usable].max(axis=0) > 0
    binds = average < unit_costs.max() and average > unit_costs.min()  # otherwise the usable units settle it
    paid = unit_costs.ravel()[usable] if binds else np.zeros(usable.sum())
    moves: _Moves
    if variance is None:
        moves = BinaryMoves(rows.a, rows.g, rows.first, theta, seen)
    else:
        rows = _seen_only(rows, seen, variance > 0)
        units, moves = units[:, seen], _NormalMoves(rows, variance[seen])
    # (P10), a game: we choose the shares, the opponent the alternative
    game = _Game(moves, units[usable], paid, average if binds else 0.0)
    found = game.solve(start[usable], precision)
    nu = np.zeros(len(units))
    nu[usable] = found.nu
    alternatives: dict[int, Alternative] = {}
    for i in np.flatnonzero(found.values < np.inf)[::-1]:
        arm, other = int(rows.arm[i]), alternatives.get(int(rows.arm[i]))
        value, weight = float(found.values[i]), float(found.weights[i])
        if other is not None:
            value, weight = min(value, other.value), weight + other.weight
        alternatives[arm] = Alternative(arm, rows.kind[i], value, weight)
    form: Form = "exact for two states" if variance is None else "normal approximation"
    ordered = tuple(sorted(alternatives.values(), key=lambda a: (a.value, a.arm)))
    return Limit(rows.best, nu.reshape(unit_costs.shape), found.lower, found.upper, ordered, form)


def _probabilities(theta: FloatArray) -> FloatArray:
    inside = np.clip(theta, 0.0, 1.0)
    if np.any(np.abs(theta - inside) > 1e-9):
        raise ValueError(f"Means of an outcome that is 0 or 1 are in [0, 1], not {theta[theta != inside][0]:g}.")
    return inside


# ---- the alternatives ----


@dataclass(frozen=True)
class _Rows:
    """N pairs of conditions a·δ ≥ g: ``a`` (N, 2, C), ``g`` (N, 2), of A alternatives: ``first``, ``arm`` (A,), ``kind``.

    The pairs of an alternative start at ``first`` and must all hold at once. An arm may have two alternatives.
    """

    best: int | None
    a: FloatArray
    g: FloatArray
    first: IntArray
    arm: IntArray
    kind: tuple[Kind, ...]


def _natural(law: FloatArray, shares: FloatArray) -> FloatArray:
    """w_k(c) = Σ_t P(t) p_{k,t}(c), (K, C)."""
    return np.asarray(np.einsum("t,ktc->kc", shares, law))


def _difference(x: FloatArray, y: FloatArray) -> FloatArray:
    """x − y with rounding taken for what it is: it must not turn an arm that ignores S into one that does not."""
    return np.where(np.abs(x - y) <= 1e-13 * (x + y), 0.0, x - y)


def _rows(law: FloatArray, shares: FloatArray, theta: FloatArray, tolerance: float, symmetric: bool) -> _Rows:
    """The conditions of every alternative. An arm k ≠ * has two pairs, one for each side of −E ≤ ζ_k + d_k·δ ≤ E.

    One side at most can bind, and the pair with the larger value is the answer for both. The best arm is unfair beyond E
    or beyond −E: two alternatives, of which the nearer is the harder where moves are as easy up as down (``symmetric``).
    """
    w, d = _natural(law, shares), _difference(*two_groups(law, axis=1))
    mu, zeta = w @ theta, d @ theta
    rounding = _TIE * max(float(np.abs(theta).max()), 1e-300)
    # room > 0: fair, by how much; < 0: unfair. What rounding alone put off the edge is put back on it: T* = inf there, and a
    # T* of 1e20 would say the same in a way that nobody understands
    room = tolerance - np.abs(zeta)
    room[np.abs(room) <= max(rounding, _TIE * abs(tolerance))] = 0.0
    K, side = len(law), np.where(zeta < 0, -1.0, 1.0)
    nothing = np.zeros_like(d)
    if not np.any(room > 0):  # every arm is one pair: −sign(ζ) d·δ ≥ |ζ| − E
        kinds: list[Kind] = ["becomes fair"] * K
        g = np.column_stack([-room, np.zeros(K)])
        return _Rows(None, np.stack([-side[:, None] * d, nothing], axis=1), g, np.arange(K), np.arange(K), tuple(kinds))
    best = int(np.argmax(np.where(room > 0, mu, -np.inf)))
    # a pair of rows per alternative, the second one empty (0·δ ≥ 0) where one is enough: all have one shape, solved together
    a: list[FloatArray] = []
    g_list, first, arms, kinds = [], [], [], []
    for sign, far in ((side[best], room[best]), (-side[best], tolerance + abs(zeta[best])))[: 1 if symmetric else 2]:
        first.append(len(a))
        a.append(np.array([sign * d[best], nothing[best]]))
        g_list.append((far, 0.0))
        arms.append(best)
        kinds.append("best arm unfair")
    for k in range(K):
        if k == best:
            continue
        lead = float(mu[best] - mu[k])
        lead = 0.0 if abs(lead) <= rounding else lead  # a tie up to rounding is a tie
        kind: Kind = "overtakes" if room[k] > 0 else "overtakes and becomes fair" if lead > 0 else "becomes fair"
        first.append(len(a))
        arms.append(k)
        kinds.append(kind)
        # from the side of its own sign the arm has room E − |ζ|, from the other E + |ζ|
        for sign, slack in ((side[k], room[k]), (-side[k], tolerance + abs(zeta[k]))):
            a.append(np.array([_difference(w[k], w[best]), -sign * d[k]]))
            g_list.append((lead, -slack))
    g = np.array(g_list, dtype=np.float64)
    return _Rows(best, np.array(a), g, np.array(first), np.array(arms), tuple(kinds))


def _seen_only(rows: _Rows, seen: BoolArray, uncertain: BoolArray) -> _Rows:
    """The conditions on the cells that some usable pull can reach, once the others are moved at no cost.

    A row that uses an unseen cell holds for free. Two such rows hold together, unless they pull all unseen cells in
    exactly opposite directions, a_2 = −f a_1 there: then what is left is their sum, (a_2 + f a_1)·δ ≥ g_2 + f g_1.
    """
    a, g = rows.a.copy(), rows.g.copy()
    hidden = ~seen & uncertain  # cells that no usable pull meets, and whose mean could be another
    for i in np.flatnonzero(np.any(rows.a[:, :, hidden] != 0, axis=(1, 2))):
        u, v = rows.a[i][:, hidden]
        size = float(np.sqrt((u @ u) * (v @ v)))
        free = np.array([u.any(), v.any()])
        if free.all() and u @ v <= -size * (1 - 1e-12):
            f = float(-(u @ v) / (u @ u))
            a[i, 0], g[i, 0] = a[i, 1] + f * a[i, 0], g[i, 1] + f * g[i, 0]
            free[0] = False
        a[i, free], g[i, free] = 0.0, 0.0
    return replace(rows, a=a[:, :, seen], g=g)


class _Moves(Protocol):
    def evaluate(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """For rates q (C,) of the cells: the value of each alternative (A,), what its move is worth by cell (A, C)."""
        ...


class _NormalMoves:
    """The hardest moves at rates q_c of the cells for normal outcomes: min ½ Σ q δ²/σ², in closed form."""

    def __init__(self, rows: _Rows, variance: FloatArray) -> None:
        self.a, self.g, self.first, self.variance = rows.a, rows.g, rows.first, variance
        self.products = [rows.a[:, i] * rows.a[:, j] for i, j in ((0, 0), (0, 1), (1, 1))]

    def evaluate(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        # (P11): with q pulls' worth of rows in each cell the nearest truth of each alternative is that of (P4)
        spread = self.variance / q
        G11, G12, G22 = (x @ spread for x in self.products)
        value, lam1, lam2 = project(G11, G12, G22, self.g[:, 0], self.g[:, 1])
        values = np.maximum.reduceat(value, self.first)
        size = np.diff(np.append(self.first, len(value)))
        pair = self.first + ((size == 2) & (value[self.first] < values))
        # an alternative that cannot happen has no move: it is never a cut
        lam1, lam2 = (np.where(np.isfinite(x[pair]), x[pair], 0.0)[:, None] for x in (lam1, lam2))
        move = (lam1 * self.a[pair, 0] + lam2 * self.a[pair, 1]) / q
        return values, 0.5 * move**2 * self.variance


# ---- the shares ----


def _inside(costs: FloatArray, budget: float) -> tuple[FloatArray, BoolArray]:
    """Shares (X,) within the budget that use every unit that any such shares can use, and those units."""
    cheapest = float(costs.min())
    if budget <= cheapest:
        usable = costs <= budget
        return usable / usable.sum(), usable
    start = np.full(costs.size, 1.0 / costs.size)
    return _within(start, costs, budget), np.ones(costs.size, dtype=bool)


def _within(nu: FloatArray, costs: FloatArray, budget: float) -> FloatArray:
    """Shares over the budget, moved toward the cheapest unit until they meet it."""
    over = float(costs @ nu) - budget
    if over <= 0:
        return nu
    cheapest = int(np.argmin(costs))
    step = min(1.0, over / (over + budget - float(costs[cheapest])) * (1 + 1e-12))
    moved = nu * (1 - step)
    moved[cheapest] += step
    return moved


@dataclass(frozen=True)
class _Found:
    nu: FloatArray
    values: FloatArray
    weights: FloatArray
    lower: float
    upper: float


class _Game:
    """max over ν of the min over alternatives. A fixed move δ has a value linear in ν, so each δ met so far is a cut.

    The programme of all cuts bounds 1/T* from above, any shares bound it from below. New moves are sought halfway
    between the best shares so far and those of the programme: either the move cuts the programme's shares off, or the
    halfway point is itself better by half of the gap.
    """

    def __init__(self, moves: _Moves, units: FloatArray, costs: FloatArray, budget: float) -> None:
        self.moves, self.units, self.costs, self.budget = moves, units, costs, budget

    def evaluate(self, nu: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The value of each alternative at ν (A,), and what its move is worth in one pull of each unit (A, X)."""
        values, rates = self.moves.evaluate(nu @ self.units)
        return values, rates @ self.units.T

    def solve(self, start: FloatArray, precision: float) -> _Found:
        nu, (values, cuts) = start, self.evaluate(start)
        lower, upper = float(values.min()), np.inf
        weights = (values == lower).astype(np.float64)
        weights /= weights.sum()
        if not 0 < lower < np.inf:  # the truth is on the edge, or no other answer can be reached
            return _Found(nu, values, weights, lower, lower)
        # only moves that are nearly the hardest are kept as cuts: the others would not bind, and the programme grows with them
        owners = np.flatnonzero(values <= _NEAR * lower)
        pool = cuts[owners]
        for _ in range(_ROUNDS):
            target, y, bound = self._programme(pool / lower)
            if bound * lower < upper:
                upper, weights = bound * lower, np.bincount(owners, y, minlength=len(values))
            if upper <= lower * (1 + precision):
                break
            # a little toward the start, which pulls everything: at a vertex some cells are never met, and values there are 0
            target = target + _INSIDE * (start - target)
            point = _within(nu + 0.5 * (target - nu), self.costs, self.budget)
            found, cuts = self.evaluate(point)
            near = np.flatnonzero(found <= _NEAR * found.min())
            pool, owners = np.concatenate([pool, cuts[near]]), np.append(owners, near)
            if found.min() > lower:
                nu, values, lower = point, found, float(found.min())
        return _Found(nu, values, weights, lower, max(lower, upper))

    def _programme(self, cuts: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Shares (X,) that are best against the cuts, the weights y of the cuts, and the bound y and λ prove.

        The dual is solved:  min m + B λ  s.t.  Σ y·cut_u ≤ m + λ cost_u for every unit u,  Σ y = 1,  y, λ ≥ 0.
        Whatever the solver's tolerance, any such y and λ prove  1/T* ≤ max_u (Σ y·cut_u − λ cost_u) + B λ.
        """
        from scipy.optimize import linprog

        n, X = cuts.shape
        A_ub = np.hstack([cuts.T, -np.ones((X, 1)), -self.costs[:, None]])
        objective = np.append(np.zeros(n), [1.0, self.budget])
        total = np.append(np.ones(n), [0.0, 0.0])[None]
        bounds = [(0, None)] * n + [(None, None), (0, None)]
        answer = linprog(objective, A_ub, np.zeros(X), total, [1.0], bounds=bounds, method="highs-ds")
        if answer.status != 0:
            raise ArithmeticError(f"The programme of {n} cuts was not solved: {answer.message}")
        y, price = np.clip(answer.x[:n], 0.0, None), max(float(answer.x[-1]), 0.0)
        # the bound is computed from y and the price as they are, so that the solver's tolerance cannot make it too low
        y = y / y.sum()
        nu = np.clip(-np.asarray(answer.ineqlin.marginals), 0.0, None)
        return nu / nu.sum(), y, float(np.max(y @ cuts - price * self.costs)) + price * self.budget
