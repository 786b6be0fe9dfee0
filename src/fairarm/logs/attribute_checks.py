"""Is a log what it is said to be, where there are several attributes or one has causes: what is declared of them, against natural rows.

Only natural rows tell who comes: in forced ones somebody chose. Attributes of which the graph says that they are independent given their
causes are tested for it. Where they are not, something is missing from the graph, and people as if they were of another group are not
those that the other rows show.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairarm.beliefs.findings import Finding, Level
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.logs.findings import MISMATCH, independence, mismatch, mismatch_level
from fairarm.problem.attributes import Block, d_separated
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch, groups_of
from fairarm.problem.space import CellSpace
from fairarm.problem.worlds import group_name

MUCH = 0.05
"""A difference between shares of a group with which nothing is certified."""

FEWEST, SMALL = 30, 0.01
"""Rows, and the share of all rows, from which on a value of a column is looked at."""


def check_attributes(problem: Problem, batch: Batch, estimated: bool) -> list[Finding]:
    """Natural rows against the declared laws of the attributes (not where they are ``estimated``), and against their independence."""
    natural = batch.take(np.flatnonzero(batch.regime == 0))
    columns = check_columns(problem, natural)
    if problem.plain:
        return columns
    found = [] if estimated else [*_check_laws(problem, natural)]
    return [*found, *check_independence(problem, natural), *columns]


def _check_laws(problem: Problem, natural: Batch) -> Iterator[Finding]:
    """Every block's declared P(a_B | z_B)."""
    for block in problem.roles.blocks:
        declared = problem.own_factor(block)
        if declared is None or declared.node in problem.fitted:
            continue
        seen = _table(problem, natural, block.causes, (), block.members)[:, 0]
        order = [*(declared.parents.index(name) for name in block.causes), declared.probabilities.ndim - 1]
        law = declared.probabilities.transpose(order).reshape(seen.shape)
        p = mismatch(seen, law)
        if p < MISMATCH:
            text = f"{_law_of(block)} in the natural rows is not the declared one (p = {p:.1g}). Correct it, or evaluate with law = estimated."
            yield Finding("group-shares-mismatch", text, natural.total, level=mismatch_level(seen, law))


def _law_of(block: Block) -> str:
    return f"P({', '.join(block.members)}{' | ' if block.causes else ''}{', '.join(block.causes)})"


# ---- independence ----


@dataclass(frozen=True)
class Independence:
    """Two attributes, or blocks of them, that the graph has independent where these nodes are known."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    given: tuple[str, ...]

    @property
    def text(self) -> str:
        """E.g. "'race' and 'sex', given 'region'"."""
        both = " and ".join(", ".join(f"'{name}'" for name in part) for part in (self.first, self.second))
        return f"{both}, given {', '.join(map(repr, self.given))}" if self.given else both


def independences(problem: Problem) -> tuple[Independence, ...]:
    """Each block and every other attribute that is not below it, given the block's causes; equal ones once."""
    found: dict[object, Independence] = {}
    for block in problem.roles.blocks:
        below = {node for member in block.members for node in problem.roles.graph.descendants(member)}
        for other in problem.roles.blocks:
            rest = tuple(name for name in other.members if name not in {*block.causes, *below})
            if other != block and rest:
                each = Independence(block.members, rest, block.causes)
                found.setdefault((frozenset((each.first, each.second)), each.given), each)
    return tuple(found.values())


def check_independence(problem: Problem, natural: Batch) -> list[Finding]:
    """The finding `attributes-dependent`, for each independence of the graph that natural rows contradict; all tests together err in one
    sound log of 10 000."""
    asked, found = independences(problem), []
    for each in asked:
        table = _table(problem, natural, each.given, each.first, each.second)
        p = independence(table)
        if p < MISMATCH / len(asked):
            text = (
                f"The graph has {each.text} independent, and in the natural rows they are not (p = {p:.1g}). Add the missing arrow, a cause that "
                f"is logged, or a hidden node above both: what is said of the groups is wrong without it."
            )
            level = Level.BLOCKS_ANSWER if _apart(table) > MUCH else Level.BLOCKS_CERTIFICATION
            found.append(Finding("attributes-dependent", text, natural.total, level=level))
    return found


def column_independences(problem: Problem) -> tuple[Independence, ...]:
    """Each block and every column that the arms or the outcome go by and that, by the graph, does not follow from it nor share anything with
    it but its causes."""
    graph = problem.roles.graph
    after = {problem.decision, *graph.descendants(problem.decision)}
    found = []
    for block in problem.roles.blocks:
        below = after.union(*(graph.descendants(member) for member in block.members))
        for column in problem.cell_columns:
            apart = column not in {*block.causes, *below} and problem.variables[column].finite
            if apart and all(d_separated(graph, member, column, block.causes) for member in block.members):
                found.append(Independence(block.members, (column,), block.causes))
    return tuple(found)


def check_columns(problem: Problem, natural: Batch) -> list[Finding]:
    """The finding `attribute-and-column-dependent`, for each of these that natural rows contradict, all tests together as above. It blocks
    the answer where shares of a group differ by more than `MUCH`: in a large log nearly everything depends on everything a little."""
    asked, found = column_independences(problem), []
    for each in asked:
        table = _table(problem, natural, each.given, each.first, each.second)
        p = independence(table)
        if p < MISMATCH / len(asked):
            apart = _apart(table)
            text = (
                f"The graph has {each.text} independent, and in the natural rows they are not (p = {p:.1g}): the share of a group of "
                f"{', '.join(each.first)} differs by up to {apart:.2f} with {each.second[0]}. Add the missing arrow: what is said of the groups is wrong "
                f"without it."
            )
            found.append(
                Finding(
                    "attribute-and-column-dependent",
                    text,
                    natural.total,
                    level=Level.BLOCKS_ANSWER if apart > MUCH else Level.WARNING,
                )
            )
    return found


def _apart(table: IntArray) -> float:
    """The largest difference between two shares of a value of the second axis' columns, among values with so many rows that it says something."""
    rows = table.sum(axis=1)  # by what is given and by the column
    shares = table / np.maximum(rows, 1)[:, None]
    enough = (rows >= np.maximum(FEWEST, SMALL * table.sum()))[:, None]
    high, low = np.where(enough, shares, 0.0).max(axis=2), np.where(enough, shares, 1.0).min(axis=2)
    return float(np.maximum(high - low, 0.0).max(initial=0.0))


def _table(
    problem: Problem, rows: Batch, given: tuple[str, ...], first: tuple[str, ...], second: tuple[str, ...]
) -> IntArray:
    """Rows by the values of ``given``, of ``first`` and of ``second``: three axes."""
    spaces = [CellSpace.of(names, problem.variables) for names in (given, first, second)]
    none = np.zeros(rows.size, dtype=np.int64)
    seen = np.zeros([space.count for space in spaces], dtype=np.int64)
    np.add.at(seen, tuple(space.number(rows.columns) if space.columns else none for space in spaces), rows.count)
    return seen


# ---- groups ----


def compared_groups(problem: Problem) -> dict[str, BoolArray]:
    """The groups that something is asked about, by name, with the labels that belong to each, (P,): people of worlds, and what they
    are read as."""
    profiles = dict.fromkeys(part for world in problem.worlds for part in (world.people, world.read) if part)
    return {group_name(problem.attributes, profile): problem.compiled.fitting(profile) for profile in profiles}


# ---- contexts ----


def contexts_seen(problem: Problem, batch: Batch) -> tuple[IntArray, FloatArray] | None:
    """The rows' contexts and their declared law, by label and way of making rows; None where none is declared."""
    cells = problem.compiled.world_cells
    if cells.law is None or cells.contexts == 1:
        return None
    label = groups_of(problem, batch)
    point = CellSpace.of(problem.cell_columns, problem.variables).number(batch.columns)
    natural = np.zeros(cells.cell_of.shape)
    np.add.at(natural, (label, point), np.where(batch.regime == 0, batch.count, 0))
    factors = cells.expected(natural)
    seen, laws = [], []
    for kind in cells.made:
        lines = np.flatnonzero(np.isin(batch.regime, kind.regimes))
        rows = np.zeros((len(problem.groups), cells.contexts), dtype=np.int64)
        np.add.at(rows, (label[lines], cells.context_of[label[lines], point[lines]]), batch.count[lines])
        made = np.zeros((len(problem.arms), len(problem.groups)))
        np.add.at(made, (batch.arm[lines], label[lines]), batch.count[lines])
        seen.append(rows)
        laws.append(_mixed(made, cells.exposure(kind.labels, factors) * cells.law))
    return np.concatenate(seen), np.concatenate(laws)


def _mixed(made: FloatArray, weight: FloatArray) -> FloatArray:
    """The law of the contexts of each label's rows, (P, Z), of which ``made`` (K, P) are each arm's, and unscaled laws (K, P, Z)."""
    each = weight / np.maximum(weight.sum(axis=2, keepdims=True), 1e-300)
    found = np.einsum("ka,kaz->az", made, each)
    return np.asarray(found / np.maximum(found.sum(axis=1, keepdims=True), 1e-300))
