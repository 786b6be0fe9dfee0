"""Mechanisms from data: tables of arms and children fitted from rows, with the counts that say how uncertain they are.

    P(x | pa) ~ Dirichlet(n(pa, x) + 1/states),  the table is its mean

An arm is fitted from its own rows, a child of S from all rows: its mechanism is the same under every arm. Given the
parents, S included, it does not matter whether S was natural or forced. The beliefs draw a fitted table anew for every
draw, so that its error is part of every probability and interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.core.types import IntArray
from fairarm.errors import DataError, ProblemError
from fairarm.problem.mechanism import Columns, Mechanism, Table, Unknown, check_size
from fairarm.problem.problem import Problem
from fairarm.problem.shared_cells import missing_children
from fairarm.problem.space import CellSpace

Counted = tuple[Columns, IntArray]
"""Lines of rows: their columns, as codes, and how many rows each line stands for."""


@dataclass(frozen=True)
class FittedNote:
    """What a fitted mechanism rests on, so that nothing is fitted silently."""

    node: str
    arm: str | None
    """The arm whose mechanism it is; None for a child of S."""
    rows: int
    smallest: int
    """Rows of the parent combination with the fewest, among those seen."""
    unseen: int
    """Parent combinations without a row: there the table is uniform."""
    model: str = ""
    """Which model was fitted in place of a table, how well it predicts decisions, and the overlap; ``smallest`` is then that of decisions."""

    @property
    def text(self) -> str:
        """In a sentence: of what, from how many rows, and where there were none."""
        what = f"arm '{self.arm}'" if self.arm is not None else f"'{self.node}'"
        if self.model:
            return f"The propensity of {what} is estimated from {self.rows} rows, by {self.model}."
        unseen = f"; {self.unseen} combinations have no row: there it is uniform" if self.unseen else ""
        return (
            f"The mechanism of {what} is fitted from {self.rows} rows, at least {self.smallest} for each combination of "
            f"its inputs that was seen{unseen}."
        )


def fit_mechanisms(
    problem: Problem, counts: Mapping[str, Counted], *, children: bool = False
) -> tuple[Problem, tuple[FittedNote, ...]]:
    """The problem with every unknown arm replaced by a table fitted from its own rows, and a note for each.

    ``counts`` holds, by arm, the rows it made, natural and forced alike, with S and the cell's columns. ``children`` also
    fits the mechanisms of relevant children that are not declared, from the rows of all arms.
    """
    lines = {name: _checked(problem, name, *found) for name, found in counts.items()}
    arms, notes = [], []
    for arm in problem.arms:
        if isinstance(arm.mechanism, Unknown):
            own = [lines[arm.name]] if arm.name in lines else []
            table, note = _fit(problem, arm.mechanism.node, arm.mechanism.parents, own, arm.name)
            arm = replace(arm, mechanism=table)
            notes.append(note)
        arms.append(arm)
    mechanisms: dict[str, Mechanism] = dict(problem.mechanisms)
    for child in missing_children(problem) if children else ():
        mechanisms[child], note = _fit(problem, child, problem.roles.graph.parents(child), lines.values(), None)
        notes.append(note)
    return (replace(problem, arms=tuple(arms), mechanisms=mechanisms) if notes else problem), tuple(notes)


def _checked(problem: Problem, arm: str, columns: Columns, rows: IntArray) -> Counted:
    """The lines of one arm, with every finite column checked; only columns that a mechanism can use are kept."""
    problem.arm_index(arm)
    rows = np.asarray(rows)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or np.any(rows < 0):
        raise DataError(f"The row counts of arm '{arm}' must be whole numbers, 0 or more, one a line.")
    kept: dict[str, NDArray[Any]] = {}
    for name in (*problem.attributes, *problem.cell_columns):
        if name not in columns:
            raise DataError(f"The rows of arm '{arm}' have no column '{name}', which the problem needs.")
        values, variable = np.asarray(columns[name]), problem.variables[name]
        if not variable.finite:
            continue
        codes = values.dtype.kind in "iu" and values.shape == rows.shape
        if not codes or np.any(values < 0) or np.any(values >= variable.size):
            raise DataError(
                f"Column '{name}' of arm '{arm}' must hold one code from 0 to {variable.size - 1} for each of {len(rows)} lines."
            )
        kept[name] = values
    return kept, rows


def _fit(
    problem: Problem, node: str, parents: tuple[str, ...], lines: Iterable[Counted], arm: str | None
) -> tuple[Table, FittedNote]:
    what = f"The mechanism of '{node}'" if arm is None else f"Arm '{arm}'"
    names = (*parents, node)
    if real := [name for name in names if not problem.variables[name].finite]:
        raise ProblemError(
            f"{what} cannot be fitted as a table: '{real[0]}' is real-valued. Declare it with states, or fit a model yourself "
            f"(Arm.from_classifier, Arm.from_density, Code)."
        )
    shape = tuple(problem.variables[name].size for name in names)
    check_size(shape, what)
    space, counts = CellSpace(names, shape), np.zeros(int(np.prod(shape)), dtype=np.int64)
    for columns, rows in lines:
        np.add.at(counts, space.number({name: columns[name] for name in names}), rows)
    if not counts.any():
        raise ProblemError(
            f"{what} has no mechanism, and there are no rows to fit it from. Give rows that it made, or declare its table."
        )
    by_parents = counts.reshape(-1, shape[-1]).sum(axis=1)
    seen = by_parents[by_parents > 0]
    note = FittedNote(node, arm, int(seen.sum()), int(seen.min()), len(by_parents) - len(seen))
    return Table.fitted(node, parents, counts.reshape(shape)), note
