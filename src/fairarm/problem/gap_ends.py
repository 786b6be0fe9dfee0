"""What the paper's algorithms test: differences of two groups' means, each estimated both ways, with its ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairarm.core.types import FloatArray, IntArray
from fairarm.errors import ProblemError
from fairarm.problem.fairness import Row

if TYPE_CHECKING:
    from fairarm.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class GapEnds:
    """Ends of ζ^{t,u} = μ(t) − μ(u) for every compared pair (t, u), on the scale of Y': above_p < ζ_p < below_p, (P,) each.

    ∓inf where there is none.
    """

    above: FloatArray
    below: FloatArray

    @property
    def narrowest(self) -> float:
        """Half of the smallest distance between two ends: the tolerance E, where a gap must lie between −E and E."""
        return float(np.min(self.below - self.above) / 2)


def gap_ends(problem: Problem) -> GapEnds:
    """The ends of every compared pair; an error that names the constraint where it asks something else.

    A row bounds its gap both ways: ζ^{t,u} between its ends, and ζ^{u,t} = −ζ^{t,u} between them with the signs changed. Of
    several rows about one pair the strictest ends count.
    """
    P = len(problem.compared)
    above, below = np.full(P, -np.inf), np.full(P, np.inf)
    for row in problem.rows:
        if (pair := _pair(problem, row)) is None:
            raise ProblemError(
                f"Constraint '{row.constraint}' does not bound a difference of two groups' means (compare = 'pairs' or 'reference' with "
                f"a tolerance), which is all that the paper's algorithms test: use `pool`."
            )
        low, high = row.ends(problem.outcome)
        for (t, u), least, most in ((pair, low, high), (pair[::-1], -high, -low)):
            p = problem.compared.index((t, u))
            above[p], below[p] = max(above[p], least), min(below[p], most)
    return GapEnds(above, below)


def row_pairs(problem: Problem) -> IntArray:
    """Which compared pair's gap each row is, (J,): its position, −1 for a row that is no gap."""
    pairs = [_pair(problem, row) for row in problem.rows]
    return np.array([-1 if pair is None else problem.compared.index(pair) for pair in pairs])


def _pair(problem: Problem, row: Row) -> tuple[int, int] | None:
    """The two groups whose means a row subtracts; None where it is something else."""
    if not problem.plain or row.as_group is None or row.people is None or row.everyone:
        return None
    t, u = problem.groups.index(row.as_group), problem.groups.index(row.people)
    gap = tuple(1.0 if i == t else -1.0 if i == u else 0.0 for i in range(len(problem.groups)))
    return (t, u) if row.weights == gap else None
