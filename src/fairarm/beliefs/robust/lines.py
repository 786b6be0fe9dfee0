"""Rows as the doubly robust estimate takes them: distinct lines with a count, from cells or from rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.beliefs.evidence import CellEvidence, Evidence, RowEvidence
from fairarm.core.types import FloatArray, IntArray

Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Lines:
    """Rows of one replicate: equal ones are one line. Arms are told apart in ``made`` only: no estimate needs more."""

    group: IntArray
    """(I,), position among the groups."""
    columns: Columns
    """The cell's columns and S, (I,) each."""
    outcome: FloatArray
    count: IntArray
    arms: FloatArray
    """log P_k(v | pa(V), S := t), (K, G, I)."""
    children: FloatArray | None
    """log Π P(x | pa(X), S := t), (G, I); None where a mechanism is not declared."""
    made: IntArray
    """n_{j,t}: rows of arm j with S = t, any regime, (K, G)."""
    natural: IntArray
    """Natural rows by group, (G,)."""

    @property
    def rows(self) -> int:
        return int(self.made.sum())


def lines_of(evidence: Evidence, replicate: int = 0) -> Lines:
    """The lines in an order that depends on their content only, not on how they arrived or on the arms' order."""
    if isinstance(evidence, RowEvidence):
        return _from_rows(evidence)
    if isinstance(evidence, CellEvidence):
        return _from_cells(evidence, replicate)
    raise TypeError(f"Rows or counts of cells are needed, not {type(evidence).__name__}.")


def _from_rows(evidence: RowEvidence) -> Lines:
    problem, batch = evidence.problem, evidence.batch
    K, G = len(problem.arms), len(problem.groups)
    codes = np.asarray(batch.columns[problem.sensitive])
    group = np.argsort(np.array(problem.group_codes))[codes]
    made, natural = np.zeros((K, G), dtype=np.int64), np.zeros(G, dtype=np.int64)
    np.add.at(made, (batch.arm, group), batch.count)
    np.add.at(natural, group, np.where(batch.regime == 0, batch.count, 0))
    keys = [
        np.asarray(batch.columns[name]) for name in (problem.sensitive, *problem.cell_columns, problem.outcome.node)
    ]
    used = np.flatnonzero(batch.count)
    first, at = distinct([key[used] for key in keys])
    first, count = used[first], np.zeros(len(first), dtype=np.int64)
    np.add.at(count, at, batch.count[used])
    raw = np.asarray(batch.columns[problem.outcome.node])[first]
    outcome = problem.outcome.scaled_values[raw] if problem.outcome.values else problem.outcome.scale(raw)
    columns = {name: np.asarray(batch.columns[name])[first] for name in (problem.sensitive, *problem.cell_columns)}
    found = evidence.rows.of(first)
    children = None if isinstance(found.children, str) else found.children
    return Lines(group[first], columns, outcome, count, found.arms, children, made, natural)


def distinct(keys: list[NDArray[Any]]) -> tuple[IntArray, IntArray]:
    """The first place of each combination of values, in their order, and the number of every entry's combination."""
    order = np.lexsort(keys)
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)[: max(len(order) - 1, 0)]
    at = np.empty(len(order), dtype=np.int64)
    at[order] = np.cumsum(fresh) - 1
    return order[fresh], at


def _from_cells(evidence: CellEvidence, replicate: int) -> Lines:
    problem, counts = evidence.problem, evidence.counts[replicate]
    by_code = np.zeros(counts.shape[2:], dtype=np.int64)  # (states of S, O): the order of the groups plays no part
    by_code[list(problem.group_codes)] = counts.sum(axis=(0, 1))
    code, row = np.nonzero(by_code)
    group = np.argsort(np.array(problem.group_codes))[code]
    codes = problem.row_space.codes(row)
    outcome = problem.row_outcomes[row]
    labelled = problem.outcome.node in problem.relevant_children
    found = evidence.likelihood.of(row if labelled else row // len(problem.outcome.values or ()))
    children = None if isinstance(found.children, str) else found.children
    columns: Columns = {problem.sensitive: code, **{name: codes[name] for name in problem.cell_columns}}
    made, natural = counts.sum(axis=(0, 3)), counts[0].sum(axis=(0, 2))
    return Lines(group, columns, outcome, by_code[code, row], found.arms, children, made, natural)
