"""Sums over rows that are the same to the bit however the rows are split, ordered and added up.

Every number is rounded to a multiple of 2^e, to the nearest, ties to even. What is added up are then whole numbers, and
their sum has no order. No loop over whole numbers is needed: floating-point numbers that are whole, and whose sums stay below 2^53, are added
without error in any order, so that the products of BLAS are exact. A number too large for that is cut into *limbs*,
multiples of 2^e, 2^(e + 28), …: each limb is summed by itself. How many limbs a block of rows takes depends on its largest
number; what they add up to does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.core.types import FloatArray, IntArray

BITS = -33
"""The default e, of numbers whose typical size is 1: a number is off by at most 6e-11, and few need a second limb."""
STEP = 28
"""Bits of a limb of a sum."""
BLOCK = 1 << 14
"""Most lines that are added up in one product."""
MOST_HELD = 1 << 25
"""Most rows that the lines of a block stand for at once: 2^25 limbs of 2^27 stay below 2^53."""
DIGIT = 11
"""Bits of the digits that large counts are cut into: 2^14 lines of them stay below 2^25."""
CARRY_AFTER = 500
"""Sums of a block are below 2^53, and 64 bits hold so many of them."""
BYTES = 32
"""Of a whole number on its way."""
LARGEST = 2.0**60
"""What weights are cut to: the square of one is then still far from what a sum can hold."""


@dataclass
class ExactSum:
    """Sums of rows, of this shape, in units of 2^``exponent``."""

    shape: tuple[int, ...]
    exponent: int = BITS
    _units: NDArray[Any] = field(init=False)
    _recent: dict[int, IntArray] = field(init=False, default_factory=dict)
    """By bits to shift: sums that were not yet carried over."""
    _added: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._units = np.zeros(self.shape, dtype=object)

    def add(self, rows: FloatArray, count: FloatArray, top: float | None = None, heavy: float | None = None) -> None:
        """Σ_i rows_i count_i, of ``rows`` (…, n) and whole ``count`` (n,) or (n, r): of shape (…) or (…, r). ``top`` and ``heavy``:
        none of the rows' numbers, and no sum of a column of counts, is larger, where that is known."""
        for shift, found in exact_products(rows, count, self.exponent, top, heavy):
            self.keep(shift, found.reshape(self.shape))

    def add_products(self, rows: FloatArray, count: FloatArray, top: float | None = None) -> None:
        """Σ_i rows_ki rows_ji count_i, of ``rows`` (K, n) and ``count`` (n,): of shape (K, K). Half of ``exponent`` is each factor's."""
        for start in range(0, len(count), BLOCK):
            part = slice(start, start + BLOCK)
            largest = _largest(rows[:, part]) if top is None else _finite(top)
            for shift, found in _squares(rows[:, part], count[part], self.exponent // 2, largest):
                self.keep(shift, found.astype(np.int64))

    def keep(self, shift: int, whole: IntArray) -> None:
        """More of the sums: whole numbers below 2^53, in units of 2^(exponent + shift)."""
        if shift in self._recent:
            self._recent[shift] += whole
        else:
            self._recent[shift] = whole
        self._added += 1
        if self._added >= CARRY_AFTER:
            self._carry()

    def _carry(self) -> None:
        for shift, found in self._recent.items():
            self._units = self._units + found.astype(object) * (1 << shift)
        self._recent, self._added = {}, 0

    def merge(self, other: ExactSum) -> None:
        """With the rows of another."""
        self._units = self.units + other.units

    @property
    def units(self) -> NDArray[Any]:
        """The sums as whole numbers."""
        self._carry()
        return self._units

    @property
    def value(self) -> FloatArray:
        """The sums, each rounded once."""
        made = [float(unit) for unit in self.units.ravel()]
        return np.ldexp(np.array(made, dtype=np.float64), self.exponent).reshape(self.shape)

    @property
    def bytes(self) -> NDArray[np.uint8]:
        """The whole numbers, to be sent: (numbers, 32)."""
        held = b"".join(int(unit).to_bytes(BYTES, "little", signed=True) for unit in self.units.ravel())
        return np.frombuffer(held, dtype=np.uint8).reshape(-1, BYTES)

    def merge_bytes(self, sent: NDArray[np.uint8]) -> None:
        """With the rows of another that was sent."""
        made = [int.from_bytes(each.tobytes(), "little", signed=True) for each in sent]
        self._units = self.units + np.array([*made, None], dtype=object)[:-1].reshape(self.shape)


def exact_products(
    rows: FloatArray,
    count: FloatArray,
    exponent: int,
    top: float | None = None,
    heavy: float | None = None,
    spoil: bool = False,
) -> Iterator[tuple[int, IntArray]]:
    """Σ rows count as in `ExactSum.add`, (numbers, r): whole numbers below 2^53 with the bits to shift them by, in units of 2^e.
    So are sums over columns, where ``heavy`` bounds what all columns hold together. ``spoil``: the rows may be written over."""
    flat, held = rows.reshape(-1, rows.shape[-1]), count.reshape(len(count), -1)
    for start in range(0, len(held), BLOCK):
        part = slice(start, start + BLOCK)
        largest = _largest(flat[:, part]) if top is None else _finite(top)
        for shift, found in _products(flat[:, part], held[part], exponent, largest, heavy, spoil):
            yield shift, found.astype(np.int64)


def _products(
    rows: FloatArray, held: FloatArray, exponent: int, top: float, most: float | None, spoil: bool
) -> Iterator[tuple[int, FloatArray]]:
    for by, count, heavy in _digits(held, most):
        level = 0
        # a sum of whole numbers has 53 bits, and the rounding of one number needs two more
        while max(top * heavy, 4.0 * top) > 2.0 ** (53 + exponent + STEP * level):
            level += 1
        rest = rows
        for at in range(level, -1, -1):
            unit = 2.0 ** (exponent + STEP * at)
            limb = _rounded(rest, unit, rest if spoil and level == 0 else None)
            yield by + STEP * at, (limb @ count) / unit
            rest = rest - limb if at else rest


def _squares(rows: FloatArray, count: FloatArray, exponent: int, top: float) -> Iterator[tuple[int, FloatArray]]:
    """The same of Σ rows rowsᵀ count, in units of 2^2e: limbs are so short that their products stay below 2^53."""
    for by, held, heavy in _digits(count[:, None], float(count.sum())):
        step = (52 - int(np.ceil(np.log2(max(heavy, 1.0))))) // 2
        limbs, rest, level = [], rows, 0
        while top > 2.0 ** (exponent + step * (level + 1)):
            level += 1
        for at in range(level, -1, -1):
            unit = 2.0 ** (exponent + step * at)
            limbs.append((at, _rounded(rest, unit)))
            rest = rest - limbs[-1][1] if at else rest
        for i, (a, left) in enumerate(limbs):
            weighed = left * held[:, 0]
            for b, right in limbs[i:]:
                found = (weighed @ right.T) / 2.0 ** (2 * exponent + step * (a + b))
                yield by + step * (a + b), found if a == b else found + found.T


def _largest(rows: FloatArray) -> float:
    return _finite(max(float(rows.max()), -float(rows.min()))) if rows.size else 0.0


def _finite(top: float) -> float:
    if not top < np.inf:
        raise FloatingPointError(f"A sum over rows has a number that is not finite: {top}.")
    return top


def _rounded(rows: FloatArray, unit: float, out: FloatArray | None = None) -> FloatArray:
    """To multiples of ``unit``, of numbers below 2^51 of them: what is added pushes lower bits out."""
    push = 1.5 * 2.0**52 * unit
    made = np.add(rows, push, out=out)
    made -= push
    return made


def _digits(held: FloatArray, most: float | None = None) -> Iterator[tuple[int, FloatArray, float]]:
    """Counts as they are, or as digits, with the bits that these stand for, and the most rows of a column; ``most`` where that is known."""
    heavy = float(held.sum(axis=0).max(initial=0.0)) if most is None else most
    if heavy <= MOST_HELD:
        yield 0, held, heavy
        return
    place, rest = 0, held
    while rest.any():
        above = np.floor(rest / 2.0**DIGIT)
        digit = rest - above * 2.0**DIGIT
        yield place, digit, float(digit.sum())
        place, rest = place + DIGIT, above


def power_of_two(size: float) -> float:
    """The power of two at or below a size, 1 where that is 0."""
    return float(2.0 ** np.floor(np.log2(size))) if size > 0 else 1.0
