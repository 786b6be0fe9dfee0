"""The rows of a problem: every question of fairness as linear functions of the means, each with its ends.

    above_j < Σ_t a_jt μ_k(t) + e_j μ_k < below_j                  (either end may be missing)

μ_k(t) is arm k's mean outcome with everybody in group t, μ_k its outcome. An arm is fair if all rows hold, strictly. What is below this
module sees rows alone, never which question they came from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairarm.core.fairness import Rows
from fairarm.errors import ProblemError
from fairarm.frames import Column, columns_of
from fairarm.problem.constraint import Constraint, weighted_sum
from fairarm.problem.outcome import Outcome

if TYPE_CHECKING:
    from fairarm.problem.problem import Problem

MAX_GROUPS, MAX_ROWS = 20, 500
MAX_NUMBERS = 1 << 26
"""Of arms × rows (or groups) × cells: each is a number that planning holds."""
MEAN = "mean"
"""In the name of a row: the mean over everybody."""


@dataclass(frozen=True)
class Row:
    """One row, in the outcome's own units."""

    constraint: str
    """The name of the question that it belongs to."""
    name: str
    """E.g. "a - b", "a / b", "a - mean", "a"."""
    as_group: str | None
    """The group whose mean is compared, or bounded: people as if they were of it. None for a weighted sum."""
    people: str | None
    """The group that it is compared with; None where that is everybody, or nobody."""
    weights: tuple[float, ...]
    """a_jt, by group."""
    everyone: float
    """e_j."""
    above: float | None
    below: float | None

    @property
    def is_gap(self) -> bool:
        """A difference that may lie on both sides of 0 alike: |Σ| < below."""
        return self.above is not None and self.below is not None and self.above == -self.below

    @property
    def ratio(self) -> float | None:
        """ρ where it asks that one mean is more than ρ times another, first − ρ second > 0; None of other rows."""
        parts = sorted(part for part in (*self.weights, self.everyone) if part)
        compares = self.as_group is not None or self.people is not None
        asked = compares and self.above == 0 and self.below is None and len(parts) == 2
        return -parts[0] if asked and -1 < parts[0] < 0 else None

    def ends(self, outcome: Outcome) -> tuple[float, float]:
        """The ends on the scale of Y', ∓inf where there is none: (b − lo (Σ_t a_jt + e_j)) / (hi − lo)."""
        shift = self._shift(outcome)
        low = -np.inf if self.above is None else (self.above - shift) / outcome.width
        high = np.inf if self.below is None else (self.below - shift) / outcome.width
        return low, high

    def in_units(self, outcome: Outcome, value: float) -> float:
        """A value on the scale of Y' in the outcome's own units: (hi − lo) v' + lo (Σ_t a_jt + e_j)."""
        return float(outcome.width * value + self._shift(outcome))

    def _shift(self, outcome: Outcome) -> float:
        return (outcome.low or 0.0) * (sum(self.weights) + self.everyone)


def rows_of(constraints: Sequence[Constraint], groups: tuple[str, ...], outcome: Outcome) -> tuple[Row, ...]:
    """The rows of all questions, in their order; equal rows are one row."""
    if len(constraints) > MAX_ROWS:
        raise ProblemError(
            f"There are {len(constraints)} constraints; at most {MAX_ROWS} are looked at. Leave some out."
        )
    found: dict[tuple[object, ...], Row] = {}
    for asked in constraints:
        for row in _rows(asked, groups, outcome):
            found.setdefault((row.weights, row.everyone, row.above, row.below), row)
        if len(found) > MAX_ROWS:
            raise ProblemError(
                f"With constraint '{asked.label}' there are {len(found)} rows to hold, each a comparison of groups; at most "
                f"{MAX_ROWS} are looked at. Compare fewer groups (groups = [...]), or against a reference or the mean."
            )
    for row in found.values():
        _check_possible(row, outcome)
    return tuple(found.values())


def _check_possible(row: Row, outcome: Outcome) -> None:
    """Some means in the outcome's range make it hold; whether the arms' do is what a run finds out."""
    low, high = row.ends(outcome)
    parts = (*row.weights, row.everyone)
    least, most = sum(min(part, 0.0) for part in parts), sum(max(part, 0.0) for part in parts)
    if low >= most or high <= least:
        wanted = f"above {row.above:g}" if low >= most else f"below {row.below:g}"
        raise ProblemError(
            f"Constraint '{row.constraint}' asks for {row.name} {wanted}: no arm can meet that while '{outcome.node}' lies between "
            f"{outcome.low:g} and {outcome.high:g}. Ends are in the outcome's own units."
        )


def require_small(problem: Problem, cells: int) -> None:
    """An error where what is asked of every arm would take more memory than is given to it. One gap is held by arms and cells alone."""
    arms, wide = len(problem.arms), max(len(problem.groups), len(problem.rows))
    if not problem.has_one_gap and arms * wide * cells > MAX_NUMBERS:
        name, most = _largest(problem.rows)
        raise ProblemError(
            f"{arms} arms × {wide} {'rows' if len(problem.rows) == wide else 'groups'} × {cells} cells are more than {MAX_NUMBERS} "
            f"numbers; the constraint '{name}' makes {most} rows. Compare fewer groups, merge states, or use arms with fewer inputs."
        )


def _largest(rows: Iterable[Row]) -> tuple[str, int]:
    """The question that makes the most rows, and how many."""
    return Counter(row.constraint for row in rows).most_common(1)[0]


def compared_pairs(rows: Iterable[Row], groups: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """Every ordered pair (t, u) of groups that some row compares, each way in turn: people of u, as if they were of t."""
    found: dict[tuple[int, int], None] = {}
    for row in rows:
        if row.as_group is not None and row.people is not None:
            t, u = groups.index(row.as_group), groups.index(row.people)
            found.update({(t, u): None, (u, t): None})
    return tuple(found)


def pair_names(problem: Problem) -> tuple[str, ...]:
    """The compared pairs (t, u) as they are keyed in results: "t|u"."""
    return tuple(f"{problem.groups[t]}|{problem.groups[u]}" for t, u in problem.compared)


def row_labels(problem: Problem) -> tuple[str, ...]:
    """What the rows are called where an arm's is spoken of: "gap" where that is all that is asked about."""
    return ("gap",) if problem.has_one_gap else tuple(row.name for row in problem.rows)


def row_columns(problem: Problem, arms: Sequence[str]) -> dict[str, Column]:
    """The first columns of a frame with a line for each of these arms and row: which, and between what it must lie."""
    lines = [(arm, row) for arm in arms for row in problem.rows]
    named = columns_of([row for _, row in lines], constraint=str, name=str, above=float, below=float)
    return {"arm": (str, [arm for arm, _ in lines]), "constraint": named["constraint"], "row": named["name"]} | {
        end: named[end] for end in ("above", "below")
    }


def scaled_rows(problem: Problem) -> Rows:
    """The rows as arrays, on the scale of Y'."""
    return _as_arrays(problem.rows, [row.ends(problem.outcome) for row in problem.rows])


def unscaled_rows(problem: Problem) -> Rows:
    """The rows as arrays, in the outcome's own units."""
    ends = [
        (-np.inf if row.above is None else row.above, np.inf if row.below is None else row.below)
        for row in problem.rows
    ]
    return _as_arrays(problem.rows, ends)


def _as_arrays(rows: Sequence[Row], ends: Sequence[tuple[float, float]]) -> Rows:
    low, high = np.array(ends, dtype=np.float64).T
    return Rows(np.array([row.weights for row in rows]), np.array([row.everyone for row in rows]), low, high)


def _rows(asked: Constraint, groups: tuple[str, ...], outcome: Outcome) -> Iterator[Row]:
    if unknown := [name for name in asked.named if name not in groups]:
        raise ProblemError(
            f"Constraint '{asked.label}' names the group '{unknown[0]}'. The groups are: {', '.join(groups)}."
        )
    if asked.ratio is not None and (outcome.low or 0.0) < 0:
        raise ProblemError(
            f"Constraint '{asked.label}': a ratio needs an outcome that is never negative; '{outcome.node}' starts at {outcome.low:g}. "
            f"Use a tolerance."
        )
    among = tuple(group for group in groups if not asked.groups or group in asked.groups)
    if asked.compare == "weights":
        yield _weighted(asked, groups)
    elif asked.compare == "floor":
        for group in among:
            yield _row(asked, groups, group, {group: 1.0}, None, asked.at_least, None)
    elif asked.compare == "mean":
        for group in among:
            yield from _compared(asked, groups, group, None)
    else:
        yield from _pairs(asked, groups, among)


def _pairs(asked: Constraint, groups: tuple[str, ...], among: tuple[str, ...]) -> Iterator[Row]:
    """Each two of them, or each with the reference."""
    if asked.reference is not None:
        pairs = [(group, asked.reference) for group in among if group != asked.reference]
    else:
        pairs = [(first, second) for i, first in enumerate(among) for second in among[i + 1 :]]
    if not pairs:
        raise ProblemError(
            f"Constraint '{asked.label}' compares {', '.join(among)} alone: there are no two groups to compare. Name more of "
            f"them, or leave groups out."
        )
    for first, second in pairs:
        yield from _compared(asked, groups, first, second)


def _compared(asked: Constraint, groups: tuple[str, ...], first: str, second: str | None) -> Iterator[Row]:
    """``first`` with ``second``, or with everybody where that is None: their difference, or their quotient both ways."""
    below, above = asked.direction != "not_below", asked.direction != "not_above"
    if asked.tolerance is not None:
        if second is not None and above and below:  # |first − second| is |second − first|: one row, however it is asked
            first, second = sorted((first, second), key=groups.index)
        ends = -asked.tolerance if above else None, asked.tolerance if below else None
        yield _row(asked, groups, first, {first: 1.0, second: -1.0}, second, *ends)
        return
    ratio = asked.ratio or 0.0
    if above:
        yield _row(asked, groups, first, {first: 1.0, second: -ratio}, second, 0.0, None)
    if below:
        yield _row(asked, groups, second, {second: 1.0, first: -ratio}, first, 0.0, None)


def _row(
    asked: Constraint,
    groups: tuple[str, ...],
    first: str | None,
    weights: dict[str | None, float],
    second: str | None,
    above: float | None,
    below: float | None,
) -> Row:
    """``weights`` of groups, of everybody under None."""
    sign = "/" if asked.ratio is not None else "-"
    other = None if asked.compare == "floor" else second or MEAN
    name = first or MEAN if other is None else f"{first or MEAN} {sign} {other}"
    by_group = tuple(weights.get(group, 0.0) for group in groups)
    return Row(asked.label, name, first, second, by_group, weights.get(None, 0.0), above, below)


def _weighted(asked: Constraint, groups: tuple[str, ...]) -> Row:
    weights = dict(asked.weights)
    if not any(weights.values()):
        raise ProblemError(f"Constraint '{asked.label}': every weight is 0, so that it says nothing. Leave it out.")
    if asked.is_gap:  # always the earlier group minus the later one
        first, second = (group for group in groups if weights.get(group))
        return next(_compared(asked, groups, first, second))
    ends = (asked.at_least, asked.at_most) if asked.tolerance is None else (-asked.tolerance, asked.tolerance)
    by_group = tuple(weights.get(group, 0.0) for group in groups)
    return Row(asked.label, weighted_sum(asked), None, None, by_group, 0.0, *ends)
