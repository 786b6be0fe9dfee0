"""Cells: every combination of values of the observed finite columns, numbered."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairarm.core.types import IntArray
from fairarm.errors import ProblemError
from fairarm.problem.variables import Variable

if TYPE_CHECKING:
    from fairarm.problem.problem import Problem

MAX_CELLS = 1 << 22
"""Most cells held as a table; checked before memory is taken."""
MAX_POINTS = 1 << 26
"""Most values by arm, group and point (K × G × points) held at once: 512 MiB."""


def check_points(problem: Problem, points: int) -> None:
    """An error before memory is taken for a value of every arm and group at so many points."""
    K, G = len(problem.arms), len(problem.groups)
    if (size := points * K * G) > MAX_POINTS:
        raise ProblemError(
            f"{K} arms and {G} groups of '{problem.sensitive}' over {points} cells need {size} likelihood values; at most "
            f"{MAX_POINTS} are held. Use fewer arms, or merge states."
        )


@dataclass(frozen=True)
class CellSpace:
    """Columns in a fixed order with their sizes; cell number = mixed-radix code, last column fastest."""

    columns: tuple[str, ...]
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, columns: tuple[str, ...], variables: Mapping[str, Variable]) -> CellSpace:
        """The space of finite columns; an error before it is too large to be held."""
        space = cls(columns, tuple(variables[name].size for name in columns))
        if space.count > MAX_CELLS:
            raise ProblemError(
                f"The observed columns {list(columns)} make {space.count} cells; at most {MAX_CELLS} are held as a table. "
                f"Merge states, or use arms with fewer inputs."
            )
        return space

    @property
    def count(self) -> int:
        """C: the product of the sizes."""
        return math.prod(self.sizes)

    def number(self, columns: Mapping[str, NDArray[Any]]) -> IntArray:
        """The cell of each observation."""
        length = len(next(iter(columns.values())))
        cell = np.zeros(length, dtype=np.int64)
        for name, size in zip(self.columns, self.sizes, strict=True):
            cell *= size
            cell += columns[name]
        return cell

    def codes(self, cells: IntArray | None = None) -> dict[str, IntArray]:
        """The columns of the given cells, or of all of them in order."""
        numbers = np.arange(self.count) if cells is None else cells
        if not self.columns:
            return {}
        return dict(zip(self.columns, np.unravel_index(numbers, self.sizes), strict=True))
