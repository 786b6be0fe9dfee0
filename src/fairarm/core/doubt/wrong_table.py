"""A declared table that is wrong: how far a value moves if every row of the table is off by at most ε in total variation.

A value is linear in each row of a table: Σ_r Σ_v P(v | r) g(r, v), g(r, v) what follows from state v at row r, times P(r). With ε of
each row free, as much as there is moves from the states of least g to the state of largest g:

    Σ_r ε (max_v g(r, v) − min_v g(r, v))      where the least states have ε; less where they have not

Axes: B rows of a table, V its states; what stands before them is up to the caller.
"""

from __future__ import annotations

import numpy as np

from fairarm.core.types import FloatArray


def largest_rise(table: FloatArray, follows: FloatArray, error: FloatArray | float) -> FloatArray:
    """max Σ_r Σ_v (P'(v | r) − P(v | r)) g(r, v) with each row of P' within ε of P in total variation, (...,): exact.

    ``table`` P (B, V), ``follows`` g (..., B, V), ``error`` ε, a number or (...,).
    """
    order = np.argsort(follows, axis=-1)
    values = np.take_along_axis(follows, order, -1)
    mass = np.take_along_axis(np.broadcast_to(table, follows.shape), order, -1)
    before = np.cumsum(mass, axis=-1) - mass
    taken = np.clip(np.asarray(error)[..., None, None] - before, 0.0, mass)
    # what is taken from a state goes to the best one; of the best itself nothing is gained
    return np.asarray((taken * (values[..., -1:] - values)).sum(axis=(-1, -2)))  # (D9)


def largest_fall(table: FloatArray, follows: FloatArray, error: FloatArray | float) -> FloatArray:
    """The same downwards, as a number that is not negative."""
    return largest_rise(table, -follows, error)
