"""The rows of a problem: every question of fairness as linear functions of the means, each with its ends.

    above_j < Σ_ω a_jω μ_k(ω) + e_j μ_k < below_j                  (either end may be missing)

μ_k(ω) is arm k's mean outcome in the world ω (`worlds.py`): plainly, with everybody in group t. μ_k is its outcome. An arm is fair if
all rows hold, strictly. What is below this module sees rows alone, never which question they came from (`questions.py`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fairarm.core.fairness import Rows
from fairarm.errors import ProblemError
from fairarm.frames import Column, columns_of
from fairarm.problem.constraint import Constraint, Effect
from fairarm.problem.outcome import Outcome
from fairarm.problem.questions import MAX_GROUPS as MAX_GROUPS
from fairarm.problem.questions import MEAN as MEAN
from fairarm.problem.questions import Comparison, Question, Scene, questions_of
from fairarm.problem.worlds import AS_IT_IS, Profile, Reading, World, profile_name, reading_of

if TYPE_CHECKING:
    from fairarm.problem.problem import Problem

MAX_ROWS = 500
MAX_NUMBERS = 1 << 26
"""Of arms × rows (or worlds) × cells: each is a number that planning holds."""


@dataclass(frozen=True)
class Row:
    """One row, in the outcome's own units."""

    constraint: str
    """The name of the question that it belongs to."""
    name: str
    """E.g. "a - b", "a / b", "a - mean", "a"; "b as a - b" where people of b are compared with themselves."""
    as_group: str | None
    """The group whose mean is compared, or bounded: people as if they were of it. None for a weighted sum."""
    people: str | None
    """The group that it is compared with, whose people they are; None where that is everybody, or nobody."""
    weights: tuple[float, ...]
    """a_jω, by world: plainly, by group."""
    everyone: float
    """e_j."""
    above: float | None
    below: float | None
    attributes: tuple[str, ...] = ()
    """Whose groups these are; with several, a group is a combination of their states."""
    keep: tuple[str, ...] = ()
    """The nodes that stay as they are where people are read as of another group."""
    effect: Effect = "total"
    """Which part of the difference between two groups it is."""

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
        """The ends on the scale of Y', ∓inf where there is none: (b − lo (Σ_ω a_jω + e_j)) / (hi − lo)."""
        shift = self._shift(outcome)
        low = -np.inf if self.above is None else (self.above - shift) / outcome.width
        high = np.inf if self.below is None else (self.below - shift) / outcome.width
        return low, high

    def in_units(self, outcome: Outcome, value: float) -> float:
        """A value on the scale of Y' in the outcome's own units: (hi − lo) v' + lo (Σ_ω a_jω + e_j)."""
        return float(outcome.width * value + self._shift(outcome))

    def _shift(self, outcome: Outcome) -> float:
        return (outcome.low or 0.0) * (sum(self.weights) + self.everyone)


class Asked(NamedTuple):
    """What the constraints of a problem ask of every arm."""

    rows: tuple[Row, ...]
    worlds: tuple[World, ...]
    """What the rows' weights go by: plainly, everybody as each of the groups, in order; else the worlds that rows use."""
    readings: tuple[Reading, ...]
    """Beside the worlds."""
    left_out: tuple[tuple[str, str, float], ...]
    """Combinations of attributes that too few people have: constraint, group, and P(group)."""
    plain: bool
    """One attribute without causes, and nothing is kept."""


class _Found(NamedTuple):
    question: Question
    comparison: Comparison
    weights: dict[World, float]


def rows_of(constraints: Sequence[Constraint], scene: Scene) -> Asked:
    """The rows of all questions, in their order; equal rows are one row."""
    if len(constraints) > MAX_ROWS:
        raise ProblemError(
            f"There are {len(constraints)} constraints; at most {MAX_ROWS} are looked at. Leave some out."
        )
    found: dict[object, _Found] = {}
    left_out: list[tuple[str, str, float]] = []
    for asked in constraints:
        for question in questions_of(asked, scene):
            for each in question.comparisons():
                weights = _weights(asked, each)
                found.setdefault((frozenset(weights.items()), each.above, each.below), _Found(question, each, weights))
            left_out += [(asked.label, name, share) for name, share in question.left_out.items()]
        if len(found) > MAX_ROWS:
            raise ProblemError(
                f"With constraint '{asked.label}' there are {len(found)} rows to hold, each a comparison of groups; at most "
                f"{MAX_ROWS} are looked at. Compare fewer groups (groups = [...]), or against a reference or the mean."
            )
    return _as_asked(tuple(found.values()), tuple(left_out), scene)


def _weights(asked: Constraint, compared: Comparison) -> dict[World, float]:
    """By world, those that count; there must be some."""
    weights: dict[World, float] = {}
    for world, weight in compared.parts:
        weights[world] = weights.get(world, 0.0) + weight
    counted = {world: weight for world, weight in weights.items() if weight}
    if not counted:
        raise ProblemError(
            f"Constraint '{asked.label}': {compared.name} is 0 whatever the arm: every arm meets it. Leave it out."
        )
    return counted


def _as_asked(found: Sequence[_Found], left_out: tuple[tuple[str, str, float], ...], scene: Scene) -> Asked:
    """The rows over one list of worlds, each of which can be told."""
    used = dict.fromkeys(world for each in found for world in each.weights if world != AS_IT_IS)
    simple = len(scene.states) == 1 and all(block.simple for block in scene.roles.blocks)
    plain = simple and not any(world.keep for world in used)
    if plain:
        ((attribute, groups),) = scene.states.items()
        used = dict.fromkeys(World(((attribute, group),)) for group in groups)
    worlds = tuple(used)
    rows = tuple(_row(each, worlds) for each in found)
    for row in rows:
        _check_possible(row, scene.outcome)
    return Asked(rows, worlds, _readings(worlds, found, scene), left_out, plain)


def _readings(worlds: tuple[World, ...], found: Sequence[_Found], scene: Scene) -> tuple[Reading, ...]:
    """Of each world; an error names the constraint. Worlds that differ by states alone are read alike."""
    asked_by = {world.shape: question.asked.label for question, _, weights in reversed(found) for world in weights}
    roles = scene.roles
    known: dict[object, Reading] = {}
    for world in worlds:
        if world.shape not in known:
            try:
                known[world.shape] = reading_of(world, roles.graph, roles.attributes, scene.outcome.node, roles.blocks)
            except ProblemError as error:
                raise ProblemError(f"Constraint '{asked_by[world.shape]}': {error}") from None
    return tuple(replace(known[world.shape], world=world) for world in worlds)


def _row(found: _Found, worlds: tuple[World, ...]) -> Row:
    question, compared, weights = found
    by_world = tuple(weights.get(world, 0.0) for world in worlds)
    kept = next((world.keep for world in weights if world.keep), ())
    return Row(
        question.asked.label, compared.name, compared.as_group, compared.people, by_world, weights.get(AS_IT_IS, 0.0),
        compared.above, compared.below, question.attributes, kept, question.effect,
    )  # fmt: skip


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
    arms, wide = len(problem.arms), max(len(problem.worlds), len(problem.rows))
    if not problem.has_one_gap and arms * wide * cells > MAX_NUMBERS:
        name, most = _largest(problem.rows)
        what = "rows" if len(problem.rows) == wide else "groups" if problem.plain else "worlds"
        raise ProblemError(
            f"{arms} arms × {wide} {what} × {cells} cells are more than {MAX_NUMBERS} "
            f"numbers; the constraint '{name}' makes {most} rows. Compare fewer groups, merge states, or use arms with fewer inputs."
        )


def _largest(rows: Iterable[Row]) -> tuple[str, int]:
    """The question that makes the most rows, and how many."""
    return Counter(row.constraint for row in rows).most_common(1)[0]


def compared_pairs(rows: Iterable[Row], groups: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """Every ordered pair (t, u) of groups that some row compares, each way in turn: people of u, as if they were of t, nothing kept."""
    found: dict[tuple[int, int], None] = {}
    for row in rows:
        if row.as_group in groups and row.people in groups and not row.keep and row.effect == "total":
            t, u = groups.index(row.as_group), groups.index(row.people)
            found.update({(t, u): None, (u, t): None})
    return tuple(found)


def pair_names(problem: Problem) -> tuple[str, ...]:
    """The compared pairs (t, u) as they are keyed in results: "t|u"."""
    return tuple(f"{problem.groups[t]}|{problem.groups[u]}" for t, u in problem.compared)


def reads_first(problem: Problem, row: Row) -> float:
    """1 where people as if they were of ``as_group`` are the first of two means, −1 where they are what these are compared with."""
    read = zip(problem.worlds, row.weights, strict=True)
    return next((math.copysign(1.0, x) for world, x in read if x and _name(row, world.read) == row.as_group), 1.0)


def _name(row: Row, profile: Profile) -> str | None:
    """As rows name groups: by the state of the one attribute, or by those of several."""
    if not profile:
        return None
    return profile[0][1] if len(row.attributes) == 1 else profile_name(profile)


def named_group(problem: Problem, row: Row, group: str | None) -> str | None:
    """A group of a row, with its attribute where there are several and that is not said already: "race=b"."""
    if group is None or len(problem.attributes) == 1 or len(row.attributes) != 1:
        return group
    return f"{row.attributes[0]}={group}"


def tells_either_way(problem: Problem, row: Row) -> bool:
    """What is compared is the same for the people of every group: none of their own is looked at, and nothing is kept."""
    used = [world for world, weight in zip(problem.worlds, row.weights, strict=True) if weight]
    return not any(world.keep or (world.read and world.people) for world in used)


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
