"""What would change the answer where the gap between two groups is all that is asked about: |ζ| < E."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairarm.core.design.projection import project
from fairarm.core.fairness import two_groups
from fairarm.core.limit.alternatives import NO_ROW, TIE, Alternatives, Kind, difference
from fairarm.core.limit.shares import Moves
from fairarm.core.limit.two_valued import BinaryMoves
from fairarm.core.types import BoolArray, FloatArray, IntArray


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


def gap_alternatives(
    law: FloatArray, w: FloatArray, theta: FloatArray, variance: FloatArray | None, tolerance: float, seen: BoolArray
) -> Alternatives:
    """What would change the answer where |ζ| < E is asked of two groups. Exact if ``variance`` is None: the outcome is 0 or 1.

    ``law`` (K, 2, C) and ``w`` (K, C) the law of natural pulls; ``seen`` (C,): cells that some usable pull can reach.
    """
    rows = _rows(law, w, theta, tolerance, symmetric=variance is not None)
    turned = np.where([kind == "overtakes" for kind in rows.kind], NO_ROW, 0)
    moves: Moves
    if variance is None:
        moves, cells = BinaryMoves(rows.a, rows.g, rows.first, theta, seen), np.ones_like(seen)
    else:
        moves, cells = _NormalMoves(_seen_only(rows, seen, variance > 0), variance[seen]), seen
    return Alternatives(rows.best, rows.arm, rows.kind, cells, moves, lambda _: turned)


def _rows(law: FloatArray, w: FloatArray, theta: FloatArray, tolerance: float, symmetric: bool) -> _Rows:
    """The conditions of every alternative. An arm k ≠ * has two pairs, one for each side of −E ≤ ζ_k + d_k·δ ≤ E.

    One side at most can bind, and the pair with the larger value is the answer for both. The best arm is unfair beyond E
    or beyond −E: two alternatives, of which the nearer is the harder where moves are as easy up as down (``symmetric``).
    """
    d = difference(*two_groups(law, axis=1))
    mu, zeta = w @ theta, d @ theta
    rounding = TIE * max(float(np.abs(theta).max()), 1e-300)
    # room > 0: fair, by how much; < 0: unfair. What rounding alone put off the edge is put back on it: T* = inf there, and a
    # T* of 1e20 would say the same in a way that nobody understands
    room = tolerance - np.abs(zeta)
    room[np.abs(room) <= max(rounding, TIE * abs(tolerance))] = 0.0
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
            a.append(np.array([difference(w[k], w[best]), -sign * d[k]]))
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
