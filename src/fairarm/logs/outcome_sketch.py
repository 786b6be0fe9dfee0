"""The values of a real outcome by cell, read once more: what sums by cell do not hold, and a hidden cause asks for."""

from __future__ import annotations

from copy import copy

import numpy as np

from fairarm.core.doubt.sketch import Sketch, edges_for
from fairarm.core.types import BoolArray
from fairarm.logs.reading import LogReader
from fairarm.logs.usable import possible_lines
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import groups_of, scaled_outcomes
from fairarm.problem.space import CellSpace

MOST_BINS, LEAST_BINS = 64, 8
MOST_ENTRIES = 1 << 15
"""Bins × cells that are drawn a thousand times over: 256 MiB. With many cells bins are fewer, and bounds a little wider."""


def outcome_sketch(reader: LogReader, problem: Problem, arms: BoolArray) -> Sketch | None:
    """Of the usable rows of these arms (K,); None where no row is theirs. ``problem`` has the mechanisms that were fitted."""
    cells = problem.compiled.shared_cells if problem.plain else problem.compiled.world_cells
    space = CellSpace.of(problem.cell_columns, problem.variables)
    bins = int(np.clip(MOST_ENTRIES // cells.cells, LEAST_BINS, MOST_BINS))
    made: Sketch | None = None
    for part in copy(reader).chunks():  # what is wrong with the rows was said when they were first read
        batch = part.batch
        batch = batch.take(np.flatnonzero(arms[batch.arm] & possible_lines(problem, batch)))
        values = scaled_outcomes(problem, batch)
        if made is None and len(values):
            made = Sketch.empty(cells.cells, edges_for(values, bins))
        if made is not None:
            at = cells.cell_of[groups_of(problem, batch), space.number(batch.columns)]
            made = made.add(at, values, batch.count)
    return made
