"""Is the log what it is said to be? Tests of its rows against the plan, the shares, the mechanisms and the propensities."""

from __future__ import annotations

import numpy as np

from fairarm.core.types import FloatArray, IntArray
from fairarm.logs.findings import MISMATCH, Finding, mismatch
from fairarm.logs.table import LogTable
from fairarm.problem.model import Problem
from fairarm.problem.pulls import Batch, groups_of
from fairarm.problem.space import CellSpace

WEIGHT_ERRORS = 5.0
"""Weights whose mean is above 1 by more than so many standard errors cannot be right."""


def check_counts(problem: Problem, made: IntArray, natural: IntArray) -> list[Finding]:
    """Rows by arm and group (K, G) against the planned shares, natural rows (G,) against P(S), and empty groups."""
    found = []
    by_arm = made.sum(axis=1)
    if problem.log.planned:
        shares = np.array([problem.log.planned.get(name, 0.0) for name in problem.arm_names])
        p = mismatch(by_arm[None], shares[None])
        if p < MISMATCH:
            each = [f"{n}: {rows} rows, planned {s:.4g}" for n, rows, s in zip(problem.arm_names, by_arm, shares, strict=True)]  # fmt: skip
            text = f"The arms' shares of the rows are not the planned ones (p = {p:.1g}): rows were lost or added by arm."  # fmt: skip
            found.append(Finding("sample-ratio-mismatch", text, int(by_arm.sum()), tuple(each[:12])))
    if problem.shares is not None and natural.sum():
        p = mismatch(natural[None], np.array(problem.shares)[None])
        if p < MISMATCH:
            each = [f"{g}: {n} rows, declared {s:.4g}" for g, n, s in zip(problem.groups, natural, problem.shares, strict=True)]  # fmt: skip
            text = f"The groups' shares of the natural rows are not the declared ones (p = {p:.1g}). Correct problem.shares, or evaluate with law = estimated."  # fmt: skip
            found.append(Finding("group-shares-mismatch", text, int(natural.sum()), tuple(each)))
    for group, rows in zip(problem.groups, made.sum(axis=0), strict=True):
        if by_arm.sum() and not rows:
            text = f"No row is of the group '{group}': what is said of it rests on the declared mechanisms alone."
            found.append(Finding("group-without-rows", text))
    return found


def check_decisions(problem: Problem, batch: Batch, skipped: set[int]) -> list[Finding]:
    """The logged decisions of each arm against its declared mechanism, given what it saw; cells only."""
    found = []
    states = problem.variables[problem.decision].size
    for k, arm in enumerate(problem.arms):
        lines = np.flatnonzero(batch.arm == k)
        if k in skipped or not len(lines):
            continue
        space = CellSpace.of(arm.parents, problem.variables)
        columns = {name: batch.columns[name][lines] for name in (*arm.parents, problem.decision)}
        at = space.number(columns) if arm.parents else np.zeros(len(lines), dtype=np.int64)
        seen = np.zeros((space.count, states), dtype=np.int64)
        np.add.at(seen, (at, columns[problem.decision]), batch.count[lines])
        used = np.flatnonzero(seen.sum(axis=1))
        p = mismatch(seen[used], arm.mechanism.distribution(space.codes(used), states, len(used)))
        if p < MISMATCH:
            text = (
                f"The decisions in the rows of arm '{arm.name}' do not follow its declared mechanism (p = {p:.1g}): "
                f"another rule ran, or the inputs are not the ones it saw."
            )
            found.append(Finding("decisions-do-not-fit", text, int(batch.count[lines].sum())))
    return found


def check_contexts(problem: Problem, batch: Batch) -> list[Finding]:
    """The contexts of the rows against their declared law, by group; cells only."""
    cells = problem.shared_cells
    if cells.law is None or cells.contexts == 1:
        return []
    group = groups_of(problem, batch)
    context = cells.context_of[group, CellSpace.of(problem.cell_columns, problem.variables).number(batch.columns)]
    made = np.zeros((len(problem.arms), len(problem.groups)))
    np.add.at(made, (batch.arm, group), batch.count)
    seen = np.zeros((len(problem.groups), cells.contexts), dtype=np.int64)
    np.add.at(seen, (group, context), batch.count)
    expected = np.einsum("jt,jtz->tz", made, cells.exposure) * cells.law
    p = mismatch(seen, expected / np.maximum(expected.sum(axis=1, keepdims=True), 1e-300))
    if p >= MISMATCH:
        return []
    text = (
        f"What the arms saw does not follow the declared law of contexts (p = {p:.1g}). Correct problem.context, or "
        f"evaluate with law = estimated."
    )
    return [Finding("contexts-do-not-fit", text, int(batch.count.sum()))]


def check_weights(problem: Problem, mean_weight: FloatArray) -> list[Finding]:
    """Mean weights and their errors, (2, K, G): they cannot be above 1 by more than chance."""
    mean, error = mean_weight
    high = np.argwhere(mean > 1.0 + WEIGHT_ERRORS * np.maximum(error, 1e-12))
    if not len(high):
        return []
    each = tuple(f"{problem.arm_names[k]}, {problem.groups[t]}: mean weight {mean[k, t]:.3f}" for k, t in high[:5])
    text = (
        "Weights that must average to 1 are larger: the propensities, or the declared mechanism of the logging arm, are "
        "not those with which the decisions were made."
    )
    return [Finding("weights-do-not-average-to-one", text, 0, each)]


def check_duplicates(problem: Problem, table: LogTable) -> list[Finding]:
    """Row ids that are there more than once."""
    if problem.log.row_id is None:
        return []
    found = table.duplicates(problem.log.row_id)
    if not found.ids:
        return []
    text = f"{found.ids} values of '{problem.log.row_id}' are there more than once, {found.extra_rows} rows too many. They were counted as they are."  # fmt: skip
    return [Finding("duplicate-rows", text, found.extra_rows, found.examples)]
