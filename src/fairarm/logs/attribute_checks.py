"""Is a log what it is said to be, where there are several attributes or one has causes: what is declared of them, against natural rows.

Only natural rows tell who comes: in forced ones somebody chose. Attributes of which the graph says that they are independent given their
causes are tested for it. Where they are not, something is missing from the graph, and people as if they were of another group are not
those that the other rows show.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairarm.beliefs.findings import Finding
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.logs.findings import MISMATCH, independence, mismatch
from fairarm.problem.attributes import Block
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch, groups_of
from fairarm.problem.space import CellSpace
from fairarm.problem.worlds import group_name


def check_attributes(problem: Problem, batch: Batch, estimated: bool) -> list[Finding]:
    """Natural rows against the declared laws of the attributes (not where they are ``estimated``), and against their independence."""
    if problem.plain:
        return []
    natural = batch.take(np.flatnonzero(batch.regime == 0))
    found = [] if estimated else [*_check_laws(problem, natural)]
    return [*found, *check_independence(problem, natural)]


def _check_laws(problem: Problem, natural: Batch) -> Iterator[Finding]:
    """Every block's declared P(a_B | z_B)."""
    for block in problem.roles.blocks:
        declared = problem.own_factor(block)
        if declared is None or declared.node in problem.fitted:
            continue
        seen = _table(problem, natural, block.causes, (), block.members)[:, 0]
        order = [*(declared.parents.index(name) for name in block.causes), declared.probabilities.ndim - 1]
        p = mismatch(seen, declared.probabilities.transpose(order).reshape(seen.shape))
        if p < MISMATCH:
            text = f"{_law_of(block)} in the natural rows is not the declared one (p = {p:.1g}). Correct it, or evaluate with law = estimated."
            yield Finding("group-shares-mismatch", text, natural.total)


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
        p = independence(_table(problem, natural, each.given, each.first, each.second))
        if p < MISMATCH / len(asked):
            text = (
                f"The graph has {each.text} independent, and in the natural rows they are not (p = {p:.1g}). Add the missing arrow, a cause that "
                f"is logged, or a hidden node above both: what is said of the groups is wrong without it."
            )
            found.append(Finding("attributes-dependent", text, natural.total))
    return found


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


def contexts_misfit(problem: Problem, batch: Batch) -> float:
    """The p-value of the rows' contexts against their declared law, by label and way of making rows; 1 where none is declared."""
    cells = problem.compiled.world_cells
    if cells.law is None or cells.contexts == 1:
        return 1.0
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
    return mismatch(np.concatenate(seen), np.concatenate(laws))


def _mixed(made: FloatArray, weight: FloatArray) -> FloatArray:
    """The law of the contexts of each label's rows, (P, Z), of which ``made`` (K, P) are each arm's, and unscaled laws (K, P, Z)."""
    each = weight / np.maximum(weight.sum(axis=2, keepdims=True), 1e-300)
    found = np.einsum("ka,kaz->az", made, each)
    return np.asarray(found / np.maximum(found.sum(axis=1, keepdims=True), 1e-300))
