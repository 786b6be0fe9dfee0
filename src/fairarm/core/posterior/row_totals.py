"""Sums over weighted rows of one group, exact in any split and order: what an estimate, its error and the bounds are made of.

Axes: K arms, n rows, O outcomes that are told apart (1 where they are real).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from fairarm.core.exact_sums import BITS, ExactSum, exact_products
from fairarm.core.packed import Arrays
from fairarm.core.posterior.weighted_rows import RowSums
from fairarm.core.types import FloatArray, IntArray

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
    no row speaks for, (K, n) or None for none; outcomes, and how many rows each stands for, (n,). A cut that no weight reaches is
    best given as w itself: what is summed is then made once."""

    w: FloatArray
    c: FloatArray
    d: FloatArray
    psi: FloatArray
    unseen: FloatArray | None
    outcome: FloatArray
    count: FloatArray

    @cached_property
    def all_once(self) -> bool:
        """Whether every line is one row."""
        return bool((self.count == 1.0).all())


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
        self._memory = np.empty(0)

    def add(self, rows: Weighted) -> None:
        """More rows."""
        w, count, once = rows.w, rows.count, rows.all_once
        total = float(len(count)) if once else float(count.sum())
        self.rows += int(total)
        heaviest = w.max(axis=1, initial=0.0)
        top = float(heaviest.max())  # of rows that count or not: limbs may be more than are needed
        if not once and not count.all():
            heaviest = np.max(np.where(count > 0, w, 0.0), axis=1, initial=0.0)
        np.maximum(self.largest, heaviest, out=self.largest)
        plan = _plan(self.names, rows.c is w, rows.d is w, rows.unseen is None)
        made = plan.made(rows, self.units, self._room((len(plan.names), *w.shape)))
        psi = made[plan.names.index("psi")]
        away = max(float(psi.max(initial=0.0)), -float(psi.min(initial=0.0)))
        cut = top if rows.c is w else float(rows.c.max(initial=0.0))
        most = max(1.0, top, top**2, cut**3, away, away**3)
        if self.units.values is None:
            most *= max(1.0, (float(np.abs(rows.outcome).max(initial=0.0)) / self.units.outcome) ** 2)
        self.sums["products"].add_products(psi, count, away)
        for shift, found in exact_products(made, self._held(rows).T, BITS, most, total, spoil=True):
            whole = found.reshape(len(made), self.arms, -1)
            by_outcome = self.sums["by_outcome"]
            by_outcome.keep(shift, whole[plan.by_outcome].reshape(by_outcome.shape))
            every = np.zeros((len(self.names), self.arms), dtype=np.int64)
            every[plan.summed] = whole.sum(axis=2)[plan.all]
            self.sums["all"].keep(shift, every)

    def _room(self, shape: tuple[int, ...]) -> FloatArray:
        """Memory for the numbers that are summed, the same for every block: a system takes long to hand out new."""
        size = math.prod(shape)
        if size > len(self._memory):
            self._memory = np.empty(size)
        return self._memory[:size].reshape(shape)

    def _held(self, rows: Weighted) -> FloatArray:
        """How many rows of each outcome that is told apart each line stands for, (O, n)."""
        if self.units.values is None:
            return rows.count[None]
        held = np.empty((len(self.units.values), len(rows.count)))
        for value, out in zip(self.units.values.tolist(), held, strict=True):
            np.equal(rows.outcome, value, out=out)
        return held if rows.all_once else np.multiply(held, rows.count, out=held)

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


@dataclass(frozen=True)
class _Plan:
    """Which numbers are summed. A cut that no weight reaches leaves the weights as they are: their sums are found once."""

    names: tuple[str, ...]
    """Of the numbers that are made: w, c and d are weights and y the outcome, each once for every time it is multiplied."""
    by_outcome: IntArray
    all: IntArray
    """Where among these the sums of `BY_OUTCOME`, and those of all rows, find their own."""
    summed: IntArray
    """Which of the latter there are."""

    def made(self, rows: Weighted, units: Units, out: FloatArray) -> FloatArray:
        """The numbers into ``out`` (names, K, n); shorter names come before those that are made of them."""
        at = dict(zip(self.names, out, strict=True))
        given = {"w": rows.w, "c": rows.c, "d": rows.d, "unseen": rows.unseen}
        for name, place in at.items():
            if name in given:
                place[:] = given[name]
            elif name == "overlap":
                np.clip(rows.w, 0.0, 1.0, out=place)
            elif name == "psi":
                np.divide(rows.psi, units.deviation, out=place)
            elif name == "psi3":
                np.multiply(np.multiply(at["psi"], at["psi"], out=place), at["psi"], out=place)
            elif name.endswith("yy"):
                np.multiply(at[name[1:-1]], at[name[1:-1]], out=place)
            elif name.endswith("y"):
                np.multiply(at[name[0]], rows.outcome / units.outcome if len(name) == 2 else at[name[1:]], out=place)
            else:
                np.multiply(at[name[:-1]], at[name[0]], out=place)
        return out


@cache
def _plan(names: tuple[str, ...], c_is_w: bool, d_is_w: bool, all_seen: bool) -> _Plan:
    same = str.maketrans({letter: "w" for letter, holds in (("c", c_is_w), ("d", d_is_w)) if holds})
    summed = [i for i, name in enumerate(names) if name != "unseen" or not all_seen]
    by_outcome, every = [n.translate(same) for n in BY_OUTCOME], [names[i].translate(same) for i in summed]
    made = tuple(sorted({*by_outcome, *every}, key=lambda name: (len(name.removeprefix("psi")), name)))
    place = {name: i for i, name in enumerate(made)}
    return _Plan(made, np.array([place[n] for n in by_outcome]), np.array([place[n] for n in every]), np.array(summed))


def _in_order(parts: list[FloatArray]) -> FloatArray:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return np.asarray(total)
