"""Do rows belong together? Columns named like ids of people, shops or sessions are tested for rows that are alike."""

from __future__ import annotations

import re
from copy import copy
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc

from fairarm.beliefs.findings import Finding, Level
from fairarm.beliefs.lines import distinct
from fairarm.core.types import FloatArray, IntArray
from fairarm.errors import DataError
from fairarm.logs import queries as ask
from fairarm.logs.findings import MISMATCH
from fairarm.logs.reading import LogReader
from fairarm.problem.pulls import scaled_outcomes

_WORD = "user|person|customer|patient|applicant|account|household|shop|store|school|ward|agent|session"
_UNIT = re.compile(rf"(?:^|_)(?:(?:{_WORD})s?(?:_?(?:id|no|nr|number|key|code))?$|id(?:_|$))")
"""Names in snake case that say what a row belongs to: shop, shop_id, id_shop, but not user_age or reward."""

MOST_UNITS = 1 << 12
"""Ids that are tested: the first in order."""
ALIKE = 0.00135
"""1 − Φ(3): a smaller p-value is z > 3, where there are many ids."""
FEWEST_PEOPLE = 20


class UnitLines(NamedTuple):
    """Rows of ids that appear more than once: one line per id, cell and outcome, (I,) each."""

    unit: IntArray
    cell: IntArray
    group: IntArray
    rows: IntArray
    y: FloatArray
    yy: FloatArray
    """Σ Y' and Σ Y'²."""


def check_units(reader: LogReader) -> list[Finding]:
    """Ids whose rows have similar outcomes, or one attribute, so that intervals are too narrow. Lines with counts have no ids."""
    known = {*reader.columns, reader.map.row_id, reader.map.time}
    ids = [name for name in reader.table.columns if name not in known and is_unit_name(name)]
    return [finding for name in ids for finding in _found(reader, name)] if reader.map.count is None else []


def is_unit_name(name: str) -> bool:
    """Whether a column's name says that rows belong to people, shops or the like."""
    return _UNIT.search(re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", "_", name).lower()) is not None


def _found(reader: LogReader, column: str) -> list[Finding]:
    try:
        lines = _unit_lines(reader, column)
    except (
        DataError
    ):  # no plain values, or too many combinations: a column that nobody declared must not end an evaluation
        return []
    out = f"so intervals are too narrow. Keep one row of each '{column}', chosen at random."
    (z, p), people, found = alike(lines), constant_units(lines), {}
    if p < ALIKE:
        found["rows-alike"] = f"Rows with the same '{column}' have similar outcomes (z = {z:.1f}), {out}"
    if people:
        names = ", ".join(reader.problem.attributes)
        found["repeated-people"] = (
            f"'{names}' never changes within '{column}' ({people} ids have several rows): people seem to return, {out}"
        )
    return [Finding(name, text, int(lines.rows.sum()), level=Level.BLOCKS_ANSWER) for name, text in found.items()]


def _unit_lines(reader: LogReader, column: str) -> UnitLines:
    """Counted in the engine. A cell has the attributes in it, so that the order of a file does not matter, and no real-valued input."""
    twin, problem = copy(reader), reader.problem
    twin.tallies, twin.table = {}, reader.table.changed(lambda frame: ask.of_repeated(frame, column, MOST_UNITS))
    found = twin.table.counts([*twin.keys, column], real=twin.real, due=twin.due)
    taken, used = twin.taken_lines(found)
    codes, n = taken.batch.columns, taken.batch.count
    y = n * (value := scaled_outcomes(problem, taken.batch))
    if found.sums is None:
        yy = y * value
    else:
        y, within, _ = found.sums[used].T
        yy = within + y**2 / n
    cells = [name for name in problem.cell_columns if problem.variables[name].finite]
    group = [codes[name] for name in problem.attributes]
    unit, cell, of_group = (distinct(key)[1] for key in ([found.keys[column][used].astype(str)], [*group, *(codes[name] for name in cells)], group))  # fmt: skip
    return UnitLines(unit, cell, of_group, n, y, yy)


def alike(lines: UnitLines) -> tuple[float, float]:
    """How far rows with the same id are alike, as z, and its p-value.

    (U8) z = Σ_u [r_u² − Σ e²] / √(2 Σ_u [(Σ e²)² − Σ e⁴]), r_u = Σ_{i in u} e_i, e_i = (y_i − ȳ_c) √(n_c / (n_c − 1)). With few ids z
    is skewed like χ² of d = (Σ v²)³ / (Σ v³)² degrees of freedom, v_u² a term of the denominator: p < 1 − Φ(3) is z > 3 only with many.
    Σ e⁴ of a line is at least (Σ e²)² / n, which is exact where its outcomes are equal.
    """
    unit, cell, _, n, y, yy = lines
    total = np.bincount(cell, n)
    mean, scale = (np.bincount(cell, y) / total)[cell], (total / np.maximum(total - 1, 1))[cell]
    e, ee = np.sqrt(scale) * (y - n * mean), scale * (yy - 2 * mean * y + n * mean**2)
    r, q, f = (np.bincount(unit, each) for each in (e, ee, ee**2 / n))
    square = np.maximum(q**2 - f, 0.0)
    if square.sum() <= 1e-12 * (q**2).sum():
        return 0.0, 1.0
    z, d = (r**2 - q).sum() / np.sqrt(2 * square.sum()), square.sum() ** 3 / (square**1.5).sum() ** 2
    return float(z), float(chdtrc(d, max(d + z * np.sqrt(2 * d), 0.0)))


def constant_units(lines: UnitLines) -> int:
    """Ids with several rows, if the attribute never changes within any of them, they are enough and it is not by chance; else 0."""
    size, shares = np.bincount(lines.unit, lines.rows), np.bincount(lines.group, lines.rows) / lines.rows.sum()
    pairs = len(np.unique(np.stack([lines.unit, lines.group]), axis=1).T)
    size, changes = size[size > 1], pairs > len(size)
    by_chance = np.log((shares ** size[:, None]).sum(axis=1)).sum()
    return 0 if changes or len(size) < FEWEST_PEOPLE or by_chance > np.log(MISMATCH) else len(size)
