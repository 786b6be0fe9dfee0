"""Sums over weighted rows of one group, exact in any split and order: what an estimate, its error and the bounds are made of.

Axes: K arms, n rows, O outcomes that are told apart (1 where they are real).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.core.exact_sums import ExactSum
from fairarm.core.packed import Arrays
from fairarm.core.posterior.weighted_rows import RowSums
from fairarm.core.types import FloatArray

SQUARE_BITS = -64
"""Of Σψψᵀ, in units of the square of an outcome's size: 32 for each factor."""
BY_OUTCOME = ("w", "ww", "d", "dd")
"""Σw, Σw², and Σc, Σc² of the cut that the certified bounds have, for each outcome apart where outcomes have states."""
ALL = ("c", "cc", "ccc", "overlap", "unseen", "psi", "psi3")
"""Σc, Σc², Σc³ of the estimate's own cut; Σ min(w, 1); Σ of the mass that no row speaks for; Σψ, Σψ³ of ψ less a constant."""
OF_REAL = ("wy", "wwy", "wwyy", "dy", "ddy", "ddyy")
"""Where outcomes are real: ΣwY, Σw²Y, Σw²Y², and the same of the bounds' cut."""
MOST_STATES = 4
"""Outcomes with more states are summed like real ones."""


@dataclass(frozen=True)
class Units:
    """How outcomes are told apart, and how large what is summed is: powers of two, so that dividing by them is exact."""

    values: FloatArray | None
    """The outcomes' few values, on the scale of Y'; None where they are real."""
    deviation: float = 1.0
    """Of ψ."""
    outcome: float = 1.0
    """Of Y', where it is real."""


@dataclass(frozen=True)
class Weighted:
    """Rows of one group: weights w, their cut c, the bounds' cut d, ψ less a constant, (K, n) each; the share of each arm's mass that
    no row speaks for, (K, n) or None for none; outcomes, and how many rows each stands for, (n,)."""

    w: FloatArray
    c: FloatArray
    d: FloatArray
    psi: FloatArray
    unseen: FloatArray | None
    outcome: FloatArray
    count: FloatArray


@dataclass
class RowTotals:
    """Sums of one group's rows. Those of two parts of a log are merged."""

    arms: int
    units: Units
    rows: int = 0

    def __post_init__(self) -> None:
        K = self.arms
        self.largest = np.zeros(K)
        apart = () if self.units.values is None else self.units.values.shape
        real = () if apart else OF_REAL
        self.names = (*ALL, *real)
        self.sums = {
            "by_outcome": ExactSum((len(BY_OUTCOME), K, *apart)),
            "all": ExactSum((len(self.names), K)),
            "products": ExactSum((K, K), SQUARE_BITS),
        }

    def add(self, rows: Weighted) -> None:
        """More rows."""
        w, c, d, y, count = rows.w, rows.c, rows.d, rows.outcome, rows.count
        self.rows += int(count.sum())
        heaviest = w.max(axis=1, initial=0.0)
        top = float(heaviest.max())  # of rows that count or not: limbs may be more than are needed
        if not count.all():
            heaviest = np.max(np.where(count > 0, w, 0.0), axis=1, initial=0.0)
        np.maximum(self.largest, heaviest, out=self.largest)
        apart, made = np.empty((len(BY_OUTCOME), *w.shape)), np.empty((len(self.names), *w.shape))
        apart[0], apart[2] = w, d
        np.multiply(w, w, out=apart[1])
        np.multiply(d, d, out=apart[3])
        made[0] = c
        np.multiply(c, c, out=made[1])
        np.multiply(made[1], c, out=made[2])
        np.minimum(w, 1.0, out=made[3])
        made[4] = 0.0 if rows.unseen is None else rows.unseen
        psi = np.divide(rows.psi, self.units.deviation, out=made[5])
        np.multiply(psi, psi, out=made[6])
        made[6] *= psi
        held = count
        if self.units.values is None:
            self._of_real(made[len(ALL) :], w, d, y / self.units.outcome)
        else:
            held = count[:, None] * (y[:, None] == self.units.values)
        self.sums["by_outcome"].add(apart, held, max(top, top**2))
        away = max(float(psi.max(initial=0.0)), -float(psi.min(initial=0.0)))
        most = max(1.0, float(c.max(initial=0.0)) ** 3, away, away**3)
        self.sums["all"].add(made, count, most if self.units.values is not None else None)
        self.sums["products"].add_products(psi, count)

    def _of_real(self, made: FloatArray, w: FloatArray, d: FloatArray, y: FloatArray) -> None:
        """The sums of real outcomes, into their places."""
        for at, weight in ((0, w), (3, d)):
            first = np.multiply(weight, y, out=made[at])
            np.multiply(weight, first, out=made[at + 1])
            np.multiply(first, first, out=made[at + 2])

    def merge(self, other: RowTotals) -> None:
        """With another part of the log."""
        self.rows += other.rows
        np.maximum(self.largest, other.largest, out=self.largest)
        for name, held in other.sums.items():
            self.sums[name].merge(held)

    def arrays(self) -> Arrays:
        """To be sent."""
        return {
            "rows": np.array(self.rows),
            "largest": self.largest,
            **{n: held.bytes for n, held in self.sums.items()},
        }

    def merge_arrays(self, sent: Arrays) -> None:
        """With a part that was sent."""
        self.rows += int(sent["rows"])
        np.maximum(self.largest, sent["largest"], out=self.largest)
        for name, held in self.sums.items():
            held.merge_bytes(sent[name])

    def _all(self) -> dict[str, FloatArray]:
        """Every sum by its name, (K,) each, in the units of Y'."""
        named = dict(zip(self.names, self.sums["all"].value, strict=True))
        apart = dict(zip(BY_OUTCOME, self.sums["by_outcome"].value, strict=True))
        values, size = self.units.values, self.units.outcome
        if values is None:
            named |= {name: held * size ** name.count("y") for name, held in named.items() if name in OF_REAL}
            return named | apart
        for name, power, made in (("w", 1, "wy"), ("ww", 1, "wwy"), ("ww", 2, "wwyy"), ("d", 1, "dy"), ("dd", 1, "ddy"), ("dd", 2, "ddyy")):  # fmt: skip
            named[made] = _in_order([value**power * apart[name][:, o] for o, value in enumerate(values.tolist())])
        return named | {name: _in_order(list(held.T)) for name, held in apart.items()}

    def sums_of(self) -> tuple[RowSums, FloatArray, FloatArray, FloatArray]:
        """What an estimate is made of; the bounds' Σc, ΣcY, Σc², Σc²Y, Σc²Y², (5, K); Σ min(w, 1); the mass that is unseen, (K,)."""
        s, size = self._all(), self.units.deviation
        own = RowSums(
            rows=float(self.rows),
            first=s["psi"] * size,
            second=self.sums["products"].value * size**2,
            third=s["psi3"] * size**3,
            cut=np.stack([s["w"] - s["c"], s["cc"], s["ccc"]]),
            plain=np.stack([s["w"], s["ww"], s["wy"], s["wwy"], s["wwyy"]]),
            largest=self.largest,
        )
        return own, np.stack([s["d"], s["dy"], s["dd"], s["ddy"], s["ddyy"]]), s["overlap"], s["unseen"]


def _in_order(parts: list[FloatArray]) -> FloatArray:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return np.asarray(total)
