"""T*: what no rule that must be right with probability 1 − δ, whatever the truth, can do better than.

Everything unknown is one vector θ_c = E[Y | c], shared by all arms, groups and regimes. A rule has to tell the truth
from every *alternative*, an x with another answer, and pulls in the shares ν tell it apart at the rate
Σ_c q_ν(c) kl(θ_c, x_c). The hardest alternative of the best shares gives 1/T*. Two forms:

Exact for two states (``two_valued``), where one gap between two groups is asked about: Y is 0 or 1, kl is the divergence of two such outcomes and x is in [0, 1]^C. An
alternative that would have to leave [0, 1], such as a gap above a tolerance of 1, cannot happen.

Normal approximation, for any rows (``any_rows``): normal outcomes with known variances, kl = ½ (x_c − θ_c)²/σ_c², x is any vector. The two agree for
small moves. Where the cell nearly determines the outcome (1 % noise) moves are long, and the approximation of a binary
outcome puts T* up to 8 times too low; it can be too high as well (HEPAR-II with costs).

The laws of the cells and P(S) are taken as known; not to know them would only add to T*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fairarm.core.fairness import Rows
from fairarm.core.limit.alternatives import NO_ROW, Alternatives, Kind
from fairarm.core.limit.any_rows import row_alternatives
from fairarm.core.limit.one_gap import gap_alternatives
from fairarm.core.limit.shares import Found, Game, inside
from fairarm.core.paper.allocation import require_affordable
from fairarm.core.types import BoolArray, FloatArray

Form = Literal["exact for two states", "normal approximation"]

_BINDING = 1e-2
"""An alternative binds if it has at least this weight in the proof of the upper bound."""


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
    row: int | None = None
    """The row that the best arm would break, or that the arm would have to meet; None where it only has to overtake."""


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
    asked: float | Rows,
    costs: FloatArray | None = None,
    budget: float | None = None,
    precision: float = 1e-4,
    worlds: FloatArray | None = None,
) -> Limit:
    """T* of a problem whose truth is known, to a relative gap of ``precision`` between proved bounds.

        1/T* = max_ν min over alternatives x of Σ_c q_ν(c) kl(θ_c, x_c)
        best fair arm *:  x breaks an end of a row of *;  for each k ≠ *:  μ_k(x) ≥ μ_*(x) and all rows of k are met
        no fair arm:      for each k:  all rows of k are met

    ``law`` p_{k,t}(c) (K, G, C), ``shares`` P(t) (G,), ``theta`` (C,). ``asked``: the rows; a number E is the one row
    |ζ| < E of two groups. ``variance`` σ_c² (C,): the normal form, all on one scale of the outcome. ``variance`` None: the
    outcome is 0 or 1, the exact form, which there is for a number E alone. ν (R, K) over natural pulls (law Σ_t P(t) p_{k,t})
    and pulls forced to each group (p_{k,t}); Σ ν = 1 and, where both ``costs`` (R, K) and ``budget`` are given, Σ cost·ν ≤ B;
    a unit that costs inf cannot be pulled.

    Where rows are about worlds that no pull can be made in, ``worlds`` has their laws p_{k,ω}(c) (K, W, C); ``law`` (K, R, C) is then that of
    every regime, natural first, and ``shares`` is 1 for that and 0 for the others.

    T* = inf: a fair arm tied with the best; a better or tied arm exactly on an end (a worse one there only has
    to overtake), all its other rows met; no fair arm, and any such arm; a budget so small that the cells which some
    alternative needs are never seen. If no alternative can happen, T* = 0. In the normal form a cell of variance 0 takes no part in any
    move; in the exact form θ = 0 or 1 may move, at the rate −log(1 − |x − θ|).
    """
    w = np.asarray(np.einsum("t,ktc->kc", shares, law))
    forced = law if worlds is None else law[:, 1:]
    unit_costs = _unit_costs(forced, costs, budget)
    average = 0.0 if costs is None or budget is None else float(budget)
    require_affordable(unit_costs, average)
    if variance is None:
        theta = _probabilities(theta)
    start, usable = inside(unit_costs.ravel(), average)
    units = np.concatenate([w, *np.moveaxis(forced, 1, 0)])
    seen = units[usable].max(axis=0) > 0
    others = _alternatives(law if worlds is None else worlds, w, theta, variance, asked, seen)
    paid = unit_costs.ravel()[usable]
    binds = average < paid.max() and average > paid.min()  # otherwise the usable units settle it
    paid = paid if binds else np.zeros(len(paid))
    # (P10), a game: we choose the shares, the opponent the alternative
    met = units[:, others.cells][usable]
    found = Game(others.moves, met, paid, average if binds else 0.0).solve(start[usable], precision)
    nu = np.zeros(len(units))
    nu[usable] = found.nu
    form: Form = "exact for two states" if variance is None else "normal approximation"
    listed = _listed(others, found, found.nu @ met)
    return Limit(others.best, nu.reshape(unit_costs.shape), found.lower, found.upper, listed, form)


def _unit_costs(law: FloatArray, costs: FloatArray | None, budget: float | None) -> FloatArray:
    """(R, K), all 0 where costs do not count."""
    K, G = law.shape[:2]
    return np.zeros((1 + G, K)) if costs is None or budget is None else np.asarray(costs, dtype=np.float64)


def _alternatives(
    law: FloatArray,
    w: FloatArray,
    theta: FloatArray,
    variance: FloatArray | None,
    asked: float | Rows,
    seen: BoolArray,
) -> Alternatives:
    if not isinstance(asked, Rows):
        return gap_alternatives(law, w, theta, variance, asked, seen)
    if variance is None:
        raise ValueError("The exact form is that of one gap between two groups. With other rows give the variances.")
    return row_alternatives(law, w, theta, variance, asked, seen)


def _listed(others: Alternatives, found: Found, q: FloatArray) -> tuple[Alternative, ...]:
    """Hardest first, those of an arm that turn on the same row as one."""
    rows = others.rows(q)
    listed: dict[tuple[int, int], Alternative] = {}
    for i in np.flatnonzero(found.values < np.inf)[::-1]:
        arm, row = int(others.arm[i]), int(rows[i])
        value, weight = float(found.values[i]), float(found.weights[i])
        if (other := listed.get((arm, row))) is not None:
            value, weight = min(value, other.value), weight + other.weight
        listed[arm, row] = Alternative(arm, others.kind[i], value, weight, None if row == NO_ROW else row)
    return tuple(sorted(listed.values(), key=lambda a: (a.value, a.arm)))


def _probabilities(theta: FloatArray) -> FloatArray:
    inside = np.clip(theta, 0.0, 1.0)
    if np.any(np.abs(theta - inside) > 1e-9):
        raise ValueError(f"Means of an outcome that is 0 or 1 are in [0, 1], not {theta[theta != inside][0]:g}.")
    return inside
