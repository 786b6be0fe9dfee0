"""The law of what an arm sees: declared as a table, or as a sample of rows of a logging arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.core.types import FloatArray
from fairarm.errors import ProblemError
from fairarm.problem.mechanism import Columns


@dataclass(frozen=True, eq=False)
class ContextLaw:
    """h, the factor that every arm and group shares: p_{k,t}(cell) = L[k, t](cell) · h(cell).

    ``weights`` has one axis for each of ``variables`` and h does not depend on the others. Where no observed variable
    descends from V or from a child of S, the variables are the context (what the arms and children are given) and
    the weights its probabilities: for HEPAR-II, P(age, ChHepatitis).
    """

    variables: tuple[str, ...]
    weights: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "variables", tuple(self.variables))
        weights = np.array(self.weights, dtype=np.float64)
        if weights.ndim != len(self.variables):
            raise ProblemError(
                f"The context law of {list(self.variables)} has {weights.ndim} levels; it needs {len(self.variables)}, one a variable."
            )
        if not np.all(np.isfinite(weights)) or np.any(weights < 0):
            raise ProblemError(
                f"The context law of {list(self.variables)} has entries that are negative or not finite."
            )
        weights.flags.writeable = False
        object.__setattr__(self, "weights", weights)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ContextLaw):
            return NotImplemented
        return self.variables == other.variables and np.array_equal(self.weights, other.weights)

    def __hash__(self) -> int:
        return hash((self.variables, self.weights.tobytes()))


@dataclass(frozen=True, eq=False)
class ContextSample:
    """Natural rows of one arm (usually the deployed one), from a log: the columns of a pull, without the outcome.

    Divergences are then empirical: exact sums or integrals over V given each row's context. ``arm`` made the rows.
    """

    arm: str
    columns: Columns

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(next(iter(self.columns.values())))
