"""Mechanisms P(X | pa(X)): tables for finite nodes, code for anything else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairarm.core.types import FloatArray
from fairarm.errors import ProblemError
from fairarm.problem.variables import Variable, check_parents

Columns = Mapping[str, NDArray[Any]]
"""Observations by column: int64 codes for finite nodes, float64 values for real ones; all of one length."""

ROW_TOLERANCE = 1e-6
"""A probability row whose sum is this close to 1 is renormalised and noted; a worse one is an error."""

_ROUNDING = 1e-12
MAX_ENTRIES = 1 << 24
"""Largest table, in entries (128 MiB of float64), checked before memory is taken."""


def checked_rows(table: FloatArray, where: str) -> tuple[FloatArray, int]:
    """Probability rows (last axis), validated, and how many had to be renormalised.

    ``where`` starts the message and names the table; the offending row is added as indices of the parents' states.
    """
    if not np.all(np.isfinite(table)) or np.any(table < 0):
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(table) | (table < 0))[0])
        raise ProblemError(
            f"{where}: entry {list(index)} is {table[index]}. Probabilities are finite and not negative."
        )
    sums = table.sum(axis=-1, keepdims=True)
    off = np.abs(sums - 1.0)
    if np.any(off > ROW_TOLERANCE):
        index = tuple(int(i) for i in np.argwhere(off[..., 0] > ROW_TOLERANCE)[0])
        raise ProblemError(
            f"{where}: row {list(index)} sums to {float(sums[index][0]):.9g}. Each row must sum to 1 within {ROW_TOLERANCE}."
        )
    repair = off > _ROUNDING
    return np.where(repair, table / sums, table), int(repair.sum())


def check_size(shape: tuple[int, ...], where: str) -> None:
    """Refuse a table that is too large before it is allocated."""
    entries = 1
    for size in shape:
        entries *= size
    if entries > MAX_ENTRIES:
        raise ProblemError(
            f"{where}: a table of {entries} entries; the largest allowed is {MAX_ENTRIES}. Use fewer parents or states."
        )


@dataclass(frozen=True, eq=False)
class Table:
    """P(node | parents) as an array of shape (states of parent 1, …, states of parent p, states of node).

    Rows within 1e-6 of 1 are renormalised; ``renormalised`` counts them. The array is a read-only copy.
    """

    node: str
    parents: tuple[str, ...]
    probabilities: FloatArray
    renormalised: int = field(default=0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parents", tuple(self.parents))
        table = np.array(self.probabilities, dtype=np.float64)
        if table.ndim != len(self.parents) + 1:
            raise ProblemError(
                f"The table of '{self.node}' has {table.ndim} levels; with {len(self.parents)} parents it needs {len(self.parents) + 1}."
            )
        table, repaired = checked_rows(table, f"The table of '{self.node}'")
        table.flags.writeable = False
        object.__setattr__(self, "probabilities", table)
        object.__setattr__(self, "renormalised", self.renormalised + repaired)

    def check(self, variables: Mapping[str, Variable]) -> None:
        """The shape fits the declared states."""
        check_parents(self.node, self.parents, variables)
        shape = tuple(variables[name].size for name in (*self.parents, self.node))
        if self.probabilities.shape != shape:
            raise ProblemError(
                f"The table of '{self.node}' given {list(self.parents)} has shape {self.probabilities.shape}; its states ask for {shape}."
            )

    def log_prob(self, columns: Columns) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.log(self.probabilities[tuple(columns[name] for name in (*self.parents, self.node))])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return (self.node, self.parents) == (other.node, other.parents) and np.array_equal(
            self.probabilities, other.probabilities
        )

    def __hash__(self) -> int:
        return hash((self.node, self.parents, self.probabilities.tobytes()))


def table(node: str, parents: tuple[str, ...] | list[str], rows: ArrayLike) -> Table:
    """A table from nested lists: ``table("V", ["S"], [[0.3, 0.7], [0.4, 0.6]])``."""
    try:
        array = np.array(rows, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise ProblemError(f"The table of '{node}' is not a rectangular array of numbers: {error}") from None
    return Table(node, tuple(parents), array)


@dataclass(frozen=True)
class Code:
    """A mechanism written in Python: ``function(columns) -> log P(x | pa(x))``, one value per observation.

    It receives the columns of the parents and of the node. Lives in Python only: a problem that has one cannot be saved.
    """

    node: str
    parents: tuple[str, ...]
    function: Callable[[Columns], ArrayLike]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parents", tuple(self.parents))

    def check(self, variables: Mapping[str, Variable]) -> None:
        check_parents(self.node, self.parents, variables)

    def log_prob(self, columns: Columns) -> FloatArray:
        given = {name: columns[name] for name in (*self.parents, self.node)}
        values = np.asarray(self.function(given), dtype=np.float64)
        expected = (len(columns[self.node]),)
        if values.shape != expected or np.any(np.isnan(values)) or np.any(np.isposinf(values)):
            raise ProblemError(
                f"The code of '{self.node}' must return {expected[0]} log-probabilities (finite or −inf); "
                f"it returned shape {values.shape}" + (" with nan or +inf." if values.shape == expected else ".")
            )
        return values


@dataclass(frozen=True)
class Arm:
    """A candidate mechanism of the decision node."""

    name: str
    mechanism: Table | Code

    @property
    def parents(self) -> tuple[str, ...]:
        return self.mechanism.parents
