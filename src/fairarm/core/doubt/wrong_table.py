"""A declared table that is wrong: how far a value moves if every row of the table is off by at most ε in total variation.

A value is linear in each row of a table: Σ_r Σ_v P(v | r) g(r, v), g(r, v) what follows from state v at row r, times P(r). With ε of
each row free, as much as there is moves from the states of least g to the state of largest g:

    Σ_r ε (max_v g(r, v) − min_v g(r, v))      where the least states have ε; less where they have not

Axes: B rows of a table, V its states; what stands before them is up to the caller.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.core.types import FloatArray

HALVINGS = 30


@dataclass(frozen=True, eq=False)
class Rises:
    """How far values can rise as the rows of a table may be off by more: states sorted by what follows, (..., B, V) each."""

    before: FloatArray
    """What the states of less have together."""
    mass: FloatArray
    gain: FloatArray
    """What is gained for what is taken from a state and given to the best one."""

    @classmethod
    def of(cls, table: FloatArray, follows: FloatArray) -> Rises:
        """From P (B, V) and g (..., B, V)."""
        order = np.argsort(follows, axis=-1)
        values = np.take_along_axis(follows, order, -1)
        mass = np.take_along_axis(np.broadcast_to(table, follows.shape), order, -1)
        return cls(np.cumsum(mass, axis=-1) - mass, mass, values[..., -1:] - values)

    def at(self, error: float) -> FloatArray:
        """max Σ_r Σ_v (P'(v | r) − P(v | r)) g(r, v) with each row of P' within ε of P in total variation, (...,): exact."""
        taken = np.clip(error - self.before, 0.0, self.mass)
        return np.asarray((taken * self.gain).sum(axis=(-1, -2)))  # (D10)


@dataclass(frozen=True, eq=False)
class Fraction:
    """A value Σ P n / Σ P d, both sums linear in the rows of a table P (B, V): n and d are (..., B, V), d is not negative.

    The mean of people is one in the table of their attribute: a wrong P(a | causes) moves the people too.
    """

    table: FloatArray
    above: FloatArray
    below: FloatArray

    @property
    def value(self) -> FloatArray:
        """As the table is, (...,)."""
        below = (self.table * self.below).sum(axis=(-1, -2))
        return np.asarray((self.table * self.above).sum(axis=(-1, -2)) / np.where(below > 0, below, 1.0))

    def rise_at(self, error: float, most: FloatArray) -> FloatArray:
        """How far it can rise with each row of P' within ε of P in total variation, (...,); it is never above ``most`` (...,).

        A ratio r is reached where max Σ P' (n − r d) ≥ 0, which is linear in P' for each r: found by halving, rounded up.
        """
        value = self.value
        low, high = value, np.maximum(most, value)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            slope = self.above - middle[..., None, None] * self.below
            reached = (self.table * slope).sum(axis=(-1, -2)) + largest_rise(self.table, slope, error) >= 0  # (D11)
            low, high = np.where(reached, middle, low), np.where(reached, high, middle)
        return np.asarray(high - value)


def largest_rise(table: FloatArray, follows: FloatArray, error: float) -> FloatArray:
    """Of a table P (B, V), of what follows g (..., B, V), and of an error ε: (...,)."""
    return Rises.of(table, follows).at(error)
